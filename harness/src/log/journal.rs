//! What a backend has noted of the requests that reached it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a backend noted about one request that reached it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalEntry {
    /// The backend's name as in the manifest.
    pub backend: String,
    /// The request id that it saw.
    pub id: String,
    /// The method.
    pub method: String,
    /// The raw path.
    pub path: String,
    /// The version of HTTP, such as `HTTP/1.1`; empty where it is none, and in logs that do not have it yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub proto: String,
    /// The Host header.
    pub host: String,
    /// Headers, names lower-case.
    pub headers: Vec<(String, String)>,
    /// SHA-256 of the body, hexadecimal; empty in logs that do not have it yet.
    #[serde(default)]
    pub body_sha256: String,
    /// When it had arrived, in microseconds from a moment that is the same for all of one backend.
    #[serde(default)]
    pub micros: u64,
}
