//! The definitions of the kinds against the official ones, as a public catalogue has those: what ours name is the same there, word for
//! word, and they name a part.
//!
//! What needs the official ones looks for them under `$GATEPROOF_DATA`, by default `../shared` beside the workspace, and says so when
//! they are not there.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::Path;

use gateproof_apiserver::crds::{canonical, digest};
use gateproof_aso::definitions;
use serde_json::{Value, json};

/// A line for each kind: digest of the canonical form of the official schema, digest of the part of it that ours name, name of the
/// definition and version.
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

/// What of the official schema is about fields that ours name. What is required stays required.
fn part(theirs: &Value, ours: &Value) -> Value {
    let Value::Object(words) = theirs else { return theirs.clone() };
    let word = |(name, value): (&String, &Value)| match (name.as_str(), value) {
        ("properties", Value::Object(fields)) => {
            let named = fields.iter().filter_map(|(field, schema)| {
                let own = ours["properties"].get(field)?;
                Some((field.clone(), part(schema, own)))
            });
            (name.clone(), Value::Object(named.collect()))
        }
        ("items" | "additionalProperties", schema) => (name.clone(), part(schema, &ours[name])),
        (_, value) => (name.clone(), value.clone()),
    };
    Value::Object(words.iter().map(word).collect())
}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

fn parts(official: &[Value]) -> Vec<Value> {
    let one = |(theirs, ours): (&Value, &Value)| {
        let schema = part(theirs.pointer(SCHEMA).unwrap(), ours.pointer(SCHEMA).unwrap());
        canonical(&reduced(&theirs["metadata"]["name"], &theirs["spec"]["versions"][0]["name"], &schema))
    };
    official.iter().zip(&ours()).map(one).collect()
}

/// A column of the table, beside name and version.
fn committed(column: usize) -> Vec<String> {
    let line = |line: &str| {
        let columns: Vec<&str> = line.split(' ').collect();
        assert!(columns.len() == 4 && columns[..2].iter().all(|digest| digest.len() == 64), "{line}");
        [columns[column], columns[2], columns[3]].join(" ")
    };
    COMMITTED.lines().map(line).collect()
}

fn lines(definitions: &[Value]) -> Vec<String> {
    let line = |one: &Value| {
        let (name, version) = (&one["metadata"]["name"], &one["spec"]["versions"][0]["name"]);
        format!("{} {} {}", digest(one), name.as_str().unwrap(), version.as_str().unwrap())
    };
    definitions.iter().map(line).collect()
}

#[test]
fn ours_have_the_committed_digests() {
    assert_eq!(lines(&ours()), committed(1), "run with the official definitions to see what differs");
}

#[test]
fn the_official_ones_have_the_committed_digests() {
    let Some(official) = official() else { return };
    assert_eq!(lines(&official), committed(0));
    assert_eq!(lines(&parts(&official)), committed(1));
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
fn what_ours_name_is_the_same_in_the_official_ones() {
    let Some(official) = official() else { return };
    let mut found = Vec::new();
    for (ours, theirs) in ours().iter().zip(&parts(&official)) {
        let name = ours["metadata"]["name"].as_str().unwrap();
        differences(name, ours.pointer(SCHEMA).unwrap(), theirs.pointer(SCHEMA).unwrap(), &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_field_or_word_that_is_not_there_is_a_difference() {
    let theirs = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "pattern": "x"}, "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}},
        "d": {"type": "integer"},
    }});
    let own = |fields: Value| json!({"type": "object", "required": ["a"], "properties": fields});
    let a = json!({"type": "string", "pattern": "x"});
    let count = |ours: &Value| {
        let mut found = Vec::new();
        differences("", ours, &part(&theirs, ours), &mut found);
        found.len()
    };
    assert_eq!(count(&own(json!({"a": a}))), 0);
    assert_eq!(count(&own(json!({"a": a, "b": {"type": "array", "items": {"type": "object", "properties": {}}}}))), 0);
    assert_eq!(count(&own(json!({"a": {"type": "string"}}))), 1);
    assert_eq!(count(&own(json!({"a": a, "e": {"type": "string"}}))), 1);
    assert_eq!(count(&own(json!({"a": a, "d": {"type": "string"}}))), 1);
    let fields = json!({"f": {"type": "string"}});
    assert_eq!(
        count(&own(json!({"a": a, "b": {"type": "array", "items": {"type": "object", "properties": fields}}}))),
        1
    );
    assert_eq!(count(&json!({"type": "object", "properties": {"a": a}})), 1, "what is required is");
}
