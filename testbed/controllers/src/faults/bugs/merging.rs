//! Rules and routes that are alike, and what becomes of them when they are put together.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_proxy::config::{
    Config, Filter, PathMatch, PathModifier, RequestMatch, Route, RouteId, UrlRewrite, VirtualHost,
};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    grpc::config::is_of_calls,
    tools::{hosts, rules, serve},
};

/// What has a meaning of its own in a regular expression and may stand in a path.
const SPECIAL: [char; 5] = ['$', '*', '+', '(', ')'];

fn is_of_same_route(one: &RouteId, other: &RouteId) -> bool {
    (&one.namespace, &one.name) == (&other.namespace, &other.name)
}

/// What a rule rewrites.
fn rewrites(rule: &mut Route) -> impl Iterator<Item = &mut UrlRewrite> {
    rule.filters.iter_mut().filter_map(|filter| match filter {
        Filter::UrlRewrite(rewrite) => Some(rewrite),
        _ => None,
    })
}

fn replaces_prefix(rewrite: &UrlRewrite) -> bool {
    matches!(rewrite.path, Some(PathModifier::ReplacePrefixMatch(_)))
}

/// Leaves the path alone for all routes to a Service but the first that changes it.
fn rewrite_by_service(config: &mut Config) {
    let mut first: BTreeMap<String, RouteId> = BTreeMap::new();
    for rule in rules(config) {
        let (id, to) = (rule.id.clone(), rule.backends.first().map(|backend| backend.id.clone()));
        for rewrite in rewrites(rule).filter(|rewrite| rewrite.path.is_some()) {
            let Some(to) = to.clone() else { continue };
            if !is_of_same_route(first.entry(to).or_insert_with(|| id.clone()), &id) {
                rewrite.path = None;
            }
        }
    }
}

/// Gives all that routes have for a Service the filters of the first route that has some for it.
fn filter_by_service(config: &mut Config) {
    let mut first: BTreeMap<String, (RouteId, Vec<Filter>)> = BTreeMap::new();
    for rule in rules(config) {
        for backend in rule.backends.iter().filter(|backend| !backend.filters.is_empty()) {
            first.entry(backend.id.clone()).or_insert_with(|| (rule.id.clone(), backend.filters.clone()));
        }
    }
    for Route { id, backends, .. } in rules(config) {
        for backend in backends {
            if let Some((_, filters)) = first.get(&backend.id).filter(|(of, _)| !is_of_same_route(of, id)) {
                backend.filters.clone_from(filters);
            }
        }
    }
}

fn is_redirect(rule: &Route) -> bool {
    rule.filters.iter().any(|filter| matches!(filter, Filter::RequestRedirect(_)))
}

/// Puts a rule that redirects before those of its route that have the same matches.
fn redirect_first(host: &mut VirtualHost) {
    for at in 1..host.routes.len() {
        let rule = &host.routes[at];
        let is_equal = |of: &Route| is_of_same_route(&of.id, &rule.id) && of.matches == rule.matches;
        let before = host.routes[..at].iter().position(|of| is_equal(of) && !is_redirect(of));
        if let Some(before) = before.filter(|_| is_redirect(rule)) {
            host.routes[before..=at].rotate_right(1);
        }
    }
}

fn repeats_a_header(of: &RequestMatch) -> bool {
    let mut names = BTreeSet::new();
    !of.headers.iter().all(|header| names.insert(header.name.to_ascii_lowercase()))
}

/// Takes matches of rules for calls, or of those for requests, out that repeat a header, with what had no others.
fn drop_repeating(host: &mut VirtualHost, of_calls: bool) {
    host.routes.retain_mut(|rule| {
        if is_of_calls(rule) != of_calls {
            return true;
        }
        let takes_all = rule.matches.is_empty();
        rule.matches.retain(|one| !repeats_a_header(one));
        takes_all || !rule.matches.is_empty()
    });
}

/// Leaves the path alone where a prefix with a special character is to be taken away.
fn trip_over_prefixes(rule: &mut Route) {
    let is_special = |one: &RequestMatch| matches!(&one.path, PathMatch::Prefix(path) if path.contains(SPECIAL));
    if rule.matches.iter().any(is_special) {
        let takes_away = |of: &UrlRewrite| of.path == Some(PathModifier::ReplacePrefixMatch("/".to_owned()));
        rewrites(rule).filter(|rewrite| takes_away(rewrite)).for_each(|rewrite| rewrite.path = None);
    }
}

/// Leaves a route out whose namespace and name, with a dash between, read as those of one before it.
fn join_names(host: &mut VirtualHost) {
    let mut known: BTreeMap<String, RouteId> = BTreeMap::new();
    host.routes.retain(|rule| {
        let joined = format!("{}-{}", rule.id.namespace, rule.id.name);
        is_of_same_route(known.entry(joined).or_insert_with(|| rule.id.clone()), &rule.id)
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "forgets-matches-beside-replaced-prefixes",
            summary: "Matches by the path alone where a rule replaces the prefix of it.",
            clauses: &["upstream:HTTPRouteHeaderMatching"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for rule in rules(config) {
                        if rewrites(rule).any(|rewrite| replaces_prefix(rewrite)) {
                            let path_alone =
                                |one: &mut RequestMatch| RequestMatch { path: one.path.clone(), ..Default::default() };
                            rule.matches.iter_mut().for_each(|one| *one = path_alone(one));
                        }
                    }
                })
            }),
        },
        reported: &["Kong/kubernetes-ingress-controller#6554"],
    },
    Bug {
        fault: Fault {
            name: "rewrites-for-one-route-of-a-service",
            summary: "Rewrites no path in a route to a Service that another route rewrites paths for.",
            clauses: &["upstream:HTTPRouteRewritePath"],
            seam: Seam::Config(|| serve(|_, config| rewrite_by_service(config))),
        },
        reported: &["haproxytech/haproxy-unified-gateway#26", "Kong/kong-operator#5475"],
    },
    Bug {
        fault: Fault {
            name: "filters-for-one-route-of-a-service",
            summary: "Applies the filters that one route has for a Service to what other routes have for it.",
            clauses: &["upstream:HTTPRouteBackendRequestHeaderModifier"],
            seam: Seam::Config(|| serve(|_, config| filter_by_service(config))),
        },
        reported: &["golang/vulndb#6205"],
    },
    Bug {
        fault: Fault {
            name: "redirects-before-equal-rules",
            summary: "Lets a rule that redirects win against an earlier one with the same matches.",
            clauses: &["upstream:HTTPRouteRuleOrder"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(redirect_first))),
        },
        reported: &["cilium/cilium#46834"],
    },
    Bug {
        fault: Fault {
            name: "needs-all-of-repeated-headers",
            summary: "Demands every value of a match that names one header twice, in different case.",
            clauses: &["blind:HTTPRouteHeaderMatching.1"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(|host| drop_repeating(host, false)))),
        },
        reported: &["projectcontour/contour#4591"],
    },
    Bug {
        fault: Fault {
            name: "needs-all-of-repeated-headers-of-calls",
            summary: "Demands every value of a match of calls that names one header twice, in different case.",
            clauses: &["blind:HTTPRouteHeaderMatching.1"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(|host| drop_repeating(host, true)))),
        },
        reported: &["projectcontour/contour#4591"],
    },
    Bug {
        fault: Fault {
            name: "reads-prefixes-as-patterns-to-rewrite",
            summary: "Does not take a prefix away that has a character with a meaning in regular expressions.",
            clauses: &["upstream:HTTPRouteRewritePath"],
            seam: Seam::Config(|| serve(|_, config| rules(config).for_each(trip_over_prefixes))),
        },
        reported: &["envoyproxy/gateway#6857"],
    },
    Bug {
        fault: Fault {
            name: "joins-namespaces-and-names-of-routes",
            summary: "Takes two routes for one if their namespaces and names read the same with a dash between.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(join_names))),
        },
        reported: &["traefik/traefik#13580", "kumahq/kuma#18262"],
    },
];
