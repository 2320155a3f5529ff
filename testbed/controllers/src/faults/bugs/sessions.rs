//! Sessions of TLS that are resumed where they did not begin.

use super::Bug;
use crate::faults::{Fault, Seam, sessions::KeepsSessions};

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "resumes-sessions-of-other-ports",
        summary: "Lets clients without a certificate in with a session of TLS that they began at a port which asks for none.",
        clauses: &["OWN-130", "OWN-131"],
        seam: Seam::Exchange(|| KeepsSessions::at(|_| None)),
    },
    reported: &["golang/go#77217"],
}];
