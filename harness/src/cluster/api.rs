//! Calls to the API server: one at a time as it is, and reads that outlast what passes by itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{Method, Request, Response, header, request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use kube::core::WatchEvent;
use serde_json::Value;

use super::clock::{self, Backoff};
use super::reach::Reach;

/// Objects of one page.
const PAGE: usize = 500;

/// What the API server answered.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP code.
    pub code: u16,
    /// The JSON body; `Null` when it was not JSON.
    pub body: Value,
    /// Seconds of the header `Retry-After`, if there was one.
    pub retry_after: Option<u64>,
}

/// Why a read has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No answer: connection, TLS or protocol.
    #[error("no answer from the API server: {0}")]
    Transport(String),
    /// An answer that is not success.
    #[error("the API server answered {code} {reason}: {message}")]
    Refused {
        /// HTTP code.
        code: u16,
        /// Reason of the `Status`.
        reason: String,
        /// Text of the `Status`.
        message: String,
    },
}

impl ApiError {
    /// Whether it was not the API server that answered, be it that nobody did or somebody in front of it.
    pub fn is_absence(&self) -> bool {
        match self {
            ApiError::Transport(_) => true,
            ApiError::Refused { code, .. } => is_absence(*code),
        }
    }

    /// Whether the server answered that it does not do this for us.
    pub fn is_refusal(&self) -> bool {
        matches!(self, ApiError::Refused { code: 401 | 403 | 404 | 405, .. })
    }

    /// Whether the object or resource is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, ApiError::Refused { code: 404, .. })
    }

    /// Whether the asked resource version is too old to go on from.
    pub fn is_expired(&self) -> bool {
        matches!(self, ApiError::Refused { code: 410, .. })
            || matches!(self, ApiError::Refused { reason, .. } if reason == "Expired" || reason == "Gone")
    }
}

impl Reply {
    /// Whether the same call may be answered otherwise the next time: the server has too much to do, or is in trouble.
    pub fn is_passing(&self) -> bool {
        self.code == 429 || self.code >= 500
    }

    /// How long the server asks to wait.
    pub fn pause(&self) -> Duration {
        Duration::from_secs(self.retry_after.unwrap_or_default())
    }
}

/// Whether a code is what somebody in front of the API server answers when that does not.
fn is_absence(code: u16) -> bool {
    matches!(code, 502..=504)
}

/// How long one call may take. A server that takes a request and never answers is one that cannot be reached.
const CALL_BUDGET: Duration = Duration::from_secs(30);
/// How long a read is tried again while the API server refuses it for reasons of its own.
const READ_BUDGET: Duration = Duration::from_secs(15);
/// The first pause between two tries of a read, and the longest.
const READ_PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Names us to the API server.
const USER_AGENT: &str = concat!("gateproof/", env!("CARGO_PKG_VERSION"));

/// The API server of the target.
#[derive(Clone)]
pub struct Api {
    client: Client,
    reach: Arc<Reach>,
}

impl Api {
    /// Over a connected client.
    pub fn new(client: Client) -> Api {
        Api { client, reach: Arc::default() }
    }

    /// Whether it can be reached.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Waits after a call without an answer until the API server is there again, and gives the time that this took; `None` if it
    /// is not to be waited for.
    pub async fn back(&self) -> Option<Duration> {
        let answers = || async {
            let reply = self.call(Method::GET, "/version", None, Vec::new()).await;
            reply.is_ok_and(|reply| !is_absence(reply.code))
        };
        self.reach.back(answers).await
    }

    /// The client, for what is more than one call.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Sends one request and reads the whole answer. Nothing is tried again.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Reply, ApiError> {
        let mut request = Request::builder().method(method).uri(path).header(header::ACCEPT, "application/json");
        if let Some(content_type) = content_type {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        Ok(reply(&self.send(request, body).await?))
    }

    /// Reads one object, list or discovery document. What passes by itself (too many requests, trouble of the server's own, an
    /// outage) is outlasted.
    pub async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.outlast(|| self.call(Method::GET, path, None, Vec::new())).await
    }

    /// Reads a collection page by page, so that not all of it has to be kept.
    pub async fn pages(&self, path: &str, mut take: impl FnMut(Vec<Value>)) -> Result<(), ApiError> {
        let mut more = String::new();
        loop {
            let mut page = self.get(&format!("{path}?limit={PAGE}{more}")).await?;
            if let Some(Value::Array(some)) = page.get_mut("items").map(Value::take) {
                take(some);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() => more = format!("&continue={}", encode(token)),
                _ => return Ok(()),
            }
        }
    }

    /// Reads JSON by way of the API server from somebody who wants to see a header. Outlasts what [`Api::get`] does.
    pub async fn through(&self, path: &str, header: &str, value: &str) -> Result<Value, ApiError> {
        self.outlast(|| async {
            let request = Request::get(path).header(header, value);
            Ok(reply(&self.send(request, Vec::new()).await?))
        })
        .await
    }

    /// Asks something by a document that is answered and not kept, such as an access review. Outlasts what [`Api::get`] does.
    pub async fn ask(&self, path: &str, question: &Value) -> Result<Value, ApiError> {
        let body = question.to_string().into_bytes();
        self.outlast(|| self.call(Method::POST, path, Some("application/json"), body.clone())).await
    }

    /// Reads a text, such as the log of a Pod. Nothing is tried again.
    pub async fn text(&self, path: &str) -> Result<String, ApiError> {
        let answer = self.send(Request::get(path), Vec::new()).await?;
        let code = answer.status().as_u16();
        if code < 300 {
            return Ok(String::from_utf8_lossy(answer.body()).into_owned());
        }
        let body = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
        Err(refusal(&Reply { code, body, retry_after: None }))
    }

    async fn send(&self, request: request::Builder, body: Vec<u8>) -> Result<Response<Bytes>, ApiError> {
        let transport = |error: &dyn std::error::Error| ApiError::Transport(chain(error));
        let request = request.header(header::USER_AGENT, USER_AGENT).body(Body::from(body));
        let request = request.map_err(|e| transport(&e))?;
        let answer = async {
            let (head, body) = self.client.send(request).await.map_err(|e| transport(&e))?.into_parts();
            Ok(Response::from_parts(head, body.collect().await.map_err(|e| transport(&e))?.to_bytes()))
        };
        let end = clock::now() + CALL_BUDGET;
        let late = |_| Err(ApiError::Transport(format!("none within {} s", CALL_BUDGET.as_secs())));
        tokio::time::timeout_at(end, answer).await.unwrap_or_else(late)
    }

    /// Makes a call that changes nothing, until it is answered or the reason why not does not pass.
    async fn outlast<Call>(&self, call: impl Fn() -> Call) -> Result<Value, ApiError>
    where
        Call: Future<Output = Result<Reply, ApiError>>,
    {
        let mut end = clock::now() + READ_BUDGET;
        let mut backoff = Backoff::new(READ_PAUSES.0, READ_PAUSES.1);
        loop {
            let (error, pause) = match call().await {
                Ok(reply) if reply.code < 300 => return Ok(reply.body),
                Ok(reply) if reply.is_passing() => (refusal(&reply), reply.pause()),
                Ok(reply) => return Err(refusal(&reply)),
                Err(error) => match self.back().await {
                    Some(away) => {
                        end += away;
                        (error, Duration::ZERO)
                    }
                    None => return Err(error),
                },
            };
            let retry = clock::now() + backoff.step(pause);
            if retry >= end {
                return Err(error);
            }
            clock::until(retry).await;
        }
    }

    /// Opens a watch.
    pub async fn watch(
        &self,
        path: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>, ApiError> {
        self.watch_as(path, "application/json").await
    }

    /// Opens a watch of objects in the form that is accepted.
    pub async fn watch_as(
        &self,
        path: &str,
        accepted: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>, ApiError> {
        let request = Request::get(path)
            .header(header::ACCEPT, accepted)
            .header(header::USER_AGENT, USER_AGENT)
            .body(Vec::new())
            .map_err(|e| ApiError::Transport(chain(&e)))?;
        self.client.request_events::<Value>(request).await.map_err(|error| watch_error(&error))
    }
}

fn reply(answer: &Response<Bytes>) -> Reply {
    let retry_after =
        answer.headers().get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let body = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
    Reply { code: answer.status().as_u16(), body, retry_after }
}

/// The error that a failed watch stands for.
pub fn watch_error(error: &kube::Error) -> ApiError {
    match error {
        kube::Error::Api(status) => {
            ApiError::Refused { code: status.code, reason: status.reason.clone(), message: status.message.clone() }
        }
        other => ApiError::Transport(chain(other)),
    }
}

/// The error that an unsuccessful answer stands for.
pub fn refusal(reply: &Reply) -> ApiError {
    let text = |field: &str| reply.body.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    ApiError::Refused { code: reply.code, reason: text("reason"), message: text("message") }
}

/// An error with all its causes on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

/// `key=value` selectors as a query parameter's value.
pub fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
