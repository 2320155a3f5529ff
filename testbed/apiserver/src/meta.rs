//! Reading and writing of `metadata`.

use jiff::Timestamp;
use serde_json::{Map, Value};

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|meta| meta.get(field)).and_then(Value::as_str).unwrap_or("")
}

/// `metadata.name`, or nothing.
pub fn name(object: &Value) -> &str {
    text(object, "name")
}

/// `metadata.namespace`, or nothing.
pub fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// `metadata.uid`, or nothing.
pub fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// `metadata.resourceVersion`, or nothing.
pub fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

/// `apiVersion`, or nothing.
pub fn api_version(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or("")
}

/// `kind`, or nothing.
pub fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or("")
}

/// Whether a deletion has begun.
pub fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// `metadata.generation`, 0 where there is none.
pub fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
}

/// The strings of a list; nothing of what is none.
pub fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The strings of a list under `metadata`.
pub fn strings<'a>(object: &'a Value, field: &str) -> Vec<&'a str> {
    let list = object.get("metadata").and_then(|meta| meta.get(field)).and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// `metadata.finalizers`.
pub fn finalizers(object: &Value) -> Vec<&str> {
    strings(object, "finalizers")
}

/// `metadata.ownerReferences`.
pub fn owners(object: &Value) -> &[Value] {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The uids of all owners.
pub fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owners(object).iter().filter_map(|owner| owner.get("uid").and_then(Value::as_str))
}

/// One label's value.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// `metadata` for writing; made where it is missing or is no object.
pub fn entry(object: &mut Value) -> &mut Map<String, Value> {
    child(object, "metadata")
}

/// A member that is an object, for writing; made where it is missing or is no object.
pub fn child<'a>(object: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    let slot = as_map(object).entry(field).or_insert(Value::Null);
    as_map(slot)
}

/// The object as a map; anything else becomes an empty one.
pub fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        // Made an object above.
        _ => unreachable!("the value was made an object"),
    }
}

/// Writes `metadata.resourceVersion` as the decimal that clients compare.
pub fn set_resource_version(object: &mut Value, revision: u64) {
    entry(object).insert("resourceVersion".into(), Value::String(revision.to_string()));
}

/// Writes `metadata.finalizers`, without the field where the list is empty.
pub fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    let meta = entry(object);
    if finalizers.is_empty() {
        meta.shift_remove("finalizers");
    } else {
        meta.insert("finalizers".into(), finalizers.into());
    }
}

/// Now, in whole seconds, as `metav1.Time` is written.
pub fn now() -> String {
    whole_seconds(Timestamp::now())
}

/// A time in whole seconds, as `metav1.Time` is written.
pub fn whole_seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// Sets a member unless it is there.
pub fn set_default(map: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    if map.get(field).is_none_or(Value::is_null) {
        map.insert(field.to_owned(), value.into());
    }
}
