//! Which hosts, kinds and namespaces a listener has, and what is said of those that it cannot have.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{each, has_reason, listeners, parents, say, serve_from, set, view},
    },
    model::{Listener, ParentRef, RouteKind},
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{StatusUpdate, Truth},
};

/// The wildcards of the listeners of a Gateway: the listener's name, and what stands behind the star.
type Wildcards = Vec<(Value, String)>;

fn suffix(hostname: &Value) -> Option<&str> {
    hostname.as_str()?.strip_prefix("*.")
}

/// Gives a route a host that nobody has in place of each wildcard that covers the one of its listener.
fn forget_wider_wildcards(snapshot: &mut Snapshot) {
    let mut known: BTreeMap<(String, String), Wildcards> = BTreeMap::new();
    for gateway in snapshot.all(Kind::Gateway) {
        let all = gateway.raw["spec"]["listeners"].as_array().into_iter().flatten();
        let wild = all.filter_map(|of| Some((of["name"].clone(), suffix(&of["hostname"])?.to_owned())));
        known.insert((gateway.meta.namespace.clone(), gateway.meta.name.clone()), wild.collect());
    }
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].clone();
        let mut narrow: Vec<String> = Vec::new();
        for parent in each(route, "/spec/parentRefs") {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let namespace = text(parent.get("namespace").unwrap_or(&own));
            let wild = known.get(&(namespace, text(&parent["name"]))).into_iter().flatten();
            let reached = wild.filter(|(name, _)| parent["sectionName"].is_null() || parent["sectionName"] == *name);
            narrow.extend(reached.map(|(_, suffix)| suffix.clone()));
        }
        for hostname in each(route, "/spec/hostnames") {
            let covers = |wide: &str| narrow.iter().any(|of| of.strip_suffix(wide).is_some_and(|at| at.ends_with('.')));
            if suffix(hostname).is_some_and(covers) {
                *hostname = "nobody.invalid".into();
            }
        }
    });
}

/// Whether a listener is one of those that a parentRef is for.
fn is_meant(reference: &ParentRef, listener: &Listener) -> bool {
    reference.section_name.as_ref().is_none_or(|name| *name == listener.name)
        && reference.port.is_none_or(|port| port == listener.port)
}

/// Refuses a route whose kind none of the listeners names that name some, whatever there is beside them.
fn overlook_listeners_without_kinds(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let (kind, own) = (update.kind.name(), update.key.namespace.clone());
        for parent in parents(std::slice::from_mut(update)) {
            let reference = &parent.parent_ref;
            let namespace = reference.namespace.as_deref().unwrap_or(&own);
            let Some((_, gateway)) = seen.snapshot.gateway(namespace, &reference.name) else { continue };
            let meant = gateway.listeners.iter().filter(|listener| is_meant(reference, listener));
            let mut named = meant.map(|listener| &listener.allowed_routes.kinds).filter(|kinds| !kinds.is_empty());
            let is_named = |kinds: &Vec<RouteKind>| kinds.iter().any(|one| one.kind == kind);
            if named.clone().next().is_some() && !named.any(is_named) {
                set(&mut parent.conditions, "Accepted", Truth::False, "NotAllowedByListeners");
            }
        }
    }
}

/// Whether namespaces are selected by nothing, or by what cannot be read.
fn selects_by_nothing(namespaces: &Value) -> bool {
    let lacks_values = |one: &Value| {
        ["In", "NotIn"].iter().any(|operator| one["operator"] == *operator)
            && one["values"].as_array().is_none_or(Vec::is_empty)
    };
    let expressions = namespaces["selector"]["matchExpressions"].as_array().into_iter().flatten();
    namespaces["from"] == "Selector" && (namespaces["selector"].is_null() || expressions.into_iter().any(lacks_values))
}

fn let_all_in_by_nothing(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        for listener in each(gateway, "/spec/listeners").filter(|listener| selects_routes_by_nothing(listener)) {
            listener["allowedRoutes"]["namespaces"] = json!({"from": "All"});
        }
    });
}

fn let_all_sets_in_by_nothing(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Gateway, |gateway| {
        if selects_sets_by_nothing(gateway) {
            gateway["spec"]["allowedListeners"]["namespaces"] = json!({"from": "All"});
        }
    });
}

fn selects_routes_by_nothing(listener: &Value) -> bool {
    selects_by_nothing(&listener["allowedRoutes"]["namespaces"])
}

fn selects_sets_by_nothing(gateway: &Value) -> bool {
    selects_by_nothing(&gateway["spec"]["allowedListeners"]["namespaces"])
}

fn has_listener_that_selects_by_nothing(gateway: &Value) -> bool {
    gateway["spec"]["listeners"].as_array().into_iter().flatten().any(selects_routes_by_nothing)
}

/// Serves the HTTPRoutes of a namespace as they were before this was so of a Gateway there.
struct StopsAtSelectors(fn(&Value) -> bool, BTreeMap<String, Arc<Object>>);

impl ConfigSeam for StopsAtSelectors {
    fn edit(&mut self, seen: Seen<'_>, config: &mut gateproof_proxy::Config) {
        let selects = |gateway: &&Arc<Object>| (self.0)(&gateway.raw);
        let stopped: BTreeSet<&str> =
            seen.snapshot.all(Kind::Gateway).filter(selects).map(|gateway| &*gateway.meta.namespace).collect();
        let mut known = BTreeMap::new();
        let mut is_stopped = false;
        for route in seen.snapshot.all(Kind::HttpRoute) {
            let before = self.1.get(&route.meta.uid).filter(|_| stopped.contains(&*route.meta.namespace));
            is_stopped |= before.is_some_and(|before| before.meta.generation != route.meta.generation);
            known.insert(route.meta.uid.clone(), Arc::clone(before.unwrap_or(route)));
        }
        self.1 = known;
        if is_stopped {
            let past = |snapshot: &mut Snapshot| {
                self.1.values().for_each(|old| snapshot.insert(Kind::HttpRoute, Arc::clone(old)));
            };
            *config = seen.otherwise(past).config;
        }
    }
}

/// Has HTTPRoutes name none of the Gateways that come behind one of the same namespace of which this is so.
fn leave_younger_gateways(snapshot: &mut Snapshot, is_odd: fn(&Value) -> bool) {
    let odd: Vec<_> = snapshot.all(Kind::Gateway).filter(|gateway| is_odd(&gateway.raw)).cloned().collect();
    let is_behind = |gateway: &&Arc<Object>| {
        odd.iter().any(|odd| {
            odd.meta.namespace == gateway.meta.namespace && odd.meta.precedence() < gateway.meta.precedence()
        })
    };
    let behind: BTreeSet<_> = snapshot.all(Kind::Gateway).filter(is_behind).map(|gateway| gateway.key()).collect();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        if let Some(parents) = route.pointer_mut("/spec/parentRefs").and_then(Value::as_array_mut) {
            parents.retain(|parent| {
                let namespace = parent["namespace"].as_str().unwrap_or(&own);
                let name = parent["name"].as_str().unwrap_or_default();
                parent["kind"].as_str().is_some_and(|kind| kind != "Gateway")
                    || !behind.contains(&ObjectKey::new(namespace, name))
            });
        }
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "overlooks-listeners-that-name-no-kinds",
            summary: "Refuses a route that one listener lets in without naming kinds, beside one that names others.",
            clauses: &["GRPC-07"],
            seam: Seam::Statuses(|| say(|seen, statuses| overlook_listeners_without_kinds(seen, statuses))),
        },
        reported: &["cilium/cilium#46754"],
    },
    Bug {
        fault: Fault {
            name: "finds-no-hosts-below-wider-wildcards",
            summary: "Finds no hosts in common where the wildcard of an HTTPRoute covers that of its listener.",
            clauses: &["upstream:HTTPRouteHostnameIntersection"],
            seam: Seam::Snapshot(|| view(forget_wider_wildcards)),
        },
        reported: &["envoyproxy/gateway#8186"],
    },
    Bug {
        fault: Fault {
            name: "refuses-listeners-without-known-kinds",
            summary: "Says Accepted=False of a listener that allows unknown kinds of route alone.",
            clauses: &["OWN-20"],
            seam: Seam::Statuses(|| {
                say(|_, statuses| {
                    for listener in listeners(statuses).filter(|listener| listener.supported_kinds.is_empty()) {
                        if has_reason(&listener.conditions, "ResolvedRefs", "InvalidRouteKinds") {
                            set(&mut listener.conditions, "Accepted", Truth::False, "UnsupportedValue");
                        }
                    }
                })
            }),
        },
        reported: &["cilium/cilium#46203"],
    },
    Bug {
        fault: Fault {
            name: "lets-all-in-by-unreadable-selectors",
            summary: "Lets every namespace in at a listener whose selector cannot be read, or is not there.",
            clauses: &["blind:HTTPRouteCrossNamespace.1", "blind:HTTPRouteCrossNamespace.3"],
            seam: Seam::Snapshot(|| view(let_all_in_by_nothing)),
        },
        reported: &["kubernetes-sigs/gateway-api#2099", "projectcontour/contour#4615"],
    },
    Bug {
        fault: Fault {
            name: "stops-at-unreadable-selectors",
            summary: "Takes up no change of the HTTPRoutes in a namespace where a Gateway has a selector that cannot be read, or none where one is asked for.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| Box::new(StopsAtSelectors(has_listener_that_selects_by_nothing, BTreeMap::new()))),
        },
        reported: &["kgateway-dev/kgateway#14624"],
    },
    Bug {
        fault: Fault {
            name: "lets-all-sets-in-by-unreadable-selectors",
            summary: "Lets the ListenerSets of every namespace in at a Gateway whose selector for them cannot be read, or is not there.",
            clauses: &["blind:ListenerSetAllowedNamespaceSelector.2"],
            seam: Seam::Snapshot(|| view(let_all_sets_in_by_nothing)),
        },
        reported: &["kgateway-dev/kgateway#14626"],
    },
    Bug {
        fault: Fault {
            name: "stops-at-unreadable-selectors-of-sets",
            summary: "Takes up no change of the HTTPRoutes in a namespace where a Gateway selects ListenerSets by what cannot be read, or by nothing.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| Box::new(StopsAtSelectors(selects_sets_by_nothing, BTreeMap::new()))),
        },
        reported: &["kgateway-dev/kgateway#14624"],
    },
    Bug {
        fault: Fault {
            name: "serves-nothing-behind-unreadable-selectors",
            summary: "Serves no HTTPRoute at the Gateways of a namespace that are younger than one with a selector that cannot be read, or none where one is asked for.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| {
                serve_from(|snapshot| leave_younger_gateways(snapshot, has_listener_that_selects_by_nothing))
            }),
        },
        reported: &["kgateway-dev/kgateway#14624"],
    },
    Bug {
        fault: Fault {
            name: "serves-nothing-behind-unreadable-selectors-of-sets",
            summary: "Serves no HTTPRoute at the Gateways of a namespace that are younger than one that selects ListenerSets by what cannot be read, or by nothing.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve_from(|snapshot| leave_younger_gateways(snapshot, selects_sets_by_nothing))),
        },
        reported: &["kgateway-dev/kgateway#14624"],
    },
];
