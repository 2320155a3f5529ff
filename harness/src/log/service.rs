//! What a scripted service says of the requests that it got.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request that a scripted service got, as its log has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRequest {
    /// Its position in the log of the service, from 1 without holes.
    pub seq: u64,
    /// When it came by the clock of the service, RFC 3339 with microseconds.
    pub time: String,
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// Who asked, as far as the service knows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caller: String,
    /// What it was answered.
    pub status: u16,
    /// What its body has at the places that the step looks at, by JSON pointer; null for nothing. A secret is its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BTreeMap<String, Value>>,
}
