//! Uniqueness of the items of set lists and of the keys of map lists.

use serde_json::{Map, Value};

use super::cause::Cause;
use super::correlate::key_of;
use super::node::{ListType, Node};
use super::path::Path;

/// The duplicates in all lists of an object.
pub(crate) fn check(node: &Node, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    match value {
        Value::Object(map) => {
            for (name, member) in map {
                if let Some(schema) = node.properties.get(name) {
                    check(schema, member, &path.field(name), causes);
                } else if let Some(schema) = node.member(name) {
                    check(schema, member, &path.key(name), causes);
                }
            }
        }
        Value::Array(items) => {
            match node.list_type {
                Some(ListType::Set) => repeated(items.clone(), path, causes),
                Some(ListType::Map) => {
                    if let Some(index) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
                        let detail = "must be an object for an array of list-type map";
                        causes.push(Cause::invalid(path.index(index).bracketed(), &items[index], detail));
                    } else {
                        repeated(items.iter().map(|item| keys_of(node, item)).collect(), path, causes);
                    }
                }
                _ => {}
            }
            let Some(schema) = &node.items else { return };
            for (index, item) in items.iter().enumerate() {
                check(schema, item, &path.index(index), causes);
            }
        }
        _ => {}
    }
}

/// Whether an item of a map list has none of its keys, nor a default for one.
pub(crate) fn lacks_keys(node: &Node, value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(name, member)| node.member(name).is_some_and(|schema| lacks_keys(schema, member)))
        }
        Value::Array(items) => {
            let keyed = node.list_type == Some(ListType::Map);
            let lacks = |item: &Value| keyed && node.list_keys.iter().all(|key| key_of(node, item, key).is_none());
            let below = |item: &Value| node.items.as_ref().is_some_and(|schema| lacks_keys(schema, item));
            items.iter().any(|item| lacks(item) || below(item))
        }
        _ => false,
    }
}

fn keys_of(node: &Node, item: &Value) -> Value {
    let mut keys = Map::new();
    for key in &node.list_keys {
        if let Some(value) = key_of(node, item, key) {
            keys.insert(key.clone(), value.clone());
        }
    }
    Value::Object(keys)
}

/// Reports the second occurrence of each value, once.
fn repeated(values: Vec<Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    for (index, value) in values.iter().enumerate() {
        if values[..index].iter().filter(|earlier| *earlier == value).count() == 1 {
            causes.push(Cause::duplicate(path.index(index).bracketed(), value));
        }
    }
}
