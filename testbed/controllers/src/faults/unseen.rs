//! What upstream's tests of v1.7 look at, in the cases that they leave out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use gateproof_proxy::{
    Config,
    config::{Filter, Protocol, Route, VirtualHost},
    grpc,
};
use serde_json::Value;

use super::{
    Fault, Seam,
    exchange::Forwards,
    tools::{each, hosts, rules, serve, view, virtual_hosts},
    writer::merge,
};
use crate::{
    reconcile::intersect,
    runtime::seams::StatusWriterSeam,
    snapshot::{Kind, Snapshot},
    status::StatusUpdate,
};

/// As many entries as it can read.
const ENTRIES: usize = 16;

fn is_of_one(one: &Route, other: &Route) -> bool {
    (&one.id.namespace, &one.id.name) == (&other.id.namespace, &other.id.name)
}

fn is_of_calls(rule: &Route) -> bool {
    rule.matches.iter().any(|one| matches!(one.path, gateproof_proxy::config::PathMatch::Rpc { .. }))
        || rule.matches.is_empty()
}

/// Says of the rules of a host that their hostnames are what they have of the listener.
fn intersect_all(host: &mut VirtualHost, is_meant: impl Fn(&Route) -> bool) {
    for rule in host.routes.iter_mut().filter(|rule| is_meant(rule)) {
        rule.hostnames = rule.hostnames.iter().filter_map(|hostname| intersect(&host.hostname, hostname)).collect();
    }
}

/// Puts the rules of one route that have the same query parameters into the order of the first that each names.
fn order_by_first_query(host: &mut VirtualHost) {
    let names = |rule: &Route| -> Vec<String> {
        rule.matches.iter().flat_map(|one| &one.query).map(|one| one.name.clone()).collect()
    };
    let sorted = |rule: &Route| names(rule).into_iter().collect::<BTreeSet<_>>();
    for at in 1..host.routes.len() {
        let (one, other) = (&host.routes[at - 1], &host.routes[at]);
        let alike = is_of_one(one, other) && !names(one).is_empty() && sorted(one) == sorted(other);
        let paths = |rule: &Route| rule.matches.iter().map(|one| one.path.clone()).collect::<Vec<_>>();
        if alike && paths(one) == paths(other) && names(one) < names(other) {
            host.routes.swap(at - 1, at);
        }
    }
}

/// Lets rules with fewer matches win against others of their route.
fn prefer_few_matches(host: &mut VirtualHost) {
    for at in 1..host.routes.len() {
        let (one, other) = (&host.routes[at - 1], &host.routes[at]);
        let share = one.matches.iter().any(|of| other.matches.contains(of));
        if is_of_one(one, other) && share && one.matches.len() > other.matches.len() {
            host.routes.swap(at - 1, at);
        }
    }
}

/// Leaves out routes of a broader hostname beside a route of another namespace that writes a narrower one.
fn hide_broader_of_others(host: &mut VirtualHost) {
    let all = host.routes.clone();
    let shared = |rule: &Route| -> Vec<_> {
        rule.hostnames.iter().filter_map(|hostname| intersect(&host.hostname, hostname)).collect()
    };
    host.routes.retain(|rule| {
        let own = shared(rule);
        let is_narrower = |other: &Route| {
            other.id.namespace != rule.id.namespace
                && other.hostnames.iter().any(|written| own.contains(written) && !rule.hostnames.contains(written))
        };
        !all.iter().any(is_narrower)
    });
}

fn order_three_by_age(host: &mut VirtualHost) {
    let routes: BTreeSet<_> = host.routes.iter().filter(|rule| is_of_calls(rule)).map(|rule| &rule.id.name).collect();
    if routes.len() > 2 {
        intersect_all(host, is_of_calls);
    }
}

/// Gives rules of calls that have no hostnames that of the listener.
fn name_listeners_host(host: &mut VirtualHost) {
    for rule in host.routes.iter_mut().filter(|rule| is_of_calls(rule) && rule.hostnames.is_empty()) {
        rule.hostnames = vec![host.hostname.clone()];
    }
}

/// Leaves out of the filters of calls what is written with capital letters.
fn overlook_capitals(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::GrpcRoute, |route| {
        for filter in each(route, "/spec/rules").flat_map(|rule| each(rule, "/filters")) {
            let Some(modifier) = filter.get_mut("requestHeaderModifier").and_then(Value::as_object_mut) else {
                continue;
            };
            for list in modifier.values_mut().filter_map(Value::as_array_mut) {
                let name = |entry: &Value| entry["name"].as_str().or(entry.as_str()).unwrap_or_default().to_owned();
                list.retain(|entry| !name(entry).contains(|letter: char| letter.is_ascii_uppercase()));
            }
        }
    });
}

fn lose_rewrites_of_rules(config: &mut Config) {
    let rewrites = |filter: &Filter| matches!(filter, Filter::UrlRewrite(_));
    for rule in rules(config) {
        if rule.backends.iter().any(|backend| backend.filters.iter().any(rewrites)) {
            rule.filters.retain(|filter| !rewrites(filter));
        }
    }
}

/// Conditions with a domain in their type are not this controller's.
fn is_foreign(condition: &Value) -> bool {
    condition["type"].as_str().unwrap_or_default().contains('/')
}

fn listeners(status: &mut Value) -> impl Iterator<Item = &mut Value> {
    each(status, "/listeners")
}

fn counts(status: &Value) -> Vec<Value> {
    let entries = status["listeners"].as_array().into_iter().flatten();
    entries.map(|entry| entry["attachedRoutes"].clone()).collect()
}

/// Takes the conditions of others away with a write that is about counts.
fn drop_with_counts(live: &Value, _: &StatusUpdate, status: &mut Value) {
    let before = counts(&live["status"]);
    if before.is_empty() || before == counts(status) {
        return;
    }
    let lists = listeners(status).filter_map(|entry| entry["conditions"].as_array_mut());
    lists.for_each(|list| list.retain(|condition| !is_foreign(condition)));
    if let Some(list) = status["conditions"].as_array_mut() {
        list.retain(|condition| !is_foreign(condition));
    }
}

/// Leaves the conditions of others at the place in the list of listeners where they were.
fn keep_by_place(live: &Value, _: &StatusUpdate, status: &mut Value) {
    let foreign = |entry: &Value| -> Vec<Value> {
        let all = entry["conditions"].as_array().into_iter().flatten();
        all.filter(|condition| is_foreign(condition)).cloned().collect()
    };
    let before = live["status"]["listeners"].as_array();
    let before: Vec<Vec<Value>> = before.into_iter().flatten().map(foreign).collect();
    for (at, entry) in listeners(status).enumerate() {
        if let Some(list) = entry["conditions"].as_array_mut() {
            list.retain(|condition| !is_foreign(condition));
            list.extend(before.get(at).cloned().unwrap_or_default());
        }
    }
}

/// Takes what it finds in its own conditions of Gateways for its own, if somebody else has written it.
struct TakesForItsOwn(Arc<dyn StatusWriterSeam>, Mutex<BTreeMap<(String, String), Value>>);

impl StatusWriterSeam for TakesForItsOwn {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.0.merge(live, desired, now);
        if desired.kind != Kind::Gateway {
            return status;
        }
        let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let mut written = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        for condition in each(&mut status, "/conditions") {
            let key = (uid.clone(), condition["type"].as_str().unwrap_or_default().to_owned());
            let before = live["status"]["conditions"].as_array().into_iter().flatten();
            let found = before.into_iter().find(|one| one["type"] == condition["type"]);
            let is_of_others = |found: &&Value| written.get(&key).is_some_and(|said| *said != found["status"]);
            match found.filter(is_of_others) {
                Some(found) => {
                    for field in ["status", "reason", "message", "lastTransitionTime"] {
                        condition[field] = found[field].clone();
                    }
                }
                None => drop(written.insert(key, condition["status"].clone())),
            }
        }
        status
    }
}

/// Empties the list once nothing in it is its own.
fn empty_with_own(_: &Value, desired: &StatusUpdate, status: &mut Value) {
    if let Some(parents) = status.get_mut("parents").and_then(Value::as_array_mut)
        && !parents.iter().any(|entry| entry["controllerName"] == desired.controller_name.as_str())
    {
        parents.clear();
    }
}

/// Leaves a status with more entries than it can read as it is.
fn give_up_on_many(live: &Value, _: &StatusUpdate, status: &mut Value) {
    if live["status"]["parents"].as_array().is_some_and(|parents| parents.len() > ENTRIES) {
        *status = live["status"].clone();
    }
}

/// The Gateway in a name such as `namespace/gateway:port`.
pub(super) fn gateway_of(lane: &str) -> &str {
    let name = lane.split_once('/').map_or(lane, |(_, name)| name);
    name.rsplit_once(':').map_or(name, |(name, _)| name)
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "ignores-times-of-backends-where-it-retries",
        summary: "Waits for a backend as long as it takes where the rule has retries.",
        clauses: &["blind:HTTPRouteRetryWithBackendTimeout.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                rules(config).filter(|rule| rule.retry.is_some()).for_each(|rule| rule.timeouts.backend_request = None);
            })
        }),
    },
    Fault {
        name: "tells-queries-apart-by-their-order",
        summary: "Lets of rules with the same query parameters the one win whose first parameter is last in the alphabet.",
        clauses: &["blind:HTTPRouteRuleOrder.2"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(order_by_first_query))),
    },
    Fault {
        name: "prefers-rules-of-few-matches",
        summary: "Lets of two rules with a match in common the one win that has fewer matches.",
        clauses: &["blind:HTTPRouteRuleOrder.3"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(prefer_few_matches))),
    },
    Fault {
        name: "hides-broader-routes-of-other-namespaces",
        summary: "Leaves what the narrower route does not take to nobody where the broader one is of another namespace.",
        clauses: &["blind:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection.1"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(hide_broader_of_others))),
    },
    Fault {
        name: "orders-routes-of-https-by-intersection",
        summary: "Orders the routes of HTTPS listeners by the hosts that they have of these, not by what they write.",
        clauses: &["blind:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection.2"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for lane in config.listeners.iter_mut().filter(|lane| matches!(lane.protocol, Protocol::Https(_))) {
                    for host in virtual_hosts(lane) {
                        for rule in host.routes.iter_mut().filter(|rule| rule.hostnames.is_empty()) {
                            rule.hostnames = vec![host.hostname.clone()];
                        }
                        intersect_all(host, |_| true);
                    }
                }
            })
        }),
    },
    Fault {
        name: "orders-calls-of-three-routes-by-age",
        summary: "Orders the GRPCRoutes of a listener by what they have of it as soon as there are three.",
        clauses: &["blind:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection.3"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(order_three_by_age))),
    },
    Fault {
        name: "names-the-listeners-host-for-calls",
        summary: "Ranks a GRPCRoute without hostnames as if it wrote the hostname of the listener.",
        clauses: &["blind:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection.4"],
        seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(name_listeners_host))),
    },
    Fault {
        name: "overlooks-capitals-in-filters-of-calls",
        summary: "Leaves metadata alone that a filter names with capital letters.",
        clauses: &["blind:GRPCRouteRequestHeaderModifier.2"],
        seam: Seam::Snapshot(|| view(overlook_capitals)),
    },
    Fault {
        name: "loses-binary-metadata",
        summary: "Forwards calls without their binary metadata.",
        clauses: &["blind:GRPCRouteRequestHeaderModifier.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                if grpc::is_grpc(&request.headers) {
                    let binary = parts.headers.keys().filter(|name| name.as_str().ends_with("-bin"));
                    for name in binary.cloned().collect::<Vec<_>>() {
                        parts.headers.remove(name);
                    }
                }
            }))
        }),
    },
    Fault {
        name: "loses-rewrites-of-rules-beside-those-of-backends",
        summary: "Leaves the rewrite of a rule out where a backend of it has one of its own.",
        clauses: &["OWN-17", "blind:HTTPRouteBackendURLRewrite.3"],
        seam: Seam::Config(|| serve(|_, config| lose_rewrites_of_rules(config))),
    },
    Fault {
        name: "serves-nothing-for-gateways-with-dots",
        summary: "Serves nothing at a Gateway that has a dot in its name.",
        clauses: &["OWN-14", "blind:GatewayNameMaximumLength.4"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for lane in config.listeners.iter_mut().filter(|lane| gateway_of(&lane.id).contains('.')) {
                    virtual_hosts(lane).into_iter().for_each(|host| host.routes.clear());
                }
            })
        }),
    },
    Fault {
        name: "drops-foreign-conditions-with-counts",
        summary: "Removes conditions of others from a Gateway when the number of its routes changes.",
        clauses: &["blind:GatewayPreserveForeignConditions.1", "K8S-11"],
        seam: Seam::StatusWriter(|inner| merge(inner, drop_with_counts)),
    },
    Fault {
        name: "keeps-foreign-conditions-by-place",
        summary: "Leaves conditions of others to whichever listener is at the place where theirs was.",
        clauses: &["blind:GatewayPreserveForeignConditions.5", "K8S-11"],
        seam: Seam::StatusWriter(|inner| merge(inner, keep_by_place)),
    },
    Fault {
        name: "takes-overwritten-conditions-for-its-own",
        summary: "Keeps to what somebody else wrote into its conditions of a Gateway.",
        clauses: &["blind:GatewayPreserveForeignConditions.3"],
        seam: Seam::StatusWriter(|inner| Arc::new(TakesForItsOwn(inner, Mutex::default()))),
    },
    Fault {
        name: "drops-foreign-parents-with-its-own",
        summary: "Removes the entries of other controllers with the last of its own.",
        clauses: &["blind:HTTPRoutePreserveForeignStatus.2", "IMPL-20"],
        seam: Seam::StatusWriter(|inner| merge(inner, empty_with_own)),
    },
    Fault {
        name: "gives-up-on-many-entries",
        summary: "Writes no status of a route that has more than sixteen entries.",
        clauses: &["blind:HTTPRoutePreserveForeignStatus.5", "GEP1364-08", "IMPL-20", "IMPL-25"],
        seam: Seam::StatusWriter(|inner| merge(inner, give_up_on_many)),
    },
];
