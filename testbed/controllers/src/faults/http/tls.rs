//! Faults in what host a TLS connection is good for, and in what becomes of rules behind one.

use std::sync::Arc;

use gateproof_proxy::{
    config::{Config, Filter, Hostname, Protocol, Route, Timeouts},
    exchange::{MatchOutcome, RequestHead},
    matching::hostname::covers,
    routing::Routing,
};

use super::super::{
    Fault, Seam,
    exchange::Finds,
    tools::{serve, virtual_hosts},
};

/// Whether a route of the listener that a host belongs to takes the host.
fn is_known(routing: &Routing<'_>, host: &str) -> bool {
    let own = routing.virtual_host(host).and_then(|index| routing.hosts.get(index));
    own.is_some_and(|of| of.candidates.iter().any(|candidate| covers(&candidate.hostname, host)))
}

/// The listener that the handshake chose.
fn chosen(request: &RequestHead, routing: &Routing<'_>) -> Option<usize> {
    routing.virtual_host(request.server_name.as_deref()?)
}

/// The rules behind listeners that end TLS for HTTP.
fn over_tls(config: &mut Config) -> impl Iterator<Item = &mut Route> {
    let tls = config.listeners.iter_mut().filter(|listener| !matches!(listener.protocol, Protocol::Http(_)));
    tls.flat_map(|listener| virtual_hosts(listener)).flat_map(|host| &mut host.routes)
}

/// Leaves filters out of these rules, of their backends too.
fn leave_out(config: &mut Config, is_meant: fn(&Filter) -> bool) {
    for rule in over_tls(config) {
        rule.filters.retain(|filter| !is_meant(filter));
        rule.backends.iter_mut().for_each(|backend| backend.filters.retain(|filter| !is_meant(filter)));
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-unknown-hosts-over-tls",
        summary: "Serves a host that no route has by the routes of the listener that the TLS handshake chose.",
        clauses: &["blind:HTTPRouteHTTPSListener.2", "upstream:HTTPRouteHTTPSListenerDetectMisdirectedRequests"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match (&found, chosen(request, routing)) {
                (MatchOutcome::Misdirected, Some(index)) if !is_known(routing, &request.host) => {
                    routing.route_in(index, request)
                }
                _ => found,
            }))
        }),
    },
    Fault {
        name: "takes-unknown-hosts-for-misdirection",
        summary: "Answers 421 over TLS for a host that a listener takes and no route has, if the handshake was for another.",
        clauses: &["upstream:HTTPRouteHTTPSListenerDetectMisdirectedRequests"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                let is_other = request.server_name.as_ref().is_some_and(|name| *name != request.host);
                let has_listener = routing.virtual_host(&request.host).is_some();
                let is_unknown =
                    matches!(found, MatchOutcome::NoRule) && has_listener && !is_known(routing, &request.host);
                if is_other && is_unknown { MatchOutcome::Misdirected } else { found }
            }))
        }),
    },
    Fault {
        name: "serves-exact-hosts-by-wildcards-over-tls",
        summary: "Serves the host of another listener by a wildcard that covers it and that the TLS handshake chose.",
        clauses: &["upstream:HTTPRouteHTTPSListenerDetectMisdirectedRequests"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                let covered = chosen(request, routing).filter(|index| {
                    let hostname = &routing.hosts[*index].hostname;
                    matches!(hostname, Hostname::Wildcard(_)) && covers(hostname, &request.host)
                });
                match (&found, covered) {
                    (MatchOutcome::Misdirected, Some(index)) => routing.route_in(index, request),
                    _ => found,
                }
            }))
        }),
    },
    Fault {
        name: "matches-paths-alone-over-tls",
        summary: "Looks at nothing but the path of a match on a listener of HTTPS.",
        clauses: &[
            "upstream:HTTPRouteHeaderMatching",
            "upstream:HTTPRouteMethodMatching",
            "upstream:HTTPRouteQueryParamMatching",
        ],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for one in over_tls(config).flat_map(|rule| &mut rule.matches) {
                    one.headers.clear();
                    one.query.clear();
                    one.method = None;
                }
            })
        }),
    },
    Fault {
        name: "ignores-weights-over-tls",
        summary: "Spreads requests evenly on a listener of HTTPS, whatever the weights are.",
        clauses: &["upstream:HTTPRouteWeight"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                over_tls(config).flat_map(|rule| &mut rule.backends).for_each(|backend| backend.weight = 1);
            })
        }),
    },
    Fault {
        name: "leaves-request-headers-alone-over-tls",
        summary: "Leaves the headers of requests as they are on a listener of HTTPS.",
        clauses: &["upstream:HTTPRouteRequestHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| leave_out(config, |filter| matches!(filter, Filter::RequestHeaderModifier(_))))
        }),
    },
    Fault {
        name: "leaves-answers-alone-over-tls",
        summary: "Leaves the headers of answers as they are on a listener of HTTPS.",
        clauses: &["upstream:HTTPRouteResponseHeaderModifier"],
        seam: Seam::Config(|| {
            serve(|_, config| leave_out(config, |filter| matches!(filter, Filter::ResponseHeaderModifier(_))))
        }),
    },
    Fault {
        name: "rewrites-nothing-over-tls",
        summary: "Leaves host and path of requests as they are on a listener of HTTPS.",
        clauses: &["upstream:HTTPRouteRewritePath", "upstream:HTTPRouteRewriteHost"],
        seam: Seam::Config(|| serve(|_, config| leave_out(config, |filter| matches!(filter, Filter::UrlRewrite(_))))),
    },
    Fault {
        name: "mirrors-nothing-over-tls",
        summary: "Copies no request that came over HTTPS to a mirror.",
        clauses: &["upstream:HTTPRouteRequestMirror", "blind:HTTPRouteRequestMirror.2"],
        seam: Seam::Config(|| {
            serve(|_, config| leave_out(config, |filter| matches!(filter, Filter::RequestMirror(_))))
        }),
    },
    Fault {
        name: "has-no-timeouts-over-tls",
        summary: "Waits for backends as long as they take on a listener of HTTPS.",
        clauses: &["upstream:HTTPRouteTimeoutRequest", "upstream:HTTPRouteTimeoutBackendRequest"],
        seam: Seam::Config(|| serve(|_, config| over_tls(config).for_each(|rule| rule.timeouts = Timeouts::default()))),
    },
    Fault {
        name: "never-retries-over-tls",
        summary: "Tries nothing again that came over HTTPS.",
        clauses: &["upstream:HTTPRouteRetry"],
        seam: Seam::Config(|| serve(|_, config| over_tls(config).for_each(|rule| rule.retry = None))),
    },
];
