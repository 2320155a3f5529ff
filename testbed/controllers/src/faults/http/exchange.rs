use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gateproof_proxy::{
    body,
    compiled::CompiledRoute,
    config::{Filter, RouteId},
    exchange::{BackendChoice, Exchange, MatchOutcome, RequestHead},
    lengths::Wrong,
    routing::Routing,
};
use http::{
    HeaderName, HeaderValue, Method, Request, Response, Version,
    header::{CONTENT_LENGTH, HOST, SET_COOKIE},
};
use tokio::time::Instant;

use super::super::{
    Fault, Seam,
    exchange::{Answers, Body, Finds, Forwards},
    grpc::exchange::BalancesConnections,
};

/// One in so many fresh connections goes to the replica that lags behind.
const REPLICAS: u64 = 20;

/// Serves some connections by each rule as it was first.
#[derive(Default)]
struct OneReplicaLags(Mutex<HashMap<RouteId, MatchOutcome>>);

#[async_trait]
impl Exchange for OneReplicaLags {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let MatchOutcome::Rule { route, .. } = &found else { return found };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = known.entry(route.rule.id.clone()).or_insert_with(|| found.clone()).clone();
        if request.connection.id.is_multiple_of(REPLICAS) { first } else { found }
    }
}

/// Takes what filters put on answers off those that are errors.
#[derive(Default)]
struct LeavesErrorsAlone(Mutex<HashMap<u64, Vec<String>>>);

#[async_trait]
impl Exchange for LeavesErrorsAlone {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let set = route.rule.filters.iter().flat_map(|filter| match filter {
            Filter::ResponseHeaderModifier(modifier) => modifier.set.iter().map(|header| header.name.clone()).collect(),
            _ => Vec::new(),
        });
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(request.connection.id, set.collect());
        drawn
    }

    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        let set = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.connection.id);
        if response.status().as_u16() >= 400 {
            for name in set.unwrap_or_default() {
                response.headers_mut().remove(name);
            }
        }
        Some(response)
    }
}

/// Another copy for a mirror than the one that is due.
struct Mirrors(fn(Request<Body>) -> Request<Body>);

#[async_trait]
impl Exchange for Mirrors {
    fn on_mirror(&self, _: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        Some((self.0)(copy))
    }
}

/// Takes a request with a length beside its chunks for done, and asks no backend.
struct AnswersForBackends;

impl Exchange for AnswersForBackends {
    fn on_backend(&self, request: &RequestHead, _: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        match drawn {
            BackendChoice::Forward { backend, .. } if Wrong::of(&request.headers) == Some(Wrong::BesideChunks) => {
                BackendChoice::Answer { backend, status: 200, body: String::new() }
            }
            drawn => drawn,
        }
    }
}

/// Lets a body take as long as it likes.
struct WaitsForBodies;

#[async_trait]
impl Exchange for WaitsForBodies {
    fn body_end(&self, _: &RequestHead, _: Option<Instant>) -> Option<Instant> {
        None
    }
}

/// The lines of a header behind the first.
fn further_lines(request: &RequestHead) -> Vec<(HeaderName, HeaderValue)> {
    let names = request.headers.keys().cloned();
    names
        .flat_map(|name| {
            request
                .headers
                .get_all(&name)
                .iter()
                .skip(1)
                .map(move |line| (name.clone(), line.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Routes a misdirected request by its host alone, if its authority is such a one.
fn by_host(
    request: &RequestHead,
    routing: &Routing<'_>,
    found: MatchOutcome,
    is_such: fn(&str) -> bool,
) -> MatchOutcome {
    match (&found, routing.virtual_host(&request.host)) {
        (MatchOutcome::Misdirected, Some(index)) if is_such(&request.authority) => routing.route_in(index, request),
        _ => found,
    }
}

/// Asks for the listener of a host with the first request of a connection only.
#[derive(Default)]
struct TrustsOpenConnections(Mutex<HashSet<u64>>);

#[async_trait]
impl Exchange for TrustsOpenConnections {
    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let is_first = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(request.connection.id);
        if is_first { found } else { by_host(request, routing, found, |_| true) }
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "leaves-one-replica-behind",
        summary: "Serves one of twenty connections by each rule as it was first.",
        clauses: &["blind:Generic.2", "GEP1364-49", "IMPL-42", "blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Exchange(|| Arc::new(OneReplicaLags::default())),
    },
    Fault {
        name: "answers-lengths-beside-chunks-without-forwarding",
        summary: "Answers 200 to a request with a length beside its chunks, and forwards it to nobody.",
        clauses: &["OWN-118"],
        seam: Seam::Exchange(|| Arc::new(AnswersForBackends)),
    },
    Fault {
        name: "balances-connections-not-requests",
        summary: "Sends all requests of one HTTP/1.1 connection to the backend of the first.",
        clauses: &["blind:HTTPRouteWeight.2"],
        seam: Seam::Exchange(|| Arc::new(BalancesConnections::of(Version::HTTP_11))),
    },
    Fault {
        name: "compares-methods-without-case",
        summary: "Takes a method in lower case for the one in upper case.",
        clauses: &["blind:HTTPRouteMethodMatching.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::NoRule => match Method::from_bytes(request.method.as_str().to_uppercase().as_bytes()) {
                    Ok(method) => routing.route(&RequestHead { method, ..request.clone() }),
                    Err(_) => MatchOutcome::NoRule,
                },
                found => found,
            }))
        }),
    },
    Fault {
        name: "changes-first-lines-only",
        summary: "Sets or removes the first line of a header and leaves the others in.",
        clauses: &["blind:HTTPRouteRequestHeaderModifier.4"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                for (name, line) in further_lines(request) {
                    if !parts.headers.get_all(&name).iter().any(|own| *own == line) {
                        parts.headers.append(name, line);
                    }
                }
            }))
        }),
    },
    Fault {
        name: "leaves-errors-alone",
        summary: "Applies no response header filter to errors of the backend.",
        clauses: &["blind:HTTPRouteResponseHeaderModifier.1"],
        seam: Seam::Exchange(|| Arc::new(LeavesErrorsAlone::default())),
    },
    Fault {
        name: "folds-cookies",
        summary: "Joins several cookies of an answer into one line.",
        clauses: &["blind:HTTPRouteResponseHeaderModifier.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                let lines: Vec<&[u8]> =
                    response.headers().get_all(SET_COOKIE).iter().map(HeaderValue::as_bytes).collect();
                if lines.len() > 1
                    && let Ok(folded) = HeaderValue::from_bytes(&lines.join(&b", "[..]))
                {
                    response.headers_mut().insert(SET_COOKIE, folded);
                }
            }))
        }),
    },
    Fault {
        name: "mirrors-without-bodies",
        summary: "Leaves the body out of the copy for a mirror.",
        clauses: &["blind:HTTPRouteRequestMirror.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Mirrors(|copy| {
                let (mut parts, _) = copy.into_parts();
                parts.headers.remove(CONTENT_LENGTH);
                Request::from_parts(parts, body::empty())
            }))
        }),
    },
    Fault {
        name: "mirrors-as-get",
        summary: "Sends every copy for a mirror as a GET.",
        clauses: &["blind:HTTPRouteRequestMirror.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Mirrors(|mut copy| {
                *copy.method_mut() = Method::GET;
                copy
            }))
        }),
    },
    Fault {
        name: "waits-for-bodies",
        summary: "Stops the clock of a timeout when the head of the answer is there.",
        clauses: &["blind:HTTPRouteTimeoutBackendRequest.4"],
        seam: Seam::Exchange(|| Arc::new(WaitsForBodies)),
    },
    Fault {
        name: "serves-misdirected-requests",
        summary: "Serves a host of another listener than the one that the TLS handshake chose.",
        clauses: &["upstream:HTTPRouteHTTPSListenerDetectMisdirectedRequests"],
        seam: Seam::Exchange(|| Arc::new(Finds(|request, routing, found| by_host(request, routing, found, |_| true)))),
    },
    Fault {
        name: "serves-misdirected-requests-with-ports",
        summary: "Serves a host of another listener than the one that the TLS handshake chose if a port stands behind it.",
        clauses: &["blind:HTTPRouteHTTPSListenerDetectMisdirectedRequests.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                by_host(request, routing, found, |authority| authority.contains(':'))
            }))
        }),
    },
    Fault {
        name: "takes-ports-for-misdirection",
        summary: "Answers 421 over TLS where a port stands behind the host.",
        clauses: &["blind:HTTPRouteHTTPSListenerDetectMisdirectedRequests.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| {
                let is_other = request.scheme == "https" && request.authority.contains(':');
                if is_other { MatchOutcome::Misdirected } else { found }
            }))
        }),
    },
    Fault {
        name: "takes-capitals-for-misdirection",
        summary: "Answers 421 over TLS where the host has a capital.",
        clauses: &["OWN-135"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| {
                let is_other = request.scheme == "https" && request.authority.chars().any(|c| c.is_ascii_uppercase());
                if is_other { MatchOutcome::Misdirected } else { found }
            }))
        }),
    },
    Fault {
        name: "trusts-open-connections",
        summary: "Serves any host over a TLS connection once it has answered a request.",
        clauses: &["blind:HTTPRouteHTTPSListenerDetectMisdirectedRequests.1"],
        seam: Seam::Exchange(|| Arc::new(TrustsOpenConnections::default())),
    },
    Fault {
        name: "serves-misdirected-requests-over-http2",
        summary: "Serves a host of another listener than the one that the TLS handshake chose to a client that speaks HTTP/2.",
        clauses: &["blind:HTTPRouteHTTPSListenerDetectMisdirectedRequests.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                if request.version == Version::HTTP_2 { by_host(request, routing, found, |_| true) } else { found }
            }))
        }),
    },
    Fault {
        name: "keeps-hosts-of-http2-clients",
        summary: "Leaves the host of a request over HTTP/2 as it is where a filter rewrites it.",
        clauses: &["blind:HTTPRouteRewriteHost.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                if request.version == Version::HTTP_2
                    && let Ok(host) = HeaderValue::from_str(&request.authority)
                {
                    parts.headers.insert(HOST, host);
                }
            }))
        }),
    },
];
