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

    /// The first thing of an object, not yet bound, that its definition has no place for: a field, a value, or that something is not
    /// there.
    pub fn lack(&self, kind: &str, object: &Value) -> Option<String> {
        self.lack_of(kind, object, Part::Whole)
    }

    /// The same of a merge patch: what it leaves out may be there.
    pub fn lack_in_patch(&self, kind: &str, patch: &Value) -> Option<String> {
        self.lack_of(kind, patch, Part::Patch)
    }

    fn lack_of(&self, kind: &str, value: &Value, part: Part) -> Option<String> {
        let schema = self.schemas.get(kind)?;
        // Kubernetes itself says what is in the rest.
        ["spec", "status"].into_iter().find_map(|name| lack(&schema["properties"][name], value.get(name)?, name, part))
    }

    /// The same of what stands at a JSON pointer such as `/status/addresses`; `null` if only the place matters.
    pub fn lack_at(&self, kind: &str, pointer: &str, value: &Value) -> Option<String> {
        let around = pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev();
        let part = around.fold(value.clone(), |inner, token| {
            let is_index = token == "-" || token.parse::<usize>().is_ok();
            if is_index { json!([inner]) } else { json!({unescaped(token): inner}) }
        });
        self.lack_of(kind, &part, Part::Place)
    }
}

/// How much of an object a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of it.
    Whole,
    /// A merge patch, in which lists are whole.
    Patch,
    /// What stands in one place, with nothing beside it.
    Place,
}

/// A token of a JSON pointer as the name of a field, RFC 6901.
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The path of all definitions.
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The path of a definition.
pub(super) fn path(name: &str) -> String {
    format!("{DEFINITIONS}/{name}")
}

/// Whether a schema says nothing of what is in a value.
fn is_open(schema: &Value) -> bool {
    !schema.is_object() || schema["x-kubernetes-preserve-unknown-fields"] == true
}

fn lack(schema: &Value, value: &Value, path: &str, part: Part) -> Option<String> {
    if is_open(schema) {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let unknown = fields.iter().find_map(|(name, value)| {
                let path = format!("{path}.{name}");
                match schema["properties"].get(name).or_else(|| schema.get("additionalProperties")) {
                    Some(inner) => lack(inner, value, &path, part),
                    None => Some(path),
                }
            });
            let required = || schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let is_missing =
                |name: &&str| !fields.contains_key(*name) && schema["properties"][name].get("default").is_none();
            let missing = || required().find(is_missing).map(|name| format!("{path} without {name}"));
            unknown.or_else(|| if part == Part::Whole { missing() } else { None })
        }
        Value::Array(items) => {
            let part = if part == Part::Patch { Part::Whole } else { part };
            let mut items_of = items.iter().enumerate();
            let unknown =
                items_of.find_map(|(index, item)| lack(&schema["items"], item, &format!("{path}[{index}]"), part));
            let is_beyond = part == Part::Whole && !is_within(schema, items.len(), "Items");
            unknown.or_else(|| is_beyond.then(|| format!("{path} of {} items", items.len())))
        }
        Value::String(text) if text.contains("${") => None,
        Value::String(text) if !is_within(schema, text.chars().count(), "Length") => {
            Some(format!("{path} of {} characters", text.chars().count()))
        }
        Value::Number(_) | Value::String(_) => {
            let is_another = schema["enum"].as_array().is_some_and(|known| !known.contains(value));
            let beyond = |bound: &str, is_beyond: fn(f64, f64) -> bool| {
                value.as_f64().zip(schema[bound].as_f64()).is_some_and(|(own, bound)| is_beyond(own, bound))
            };
            let is_beyond = beyond("minimum", |own, least| own < least) || beyond("maximum", |own, most| own > most);
            let said = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (is_another || is_beyond).then(|| format!("{path}: {}", said()))
        }
        Value::Null | Value::Bool(_) => None,
    }
}

/// Whether a schema has room for so many items or characters.
fn is_within(schema: &Value, count: usize, what: &str) -> bool {
    let bound = |side: &str| schema[&*format!("{side}{what}")].as_u64().and_then(|bound| usize::try_from(bound).ok());
    bound("min").is_none_or(|least| count >= least) && bound("max").is_none_or(|most| count <= most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn definitions() -> Definitions {
        let filter = json!({"properties": {"type": {"enum": ["RequestMirror", "URLRewrite"]}, "labels": {"additionalProperties": {"type": "string"}}}});
        let codes = json!({"type": "array", "maxItems": 2, "items": {"type": "integer", "enum": [301, 302]}});
        let named = json!({"required": ["name", "kind"], "properties": {"name": {"minLength": 1}, "kind": {"default": "Service"}, "weight": {"maximum": 100}}});
        let spec = json!({"properties": {"codes": codes, "ref": named, "refs": {"items": named}, "filters": {"type": "array", "items": filter}, "any": {"x-kubernetes-preserve-unknown-fields": true}}});
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
    #[case::known_number(json!({"codes": [301]}), None)]
    #[case::unknown_number(json!({"codes": [301, 303]}), Some("spec.codes[1]: 303"))]
    #[case::too_many(json!({"codes": [301, 302, 301]}), Some("spec.codes of 3 items"))]
    #[case::without(json!({"refs": [{"weight": 1}]}), Some("spec.refs[0] without name"))]
    #[case::without_a_default(json!({"ref": {"name": "a"}}), None)]
    #[case::too_short(json!({"ref": {"name": ""}}), Some("spec.ref.name of 0 characters"))]
    #[case::too_great(json!({"ref": {"name": "a", "weight": 101}}), Some("spec.ref.weight: 101"))]
    #[case::anything(json!({"any": {"a": {"b": 1}}}), None)]
    fn what_is_lacking_is_named(#[case] spec: Value, #[case] expected: Option<&str>) {
        let object = json!({"metadata": {"name": "a"}, "spec": spec, "data": {}});
        assert_eq!(definitions().lack("HTTPRoute", &object).as_deref(), expected);
        assert_eq!(definitions().lack("Service", &object), None);
    }

    #[test]
    fn what_a_patch_leaves_out_is_not_lacking() {
        let patch = |spec: Value| definitions().lack_in_patch("HTTPRoute", &json!({"spec": spec}));
        assert_eq!(patch(json!({"ref": {"weight": 1}})), None);
        assert_eq!(patch(json!({"refs": [{"weight": 1}]})).as_deref(), Some("spec.refs[0] without name"));
        assert_eq!(definitions().lack_at("HTTPRoute", "/spec/refs/0/weight", &json!(1)), None);
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
