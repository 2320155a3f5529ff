//! The scripted services of the target, whatever the rules of their scripts are.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
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

/// What takes scripts.
pub(crate) trait Scripted: Send + Sync + 'static {
    /// A rule of a script.
    type Rule: DeserializeOwned + Send;

    /// Which rules there are.
    const HELP: &'static str;

    /// What is wrong with a rule beside how it is written, if anything is.
    fn misplaced(rule: &Self::Rule) -> Option<&'static str>;

    /// Does what the rules of a script say, in place of those that it had before. None takes it away.
    fn tell(&self, key: String, rules: Vec<Self::Rule>) -> impl Future<Output = Result<(), String>> + Send;
}

/// What stands beside the policies is told by whoever watches it.
impl Scripted for watch::Sender<Components> {
    type Rule = Rule;

    const HELP: &'static str = "rules are {\"stop\": COMPONENT}, {\"unhealthy\": \"dns\"} and {\"remove\": OBJECT}";

    fn misplaced(rule: &Rule) -> Option<&'static str> {
        rule.misplaced()
    }

    async fn tell(&self, key: String, rules: Vec<Rule>) -> Result<(), String> {
        self.send_modify(|components| {
            if rules.is_empty() {
                components.0.remove(&key);
            } else {
                components.0.insert(key, rules);
            }
        });
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script<R> {
    rules: Vec<R>,
}

/// Serves scripts until `stop`, and tells of each change.
pub(crate) async fn serve<S: Scripted>(told: Arc<S>, stop: CancellationToken) -> std::io::Result<Access> {
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
            let (told, token, stop) = (Arc::clone(&told), token.clone(), stop.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let (told, token) = (Arc::clone(&told), token.clone());
                    async move { Ok::<_, Infallible>(answer(request, &*told, &token).await) }
                });
                let serving =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::select! {
                    () = stop.cancelled() => {}
                    ended = serving => if let Err(error) = ended {
                        tracing::debug!(%error, "a connection to a scripted service ended abnormally");
                    },
                }
            });
        }
    });
    Ok(access)
}

async fn answer<S: Scripted>(request: Request<Incoming>, told: &S, token: &str) -> Response<Full<Bytes>> {
    let (status, text) = match handle(request, told, token).await {
        Ok(()) => (StatusCode::NO_CONTENT, String::new()),
        Err((status, text)) => (status, text),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

async fn handle<S: Scripted>(request: Request<Incoming>, told: &S, token: &str) -> Result<(), (StatusCode, String)> {
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
            let script: Result<Script<S::Rule>, _> = serde_json::from_slice(&body.to_bytes());
            let wrong =
                |error: serde_json::Error| (StatusCode::BAD_REQUEST, format!("no script: {error}; {}", S::HELP));
            let rules = script.map_err(wrong)?.rules;
            if let Some(message) = rules.iter().find_map(S::misplaced) {
                return Err((StatusCode::BAD_REQUEST, message.to_owned()));
            }
            rules
        }
        Method::DELETE => Vec::new(),
        other => return Err((StatusCode::METHOD_NOT_ALLOWED, format!("{other}: only PUT and DELETE are known"))),
    };
    told.tell(key, rules).await.map_err(|message| (StatusCode::INTERNAL_SERVER_ERROR, message))
}
