//! Data planes that answer the same in another way.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gateproof_proxy::{
    body::{self, Body},
    compiled::CompiledRoute,
    config::BackendTarget,
    exchange::{BackendChoice, Connection, Exchange, RequestHead, TcpChoice},
    lengths::Wrong,
    stream::Stream,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, SERVER, SET_COOKIE, VIA},
    request::Parts,
};
use tokio::io::AsyncWriteExt;

use super::{Place, Variant};
use crate::faults::exchange::{Answers, Forwards};

/// How the backend is drawn.
struct Draws(fn(&CompiledRoute, BackendChoice) -> BackendChoice);

impl Exchange for Draws {
    fn on_backend(&self, _: &RequestHead, route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
        (self.0)(route, drawn)
    }
}

/// How long a request is held.
const HELD: Duration = Duration::from_millis(20);

struct TakesItsTime;

#[async_trait]
impl Exchange for TakesItsTime {
    async fn on_forward(&self, _: &RequestHead, parts: Parts) -> Parts {
        tokio::time::sleep(HELD).await;
        parts
    }
}

/// Ends a connection that is not forwarded instead of resetting it.
struct EndsRefused;

#[async_trait]
impl Exchange for EndsRefused {
    async fn serve_tcp(&self, _: &Connection, mut stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        if !matches!(choice, TcpChoice::Refuse { .. }) {
            return Some((stream, choice));
        }
        if let Err(error) = stream.shutdown().await {
            tracing::debug!(%error, "the client is gone already");
        }
        None
    }
}

/// The alert of TLS that says that nobody has the server name: content type, version, length, fatal, description.
const UNRECOGNIZED_NAME: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// Ends a TLS connection that is not forwarded by an alert.
struct AlertsRefused;

#[async_trait]
impl Exchange for AlertsRefused {
    async fn serve_tcp(&self, _: &Connection, mut stream: Stream, choice: TcpChoice) -> Option<(Stream, TcpChoice)> {
        if !matches!(choice, TcpChoice::Refuse { .. }) || !stream.is_known() {
            return Some((stream, choice));
        }
        let ended = async {
            stream.write_all(&UNRECOGNIZED_NAME).await?;
            stream.shutdown().await
        };
        if let Err(error) = ended.await {
            tracing::debug!(%error, "the client is gone already");
        }
        None
    }
}

/// Draws by lot, by the weights.
fn by_lot(route: &CompiledRoute, drawn: BackendChoice) -> BackendChoice {
    let weights = || route.rule.backends.iter().map(|backend| u64::from(backend.weight));
    let total: u64 = weights().sum();
    if total == 0 {
        return drawn;
    }
    let mut left = rand::random_range(0..total);
    let index = weights().position(|weight| {
        let is_it = left < weight;
        left = left.saturating_sub(weight);
        is_it
    });
    BackendChoice::of(route, index)
}

/// The first endpoint of whatever backend was drawn.
fn first_endpoint(route: &CompiledRoute, mut drawn: BackendChoice) -> BackendChoice {
    if let BackendChoice::Forward { backend, endpoint, .. } = &mut drawn
        && let Some(BackendTarget::Endpoints(all) | BackendTarget::H2cEndpoints(all)) = route.target(*backend)
    {
        *endpoint = all.iter().min().copied().unwrap_or(*endpoint);
    }
    drawn
}

/// What the data plane itself answers with is a text; a page says no less.
fn with_page(_: &RequestHead, response: &mut Response<Body>) {
    let is_text = response.headers().get(CONTENT_TYPE).is_some_and(|of| of.as_bytes().starts_with(b"text/plain"));
    if is_text && response.status().as_u16() >= 400 {
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        *response.body_mut() = body::full("<!doctype html><title>Sorry</title><p>This did not work.\n");
    }
}

/// A request that took too long, as RFC 9110 has it for one that the client did not end in time.
fn timed_out(_: &RequestHead, response: &mut Response<Body>) {
    let is_text = response.headers().get(CONTENT_TYPE).is_some_and(|of| of.as_bytes().starts_with(b"text/plain"));
    if is_text && response.status() == StatusCode::GATEWAY_TIMEOUT {
        *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
    }
}

fn forwarding_headers(request: &RequestHead, parts: &mut Parts) {
    if let Ok(client) = HeaderValue::from_str(&request.connection.peer.ip().to_string()) {
        parts.headers.insert(HeaderName::from_static("x-forwarded-for"), client);
    }
    // What stands there is the scheme already, or what a filter of the rule has set.
    let scheme = parts.headers.entry(HeaderName::from_static("x-forwarded-proto"));
    scheme.or_insert(HeaderValue::from_static(request.scheme));
    parts.headers.insert(HeaderName::from_static("x-request-id"), HeaderValue::from(request.connection.id));
    parts.headers.insert(VIA, HeaderValue::from_static("1.1 reference"));
}

fn host_in_lower_case(_: &RequestHead, parts: &mut Parts) {
    if let Some(host) = parts.headers.get(HOST).and_then(|host| host.to_str().ok())
        && let Ok(host) = HeaderValue::from_str(&host.to_ascii_lowercase())
    {
        parts.headers.insert(HOST, host);
    }
}

fn own_headers(_: &RequestHead, response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static("reference"));
    headers.append(VIA, HeaderValue::from_static("1.1 reference"));
    headers.insert(HeaderName::from_static("x-upstream-service-time"), HeaderValue::from_static("1"));
}

fn closing(request: &RequestHead, response: &mut Response<Body>) {
    if request.version < Version::HTTP_2 && !response.status().is_informational() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

fn chunked(_: &RequestHead, response: &mut Response<Body>) {
    if response.headers_mut().remove(CONTENT_LENGTH).is_some() {
        let known = std::mem::replace(response.body_mut(), body::empty());
        *response.body_mut() = body::of_unknown_length(known);
    }
}

/// Makes one line of all that have a name, but of cookies, of which one line is one cookie or has a separator of its own.
fn join_lines(headers: &mut HeaderMap) {
    let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    let names = headers.keys().filter(|name| **name != SET_COOKIE && **name != COOKIE).filter(is_repeated);
    for name in names.cloned().collect::<Vec<_>>() {
        let lines: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b","[..])) {
            headers.insert(name, joined);
        }
    }
}

/// Joins lines of headers, there and back.
struct JoinsLines;

#[async_trait]
impl Exchange for JoinsLines {
    async fn on_forward(&self, _: &RequestHead, mut parts: Parts) -> Parts {
        join_lines(&mut parts.headers);
        parts
    }

    async fn on_response(&self, _: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        join_lines(response.headers_mut());
        Some(response)
    }
}

fn request_in_chunks(mut sent: Request<Body>) -> Request<Body> {
    if sent.headers_mut().remove(CONTENT_LENGTH).is_some() {
        let known = std::mem::replace(sent.body_mut(), body::empty());
        *sent.body_mut() = body::of_unknown_length(known);
    }
    sent
}

/// Sends requests in chunks, to backends and mirrors.
struct ChunksRequests;

impl Exchange for ChunksRequests {
    fn on_try(&self, _: &RequestHead, _: u32, sent: Request<Body>) -> Request<Body> {
        request_in_chunks(sent)
    }

    fn on_mirror(&self, _: &RequestHead, copy: Request<Body>) -> Option<Request<Body>> {
        Some(request_in_chunks(copy))
    }
}

/// In which case names came stands beside the headers; without that they are written in lower case.
struct LowerCase;

#[async_trait]
impl Exchange for LowerCase {
    async fn on_forward(&self, _: &RequestHead, mut parts: Parts) -> Parts {
        parts.extensions.clear();
        parts
    }

    async fn on_response(&self, _: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        response.extensions_mut().clear();
        Some(response)
    }
}

/// Refuses whatever says of its length what it need not.
struct RefusesLengths;

impl Exchange for RefusesLengths {
    fn refuses(&self, _: &RequestHead, _: Wrong) -> bool {
        true
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "refuses-lengths-beside-chunks",
        summary: "Answers 400 to a request that has both a Content-Length and chunks.",
        source: "RFC 9112, 6.1: a server may reject such a request, or go by its Transfer-Encoding alone.",
        place: Place::Exchange(|| Arc::new(RefusesLengths)),
    },
    Variant {
        name: "writes-header-names-in-lower-case",
        summary: "Writes the names of all headers in lower case, in requests and in answers, over HTTP/1 too.",
        source: "RFC 9110, 5.1: field names are case-insensitive.",
        place: Place::Exchange(|| Arc::new(LowerCase)),
    },
    Variant {
        name: "spreads-by-lot",
        summary: "Draws the backend of each request by lot, by the weights, instead of in turns.",
        source: "HTTPBackendRef.weight: the proportion of requests is given, and nothing of how it comes about.",
        place: Place::Exchange(|| Arc::new(Draws(by_lot))),
    },
    Variant {
        name: "keeps-to-one-endpoint",
        summary: "Sends every request for a Service to the same one of its endpoints.",
        source: "HTTPBackendRef: weights are those of backends, and nothing is said of the endpoints of a Service.",
        place: Place::Exchange(|| Arc::new(Draws(first_endpoint))),
    },
    Variant {
        name: "adds-headers-to-answers",
        summary: "Adds Server, Via and a header of its own to every answer.",
        source: "RFC 9110, 7.6.3 and 10.2.4: a gateway may say that it had a part in it.",
        place: Place::Exchange(|| Arc::new(Answers(own_headers))),
    },
    Variant {
        name: "adds-headers-to-requests",
        summary: "Adds X-Forwarded-For, X-Forwarded-Proto, X-Request-Id and Via to every request that it forwards.",
        source: "RFC 9110, 7.6.3, and the custom of reverse proxies; the specification names what filters change, and forbids no other header.",
        place: Place::Exchange(|| Arc::new(Forwards(forwarding_headers))),
    },
    Variant {
        name: "forwards-hosts-in-lower-case",
        summary: "Writes the Host header in lower case before it forwards a request.",
        source: "RFC 9110, 4.2.3: the host is case-insensitive, and normally provided in lower case.",
        place: Place::Exchange(|| Arc::new(Forwards(host_in_lower_case))),
    },
    Variant {
        name: "closes-connections-behind-answers",
        summary: "Answers every request over HTTP/1 with Connection: close, and closes.",
        source: "RFC 9112, 9.6: a server may close a persistent connection behind any answer.",
        place: Place::Exchange(|| Arc::new(Answers(closing))),
    },
    Variant {
        name: "chunks-answers",
        summary: "Sends answers of a known length in chunks.",
        source: "RFC 9112, 7.1: any recipient of HTTP/1.1 must be able to read chunks.",
        place: Place::Exchange(|| Arc::new(Answers(chunked))),
    },
    Variant {
        name: "chunks-requests",
        summary: "Sends requests of a known length in chunks to backends and mirrors.",
        source: "RFC 9112, 7.1: any recipient of HTTP/1.1 must be able to read chunks.",
        place: Place::Exchange(|| Arc::new(ChunksRequests)),
    },
    Variant {
        name: "joins-lines-of-headers",
        summary: "Makes one line of all that have the name of a header, in requests and in answers, with commas and no spaces; not of cookies.",
        source: "RFC 9110, 5.3: a recipient may combine field lines of one name into one line, each value behind a comma.",
        place: Place::Exchange(|| Arc::new(JoinsLines)),
    },
    Variant {
        name: "answers-errors-with-pages",
        summary: "Sends an HTML page with the errors that it answers itself.",
        source: "The specification gives codes for what cannot be forwarded, and no bodies.",
        place: Place::Exchange(|| Arc::new(Answers(with_page))),
    },
    Variant {
        name: "blames-clients-for-timeouts",
        summary: "Answers 408 where the timeouts of a rule end a request.",
        source: "HTTPRouteTimeouts: a timeout error, of which no text says the code.",
        place: Place::Exchange(|| Arc::new(Answers(timed_out))),
    },
    Variant {
        name: "takes-its-time",
        summary: "Holds every request for 20 ms before it forwards it.",
        source: "Nothing is said of how long a request may take beside the timeouts of its rule.",
        place: Place::Exchange(|| Arc::new(TakesItsTime)),
    },
    Variant {
        name: "ends-refused-connections",
        summary: "Closes a TCP connection that has no backend in order, instead of resetting it.",
        source: "TCPRouteRule.backendRefs: the connection is to be rejected; how is left open.",
        place: Place::Exchange(|| Arc::new(EndsRefused)),
    },
    Variant {
        name: "ends-refused-tls-with-alerts",
        summary: "Ends a connection over TLS that has no backend by an alert, instead of resetting it.",
        source: "TLSRouteRule.backendRefs: the connection is to be rejected; how is left open.",
        place: Place::Exchange(|| Arc::new(AlertsRefused)),
    },
];

#[cfg(test)]
#[path = "exchanges_tests.rs"]
mod tests;
