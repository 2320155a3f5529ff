//! OpenAPI version 2, which clients read in protobuf: the schemas of version 3 as far as version 2 can say them.

use http::{Response, StatusCode, header};
use serde_json::{Map, Value, json};

use super::answers::{answer_with, json_answer};
use super::app::Call;
use super::body::Body;
use super::openapi;
use crate::error::ApiError;
use crate::kinds::Registry;
use crate::present::clauses;
use crate::wire::Writer;

/// What clients of Kubernetes ask for.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// What the answer calls it; the @ may stand in no Content-Type.
const ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The members of a schema that are there in both versions, with their numbers in protobuf where these hold text.
const TEXTS: [(&str, u32); 4] = [("format", 2), ("title", 3), ("description", 4), ("pattern", 13)];
/// The same for whole numbers.
const NUMBERS: [(&str, u32); 6] = [
    ("maxLength", 11),
    ("minLength", 12),
    ("maxItems", 14),
    ("minItems", 15),
    ("maxProperties", 17),
    ("minProperties", 18),
];

/// `/openapi/v2`, in protobuf where it is asked for.
pub fn answer(call: &Call<'_>, registry: &Registry) -> Result<Response<Body>, ApiError> {
    let definitions: Map<String, Value> =
        openapi::schemas(registry).into_iter().map(|(name, schema)| (name, simplified(&schema))).collect();
    let protobuf = clauses(call.header(header::ACCEPT)).iter().find_map(|clause| match clause.media {
        PROTOBUF => Some(true),
        "application/json" | "application/*" | "*/*" => Some(false),
        _ => None,
    });
    if protobuf == Some(true) {
        return Ok(answer_with(StatusCode::OK, ANSWERED, &[], encoded(&definitions)));
    }
    json_answer(&json!({
        "swagger": "2.0",
        "info": {"title": openapi::TITLE, "version": openapi::VERSION},
        "paths": {},
        "definitions": definitions,
    }))
}

/// A schema without what version 2 has no words for: alternatives, null, and references beside anything else.
fn simplified(schema: &Value) -> Value {
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        return json!({"$ref": reference.replace("#/components/schemas/", "#/definitions/")});
    }
    let mut simple = Map::new();
    let named = ["type", "enum", "required"].into_iter().chain(TEXTS.iter().chain(&NUMBERS).map(|(name, _)| *name));
    for name in named {
        if let Some(value) = schema.get(name) {
            simple.insert(name.to_owned(), value.clone());
        }
    }
    // A number or a text, as version 2 of Kubernetes' own document says it.
    if schema["x-kubernetes-int-or-string"] == true || schema["format"] == "int-or-string" {
        simple.insert("type".into(), "string".into());
        simple.insert("format".into(), "int-or-string".into());
    }
    if let Some(properties) = schema["properties"].as_object() {
        let properties = properties.iter().map(|(name, schema)| (name.clone(), simplified(schema)));
        simple.insert("properties".into(), properties.collect());
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = schema.get(name) {
            simple.insert(name.to_owned(), simplified(inner));
        }
    }
    for (name, value) in schema.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-kubernetes-"))
    {
        simple.insert(name.clone(), value.clone());
    }
    Value::Object(simple)
}

/// The document as `openapi.v2.Document`.
fn encoded(definitions: &Map<String, Value>) -> Vec<u8> {
    let mut document = Writer::default();
    document.text(1, "2.0");
    document.message(2, |info| {
        info.text(1, openapi::TITLE);
        info.text(2, openapi::VERSION);
    });
    document.message(8, |_| {});
    document.message(9, |all| named_schemas(all, 1, definitions));
    document.finish()
}

fn named_schemas(out: &mut Writer, field: u32, schemas: &Map<String, Value>) {
    for (name, schema) in schemas {
        out.message(field, |named| {
            named.text(1, name);
            named.message(2, |value| encode(value, schema));
        });
    }
}

fn encode(out: &mut Writer, schema: &Value) {
    if let Some(reference) = schema["$ref"].as_str() {
        return out.text(1, reference);
    }
    for (name, field) in TEXTS {
        if let Some(text) = schema[name].as_str() {
            out.text(field, text);
        }
    }
    for (name, field) in NUMBERS {
        if let Some(number) = schema[name].as_u64() {
            out.number(field, number);
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.text(19, name);
    }
    // Values of any type are texts in YAML, of which JSON is a part.
    for value in schema["enum"].as_array().into_iter().flatten() {
        out.message(20, |any| any.text(2, &value.to_string()));
    }
    if schema["additionalProperties"].is_object() {
        out.message(21, |item| item.message(1, |inner| encode(inner, &schema["additionalProperties"])));
    }
    if let Some(kind) = schema["type"].as_str() {
        out.message(22, |item| item.text(1, kind));
    }
    if schema["items"].is_object() {
        out.message(23, |item| item.message(1, |inner| encode(inner, &schema["items"])));
    }
    if let Some(properties) = schema["properties"].as_object() {
        out.message(25, |all| named_schemas(all, 1, properties));
    }
    for (name, value) in schema.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-")) {
        out.message(31, |named| {
            named.text(1, name);
            named.message(2, |any| any.text(2, &value.to_string()));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_version_2_can() {
        let schema = json!({
            "type": "object",
            "nullable": true,
            "properties": {
                "at": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true},
                "of": {"allOf": [{"$ref": "#/components/schemas/a.B"}], "default": {}},
                "list": {"type": "array", "items": {"type": "string", "pattern": "^a$", "maxLength": 3}},
                "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
            },
        });
        assert_eq!(
            simplified(&schema),
            json!({
                "type": "object",
                "properties": {
                    "at": {"type": "string", "format": "int-or-string", "x-kubernetes-int-or-string": true},
                    "of": {"$ref": "#/definitions/a.B"},
                    "list": {"type": "array", "items": {"type": "string", "pattern": "^a$", "maxLength": 3}},
                    "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
                },
            })
        );
    }
}
