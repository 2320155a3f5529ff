//! One HTTP request, over a connection of its own or one that is kept. Redirects are answers like any other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{StreamExt, stream};
use gateproof_echo::conduct;
use gateproof_echo::grpc::message::{frame, text_message};
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING,
};
use http::{HeaderMap, Method, Request, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::attempt::{self, broken};
use super::kept::{Content, Open, Sender};
use super::spelled::{Spelled, spell};
use super::tap::{Seen, Tap};
use super::{Client, Prober, REQUEST_HEADER, grpc, tls, websocket};
use crate::cluster::clock;
use crate::cluster::dial::Connection;
use crate::log::{EchoText, Exchange, HttpAnswer, HttpRequest, PeerCertificate, ProbeError};

/// How much of a body is logged.
const LOGGED_BODY: usize = 4 * 1024;
/// How long the headers of an answer over HTTP/2 may be, in bytes; HTTP/1.1 has bounds of its own.
const LONGEST_HEADERS: u32 = 256 * 1024;
/// How much of an answer over HTTP/2 may be under way, in bytes: what every client takes that says nothing of it (RFC 9113,
/// section 6.9.2). An answer that is as long is nothing special.
const WINDOW: u32 = 65_535;
/// How long before a request the others of its connection are sent: whoever gets them all at once may begin with any.
const HEAD_START: Duration = Duration::from_millis(50);
/// How long a backend may be asked to take.
const LONGEST_ASKED: Duration = Duration::from_secs(30);
/// How much of a body is read to find the echo's JSON in it.
const READ_BODY: usize = 2 * 1024 * 1024;

pub(super) async fn attempt(
    prober: &Prober,
    mut exchange: Exchange,
    request: &HttpRequest,
    client: &Client,
) -> Exchange {
    let end = clock::now() + prober.budget + asked_for(&request.target);
    let (mut wire, others) = match wires(request, &exchange.id) {
        Ok(wires) => wires,
        Err(error) => {
            exchange.error = Some(ProbeError::Unreachable(error));
            return exchange;
        }
    };
    let own = spell(&mut wire, request);
    let (mut seen, mut status) = (Seen::default(), None);
    let answered = async {
        // Over HTTP/1.1 those who come meanwhile wait for the answer, or they would open connections of their own.
        let mut held = None;
        let mut open = match &request.connection {
            Some(name) => {
                let turn = prober.kept.turn(name).lock_owned().await;
                let kept = prober.kept.take(name).await;
                exchange.reused = kept.is_some();
                let open = match kept {
                    Some(open) => {
                        open.seen.restart();
                        seen = open.seen.clone();
                        open
                    }
                    None => connect(prober, (request, client, None), &mut exchange, &seen, end).await?,
                };
                match open.shared() {
                    Some(shared) => prober.kept.keep(name, shared),
                    None => held = Some(turn),
                }
                open
            }
            None => connect(prober, (request, client, own), &mut exchange, &seen, end).await?,
        };
        exchange.connected_to = open.peer;
        exchange.certificate.clone_from(&open.certificate);
        exchange.alpn.clone_from(&open.alpn);
        let (wire, others) = match open.sender.is_http2() {
            is_http2 if is_http2 == request.http2 => (wire, others),
            // Which version it is was for the handshake to say.
            http2 => wires(&HttpRequest { http2, ..request.clone() }, &exchange.id).map_err(ProbeError::Unreachable)?,
        };
        // They are under way as long as somebody waits for them.
        let _others = open.sender.begin(others);
        if !request.among.is_empty() {
            clock::until(clock::now() + HEAD_START).await;
        }
        let response = match open.sender.send(wire).await {
            Ok(response) => response,
            Err(error) => return Err(open.failure(error).await),
        };
        status = Some(response.status().as_u16());
        if let Some(messages) = &request.messages
            && response.status() == StatusCode::SWITCHING_PROTOCOLS
        {
            let answer = head(&response);
            exchange.replies = websocket::converse(response, messages, end).await;
            return Ok(answer);
        }
        let answer = read(response).await?;
        match &request.connection {
            Some(name) => prober.kept.keep(name, open),
            None => open.nothing_more(end).await?,
        }
        drop(held);
        Ok(answer)
    };
    match tokio::time::timeout_at(end, answered).await {
        Ok(Ok(answer)) => exchange.http = Some(answer),
        Ok(Err(error)) => exchange.error = Some(seen.reason(error)),
        Err(_) => exchange.error = Some(seen.reason(ProbeError::TimedOut)),
    }
    if exchange.error.is_some() || exchange.replies.iter().any(|reply| reply.wrong.is_some()) {
        exchange.received = seen.received(status);
    }
    exchange
}

/// The request as it goes out, and those that are under way beside it.
fn wires(request: &HttpRequest, id: &str) -> Result<(Request<Content>, Vec<Request<Content>>), String> {
    Ok((wire(request, id)?, others(request, id)?))
}

/// How much longer an answer may take because the backend is asked to take its time. Whoever asks for more waits in vain.
fn asked_for(target: &str) -> Duration {
    target.split_once('?').map_or(Duration::ZERO, |(_, query)| conduct::takes(query).min(LONGEST_ASKED))
}

/// A fresh connection, with TLS if the request is over it, over which these bytes go out if there are some. Who is at its other end is
/// noted even if nothing comes of it.
async fn connect(
    prober: &Prober,
    (request, client, own): (&HttpRequest, &Client, Option<Bytes>),
    exchange: &mut Exchange,
    seen: &Seen,
    end: Instant,
) -> Result<Open, ProbeError> {
    let Connection { stream, peer } = attempt::connect(prober, &request.host, request.port, end).await?;
    exchange.connected_to = peer;
    let stream = Tap::wire(stream, seen.clone());
    let to = |certificate, alpn, http2| To { peer, certificate, alpn, http2, own, seen: seen.clone() };
    let title_case = request.headers.iter().any(|(name, _)| name.chars().any(|c| c.is_ascii_uppercase()));
    let Some(name) = &request.tls_server_name else {
        return open(stream, to(None, None, request.http2), request, title_case).await;
    };
    let name = tls::server_name(name)?;
    let (connector, is_asked) = match (&request.client, &client.pair) {
        (None, _) => {
            let is_plain = request.without.is_empty() && request.alpn.is_empty() && request.tls_version.is_none();
            ((!is_plain).then(|| tls::of_request(request)), None)
        }
        (Some(_), Some(pair)) => {
            let (connector, is_asked) = tls::of_client(pair, request).map_err(ProbeError::Unreachable)?;
            (Some(connector), Some(is_asked))
        }
        (Some(_), None) => return Err(ProbeError::Unreachable("the client has no certificate".to_owned())),
    };
    let known = if request.http2 { &prober.tls.http2 } else { &prober.tls.http1 };
    let connector = connector.as_ref().unwrap_or(known);
    let resuming = request.session.as_ref().map(|session| prober.sessions.of(session, connector));
    let stream = resuming.as_ref().unwrap_or(connector).connect(name.clone(), stream).await;
    let failed = |error: std::io::Error| {
        attempt::of_connection(&error).unwrap_or_else(|| ProbeError::Handshake(error.to_string()))
    };
    let stream = stream.map_err(failed)?;
    // Who goes on with a session need not be asked again, and shows what the first of its attempts had.
    let is_first = request.session.is_none();
    exchange.unasked = is_first && is_asked.is_some_and(|is_asked| !is_asked.load(Ordering::Relaxed));
    tls::note(stream.get_ref().1, exchange);
    let certificate = tls::presented(stream.get_ref().1, &name, client);
    exchange.certificate.clone_from(&certificate);
    let agreed = tls::agreed(stream.get_ref().1);
    exchange.alpn = Some(agreed.clone());
    let http2 = tls::is_http2(request, &agreed).map_err(ProbeError::Handshake)?;
    open(Tap::content(stream, seen.clone()), to(certificate, Some(agreed), http2), request, title_case).await
}

/// Who is at the other end of a connection, and what comes from there.
struct To {
    peer: Option<SocketAddr>,
    certificate: Option<PeerCertificate>,
    alpn: Option<String>,
    http2: bool,
    /// What goes out over HTTP/1.1 in place of the request.
    own: Option<Bytes>,
    seen: Seen,
}

/// The request as it goes out: target and header order as given, the Host header first.
fn wire(request: &HttpRequest, id: &str) -> Result<Request<Content>, String> {
    let cannot = |what: &str, error: &dyn std::error::Error| format!("the {what} cannot be sent: {error}");
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|e| cannot("method", &e))?;
    let named = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(HOST.as_str()));
    let has_authority = request.http2 && !request.host_header;
    let target: Uri = if has_authority || request.absolute {
        let scheme = if request.tls_server_name.is_some() { "https" } else { "http" };
        let authority = named.map_or(request.authority.as_str(), |(_, host)| host.as_str());
        let target = Uri::builder().scheme(scheme).authority(authority);
        target.path_and_query(request.target.as_str()).build().map_err(|e| cannot("request target", &e))?
    } else {
        request.target.parse().map_err(|e| cannot("request target", &e))?
    };
    let mut wire = Request::builder().method(method).uri(target);
    if request.host_header {
        // Of one that was made of another over HTTP/1.1 a client of HTTP/2 takes that it has no authority.
        wire = wire.version(Version::HTTP_11);
    }
    let given = |name: &HeaderName| request.headers.iter().any(|(own, _)| name.as_str().eq_ignore_ascii_case(own));
    let headers = wire.headers_mut().ok_or("the request cannot be built")?;
    // Over HTTP/2 the target has the authority in it, and a Host header would be a second one.
    if named.is_none() && !has_authority {
        headers.insert(HOST, HeaderValue::from_str(&request.authority).map_err(|e| cannot("Host header", &e))?);
    }
    // Nor is anything said there of how a body is sent (RFC 9113, section 8.2.2).
    let is_own = |name: &str| [HOST, TRANSFER_ENCODING].iter().any(|own| name.eq_ignore_ascii_case(own.as_str()));
    let is_sent = |name: &str| !request.http2 || !is_own(name);
    for (name, value) in request.headers.iter().filter(|(name, _)| is_sent(name)) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| cannot("header name", &e))?;
        headers.append(name, HeaderValue::from_str(value).map_err(|e| cannot("header value", &e))?);
    }
    let trailers = trailers(request)?;
    if let Some(trailers) = &trailers {
        let names = trailers.keys().map(HeaderName::as_str).collect::<Vec<_>>().join(", ");
        headers.insert(TRAILER, HeaderValue::from_str(&names).map_err(|e| cannot("names of the trailers", &e))?);
    }
    let id = HeaderValue::from_str(id).map_err(|e| cannot("request id", &e))?;
    headers.insert(HeaderName::from_bytes(REQUEST_HEADER.as_bytes()).map_err(|e| cannot("header name", &e))?, id);
    if request.messages.is_some() {
        websocket::ask(headers);
    } else if !given(&CONNECTION) && request.connection.is_none() && !request.http2 {
        // A fresh connection each time, so nothing is gained by keeping this one.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if !waits(request) {
        return wire.body(content(request, trailers)).map_err(|e| cannot("request", &e));
    }
    // A body whose length is untold, as the header has it, may wait as well.
    if !given(&TRANSFER_ENCODING) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(request.body.len()));
    }
    let told = Arc::new(Notify::new());
    let tells = Arc::clone(&told);
    let mut wire = wire.body(withheld(request, told, trailers)).map_err(|e| cannot("request", &e))?;
    hyper::ext::on_informational(&mut wire, move |answer| {
        if answer.status() == StatusCode::CONTINUE {
            tells.notify_one();
        }
    });
    Ok(wire)
}

/// Whether the body goes out once the server says that it may, and not before (RFC 9110, section 10.1.1).
fn waits(request: &HttpRequest) -> bool {
    let is_said = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case(EXPECT.as_str()) && value.eq_ignore_ascii_case("100-continue")
    };
    !request.http2 && !request.body.is_empty() && request.headers.iter().any(is_said)
}

/// What follows the body.
fn trailers(request: &HttpRequest) -> Result<Option<HeaderMap>, String> {
    let mut trailers = HeaderMap::new();
    for (name, value) in &request.trailers {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|e| format!("the trailer `{name}` cannot be sent: {e}"))?;
        let value = HeaderValue::from_str(value).map_err(|e| format!("the trailer `{name}` cannot be sent: {e}"))?;
        trailers.append(name, value);
    }
    Ok((!trailers.is_empty()).then_some(trailers))
}

/// The body, once that is told.
fn withheld(request: &HttpRequest, told: Arc<Notify>, trailers: Option<HeaderMap>) -> Content {
    let whole = Bytes::from(request.body.clone());
    let piece = stream::once(async move {
        told.notified().await;
        Ok(Frame::data(whole))
    });
    let end = stream::iter(trailers.map(Frame::trailers).map(Ok));
    Either::Right(StreamBody::new(piece.chain(end).boxed()))
}

/// The body as it goes out: in one piece, and so with its length, unless it is that of a call with several messages, or over
/// HTTP/2 has none that is told, or trailers follow it. Over HTTP/1.1 the header says that.
fn content(request: &HttpRequest, trailers: Option<HeaderMap>) -> Content {
    let is_untold = |(name, _): &(String, String)| name.eq_ignore_ascii_case(TRANSFER_ENCODING.as_str());
    let whole = match request.sends.as_slice() {
        _ if !is_call(request) && (trailers.is_some() || request.http2 && request.headers.iter().any(is_untold)) => {
            let piece = Frame::data(Bytes::from(request.body.clone()));
            let pieces: Vec<_> = std::iter::once(piece).chain(trailers.map(Frame::trailers)).map(Ok).collect();
            return Either::Right(StreamBody::new(stream::iter(pieces).boxed()));
        }
        _ if !is_call(request) => Bytes::from(request.body.clone()),
        [] => frame(b""),
        [only] => frame(&text_message(only)),
        several => {
            let pieces: Vec<_> = several.iter().map(|text| Ok(Frame::data(frame(&text_message(text))))).collect();
            return Either::Right(StreamBody::new(stream::iter(pieces).boxed()));
        }
    };
    Either::Left(Full::new(whole))
}

fn is_call(request: &HttpRequest) -> bool {
    request.headers.iter().any(|(name, value)| is_of_call(name) && value.starts_with("application/grpc"))
}

/// Whether a header says that a request is a call, and not more.
fn is_of_call(name: &str) -> bool {
    [CONTENT_TYPE, TE].iter().any(|own| name.eq_ignore_ascii_case(own.as_str()))
}

/// The requests that are under way beside this one. They have none of its own headers, and another id: what a backend notes
/// of them is no copy of it.
fn others(request: &HttpRequest, id: &str) -> Result<Vec<Request<Content>>, String> {
    let mut other = HttpRequest { body: String::new(), trailers: Vec::new(), sends: Vec::new(), ..request.clone() };
    other.headers.retain(|(name, _)| is_call(request) && is_of_call(name));
    if !is_call(request) {
        other.method = Method::GET.to_string();
    }
    let other = |(index, target): (usize, &String)| {
        wire(&HttpRequest { target: target.clone(), ..other.clone() }, &format!("{id}-{index}"))
    };
    request.among.iter().enumerate().map(other).collect()
}

async fn open<S>(stream: S, to: To, request: &HttpRequest, title_case: bool) -> Result<Open, ProbeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let To { peer, certificate, alpn, http2, own, seen } = to;
    if http2 {
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        builder.max_header_list_size(LONGEST_HEADERS);
        builder.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let task = tokio::spawn(async move { connection.await.map(|()| 0) });
        let task = Arc::new(AbortOnDropHandle::new(task));
        return Ok(Open { sender: Sender::Http2(sender), peer, certificate, alpn, seen, task });
    }
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.title_case_headers(title_case);
    let (sender, connection) = builder.handshake(TokioIo::new(Spelled::new(stream, own))).await.map_err(broken)?;
    let sender = Sender::Http1(sender);
    let is_websocket = request.messages.is_some();
    let task = tokio::spawn(async move {
        if is_websocket {
            return connection.with_upgrades().await.map(|()| 0);
        }
        connection.without_shutdown().await.map(|parts| parts.read_buf.len())
    });
    Ok(Open { sender, peer, certificate, alpn, seen, task: Arc::new(AbortOnDropHandle::new(task)) })
}

async fn read(response: http::Response<Incoming>) -> Result<HttpAnswer, ProbeError> {
    let of = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_grpc = of.starts_with(b"application/grpc");
    let head = head(&response);
    let mut trailers = Vec::new();
    let (mut body, mut length) = (Vec::new(), 0);
    let mut incoming = response.into_body();
    while let Some(frame) = incoming.frame().await {
        match frame.map_err(broken)?.into_data() {
            Ok(data) => {
                length += data.len();
                let room = READ_BODY.saturating_sub(body.len()).min(data.len());
                body.extend_from_slice(&data[..room]);
            }
            Err(frame) => trailers.extend(frame.trailers_ref().map(fields).unwrap_or_default()),
        }
    }
    let (messages, echo) = if is_grpc {
        let content = grpc::read(&body);
        if length == body.len() && content.rest > 0 {
            return Err(ProbeError::Malformed(format!("the last message breaks off after {} bytes", content.rest)));
        }
        (Some(content.messages), content.echo)
    } else {
        (None, EchoText::read(&body))
    };
    body.truncate(if echo.is_some() || is_grpc { 0 } else { LOGGED_BODY });
    Ok(HttpAnswer { trailers, messages, body: String::from_utf8_lossy(&body).into_owned(), echo, ..head })
}

/// An answer without its body.
fn head(response: &http::Response<Incoming>) -> HttpAnswer {
    HttpAnswer {
        status: response.status().as_u16(),
        headers: fields(response.headers()),
        trailers: Vec::new(),
        messages: None,
        body: String::new(),
        echo: None,
    }
}

fn fields(fields: &HeaderMap) -> Vec<(String, String)> {
    fields
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
