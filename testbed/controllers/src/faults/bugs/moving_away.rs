//! Routes that lose a listener, and say nothing of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        snapshot::let_all_in,
        tools::{each, find, has_reason, is, parents, say, set, view},
    },
    model::ParentRef,
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

fn is_listener_set(parent: &ParentRef) -> bool {
    parent.kind.as_deref() == Some("ListenerSet")
}

/// Goes on saying that a route is accepted until it is written again.
struct AcceptsForGood {
    kind: Kind,
    of: fn(&ParentRef) -> bool,
    known: BTreeMap<(String, i64), Vec<(ParentRef, Condition)>>,
}

impl AcceptsForGood {
    fn boxed(kind: Kind, of: fn(&ParentRef) -> bool) -> Box<dyn StatusesSeam> {
        Box::new(Self { kind, of, known: BTreeMap::new() })
    }
}

impl StatusesSeam for AcceptsForGood {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| update.kind == self.kind) {
            let Some(route) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
            let known = self.known.entry((route.meta.uid.clone(), update.generation)).or_default();
            for parent in parents(std::slice::from_mut(update)).filter(|parent| (self.of)(&parent.parent_ref)) {
                let is_lost = has_reason(&parent.conditions, "Accepted", "NoMatchingListenerHostname");
                let Some(accepted) = find(&mut parent.conditions, "Accepted") else { continue };
                match known.iter().find(|(of, _)| *of == parent.parent_ref) {
                    Some((_, before)) if is_lost => *accepted = before.clone(),
                    None if accepted.status == Truth::True => known.push((parent.parent_ref.clone(), accepted.clone())),
                    _ => {}
                }
            }
        }
    }
}

/// The ports and hostnames of the listeners of a ListenerSet.
fn places(set: &Value) -> BTreeSet<(u64, &str)> {
    let listeners = set["spec"]["listeners"].as_array().into_iter().flatten();
    listeners
        .map(|one| (one["port"].as_u64().unwrap_or_default(), one["hostname"].as_str().unwrap_or_default()))
        .collect()
}

/// Refuses the routes of a ListenerSet that wins against another one.
fn refuse_routes_of_winners(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    let mut lost = Vec::new();
    for update in statuses.iter() {
        if let DesiredStatus::ListenerSet { conditions, .. } = &update.status
            && is(conditions, "Accepted", Truth::False)
            && let Some(set) = seen.snapshot.get(Kind::ListenerSet, &update.key.namespace, &update.key.name)
        {
            lost.push((update.key.clone(), places(&set.raw)));
        }
    }
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let of = update.key.namespace.clone();
        for parent in parents(std::slice::from_mut(update)).filter(|parent| is_listener_set(&parent.parent_ref)) {
            let namespace = parent.parent_ref.namespace.as_deref().unwrap_or(&of);
            let Some(set) = seen.snapshot.get(Kind::ListenerSet, namespace, &parent.parent_ref.name) else { continue };
            let held = places(&set.raw);
            if lost.iter().any(|(key, places)| *key != set.key() && !places.is_disjoint(&held)) {
                set_refused(&mut parent.conditions);
            }
        }
    }
}

fn set_refused(conditions: &mut [Condition]) {
    if is(conditions, "Accepted", Truth::True) {
        set(conditions, "Accepted", Truth::False, "NoMatchingListenerHostname");
    }
}

/// Lets TLSRoutes of every namespace in.
fn open_to_tls(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        each(gateway, "/spec/listeners").filter(|of| of["protocol"] == "TLS").for_each(let_all_in);
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "accepts-until-routes-are-written",
            summary: "Goes on saying that an HTTPRoute is accepted when its listener has another hostname and the route does not change.",
            clauses: &["upstream:HTTPRouteHostnameIntersection", "GEP1364-14"],
            seam: Seam::Statuses(|| AcceptsForGood::boxed(Kind::HttpRoute, |parent| !is_listener_set(parent))),
        },
        reported: &["kubernetes-sigs/gateway-api#5115", "kubernetes-sigs/gateway-api#5116"],
    },
    Bug {
        fault: Fault {
            name: "accepts-until-calls-are-written",
            summary: "Goes on saying that a GRPCRoute is accepted when its listener has another hostname and the route does not change.",
            clauses: &["GEP1364-14"],
            seam: Seam::Statuses(|| AcceptsForGood::boxed(Kind::GrpcRoute, |_| true)),
        },
        reported: &["kubernetes-sigs/gateway-api#5177"],
    },
    Bug {
        fault: Fault {
            name: "keeps-verdicts-on-routes-of-listener-sets",
            summary: "Goes on saying that a route is accepted when the listener of a ListenerSet has another hostname.",
            clauses: &["GEP1364-14"],
            seam: Seam::Statuses(|| AcceptsForGood::boxed(Kind::HttpRoute, is_listener_set)),
        },
        reported: &["kubernetes-sigs/gateway-api#5177", "envoyproxy/gateway#8876"],
    },
    Bug {
        fault: Fault {
            name: "refuses-routes-of-winning-listener-sets",
            summary: "Says that no hostname matches of the routes of a ListenerSet with which another one conflicts and loses.",
            clauses: &["blind:ListenerSetHostnameConflict.2", "GEP1364-14"],
            seam: Seam::Statuses(|| say(|seen, statuses| refuse_routes_of_winners(seen, statuses))),
        },
        reported: &["envoyproxy/gateway#9767"],
    },
    Bug {
        fault: Fault {
            name: "lets-tls-of-any-namespace-in",
            summary: "Lets TLSRoutes of every namespace in at TLS listeners, whatever they allow.",
            clauses: &["GEP1364-35"],
            seam: Seam::Snapshot(|| view(open_to_tls)),
        },
        reported: &["aws/aws-application-networking-k8s#845"],
    },
];
