//! Metadata of objects, and of resources within them, which is decoded before any schema is looked at.

use serde_json::Value;

use super::cause::Cause;
use super::node::Node;
use super::path::Path;
use super::validate::failures;

/// The first value within metadata, of the object itself or of one embedded in it, that is of another type than the field.
pub(crate) fn malformed_metadata(node: &Node, value: &Value, path: &Path<'_>) -> Option<Cause> {
    if node.object_meta {
        return failures(node, value, path)
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
    use rstest::rstest;
    use serde_json::json;

    use super::super::tests::embedding;
    use super::*;

    #[rstest]
    #[case(json!({"metadata": {"labels": {"a": 1}}}), Some("metadata.labels.a"))]
    #[case(json!({"template": {"metadata": {"labels": {"a": 1}}}}), Some("template.metadata.labels.a"))]
    #[case(json!({"template": {"metadata": {"labels": null}}}), None)]
    #[case(json!({"template": 1}), None)]
    fn metadata_has_types(#[case] object: Value, #[case] expected: Option<&str>) {
        let found = malformed_metadata(embedding().root(), &object, &Path::ROOT);
        assert_eq!(found.map(|cause| cause.field).as_deref(), expected);
    }
}
