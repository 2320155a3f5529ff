//! One HTTP/1.1 request, over a connection of its own or one that is kept. Redirects are answers like any other.

use std::net::SocketAddr;

use http::header::{CONNECTION, HOST, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::kept::Open;
use super::{Prober, REQUEST_HEADER, attempt, tls, websocket};
use crate::log::{EchoText, Exchange, HttpAnswer, HttpRequest, PeerCertificate, ProbeError};
use crate::target::clock;
use crate::target::dial::Connection;

/// How much of a body is logged.
const LOGGED_BODY: usize = 4 * 1024;
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
            Some(name) => prober.kept.take(name).await,
            None => None,
        };
        exchange.reused = open.is_some();
        if open.is_none() {
            open = Some(connect(prober, request, &mut exchange, end).await?);
        }
        let mut open = open.ok_or_else(|| ProbeError::Unreachable("no connection".to_owned()))?;
        exchange.connected_to = open.peer;
        exchange.certificate.clone_from(&open.certificate);
        let response = open.sender.send_request(wire).await.map_err(broken)?;
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
    let Some(name) = &request.tls_server_name else { return open(stream, peer, None, title_case).await };
    let name = ServerName::try_from(name.clone())
        .map_err(|error| ProbeError::Unreachable(format!("`{name}` is no server name: {error}")))?;
    let stream = prober.tls.connect(name, stream).await;
    let failed = |error: std::io::Error| {
        attempt::of_connection(&error).unwrap_or_else(|| ProbeError::Handshake(error.to_string()))
    };
    let stream = stream.map_err(failed)?;
    let leaf = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let certificate = leaf.map(tls::describe);
    exchange.certificate.clone_from(&certificate);
    open(stream, peer, certificate, title_case).await
}

/// The request as it goes out: target and header order as given, the Host header first.
fn wire(request: &HttpRequest, id: &str) -> Result<Request<Full<Bytes>>, String> {
    let cannot = |what: &str, error: &dyn std::error::Error| format!("the {what} cannot be sent: {error}");
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|e| cannot("method", &e))?;
    let target: Uri = request.target.parse().map_err(|e| cannot("request target", &e))?;
    let mut wire = Request::builder().method(method).uri(target);
    let given = |name: &HeaderName| request.headers.iter().any(|(own, _)| name.as_str().eq_ignore_ascii_case(own));
    let headers = wire.headers_mut().ok_or("the request cannot be built")?;
    if !given(&HOST) {
        headers.insert(HOST, HeaderValue::from_str(&request.authority).map_err(|e| cannot("Host header", &e))?);
    }
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| cannot("header name", &e))?;
        headers.append(name, HeaderValue::from_str(value).map_err(|e| cannot("header value", &e))?);
    }
    let id = HeaderValue::from_str(id).map_err(|e| cannot("request id", &e))?;
    headers.insert(HeaderName::from_bytes(REQUEST_HEADER.as_bytes()).map_err(|e| cannot("header name", &e))?, id);
    if request.messages.is_some() {
        websocket::ask(headers);
    } else if !given(&CONNECTION) && request.connection.is_none() {
        // A fresh connection each time, so nothing is gained by keeping this one.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    wire.body(Full::new(Bytes::from(request.body.clone()))).map_err(|e| cannot("request", &e))
}

async fn open<S>(
    stream: S,
    peer: Option<SocketAddr>,
    certificate: Option<PeerCertificate>,
    title_case: bool,
) -> Result<Open, ProbeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.title_case_headers(title_case);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    Ok(Open { sender, peer, certificate, task: AbortOnDropHandle::new(tokio::spawn(connection.with_upgrades())) })
}

fn broken(error: hyper::Error) -> ProbeError {
    attempt::of_connection(&error).unwrap_or_else(|| ProbeError::Broken(crate::target::api::chain(&error)))
}

async fn read(response: http::Response<Incoming>) -> Result<HttpAnswer, hyper::Error> {
    let head = head(&response);
    let mut body = Vec::new();
    let mut incoming = response.into_body();
    while let Some(frame) = incoming.frame().await {
        if let Ok(data) = frame?.into_data() {
            let room = READ_BODY.saturating_sub(body.len()).min(data.len());
            body.extend_from_slice(&data[..room]);
        }
    }
    let echo = EchoText::read(&body);
    body.truncate(if echo.is_some() { 0 } else { LOGGED_BODY });
    Ok(HttpAnswer { body: String::from_utf8_lossy(&body).into_owned(), echo, ..head })
}

/// An answer without its body.
fn head(response: &http::Response<Incoming>) -> HttpAnswer {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    HttpAnswer {
        status: response.status().as_u16(),
        headers: response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
        body: String::new(),
        echo: None,
    }
}
