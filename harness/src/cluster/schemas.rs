//! The schemas of the Gateway API releases that are built in, and of the kinds of Kubernetes itself, for checking manifests
//! before anything is applied.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gateproof_apiserver::crds::{self, BUNDLE_VERSION};
use gateproof_apiserver::schema::{CompiledSchema, builtin};
use serde_json::Value;

use super::definitions;
use crate::scenario::lint::{ObjectSchemas, WrongType};
use crate::scenario::{Channel, Version};

/// The built-in release, in both channels.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundledSchemas;

/// The compiled schema, and what it was compiled from, by apiVersion and kind.
type ByKind = HashMap<(String, String), (CompiledSchema, Value)>;

fn schemas(channel: Channel) -> &'static ByKind {
    static STANDARD: OnceLock<ByKind> = OnceLock::new();
    static EXPERIMENTAL: OnceLock<ByKind> = OnceLock::new();
    match channel {
        Channel::Standard => STANDARD.get_or_init(|| compile(crds::Channel::Standard)),
        Channel::Experimental => EXPERIMENTAL.get_or_init(|| compile(crds::Channel::Experimental)),
    }
}

fn compile(channel: crds::Channel) -> ByKind {
    let mut by_kind = ByKind::new();
    for definition in crds::gateway_api_ref(channel) {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for version in spec["versions"].as_array().into_iter().flatten() {
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            // The built-in definitions compile, which their own tests prove.
            let source = &version["schema"]["openAPIV3Schema"];
            if let Ok(schema) = CompiledSchema::compile(source) {
                by_kind.insert((api_version, text(&spec["names"]["kind"])), (schema, source.clone()));
            }
        }
    }
    by_kind
}

fn of(object: &Value, channel: Channel) -> Option<&'static (CompiledSchema, Value)> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    schemas(channel).get(&(text("apiVersion"), text("kind")))
}

fn of_kubernetes(object: &Value) -> Option<Arc<CompiledSchema>> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    builtin::schema(group, text("kind"))
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

impl ObjectSchemas for BundledSchemas {
    fn releases(&self) -> Vec<(Version, Channel)> {
        let version = BUNDLE_VERSION.parse().ok();
        [Channel::Standard, Channel::Experimental].into_iter().filter_map(|channel| Some((version?, channel))).collect()
    }

    fn unknown_fields(&self, object: &Value, _: Version, channel: Channel) -> Option<Vec<String>> {
        Some(of(object, channel)?.0.prune(&mut object.clone()))
    }

    fn wrong_types(&self, object: &Value, _: Version, channel: Channel) -> Vec<WrongType> {
        let mut found = Vec::new();
        if let Some((_, source)) = of(object, channel) {
            types(source, object, "", &mut found);
        }
        found
    }

    fn fields_beside(&self, object: &Value, path: &str, _: Version, channel: Channel) -> Vec<String> {
        of(object, channel).map(|(schema, _)| owned(schema.fields_beside(path))).unwrap_or_default()
    }

    fn definitions(&self) -> Vec<String> {
        definitions::names().map(str::to_owned).collect()
    }

    fn unknown_to_kubernetes(&self, object: &Value) -> Vec<(String, Vec<String>)> {
        let Some(schema) = of_kubernetes(object) else { return Vec::new() };
        let unknown = schema.prune(&mut object.clone());
        unknown.into_iter().map(|path| (path.clone(), owned(schema.fields_beside(&path)))).collect()
    }
}

/// Holds a value, and all that is in it, against the types of a schema. Metadata has a schema of its own elsewhere.
fn types(schema: &Value, value: &Value, path: &str, found: &mut Vec<WrongType>) {
    // A placeholder stands for a text, a number or a whole reference, never for a list.
    let placeholder = schema["type"] != "array" && value.as_str().is_some_and(|text| text.contains("${"));
    if value.is_null() || placeholder || schema["x-kubernetes-int-or-string"] == true {
        return;
    }
    let wanted = match schema["type"].as_str() {
        Some("object") if !value.is_object() => "a mapping",
        Some("array") if !value.is_array() => "a list",
        Some("string") if !value.is_string() => "a string",
        Some("boolean") if !value.is_boolean() => "true or false",
        Some("integer") if !value.is_i64() && !value.is_u64() => "an integer",
        Some("number") if !value.is_number() => "a number",
        _ => return within(schema, value, path, found),
    };
    found.push(WrongType { path: path.trim_start_matches('.').to_owned(), wanted, found: word(value) });
}

fn within(schema: &Value, value: &Value, path: &str, found: &mut Vec<WrongType>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let own = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                types(own, inner, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                types(&schema["items"], inner, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::good(json!({"parentRefs": [{"name": "g", "port": 80}], "rules": []}), None)]
    #[case::placeholder_for_a_mapping(json!({"parentRefs": ["${gw}"]}), None)]
    #[case::placeholder_for_a_number(json!({"parentRefs": [{"name": "g", "port": "${port}"}]}), None)]
    #[case::placeholder_for_a_list(json!({"hostnames": "${host}"}), Some(("spec.hostnames", "a list")))]
    #[case::text_for_a_number(json!({"parentRefs": [{"name": "g", "port": "80"}]}), Some(("spec.parentRefs[0].port", "an integer")))]
    #[case::fraction(json!({"parentRefs": [{"name": "g", "port": 80.5}]}), Some(("spec.parentRefs[0].port", "an integer")))]
    #[case::mapping_for_a_list(json!({"rules": {"name": "a"}}), Some(("spec.rules", "a list")))]
    #[case::list_for_a_mapping(json!({"parentRefs": [["g"]]}), Some(("spec.parentRefs[0]", "a mapping")))]
    #[case::number_for_text(json!({"hostnames": [7]}), Some(("spec.hostnames[0]", "a string")))]
    fn values_have_the_types_of_their_schema(#[case] spec: Value, #[case] wrong: Option<(&str, &str)>) {
        let object = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": spec});
        let found = BundledSchemas.wrong_types(&object, "v1.6.1".parse().unwrap(), Channel::Standard);
        let found: Vec<_> = found.iter().map(|w| (w.path.as_str(), w.wanted)).collect();
        assert_eq!(found, wrong.into_iter().collect::<Vec<_>>());
    }
}
