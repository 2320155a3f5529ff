//! Reading the members of a schema.

use serde_json::{Map, Value};

use super::SchemaError;

pub(crate) fn malformed(at: &str, what: impl Into<String>) -> SchemaError {
    SchemaError::Malformed { at: at.to_owned(), what: what.into() }
}

pub(crate) fn flag(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn strings(map: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = map.get(name).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
