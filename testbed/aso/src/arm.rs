//! Requests to ARM and its answers, without any transport.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::settings::Settings;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the methods")]
pub enum Method {
    Get,
    Put,
    Post,
    Delete,
}

/// What a request is for, which is what its answer is judged by.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// Put the spec in.
    Put,
    /// Read what stands there, because the policy allows no more.
    Read,
    /// Read what stands there, to see whether it may be changed.
    Check,
    /// Read what stands there after it was put in.
    Confirm,
    /// Ask how a long-running operation goes.
    Poll(Poll),
    /// Fetch the keys of the resource whose state is this.
    Keys(Value),
    /// Delete.
    Delete,
    /// See whether something that cannot be deleted still stands there.
    Linger,
}

/// How an operation is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// By the URL of `Azure-AsyncOperation`, which answers with a `status`.
    Async,
    /// By the URL of `Location`, which answers 202 up to the end.
    Location,
    /// By the resource itself and its `provisioningState`.
    Body,
}

/// An operation that runs, as it is kept in the annotation `poller-resume-token`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Poll {
    /// The URL to ask; a path for one of ARM's own.
    pub url: String,
    /// How to read the answers.
    pub how: How,
    /// Whether something is being deleted, rather than put in.
    pub deletes: bool,
    /// The generation whose spec was put in.
    pub generation: i64,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// A path with its query, or a URL that ARM gave.
    pub url: String,
    /// The body.
    pub body: Option<Value>,
    /// What for.
    pub purpose: Purpose,
    /// In whose name: the client id of the resource's own credential; nothing for the operator's.
    pub caller: Option<String>,
}

/// An answer of ARM.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The header `Azure-AsyncOperation`.
    pub operation: Option<String>,
    /// The header `Location`.
    pub location: Option<String>,
    /// The header `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// The body; null for none.
    pub body: Value,
}

/// What came of a request: an answer, or why there is none.
pub type Outcome = Result<Response, String>;

/// Somebody who sends requests to ARM.
pub trait ArmClient: Send + Sync {
    /// Sends one request in the name that it says.
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Outcome>;
}

/// An error that ARM told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmError {
    /// The status of the answer; nothing for the error of an operation.
    pub status: Option<u16>,
    /// The code; never empty.
    pub code: String,
    /// The message; never empty.
    pub message: String,
    /// Whether ARM gave the code, rather than the status.
    pub is_coded: bool,
}

impl ArmError {
    /// Reads the envelope `{"error": {"code", "message"}}`. Without a code the phrase of the status stands for it, as one word.
    pub fn read(status: Option<u16>, body: &Value, otherwise: &str) -> Self {
        let text = |field: &str| body["error"][field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let phrase = status
            .and_then(|status| reqwest::StatusCode::from_u16(status).ok())
            .and_then(|status| status.canonical_reason())
            .map(|phrase| phrase.split([' ', '-', '\'']).collect::<String>());
        let code = text("code");
        let is_coded = code.is_some();
        let code = code.or(phrase).unwrap_or_else(|| otherwise.to_owned());
        let message = text("message").unwrap_or_else(|| match status {
            Some(status) => format!("ARM answered with status {status} and no message"),
            None => "the operation in ARM ended without a message".to_owned(),
        });
        Self { status, code, message, is_coded }
    }
}

impl Response {
    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The error that the answer tells.
    pub fn error(&self) -> ArmError {
        ArmError::read(Some(self.status), &self.body, "UnknownError")
    }

    /// `properties.provisioningState`.
    pub fn state(&self) -> Option<&str> {
        self.body["properties"]["provisioningState"].as_str()
    }

    /// How long nothing more is to be asked, if ARM says so.
    pub fn least(&self) -> Option<Duration> {
        self.retry_after.filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }

    /// How long to wait before the next poll: as ARM says, or else a while at the pace that is set.
    pub fn pause(&self, settings: &Settings) -> Duration {
        self.least().unwrap_or_else(|| settings.scaled(Duration::from_secs(POLL_SECONDS)))
    }
}

/// Seconds between polls where ARM does not say how many, before scaling.
const POLL_SECONDS: u64 = 2;

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::whole(Some(409), json!({"error": {"code": "Taken", "message": "it is"}}), "Taken", true)]
    #[case::empty_code(Some(409), json!({"error": {"code": "", "message": "it is"}}), "Conflict", false)]
    #[case::no_body(Some(503), Value::Null, "ServiceUnavailable", false)]
    #[case::words(Some(422), json!("no"), "UnprocessableEntity", false)]
    #[case::unknown_status(Some(599), json!({}), "UnknownError", false)]
    #[case::operation(None, json!({}), "UnknownError", false)]
    fn codes_are_never_empty(
        #[case] status: Option<u16>,
        #[case] body: Value,
        #[case] code: &str,
        #[case] is_coded: bool,
    ) {
        let error = ArmError::read(status, &body, "UnknownError");
        assert_eq!((error.code.as_str(), error.is_coded), (code, is_coded));
        assert!(!error.message.is_empty());
    }
}
