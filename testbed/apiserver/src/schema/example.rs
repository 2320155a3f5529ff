//! Example objects that have every field of a schema.

use serde_json::{Value, json};

use super::formats::MICRO_TIME;
use super::node::{Additional, Kind, Node};

/// A value with all declared fields, each with its default, its first enumerated value or a plain one.
pub(crate) fn example(node: &Node) -> Value {
    if let Some(first) = node.values.enumeration.as_ref().and_then(|values| values.first()) {
        return first.clone();
    }
    match node.kind {
        Kind::Object | Kind::Any => {
            let mut members: serde_json::Map<String, Value> =
                node.properties.iter().map(|(name, property)| (name.clone(), example(property))).collect();
            if let Additional::Schema(schema) = &node.additional {
                members.insert("key".to_owned(), example(schema));
            }
            Value::Object(members)
        }
        _ if node.default.is_some() => node.default.clone().unwrap_or_default(),
        Kind::Array => node.items.iter().map(|items| example(items)).collect(),
        Kind::String => match node.values.format.as_deref() {
            Some("date-time") => json!("2024-01-01T00:00:00Z"),
            Some(MICRO_TIME) => json!("2024-01-01T00:00:00.000000Z"),
            Some("byte") => json!("aGk="),
            _ => json!("text"),
        },
        Kind::Integer => node.values.minimum.clone().map_or_else(|| json!(1), Value::Number),
        Kind::Number => json!(1.5),
        Kind::Boolean => json!(true),
        Kind::IntOrString => json!("1"),
    }
}
