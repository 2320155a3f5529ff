//! One HTTP request, over a connection of its own or one that is kept. Redirects are answers like any other.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::kept::{Open, Sender};
use super::{Prober, REQUEST_HEADER, attempt, grpc, tls, websocket};
use crate::log::{EchoText, Exchange, HttpAnswer, HttpRequest, PeerCertificate, ProbeError};
use crate::target::clock;
use crate::target::dial::Connection;

/// How much of a body is logged.
const LOGGED_BODY: usize = 4 * 1024;
/// How long the headers of an answer over HTTP/2 may be, in bytes; HTTP/1.1 has bounds of its own.
const LONGEST_HEADERS: u32 = 256 * 1024;
/// How much of a body is read to find the echo's JSON in it.
const READ_BODY: usize = 256 * 1024;

pub(super) async fn attempt(prober: &Prober, mut exchange: Exchange, request: &HttpRequest) -> Exchange {
    let end = clock::now() + prober.budget;
    let wire = match wire(request, &exchange.id) {
        Ok(wire) => wire,
        Err(error) => {
            exchange.error = Some(ProbeError::Unreachable(error));
            return exchange;
        }
    };
    let answered = async {
        let mut open = match &request.connection {
            Some(name) => {
                let turn = prober.kept.turn(name);
                let _turn = turn.lock().await;
                let kept = prober.kept.take(name).await;
                exchange.reused = kept.is_some();
                match kept {
                    Some(open) => open,
                    None => {
                        let open = connect(prober, request, &mut exchange, end).await?;
                        if let Some(shared) = open.shared() {
                            prober.kept.keep(name, shared);
                        }
                        open
                    }
                }
            }
            None => connect(prober, request, &mut exchange, end).await?,
        };
        exchange.connected_to = open.peer;
        exchange.certificate.clone_from(&open.certificate);
        let response = match open.sender.send(wire).await {
            Ok(response) => response,
            Err(error) => return Err(open.failure(error).await),
        };
        if let Some(messages) = &request.messages
            && response.status() == StatusCode::SWITCHING_PROTOCOLS
        {
            let answer = head(&response);
            exchange.replies = websocket::converse(response, messages, end).await;
            return Ok(answer);
        }
        let answer = read(response).await.map_err(broken)?;
        if let Some(name) = &request.connection {
            prober.kept.keep(name, open);
        }
        Ok(answer)
    };
    match tokio::time::timeout_at(end, answered).await {
        Ok(Ok(answer)) => exchange.http = Some(answer),
        Ok(Err(error)) => exchange.error = Some(error),
        Err(_) => exchange.error = Some(ProbeError::TimedOut),
    }
    exchange
}

/// A fresh connection, with TLS if the request is over it. Who is at its other end is noted even if nothing comes of it.
async fn connect(
    prober: &Prober,
    request: &HttpRequest,
    exchange: &mut Exchange,
    end: Instant,
) -> Result<Open, ProbeError> {
    let Connection { stream, peer } = attempt::connect(prober, &request.host, request.port, end).await?;
    exchange.connected_to = peer;
    let title_case = request.headers.iter().any(|(name, _)| name.chars().any(|c| c.is_ascii_uppercase()));
    let Some(name) = &request.tls_server_name else {
        return open(stream, peer, None, request.http2, title_case).await;
    };
    let name = ServerName::try_from(name.clone())
        .map_err(|error| ProbeError::Unreachable(format!("`{name}` is no server name: {error}")))?;
    let connector = if request.http2 { &prober.tls.http2 } else { &prober.tls.http1 };
    let stream = connector.connect(name, stream).await;
    let failed = |error: std::io::Error| {
        attempt::of_connection(&error).unwrap_or_else(|| ProbeError::Handshake(error.to_string()))
    };
    let stream = stream.map_err(failed)?;
    let leaf = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let certificate = leaf.map(tls::describe);
    exchange.certificate.clone_from(&certificate);
    if request.http2 && stream.get_ref().1.alpn_protocol() != Some(tls::HTTP2) {
        return Err(ProbeError::Handshake("the server did not agree to HTTP/2".to_owned()));
    }
    open(stream, peer, certificate, request.http2, title_case).await
}

/// The request as it goes out: target and header order as given, the Host header first.
fn wire(request: &HttpRequest, id: &str) -> Result<Request<Full<Bytes>>, String> {
    let cannot = |what: &str, error: &dyn std::error::Error| format!("the {what} cannot be sent: {error}");
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|e| cannot("method", &e))?;
    let named = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(HOST.as_str()));
    let target: Uri = if request.http2 {
        let scheme = if request.tls_server_name.is_some() { "https" } else { "http" };
        let authority = named.map_or(request.authority.as_str(), |(_, host)| host.as_str());
        let target = Uri::builder().scheme(scheme).authority(authority);
        target.path_and_query(request.target.as_str()).build().map_err(|e| cannot("request target", &e))?
    } else {
        request.target.parse().map_err(|e| cannot("request target", &e))?
    };
    let mut wire = Request::builder().method(method).uri(target);
    let given = |name: &HeaderName| request.headers.iter().any(|(own, _)| name.as_str().eq_ignore_ascii_case(own));
    let headers = wire.headers_mut().ok_or("the request cannot be built")?;
    // Over HTTP/2 the target has the authority in it, and a Host header would be a second one.
    if named.is_none() && !request.http2 {
        headers.insert(HOST, HeaderValue::from_str(&request.authority).map_err(|e| cannot("Host header", &e))?);
    }
    let is_sent = |name: &str| !request.http2 || !name.eq_ignore_ascii_case(HOST.as_str());
    for (name, value) in request.headers.iter().filter(|(name, _)| is_sent(name)) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| cannot("header name", &e))?;
        headers.append(name, HeaderValue::from_str(value).map_err(|e| cannot("header value", &e))?);
    }
    let id = HeaderValue::from_str(id).map_err(|e| cannot("request id", &e))?;
    headers.insert(HeaderName::from_bytes(REQUEST_HEADER.as_bytes()).map_err(|e| cannot("header name", &e))?, id);
    if request.messages.is_some() {
        websocket::ask(headers);
    } else if !given(&CONNECTION) && request.connection.is_none() && !request.http2 {
        // A fresh connection each time, so nothing is gained by keeping this one.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    wire.body(Full::new(Bytes::from(request.body.clone()))).map_err(|e| cannot("request", &e))
}

async fn open<S>(
    stream: S,
    peer: Option<SocketAddr>,
    certificate: Option<PeerCertificate>,
    http2: bool,
    title_case: bool,
) -> Result<Open, ProbeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if http2 {
        let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        builder.max_header_list_size(LONGEST_HEADERS);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let task = Arc::new(AbortOnDropHandle::new(tokio::spawn(connection)));
        return Ok(Open { sender: Sender::Http2(sender), peer, certificate, task });
    }
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.title_case_headers(title_case);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let sender = Sender::Http1(sender);
    let task = tokio::spawn(connection.with_upgrades());
    Ok(Open { sender, peer, certificate, task: Arc::new(AbortOnDropHandle::new(task)) })
}

pub(super) fn broken(error: hyper::Error) -> ProbeError {
    attempt::of_connection(&error).unwrap_or_else(|| ProbeError::Broken(crate::target::api::chain(&error)))
}

async fn read(response: http::Response<Incoming>) -> Result<HttpAnswer, hyper::Error> {
    let of = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_grpc = of.starts_with(b"application/grpc");
    let head = head(&response);
    let mut trailers = Vec::new();
    let mut body = Vec::new();
    let mut incoming = response.into_body();
    while let Some(frame) = incoming.frame().await {
        match frame?.into_data() {
            Ok(data) => {
                let room = READ_BODY.saturating_sub(body.len()).min(data.len());
                body.extend_from_slice(&data[..room]);
            }
            Err(frame) => trailers.extend(frame.trailers_ref().map(fields).unwrap_or_default()),
        }
    }
    let (messages, echo) = if is_grpc {
        let (messages, echo) = grpc::read(&body);
        (Some(messages), echo)
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
