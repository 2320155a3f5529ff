//! Gateways of one name in several namespaces, which are told apart by the namespace alone.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{copy_counts, say, serve_from, view},
    },
    snapshot::{Kind, Object, Snapshot},
};

fn is_all(from: Option<&Value>) -> bool {
    from.is_some_and(|from| from == "All")
}

fn listeners(gateway: &Object) -> impl Iterator<Item = &Value> {
    gateway.raw.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten()
}

fn takes_all_routes(gateway: &Object) -> bool {
    listeners(gateway).all(|listener| is_all(listener.pointer("/allowedRoutes/namespaces/from")))
}

fn takes_all_sets(gateway: &Object) -> bool {
    is_all(gateway.raw.pointer("/spec/allowedListeners/namespaces/from"))
}

/// The namespaces of the other Gateways of a name, where each is as open as this one is, and none has a port in common with it.
fn elsewhere(snapshot: &Snapshot, namespace: &str, name: &str, is_open: fn(&Object) -> bool) -> Vec<String> {
    let ports = |of: &Object| listeners(of).filter_map(|listener| listener["port"].as_u64()).collect::<BTreeSet<_>>();
    let Some(own) = snapshot.get(Kind::Gateway, namespace, name).filter(|own| is_open(own)) else { return Vec::new() };
    let others =
        snapshot.all(Kind::Gateway).filter(|other| other.meta.name == name && other.meta.namespace != namespace);
    let apart = others.filter(|other| is_open(other) && ports(other).is_disjoint(&ports(own)));
    apart.map(|other| other.meta.namespace.clone()).collect()
}

/// Has routes that name a Gateway without its namespace name those of other namespaces, too.
fn name_all(snapshot: &mut Snapshot, kind: Kind) {
    let known = snapshot.clone();
    snapshot.edit(kind, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let Some(parents) = route.pointer_mut("/spec/parentRefs").and_then(Value::as_array_mut) else { return };
        let is_near = |parent: &&Value| {
            parent["namespace"].is_null() && parent["kind"].as_str().is_none_or(|kind| kind == "Gateway")
        };
        let others = |parent: &Value| {
            let name = parent["name"].as_str().unwrap_or_default();
            let all = elsewhere(&known, &own, name, takes_all_routes).into_iter();
            all.map(|namespace| {
                let mut other = parent.clone();
                other["namespace"] = namespace.into();
                other
            })
            .collect::<Vec<_>>()
        };
        let more: Vec<Value> = parents.iter().filter(is_near).flat_map(others).collect();
        parents.extend(more);
    });
}

/// Has ListenerSets that name a Gateway without its namespace name the first of all of that name.
fn name_first(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.edit(Kind::ListenerSet, |set| {
        let own = set["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let Some(name) = set.pointer("/spec/parentRef/name").and_then(Value::as_str) else { return };
        let others = elsewhere(&known, &own, name, takes_all_sets);
        let first = others.into_iter().filter(|other| *other < own).min();
        if let Some(first) = first.filter(|_| set.pointer("/spec/parentRef/namespace").is_none()) {
            set["spec"]["parentRef"]["namespace"] = first.into();
        }
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-routes-of-namesakes",
            summary: "Serves an HTTPRoute that names no namespace of its Gateway at those of that name in other namespaces, too.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve_from(|snapshot| name_all(snapshot, Kind::HttpRoute))),
        },
        reported: &["envoyproxy/gateway#3872"],
    },
    Bug {
        fault: Fault {
            name: "serves-streams-of-namesakes",
            summary: "Serves a TCPRoute that names no namespace of its Gateway at those of that name in other namespaces, too.",
            clauses: &["IMPL-39"],
            seam: Seam::Config(|| serve_from(|snapshot| name_all(snapshot, Kind::TcpRoute))),
        },
        reported: &["envoyproxy/gateway#3872"],
    },
    Bug {
        fault: Fault {
            name: "counts-routes-of-namesakes",
            summary: "Counts a route that names no namespace of its Gateway at those of that name in other namespaces, too.",
            clauses: &["blind:Generic.13"],
            seam: Seam::Statuses(|| {
                say(|seen, statuses| {
                    let otherwise = seen.otherwise(|snapshot| {
                        [Kind::HttpRoute, Kind::TcpRoute].into_iter().for_each(|kind| name_all(snapshot, kind));
                    });
                    copy_counts(otherwise.statuses, statuses);
                })
            }),
        },
        reported: &["envoyproxy/gateway#3872"],
    },
    Bug {
        fault: Fault {
            name: "finds-gateways-of-listener-sets-by-name",
            summary: "Adds the listeners of a ListenerSet that names no namespace of its Gateway to the first of that name in any.",
            clauses: &["upstream:ListenerSetAllowedNamespaceSame"],
            seam: Seam::Snapshot(|| view(name_first)),
        },
        reported: &["envoyproxy/gateway#3872"],
    },
];
