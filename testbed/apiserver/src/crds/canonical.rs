//! The form in which two CustomResourceDefinitions are compared as data.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// A definition reduced to what it means, with sorted keys: no descriptions, no CEL rules (which are compared by verdict),
/// no wording of deprecation warnings, and nothing that only the tool which wrote it or a server filled in.
///
/// The order of `required` carries no meaning and is sorted; that of enums, columns and versions shows to users and is kept.
#[must_use]
pub fn canonical(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if let Some(object) = definition.as_object_mut() {
        object.shift_remove("status");
    }
    if let Some(metadata) = definition.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| matches!(key.as_str(), "name" | "labels" | "annotations"));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations
                .retain(|key, _| !key.starts_with("controller-gen.kubebuilder.io/") && !key.starts_with("kubectl."));
        }
    }
    reduce(&definition)
}

/// The SHA-256 of the [`canonical`] form, in lower-case hexadecimal.
#[must_use]
pub fn digest(definition: &Value) -> String {
    let hash = Sha256::digest(canonical(definition).to_string());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reduce(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().filter(|(key, value)| carries_meaning(key, value)).collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(
                entries.into_iter().map(|(key, value)| (key.clone(), entry(key, value))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => items.iter().map(reduce).collect(),
        other => other.clone(),
    }
}

/// A field may be called `description`; only text under that name is a description.
fn carries_meaning(key: &str, value: &Value) -> bool {
    match key {
        "description" => !value.is_string(),
        "x-kubernetes-validations" => !value.is_array(),
        _ => true,
    }
}

fn entry(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("deprecationWarning", Value::String(_)) => Value::Bool(true),
        ("required", Value::Array(names)) => {
            let mut names = names.clone();
            names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            Value::Array(names)
        }
        _ => reduce(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wording_and_order_make_no_difference() {
        let a = json!({
            "metadata": {"name": "n", "uid": "u", "annotations": {"controller-gen.kubebuilder.io/version": "v0"}},
            "spec": {"required": ["b", "a"], "description": "text", "x-kubernetes-validations": [{"rule": "r"}]},
            "status": {},
        });
        let b = json!({"spec": {"required": ["a", "b"]}, "metadata": {"annotations": {}, "name": "n"}});
        assert_eq!(digest(&a), digest(&b));
    }

    #[test]
    fn limits_enums_and_fields_called_description_make_one() {
        let base = json!({"spec": {"properties": {"description": {"maxLength": 64}}, "enum": ["a", "b"]}});
        for other in [
            json!({"spec": {"properties": {"description": {"maxLength": 65}}, "enum": ["a", "b"]}}),
            json!({"spec": {"properties": {"description": {"maxLength": 64}}, "enum": ["b", "a"]}}),
            json!({"spec": {"properties": {}, "enum": ["a", "b"]}}),
        ] {
            assert_ne!(digest(&base), digest(&other));
        }
    }
}
