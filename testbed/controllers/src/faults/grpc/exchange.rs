//! Faults in how a call is taken, forwarded and answered.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream};
use gateproof_proxy::{
    compiled::CompiledRoute,
    config::{Hostname, RouteId},
    exchange::{BackendChoice, Exchange, MatchOutcome, RequestHead},
    grpc::{STATUS, is_grpc},
    matching::{hostname::covers, path::PathPredicate},
    routing::Routing,
};
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Frame;

use crate::faults::{
    Fault, Seam,
    exchange::{Body, Finds, Forwards, has_capital},
};

/// The rule of some call that the host is taken for.
fn any_rule(routing: &Routing<'_>, request: &RequestHead) -> Option<MatchOutcome> {
    let mut candidates = routing.hosts.iter().flat_map(|host| &host.candidates);
    let found = candidates.find(|candidate| {
        matches!(candidate.predicate.path(), PathPredicate::Rpc(_))
            && candidate.hostname != Hostname::Any
            && covers(&candidate.hostname, &request.host)
    })?;
    Some(MatchOutcome::Rule { route: Arc::clone(&found.route), predicate: Arc::clone(&found.predicate) })
}

/// The last of the rules that take a call for its host, instead of the first.
fn last_rule(request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
    let Some(host) = routing.virtual_host(&request.host).and_then(|index| routing.hosts.get(index)) else {
        return found;
    };
    let subject = request.subject();
    let takes = |candidate: &&gateproof_proxy::compiled::Candidate| {
        covers(&candidate.hostname, &request.host) && candidate.predicate.holds(&subject)
    };
    let service = |path: &PathPredicate| match path {
        PathPredicate::Rpc(rpc) => Some(rpc.lengths()),
        _ => None,
    };
    let all: Vec<_> =
        host.candidates.iter().filter(takes).filter(|one| service(one.predicate.path()).is_some()).collect();
    match all.as_slice() {
        // Rules that differ in their headers alone stay in order.
        [first, .., last] if service(first.predicate.path()) != service(last.predicate.path()) => {
            MatchOutcome::Rule { route: Arc::clone(&last.route), predicate: Arc::clone(&last.predicate) }
        }
        _ => found,
    }
}

/// Sends all requests of one connection of a version for a rule where the first one went.
pub(in super::super) struct BalancesConnections {
    version: Version,
    known: Mutex<HashMap<(u64, RouteId), BackendChoice>>,
}

impl BalancesConnections {
    pub(in super::super) fn of(version: Version) -> Self {
        Self { version, known: Mutex::default() }
    }
}

#[async_trait]
impl Exchange for BalancesConnections {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        if request.version != self.version || matches!(drawn, BackendChoice::Fail { .. }) {
            return drawn;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((request.connection.id, route.rule.id.clone())).or_insert(drawn).clone()
    }
}

/// Another choice of backend.
struct Chooses(fn(&RequestHead, BackendChoice) -> BackendChoice);

#[async_trait]
impl Exchange for Chooses {
    fn on_backend(&self, request: &RequestHead, _: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        (self.0)(request, drawn)
    }
}

/// Other frames of an answer to a call.
pub(in super::super) struct Frames(pub(in super::super) fn(usize, Frame<Bytes>) -> Option<Frame<Bytes>>);

#[async_trait]
impl Exchange for Frames {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        if !is_grpc(&request.headers) {
            return Some(response);
        }
        let change = self.0;
        let frames = move |(index, frame): (usize, Result<Frame<Bytes>, _>)| {
            let changed = match frame {
                Ok(frame) => change(index, frame).map(Ok),
                Err(error) => Some(Err(error)),
            };
            stream::iter(changed)
        };
        Some(response.map(|body| StreamBody::new(BodyStream::new(body).enumerate().flat_map(frames)).boxed_unsync()))
    }
}

/// Forwards the first message of a call alone, as its client sends them in pieces.
struct ForwardsOneMessage;

impl Exchange for ForwardsOneMessage {
    fn on_try(&self, request: &RequestHead, _: u32, sent: Request<Body>) -> Request<Body> {
        if !is_grpc(&request.headers) {
            return sent;
        }
        let first = |body| StreamBody::new(BodyStream::new(body).take(1)).boxed_unsync();
        sent.map(first)
    }
}

/// Ends calls that do not come through to a backend within TLS with UNIMPLEMENTED.
#[derive(Default)]
struct ForgetsRulesForTls(Mutex<HashSet<u64>>);

#[async_trait]
impl Exchange for ForgetsRulesForTls {
    fn on_backend(&self, request: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&request.connection.id);
        if let BackendChoice::Forward { backend, .. } = drawn
            && route.target(backend).is_some_and(|target| target.tls().is_some())
        {
            known.insert(request.connection.id);
        }
        drawn
    }

    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        let is_within_tls = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.connection.id);
        if let Some(code) =
            response.headers_mut().get_mut(STATUS).filter(|code| is_within_tls && code.as_bytes() == b"14")
        {
            *code = 12.into();
        }
        Some(response)
    }
}

/// The trailers of a frame, changed.
pub(in super::super) fn with_trailers(frame: Frame<Bytes>, change: impl FnOnce(&mut HeaderMap)) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(mut trailers) => {
            change(&mut trailers);
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}

/// Takes no status from the head of an answer.
struct ReadsNoStatusOfHeads;

#[async_trait]
impl Exchange for ReadsNoStatusOfHeads {
    fn on_answer(&self, request: &RequestHead, answer: &mut http::response::Parts) {
        if let Some(code) = answer.headers.get_mut(STATUS).filter(|_| is_grpc(&request.headers)) {
            *code = 2.into();
        }
    }
}

/// Breaks off what came over HTTP/2 and TLS.
struct BreaksOffHttp2;

#[async_trait]
impl Exchange for BreaksOffHttp2 {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        (request.version != Version::HTTP_2 || request.scheme != "https").then_some(response)
    }
}

pub(in super::super) const FAULTS: &[Fault] = &[
    Fault {
        name: "forwards-unmatched-calls",
        summary: "Forwards a call that no rule takes to the backend of the first rule for its host.",
        clauses: &["blind:GRPCExactMethodMatching.1", "upstream:GRPCExactMethodMatching", "GRPC-02"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::NoRule if is_grpc(&request.headers) => any_rule(routing, request).unwrap_or(found),
                found => found,
            }))
        }),
    },
    Fault {
        name: "lets-shorter-services-win",
        summary: "Gives a call to the last rule that takes it where the first has a longer service or method.",
        clauses: &["GRPC-03"],
        seam: Seam::Exchange(|| Arc::new(Finds(last_rule))),
    },
    Fault {
        name: "ends-calls-to-strangers-as-unmatched",
        summary: "Ends a call as if no rule took it where the backend does not show the certificate that its policy asks for.",
        clauses: &["blind:BackendTLSPolicyGRPCRoute.3"],
        seam: Seam::Exchange(|| Arc::new(ForgetsRulesForTls::default())),
    },
    Fault {
        name: "drops-binary-metadata",
        summary: "Forwards calls without their binary metadata.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                let binary: Vec<_> =
                    parts.headers.keys().filter(|name| name.as_str().ends_with("-bin")).cloned().collect();
                for name in binary {
                    parts.headers.remove(name);
                }
            }))
        }),
    },
    Fault {
        name: "drops-trailing-metadata",
        summary: "Leaves nothing but the status in the trailers of a call.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Frames(|_, frame| {
                Some(with_trailers(frame, |trailers| {
                    let code = trailers.get(STATUS).cloned();
                    trailers.clear();
                    trailers.extend(code.map(|code| (STATUS, code)));
                }))
            }))
        }),
    },
    Fault {
        name: "alters-codes-of-calls",
        summary: "Turns every code of a backend but OK into INTERNAL.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| {
            Arc::new(Frames(|_, frame| {
                Some(with_trailers(frame, |trailers| {
                    if let Some(code) = trailers.get_mut(STATUS).filter(|code| code.as_bytes() != b"0") {
                        *code = 13.into();
                    }
                }))
            }))
        }),
    },
    Fault {
        name: "ends-trailers-only-as-unknown",
        summary: "Ends a call with UNKNOWN whose backend ends it by the head of its answer alone.",
        clauses: &["blind:GRPCExactMethodMatching.3"],
        seam: Seam::Exchange(|| Arc::new(ReadsNoStatusOfHeads)),
    },
    Fault {
        name: "sends-one-message",
        summary: "Sends the first message of an answer to a call and no other.",
        clauses: &["blind:Generic.6"],
        seam: Seam::Exchange(|| Arc::new(Frames(|index, frame| (index == 0 || frame.is_trailers()).then_some(frame)))),
    },
    Fault {
        name: "forwards-one-message",
        summary: "Forwards the first message that a call sends and no other.",
        clauses: &["blind:Generic.6"],
        seam: Seam::Exchange(|| Arc::new(ForwardsOneMessage)),
    },
    Fault {
        name: "balances-connections-not-calls",
        summary: "Sends all calls of one connection to the backend of the first.",
        clauses: &["blind:GRPCRouteWeight.1"],
        seam: Seam::Exchange(|| Arc::new(BalancesConnections::of(Version::HTTP_2))),
    },
    Fault {
        name: "refuses-http2-over-tls",
        summary: "Agrees to HTTP/2 in a handshake and answers nothing over it.",
        clauses: &["GRPC-01"],
        seam: Seam::Exchange(|| Arc::new(BreaksOffHttp2)),
    },
    Fault {
        name: "keeps-http1-clients-from-h2c-backends",
        summary: "Answers 502 to a client that speaks HTTP/1.1 where the backend speaks HTTP/2 with prior knowledge.",
        clauses: &["blind:HTTPRouteBackendProtocolH2C.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Chooses(|request, drawn| match drawn {
                BackendChoice::Forward { backend, h2c: true, .. } if request.version != Version::HTTP_2 => {
                    let reason = "the client speaks HTTP/1.1".to_owned();
                    BackendChoice::Fail { backend: Some(backend), status: 502, reason }
                }
                drawn => drawn,
            }))
        }),
    },
    Fault {
        name: "compares-hosts-of-calls-with-case",
        summary: "Finds no route for a call whose host is in upper case.",
        clauses: &["blind:HTTPRouteHostnameIntersection.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| {
                if has_capital(request) && is_grpc(&request.headers) { MatchOutcome::NoRule } else { found }
            }))
        }),
    },
];
