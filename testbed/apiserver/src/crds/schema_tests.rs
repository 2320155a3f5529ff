#![allow(clippy::unwrap_used)]

use indexmap::IndexMap;
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::Expander;
use crate::crds::Channel;
use crate::crds::error::{Problem, SourceError};
use crate::crds::mark::Variant;
use crate::crds::rules::Fragments;

fn expand(node: Value, channel: Channel) -> Result<Value, SourceError> {
    let fragments = IndexMap::from_iter([("label".to_owned(), "[a-z]+".to_owned())]);
    let defs = json!({
        "port": "int32 1..65535",
        "value @standard": "string",
        "value @experimental": "string 1..",
        "object": {"a!": "port", "$rules": [{"rule": "has(self.a)", "message": "m"}]},
        "endless": "endless",
    });
    let (own, empty) = (defs.as_object().unwrap(), Map::new());
    let fragments = Fragments { own: &fragments, shared: &fragments };
    let expander = Expander::new(Variant { channel, version: "v1" }, fragments, [own, &empty]).unwrap();
    expander.expand(&node, "spec").map(Value::Object)
}

#[rstest]
#[case::builtin(json!("string 1..253"), json!({"type": "string", "minLength": 1, "maxLength": 253}))]
#[case::format(json!("int64 0.."), json!({"type": "integer", "format": "int64", "minimum": 0}))]
#[case::time(json!("date-time"), json!({"type": "string", "format": "date-time"}))]
#[case::default_of_a_definition(
    json!("port = 80"),
    json!({"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535, "default": 80})
)]
#[case::empty_default(json!("string = \"\""), json!({"type": "string", "default": ""}))]
#[case::choice(json!("A|B = A"), json!({"type": "string", "enum": ["A", "B"], "default": "A"}))]
#[case::any(json!({"a": "any"}), json!({"type": "object", "properties": {"a": {"x-kubernetes-preserve-unknown-fields": true}}}))]
#[case::number_or_text(json!("int-or-string"), json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}))]
#[case::numbers(json!("301|302"), json!({"type": "integer", "enum": [301, 302]}))]
#[case::marked_value(json!("A|B@experimental"), json!({"type": "string", "enum": ["A"]}))]
#[case::list(
    json!("string[1..2] map(a,b)"),
    json!({
        "type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"},
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
    })
)]
#[case::free_keys(
    json!("map<string ..5>[..8]"),
    json!({"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string", "maxLength": 5}})
)]
#[case::pattern(json!({"$type": "string", "$pattern": "^${label}$"}), json!({"type": "string", "pattern": "^[a-z]+$"}))]
#[case::required_is_sorted(
    json!({"b!": "string", "a!": "string", "c": "value"}),
    json!({
        "type": "object", "required": ["a", "b"],
        "properties": {"b": {"type": "string"}, "a": {"type": "string"}, "c": {"type": "string"}},
    })
)]
#[case::extended(
    json!({"$type": "object", "b @experimental": "string", "a @v1": "string"}),
    json!({
        "type": "object", "required": ["a"], "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "has(self.a)", "message": "m"}],
    })
)]
#[case::inline_items(
    json!({"$list": ".. set", "$items": "string", "$default": ["x"]}),
    json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "default": ["x"]})
)]
fn types(#[case] node: Value, #[case] schema: Value) {
    assert_eq!(expand(node, Channel::Standard).unwrap(), schema);
}

#[test]
fn definitions_may_differ_by_channel() {
    assert_eq!(expand(json!("value"), Channel::Standard).unwrap(), json!({"type": "string"}));
    assert_eq!(expand(json!("value"), Channel::Experimental).unwrap(), json!({"type": "string", "minLength": 1}));
}

#[rstest]
#[case(json!("hostnam"), "spec: \"hostnam\" is no type and no definition")]
#[case(json!({"a": {"b": "x"}}), "spec.a.b: \"x\" is no type and no definition")]
#[case(json!({"a": {"$list": "..1 set", "$items": "x"}}), "spec.a[]: \"x\" is no type and no definition")]
#[case(json!({"$patern": "x"}), "spec: \"$patern\" is no key of the notation")]
#[case(json!({"a @exp": "string"}), "spec: \"exp\" is no channel and no version")]
#[case(json!("int32 = many"), "spec: the default \"many\" does not fit the type")]
#[case(json!({"$type": "string", "a": "string"}), "spec: only an object has fields")]
#[case(json!({"$type": "string", "$pattern": "${x}"}), "spec: \"x\" is no fragment")]
#[case(json!("port 1..5"), "spec: bounds belong to a builtin type")]
#[case(json!({"$items": "string"}), "spec: a type starts from $type, or from $list and $items")]
#[case(json!(7), "spec: a type is a string or a mapping")]
fn mistakes(#[case] node: Value, #[case] message: &str) {
    assert_eq!(expand(node, Channel::Standard).unwrap_err().to_string(), message);
}

#[test]
fn a_definition_that_refers_to_itself_ends() {
    assert_eq!(expand(json!("endless"), Channel::Standard).unwrap_err().problem, Problem::Endless);
}
