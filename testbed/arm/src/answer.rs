//! What goes back to a client.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// An answer, complete but for what the transport adds.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// How long the answer is kept back. What the request does is done before.
    pub delay: Duration,
    /// Cancelled once it is not to be kept back any longer.
    pub at_once: CancellationToken,
}

impl Answer {
    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        let at_once = CancellationToken::new();
        Self { status, headers: HeaderMap::new(), body: Bytes::new(), delay: Duration::ZERO, at_once }
    }

    /// An answer in JSON.
    pub fn json<T: Serialize>(status: StatusCode, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(text) => Self::text(status, HeaderValue::from_static("application/json; charset=utf-8"), text.into()),
            Err(error) => {
                Self::text(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, format!("writing JSON failed: {error}").into())
            }
        }
    }

    /// An answer whose body is a text as it stands.
    pub(crate) fn plain(status: StatusCode, text: String) -> Self {
        Self::text(status, PLAIN, text.into())
    }

    fn text(status: StatusCode, kind: HeaderValue, body: Bytes) -> Self {
        let mut answer = Self::empty(status);
        answer.headers.insert(CONTENT_TYPE, kind);
        answer.body = body;
        answer
    }

    /// The error envelope of ARM, `{"error": {"code", "message"}}`, with what of the two is there; no body where there is
    /// neither.
    pub(crate) fn error(status: StatusCode, code: Option<&str>, message: Option<&str>) -> Self {
        match error_body(code, message) {
            Some(error) => Self::json(status, &json!({"error": error})),
            None => Self::empty(status),
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => _ = self.headers.insert(name, value),
            // Whatever goes into a header is made of checked parts, so that this is no more than a note.
            Err(error) => tracing::warn!(%name, %error, "a header field is left out"),
        }
        self
    }

    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        self.with(RETRY_AFTER, &seconds.to_string())
    }

    /// The same without what HTTP forbids: a body in answers to HEAD, and with 204 and 304.
    pub(crate) fn fit_for(mut self, method: &Method) -> Self {
        let bare = matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if bare || *method == Method::HEAD {
            self.body = Bytes::new();
            self.headers.remove(CONTENT_TYPE);
        }
        self
    }
}

const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The inner part of the error envelope.
pub(crate) fn error_body(code: Option<&str>, message: Option<&str>) -> Option<Map<String, Value>> {
    let parts = [("code", code), ("message", message)];
    let error: Map<_, _> =
        parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), Value::from(part?)))).collect();
    (!error.is_empty()).then_some(error)
}

/// Why a request is refused, in words of ARM: status, code, message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
}

impl Fault {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub fn missing(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        Self::error(fault.status, Some(fault.code), Some(&fault.message))
    }
}
