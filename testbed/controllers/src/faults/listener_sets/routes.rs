//! Routes at ListenerSets: those of other kinds than HTTPRoute, and those whose ListenerSet is gone.

use serde_json::Value;

use super::super::{
    Fault, Seam,
    tools::{Memory, drop_field, each, has_reason, parents, say, serve_from, set},
};
use crate::{
    model::ParentRef,
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Snapshot},
    status::{DesiredStatus, ParentStatus, StatusUpdate, Truth},
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

/// Says of routes what would be so if ListenerSets that are gone were there.
#[derive(Default)]
struct AcceptsForDeleted(Memory);

impl StatusesSeam for AcceptsForDeleted {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let former = seen.otherwise(|snapshot| self.0.keep_removed(snapshot, Kind::ListenerSet)).statuses;
        for update in statuses.iter_mut() {
            let is_gone = |parent: &&ParentStatus| {
                let of = &parent.parent_ref;
                let namespace = of.namespace.as_deref().unwrap_or(&update.key.namespace);
                of.is_listener_set() && seen.snapshot.get(Kind::ListenerSet, namespace, &of.name).is_none()
            };
            let DesiredStatus::Route { parents } = &mut update.status else { continue };
            let same = former.iter().find(|one| (one.kind, &one.key) == (update.kind, &update.key));
            if let Some(DesiredStatus::Route { parents: former }) = same.map(|one| &one.status) {
                parents.extend(former.iter().filter(is_gone).cloned());
            }
        }
    }
}

pub(in crate::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "lists-no-kinds-in-listener-sets",
        summary: "Lists no kind on the listeners of a ListenerSet that name theirs.",
        clauses: &[
            "upstream:ListenerSetAllowedNamespaceSame",
            "upstream:ListenerSetAllowedRoutesNamespaces",
            "upstream:ListenerSetDualParentRefIndependence",
            "upstream:ListenerSetHTTPRouting",
            "upstream:ListenerSetRouteStatusScopedToParentRef",
        ],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses {
                    let (namespace, name) = (&update.key.namespace, &update.key.name);
                    let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { continue };
                    let Some((_, spec)) = seen.snapshot.listener_set(namespace, name) else { continue };
                    for listener in listeners {
                        let mut asked = spec.listeners.iter().filter(|one| one.name == listener.name);
                        if asked.any(|one| !one.allowed_routes.kinds.is_empty()) {
                            listener.supported_kinds.clear();
                        }
                    }
                }
            })
        }),
    },
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
    Fault {
        name: "accepts-routes-of-deleted-listener-sets",
        summary: "Goes on saying, of each new spec of a route, that ListenerSets which are gone accept it.",
        clauses: &["IMPL-34"],
        seam: Seam::Statuses(|| Box::<AcceptsForDeleted>::default()),
    },
];
