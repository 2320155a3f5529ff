//! The definitions of Gateway API on a target that is judged by another release than theirs: what they lack is not asked for.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::api::{Api, ApiError};
use super::kinds::Kinds;

/// What definitions say of themselves, and the schemas in them.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// Their release and channel, as annotated.
    pub release: String,
    /// The schema of the version at which each kind is written.
    schemas: HashMap<String, Value>,
}

impl Definitions {
    /// Reads those of every kind of Gateway API that is served.
    ///
    /// # Errors
    /// If one cannot be read.
    pub(super) async fn read(api: &Api, kinds: &Kinds, release: String) -> Result<Definitions, ApiError> {
        let mut schemas = HashMap::new();
        for kind in kinds.own() {
            let crd = api.get(&path(&kind.resource())).await?;
            let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
            let written = kind.versions.first();
            let schema =
                versions.into_iter().flatten().find(|version| version["name"].as_str() == written.map(String::as_str));
            if let Some(schema) = schema.and_then(|version| version.pointer("/schema/openAPIV3Schema")) {
                schemas.insert(kind.kind.clone(), schema.clone());
            }
        }
        Ok(Definitions { release, schemas })
    }

    /// Those with these schemas, by kind.
    #[cfg(test)]
    pub(crate) fn with(release: &str, schemas: impl IntoIterator<Item = (&'static str, Value)>) -> Definitions {
        let schemas = schemas.into_iter().map(|(kind, schema)| (kind.to_owned(), schema)).collect();
        Definitions { release: release.to_owned(), schemas }
    }

    /// The first field, or value of an enumeration, that is in an object or a part of it, not yet bound, and not in its definition.
    pub fn lack(&self, kind: &str, part: &Value) -> Option<String> {
        let schema = self.schemas.get(kind)?;
        // Kubernetes itself says what is in the rest.
        ["spec", "status"].into_iter().find_map(|name| lack(&schema["properties"][name], part.get(name)?, name))
    }

    /// The same of what stands at a JSON pointer such as `/status/addresses`; `null` if only the place matters.
    pub fn lack_at(&self, kind: &str, pointer: &str, value: &Value) -> Option<String> {
        let around = pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev();
        let part = around.fold(value.clone(), |inner, token| {
            let is_index = token == "-" || token.parse::<usize>().is_ok();
            if is_index { json!([inner]) } else { json!({unescaped(token): inner}) }
        });
        self.lack(kind, &part)
    }
}

/// A token of a JSON pointer as the name of a field, RFC 6901.
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The path of a definition.
pub(super) fn path(name: &str) -> String {
    format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
}

/// Whether a schema says nothing of what is in a value.
fn is_open(schema: &Value) -> bool {
    !schema.is_object() || schema["x-kubernetes-preserve-unknown-fields"] == true
}

fn lack(schema: &Value, value: &Value, path: &str) -> Option<String> {
    if is_open(schema) {
        return None;
    }
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
                Some(inner) => lack(inner, value, &path),
                None => Some(path),
            }
        }),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| lack(&schema["items"], item, &format!("{path}[{index}]")))
        }
        Value::String(text) if !text.contains("${") => {
            let known = schema["enum"].as_array()?;
            (!known.contains(value)).then(|| format!("{path}: {text}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn definitions() -> Definitions {
        let filter = json!({"properties": {"type": {"enum": ["RequestMirror", "URLRewrite"]}, "labels": {"additionalProperties": {"type": "string"}}}});
        let spec = json!({"properties": {"filters": {"type": "array", "items": filter}, "any": {"x-kubernetes-preserve-unknown-fields": true}}});
        let status = json!({"properties": {"parents": {"type": "array", "items": {"properties": {"name": {}}}}}});
        Definitions::with("v1.0.0", [("HTTPRoute", json!({"properties": {"spec": spec, "status": status}}))])
    }

    #[rstest]
    #[case::known(json!({"filters": [{"type": "URLRewrite"}]}), None)]
    #[case::unknown_value(json!({"filters": [{"type": "URLRewrite"}, {"type": "CORS"}]}), Some("spec.filters[1].type: CORS"))]
    #[case::placeholder(json!({"filters": ["${filter}", {"type": "${type}"}]}), None)]
    #[case::unknown_field(json!({"retry": {"codes": [500]}}), Some("spec.retry"))]
    #[case::deep(json!({"filters": [{"cors": {}}]}), Some("spec.filters[0].cors"))]
    #[case::any_name(json!({"filters": [{"labels": {"a": "b"}}]}), None)]
    #[case::anything(json!({"any": {"a": {"b": 1}}}), None)]
    fn what_is_lacking_is_named(#[case] spec: Value, #[case] expected: Option<&str>) {
        let object = json!({"metadata": {"name": "a"}, "spec": spec, "data": {}});
        assert_eq!(definitions().lack("HTTPRoute", &object).as_deref(), expected);
        assert_eq!(definitions().lack("Service", &object), None);
    }

    #[rstest]
    #[case::there("/status/parents/0/name", json!(null), None)]
    #[case::not_there("/status/parents/0/age", json!(null), Some("status.parents[0].age"))]
    #[case::appended("/spec/filters/-", json!({"type": "CORS"}), Some("spec.filters[0].type: CORS"))]
    #[case::metadata("/metadata/annotations/a~1b", json!("c"), None)]
    fn so_it_is_at_a_pointer(#[case] pointer: &str, #[case] value: Value, #[case] expected: Option<&str>) {
        assert_eq!(definitions().lack_at("HTTPRoute", pointer, &value).as_deref(), expected);
    }
}
