//! Requests that say of their length what contradicts itself, and are taken all the same.

use std::sync::Arc;

use gateproof_proxy::{
    exchange::{Exchange, RequestHead},
    lengths::{ASIDE, Wrong},
};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Forwards};

/// Takes requests of which this is wrong.
struct Takes(Wrong);

impl Exchange for Takes {
    fn refuses(&self, _: &RequestHead, wrong: Wrong) -> bool {
        wrong != self.0 && wrong != Wrong::BesideChunks
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "takes-lengths-that-differ",
            summary: "Goes by the first of several lengths of a request, whatever the others are.",
            clauses: &["OWN-117"],
            seam: Seam::Exchange(|| Arc::new(Takes(Wrong::Differ))),
        },
        reported: &["linkerd/linkerd#1474"],
    },
    Bug {
        fault: Fault {
            name: "takes-empty-lengths",
            summary: "Takes a request whose length is empty for one without a body.",
            clauses: &["OWN-117"],
            seam: Seam::Exchange(|| Arc::new(Takes(Wrong::NoLength))),
        },
        reported: &["haproxy/haproxy#2237"],
    },
    Bug {
        fault: Fault {
            name: "forwards-lengths-beside-chunks",
            summary: "Tells a backend the length that stood beside the chunks of a request.",
            clauses: &["OWN-118"],
            // What writes requests for backends writes no such one; they take the other name for that of a length.
            seam: Seam::Exchange(|| {
                Arc::new(Forwards(|request, parts| {
                    for length in request.headers.get_all(ASIDE) {
                        parts.headers.append(ASIDE, length.clone());
                    }
                }))
            }),
        },
        reported: &["CleverCloud/kawa#16"],
    },
];
