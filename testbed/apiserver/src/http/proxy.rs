//! The way of a request through the server to a Pod's HTTP server, and of its answer back.

use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::app::App;
use super::body::Body;
use super::pod::{address, pod};
use super::route::{ObjectPath, Route};
use crate::auth::User;
use crate::error::ApiError;

/// How long a Pod may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest body that is passed on, in bytes, either way.
const LARGEST_BODY: usize = 16 * 1024 * 1024;
/// The port where none is named and the Pod declares none.
const DEFAULT_PORT: u16 = 80;
/// Headers that are about one connection, and not about what it carries (RFC 9110, section 7.6.1).
const OF_CONNECTIONS: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

/// `/api/v1/namespaces/NAMESPACE/pods/[http:]NAME[:PORT]/proxy/PATH`, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pod: ObjectPath,
    port: Option<u16>,
    path: String,
}

impl Place {
    /// Takes a path apart, if it is one of this form.
    pub fn parse(path: &str) -> Option<Self> {
        let (before, rest) = path.split_once("/proxy").filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'))?;
        let Route::Object(pod) = Route::parse(before) else { return None };
        if !pod.group.is_empty() || pod.plural != "pods" || pod.namespace.is_empty() || !pod.subresource.is_empty() {
            return None;
        }
        let name = pod.name.strip_prefix("http:").unwrap_or(&pod.name).to_owned();
        let (name, port) = match name.split_once(':') {
            Some((name, "")) => (name.to_owned(), None),
            Some((name, port)) => (name.to_owned(), Some(port.parse().ok()?)),
            None => (name, None),
        };
        let path = if rest.is_empty() { "/" } else { rest }.to_owned();
        Some(Self { pod: ObjectPath { name, subresource: "proxy".to_owned(), ..pod }, port, path })
    }
}

/// Passes a request on, and the answer back.
///
/// # Errors
/// 403 unless the user may, 404 where there is no such Pod, 503 if it does not answer.
pub async fn pass<B>(app: &App, user: &User, parts: &Parts, place: &Place, body: B) -> Result<Response<Body>, ApiError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let pod = pod(app, user, parts, place.pod.verb(&parts.method, false), &place.pod)?;
    let host = address(&pod)?;
    let declared = pod.pointer("/spec/containers/0/ports/0/containerPort").and_then(serde_json::Value::as_u64);
    let port = place.port.or(declared.and_then(|port| u16::try_from(port).ok())).unwrap_or(DEFAULT_PORT);
    let broken = |error| ApiError::bad_request(format!("the body of the request broke off: {error}"));
    let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(broken)?.to_bytes();
    let target = match parts.uri.query() {
        Some(query) => format!("{}?{query}", place.path),
        None => place.path.clone(),
    };
    let asked = fetch((host, port), parts, &target, body);
    let unanswered =
        |why: String| ApiError::unavailable(format!("error trying to reach the pod at {host}:{port}: {why}"));
    let answer = tokio::time::timeout(PATIENCE, asked).await;
    let answer = answer.map_err(|_| unanswered(format!("nothing came within {} s", PATIENCE.as_secs())))?;
    answer.map_err(|error| unanswered(error.to_string()))
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn fetch(
    place: (std::net::IpAddr, u16),
    parts: &Parts,
    target: &str,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    let stream = TcpStream::connect(place).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let mut request = Request::builder().method(&parts.method).uri(target).body(Full::new(body))?;
    // Who asks is known to this server, and is nobody else's to use.
    passed_on(&parts.headers, &[header::HOST, header::AUTHORIZATION, header::CONTENT_LENGTH], request.headers_mut());
    let host = std::net::SocketAddr::from(place).to_string();
    request.headers_mut().insert(header::HOST, host.parse()?);
    let (head, body) = sender.send_request(request).await?.into_parts();
    let text = Limited::new(body, LARGEST_BODY).collect().await?.to_bytes();
    connection.abort();
    let mut answer = Response::new(Body::full(text));
    *answer.status_mut() = StatusCode::from_u16(head.status.as_u16())?;
    passed_on(&head.headers, &[header::CONTENT_LENGTH], answer.headers_mut());
    Ok(answer)
}

/// Copies headers, without those that are about the connection and `others`.
fn passed_on(from: &HeaderMap, others: &[HeaderName], to: &mut HeaderMap) {
    for (name, value) in from.iter().filter(|(name, _)| !OF_CONNECTIONS.contains(name) && !others.contains(name)) {
        to.append(name, value.clone());
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/namespaces/n/pods/p/proxy", Some(("p", None, "/")))]
    #[case("/api/v1/namespaces/n/pods/p:8080/proxy/a/b", Some(("p", Some(8080), "/a/b")))]
    #[case("/api/v1/namespaces/n/pods/http:p:80/proxy/proxy", Some(("p", Some(80), "/proxy")))]
    #[case("/api/v1/namespaces/n/pods/http:p:/proxy/", Some(("p", None, "/")))]
    #[case("/api/v1/namespaces/n/pods/p:web/proxy/", None)]
    #[case("/api/v1/namespaces/n/services/p/proxy/", None)]
    #[case("/api/v1/namespaces/n/pods/p/proxying", None)]
    #[case("/api/v1/namespaces/n/pods/p/log/proxy", None)]
    fn places(#[case] path: &str, #[case] expected: Option<(&str, Option<u16>, &str)>) {
        let found = Place::parse(path);
        let found = found.as_ref().map(|place| (place.pod.name.as_str(), place.port, place.path.as_str()));
        assert_eq!(found, expected);
    }
}
