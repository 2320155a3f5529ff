//! What stands for a secret in logs and reports.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// `sha256:` and the digest in hexadecimal of a text, or of the JSON of another value.
pub fn digest(value: &Value) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Value::String(format!("sha256:{:x}", Sha256::digest(text)))
}
