//! Grants to routes of one kind that are taken for grants to another.

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{view, widen_grants},
};

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "takes-grants-to-httproutes-for-streams",
            summary: "Reads a grant to HTTPRoutes as one to TCPRoutes and TLSRoutes, too.",
            clauses: &["IMPL-41"],
            seam: Seam::Snapshot(|| view(|snapshot| widen_grants(snapshot, "HTTPRoute", &["TCPRoute", "TLSRoute"]))),
        },
        reported: &["istio/istio#47341"],
    },
    Bug {
        fault: Fault {
            name: "takes-grants-to-tcproutes-for-datagrams",
            summary: "Reads a grant to TCPRoutes as one to UDPRoutes, too.",
            clauses: &["IMPL-41"],
            seam: Seam::Snapshot(|| view(|snapshot| widen_grants(snapshot, "TCPRoute", &["UDPRoute"]))),
        },
        reported: &["istio/istio#47341"],
    },
];
