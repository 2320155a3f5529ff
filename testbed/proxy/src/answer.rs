//! From a request to its answer.

use std::sync::Arc;

use gateproof_lengths::Wrong;
use http::header::{CONTENT_TYPE, HOST, LOCATION, UPGRADE};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::body::{self, Body};
use crate::compiled::CompiledRoute;
use crate::config::Filter;
use crate::error::UpstreamError;
use crate::exchange::{BackendChoice, Connection, MatchOutcome, RequestHead, Unreached};
use crate::filters::location::{Origin, location};
use crate::filters::{cors, headers, hop, path};
use crate::grpc;
use crate::matching::MatchPredicate;
use crate::matching::hostname::host_of;
use crate::retry::Sending;
use crate::routing::Routing;
use crate::shared::Shared;
use crate::{authorize, mirror, tunnel};

/// There is no answer; the connection ends.
#[derive(Debug, thiserror::Error)]
#[error("the connection is dropped without an answer")]
pub struct Dropped;

/// What all requests of one connection share.
pub struct Client {
    /// The proxy.
    pub shared: Arc<Shared>,
    /// The connection.
    pub connection: Arc<Connection>,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The server name of the handshake.
    pub server_name: Option<String>,
    /// Ends tunnels when the listener goes.
    pub closing: CancellationToken,
}

impl Client {
    /// Answers one request.
    ///
    /// # Errors
    /// [`Dropped`] if the listener is gone, or the seam asks for it.
    pub async fn answer(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Dropped> {
        let config = self.shared.config_for(&self.connection);
        let listener = config.listener(self.connection.listener).ok_or(Dropped)?;
        let routing = Routing::of(listener, self.scheme).ok_or(Dropped)?;
        let mut head = match self.head_of(&request) {
            Ok(head) => head,
            Err(reason) => return Ok(text(StatusCode::BAD_REQUEST, reason)),
        };
        let exchange = &self.shared.exchange;
        let wrong = Wrong::of(&head.headers);
        if let Some(wrong) = wrong.filter(|wrong| exchange.refuses(&head, *wrong)) {
            let refused = last(text(StatusCode::BAD_REQUEST, wrong.why()));
            return exchange.on_response(&head, refused).await.ok_or(Dropped);
        }
        if let Some(host) = routing.host_of(&head).filter(|host| !host.before.is_empty())
            && let Err(refused) = authorize::all(&self.shared, &host.before, &mut head, &mut request).await
        {
            return exchange.on_response(&head, *refused).await.ok_or(Dropped);
        }
        let response = match exchange.on_route(&head, &routing, routing.route(&head)) {
            MatchOutcome::Rule { route, predicate } => self.by_rule(&head, &route, &predicate, request).await,
            MatchOutcome::NoRule => own(&head, StatusCode::NOT_FOUND, "no rule matches the request"),
            MatchOutcome::Misdirected => {
                own(&head, StatusCode::MISDIRECTED_REQUEST, "the host belongs to another listener than the server name")
            }
        };
        let response = if wrong.is_some() { last(response) } else { response };
        exchange.on_response(&head, response).await.ok_or(Dropped)
    }

    fn head_of(&self, request: &Request<Incoming>) -> Result<RequestHead, &'static str> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let authority = match (request.uri().authority(), hosts.next(), hosts.next()) {
            (_, _, Some(_)) => return Err("the request has several Host headers"),
            (Some(authority), _, None) => authority.as_str().to_owned(),
            (None, Some(host), None) => host.to_str().map_err(|_| "the Host header is not readable")?.to_owned(),
            (None, None, None) if request.version() == Version::HTTP_11 => {
                return Err("the request has no Host header");
            }
            (None, None, None) => String::new(),
        };
        Ok(RequestHead {
            connection: Arc::clone(&self.connection),
            version: request.version(),
            scheme: self.scheme,
            server_name: self.server_name.clone(),
            method: request.method().clone(),
            host: host_of(&authority),
            absolute: request.version() < Version::HTTP_2 && request.uri().authority().is_some(),
            authority,
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            headers: request.headers().clone(),
        })
    }

    async fn by_rule(
        &self,
        head: &RequestHead,
        route: &CompiledRoute,
        predicate: &MatchPredicate,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let arrived = Instant::now();
        let crossing = route.rule.filters.iter().find_map(|filter| match filter {
            Filter::Cors(cors) => Some(cors),
            _ => None,
        });
        if let Some(granted) = crossing.and_then(|cors| cors::preflight(cors, &head.method, &head.headers)) {
            return preflight(route, granted);
        }
        let redirects = |filter: &&Filter| matches!(filter, Filter::RequestRedirect(_));
        let choice = match route.rule.filters.iter().find(redirects) {
            Some(_) => None,
            None => Some(self.shared.exchange.on_backend(head, route, BackendChoice::of(route, route.draw_backend()))),
        };
        let backend = match &choice {
            Some(BackendChoice::Forward { backend, .. } | BackendChoice::Answer { backend, .. }) => Some(*backend),
            Some(BackendChoice::Fail { backend, .. }) => *backend,
            None => None,
        };
        let redirect = route.filters(backend).find(redirects);
        let mut response = match (redirect, choice) {
            (Some(Filter::RequestRedirect(redirect)), _) => {
                self.mirror_redirected(head, route, predicate, backend, request);
                self.redirect(head, route, predicate, redirect)
            }
            (_, Some(choice)) => self.forward(head, route, predicate, choice, (request, arrived)).await,
            (_, None) => {
                failure(head, route, StatusCode::INTERNAL_SERVER_ERROR, "it has neither a redirect nor a backend")
            }
        };
        for filter in route.filters(backend) {
            if let Filter::ResponseHeaderModifier(modifier) = filter {
                headers::modify(modifier, response.headers_mut());
            }
        }
        if let Some(cors) = crossing {
            cors::grant(cors, &head.headers, response.headers_mut());
        }
        response
    }

    fn redirect(
        &self,
        head: &RequestHead,
        route: &CompiledRoute,
        predicate: &MatchPredicate,
        redirect: &crate::config::RequestRedirect,
    ) -> Response<Body> {
        let origin = Origin {
            scheme: self.scheme,
            host: &head.host,
            listener_port: self.connection.listener.port,
            path: &head.path,
            query: head.query.as_deref(),
            matched: predicate.path(),
        };
        let target = location(redirect, &origin).map_err(|error| error.to_string());
        let value = target.and_then(|target| HeaderValue::try_from(target).map_err(|error| error.to_string()));
        match (value, StatusCode::from_u16(redirect.status)) {
            (Ok(value), Ok(status)) => {
                let mut response = Response::new(body::empty());
                *response.status_mut() = status;
                response.headers_mut().insert(LOCATION, value);
                response
            }
            (Err(reason), _) => failure(head, route, StatusCode::INTERNAL_SERVER_ERROR, &reason),
            (_, Err(error)) => failure(head, route, StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    /// Copies what is redirected to the mirrors of its rule, which do not ask who answers.
    fn mirror_redirected(
        &self,
        head: &RequestHead,
        route: &CompiledRoute,
        predicate: &MatchPredicate,
        backend: Option<usize>,
        request: Request<Incoming>,
    ) {
        if !route.filters(backend).any(|filter| matches!(filter, Filter::RequestMirror(_))) {
            return;
        }
        let (mut parts, incoming) = request.into_parts();
        match self.rewrite(&mut parts, head, route, predicate, backend) {
            Ok(()) => {
                let original = mirror::start(&self.shared, head, route, backend, &parts, body::stream(incoming));
                self.shared.tasks.spawn(mirror::drain(original));
            }
            Err(reason) => tracing::debug!(rule = %route.rule.id, reason, "nothing copied of what is redirected"),
        }
    }

    async fn forward(
        &self,
        head: &RequestHead,
        route: &CompiledRoute,
        predicate: &MatchPredicate,
        choice: BackendChoice,
        (mut request, arrived): (Request<Incoming>, Instant),
    ) -> Response<Body> {
        let client_side = hyper::upgrade::on(&mut request);
        let (mut parts, incoming) = request.into_parts();
        let backend = match &choice {
            BackendChoice::Forward { backend, .. } | BackendChoice::Answer { backend, .. } => Some(*backend),
            BackendChoice::Fail { backend, .. } => *backend,
        };
        if let Err(reason) = self.rewrite(&mut parts, head, route, predicate, backend) {
            return failure(head, route, StatusCode::INTERNAL_SERVER_ERROR, &reason);
        }
        let parts = self.shared.exchange.on_forward(head, parts).await;
        let original = mirror::start(&self.shared, head, route, backend, &parts, body::stream(incoming));
        if let BackendChoice::Fail { status, reason, .. } = &choice {
            self.shared.tasks.spawn(mirror::drain(original));
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return failure(head, route, status, reason);
        }
        if let BackendChoice::Answer { status, body, .. } = &choice {
            self.shared.tasks.spawn(mirror::drain(original));
            return told(StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body);
        }
        let sending = Sending { shared: &self.shared, head, route, arrived };
        match sending.send(parts, original, &choice).await {
            Ok(answered) if answered.response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                tunnel::open(&self.shared, head, client_side, answered.response, self.closing.clone())
            }
            Ok(answered) => {
                let (mut parts, incoming) = answered.response.into_parts();
                self.shared.exchange.on_answer(head, &mut parts);
                hop::strip(&mut parts.headers);
                let whole = body::stream(incoming);
                Response::from_parts(
                    parts,
                    match self.shared.exchange.body_end(head, answered.end) {
                        Some(end) => body::until(whole, end),
                        None => whole,
                    },
                )
            }
            Err(error @ UpstreamError::Timeout(_)) => {
                failure(head, route, StatusCode::GATEWAY_TIMEOUT, &error.to_string())
            }
            Err(error) => {
                let mut answer = failure(head, route, StatusCode::BAD_GATEWAY, &error.to_string());
                answer.extensions_mut().insert(Unreached);
                answer
            }
        }
    }

    /// Turns the client's head into the one that the backend gets.
    fn rewrite(
        &self,
        parts: &mut Parts,
        head: &RequestHead,
        route: &CompiledRoute,
        predicate: &MatchPredicate,
        backend: Option<usize>,
    ) -> Result<(), String> {
        let upgrade = hop::requested_upgrade(&parts.headers);
        hop::strip(&mut parts.headers);
        hop::join_cookies(&mut parts.headers);
        hop::add_forwarded(&mut parts.headers, self.connection.peer.ip(), self.scheme);
        let mut path = head.path.clone();
        set_host(&mut parts.headers, &head.authority)?;
        for filter in route.filters(backend) {
            match filter {
                Filter::RequestHeaderModifier(modifier) => headers::modify(modifier, &mut parts.headers),
                Filter::UrlRewrite(rewrite) => {
                    if let Some(hostname) = &rewrite.hostname {
                        set_host(&mut parts.headers, hostname)?;
                    }
                    if let Some(modifier) = &rewrite.path {
                        path =
                            path::modify(modifier, predicate.path(), &head.path).map_err(|error| error.to_string())?;
                    }
                }
                _ => {}
            }
        }
        if let Some(protocol) = upgrade {
            parts.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            parts.headers.insert(UPGRADE, protocol);
        }
        let query = head.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let target: PathAndQuery = format!("{path}{query}").parse().map_err(|error| format!("{path}: {error}"))?;
        parts.uri = target.into();
        Ok(())
    }
}

/// The answer to a preflight; the backend does not learn of it.
fn preflight(route: &CompiledRoute, granted: HeaderMap) -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    *response.headers_mut() = granted;
    for filter in &route.rule.filters {
        if let Filter::ResponseHeaderModifier(modifier) = filter {
            headers::modify(modifier, response.headers_mut());
        }
    }
    response
}

fn set_host(headers: &mut HeaderMap, authority: &str) -> Result<(), String> {
    let value = authority.parse().map_err(|error| format!("{authority}: {error}"))?;
    headers.insert(HOST, value);
    Ok(())
}

fn failure(head: &RequestHead, route: &CompiledRoute, status: StatusCode, reason: &str) -> Response<Body> {
    tracing::debug!(rule = %route.rule.id, %status, reason, "answered without a backend");
    own(head, status, &format!("{}: {reason}", route.rule.id))
}

/// An answer of our own, in the protocol that the client speaks.
fn own(head: &RequestHead, status: StatusCode, reason: &str) -> Response<Body> {
    if grpc::is_grpc(&head.headers) { grpc::answer(status, reason) } else { text(status, reason) }
}

/// The last answer of its connection: nobody knows for sure where the next request would begin (RFC 9112, sections 6.1 and 6.3).
fn last(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn text(status: StatusCode, reason: &str) -> Response<Body> {
    told(status, &format!("{reason}\n"))
}

/// An answer that says this and nothing else.
fn told(status: StatusCode, body: &str) -> Response<Body> {
    let mut response = Response::new(body::full(body.to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
