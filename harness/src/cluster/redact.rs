//! What the log keeps of an object: of its managed fields only who wrote last, no secrets, no token of a run, and of a definition not what it
//! defines, which is long and told by its release.

use gateproof_echo::TOKEN_VARIABLE;
use serde_json::{Map, Value};

use crate::log::digest;
use crate::scenario::scope::DEFINITION;

/// Keeps of `metadata.managedFields` the newest entries, without fields, and replaces the values of a Secret's `data` and
/// `stringData`, and the token of deployed backends, by their digests. Takes away what a definition defines.
pub fn redact(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(entries) = metadata.remove("managedFields")
    {
        let newest = newest(&entries);
        if !newest.is_empty() {
            metadata.insert("managedFields".to_owned(), newest.into());
        }
    }
    redact_token(object);
    match object.get("kind").and_then(Value::as_str) {
        Some("Secret") => redact_secret(object),
        Some(DEFINITION) => drop(object.as_object_mut().and_then(|fields| fields.remove("spec"))),
        _ => {}
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

/// Replaces the value of the variable by which deployed backends know their run: who has it can read and use their journal.
fn redact_token(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_token = fields.get("name").and_then(Value::as_str) == Some(TOKEN_VARIABLE);
            for (name, field) in fields {
                if is_token && name == "value" { *field = digest(field) } else { redact_token(field) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_token),
        _ => {}
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
        *value = digest(value);
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
    fn the_token_of_backends_becomes_a_digest_wherever_it_stands() {
        let env = json!([{"name": "POD_NAME", "value": "a"}, {"name": "GATEPROOF_TOKEN", "value": "c2VjcmV0"}]);
        let pod = json!({"spec": {"containers": [{"name": "echo", "env": env}]}});
        for mut object in [pod.clone(), json!({"kind": "Deployment", "spec": {"template": pod}})] {
            redact(&mut object);
            let text = object.to_string();
            assert!(
                text.contains(r#""name":"GATEPROOF_TOKEN","value":"sha256:"#) && !text.contains("c2VjcmV0"),
                "{text}"
            );
            assert!(text.contains(r#""name":"POD_NAME","value":"a""#), "{text}");
        }
    }

    #[test]
    fn other_kinds_keep_their_data() {
        let mut map = json!({"kind": "ConfigMap", "data": {"a": "b"}});
        redact(&mut map);
        assert_eq!(map.pointer("/data/a"), Some(&json!("b")));
    }
}
