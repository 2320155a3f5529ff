use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gateproof_proxy::{
    compiled::{Compiled, CompiledRoute},
    exchange::{Connection, Exchange, MatchOutcome, RequestHead, TcpChoice},
    grpc,
    routing::Routing,
    stream::Stream,
};
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, Version,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION},
    request::Parts,
};
use tokio::{io::AsyncReadExt, sync::oneshot};

use super::{Fault, Seam};

pub(crate) type Body = gateproof_proxy::body::Body;

/// Another finding than the matcher's.
pub(super) struct Finds(pub(super) fn(&RequestHead, &Routing<'_>, MatchOutcome) -> MatchOutcome);

#[async_trait]
impl Exchange for Finds {
    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        (self.0)(request, routing, found)
    }
}

/// Another request than the one that the filters made.
pub(crate) struct Forwards(pub(crate) fn(&RequestHead, &mut Parts));

#[async_trait]
impl Exchange for Forwards {
    async fn on_forward(&self, request: &RequestHead, mut parts: Parts) -> Parts {
        (self.0)(request, &mut parts);
        parts
    }
}

/// Another answer than the one that came about.
pub(crate) struct Answers(pub(crate) fn(&RequestHead, &mut Response<Body>));

#[async_trait]
impl Exchange for Answers {
    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        (self.0)(request, &mut response);
        Some(response)
    }
}

/// Holds a connection that should be refused until the client gives up.
struct HoldsRefused;

#[async_trait]
impl Exchange for HoldsRefused {
    async fn serve_tcp(&self, _: &Connection, mut stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        if let TcpChoice::Forward(_) = choice {
            return Some((stream, choice));
        }
        let mut dropped = [0; 1024];
        while stream.read(&mut dropped).await.is_ok_and(|read| read > 0) {}
        None
    }
}

/// Serves a connection by the configuration of the time when it was opened.
#[derive(Default)]
struct ServesAsOpened(Mutex<HashMap<u64, Arc<Compiled>>>);

#[async_trait]
impl Exchange for ServesAsOpened {
    fn choose_config(&self, of: &Connection, current: &Arc<Compiled>, _: &[Arc<Compiled>]) -> Arc<Compiled> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(of.id).or_insert_with(|| Arc::clone(current)))
    }
}

/// Routes every request of a connection as its first.
#[derive(Default)]
struct RoutesOnce(Mutex<HashMap<u64, MatchOutcome>>);

#[async_trait]
impl Exchange for RoutesOnce {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(request.connection.id).or_insert(found).clone()
    }
}

/// Routes a request as those that are without an answer on the same HTTP/2 connection, with how many there are.
#[derive(Default)]
struct RoutesAsNeighbours(Mutex<HashMap<u64, (MatchOutcome, usize)>>);

#[async_trait]
impl Exchange for RoutesAsNeighbours {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        if request.version != Version::HTTP_2 {
            return found;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcome, waiting) = known.entry(request.connection.id).or_insert((found, 0));
        *waiting += 1;
        outcome.clone()
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, waiting)) = known.get_mut(&request.connection.id) {
            *waiting = waiting.saturating_sub(1);
            if *waiting == 0 {
                known.remove(&request.connection.id);
            }
        }
        Some(response)
    }
}

/// Hands the answers of an HTTP/2 connection out in the order of its requests, as they become ready.
#[derive(Default)]
struct AnswersInOrder(Mutex<HashMap<u64, Waiting>>);

/// Who waits on a connection.
#[derive(Default)]
struct Waiting {
    /// Where the next answers go.
    next: VecDeque<oneshot::Sender<Response<Body>>>,
    /// Where each request looks for its own, by its place in memory.
    own: HashMap<usize, oneshot::Receiver<Response<Body>>>,
}

#[async_trait]
impl Exchange for AnswersInOrder {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        if request.version == Version::HTTP_2 {
            let (sender, receiver) = oneshot::channel();
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = all.entry(request.connection.id).or_default();
            waiting.next.push_back(sender);
            waiting.own.insert(std::ptr::from_ref(request).addr(), receiver);
        }
        found
    }

    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let own = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(waiting) = all.get_mut(&request.connection.id) else { return Some(response) };
            let own = waiting.own.remove(&std::ptr::from_ref(request).addr());
            let mut response = response;
            while let Some(next) = waiting.next.pop_front() {
                match next.send(response) {
                    Ok(()) => break,
                    Err(back) => response = back,
                }
            }
            own
        };
        own?.await.ok()
    }
}

/// Closes some connections without an answer.
struct BreaksOff;

#[async_trait]
impl Exchange for BreaksOff {
    async fn on_response(&self, request: &RequestHead, response: Response<Body>) -> Option<Response<Body>> {
        let is_fetched = request.method == Method::GET || grpc::is_grpc(&request.headers);
        (is_fetched || response.status() != StatusCode::OK).then_some(response)
    }
}

/// The `Location` of a redirect as a URI.
fn location(response: &Response<Body>) -> Option<Uri> {
    response.headers().get(LOCATION)?.to_str().ok()?.parse().ok()
}

fn set_location(response: &mut Response<Body>, to: &str) {
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(LOCATION, to);
    }
}

fn is_redirect(response: &Response<Body>) -> bool {
    response.status().is_redirection() && response.headers().contains_key(LOCATION)
}

fn set_header(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

pub(super) fn has_capital(request: &RequestHead) -> bool {
    request.authority.bytes().any(|byte| byte.is_ascii_uppercase())
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "serves-connections-as-they-were-opened",
        summary: "Goes on serving an open connection by the routes and grants of the time when it was opened.",
        clauses: &["blind:Generic.7", "blind:HTTPRouteReferenceGrant.4"],
        seam: Seam::Exchange(|| Arc::new(ServesAsOpened::default())),
    },
    Fault {
        name: "routes-connections-once",
        summary: "Routes every request of a connection as its first.",
        clauses: &[
            "blind:Generic.7",
            "blind:HTTPRouteReferenceGrant.4",
            "blind:HTTPRouteHTTPSListenerDetectMisdirectedRequests.1",
        ],
        seam: Seam::Exchange(|| Arc::new(RoutesOnce::default())),
    },
    Fault {
        name: "routes-streams-as-their-neighbours",
        summary: "Routes a request over HTTP/2 as another one of the same connection that has no answer yet.",
        clauses: &["blind:Generic.7"],
        seam: Seam::Exchange(|| Arc::new(RoutesAsNeighbours::default())),
    },
    Fault {
        name: "answers-streams-in-order",
        summary: "Hands the answers of an HTTP/2 connection out in the order of its requests, whichever is ready first.",
        clauses: &["blind:Generic.7"],
        seam: Seam::Exchange(|| Arc::new(AnswersInOrder::default())),
    },
    Fault {
        name: "compares-hosts-with-case",
        summary: "Finds no route for a host in upper case.",
        clauses: &["blind:HTTPRouteHostnameIntersection.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| {
                if has_capital(request) && !grpc::is_grpc(&request.headers) { MatchOutcome::NoRule } else { found }
            }))
        }),
    },
    Fault {
        name: "trips-over-ports-in-hosts",
        summary: "Finds no route for a Host header with a port.",
        clauses: &[
            "blind:HTTPRouteRewriteHost.1",
            "blind:HTTPRouteHTTPSListenerDetectMisdirectedRequests.2",
            "blind:HTTPRouteRedirectHostAndStatus.2",
            "blind:HTTPRouteRedirectPortAndScheme.2",
        ],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| {
                let is_such = request.authority.contains(':') && !grpc::is_grpc(&request.headers);
                if is_such { MatchOutcome::NoRule } else { found }
            }))
        }),
    },
    Fault {
        name: "trips-over-queries",
        summary: "Finds no route for a path with a query behind it.",
        clauses: &[
            "blind:HTTPRouteExactPathMatching.1",
            "blind:Generic.16",
            "GEP1364-18",
            "GEP1364-47",
            "upstream:HTTPRouteQueryParamMatching",
            "blind:HTTPRouteRequestMirror.1",
            "blind:HTTPRouteRetry.2",
            "blind:HTTPRouteTimeoutBackendRequest.1",
            "blind:HTTPRouteTimeoutBackendRequest.3",
            "blind:HTTPRouteTimeoutRequest.2",
            "upstream:HTTPRouteRetry",
            "upstream:HTTPRouteTimeoutBackendRequest",
            "upstream:HTTPRouteTimeoutRequest",
        ],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, _, found| if request.query.is_some() { MatchOutcome::NoRule } else { found }))
        }),
    },
    Fault {
        name: "compares-paths-without-case",
        summary: "Takes a path in another case for equal.",
        clauses: &["blind:HTTPRouteMatching.1", "upstream:HTTPRouteExactPathMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| match found {
                MatchOutcome::NoRule => {
                    routing.route(&RequestHead { path: request.path.to_ascii_lowercase(), ..request.clone() })
                }
                found => found,
            }))
        }),
    },
    Fault {
        name: "takes-value-less-parameters",
        summary: "Takes a query parameter without a value for a match.",
        clauses: &["blind:HTTPRouteQueryParamMatching.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Finds(|request, routing, found| {
                let Some(query) = request.query.as_deref().filter(|query| !query.contains('=')) else { return found };
                let rules = routing.hosts.iter().flat_map(|host| &host.candidates);
                let named = |route: &CompiledRoute| {
                    route.rule.matches.iter().any(|one| one.query.iter().any(|field| field.name == query))
                };
                match rules.into_iter().find(|candidate| named(&candidate.route)) {
                    Some(candidate) => MatchOutcome::Rule {
                        route: Arc::clone(&candidate.route),
                        predicate: Arc::clone(&candidate.predicate),
                    },
                    None => found,
                }
            }))
        }),
    },
    Fault {
        name: "keeps-ports-behind-hosts",
        summary: "Leaves the port of the request behind a hostname that a filter rewrites.",
        clauses: &["blind:HTTPRouteRewriteHost.1"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|request, parts| {
                let Some((_, port)) = request.authority.rsplit_once(':') else { return };
                let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
                if let Some(host) = host.filter(|host| !host.contains(':')) {
                    set_header(&mut parts.headers, HOST, &format!("{host}:{port}"));
                }
            }))
        }),
    },
    Fault {
        name: "drops-credentials",
        summary: "Forwards requests without their Authorization header.",
        clauses: &["upstream:HTTPRouteSimpleSameNamespace"],
        seam: Seam::Exchange(|| {
            Arc::new(Forwards(|_, parts| {
                parts.headers.remove(AUTHORIZATION);
            }))
        }),
    },
    Fault {
        name: "loses-queries-in-redirects",
        summary: "Leaves the query out of Location.",
        clauses: &["blind:Generic.16"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
                if let Some((path, _)) = to.as_deref().and_then(|to| to.split_once('?')) {
                    set_location(response, path);
                }
            }))
        }),
    },
    Fault {
        name: "redirects-relatively",
        summary: "Gives a path without scheme and host as Location.",
        clauses: &["blind:HTTPRoute303Redirect.4", "upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                if let Some(to) = location(response).filter(|_| is_redirect(response)) {
                    set_location(response, to.path_and_query().map_or("/", |path| path.as_str()));
                }
            }))
        }),
    },
    Fault {
        name: "redirects-to-request-ports",
        summary: "Takes the port of the Host header over into Location.",
        clauses: &["blind:HTTPRouteRedirectHostAndStatus.2", "upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                let Some(to) = location(response).filter(|_| is_redirect(response)) else { return };
                let Some((_, port)) = request.authority.rsplit_once(':') else { return };
                let (Some(scheme), Some(host)) = (to.scheme_str(), to.host()) else { return };
                let path = to.path_and_query().map_or("/", |path| path.as_str());
                set_location(response, &format!("{scheme}://{host}:{port}{path}"));
            }))
        }),
    },
    Fault {
        name: "redirects-elsewhere",
        summary: "Puts the address of the Gateway into Location where the filter names no host.",
        clauses: &["blind:HTTPRoute303Redirect.1", "upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                let Some(to) = location(response).filter(|_| is_redirect(response)) else { return };
                if to.host().is_some_and(|host| host.eq_ignore_ascii_case(&request.host)) {
                    let path = to.path_and_query().map_or("/", |path| path.as_str());
                    let address = request.connection.listener.address;
                    set_location(response, &format!("{}://{address}{path}", request.scheme));
                }
            }))
        }),
    },
    Fault {
        name: "redirects-post-with-303",
        summary: "Answers a POST on a 307 or 308 rule with 303.",
        clauses: &["blind:HTTPRoute307Redirect.2"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if request.method == Method::POST && matches!(response.status().as_u16(), 307 | 308) {
                    *response.status_mut() = StatusCode::SEE_OTHER;
                }
            }))
        }),
    },
    Fault {
        name: "does-not-redirect-head",
        summary: "Answers HEAD with 200 where GET is redirected.",
        clauses: &["blind:HTTPRouteRedirectHostAndStatus.5"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                if request.method == Method::HEAD && is_redirect(response) {
                    *response.status_mut() = StatusCode::OK;
                    response.headers_mut().remove(LOCATION);
                }
            }))
        }),
    },
    Fault {
        name: "answers-503-for-no-rule",
        summary: "Answers 503 where no rule matches.",
        clauses: &[
            "upstream:HTTPRouteMatching",
            "blind:GatewayWithAttachedRoutesWithPort8080.1",
            "GEP1364-14",
            "blind:Generic.14",
            "blind:GatewayModifyListeners.2",
            "blind:Generic.7",
            "blind:HTTPRouteBackendProtocolWebSocket.3",
            "blind:HTTPRouteCrossNamespace.1",
            "blind:HTTPRouteDisallowedKind.2",
            "blind:HTTPRouteInvalidParentRefNotMatchingListenerPort.2",
            "blind:HTTPRouteInvalidParentRefSectionNameNotMatchingPort.2",
            "blind:HTTPRouteListenerPortMatching.1",
            "blind:HTTPRouteMethodMatching.2",
            "blind:HTTPRouteRequestMirror.4",
            "upstream:GatewayHTTPListenerIsolation",
            "upstream:HTTPRouteExactPathMatching",
            "upstream:HTTPRouteHostnameIntersection",
            "upstream:HTTPRouteListenerHostnameMatching",
            "upstream:HTTPRouteListenerPortMatching",
            "upstream:HTTPRouteMethodMatching",
            "upstream:HTTPRouteHTTPSListener",
            "blind:GatewayHTTPListenerIsolation.2",
            "upstream:HTTPRouteHTTPSListenerDetectMisdirectedRequests",
            "upstream:HTTPRouteQueryParamMatching",
            "blind:HTTPRouteRedirectHostAndStatus.4",
        ],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|_, response| {
                let is_own = response.headers().get(CONTENT_TYPE).is_some_and(|of| of == "text/plain; charset=utf-8");
                if response.status() == StatusCode::NOT_FOUND && is_own {
                    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                }
            }))
        }),
    },
    Fault {
        name: "loses-bodies-of-answers",
        summary: "Sends the head of a backend's answer to a request with a body, unless it is a call, and nothing behind it.",
        clauses: &["blind:Generic.6", "blind:HTTPRouteExactPathMatching.1", "upstream:HTTPRouteMethodMatching"],
        seam: Seam::Exchange(|| {
            Arc::new(Answers(|request, response| {
                let is_call = grpc::is_grpc(&request.headers);
                if request.method == Method::POST && response.status() == StatusCode::OK && !is_call {
                    response.headers_mut().remove(http::header::CONTENT_LENGTH);
                    *response.body_mut() = gateproof_proxy::body::empty();
                }
            }))
        }),
    },
    Fault {
        name: "breaks-off-after-bodies",
        summary: "Closes the connection instead of answering a request with a method other than GET, unless it is a call.",
        clauses: &[
            "blind:Generic.6",
            "blind:HTTPRouteCORS.6",
            "blind:HTTPRouteExactPathMatching.1",
            "blind:HTTPRouteMethodMatching.1",
            "blind:HTTPRouteRequestMirror.1",
            "blind:HTTPRouteRetry.2",
            "upstream:HTTPRouteCORS",
            "upstream:HTTPRouteMethodMatching",
        ],
        seam: Seam::Exchange(|| Arc::new(BreaksOff)),
    },
    Fault {
        name: "holds-refused-tcp-connections",
        summary: "Keeps a TCP connection open that it should refuse.",
        clauses: &[
            "GEP1364-46",
            "blind:TCPRouteInvalidBackendRefNonexistent.1",
            "blind:TCPRouteInvalidCrossNamespaceBackendRef.1",
        ],
        seam: Seam::Exchange(|| Arc::new(HoldsRefused)),
    },
];
