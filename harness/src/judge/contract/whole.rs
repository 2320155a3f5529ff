//! Rules about the status of an object as a whole, whichever conditions stand in it.

use std::collections::HashSet;

use serde_json::Value;

use super::finding::{Finding, held};
use super::list::entries;
use super::rule::Rule;
use super::terms::SortedField;
use crate::dialects::{Dialect, StatusList};
use crate::judge::conditions::array;

/// `metadata.resourceVersion`.
pub(super) fn resource_version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str)
}

/// One entry for each listener, and for each parent or ancestor and controller.
pub(super) fn unique_entries(at: StatusList, object: &Value, dialect: &Dialect) -> Vec<Finding> {
    let keys: Vec<String> = match at {
        StatusList::Object => return Vec::new(),
        StatusList::Listeners => array(object.pointer("/status/listeners"))
            .iter()
            .map(|entry| entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())
            .collect(),
        StatusList::Parents | StatusList::Ancestors => entries(at, object, dialect)
            .into_iter()
            .map(|(entry, parent)| {
                let controller = entry.get("controllerName").and_then(Value::as_str).unwrap_or_default();
                format!("{parent} by {controller}")
            })
            .collect(),
    };
    let mut known = HashSet::new();
    keys.iter()
        .map(|key| {
            let path = format!("status.{}[{key}]", at.field());
            held(Rule::EntryUnique, path, known.insert(key.clone()), || "more than one entry".to_owned())
        })
        .collect()
}

/// An entry for each listener of the spec, and for no other.
pub(super) fn listeners_complete(object: &Value) -> Vec<Finding> {
    let named = |pointer: &str| -> Vec<String> {
        let names = array(object.pointer(pointer)).iter().filter_map(|l| l.get("name").and_then(Value::as_str));
        names.map(str::to_owned).collect()
    };
    let (specified, reported) = (named("/spec/listeners"), named("/status/listeners"));
    let missing = specified.iter().map(|name| {
        let there = reported.contains(name);
        held(Rule::ListenersComplete, format!("status.listeners[{name}]"), there, || "no entry".to_owned())
    });
    let surplus = reported.iter().filter(|name| !specified.contains(name)).map(|name| {
        let seen = || "an entry of a listener that is not in the spec".to_owned();
        held(Rule::ListenersComplete, format!("status.listeners[{name}]"), false, seen)
    });
    missing.chain(surplus).collect()
}

/// Whether a list that must be sorted is, where it is there.
pub(super) fn sorted(field: &SortedField, object: &Value) -> Option<Finding> {
    let list = object.pointer(&field.at)?;
    let keys: Vec<_> = array(Some(list)).iter().map(|item| item.get(&field.by).and_then(Value::as_str)).collect();
    let path = field.at.trim_start_matches('/').replace('/', ".");
    Some(held(Rule::Sorted, path, keys.is_sorted(), || format!("{keys:?}")))
}

/// Whether a write changed anything beside times.
pub(super) fn quiescent(before: &Value, after: &Value) -> Option<Finding> {
    if resource_version(before) == resource_version(after) {
        return None;
    }
    let same = without_times(before) == without_times(after);
    Some(held(Rule::Quiescent, "status".to_owned(), !same, || "a write that changed nothing but times".to_owned()))
}

fn without_times(object: &Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(fields) => {
                fields.remove("lastTransitionTime");
                fields.values_mut().for_each(strip);
            }
            _ => {}
        }
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    if let Some(status) = object.get_mut("status") {
        strip(status);
    }
    object
}
