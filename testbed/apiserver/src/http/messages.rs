//! Schemas of built-in kinds for OpenAPI documents, from the table of their fields.

use serde_json::{Map, Value, json};

use crate::wire::{Field, FieldType, Message, Shape, message};

/// The name under which a message stands in a document.
pub fn component(name: &str) -> String {
    match name.split_once('.') {
        Some(("meta", kind)) => format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"),
        Some(("apiextensions", kind)) => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{kind}"),
        Some((package, kind)) => format!("io.k8s.api.{package}.v1.{kind}"),
        None => name.to_owned(),
    }
}

/// Adds a message and all that it is made of.
pub fn add(schemas: &mut Map<String, Value>, name: &str) {
    let Some(found) = message(name) else { return };
    if schemas.contains_key(&component(name)) {
        return;
    }
    let mut properties = Map::new();
    if found.fields.iter().any(|field| field.name == "metadata") {
        properties.insert("apiVersion".into(), json!({"type": "string"}));
        properties.insert("kind".into(), json!({"type": "string"}));
    }
    members(found, &mut properties);
    schemas.insert(component(name), json!({"type": "object", "properties": properties}));
    for part in parts(found) {
        add(schemas, part);
    }
}

fn members(of: &Message, properties: &mut Map<String, Value>) {
    for field in &of.fields {
        match field.kind {
            FieldType::Message(inner) if field.name.is_empty() => {
                if let Some(inner) = message(inner) {
                    members(inner, properties);
                }
            }
            _ => drop(properties.insert(field.name.to_owned(), schema(field))),
        }
    }
}

/// The messages that a message's schema refers to, also through those whose members stand in their place.
fn parts(of: &Message) -> Vec<&'static str> {
    let part = |field: &Field| match field.kind {
        FieldType::Message(inner) if field.name.is_empty() => message(inner).map(parts).unwrap_or_default(),
        FieldType::Message(inner) if shown_as_any(inner) => Vec::new(),
        FieldType::Message(inner) => vec![inner],
        _ => Vec::new(),
    };
    of.fields.iter().flat_map(part).collect()
}

/// Messages that JSON shows as one of several types.
fn shown_as_any(name: &str) -> bool {
    name.starts_with("apiextensions.JSONSchemaPropsOr")
}

fn schema(field: &Field) -> Value {
    let one = match field.kind {
        FieldType::Text | FieldType::Quantity => json!({"type": "string"}),
        FieldType::Bytes => json!({"type": "string", "format": "byte"}),
        FieldType::Bool => json!({"type": "boolean"}),
        FieldType::Integer => json!({"type": "integer", "format": "int64"}),
        FieldType::Double => json!({"type": "number", "format": "double"}),
        FieldType::Time | FieldType::MicroTime => json!({"type": "string", "format": "date-time"}),
        FieldType::IntOrString => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        FieldType::Raw => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        FieldType::Texts => json!({"type": "array", "items": {"type": "string"}}),
        FieldType::Message(name) if shown_as_any(name) => json!({"x-kubernetes-preserve-unknown-fields": true}),
        FieldType::Message(name) => json!({"$ref": format!("#/components/schemas/{}", component(name))}),
    };
    match field.shape {
        Shape::One => one,
        Shape::List => json!({"type": "array", "items": one}),
        Shape::Map => json!({"type": "object", "additionalProperties": one}),
    }
}
