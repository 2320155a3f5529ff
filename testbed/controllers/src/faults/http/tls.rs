//! Faults in what host a TLS connection is good for.

use std::sync::Arc;

use gateproof_proxy::{
    config::Hostname,
    exchange::{MatchOutcome, RequestHead},
    matching::hostname::covers,
    routing::Routing,
};

use super::super::{Fault, Seam, exchange::Finds};

/// Whether a route of the listener that a host belongs to takes the host.
fn is_known(routing: &Routing<'_>, host: &str) -> bool {
    let own = routing.virtual_host(host).and_then(|index| routing.hosts.get(index));
    own.is_some_and(|of| of.candidates.iter().any(|candidate| covers(&candidate.hostname, host)))
}

/// The listener that the handshake chose.
fn chosen(request: &RequestHead, routing: &Routing<'_>) -> Option<usize> {
    routing.virtual_host(request.server_name.as_deref()?)
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
];
