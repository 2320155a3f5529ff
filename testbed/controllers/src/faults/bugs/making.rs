//! What is made in the cluster for a Gateway, and not kept up.

use super::Bug;
use crate::faults::{
    Fault, Seam,
    infrastructure::{keep, remembering},
};

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "never-updates-infrastructure",
            summary: "Leaves what it made for a Gateway as it was at first, whatever becomes of spec.infrastructure.",
            clauses: &["OWN-34", "blind:GatewayInfrastructure.1"],
            seam: Seam::Objects(|| remembering(|before, now| before.clone_into(now))),
        },
        reported: &["envoyproxy/gateway#3666"],
    },
    Bug {
        fault: Fault {
            name: "keeps-old-infrastructure-labels",
            summary: "Never takes a label or an annotation away from what it made for a Gateway.",
            clauses: &["OWN-34", "blind:GatewayInfrastructure.1"],
            seam: Seam::Objects(|| remembering(keep)),
        },
        reported: &["cilium/cilium#34155"],
    },
];
