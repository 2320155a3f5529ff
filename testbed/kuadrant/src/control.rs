//! The scripted service `components`: stops and starts what stands beside the policies.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::components::{Components, Rule};

/// How many bytes a script may have.
const LIMIT: usize = 64 * 1024;

/// Where the service listens, and the token that it asks for.
#[derive(Clone)]
pub struct Access {
    /// Address and port, on loopback.
    pub address: SocketAddr,
    /// The bearer token.
    pub token: String,
}

impl Access {
    /// The URL to put scripts below.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    rules: Vec<Rule>,
}

/// Serves scripts until `stop`, and tells `components` of each change.
pub(crate) async fn serve(components: watch::Sender<Components>, stop: CancellationToken) -> std::io::Result<Access> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let access = Access { address: listener.local_addr()?, token: uuid::Uuid::new_v4().simple().to_string() };
    let token = access.token.clone();
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else { continue };
            let (components, token, stop) = (components.clone(), token.clone(), stop.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let (components, token) = (components.clone(), token.clone());
                    async move { Ok::<_, Infallible>(answer(request, &components, &token).await) }
                });
                let serving =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::select! {
                    () = stop.cancelled() => {}
                    ended = serving => if let Err(error) = ended {
                        tracing::debug!(%error, "a connection to the components ended abnormally");
                    },
                }
            });
        }
    });
    Ok(access)
}

async fn answer(
    request: Request<Incoming>,
    components: &watch::Sender<Components>,
    token: &str,
) -> Response<Full<Bytes>> {
    let (status, text) = match handle(request, components, token).await {
        Ok(()) => (StatusCode::NO_CONTENT, String::new()),
        Err((status, text)) => (status, text),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

async fn handle(
    request: Request<Incoming>,
    components: &watch::Sender<Components>,
    token: &str,
) -> Result<(), (StatusCode, String)> {
    let given = request.headers().get(http::header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
    if given != Some(format!("Bearer {token}").as_bytes()) {
        return Err((StatusCode::UNAUTHORIZED, "a bearer token is needed".to_owned()));
    }
    let path = request.uri().path();
    let key = path.strip_prefix("/control/scripts/").filter(|key| !key.is_empty() && !key.contains('/'));
    let key = key.ok_or_else(|| (StatusCode::NOT_FOUND, format!("{path} is not /control/scripts/KEY")))?.to_owned();
    let rules = match request.method().clone() {
        Method::PUT => {
            let body = Limited::new(request.into_body(), LIMIT).collect().await;
            let body =
                body.map_err(|error| (StatusCode::BAD_REQUEST, format!("the script cannot be read: {error}")))?;
            let script: Result<Script, _> = serde_json::from_slice(&body.to_bytes());
            let wrong = |error: serde_json::Error| {
                (
                    StatusCode::BAD_REQUEST,
                    format!(
                        "no script: {error}; rules are {{\"stop\": COMPONENT}}, {{\"unhealthy\": \"dns\"}} and {{\"remove\": OBJECT}}"
                    ),
                )
            };
            let rules = script.map_err(wrong)?.rules;
            if let Some(message) = rules.iter().find_map(Rule::misplaced) {
                return Err((StatusCode::BAD_REQUEST, message.to_owned()));
            }
            rules
        }
        Method::DELETE => Vec::new(),
        other => return Err((StatusCode::METHOD_NOT_ALLOWED, format!("{other}: only PUT and DELETE are known"))),
    };
    components.send_modify(|components| {
        if rules.is_empty() {
            components.0.remove(&key);
        } else {
            components.0.insert(key, rules);
        }
    });
    Ok(())
}
