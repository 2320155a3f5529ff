//! Which of several routes and listeners gets a request.

use std::{net::IpAddr, sync::Arc};

use gateproof_proxy::config::Hostname::{Exact, Wildcard};
use gateproof_proxy::config::{
    Config, Filter, Hostname, HttpListener, Protocol, RequestMatch, Route, RouteId, TlsListener, VirtualHost,
};
use gateproof_proxy::{
    compiled::Candidate,
    exchange::{MatchOutcome, RequestHead},
    matching::hostname::covers,
    routing::Routing,
};
use http::{HeaderValue, header::HOST, request::Parts};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        exchange::{Finds, Forwards},
        tools::{drop_at, hosts, serve, serve_from, view, virtual_hosts},
    },
    snapshot::{Kind, Snapshot},
};

fn is_of_same_route(one: &RouteId, other: &RouteId) -> bool {
    (&one.namespace, &one.name) == (&other.namespace, &other.name)
}

/// Whether a rule takes every request.
fn takes_all(rule: &Route) -> bool {
    rule.matches.is_empty() || rule.matches.contains(&RequestMatch::default())
}

/// Leaves out what comes behind a rule of another route that takes everything for the same hosts.
fn swallow(host: &mut VirtualHost) {
    let mut open: Vec<Route> = Vec::new();
    host.routes.retain(|rule| {
        let takes_it = |of: &Route| of.hostnames == rule.hostnames && !is_of_same_route(&of.id, &rule.id);
        let is_reached = !open.iter().any(takes_it);
        if is_reached && takes_all(rule) {
            open.push(rule.clone());
        }
        is_reached
    });
}

/// The HTTPS listeners of an address.
fn secure(config: &Config, address: IpAddr) -> impl Iterator<Item = &TlsListener> {
    config.listeners.iter().filter(move |lane| lane.address == address).flat_map(|lane| match &lane.protocol {
        Protocol::Https(tls) => tls.as_slice(),
        _ => &[],
    })
}

fn redirects_to_https(rule: &Route) -> bool {
    let is_such =
        |filter: &Filter| matches!(filter, Filter::RequestRedirect(to) if to.scheme.as_deref() == Some("https"));
    rule.filters.iter().any(is_such)
}

/// Puts the redirects to HTTPS of an address before what its HTTPS listeners have for the same hosts.
fn loop_redirects(config: &mut Config) {
    let mut found: Vec<(IpAddr, Route)> = Vec::new();
    for lane in &config.listeners {
        if let Protocol::Http(http) = &lane.protocol {
            let rules = http.virtual_hosts.iter().flat_map(|host| &host.routes).filter(|rule| redirects_to_https(rule));
            found.extend(rules.map(|rule| (lane.address, rule.clone())));
        }
    }
    for lane in &mut config.listeners {
        let address = lane.address;
        let Protocol::Https(tls) = &mut lane.protocol else { continue };
        for host in tls.iter_mut().map(|tls| &mut tls.virtual_host) {
            for (_, redirect) in found.iter().filter(|(of, _)| *of == address) {
                let mut own = host.routes.iter();
                if own.any(|rule| rule.hostnames == redirect.hostnames && !is_of_same_route(&rule.id, &redirect.id)) {
                    host.routes.insert(0, redirect.clone());
                }
            }
        }
    }
}

/// Takes the hosts of HTTPS listeners away from the HTTP listeners of the same address whose wildcards cover them.
fn claim_for_https(config: &mut Config) {
    let known = config.clone();
    for lane in &mut config.listeners {
        let Protocol::Http(HttpListener { virtual_hosts }) = &mut lane.protocol else { continue };
        for tls in secure(&known, lane.address) {
            let claimed = &tls.virtual_host.hostname;
            let Exact(host) = claimed else { continue };
            let covers = |of: &VirtualHost| matches!(&of.hostname, Wildcard(suffix) if host.ends_with(suffix));
            if virtual_hosts.iter().any(covers) && !virtual_hosts.iter().any(|of| of.hostname == *claimed) {
                virtual_hosts.push(VirtualHost { routes: Vec::new(), ..tls.virtual_host.clone() });
            }
        }
    }
}

/// Makes every HTTPRoute that was changed the oldest of all.
fn age_changed_routes(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::HttpRoute, |route| {
        if route["metadata"]["generation"].as_i64().is_some_and(|generation| generation > 1) {
            route["metadata"]["creationTimestamp"] = "2000-01-01T00:00:00Z".into();
        }
    });
}

/// Forwards a request without the port that its Host header came with.
fn forward_without_port(request: &RequestHead, parts: &mut Parts) {
    let is_as_sent = parts.headers.get(HOST).is_some_and(|host| host.as_bytes() == request.authority.as_bytes());
    if let Some((host, _)) = request.authority.rsplit_once(':').filter(|_| is_as_sent)
        && let Ok(host) = HeaderValue::from_str(host)
    {
        parts.headers.insert(HOST, host);
    }
}

/// Ranks the rules of a route with several hostnames by the longest of them, for all its hosts.
pub(in crate::faults) fn rank_by_longest_name(
    request: &RequestHead,
    routing: &Routing<'_>,
    found: MatchOutcome,
) -> MatchOutcome {
    let MatchOutcome::Rule { route, .. } = &found else { return found };
    let longest = |rule: &Route| rule.hostnames.iter().map(length).max();
    let own = longest(&route.rule);
    let subject = request.subject();
    let candidates = routing.virtual_host(&request.host).into_iter().flat_map(|host| &routing.hosts[host].candidates);
    let holds = |of: &&Candidate| covers(&of.hostname, &request.host) && of.predicate.holds(&subject);
    let better = candidates.filter(|of| of.route.rule.hostnames.len() > 1 && longest(&of.route.rule) > own).find(holds);
    better.map_or(found, |of| MatchOutcome::Rule { route: of.route.clone(), predicate: of.predicate.clone() })
}

/// How long an exact hostname is; 0 for others.
fn length(name: &Hostname) -> usize {
    if let Exact(host) = name { host.len() } else { 0 }
}

/// Finds nothing for a host with a port where it takes a wildcard to find the host.
fn trip_over_ports(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let MatchOutcome::Rule { route, .. } = &found else { return found };
    let names = |host: usize| match route.rule.hostnames.as_slice() {
        [] => std::slice::from_ref(&routing.hosts[host].hostname),
        own => own,
    };
    let own = routing.virtual_host(&request.host).map_or(&[][..], names);
    let is_exact = own.iter().any(|name| matches!(name, Exact(host) if *host == request.host));
    let is_wild = own.iter().any(|name| matches!(name, Wildcard(_)));
    if request.authority.contains(':') && is_wild && !is_exact { MatchOutcome::NoRule } else { found }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "lets-older-routes-take-everything",
            summary: "Lets the / of an older route win against longer paths and headers of a younger one.",
            clauses: &["upstream:HTTPRouteMatchingAcrossRoutes"],
            seam: Seam::Config(|| serve(|_, config| hosts(config).for_each(swallow))),
        },
        reported: &["istio/istio#36719", "hashicorp/consul-api-gateway#126"],
    },
    Bug {
        fault: Fault {
            name: "prefers-routes-without-hostnames",
            summary: "Lets a route without hostnames win against an older one that names the host of the listener.",
            clauses: &["blind:HTTPRouteMatchingAcrossRoutes.1"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    for host in hosts(config).filter(|host| matches!(host.hostname, Exact(_))) {
                        host.routes.sort_by_key(|rule| !rule.hostnames.is_empty());
                        for rule in host.routes.iter_mut().filter(|rule| rule.hostnames.is_empty()) {
                            rule.hostnames = vec![host.hostname.clone()];
                        }
                    }
                })
            }),
        },
        reported: &["traefik/traefik#12795"],
    },
    Bug {
        fault: Fault {
            name: "redirects-https-to-itself",
            summary: "Redirects HTTPS where another route of the host redirects HTTP.",
            clauses: &["IMPL-37", "upstream:HTTPRouteHTTPSListener"],
            seam: Seam::Config(|| serve(|_, config| loop_redirects(config))),
        },
        reported: &["cilium/cilium#28186", "cilium/cilium#34539"],
    },
    Bug {
        fault: Fault {
            name: "drops-redirects-from-https-to-https",
            summary: "Has no rule on an HTTPS listener that redirects to https.",
            clauses: &["IMPL-37", "upstream:HTTPRouteRedirectScheme"],
            seam: Seam::Config(|| {
                serve(|_, config| {
                    let https = config.listeners.iter_mut().filter(|lane| matches!(lane.protocol, Protocol::Https(_)));
                    https.flat_map(virtual_hosts).for_each(|host| host.routes.retain(|rule| !redirects_to_https(rule)));
                })
            }),
        },
        reported: &["cilium/cilium#48540"],
    },
    Bug {
        fault: Fault {
            name: "keeps-hosts-for-https",
            summary: "Finds no route on an HTTP listener with a wildcard for a host that an HTTPS listener has.",
            clauses: &["upstream:HTTPRouteListenerHostnameMatching"],
            seam: Seam::Config(|| serve(|_, config| claim_for_https(config))),
        },
        reported: &["cilium/cilium#44123"],
    },
    Bug {
        fault: Fault {
            name: "trips-over-ports-behind-wildcards",
            summary: "Finds no route for a Host header with a port if the route has the host by a wildcard.",
            clauses: &["blind:HTTPRouteRewriteHost.1"],
            seam: Seam::Exchange(|| Arc::new(Finds(trip_over_ports))),
        },
        reported: &["istio/istio#25350"],
    },
    Bug {
        fault: Fault {
            name: "lets-changed-routes-win",
            summary: "Lets a route that was changed win against an older one with the same match.",
            clauses: &["blind:HTTPRouteMatchingAcrossRoutes.1"],
            seam: Seam::Config(|| serve_from(age_changed_routes)),
        },
        reported: &["envoyproxy/gateway#6140"],
    },
    Bug {
        fault: Fault {
            name: "orders-grpcroutes-by-name",
            summary: "Decides between equal matches of two GRPCRoutes by name, not by age.",
            clauses: &["GRPC-03"],
            seam: Seam::Snapshot(|| {
                view(|snapshot| {
                    snapshot.edit(Kind::GrpcRoute, |route| drop_at(route, "/metadata", "creationTimestamp"));
                })
            }),
        },
        reported: &["projectcontour/contour#6267", "projectcontour/contour#6566"],
    },
    Bug {
        fault: Fault {
            name: "forwards-hosts-without-ports",
            summary: "Forwards requests without the port that their Host header came with.",
            clauses: &["upstream:HTTPRouteHostnameIntersection"],
            seam: Seam::Exchange(|| Arc::new(Forwards(forward_without_port))),
        },
        reported: &["nginx/nginx-gateway-fabric#797", "envoyproxy/gateway#1389", "kubernetes-sigs/gateway-api#2091"],
    },
    Bug {
        fault: Fault {
            name: "ranks-routes-by-their-longest-hostname",
            summary: "Lets a route win for a host that it has by a wildcard because another of its hostnames is longer.",
            clauses: &[
                "blind:HTTPRouteMatchingAcrossRoutes.2",
                "blind:HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection.4",
            ],
            seam: Seam::Exchange(|| Arc::new(Finds(rank_by_longest_name))),
        },
        reported: &[
            "kubernetes-sigs/aws-load-balancer-controller#4863",
            "kubernetes-sigs/aws-load-balancer-controller#4417",
        ],
    },
];
