//! From JSON to the values that rules see.

use base64::Engine as _;
use serde_json::Value;

use crate::schema::cel::{Engine, Scalar, double, escape, untyped};
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
