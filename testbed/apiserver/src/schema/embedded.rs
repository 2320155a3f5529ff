//! Resources within resources: what their type and metadata must be whatever their schema says.

use serde_json::{Map, Value};

use super::cause::Cause;
use super::node::Node;
use super::path::Path;

/// Checks the type of an embedded resource.
pub(crate) fn check(map: &Map<String, Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        let field = path.field(name).bracketed();
        match map.get(name) {
            None => causes.push(Cause::required(field, "must not be empty")),
            Some(Value::String(text)) if text.is_empty() => {
                causes.push(Cause::invalid(field, &"".into(), "must not be empty"));
            }
            // Values of another type are the business of the schema.
            Some(_) => {}
        }
    }
}

/// The first value within metadata, of the object itself or of one embedded in it, that is of another type than the field.
pub(crate) fn malformed_metadata(node: &Node, value: &Value, path: &Path<'_>) -> Option<Cause> {
    if node.object_meta {
        let mut causes = Vec::new();
        super::validate::check(node, value, None, path, &mut causes);
        return causes
            .into_iter()
            .find(|cause| cause.reason == "FieldValueTypeInvalid" && !cause.message.ends_with("\"null\""));
    }
    match value {
        Value::Object(map) => {
            map.iter().find_map(|(name, member)| malformed_metadata(node.member(name)?, member, &path.field(name)))
        }
        Value::Array(items) => {
            let schema = node.items.as_deref()?;
            items.iter().enumerate().find_map(|(index, item)| malformed_metadata(schema, item, &path.index(index)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::super::CompiledSchema;
    use super::*;

    fn schema() -> CompiledSchema {
        let template = json!({
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        });
        CompiledSchema::compile(&json!({"type": "object", "properties": {"template": template}})).unwrap()
    }

    #[rstest]
    #[case(json!({"a": "b"}), &["template.apiVersion", "template.kind"])]
    #[case(json!({"apiVersion": "v1", "kind": ""}), &["template.kind"])]
    #[case(json!({"apiVersion": "v1", "kind": "Pod"}), &[])]
    fn embedded_resources_say_what_they_are(#[case] template: Value, #[case] expected: &[&str]) {
        let causes = schema().validate(&json!({"template": template}), None);
        let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(fields, expected);
    }

    #[rstest]
    #[case(json!({"metadata": {"labels": {"a": 1}}}), Some("metadata.labels.a"))]
    #[case(json!({"template": {"metadata": {"labels": {"a": 1}}}}), Some("template.metadata.labels.a"))]
    #[case(json!({"template": {"metadata": {"labels": null}}}), None)]
    #[case(json!({"template": 1}), None)]
    fn metadata_has_types(#[case] object: Value, #[case] expected: Option<&str>) {
        let found = malformed_metadata(schema().root(), &object, &Path::ROOT);
        assert_eq!(found.map(|cause| cause.field).as_deref(), expected);
    }
}
