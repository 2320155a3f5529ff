//! The backend for HTTP.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use gateproof_lengths as lengths;
use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, TRAILER, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::aside::{Asides, WithAsides};
use crate::asked::{Body, asked_headers, host, lossy};
use crate::backend::Backend;
use crate::canonical::canonical;
use crate::conduct::{self, Rehearsal};
use crate::filler::filler;
use crate::identity::Identity;
use crate::journal::Entry;
use crate::tls::{self, Agreed, Arrived};
use crate::{HEADER_TIME, REQUEST_HEADER, TOKEN_HEADER, delay, grpc, websocket};

/// The backend was asked to break the connection off instead of answering.
#[derive(Debug, thiserror::Error)]
#[error("the request asks for the connection to break off")]
struct BrokenOff;

/// The request header that asks for response headers: `Name:Value`, separated by commas.
const SET_HEADER: &str = "x-echo-set-header";

/// How many bytes a piece has of an answer that does not say how long it is.
const PIECE: usize = 16 * 1024;

/// How many bytes of the body of a call are read for messages.
const KEPT_OF_CALLS: usize = 256 * 1024;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    path: &'a str,
    host: &'a str,
    method: &'a str,
    proto: &'static str,
    body_length: u64,
    /// SHA-256 of the body in hexadecimal.
    body_sha256: &'a str,
    headers: BTreeMap<String, Vec<String>>,
    http_port: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<&'a Agreed>,
    #[serde(flatten)]
    filler: Option<Filler>,
    /// Last, so that an answer which is cut does not say who gave it.
    #[serde(flatten)]
    identity: &'a Identity,
}

/// What makes an answer long, with how long it does.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Filler {
    filler: String,
    filler_length: usize,
}

impl Filler {
    /// Nothing of no bytes.
    fn of(bytes: usize) -> Option<Self> {
        (bytes > 0).then(|| Self { filler: filler(bytes), filler_length: bytes })
    }
}

pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, backend: Arc<Backend>, closing: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the client is gone already");
        return;
    }
    match tls::arrive(stream, backend.tls.as_ref()).await {
        Some(Arrived::Clear(stream)) => serve_over(stream, peer, (backend, None), closing).await,
        Some(Arrived::Tls(stream, agreed)) => {
            serve_over(stream, peer, (backend, Some(Arc::new(agreed))), closing).await
        }
        None => {}
    }
}

async fn serve_over<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: SocketAddr,
    (backend, agreed): (Arc<Backend>, Option<Arc<Agreed>>),
    closing: CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    // What was agreed holds for one answer, so that whoever asks next agrees anew: it would go unseen otherwise which certificates are
    // shown and believed by now. A connection that is used for two destinations with settings of their own goes unseen instead.
    let once = agreed.is_some();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).title_case_headers(true);
    builder.http2().timer(TokioTimer::new());
    let (asked, asked_streams) = (CancellationToken::new(), CancellationToken::new());
    let (asks, asks_streams) = (asked.clone(), asked_streams.clone());
    let asides = Asides::default();
    let stream = WithAsides::new(stream, asides.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        asks.cancel();
        let has_streams = request.version() == Version::HTTP_2;
        let asks_for_another = request.headers().contains_key(UPGRADE);
        if has_streams {
            asks_streams.cancel();
        }
        let (backend, agreed, asides) = (Arc::clone(&backend), agreed.clone(), asides.clone());
        async move {
            let mut response = answer(&backend, (peer, agreed.as_deref()), request, &asides).await?;
            if asks_for_another && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                asides.stay();
            }
            // Whoever switches protocols keeps the connection.
            if once && !has_streams && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                response.headers_mut().append(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, BrokenOff>(response)
        }
    });
    // The server's own limit begins when it knows the version of HTTP, which a client may never let it know.
    let never_asked = async {
        if tokio::time::timeout(HEADER_TIME, asked.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    let ended = tokio::select! {
        // First, so that what is answered once nobody is let in any more says that the connection ends, too.
        biased;
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        ended = connection.as_mut() => ended,
        // Streams that are there are answered.
        () = asked_streams.cancelled(), if once => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = never_asked => return,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(
    backend: &Backend,
    (peer, agreed): (SocketAddr, Option<&Agreed>),
    mut request: Request<Incoming>,
    asides: &Asides,
) -> Result<Response<Body>, BrokenOff> {
    if backend.only_h2 && request.version() != Version::HTTP_2 {
        return Ok(plain(StatusCode::BAD_REQUEST, "this port speaks HTTP/2 with prior knowledge only"));
    }
    if backend.only_tls && agreed.is_none() {
        return Ok(plain(StatusCode::BAD_REQUEST, "this port speaks HTTP within TLS only"));
    }
    let on_upgrade = hyper::upgrade::on(&mut request);
    let (mut parts, body) = request.into_parts();
    if parts.version <= Version::HTTP_11 {
        lengths::tell(&mut parts.headers);
    }
    if let Some(response) = journal_endpoint(backend, &parts) {
        return Ok(response);
    }
    let route = collapse_slashes(parts.uri.path());
    if route == "/health" {
        return Ok(plain(StatusCode::OK, "OK"));
    }
    let is_call = grpc::is_call(&parts);
    let Some((body_length, body_digest, body)) = digest(body, if is_call { KEPT_OF_CALLS } else { 0 }).await else {
        return Ok(plain(StatusCode::BAD_REQUEST, "the body broke off"));
    };
    let host = host(&parts);
    let query = parts.uri.query().unwrap_or_default();
    let rehearsal = Rehearsal::of(&route, query);
    let named = parts.headers.get(REQUEST_HEADER).and_then(|id| id.to_str().ok());
    let id = rehearsal.as_ref().map(|one| one.id).or(named);
    let before = id.map_or(0, |id| backend.noted(id));
    backend.journal.write(Entry {
        backend: backend.identity.clone(),
        request_id: id.map(str::to_owned),
        method: parts.method.to_string(),
        path: path(&parts).to_owned(),
        proto: proto(parts.version),
        host: host.clone(),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), lossy(value))).collect(),
        body_length,
        body_digest: body_digest.clone(),
        peer,
    });
    let is_meant = conduct::is_late(query, before) && conduct::is_for(query, &backend.identity.pod);
    let delay = delay::requested(query).filter(|_| is_meant);
    if is_call {
        wait(delay).await;
        let served = !backend.only_grpc || grpc::is_served(&parts);
        return Ok(if served {
            grpc::answer((&backend.identity, agreed), &parts, &body)
        } else {
            grpc::unimplemented()
        });
    }
    if backend.only_grpc {
        return Ok(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "this port speaks gRPC only"));
    }
    if route == "/ws" {
        return Ok(match websocket::accept(&parts.headers) {
            Some(response) => {
                wait(delay).await;
                if conduct::greets(query) {
                    asides.greet();
                }
                let echoing = backend.closing.clone().run_until_cancelled_owned(websocket::echo(on_upgrade));
                backend.tasks.spawn(echoing);
                response.map(BodyExt::boxed_unsync)
            }
            None => plain(StatusCode::BAD_REQUEST, "this path speaks WebSocket"),
        });
    }
    if let Some(status) = route.strip_prefix("/status/") {
        let status = status.parse().ok().and_then(|code: u16| StatusCode::from_u16(code).ok());
        return Ok(match status {
            Some(status) if parts.uri.query().is_none() => {
                let mut response = plain(status, "");
                set_asked_headers(&parts.headers, &mut response);
                response
            }
            _ => plain(StatusCode::BAD_REQUEST, "the path has no status code"),
        });
    }
    if let Some((failure, delay)) = rehearsal.and_then(|one| one.failure(before)) {
        wait(delay).await;
        return failed(failure);
    }
    if conduct::leaves(query) && conduct::is_for(query, &backend.identity.pod) {
        // The answer is the sign that nobody is let in any more.
        backend.leave().await;
    }
    wait(delay).await;
    match conduct::failure(query, before) {
        Some(failure) => failed(failure),
        None => {
            let mut account = account((backend, agreed), &parts, &host, (body_length, &body_digest));
            if conduct::hints(query) && parts.version == Version::HTTP_11 {
                asides.hint();
            }
            Ok(match conduct::pause(query) {
                Some(pause) => account.map(|body| halved(body, pause)),
                None if conduct::is_chunked(query) => {
                    let trailers = trailers(query, &parts, asides, account.headers_mut());
                    account.map(|body| in_pieces(body, trailers))
                }
                None if conduct::ends_with_connection(query) && parts.version == Version::HTTP_11 => {
                    asides.end_with_connection();
                    // So that no length is told, and none of the pieces says how long it is.
                    *account.version_mut() = Version::HTTP_10;
                    account.headers_mut().append(CONNECTION, HeaderValue::from_static("close"));
                    account.map(|body| in_pieces(body, None))
                }
                None => account.map(whole),
            })
        }
    }
}

/// The trailers that a query asks for, as a part of the answer where its protocol has that; the head says which there are.
fn trailers(query: &str, parts: &Parts, asides: &Asides, head: &mut HeaderMap) -> Option<HeaderMap> {
    let trailers = conduct::trailers(query);
    let names: Vec<&str> = trailers.iter().map(|(name, _)| name.as_str()).collect();
    let named = HeaderValue::from_str(&names.join(", ")).ok().filter(|_| !names.is_empty())?;
    match parts.version {
        Version::HTTP_2 => {
            head.insert(TRAILER, named);
            Some(trailers.into_iter().collect())
        }
        // Who asks for the head alone gets no body that they could stand behind, and nor is one of HTTP/1.0 in chunks.
        Version::HTTP_11 if parts.method != Method::HEAD => {
            head.insert(TRAILER, named);
            asides.trail(&trailers);
            None
        }
        _ => None,
    }
}

fn failed(failure: conduct::Failure) -> Result<Response<Body>, BrokenOff> {
    match failure {
        conduct::Failure::Status(status) => Ok(plain(status, "this request was to fail")),
        conduct::Failure::Break => Err(BrokenOff),
    }
}

/// What was received: of the body its length and digest.
fn account(
    (backend, tls): (&Backend, Option<&Agreed>),
    parts: &Parts,
    host: &str,
    (body_length, body_sha256): (u64, &str),
) -> Response<Bytes> {
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in parts.headers.iter().filter(|(name, _)| *name != HOST) {
        headers.entry(canonical(name.as_str())).or_default().push(lossy(value));
    }
    let answer = Answer {
        path: path(parts),
        host,
        method: parts.method.as_str(),
        proto: proto(parts.version),
        body_length,
        body_sha256,
        headers,
        http_port: backend.http_port.to_string(),
        tls,
        filler: Filler::of(conduct::filler(parts.uri.query().unwrap_or_default())),
        identity: &backend.identity,
    };
    let mut response = json(&answer);
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    set_asked_headers(&parts.headers, &mut response);
    response
}

fn set_asked_headers<B>(of_request: &HeaderMap, response: &mut Response<B>) {
    for (name, value) in asked_headers(of_request, SET_HEADER) {
        response.headers_mut().append(name, value);
    }
}

/// The path with its query.
fn path(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |path| path.as_str())
}

async fn wait(delay: Option<Duration>) {
    if let Some(delay) = delay {
        tokio::time::sleep(delay).await;
    }
}

/// The body in two halves, the second of them after a pause.
fn halved(whole: Bytes, pause: Duration) -> Body {
    let halves = whole.len() / 2;
    let first = futures::stream::iter([Ok(Frame::data(whole.slice(..halves)))]);
    let second = futures::stream::once(async move {
        tokio::time::sleep(pause).await;
        Ok(Frame::data(whole.slice(halves..)))
    });
    StreamBody::new(first.chain(second)).boxed_unsync()
}

/// The body piece by piece, so that nobody knows beforehand how long it is.
fn in_pieces(whole: Bytes, trailers: Option<HeaderMap>) -> Body {
    let ends = (0..whole.len()).step_by(PIECE);
    let pieces: Vec<Result<_, Infallible>> =
        ends.map(|from| Ok(Frame::data(whole.slice(from..whole.len().min(from + PIECE))))).collect();
    StreamBody::new(futures::stream::iter(pieces.into_iter().chain(trailers.map(Frame::trailers).map(Ok))))
        .boxed_unsync()
}

/// The journal for a harness that is not in this process. It exists only under a run token, and only for requests that
/// carry the token's header, so that traffic under test can use the same path.
fn journal_endpoint(backend: &Backend, parts: &Parts) -> Option<Response<Body>> {
    let token = backend.run_token.as_deref()?;
    let given = parts.headers.get(TOKEN_HEADER)?;
    if parts.uri.path() != "/journal" {
        return None;
    }
    if given.as_bytes() != token.as_bytes() {
        return Some(plain(StatusCode::FORBIDDEN, "the token is not the one of this run"));
    }
    let id = parts.uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("id=")));
    Some(match id {
        Some(id) => json(&backend.journal.of_request(id)).map(whole),
        None => json(&backend.journal.records()).map(whole),
    })
}

/// Length and SHA-256 of a body, and the first `keep` bytes of it. Nothing if it breaks off.
async fn digest(mut body: Incoming, keep: usize) -> Option<(u64, String, Vec<u8>)> {
    let (mut length, mut hash, mut kept) = (0_u64, Sha256::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.ok()?.data_ref() {
            length += data.len() as u64;
            hash.update(data);
            let room = keep.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(&data[..room]);
        }
    }
    Some((length, format!("{:x}", hash.finalize()), kept))
}

fn collapse_slashes(path: &str) -> String {
    let mut collapsed = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter != '/' || !collapsed.ends_with('/') {
            collapsed.push(letter);
        }
    }
    collapsed
}

fn proto(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

fn json<T: Serialize>(value: &T) -> Response<Bytes> {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let mut response = Response::new(Bytes::from(text));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => {
            let mut response = Response::new(Bytes::from(format!("writing the answer failed: {error}")));
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(whole(Bytes::from(text.to_owned())));
    *response.status_mut() = status;
    response
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}
