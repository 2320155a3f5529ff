//! The definitions of the kinds against the official ones, as a public catalogue has those: their schemas are the same, field for field
//! and word for word.
//!
//! What needs the official ones looks for them under `$GATEPROOF_DATA`, by default `../shared` beside the workspace, and says so when
//! they are not there.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::Path;

use gateproof_apiserver::crds::{canonical, digest};
use gateproof_aso::definitions;
use serde_json::{Value, json};

/// A line for each kind: digest of the canonical form of the official schema, name of the definition and version.
const COMMITTED: &str = include_str!("../crds/digests.txt");

/// The commit of the catalogue.
const COMMIT: &str = "7b1e26ef9dee";

/// A definition with nothing in it but the schema of a version: what the catalogue has.
fn reduced(name: &Value, version: &Value, schema: &Value) -> Value {
    let schema = json!({"openAPIV3Schema": schema});
    json!({"metadata": {"name": name}, "spec": {"versions": [{"name": version, "schema": schema}]}})
}

fn ours() -> Vec<Value> {
    let reduce = |one: &Value| {
        let version = &one["spec"]["versions"][0];
        canonical(&reduced(&one["metadata"]["name"], &version["name"], &version["schema"]["openAPIV3Schema"]))
    };
    definitions().iter().map(reduce).collect()
}

/// The official ones in the same order, where they are at hand.
fn official() -> Option<Vec<Value>> {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = workspace.join(std::env::var_os("GATEPROOF_DATA").unwrap_or_else(|| "../shared".into()));
    let folder = root.join("crds/aso").join(COMMIT);
    if !folder.exists() {
        // Outside of the capture of tests, for CI to count.
        let skipped = format!("skipped: bundles: there are no official definitions in {}\n", folder.display());
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    }
    let read = |one: &Value| {
        let version = &one["spec"]["versions"][0]["name"];
        let kind = one["spec"]["names"]["kind"].as_str().unwrap().to_lowercase();
        let file = folder.join(format!("{kind}_{}.json", version.as_str().unwrap()));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let schema = opened(serde_json::from_str(&text).unwrap());
        canonical(&reduced(&one["metadata"]["name"], version, &schema))
    };
    Some(definitions().iter().map(read).collect())
}

/// Without what the catalogue closes objects with: definitions have no such word.
fn opened(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "additionalProperties" || *value != false);
            fields.values_mut().for_each(|value| *value = opened(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = opened(item.take())),
        _ => {}
    }
    schema
}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

fn lines(definitions: &[Value]) -> Vec<String> {
    let line = |one: &Value| {
        let (name, version) = (&one["metadata"]["name"], &one["spec"]["versions"][0]["name"]);
        format!("{} {} {}", digest(one), name.as_str().unwrap(), version.as_str().unwrap())
    };
    definitions.iter().map(line).collect()
}

#[test]
fn ours_have_the_committed_digests() {
    let committed: Vec<&str> = COMMITTED.lines().collect();
    assert_eq!(lines(&ours()), committed, "run with the official definitions to see what differs");
}

#[test]
fn the_official_ones_have_the_committed_digests() {
    let Some(official) = official() else { return };
    assert_eq!(lines(&official), COMMITTED.lines().collect::<Vec<_>>());
}

/// Where two values differ.
fn differences(at: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (one, other) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                differences(&format!("{at}.{key}"), one, other, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{at}: ours is {ours}, the official one {theirs}")),
    }
}

#[test]
fn ours_are_the_official_ones() {
    let Some(official) = official() else { return };
    let mut found = Vec::new();
    for (ours, theirs) in ours().iter().zip(&official) {
        let name = ours["metadata"]["name"].as_str().unwrap();
        differences(name, ours.pointer(SCHEMA).unwrap(), theirs.pointer(SCHEMA).unwrap(), &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_field_or_word_more_or_less_is_a_difference() {
    let theirs = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "pattern": "x"}, "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}},
    }});
    let count = |change: &dyn Fn(&mut Value)| {
        let (mut ours, mut found) = (theirs.clone(), Vec::new());
        change(&mut ours);
        differences("", &ours, &theirs, &mut found);
        found.len()
    };
    let fields = |ours: &mut Value| ours["properties"].as_object_mut().unwrap().clone();
    assert_eq!(count(&|_| ()), 0);
    assert_eq!(count(&|ours| ours["properties"]["a"] = json!({"type": "string"})), 1);
    assert_eq!(count(&|ours| ours["properties"]["a"]["type"] = json!("integer")), 1);
    assert_eq!(count(&|ours| ours["properties"]["e"] = json!({"type": "string"})), 1);
    assert_eq!(count(&|ours| ours["required"] = json!([])), 1);
    assert_eq!(count(&|ours| ours["x-kubernetes-preserve-unknown-fields"] = json!(true)), 1);
    assert_eq!(count(&|ours| ours["properties"] = json!({"a": fields(ours)["a"]})), 1);
    assert_eq!(count(&|ours| ours["properties"]["b"]["items"]["properties"] = json!({})), 1);
}
