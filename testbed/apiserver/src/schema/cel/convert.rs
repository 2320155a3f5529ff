//! From JSON to the values that rules see.

use base64::Engine as _;
use serde_json::{Number, Value};

use super::engine::{Engine, Scalar};
use super::escape::escape;
use crate::schema::node::{Additional, Kind, Node};

/// Of an object's own metadata, rules see these fields and no others.
const VISIBLE_META: [&str; 2] = ["name", "generateName"];

/// Converts a value as its schema types it; fields that the schema does not declare stay hidden.
pub(crate) fn convert<E: Engine>(node: &Node, value: &Value) -> E::Value {
    match value {
        Value::Array(items) => E::list(items.iter().map(|item| convert_item::<E>(node, item)).collect()),
        Value::Object(map) => {
            let members = map.iter().filter_map(|(name, member)| {
                let (name, schema) = visible(node, name)?;
                Some((name, schema.map_or_else(|| untyped::<E>(member), |schema| convert::<E>(schema, member))))
            });
            E::map(members.collect())
        }
        scalar => convert_scalar::<E>(node, scalar),
    }
}

fn convert_item<E: Engine>(node: &Node, item: &Value) -> E::Value {
    node.items.as_ref().map_or_else(|| untyped::<E>(item), |schema| convert::<E>(schema, item))
}

/// The name under which rules see a member, and its schema if it has one; nothing when they do not see it.
pub(crate) fn visible<'n>(node: &'n Node, name: &str) -> Option<(String, Option<&'n Node>)> {
    if node.object_meta && !VISIBLE_META.contains(&name) {
        return None;
    }
    if let Some(property) = node.properties.get(name) {
        return Some((escape(name).into_owned(), Some(property)));
    }
    match &node.additional {
        Additional::Schema(schema) => Some((name.to_owned(), Some(schema))),
        Additional::Any => Some((name.to_owned(), None)),
        Additional::None if node.kind == Kind::Any => Some((escape(name).into_owned(), None)),
        Additional::None => None,
    }
}

/// A scalar as its schema types it.
pub(crate) fn convert_scalar<E: Engine>(node: &Node, value: &Value) -> E::Value {
    match (node.kind, value, node.values.format.as_deref()) {
        (Kind::Number, Value::Number(number), _) => E::scalar(double(number)),
        (Kind::String, Value::String(text), Some("date-time")) => E::scalar(Scalar::Timestamp(text)),
        (Kind::String, Value::String(text), Some("duration")) => E::scalar(Scalar::Duration(text)),
        (Kind::String, Value::String(text), Some("byte")) => {
            match base64::engine::general_purpose::STANDARD.decode(text) {
                Ok(bytes) => E::scalar(Scalar::Bytes(&bytes)),
                Err(_) => E::scalar(Scalar::Text(text)),
            }
        }
        _ => untyped::<E>(value),
    }
}

fn double(number: &Number) -> Scalar<'static> {
    Scalar::Double(number.as_f64().unwrap_or(f64::NAN))
}

/// A value without a schema.
pub(crate) fn untyped<E: Engine>(value: &Value) -> E::Value {
    match value {
        Value::Null => E::scalar(Scalar::Null),
        Value::Bool(bool) => E::scalar(Scalar::Bool(*bool)),
        Value::Number(number) => E::scalar(match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => Scalar::Int(int),
            // Whole floats are integers to the API server.
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
            (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9.0e15 => Scalar::Int(float as i64),
            _ => double(number),
        }),
        Value::String(text) => E::scalar(Scalar::Text(text)),
        Value::Array(items) => E::list(items.iter().map(untyped::<E>).collect()),
        Value::Object(map) => E::map(map.iter().map(|(name, member)| (name.clone(), untyped::<E>(member))).collect()),
    }
}
