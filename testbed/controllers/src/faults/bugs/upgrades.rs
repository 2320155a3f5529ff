//! WebSockets, and what keeps them from being opened.

use std::{iter, sync::Arc};

use async_trait::async_trait;
use gateproof_proxy::{
    compiled::CompiledRoute,
    config::{BackendTarget, Filter, PathMatch, Route, Timeouts},
    exchange::{BackendChoice, Exchange, MatchOutcome, RequestHead},
    routing::Routing,
    stream::Upgraded,
};
use http::{StatusCode, header::UPGRADE, response::Parts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Bug;
use crate::faults::{Fault, Seam, exchange::Finds, transit::Hears};

/// Refuses upgrades where this is so of the rule and of what was drawn from its backends.
struct RefusesUpgrades(fn(&CompiledRoute, &BackendChoice) -> bool);

impl Exchange for RefusesUpgrades {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        if !is_upgrade(request) || !(self.0)(route, &drawn) {
            return drawn;
        }
        let reason = "upgrades are not allowed".to_owned();
        BackendChoice::Fail { backend: None, status: StatusCode::FORBIDDEN.as_u16(), reason }
    }
}

fn is_upgrade(request: &RequestHead) -> bool {
    request.headers.contains_key(UPGRADE)
}

fn rewrites(route: &CompiledRoute) -> bool {
    route.rule.filters.iter().any(|filter| matches!(filter, Filter::UrlRewrite(_)))
}

/// Whether what was drawn is spoken to within TLS.
fn is_encrypted(route: &CompiledRoute, drawn: &BackendChoice) -> bool {
    let BackendChoice::Forward { backend, .. } = drawn else { return false };
    route.rule.backends.get(*backend).is_some_and(|of| matches!(of.target, BackendTarget::Tls { .. }))
}

/// Whether nobody is there who could answer, though the reference resolves.
fn is_idle(drawn: &BackendChoice) -> bool {
    matches!(drawn, BackendChoice::Fail { backend: Some(_), status: 503, .. })
}

fn is_for_calls(route: &CompiledRoute) -> bool {
    route.rule.matches.iter().any(|one| matches!(one.path, PathMatch::Rpc { .. }))
}

/// Finds nothing for an upgrade if the listener has rules for calls too, in the namespace of the rule that matches.
fn trip_over_calls(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let MatchOutcome::Rule { route, .. } = &found else { return found };
    let mut all = routing.hosts.iter().flat_map(|host| &host.candidates).map(|candidate| &candidate.route);
    let is_beside = |of: &Arc<CompiledRoute>| is_for_calls(of) && of.rule.id.namespace == route.rule.id.namespace;
    if is_upgrade(request) && all.any(is_beside) { MatchOutcome::NoRule } else { found }
}

/// Finds the rule of an upgrade without its timeouts.
fn forget_timeouts(request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    match found {
        MatchOutcome::Rule { route, predicate } if is_upgrade(request) => {
            let rule = Route { timeouts: Timeouts::default(), ..route.rule.clone() };
            MatchOutcome::Rule { route: Arc::new(CompiledRoute::new(&rule)), predicate }
        }
        found => found,
    }
}

/// Finds the rule of an upgrade without what its filters do to answers.
fn leave_answers_alone(request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    match found {
        MatchOutcome::Rule { route, predicate } if is_upgrade(request) => {
            let mut rule = route.rule.clone();
            let Route { filters, backends, .. } = &mut rule;
            for list in iter::once(filters).chain(backends.iter_mut().map(|backend| &mut backend.filters)) {
                list.retain(|filter| !matches!(filter, Filter::ResponseHeaderModifier(_)));
            }
            MatchOutcome::Rule { route: Arc::new(CompiledRoute::new(&rule)), predicate }
        }
        found => found,
    }
}

/// Finds nothing for an upgrade within TLS.
fn find_nothing_over_tls(request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    if is_upgrade(request) && request.scheme == "https" { MatchOutcome::NoRule } else { found }
}

/// Refuses requests that offer a protocol which is none to be carried on.
struct RefusesOffers;

impl Exchange for RefusesOffers {
    fn on_backend(&self, request: &RequestHead, _: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let offered = request.headers.get(UPGRADE).and_then(|offered| offered.to_str().ok());
        if offered.is_none_or(|offered| offered.eq_ignore_ascii_case("websocket")) {
            return drawn;
        }
        let reason = "upgrades are not allowed".to_owned();
        BackendChoice::Fail { backend: None, status: StatusCode::FORBIDDEN.as_u16(), reason }
    }
}

/// Fails where a backend gives another answer to an upgrade than that it is one: such an answer is none that is passed on here.
fn fail_the_refused(request: &RequestHead, answer: &mut Parts) {
    if is_upgrade(request) {
        answer.status = StatusCode::INTERNAL_SERVER_ERROR;
    }
}

/// Knows nothing of what a backend sends before its client does.
struct ListensToClientsFirst;

#[async_trait]
impl Exchange for ListensToClientsFirst {
    async fn serve_tunnel(
        &self,
        _: &RequestHead,
        mut client: Upgraded,
        mut backend: Upgraded,
    ) -> Option<(Upgraded, Upgraded)> {
        let (mut asked, mut lost) = (vec![0; PIECE], vec![0; PIECE]);
        loop {
            tokio::select! {
                read = client.read(&mut asked) => {
                    let read = read.ok().filter(|read| *read > 0)?;
                    backend.write_all(asked.get(..read)?).await.ok()?;
                    return Some((client, backend));
                }
                read = backend.read(&mut lost) => {
                    read.ok().filter(|read| *read > 0)?;
                }
            }
        }
    }
}

/// How much is read at once of what a side sends.
const PIECE: usize = 4096;

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "loses-what-comes-with-an-upgrade",
            summary: "Loses what a backend sends over a WebSocket before the client has sent anything.",
            clauses: &["blind:HTTPRouteBackendProtocolWebSocket.2"],
            seam: Seam::Exchange(|| Arc::new(ListensToClientsFirst)),
        },
        reported: &["h2o/h2o#1272", "hodfords-solutions/nestjs-api-gateway#36", "NVIDIA/OpenShell#652"],
    },
    Bug {
        fault: Fault {
            name: "opens-no-websocket-where-paths-are-rewritten",
            summary: "Refuses a WebSocket where the rule rewrites the request.",
            clauses: &["upstream:HTTPRouteBackendProtocolWebSocket"],
            seam: Seam::Exchange(|| Arc::new(RefusesUpgrades(|route, _| rewrites(route)))),
        },
        reported: &["envoyproxy/gateway#2989"],
    },
    Bug {
        fault: Fault {
            name: "opens-no-websocket-beside-calls",
            summary: "Opens no WebSocket on a listener that has a GRPCRoute of the same namespace too.",
            clauses: &["upstream:HTTPRouteBackendProtocolWebSocket"],
            seam: Seam::Exchange(|| Arc::new(Finds(trip_over_calls))),
        },
        reported: &["envoyproxy/gateway#2632"],
    },
    Bug {
        fault: Fault {
            name: "forbids-websockets-to-idle-backends",
            summary: "Answers 403 to who asks for a WebSocket to a Service without endpoints.",
            clauses: &["GEP1364-45"],
            seam: Seam::Exchange(|| Arc::new(RefusesUpgrades(|_, drawn| is_idle(drawn)))),
        },
        reported: &["envoyproxy/gateway#9452"],
    },
    Bug {
        fault: Fault {
            name: "opens-no-websocket-within-tls",
            summary: "Refuses a WebSocket to a backend that is spoken to within TLS.",
            clauses: &["blind:HTTPRouteBackendProtocolWebSocket.4"],
            seam: Seam::Exchange(|| Arc::new(RefusesUpgrades(is_encrypted))),
        },
        reported: &["envoyproxy/gateway#9121", "haproxy/haproxy#1364"],
    },
    Bug {
        fault: Fault {
            name: "has-no-timeouts-for-websockets",
            summary: "Waits for a backend to open a WebSocket as long as that takes, whatever timeout the rule has.",
            clauses: &["upstream:HTTPRouteTimeoutRequest"],
            seam: Seam::Exchange(|| Arc::new(Finds(forget_timeouts))),
        },
        reported: &["envoyproxy/envoy#41068"],
    },
    Bug {
        fault: Fault {
            name: "fails-websockets-that-backends-refuse",
            summary: "Answers 500 where a backend that is asked for a WebSocket gives another answer.",
            clauses: &["OWN-08"],
            seam: Seam::Exchange(|| Arc::new(Hears(fail_the_refused))),
        },
        reported: &["spring-cloud/spring-cloud-gateway#857", "spring-cloud/spring-cloud-gateway#1884"],
    },
    Bug {
        fault: Fault {
            name: "leaves-answers-to-upgrades-alone",
            summary: "Applies no filter for the headers of answers where a WebSocket is asked for.",
            clauses: &["OWN-44"],
            seam: Seam::Exchange(|| Arc::new(Finds(leave_answers_alone))),
        },
        reported: &[
            "lexfrei/cloudflare-tunnel-gateway-controller#251",
            "lexfrei/cloudflare-tunnel-gateway-controller#268",
        ],
    },
    Bug {
        fault: Fault {
            name: "opens-no-websocket-over-https",
            summary: "Finds no route for who asks for a WebSocket on a listener of HTTPS.",
            clauses: &["upstream:HTTPRouteBackendProtocolWebSocket"],
            seam: Seam::Exchange(|| Arc::new(Finds(find_nothing_over_tls))),
        },
        reported: &["kubernetes/ingress-gce#854", "higress-group/higress#2270"],
    },
    Bug {
        fault: Fault {
            name: "refuses-offers-of-other-protocols",
            summary: "Answers 403 to a request that offers another protocol than a WebSocket in its Upgrade header.",
            clauses: &["OWN-46"],
            seam: Seam::Exchange(|| Arc::new(RefusesOffers)),
        },
        reported: &[
            "envoyproxy/envoy#36305",
            "envoyproxy/envoy#7161",
            "istio/istio#53239",
            "envoyproxy/gateway#8599",
            "membrane/api-gateway#1742",
        ],
    },
];
