//! Patches of all kinds.

use std::sync::LazyLock;

use arbitrary::Result;
use serde_json::{Map, Value, json};

use super::value::{Choices, any, object};
use crate::patch::{Writer, json_patch, merge_patch, server_side_apply, strategic_merge, track_update};
use crate::schema::{CompiledSchema, builtin};

const NAMES: [&str; 6] = ["a", "b", "metadata", "name", "labels", "spec"];
const POD: [&str; 12] = [
    "spec",
    "containers",
    "name",
    "ports",
    "containerPort",
    "protocol",
    "metadata",
    "finalizers",
    "ownerReferences",
    "uid",
    "volumes",
    "image",
];
const DIRECTIVES: [&str; 10] = [
    "spec",
    "containers",
    "name",
    "metadata",
    "finalizers",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "volumes",
];

/// JSON patch and merge patch: what does not apply is refused, a merge patch applied twice is one applied once, and the
/// difference of two objects leads from one to the other.
pub fn json_patches(data: &[u8]) {
    let mut choices = Choices::new(data);
    let Ok((live, other, operations)) = two_and_operations(&mut choices) else { return };
    let _ = json_patch(&live, &operations);
    let difference = serde_json::to_value(json_patch::diff(&live, &other)).expect("a patch has a JSON form");
    assert_eq!(json_patch(&live, &difference).ok().as_ref(), Some(&other));
    let merged = merge_patch(&live, &other).expect("an object merges");
    assert_eq!(merge_patch(&merged, &other).ok().as_ref(), Some(&merged));
}

fn two_and_operations(choices: &mut Choices<'_>) -> Result<(Value, Value, Value)> {
    let (live, other) = (object(choices, &NAMES, 3)?, object(choices, &NAMES, 3)?);
    let mut operations = Vec::new();
    for _ in 0..choices.int_in_range(0..=4)? {
        let mut operation = Map::new();
        let op = *choices.choose(&["add", "remove", "replace", "move", "copy", "test", "odd"])?;
        operation.insert("op".to_owned(), op.into());
        operation.insert("path".to_owned(), pointer(choices)?.into());
        if choices.arbitrary()? {
            operation.insert("from".to_owned(), pointer(choices)?.into());
        }
        operation.insert("value".to_owned(), any(choices, &NAMES, 2)?);
        operations.push(Value::Object(operation));
    }
    Ok((live, other, operations.into()))
}

fn pointer(choices: &mut Choices<'_>) -> Result<String> {
    let mut pointer = String::new();
    for _ in 0..choices.int_in_range(0..=3)? {
        let parts = ["/a", "/b", "/metadata", "/0", "/-", "/99999999999999999999", "/~1", "~", "/"];
        pointer.push_str(choices.choose(&parts)?);
    }
    Ok(pointer)
}

/// A strategic merge patch of a Pod is refused, or comes to the same when it is applied again, with no directive left
/// over once unknown fields are dropped.
pub fn strategic_patches(data: &[u8]) {
    let mut choices = Choices::new(data);
    let Ok((live, patch)) = pod_and_patch(&mut choices) else { return };
    let schema = builtin::schema("", "Pod").expect("Pods are built in");
    let Ok(once) = strategic_merge(&live, &patch, &schema) else { return };
    let mut pruned = once.clone();
    schema.prune(&mut pruned);
    assert!(!has_directive(&pruned), "{pruned}");
    // Items that a list has twice are told apart by nothing, and a value that is deleted and added goes to the end.
    if schema.has_duplicates(&once) || deletes_what_it_adds(&patch) {
        return;
    }
    // What cannot be merged into a list passes where there was none yet, and only then.
    if let Ok(twice) = strategic_merge(&once, &patch, &schema) {
        assert_eq!(twice, once, "{live} patched twice by {patch}");
    }
}

fn pod_and_patch(choices: &mut Choices<'_>) -> Result<(Value, Value)> {
    let live = json!({"metadata": object(choices, &POD, 3)?, "spec": object(choices, &POD, 4)?});
    let patch = json!({"metadata": object(choices, &DIRECTIVES, 3)?, "spec": object(choices, &DIRECTIVES, 4)?});
    Ok((live, patch))
}

fn deletes_what_it_adds(patch: &Value) -> bool {
    let list = |name: &str| patch.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let here = list("finalizers").iter().any(|added| list("$deleteFromPrimitiveList/finalizers").contains(added));
    here || match patch {
        Value::Array(items) => items.iter().any(deletes_what_it_adds),
        Value::Object(members) => members.values().any(deletes_what_it_adds),
        _ => false,
    }
}

fn has_directive(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_directive),
        Value::Object(members) => members.iter().any(|(name, value)| name.starts_with('$') || has_directive(value)),
        _ => false,
    }
}

static SCHEMA: LazyLock<CompiledSchema> = LazyLock::new(|| {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer", "default": 1},
        "map": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"],
                "properties": {"k": {"type": "string"}, "v": {"type": "integer", "default": 2}}}},
    }}}});
    CompiledSchema::compile(&schema).expect("the schema is fixed")
});

/// Server-side apply by two managers to an object that a third one wrote: applying twice is applying once, and everything
/// that somebody owns is in the object.
pub fn apply(data: &[u8]) {
    let mut choices = Choices::new(data);
    let Ok(objects) = (0..3).map(|_| resource(&mut choices)).collect::<Result<Vec<Value>>>() else { return };
    let mut live = objects[0].clone();
    track_update(None, &mut live, &SCHEMA, writer("writer", "1"));
    for (manager, config) in [("one", &objects[1]), ("two", &objects[2]), ("one", &objects[2])] {
        let apply = |live: &Value, now| server_side_apply(Some(live), config, &SCHEMA, writer(manager, now), true);
        let Ok(once) = apply(&live, "2") else { continue };
        assert_eq!(apply(&once, "3").ok().as_ref(), Some(&once), "{config} applied twice to {live}");
        for entry in once["metadata"]["managedFields"].as_array().into_iter().flatten() {
            owned(&once, &entry["fieldsV1"], entry);
        }
        live = once;
    }
}

fn writer(manager: &'static str, now: &'static str) -> Writer<'static> {
    Writer { manager, api_version: "a/v1", subresource: "", now }
}

/// A valid object of the schema. No list is empty: nobody owns an empty one, so it comes and goes.
fn resource(choices: &mut Choices<'_>) -> Result<Value> {
    const WORDS: [&str; 4] = ["a", "b", "c", "é/~"];
    let mut spec = Map::new();
    for _ in 0..choices.int_in_range(0..=6)? {
        let words: Vec<Value> =
            (0..choices.int_in_range(1..=3)?).map(|_| Ok((*choices.choose(&WORDS)?).into())).collect::<Result<_>>()?;
        let mapped = || -> Value {
            words.iter().filter_map(Value::as_str).map(|word| (word.to_owned(), Value::from(word))).collect()
        };
        let (name, value) = match choices.int_in_range(0..=6)? {
            0 => ("n", choices.int_in_range(0..=2)?.into()),
            1 => ("map", mapped()),
            2 => ("map", json!({"a": null, "b": words[0]})),
            3 => ("atomic", mapped()),
            4 => ("set", words.into()),
            5 => ("list", words.into()),
            _ => ("items", words.into_iter().map(|k| item(choices, k)).collect::<Result<Value>>()?),
        };
        spec.insert(name.to_owned(), value);
    }
    let mut object = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}});
    if !spec.is_empty() || choices.arbitrary()? {
        object["spec"] = spec.into();
    }
    if SCHEMA.validate(&object, None).is_empty() { Ok(object) } else { Err(arbitrary::Error::IncorrectFormat) }
}

fn item(choices: &mut Choices<'_>, key: Value) -> Result<Value> {
    Ok(match choices.int_in_range(0..=3)? {
        0 => json!({"k": key}),
        value => json!({"k": key, "v": value}),
    })
}

/// Follows a set of fields through the object that it is said to be in.
fn owned(value: &Value, fields: &Value, entry: &Value) {
    for (element, below) in fields.as_object().into_iter().flatten().filter(|(element, _)| *element != ".") {
        let found = match element.split_once(':') {
            Some(("f", name)) => value.get(name),
            Some(("k", keys)) => {
                let keys: Value = serde_json::from_str(keys).expect("keys are JSON");
                let keys = keys.as_object().expect("keys are an object");
                let items = value.as_array();
                items.and_then(|items| items.iter().find(|item| keys.iter().all(|(k, v)| item.get(k) == Some(v))))
            }
            Some(("v", item)) => {
                let item: Value = serde_json::from_str(item).expect("an item is JSON");
                value.as_array().and_then(|items| items.iter().find(|found| **found == item))
            }
            _ => None,
        };
        let found = found.unwrap_or_else(|| panic!("{element} of {entry} is not in {value}"));
        owned(found, below, entry);
    }
}
