//! When routes are judged, and where that is said.

use std::collections::{BTreeMap, BTreeSet};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, Remembering, find, has_reason, parents, say, set},
    },
    model::{GATEWAY_GROUP, ParentRef},
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Object, Snapshot},
    status::{Condition, DesiredStatus, ParentStatus, StatusUpdate, Truth},
};

/// What follows from the Gateway alone.
const REASONS: [&str; 2] = ["NoMatchingParent", "NoMatchingListenerHostname"];

/// How many HTTPRoutes of a namespace it keeps up with.
const ROUTES: usize = 16;

/// Goes on refusing a route until it is written again.
#[derive(Default)]
struct RefusesForGood(BTreeMap<(String, i64), Vec<(ParentRef, Condition)>>);

impl StatusesSeam for RefusesForGood {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
            let Some(route) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
            let known = self.0.entry((route.meta.uid.clone(), update.generation)).or_default();
            for parent in parents(std::slice::from_mut(update)) {
                let Some(accepted) = find(&mut parent.conditions, "Accepted") else { continue };
                if let Some((_, before)) = known.iter().find(|(of, _)| *of == parent.parent_ref) {
                    *accepted = before.clone();
                } else if REASONS.contains(&accepted.reason.as_str()) {
                    known.push((parent.parent_ref.clone(), accepted.clone()));
                }
            }
        }
    }
}

/// Keeps the entries of GRPCRoutes and TCPRoutes for Gateways that they no longer have.
#[derive(Default)]
struct KeepsEntries(BTreeMap<String, Vec<ParentStatus>>);

impl StatusesSeam for KeepsEntries {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut() {
            let kind = update.kind;
            let DesiredStatus::Route { parents } = &mut update.status else { continue };
            let Some(route) = seen.snapshot.get(kind, &update.key.namespace, &update.key.name) else { continue };
            if !matches!(kind, Kind::GrpcRoute | Kind::TcpRoute) {
                continue;
            }
            let known = self.0.entry(route.meta.uid.clone()).or_default();
            let is_there = |all: &[ParentStatus], of: &ParentRef| {
                let same =
                    |one: &ParentStatus| (&one.parent_ref.namespace, &one.parent_ref.name) == (&of.namespace, &of.name);
                all.iter().any(same)
            };
            known.retain(|old| !is_there(parents, &old.parent_ref));
            parents.extend(known.iter().cloned());
            known.clone_from(parents);
        }
    }
}

/// Empties the status of routes that were changed in a namespace with many.
fn lose_entries(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute && update.generation > 1) {
        let beside = seen.snapshot.all(Kind::HttpRoute).filter(|route| route.meta.namespace == update.key.namespace);
        if beside.count() > ROUTES {
            update.status = DesiredStatus::Route { parents: Vec::new() };
        }
    }
}

/// Whether a listener asks for kinds of route that somebody serves, and for no others.
fn asks_for_known_kinds(listener: &serde_json::Value) -> bool {
    let kinds = listener["allowedRoutes"]["kinds"].as_array().into_iter().flatten();
    kinds.into_iter().all(|kind| {
        ["HTTPRoute", "GRPCRoute", "TCPRoute"].iter().any(|known| kind["kind"] == *known)
            && (kind["group"].is_null() || kind["group"] == GATEWAY_GROUP)
    })
}

/// Resolves kinds of route that another protocol than the listener's carries.
fn resolve_known_kinds(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let (key, DesiredStatus::Gateway { listeners, .. }) = (&update.key, &mut update.status) else { continue };
        let Some(gateway) = seen.snapshot.get(Kind::Gateway, &key.namespace, &key.name) else { continue };
        let specs = gateway.raw["spec"]["listeners"].as_array().map_or(&[][..], Vec::as_slice);
        for listener in
            listeners.iter_mut().filter(|of| has_reason(&of.conditions, "ResolvedRefs", "InvalidRouteKinds"))
        {
            if specs.iter().any(|spec| spec["name"] == listener.name.as_str() && asks_for_known_kinds(spec)) {
                set(&mut listener.conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
            }
        }
    }
}

/// Hides Gateways whose class came after them, until they change.
fn miss_late_classes(memory: &mut Memory, snapshot: &mut Snapshot) {
    let classes: Vec<String> = snapshot.all(Kind::GatewayClass).map(|class| class.meta.name.clone()).collect();
    for gateway in snapshot.all(Kind::Gateway) {
        let has_class = |name: &serde_json::Value| classes.iter().any(|class| name == class.as_str());
        if !has_class(&gateway.raw["spec"]["gatewayClassName"]) {
            memory.objects.insert((Kind::Gateway, gateway.key()), gateway.clone());
        }
    }
    snapshot.retain(Kind::Gateway, |gateway| {
        let missed = memory.objects.get(&(Kind::Gateway, gateway.key()));
        missed.is_none_or(|old| (&old.meta.uid, old.meta.generation) != (&gateway.meta.uid, gateway.meta.generation))
    });
}

/// Writes nothing of an HTTPRoute that was there before the class of a Gateway that it names, until the route changes.
#[derive(Default)]
struct MissesLateClasses(BTreeSet<(String, i64)>);

impl StatusesSeam for MissesLateClasses {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let classes: BTreeSet<&str> = seen.snapshot.gateway_classes().map(|(class, _)| &*class.meta.name).collect();
        for (route, spec) in seen.snapshot.http_routes() {
            let waits_for_a_class = |parent: &ParentRef| {
                let namespace = parent.namespace.as_deref().unwrap_or(&route.meta.namespace);
                let gateway = seen.snapshot.gateway(namespace, &parent.name);
                gateway.is_some_and(|(_, gateway)| !classes.contains(&*gateway.gateway_class_name))
            };
            if spec.parent_refs.iter().any(waits_for_a_class) {
                self.0.insert((route.meta.uid.clone(), route.meta.generation));
            }
        }
        statuses.retain(|update| {
            let route = seen.snapshot.get(Kind::HttpRoute, &update.key.namespace, &update.key.name);
            let is_missed = |route: &Object| self.0.contains(&(route.meta.uid.clone(), route.meta.generation));
            update.kind != Kind::HttpRoute || !route.is_some_and(|route| is_missed(route))
        });
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "refuses-until-routes-are-written",
            summary: "Goes on refusing an HTTPRoute when its Gateway changes and the route does not.",
            clauses: &["GEP1364-14"],
            seam: Seam::Statuses(|| Box::<RefusesForGood>::default()),
        },
        reported: &["envoyproxy/gateway#8861", "envoyproxy/gateway#8876"],
    },
    Bug {
        fault: Fault {
            name: "keeps-entries-of-detached-calls-and-streams",
            summary: "Keeps the entry of a GRPCRoute or TCPRoute for a Gateway that it no longer names.",
            clauses: &["OWN-13"],
            seam: Seam::Statuses(|| Box::<KeepsEntries>::default()),
        },
        reported: &["kgateway-dev/kgateway#14293"],
    },
    Bug {
        fault: Fault {
            name: "loses-entries-among-many",
            summary: "Empties status.parents of an HTTPRoute that changes in a namespace with many.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|seen, statuses| lose_entries(seen, statuses))),
        },
        reported: &["envoyproxy/gateway#9536"],
    },
    Bug {
        fault: Fault {
            name: "resolves-kinds-of-other-protocols",
            summary: "Says ResolvedRefs=True on a listener that allows routes of a kind that its protocol does not carry.",
            clauses: &["GEP1364-38"],
            seam: Seam::Statuses(|| say(|seen, statuses| resolve_known_kinds(seen, statuses))),
        },
        reported: &["istio/istio#40675"],
    },
    Bug {
        fault: Fault {
            name: "misses-classes-that-come-after-gateways",
            summary: "Does not take up a Gateway that was there before its class, until the Gateway changes.",
            clauses: &["IMPL-27"],
            seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), miss_late_classes))),
        },
        reported: &["aws/aws-application-networking-k8s#539"],
    },
    Bug {
        fault: Fault {
            name: "misses-classes-that-come-after-routes",
            summary: "Writes nothing of an HTTPRoute that was there before the class of its Gateway, until the route changes.",
            clauses: &["IMPL-27", "IMPL-35"],
            seam: Seam::Statuses(|| Box::<MissesLateClasses>::default()),
        },
        reported: &["lexfrei/cloudflare-tunnel-gateway-controller#808"],
    },
];
