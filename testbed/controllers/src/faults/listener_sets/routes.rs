//! Routes of other kinds than HTTPRoute at the listeners of ListenerSets.

use serde_json::Value;

use super::super::{Fault, Seam, tools::serve_from};
use crate::snapshot::{Kind, Snapshot};

const OF_ALL_KINDS: &str = "blind:ListenerSetHTTPRouting.2";

/// Has routes of a kind name no ListenerSet.
fn leave(snapshot: &mut Snapshot, kind: Kind) {
    snapshot.edit(kind, |route| {
        if let Some(parents) = route.pointer_mut("/spec/parentRefs").and_then(Value::as_array_mut) {
            parents.retain(|parent| parent["kind"] != "ListenerSet");
        }
    });
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-no-grpcroutes-of-listener-sets",
        summary: "Serves no GRPCRoute on the listeners of ListenerSets, though status says that it is attached.",
        clauses: &[OF_ALL_KINDS],
        seam: Seam::Config(|| serve_from(|snapshot| leave(snapshot, Kind::GrpcRoute))),
    },
    Fault {
        name: "serves-no-tcproutes-of-listener-sets",
        summary: "Serves no TCPRoute on the listeners of ListenerSets, though status says that it is attached.",
        clauses: &[OF_ALL_KINDS],
        seam: Seam::Config(|| serve_from(|snapshot| leave(snapshot, Kind::TcpRoute))),
    },
    Fault {
        name: "serves-no-tlsroutes-of-listener-sets",
        summary: "Serves no TLSRoute on the listeners of ListenerSets, though status says that it is attached.",
        clauses: &[OF_ALL_KINDS],
        seam: Seam::Config(|| serve_from(|snapshot| leave(snapshot, Kind::TlsRoute))),
    },
    Fault {
        name: "serves-no-udproutes-of-listener-sets",
        summary: "Serves no UDPRoute on the listeners of ListenerSets, though status says that it is attached.",
        clauses: &[OF_ALL_KINDS],
        seam: Seam::Config(|| serve_from(|snapshot| leave(snapshot, Kind::UdpRoute))),
    },
];
