//! Backends and references to them, and what becomes of a route that has several of something.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use gateproof_proxy::{
    config::{BackendTarget, Config, Route, RouteId},
    exchange::{MatchOutcome, RequestHead},
    matching::hostname::covers,
    routing::Routing,
};
use serde_json::Value;

use super::{Bug, bystanders::Chokes};
use crate::{
    faults::{
        Fault, Seam,
        exchange::Finds,
        tools::{backend_refs, each, is, parents, rules, say, serve, set, view},
        writer::RESTLESS_PAUSE,
    },
    reconcile::{httproute, verdict::Problem},
    runtime::seams::{Seen, StatusWriterSeam},
    snapshot::{Kind, Snapshot},
    status::{StatusUpdate, Truth},
};

/// The references of an HTTPRoute that cannot be followed.
pub(super) fn problems(seen: Seen<'_>, update: &StatusUpdate) -> Vec<Problem> {
    let route = seen.snapshot.http_route(&update.key.namespace, &update.key.name);
    route.map_or_else(Vec::new, |(route, spec)| httproute::judge(seen.snapshot, route, spec).problems)
}

/// Gives all reasons for which references do not resolve as one.
fn join_reasons(seen: Seen<'_>, statuses: &mut [StatusUpdate]) {
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
        let mut reasons: Vec<&str> = problems(seen, update).into_iter().map(|problem| problem.reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        if reasons.len() > 1 {
            for parent in parents(std::slice::from_mut(update)) {
                set(&mut parent.conditions, "ResolvedRefs", Truth::False, &reasons.join(", "));
            }
        }
    }
}

fn is_external(rule: &Route) -> bool {
    let is_such = |target: &BackendTarget| matches!(target, BackendTarget::Fail { reason, .. } if reason.contains("ExternalName"));
    rule.backends.iter().any(|backend| is_such(&backend.target))
}

/// Whether a rule has several backends and none of them a share.
fn has_no_weight(rule: &Route) -> bool {
    rule.backends.len() > 1 && rule.backends.iter().all(|backend| backend.weight == 0)
}

/// Sends what a rule has for Services of one name to the first of them, whatever their namespaces.
fn forget_namespaces(config: &mut Config) {
    for rule in rules(config) {
        let mut first: BTreeMap<String, BackendTarget> = BTreeMap::new();
        for backend in rule.backends.iter_mut().filter(|of| matches!(of.target, BackendTarget::Endpoints(_))) {
            if let Some((_, name)) = backend.id.split_once('/') {
                backend.target = first.entry(name.to_owned()).or_insert_with(|| backend.target.clone()).clone();
            }
        }
    }
}

/// Asks the rules of a route one after the other, those first that have a more specific match, be it the one that holds or not.
fn ask_rules_by_their_best(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let MatchOutcome::Rule { route, .. } = &found else { return found };
    let RouteId { namespace, name, .. } = &route.rule.id;
    let Some(host) = routing.virtual_host(&request.host) else { return found };
    let own = |id: &RouteId| (&id.namespace, &id.name) == (namespace, name);
    let candidates = routing.hosts[host].candidates.iter();
    let own: Vec<_> = candidates.filter(|of| own(&of.route.rule.id) && covers(&of.hostname, &request.host)).collect();
    let subject = request.subject();
    let best = own.iter().find_map(|first| {
        let mut same_rule = own.iter().filter(|of| of.route.rule.id == first.route.rule.id);
        same_rule.find(|of| of.predicate.holds(&subject))
    });
    best.map_or_else(
        || found.clone(),
        |of| MatchOutcome::Rule { route: of.route.clone(), predicate: of.predicate.clone() },
    )
}

/// Puts the conditions of a route with errors of two types in another order with each look at it.
struct Shuffles(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for Shuffles {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.0.merge(live, desired, now);
        if has_errors_of_two_types(desired) {
            let own = |entry: &&mut Value| entry["controllerName"] == desired.controller_name.as_str();
            for entry in each(&mut status, "/parents").filter(own) {
                if let Some(conditions) = entry["conditions"].as_array_mut().filter(|of| !of.is_empty()) {
                    conditions.rotate_left(1);
                }
            }
        }
        status
    }

    async fn before(&self, desired: &StatusUpdate) {
        self.0.before(desired).await;
        if has_errors_of_two_types(desired) {
            tokio::time::sleep(RESTLESS_PAUSE).await;
        }
    }
}

fn has_errors_of_two_types(update: &StatusUpdate) -> bool {
    let mut update = update.clone();
    parents(std::slice::from_mut(&mut update)).any(|parent| {
        is(&parent.conditions, "ResolvedRefs", Truth::False) && is(&parent.conditions, "PartiallyInvalid", Truth::True)
    })
}

/// Refers from HTTPRoutes and Gateways that name their own namespace to one that has no grants.
fn refer_elsewhere(snapshot: &mut Snapshot) {
    let redirect = |own: &Value, reference: &mut Value| {
        if reference["namespace"] == *own {
            reference["namespace"] = "nowhere".into();
        }
    };
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].clone();
        backend_refs(route).for_each(|reference| redirect(&own, reference));
    });
    snapshot.edit(Kind::Gateway, |gateway| {
        let own = gateway["metadata"]["namespace"].clone();
        for listener in each(gateway, "/spec/listeners") {
            each(listener, "/tls/certificateRefs").for_each(|reference| redirect(&own, reference));
        }
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "chokes-on-external-names",
            summary: "Takes no change up on a port where a route has a Service of type ExternalName.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Chokes::on(is_external)),
        },
        reported: &["envoyproxy/gateway#9189", "kgateway-dev/kgateway#14352"],
    },
    Bug {
        fault: Fault {
            name: "joins-reasons",
            summary: "Gives several reasons in one for references that do not resolve, which the API server does not take.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|seen, statuses| join_reasons(seen, statuses))),
        },
        reported: &["envoyproxy/gateway#8857", "kgateway-dev/kgateway#11314"],
    },
    Bug {
        fault: Fault {
            name: "chokes-on-no-weight",
            summary: "Takes no change up on a port where a rule has several backends, all of weight 0.",
            clauses: &["blind:HTTPRouteObservedGenerationBump.1"],
            seam: Seam::Config(|| Chokes::on(has_no_weight)),
        },
        reported: &["kgateway-dev/kgateway#11548"],
    },
    Bug {
        fault: Fault {
            name: "shuffles-conditions-of-bad-routes",
            summary: "Writes the conditions of a route with errors of two types in another order again and again.",
            clauses: &["K8S-15"],
            seam: Seam::StatusWriter(|inner| Arc::new(Shuffles(inner))),
        },
        reported: &["envoyproxy/gateway#10183"],
    },
    Bug {
        fault: Fault {
            name: "sorts-rules-by-their-best-match",
            summary: "Asks the rule first that has the most specific match, though another match of it is what holds.",
            clauses: &["upstream:HTTPRouteMatching"],
            seam: Seam::Exchange(|| Arc::new(Finds(ask_rules_by_their_best))),
        },
        reported: &["kubernetes-sigs/gateway-api#1381", "kubernetes-sigs/gateway-api#1370"],
    },
    Bug {
        fault: Fault {
            name: "keys-endpoints-by-name",
            summary: "Sends what a rule has for two Services of the same name in two namespaces to the first of them.",
            clauses: &["upstream:HTTPRouteWeight"],
            seam: Seam::Config(|| serve(|_, config| forget_namespaces(config))),
        },
        reported: &["Kong/kubernetes-ingress-controller#3860", "envoyproxy/gateway#2187"],
    },
    Bug {
        fault: Fault {
            name: "asks-for-grants-within-a-namespace",
            summary: "Asks for a grant where a reference names a namespace, though it is the referrer's own.",
            clauses: &["GEP1364-21"],
            seam: Seam::Snapshot(|| view(refer_elsewhere)),
        },
        reported: &["envoyproxy/gateway#792", "kubernetes-sigs/gateway-api#1944"],
    },
];
