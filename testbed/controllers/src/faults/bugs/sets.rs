//! Routes that name ListenerSets, where only those of Gateways were thought of.

use std::collections::BTreeSet;

use gateproof_proxy::config::{Config, Hostname, Protocol, Route, VirtualHost};
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, has_reason, rules, serve, serve_past},
    },
    runtime::seams::Seen,
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::DesiredStatus,
};

/// The parentRefs of a route to ListenerSets, with the namespace that each means, and how many there are of all kinds.
fn sets_above(route: &Object) -> (Vec<ObjectKey>, usize) {
    let all = route.raw["spec"]["parentRefs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let key = |parent: &Value| {
        let namespace = parent["namespace"].as_str().unwrap_or(&route.meta.namespace);
        Some(ObjectKey::new(namespace, parent["name"].as_str()?))
    };
    (all.iter().filter(|parent| parent["kind"] == "ListenerSet").filter_map(key).collect(), all.len())
}

fn names_sets_alone(route: &Object) -> bool {
    let (sets, all) = sets_above(route);
    !sets.is_empty() && sets.len() == all
}

/// Shows the HTTPRoutes of ListenerSets as they were when they were first seen.
fn keep_routes_of_sets(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::HttpRoute);
    for route in first.all(Kind::HttpRoute).filter(|route| names_sets_alone(route)) {
        snapshot.insert(Kind::HttpRoute, route.clone());
    }
}

/// Sends what comes by HTTPRoutes of ListenerSets to backends as if there were no policies.
fn forget_policies_of_sets(seen: Seen<'_>, config: &mut Config) {
    let mut bare = seen.otherwise(|snapshot| snapshot.retain(Kind::BackendTlsPolicy, |_| false)).config;
    for rule in rules(config) {
        let route = seen.snapshot.get(Kind::HttpRoute, &rule.id.namespace, &rule.id.name);
        if route.is_some_and(|route| names_sets_alone(route))
            && let Some(other) = rules(&mut bare).find(|other| other.id == rule.id)
        {
            rule.backends.clone_from(&other.backends);
        }
    }
}

/// The ListenerSets that their Gateway does not let in.
fn refused(seen: Seen<'_>) -> BTreeSet<ObjectKey> {
    let sets = seen.otherwise(|_| {}).statuses.into_iter().filter_map(|update| match update.status {
        DesiredStatus::ListenerSet { conditions, .. } => Some((update.key, conditions)),
        _ => None,
    });
    sets.filter(|(_, conditions)| has_reason(conditions, "Accepted", "NotAllowed")).map(|(key, _)| key).collect()
}

/// Serves HTTPRoutes that are there by another parent for the hosts of refused ListenerSets that they name, too.
fn serve_hosts_of_refused(seen: Seen<'_>, config: &mut Config) {
    for key in refused(seen) {
        let Some((_, set)) = seen.snapshot.listener_set(&key.namespace, &key.name) else { continue };
        let is_of_set = |rule: &&Route| {
            let route = seen.snapshot.get(Kind::HttpRoute, &rule.id.namespace, &rule.id.name);
            route.is_some_and(|route| sets_above(route).0.contains(&key))
        };
        let gateway = ObjectKey::new(set.parent_ref.namespace.as_ref().unwrap_or(&key.namespace), &set.parent_ref.name);
        for listener in &set.listeners {
            let Some(hostname) = listener.host().map(Hostname::parse) else { continue };
            let id = format!("{gateway}:{}", listener.port);
            let Some(lane) = config.listeners.iter_mut().find(|lane| lane.id == id) else { continue };
            let Protocol::Http(http) = &mut lane.protocol else { continue };
            let all = http.virtual_hosts.iter().flat_map(|host| &host.routes);
            let routes: Vec<Route> = all.filter(is_of_set).cloned().collect();
            if !routes.is_empty() && http.virtual_hosts.iter().all(|host| host.hostname != hostname) {
                http.virtual_hosts.push(VirtualHost {
                    listener: listener.name.clone(),
                    hostname,
                    routes,
                    before: Vec::new(),
                });
            }
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "deaf-to-changed-routes-of-listener-sets",
            summary: "Does not notice that an HTTPRoute changes which names no Gateway, but ListenerSets alone.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| serve_past(keep_routes_of_sets)),
        },
        reported: &[
            "kubernetes-sigs/aws-load-balancer-controller#4650",
            "kubernetes-sigs/aws-load-balancer-controller#4645",
        ],
    },
    Bug {
        fault: Fault {
            name: "forgets-policies-at-listener-sets",
            summary: "Sends requests in clear text, whatever policy a backend has, where the route names ListenerSets alone.",
            clauses: &["upstream:BackendTLSPolicy"],
            seam: Seam::Config(|| serve(forget_policies_of_sets)),
        },
        reported: &["envoyproxy/gateway#9242", "envoyproxy/gateway#9410", "nginx/nginx-gateway-fabric#5329"],
    },
    Bug {
        fault: Fault {
            name: "serves-hosts-of-refused-listener-sets",
            summary: "Serves a route that its Gateway takes for the hosts of a ListenerSet, too, which the route names and the Gateway refuses.",
            clauses: &["blind:ListenerSetAllowedNamespaceNone.1"],
            seam: Seam::Config(|| serve(serve_hosts_of_refused)),
        },
        reported: &["lexfrei/cloudflare-tunnel-gateway-controller#821"],
    },
];
