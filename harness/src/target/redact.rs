//! What the log keeps of an object: no managed fields, no secrets.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Removes `metadata.managedFields`, and replaces the values of a Secret's `data` and `stringData` by their digests.
pub fn redact(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    if object.get("kind").and_then(Value::as_str) == Some("Secret") {
        redact_secret(object);
    }
}

/// Replaces the values of `data` and `stringData`; for patches of Secrets, which name no kind themselves.
pub fn redact_secret(object: &mut Value) {
    for field in ["data", "stringData"] {
        if let Some(data) = object.get_mut(field).and_then(Value::as_object_mut) {
            digest_values(data);
        }
    }
}

fn digest_values(data: &mut Map<String, Value>) {
    for value in data.values_mut() {
        let bytes = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        *value = Value::String(format!("sha256:{:x}", Sha256::digest(bytes.as_bytes())));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_become_digests_and_managed_fields_go() {
        let mut secret = json!({
            "kind": "Secret",
            "metadata": {"name": "a", "managedFields": [{}]},
            "data": {"tls.key": "c2VjcmV0"},
        });
        redact(&mut secret);
        let digest = "sha256:4d38eb6c7b08aeda28bd23bb62b1ddb2f8d2f2cf32b3bfeb6a6a2fd2ea1bb9d9";
        let shown = secret.pointer("/data/tls.key").and_then(Value::as_str).unwrap_or_default();
        assert!(shown.starts_with("sha256:") && shown.len() == digest.len() && !shown.contains("c2VjcmV0"));
        assert_eq!(secret.pointer("/metadata/managedFields"), None);
    }

    #[test]
    fn other_kinds_keep_their_data() {
        let mut map = json!({"kind": "ConfigMap", "data": {"a": "b"}});
        redact(&mut map);
        assert_eq!(map.pointer("/data/a"), Some(&json!("b")));
    }
}
