//! Scripts: what they may say, and what is wrong with one that says something else.
//!
//! The format is described at the root of the crate.

use std::fmt;
use std::time::Duration;

use globset::{Glob, GlobBuilder};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// How many rules a script may have.
pub const MOST_RULES: usize = 256;

/// The longest time that a rule may ask for, in seconds.
pub const LONGEST: f64 = 600.0;

/// What is answered differently.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The rules; of those that match a request and are not used up, the first one counts.
    pub rules: Vec<Rule>,
}

/// Which requests are answered differently, how often, and how. What it leaves out stays as it would be without the rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    /// The method; any where it is left out.
    pub method: Option<Verb>,
    /// A glob over the whole path, without regard to case: `*` stays within a part, `**` does not.
    pub path: String,
    /// For how many requests the rule is there; for all where it is left out.
    pub times: Option<u64>,
    /// The status. From 400 on the request is refused. Below 300 it is done, and the status is that of its success.
    pub status: Option<u16>,
    /// The code of a refusal.
    pub code: Option<String>,
    /// The message of a refusal.
    pub message: Option<String>,
    /// The body as it stands, in place of the one that would be sent.
    pub body: Option<String>,
    /// Header fields that are added, or set if they are there.
    #[serde(default)]
    pub headers: IndexMap<String, String>,
    /// The header `Retry-After`, in seconds; while an operation runs, of the answers to its polling too.
    pub retry_after: Option<u32>,
    /// How long the answer is kept back, in seconds, unless the script is replaced or taken away before. What the request does is
    /// done before.
    pub delay: Option<f64>,
    /// A refused request is done all the same.
    #[serde(default)]
    pub accepted: bool,
    /// A PUT or DELETE that succeeds takes time.
    pub operation: Option<OperationRule>,
    /// What `properties.provisioningState` says after a PUT that succeeds, at the end of its operation if there is one;
    /// `Succeeded` where it is left out.
    pub provisioning_state: Option<String>,
    /// What happens to the resource behind the client's back, before the request is looked at.
    pub behind: Option<Behind>,
}

/// A method of HTTP that ARM knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verb {
    /// Reads a resource.
    Get,
    /// Asks whether a resource is there.
    Head,
    /// Creates or replaces a resource.
    Put,
    /// Changes a resource; answered with 405 unless a rule says something else.
    Patch,
    /// Asks for an action.
    Post,
    /// Deletes a resource.
    Delete,
}

/// How a request takes time: exactly one of `polls` and `seconds` says how long.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OperationRule {
    /// How it is followed.
    pub kind: OperationKind,
    /// How many polls find it running.
    pub polls: Option<u32>,
    /// How many seconds it runs.
    pub seconds: Option<f64>,
    /// How it ends.
    #[serde(default)]
    pub end: End,
    /// The code of its error.
    pub code: Option<String>,
    /// The message of its error.
    pub message: Option<String>,
    /// By `location`, the status of the answer that tells the error: 400 where it is left out.
    pub status: Option<u16>,
}

/// How a client follows an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// 202 and the header `Azure-AsyncOperation`; the URL there answers 200 with a `status`.
    AzureAsync,
    /// 202 and the header `Location`; the URL there answers 202 up to the end, then what the request would have been answered.
    Location,
    /// 201 or 200 (for DELETE 202) without a URL: the resource's own `provisioningState` tells, and each GET of it is a poll.
    ProvisioningState,
}

/// How an operation ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum End {
    /// It has done what it was to do.
    #[default]
    Succeeded,
    /// It has failed; the resource stays.
    Failed,
    /// It was broken off; the resource stays.
    Canceled,
}

impl End {
    /// The word that ARM has for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Canceled => "Canceled",
        }
    }
}

/// What happens to a resource behind the client's back.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Behind {
    /// It is deleted, and what is in it.
    Delete,
    /// This merge patch (RFC 7396) is applied to it; `properties.provisioningState` may be in it, id, name and type not.
    Change(Map<String, Value>),
}

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ScriptError {
    /// The field, such as `rules[0].operation.kind`; `script` for the whole.
    pub place: String,
    /// What is wrong and, of what cannot be read, line and column.
    pub problem: String,
}

impl ScriptError {
    fn new(place: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self { place: place.to_string(), problem: problem.to_string() }
    }
}

impl Script {
    /// Reads a script in JSON and holds it against the rules of the format.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, ScriptError> {
        let mut reader = serde_json::Deserializer::from_slice(text);
        let script: Self = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            ScriptError::new(if path == "." { "script" } else { &path }, error.inner())
        })?;
        reader.end().map_err(|error| ScriptError::new("script", error))?;
        script.checked().map(|_| script)
    }

    /// The rules with what their texts mean.
    pub(crate) fn checked(&self) -> Result<Vec<CheckedRule>, ScriptError> {
        if self.rules.len() > MOST_RULES {
            return Err(ScriptError::new("rules", format!("there are more than {MOST_RULES}; write several scripts")));
        }
        self.rules.iter().enumerate().map(|(at, rule)| CheckedRule::new(&format!("rules[{at}]"), rule)).collect()
    }
}

/// A rule with what its texts mean.
#[derive(Debug, Clone)]
pub(crate) struct CheckedRule {
    pub rule: Rule,
    pub glob: Glob,
    pub status: Option<StatusCode>,
    pub headers: HeaderMap,
    pub delay: Duration,
    /// Cancelled once the rule is out of force.
    pub gone: CancellationToken,
    /// The operation with how long it runs, where that is told in time.
    pub operation: Option<(OperationRule, Option<Duration>)>,
}

impl CheckedRule {
    fn new(place: &str, rule: &Rule) -> Result<Self, ScriptError> {
        let fault =
            |field: &str, problem: &dyn fmt::Display| Err(ScriptError::new(format!("{place}.{field}"), problem));
        let glob = match GlobBuilder::new(&rule.path).case_insensitive(true).literal_separator(true).build() {
            Ok(glob) => glob,
            Err(error) => return fault("path", &error),
        };
        if !rule.path.starts_with(['/', '*']) {
            return fault("path", &"it is held against whole paths: begin with `/` or `**`");
        }
        let status = match rule.status.map(StatusCode::from_u16) {
            None => None,
            Some(Ok(status)) if matches!(status.as_u16(), 200..=299 | 400..=599) => Some(status),
            Some(_) => return fault("status", &"write one from 200 to 299 or from 400 to 599"),
        };
        let refused = status.is_some_and(|status| status.as_u16() >= 400);
        for (field, there) in
            [("code", rule.code.is_some()), ("message", rule.message.is_some()), ("accepted", rule.accepted)]
        {
            if there && !refused {
                return fault(field, &"it belongs to a refusal: add a status from 400 on");
            }
        }
        if rule.body.is_some() && (rule.code.is_some() || rule.message.is_some()) {
            return fault("body", &"it takes the place of code and message: write either");
        }
        if refused && rule.operation.is_some() && !rule.accepted {
            return fault(
                "operation",
                &"a request that is refused begins none: leave out the status, or add `accepted`",
            );
        }
        if rule.provisioning_state.is_some() && (rule.method != Some(Verb::Put) || refused && !rule.accepted) {
            return fault("provisioningState", &"it is of a PUT that is accepted: add `\"method\": \"PUT\"`");
        }
        if rule.operation.is_some() && !matches!(rule.method, Some(Verb::Put | Verb::Delete)) {
            return fault("operation", &"add a method, PUT or DELETE");
        }
        let delay = match rule.delay.map(seconds) {
            None => Duration::ZERO,
            Some(Some(delay)) => delay,
            Some(None) => return fault("delay", &SECONDS),
        };
        let operation = match &rule.operation {
            None => None,
            Some(operation) => Some((operation.clone(), check_operation(&format!("{place}.operation"), operation)?)),
        };
        let headers = headers(place, &rule.headers)?;
        Ok(Self { rule: rule.clone(), glob, status, headers, delay, gone: CancellationToken::new(), operation })
    }
}

const SECONDS: &str = "write seconds from 0 to 600";

fn seconds(value: f64) -> Option<Duration> {
    (value <= LONGEST).then(|| Duration::try_from_secs_f64(value).ok()).flatten()
}

fn check_operation(place: &str, rule: &OperationRule) -> Result<Option<Duration>, ScriptError> {
    let fault = |field: &str, problem: &str| Err(ScriptError::new(format!("{place}.{field}"), problem));
    let told = rule.code.is_some() || rule.message.is_some();
    if told && rule.end == End::Succeeded {
        return fault("end", "an operation with code or message is `Failed` or `Canceled`");
    }
    if told && rule.kind == OperationKind::ProvisioningState {
        return fault("kind", "a provisioningState tells neither code nor message: leave them out");
    }
    match rule.status {
        None => {}
        Some(_) if rule.kind != OperationKind::Location || rule.end == End::Succeeded => {
            return fault("status", "it is of an operation by `location` that does not succeed");
        }
        Some(400..=599) => {}
        Some(_) => return fault("status", "write one from 400 to 599"),
    }
    match (rule.polls, rule.seconds) {
        (Some(_), None) => Ok(None),
        (None, Some(value)) => match seconds(value) {
            Some(time) => Ok(Some(time)),
            None => fault("seconds", SECONDS),
        },
        _ => Err(ScriptError::new(place, "write either `polls` or `seconds`")),
    }
}

fn headers(place: &str, fields: &IndexMap<String, String>) -> Result<HeaderMap, ScriptError> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let fault = |problem: &str| ScriptError::new(format!("{place}.headers.{name}"), problem);
        let name: HeaderName = name.parse().map_err(|_| fault("it is no name of a header field"))?;
        if [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE].contains(&name) {
            return Err(fault("the server sets this one itself"));
        }
        let value = HeaderValue::from_str(value).map_err(|_| fault("a header field cannot have this value"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}
