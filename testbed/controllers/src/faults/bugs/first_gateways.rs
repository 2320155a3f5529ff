//! Streams and datagrams of several Gateways that belong to the first of them.

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        attached::{keep_first_gateway, leave_other_gateways},
        tools::{say, serve_from},
    },
    snapshot::Kind,
};

const KINDS: [Kind; 3] = [Kind::TcpRoute, Kind::TlsRoute, Kind::UdpRoute];

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-streams-at-the-first-gateway-only",
            summary: "Serves a TCPRoute, TLSRoute or UDPRoute at the first of its Gateways alone.",
            clauses: &["IMPL-38", "IMPL-39", "IMPL-40"],
            seam: Seam::Config(|| {
                serve_from(|snapshot| KINDS.into_iter().for_each(|kind| leave_other_gateways(snapshot, kind)))
            }),
        },
        reported: &["istio/istio#56769"],
    },
    Bug {
        fault: Fault {
            name: "answers-streams-for-one-gateway",
            summary: "Writes the status of a TCPRoute, TLSRoute or UDPRoute for the first of its Gateways alone, and serves it at all of them.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|_, statuses| keep_first_gateway(statuses, &KINDS))),
        },
        reported: &["istio/istio#56769"],
    },
];
