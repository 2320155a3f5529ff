//! What a scripted service says of the requests that it got.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
