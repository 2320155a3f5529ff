//! The schemas of the Gateway API releases that are built in, of the kinds of Kubernetes itself and of a dialect's own, for checking
//! manifests before anything is applied.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use gateproof_apiserver::crds::{self, BUNDLE_VERSION};
use gateproof_apiserver::schema::{CompiledSchema, builtin};
use serde_json::Value;

use super::definitions;
use crate::scenario::lint::{Missing, ObjectSchemas, WrongType};
use crate::scenario::{Channel, Version};

/// The built-in release, in both channels, and definitions of a dialect: a set of them for each edition.
#[derive(Debug, Default)]
pub struct Schemas {
    own: Vec<ByKind<'static>>,
    /// The versions that those definitions serve, by group and kind.
    served: HashMap<(String, String), BTreeSet<String>>,
}

/// The compiled schema, and what it was compiled from.
type Schema<'d> = (CompiledSchema, Cow<'d, Value>);

/// Schemas by apiVersion and kind.
type ByKind<'d> = HashMap<(String, String), Schema<'d>>;

fn schemas(channel: Channel) -> &'static ByKind<'static> {
    static STANDARD: OnceLock<ByKind<'_>> = OnceLock::new();
    static EXPERIMENTAL: OnceLock<ByKind<'_>> = OnceLock::new();
    match channel {
        Channel::Standard => STANDARD.get_or_init(|| compile(crds::gateway_api_ref(crds::Channel::Standard))),
        Channel::Experimental => {
            EXPERIMENTAL.get_or_init(|| compile(crds::gateway_api_ref(crds::Channel::Experimental)))
        }
    }
}

fn compile(definitions: &[Value]) -> ByKind<'_> {
    let mut by_kind = ByKind::new();
    for definition in definitions {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for version in spec["versions"].as_array().into_iter().flatten() {
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            // The built-in definitions compile, which their own tests prove. Of others an API server says what is wrong with them.
            let source = &version["schema"]["openAPIV3Schema"];
            if let Ok(schema) = CompiledSchema::compile(source) {
                by_kind.insert((api_version, text(&spec["names"]["kind"])), (schema, Cow::Borrowed(source)));
            }
        }
    }
    by_kind
}

fn of(object: &Value, channel: Channel) -> Option<&'static Schema<'static>> {
    schemas(channel).get(&key(object))
}

/// Whether the definitions that are built in refuse an object, or have no place for something in it. They refuse what they do not know.
pub fn refused(object: &Value, channel: Channel) -> bool {
    let Some((schema, _)) = of(object, channel) else { return true };
    let mut stored = object.clone();
    let unknown = schema.prune(&mut stored);
    schema.apply_defaults(&mut stored);
    !unknown.is_empty() || !schema.validate(&stored, None).is_empty()
}

fn key(object: &Value) -> (String, String) {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    (text("apiVersion"), text("kind"))
}

fn of_kubernetes(object: &Value) -> Option<Arc<CompiledSchema>> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    builtin::schema(group, text("kind"))
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

impl Schemas {
    /// With sets of definitions of a dialect beside those that are built in.
    pub fn with<'d>(definitions: impl IntoIterator<Item = &'d [Value]>) -> Schemas {
        let (mut own, mut served) = (Vec::new(), HashMap::<_, BTreeSet<String>>::new());
        for definitions in definitions {
            let owned = |(key, (schema, source)): (_, Schema<'_>)| (key, (schema, Cow::Owned(source.into_owned())));
            own.push(compile(definitions).into_iter().map(owned).collect());
            for spec in definitions.iter().map(|definition| &definition["spec"]) {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let versions = spec["versions"].as_array().into_iter().flatten();
                let names = versions.filter(|version| version["served"] != false).map(|version| text(&version["name"]));
                served.entry((text(&spec["group"]), text(&spec["names"]["kind"]))).or_default().extend(names);
            }
        }
        Schemas { own, served }
    }

    /// What is known of a kind, in every version and channel. Kinds of several groups may have one name.
    fn of_kind(&self, group: Option<&str>, kind: &str) -> impl Iterator<Item = &Schema<'static>> {
        let all = self.own.iter().flatten().chain(schemas(Channel::Standard)).chain(schemas(Channel::Experimental));
        let is_of = move |api_version: &str| {
            group.is_none_or(|group| api_version.split_once('/').is_some_and(|(own, _)| own == group))
        };
        all.filter(move |((api_version, name), _)| name == kind && is_of(api_version)).map(|(_, schema)| schema)
    }

    /// What the dialect's own definitions say of an object.
    fn own_of(&self, object: &Value) -> impl Iterator<Item = &Schema<'static>> {
        let key = key(object);
        self.own.iter().filter_map(move |own| own.get(&key))
    }
}

impl ObjectSchemas for Schemas {
    fn releases(&self) -> Vec<(Version, Channel)> {
        let version = BUNDLE_VERSION.parse().ok();
        [Channel::Standard, Channel::Experimental].into_iter().filter_map(|channel| Some((version?, channel))).collect()
    }

    fn unknown_fields(&self, object: &Value, _: Version, channel: Channel) -> Option<Vec<String>> {
        Some(of(object, channel)?.0.prune(&mut object.clone()))
    }

    fn wrong_types(&self, object: &Value, _: Version, channel: Channel) -> Vec<WrongType> {
        of(object, channel).map(|(_, source)| wrong_types_by(source, object)).unwrap_or_default()
    }

    fn fields_beside(&self, object: &Value, path: &str, _: Version, channel: Channel) -> Vec<String> {
        of(object, channel).map(|(schema, _)| owned(schema.fields_beside(path))).unwrap_or_default()
    }

    fn definitions(&self) -> Vec<String> {
        definitions::names().map(str::to_owned).collect()
    }

    fn unknown_beside_releases(&self, object: &Value) -> Vec<(String, Vec<String>)> {
        if let Some(schema) = of_kubernetes(object) {
            return unknown(&schema, object);
        }
        let each = self.own_of(object).map(|(schema, _)| unknown(schema, object));
        each.min_by_key(Vec::len).unwrap_or_default()
    }

    fn wrong_types_beside_releases(&self, object: &Value) -> Vec<WrongType> {
        let each = self.own_of(object).map(|(_, source)| wrong_types_by(source, object));
        each.min_by_key(Vec::len).unwrap_or_default()
    }

    fn unknown_in_patch(&self, group: Option<&str>, kind: &str, patch: &Value) -> Vec<(String, Vec<String>)> {
        let each = self.of_kind(group, kind).map(|(schema, _)| unknown(schema, patch));
        each.min_by_key(Vec::len).unwrap_or_default()
    }

    fn served(&self, group: &str, kind: &str) -> Option<BTreeSet<String>> {
        self.served.get(&(group.to_owned(), kind.to_owned())).cloned()
    }

    fn missing_at(&self, group: Option<&str>, kind: &str, pointer: &str) -> Option<Missing> {
        let mut missing = None;
        for (_, source) in self.of_kind(group, kind) {
            missing = Some(first_missing(source, pointer)?);
        }
        missing
    }

    fn wrong_type_at(&self, group: Option<&str>, kind: &str, pointer: &str, value: &Value) -> Option<WrongType> {
        let mut wrong = None;
        for (_, source) in self.of_kind(group, kind) {
            // Where one has nothing, nothing is known of the type; that it has nothing is told elsewhere.
            let Ok(Some(schema)) = at(source, pointer) else { continue };
            wrong = Some(wrong_types_by(schema, value).into_iter().next()?);
        }
        wrong
    }
}

/// Fields of an object that its schema has not, each with the names that the schema has in that place.
fn unknown(schema: &CompiledSchema, object: &Value) -> Vec<(String, Vec<String>)> {
    let unknown = schema.prune(&mut object.clone());
    unknown.into_iter().map(|path| (path.clone(), owned(schema.fields_beside(&path)))).collect()
}

/// Where a JSON pointer comes to a token that a schema has no place for.
fn first_missing(schema: &Value, pointer: &str) -> Option<Missing> {
    at(schema, pointer).err()
}

/// The part of a schema that a JSON pointer leads to; none where the schema leaves open what is there.
fn at<'s>(schema: &'s Value, pointer: &str) -> Result<Option<&'s Value>, Missing> {
    let (mut schema, mut path) = (schema, String::new());
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        path = format!("{path}/{token}");
        // Kubernetes itself says what is in the rest.
        if path == "/metadata" || schema["x-kubernetes-preserve-unknown-fields"] == true {
            return Ok(None);
        }
        // An item of a list by its place, or by what a field of it is.
        let is_key = |(key, _): (&str, &str)| schema["items"]["properties"].get(key).is_some();
        let is_index = token == "-" || token.parse::<usize>().is_ok() || token.split_once('=').is_some_and(is_key);
        let named = schema["properties"].get(&name).or_else(|| schema.get("additionalProperties"));
        match named.or_else(|| schema.get("items").filter(|_| is_index)) {
            Some(below) => schema = below,
            None => {
                let names = schema["properties"].as_object().into_iter().flatten();
                return Err(Missing { pointer: path, known: names.map(|(name, _)| name.clone()).collect() });
            }
        }
    }
    Ok(Some(schema))
}

/// Values within a value that are of another type than a schema has in their place. Placeholders count as what they stand for.
pub fn wrong_types_by(schema: &Value, value: &Value) -> Vec<WrongType> {
    let mut found = Vec::new();
    types(schema, value, "", &mut found);
    found
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
        let found = Schemas::default().wrong_types(&object, "v1.6.1".parse().unwrap(), Channel::Standard);
        let found: Vec<_> = found.iter().map(|w| (w.path.as_str(), w.wanted)).collect();
        assert_eq!(found, wrong.into_iter().collect::<Vec<_>>());
    }
}
