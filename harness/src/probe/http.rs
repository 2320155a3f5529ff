//! One HTTP/1.1 request over a connection of its own. Redirects are answers like any other.

use http::header::{CONNECTION, HOST, HeaderName, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Prober, REQUEST_HEADER, attempt};
use crate::log::{Exchange, HttpAnswer, HttpRequest, ProbeError};
use crate::target::clock;

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
    let stream = match attempt::connect(prober, &request.host, request.port, end).await {
        Ok((stream, peer)) => {
            exchange.connected_to = peer;
            stream
        }
        Err(error) => {
            exchange.error = Some(error);
            return exchange;
        }
    };
    let title_case = request.headers.iter().any(|(name, _)| name.chars().any(|c| c.is_ascii_uppercase()));
    let asking = async {
        match &request.tls_server_name {
            None => ask(stream, wire, title_case).await,
            Some(name) => {
                let name = ServerName::try_from(name.clone())
                    .map_err(|error| ProbeError::Unreachable(format!("`{name}` is no server name: {error}")))?;
                let stream = prober.tls.connect(name, stream).await;
                let stream = stream.map_err(|error| ProbeError::Handshake(error.to_string()))?;
                ask(stream, wire, title_case).await
            }
        }
    };
    match tokio::time::timeout_at(end, asking).await {
        Ok(Ok(answer)) => exchange.http = Some(answer),
        Ok(Err(error)) => exchange.error = Some(error),
        Err(_) => exchange.error = Some(ProbeError::TimedOut),
    }
    exchange
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
    if !given(&CONNECTION) {
        // A fresh connection each time, so nothing is gained by keeping this one.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    wire.body(Full::new(Bytes::from(request.body.clone()))).map_err(|e| cannot("request", &e))
}

async fn ask<S>(stream: S, request: Request<Full<Bytes>>, title_case: bool) -> Result<HttpAnswer, ProbeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = |error: hyper::Error| ProbeError::Broken(crate::target::api::chain(&error));
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.title_case_headers(title_case);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let connection = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(connection));
    let response = sender.send_request(request).await.map_err(broken)?;
    let answer = read(response).await.map_err(broken);
    drop(connection);
    answer
}

async fn read(response: http::Response<Incoming>) -> Result<HttpAnswer, hyper::Error> {
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let mut body = Vec::new();
    let mut incoming = response.into_body();
    while let Some(frame) = incoming.frame().await {
        if let Ok(data) = frame?.into_data() {
            let room = READ_BODY.saturating_sub(body.len()).min(data.len());
            body.extend_from_slice(&data[..room]);
        }
    }
    let echo = serde_json::from_slice::<serde_json::Value>(&body).ok().filter(super::is_echo);
    body.truncate(LOGGED_BODY);
    Ok(HttpAnswer { status, headers, body: String::from_utf8_lossy(&body).into_owned(), echo })
}
