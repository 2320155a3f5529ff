//! Resources within resources: what their type must be whatever their schema says.

use serde_json::{Map, Value};

use super::cause::Cause;
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::tests::embedding;

    #[rstest]
    #[case(json!({"a": "b"}), &["template.apiVersion", "template.kind"])]
    #[case(json!({"apiVersion": "v1", "kind": ""}), &["template.kind"])]
    #[case(json!({"apiVersion": "v1", "kind": "Pod"}), &[])]
    fn embedded_resources_say_what_they_are(#[case] template: Value, #[case] expected: &[&str]) {
        let causes = embedding().validate(&json!({"template": template}), None);
        let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(fields, expected);
    }
}
