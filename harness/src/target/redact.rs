//! What the log keeps of an object: of its managed fields only who wrote last, and no secrets.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Keeps of `metadata.managedFields` the newest entries, without fields, and replaces the values of a Secret's `data` and
/// `stringData` by their digests.
pub fn redact(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(entries) = metadata.remove("managedFields")
    {
        let newest = newest(&entries);
        if !newest.is_empty() {
            metadata.insert("managedFields".to_owned(), newest.into());
        }
    }
    if object.get("kind").and_then(Value::as_str) == Some("Secret") {
        redact_secret(object);
    }
}

/// The entries with the latest time, which all are of one form and so in order as texts; each without the fields it stands for.
fn newest(entries: &Value) -> Vec<Value> {
    let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let time = |entry: &Value| entry.get("time").and_then(Value::as_str).map(str::to_owned);
    let Some(latest) = entries.iter().filter_map(time).max() else { return Vec::new() };
    let kept = ["manager", "operation", "subresource", "time"];
    let brief = |entry: &Value| -> Map<String, Value> {
        kept.iter().filter_map(|name| Some(((*name).to_owned(), entry.get(*name)?.clone()))).collect()
    };
    entries.iter().filter(|entry| time(entry).as_ref() == Some(&latest)).map(|entry| brief(entry).into()).collect()
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
    fn who_wrote_last_stays() {
        let entry = |manager: &str, time: &str| json!({"manager": manager, "operation": "Update", "time": time, "fieldsV1": {"f:spec": {}}});
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
        let mut object = json!({"metadata": {"managedFields": [entry("a", old), entry("b", new), entry("c", new)]}});
        redact(&mut object);
        let brief = |manager: &str| json!({"manager": manager, "operation": "Update", "time": new});
        assert_eq!(object, json!({"metadata": {"managedFields": [brief("b"), brief("c")]}}));
    }

    #[test]
    fn other_kinds_keep_their_data() {
        let mut map = json!({"kind": "ConfigMap", "data": {"a": "b"}});
        redact(&mut map);
        assert_eq!(map.pointer("/data/a"), Some(&json!("b")));
    }
}
