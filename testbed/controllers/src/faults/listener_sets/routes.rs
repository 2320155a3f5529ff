//! Routes of other kinds than HTTPRoute at the listeners of ListenerSets.

use serde_json::Value;

use super::super::{
    Fault, Seam,
    tools::{drop_field, each, has_reason, parents, say, serve_from, set},
};
use crate::{
    model::ParentRef,
    snapshot::{Kind, Snapshot},
    status::Truth,
};

const OF_ALL_KINDS: &str = "blind:ListenerSetHTTPRouting.2";

/// Has routes of a kind name no ListenerSet.
fn leave(snapshot: &mut Snapshot, kind: Kind) {
    snapshot.edit(kind, |route| {
        if let Some(parents) = route.pointer_mut("/spec/parentRefs").and_then(Value::as_array_mut) {
            parents.retain(|parent| parent["kind"] != "ListenerSet");
        }
    });
}

/// Has HTTPRoutes name ListenerSets without their ports.
fn forget_ports(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        let parents = each(route, "/spec/parentRefs").filter(|parent| parent["kind"] == "ListenerSet");
        parents.for_each(|parent| drop_field(parent, "port"));
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
    Fault {
        name: "accepts-ports-that-listener-sets-lack",
        summary: "Accepts an HTTPRoute that names a port of a ListenerSet which no listener of that has.",
        clauses: &["OWN-74"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let by_port = |of: &ParentRef| of.is_listener_set() && of.port.is_some();
                for parent in parents(statuses).filter(|parent| by_port(&parent.parent_ref)) {
                    if has_reason(&parent.conditions, "Accepted", "NoMatchingParent") {
                        set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                    }
                }
            })
        }),
    },
    Fault {
        name: "serves-all-ports-of-listener-sets",
        summary: "Serves an HTTPRoute that names a port of a ListenerSet on the others of that, too.",
        clauses: &["OWN-74"],
        seam: Seam::Config(|| serve_from(forget_ports)),
    },
];
