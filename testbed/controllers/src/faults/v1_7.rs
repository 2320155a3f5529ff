//! What v1.7 of Gateway API asks for the first time, or is the first to test.

use std::collections::BTreeMap;

use gateproof_proxy::config::{BackendTarget, Config, Filter, Hostname, PathMatch, Route};
use serde_json::Value;

use super::{
    Fault, Seam,
    attached::leave_other_gateways,
    tools::{each, find, has_reason, hosts, listeners, own, parents, rules, say, serve, serve_from, set, view},
};
use crate::{
    reconcile::intersect,
    runtime::seams::{ConfigSeam, Seen},
    snapshot::Kind,
    status::Truth,
};

/// How long the value of a label may be.
const LABEL: usize = 63;

/// The hosts that a rule has of a listener.
pub(super) fn shared(listener: &Hostname, rule: &Route) -> Vec<Hostname> {
    rule.hostnames.iter().filter_map(|hostname| intersect(listener, hostname)).collect()
}

/// Whether two rules are of one route.
pub(super) fn is_of_one(one: &Route, other: &Route) -> bool {
    (&one.id.namespace, &one.id.name) == (&other.id.namespace, &other.id.name)
}

/// Leaves the hosts of a listener to the routes that write them most narrowly.
pub(super) fn hide_broader(config: &mut Config) {
    for host in hosts(config) {
        let all = host.routes.clone();
        host.routes.retain(|rule| {
            let own = shared(&host.hostname, rule);
            let is_narrower = |other: &Route| {
                !is_of_one(rule, other)
                    && other.hostnames.iter().any(|written| own.contains(written) && !rule.hostnames.contains(written))
            };
            !all.iter().any(is_narrower)
        });
    }
}

fn rewrites(filters: &[Filter]) -> Vec<Filter> {
    filters.iter().filter(|filter| matches!(filter, Filter::UrlRewrite(_))).cloned().collect()
}

/// Goes to the next rule of the route that has the same matches where the backends of one cannot be followed.
fn fall_through(config: &mut Config) {
    for host in hosts(config) {
        let all = host.routes.clone();
        host.routes.retain(|rule| {
            let broken = |rule: &Route| {
                rule.backends.iter().all(|to| matches!(to.target, BackendTarget::Fail { status: 500, .. }))
            };
            let next = |other: &Route| {
                is_of_one(rule, other)
                    && other.id.rule > rule.id.rule
                    && other.matches == rule.matches
                    && !broken(other)
            };
            rule.backends.is_empty() || !broken(rule) || !all.iter().any(next)
        });
    }
}

/// Keeps rules that have the same matches in the order in which it saw them first, by where they go.
#[derive(Default)]
struct KeepsOrder(BTreeMap<(String, String), Vec<String>>);

impl ConfigSeam for KeepsOrder {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        let target = |rule: &Route| rule.backends.first().map(|to| to.id.clone()).unwrap_or_default();
        for host in hosts(config) {
            for at in 0..host.routes.len() {
                let rule = host.routes[at].clone();
                let known = self.0.entry((rule.id.namespace.clone(), rule.id.name.clone())).or_default();
                if !known.contains(&target(&rule)) {
                    known.push(target(&rule));
                }
                let place = |rule: &Route| known.iter().position(|seen| *seen == target(rule));
                let before = (0..at).find(|before| {
                    let other = &host.routes[*before];
                    is_of_one(&rule, other) && other.matches == rule.matches && place(other) > place(&rule)
                });
                if let Some(before) = before {
                    let rule = host.routes.remove(at);
                    host.routes.insert(before, rule);
                }
            }
        }
    }
}

pub(super) fn is_of_calls(rule: &Route) -> bool {
    rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }))
}

/// Serves the calls of a Gateway at the others of its namespace too, where these have calls of the same hostname.
fn serve_everywhere(config: &mut Config) {
    let namespace = |id: &str| id.split('/').next().unwrap_or_default().to_owned();
    let mut calls: Vec<(String, Route)> = Vec::new();
    for lane in &mut config.listeners {
        let of = namespace(&lane.id);
        for host in super::tools::virtual_hosts(lane) {
            calls.extend(host.routes.iter().filter(|rule| is_of_calls(rule)).map(|rule| (of.clone(), rule.clone())));
        }
    }
    for lane in &mut config.listeners {
        let of = namespace(&lane.id);
        for host in super::tools::virtual_hosts(lane) {
            let more: Vec<Route> = calls
                .iter()
                .filter(|(from, rule)| {
                    let beside = |own: &Route| is_of_calls(own) && own.hostnames == rule.hostnames;
                    *from == of && host.routes.iter().any(beside) && !host.routes.iter().any(|own| own.id == rule.id)
                })
                .map(|(_, rule)| rule.clone())
                .collect();
            host.routes.extend(more);
        }
    }
}

/// Takes the rule about names off the rules of routes.
fn admit_repeated_names(crds: &mut [Value]) {
    for version in crds.iter_mut().flat_map(|crd| each(crd, "/spec/versions")) {
        let list = "/schema/openAPIV3Schema/properties/spec/properties/rules/x-kubernetes-validations";
        if let Some(checks) = version.pointer_mut(list).and_then(Value::as_array_mut) {
            checks.retain(|check| !check["rule"].as_str().unwrap_or_default().contains(".name"));
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "orders-routes-by-intersection",
        summary: "Orders routes by the hosts that they have of a listener instead of by the hostnames that are written.",
        clauses: &[
            "upstream:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection",
            "upstream:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for host in hosts(config) {
                    for rule in &mut host.routes {
                        rule.hostnames = shared(&host.hostname, rule);
                    }
                }
            })
        }),
    },
    Fault {
        name: "hides-routes-of-broader-hostnames",
        summary: "Leaves requests that the route of the narrower hostname does not take to nobody.",
        clauses: &[
            "upstream:HTTPRouteHostnameIntersection",
            "upstream:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection",
            "blind:GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection.1",
        ],
        seam: Seam::Config(|| serve(|_, config| hide_broader(config))),
    },
    Fault {
        name: "overlooks-gateways-with-long-names",
        summary: "Does not see Gateways whose name is longer than the value of a label may be.",
        clauses: &["upstream:GatewayNameMaximumLength"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                let long: Vec<_> = snapshot.all(Kind::Gateway).map(|gateway| gateway.key()).collect();
                for key in long.iter().filter(|key| key.name.len() > LABEL) {
                    snapshot.remove(Kind::Gateway, key);
                }
            })
        }),
    },
    Fault {
        name: "ignores-rewrites-of-backends",
        summary: "Leaves the rewrites of a backend out.",
        clauses: &["upstream:HTTPRouteBackendURLRewrite"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in rules(config).flat_map(|rule| &mut rule.backends) {
                    backend.filters.retain(|filter| !matches!(filter, Filter::UrlRewrite(_)));
                }
            })
        }),
    },
    Fault {
        name: "rewrites-for-every-backend",
        summary: "Applies the rewrite of one backend to what goes to the others of the rule.",
        clauses: &["blind:HTTPRouteBackendURLRewrite.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for rule in rules(config) {
                    let all: Vec<Filter> = rule.backends.iter().flat_map(|to| rewrites(&to.filters)).collect();
                    for backend in rule.backends.iter_mut().filter(|to| rewrites(&to.filters).is_empty()) {
                        backend.filters.extend(all.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "falls-through-to-the-next-equal-rule",
        summary: "Lets the next rule with the same matches answer where the first has no backend.",
        clauses: &["upstream:HTTPRouteRuleOrder"],
        seam: Seam::Config(|| serve(|_, config| fall_through(config))),
    },
    Fault {
        name: "keeps-the-order-of-equal-rules",
        summary: "Leaves rules with the same matches in their order when the route puts them into another.",
        clauses: &["blind:HTTPRouteRuleOrder.1"],
        seam: Seam::Config(|| Box::<KeepsOrder>::default()),
    },
    Fault {
        name: "serves-calls-at-the-first-gateway-only",
        summary: "Serves a GRPCRoute at the first of its Gateways alone.",
        clauses: &["upstream:GRPCRouteMultipleGateways"],
        seam: Seam::Config(|| serve_from(|snapshot| leave_other_gateways(snapshot, Kind::GrpcRoute))),
    },
    Fault {
        name: "serves-calls-at-every-gateway",
        summary: "Serves the GRPCRoutes of one Gateway at the others of its namespace too.",
        clauses: &["blind:GRPCRouteMultipleGateways.1"],
        seam: Seam::Config(|| serve(|_, config| serve_everywhere(config))),
    },
    Fault {
        name: "forbids-secrets-that-are-missing",
        summary: "Calls the reference to a Secret of another namespace that is not there not permitted, though it is.",
        clauses: &["GEP1364-37", "blind:GatewaySecretMissingReferenceGrant.2"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    let Some(refs) = find(&mut listener.conditions, "ResolvedRefs") else { continue };
                    if refs.reason == "InvalidCertificateRef" && refs.message.contains("no such Secret") {
                        refs.reason = "RefNotPermitted".into();
                    }
                }
            })
        }),
    },
    Fault {
        name: "always-says-that-addresses-are-assigned",
        summary: "Says AddressesAssigned=True of a Gateway that has no address.",
        clauses: &["OWN-10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "AddressesAssigned", "NotAssigned") {
                        set(conditions, "AddressesAssigned", Truth::True, "AddressesAssigned");
                    }
                }
            })
        }),
    },
    Fault {
        name: "takes-some-addresses-for-all",
        summary: "Says AddressesAssigned=True of a Gateway that has one of the addresses that it asks for.",
        clauses: &["OWN-10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "AddressesAssigned", "PartiallyAssigned") {
                        set(conditions, "AddressesAssigned", Truth::True, "AddressesAssigned");
                    }
                }
            })
        }),
    },
    Fault {
        name: "names-no-missing-addresses",
        summary: "Does not say which of several addresses a Gateway lacks.",
        clauses: &["OWN-10"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if let Some(assigned) = find(conditions, "AddressesAssigned")
                        && assigned.reason == "PartiallyAssigned"
                    {
                        assigned.message = "not all addresses can be had".into();
                    }
                }
            })
        }),
    },
    Fault {
        name: "calls-backoffs-no-matching-parent",
        summary: "Refuses routes with a backoff for a reason that has nothing to do with it.",
        clauses: &["GEP1364-39"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::HttpRoute) {
                    let route = seen.snapshot.http_route(&update.key.namespace, &update.key.name);
                    let pauses = |(_, spec): (_, &crate::model::HttpRouteSpec)| {
                        spec.rules.iter().any(|rule| rule.retry.as_ref().is_some_and(|retry| retry.backoff.is_some()))
                    };
                    if !route.is_some_and(pauses) {
                        continue;
                    }
                    for parent in parents(std::slice::from_mut(update)) {
                        if !has_reason(&parent.conditions, "Accepted", "NoMatchingParent") {
                            set(&mut parent.conditions, "Accepted", Truth::False, "NoMatchingParent");
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "crds-with-repeated-rule-names",
        summary: "Serves CRDs that store a route with two rules of one name.",
        clauses: &["OWN-09"],
        seam: Seam::ApiSurface(|crds| admit_repeated_names(crds)),
    },
];
