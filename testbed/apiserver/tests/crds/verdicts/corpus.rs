//! Which samples a field gets, and how samples are built.

use serde_json::{Map, Value, json};

use super::fields::Field;
use super::{gateways, routes, telemetry};

/// A value to judge, after an old one if it is an update.
#[derive(Clone)]
pub struct Sample {
    pub new: Value,
    pub old: Option<Value>,
}

/// What decides, besides the kind's own samples for `rules`, which samples a field gets.
pub fn name(field: &Field) -> String {
    let kind = if field.path.ends_with("rules") { &field.plural } else { "" };
    format!("{kind} {}", field.path)
}

/// The samples of a field.
///
/// Panics for a field that has none: a new rule needs its samples.
pub fn samples(field: &Field) -> Vec<Sample> {
    if field.path.ends_with("controllerName") {
        return [
            (json!("a.b/c"), None),
            (json!("a.b/c"), Some(json!("a.b/c"))),
            (json!("a.b/d"), Some(json!("a.b/c"))),
        ]
        .map(|(new, old)| Sample { new, old })
        .to_vec();
    }
    let values = match field.plural.as_str() {
        "gateways" | "listenersets" | "backendtlspolicies" | "xbackends" => gateways::values(&field.path),
        "xtelemetrypolicies" => telemetry::values(&field.path),
        _ => None,
    };
    // What kinds share with routes, as the reference to a backend.
    let values = values.or_else(|| routes::values(&field.plural, &field.path));
    let values = values.unwrap_or_else(|| panic!("{} has rules but no samples", field.at));
    values.into_iter().map(|new| Sample { new, old: None }).collect()
}

/// Objects: every combination of a field's values, `None` leaving the field out.
pub fn objects(fields: &[(&str, Vec<Option<Value>>)]) -> Vec<Value> {
    let mut all = vec![Map::new()];
    for (name, values) in fields {
        all = all
            .into_iter()
            .flat_map(|object| {
                values.iter().map(move |value| {
                    let mut object = object.clone();
                    if let Some(value) = value {
                        object.insert((*name).to_owned(), value.clone());
                    }
                    object
                })
            })
            .collect();
    }
    all.into_iter().map(Value::Object).collect()
}

/// Lists: every sequence of up to `longest` elements.
pub fn lists(elements: &[Value], longest: usize) -> Vec<Value> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..longest {
        last = last
            .iter()
            .flat_map(|list| {
                elements.iter().map(move |element| [list.as_slice(), std::slice::from_ref(element)].concat())
            })
            .collect();
        all.extend(last.clone());
    }
    all.into_iter().map(Value::Array).collect()
}

/// Values that are always there.
pub fn some<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Vec<Option<Value>> {
    values.into_iter().map(|value| Some(value.into())).collect()
}

/// Values, and none.
pub fn maybe<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Vec<Option<Value>> {
    std::iter::once(None).chain(some(values)).collect()
}

/// Strings.
pub fn strings(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| json!(value)).collect()
}
