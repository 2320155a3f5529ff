//! `x-kubernetes-list-type` and the keys of lists that are maps.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::read::{flag, strings, text};
use super::{Checker, child, key};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

/// Whether a schema is of a list with keys, which says by itself that its items need a schema.
pub(super) fn is_map(map: &Map<String, Value>) -> bool {
    map.get(LIST_TYPE).is_some_and(|list_type| list_type == "map")
}

/// Checks what a schema says of lists.
pub(super) fn check(checker: &mut Checker, map: &Map<String, Value>, at: &str) {
    let list_type = map.get(LIST_TYPE).filter(|value| !value.is_null());
    let keys = strings(map, KEYS);
    if !keys.is_empty() && list_type.is_none_or(|list_type| list_type != "map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => checker.required(at, LIST_TYPE, detail),
            Some(other) => checker.invalid(at, LIST_TYPE, other, detail),
        }
    }
    let Some(list_type) = list_type else { return };
    let kind = text(map, "type").unwrap_or_default();
    if kind != "array" {
        checker.must_be(at, &kind, "array", "x-kubernetes-list-type is specified");
    }
    let items = map.get("items").and_then(Value::as_object);
    match list_type.as_str() {
        Some("atomic") => {}
        Some("set") => {
            if let Some(items) = items {
                set(checker, items, &child(at, "items"));
            }
        }
        Some("map") => match items {
            _ if keys.is_empty() => checker.required(at, KEYS, "must not be empty if x-kubernetes-list-type is map"),
            None => checker.required(at, "items", "must have a schema if x-kubernetes-list-type is map"),
            Some(items) => map_of(checker, items, &keys, at),
        },
        _ => checker.not_supported(at, LIST_TYPE, list_type, &["atomic", "map", "set"]),
    }
}

/// Items of a set are compared as a whole.
fn set(checker: &mut Checker, items: &Map<String, Value>, at: &str) {
    if flag(items, "nullable") {
        checker.forbidden(at, "nullable", "cannot be nullable when x-kubernetes-list-type is set");
    }
    let atomic = |name: &str, absent: bool| match items.get(name) {
        None => absent,
        Some(value) => value == "atomic",
    };
    let wrong = match text(items, "type").as_deref() {
        Some("object") if !atomic("x-kubernetes-map-type", false) => "x-kubernetes-map-type",
        Some("array") if !atomic(LIST_TYPE, true) => LIST_TYPE,
        _ => return,
    };
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    checker.invalid(at, wrong, items.get(wrong).unwrap_or(&Value::Null), detail);
}

/// Items of a map are objects that carry scalar keys.
fn map_of(checker: &mut Checker, items: &Map<String, Value>, keys: &[String], at: &str) {
    let at_items = child(at, "items");
    if items.get("type").is_none_or(|kind| kind != "object") {
        let kind = items.get("type").cloned().unwrap_or_else(|| "".into());
        checker.invalid(&at_items, "type", &kind, "must be object if parent array's x-kubernetes-list-type is map");
        return;
    }
    if flag(items, "nullable") {
        checker.forbidden(&at_items, "nullable", "cannot be nullable when x-kubernetes-list-type is map");
    }
    let required = strings(items, "required");
    let mut seen = BTreeSet::new();
    for name in keys {
        if !seen.insert(name) {
            checker.invalid(at, KEYS, &name.as_str().into(), "must be a set: this key is listed twice");
            continue;
        }
        let Some(property) = items.get("properties").and_then(|all| all.get(name)).and_then(Value::as_object) else {
            checker.invalid(at, KEYS, &name.as_str().into(), "entries must all be names of item properties");
            continue;
        };
        let at = key(&at_items, name);
        if let Some(kind) = text(property, "type").filter(|kind| ["array", "object"].contains(&kind.as_str())) {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            checker.invalid(&at, "type", &kind.into(), detail);
        }
        if flag(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            checker.forbidden(&at, "nullable", detail);
        }
        if !required.contains(name) && property.get("default").is_none_or(Value::is_null) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            checker.required(&at, "default", detail);
        }
    }
}
