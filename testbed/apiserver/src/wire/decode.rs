//! From protobuf to JSON.

use base64::Engine;
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde_json::{Map, Number, Value};

use super::reader::{Fields, Wire, WireError};
use super::table::{Field, FieldType, Message, Shape, message, message_of};
use crate::error::ApiError;

/// What every protobuf body of Kubernetes begins with.
const MAGIC: &[u8] = b"k8s\0";
/// How deep messages may be nested.
const DEEPEST: usize = 64;

/// Reads a body: the magic bytes, then a `runtime.Unknown` with apiVersion, kind and the object itself.
///
/// # Errors
/// 400 if it is malformed, 415 if the kind is none that the table has.
pub fn decode(body: &[u8]) -> Result<Value, ApiError> {
    let malformed = |error: WireError| ApiError::bad_request(format!("error decoding protobuf: {error}"));
    let envelope = body
        .strip_prefix(MAGIC)
        .ok_or_else(|| ApiError::bad_request("error decoding protobuf: the body does not begin with k8s and a zero"))?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut fields = Fields(envelope);
    while let Some((number, wire)) = fields.next().map_err(malformed)? {
        match (number, wire) {
            (1, Wire::Bytes(meta)) => {
                let mut meta = Fields(meta);
                while let Some((number, wire)) = meta.next().map_err(malformed)? {
                    match number {
                        1 => api_version = text(number, wire).map_err(malformed)?,
                        2 => kind = text(number, wire).map_err(malformed)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let Some(message) = message_of(group, version, &kind) else {
        return Err(ApiError::unsupported_media_type(&format!(
            "application/json, application/yaml ({api_version} {kind} is not read from protobuf)"
        )));
    };
    let mut object = Map::new();
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    fill(&mut object, message, raw, DEEPEST).map_err(malformed)?;
    Ok(Value::Object(object))
}

fn fill(object: &mut Map<String, Value>, message: &Message, bytes: &[u8], depth: usize) -> Result<(), WireError> {
    let depth = depth.checked_sub(1).ok_or(WireError::Depth)?;
    let mut fields = Fields(bytes);
    while let Some((number, wire)) = fields.next()? {
        // As everywhere in protobuf, a number that is not known belongs to a newer client and is passed over.
        let Some(field) = message.fields.iter().find(|field| field.number == number) else { continue };
        match field.shape {
            Shape::One => one(object, field, wire, depth)?,
            Shape::List => {
                let value = value(field, wire, depth)?;
                let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(items) = list {
                    items.push(value);
                }
            }
            Shape::Map => {
                let (key, value) = entry(field, wire, depth)?;
                let map = object.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                crate::meta::as_map(map).insert(key, value);
            }
        }
    }
    Ok(())
}

fn one(object: &mut Map<String, Value>, field: &Field, wire: Wire<'_>, depth: usize) -> Result<(), WireError> {
    if let (true, FieldType::Message(name), Wire::Bytes(bytes)) = (field.name.is_empty(), field.kind, wire) {
        return message(name).map_or(Ok(()), |inner| fill(object, inner, bytes, depth));
    }
    let value = value(field, wire, depth)?;
    let zero = match &value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    };
    if !(value.is_null() || field.sparse && zero) {
        object.insert(field.name.to_owned(), value);
    }
    Ok(())
}

fn entry(field: &Field, wire: Wire<'_>, depth: usize) -> Result<(String, Value), WireError> {
    let Wire::Bytes(bytes) = wire else { return Err(WireError::Mismatch(field.number)) };
    let mut fields = Fields(bytes);
    let (mut key, mut found) = (String::new(), None);
    while let Some((number, wire)) = fields.next()? {
        match number {
            1 => key = text(number, wire)?,
            2 => found = Some(value(field, wire, depth)?),
            _ => {}
        }
    }
    let empty = match field.kind {
        FieldType::Text | FieldType::Bytes => Value::String(String::new()),
        _ => Value::Null,
    };
    Ok((key, found.unwrap_or(empty)))
}

fn value(field: &Field, wire: Wire<'_>, depth: usize) -> Result<Value, WireError> {
    let bytes = || match wire {
        Wire::Bytes(bytes) => Ok(bytes),
        _ => Err(WireError::Mismatch(field.number)),
    };
    let varint = || match wire {
        Wire::Varint(value) => Ok(value),
        _ => Err(WireError::Mismatch(field.number)),
    };
    Ok(match field.kind {
        FieldType::Text => Value::String(text(field.number, wire)?),
        FieldType::Bytes => Value::String(base64::engine::general_purpose::STANDARD.encode(bytes()?)),
        FieldType::Bool => Value::Bool(varint()? != 0),
        FieldType::Integer => varint()?.cast_signed().into(),
        FieldType::Double => match wire {
            Wire::Fixed64(bits) => Number::from_f64(f64::from_bits(bits)).map_or(Value::Null, Value::Number),
            _ => return Err(WireError::Mismatch(field.number)),
        },
        FieldType::Time => time(bytes()?, 0)?,
        FieldType::MicroTime => time(bytes()?, 6)?,
        FieldType::Quantity => Value::String(first_text(bytes()?)?),
        FieldType::IntOrString => int_or_string(bytes()?)?,
        FieldType::Raw => raw(bytes()?)?,
        FieldType::Texts => {
            let mut texts = Vec::new();
            let mut fields = Fields(bytes()?);
            while let Some((number, wire)) = fields.next()? {
                texts.push(Value::String(text(number, wire)?));
            }
            Value::Array(texts)
        }
        FieldType::Message(name) => {
            let mut object = Map::new();
            if let Some(message) = message(name) {
                fill(&mut object, message, bytes()?, depth)?;
            }
            alternative(name, object)
        }
    })
}

/// Messages of which JSON shows one member in the place of the whole.
fn alternative(name: &str, mut object: Map<String, Value>) -> Value {
    let members: &[&str] = match name {
        "apiextensions.JSONSchemaPropsOrArray" => &["schema", "jSONSchemas"],
        "apiextensions.JSONSchemaPropsOrBool" => &["schema", "allows"],
        "apiextensions.JSONSchemaPropsOrStringArray" => &["schema", "property"],
        _ => return Value::Object(object),
    };
    members.iter().find_map(|member| object.shift_remove(*member)).unwrap_or(Value::Null)
}

fn text(number: u32, wire: Wire<'_>) -> Result<String, WireError> {
    match wire {
        Wire::Bytes(bytes) => String::from_utf8(bytes.to_vec()).map_err(|_| WireError::Text),
        _ => Err(WireError::Mismatch(number)),
    }
}

fn first_text(bytes: &[u8]) -> Result<String, WireError> {
    let mut fields = Fields(bytes);
    while let Some((number, wire)) = fields.next()? {
        if number == 1 {
            return text(number, wire);
        }
    }
    Ok(String::new())
}

fn time(bytes: &[u8], digits: u8) -> Result<Value, WireError> {
    let mut fields = Fields(bytes);
    let (mut seconds, mut nanos, mut given) = (0i64, 0i64, false);
    while let Some((number, wire)) = fields.next()? {
        if let Wire::Varint(value) = wire {
            given = true;
            match number {
                1 => seconds = value.cast_signed(),
                2 => nanos = value.cast_signed(),
                _ => {}
            }
        }
    }
    if !given {
        return Ok(Value::Null);
    }
    let malformed = |error: jiff::Error| WireError::Value(error.to_string());
    let nanos = i32::try_from(nanos).map_err(|error| WireError::Value(error.to_string()))?;
    let nanos = if digits == 0 { 0 } else { nanos / 1000 * 1000 };
    let time = Timestamp::new(seconds, nanos).map_err(malformed)?;
    let mut text = String::new();
    let printer = DateTimePrinter::new().precision(Some(digits));
    printer.print_timestamp(&time, &mut text).map_err(malformed)?;
    Ok(Value::String(text))
}

fn int_or_string(bytes: &[u8]) -> Result<Value, WireError> {
    let mut fields = Fields(bytes);
    let (mut is_text, mut number_value, mut text_value) = (false, 0, String::new());
    while let Some((number, wire)) = fields.next()? {
        match (number, wire) {
            (1, Wire::Varint(kind)) => is_text = kind == 1,
            (2, Wire::Varint(value)) => number_value = value.cast_signed(),
            (3, wire) => text_value = text(number, wire)?,
            _ => {}
        }
    }
    Ok(if is_text { text_value.into() } else { number_value.into() })
}

fn raw(bytes: &[u8]) -> Result<Value, WireError> {
    let mut fields = Fields(bytes);
    while let Some((number, wire)) = fields.next()? {
        if let (1, Wire::Bytes(json)) = (number, wire) {
            return serde_json::from_slice(json).map_err(|error| WireError::Value(error.to_string()));
        }
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
        out.extend(content);
        out
    }

    fn number(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    fn body(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, object)].concat()
    }

    #[test]
    fn a_lease() {
        let metadata = [field(1, b"l"), field(2, b""), field(8, b"")].concat();
        let time = [number(1, 60), vec![2 << 3, 0xE8, 0x07]].concat();
        let spec = [field(1, b"me"), number(2, 15), field(4, &time)].concat();
        let lease = [field(1, &metadata), field(2, &spec)].concat();
        assert_eq!(
            decode(&body("coordination.k8s.io/v1", "Lease", &lease)).unwrap(),
            json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "l"},
                "spec": {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "renewTime": "1970-01-01T00:01:00.000001Z",
                },
            })
        );
    }

    #[test]
    fn a_service() {
        let target = [number(1, 1), number(2, 0), field(3, b"http")].concat();
        let port = [field(1, b""), field(2, b"TCP"), number(3, 80), field(4, &target), number(5, 0)].concat();
        let selector = [field(1, b"app"), field(2, b"web")].concat();
        let spec = [field(1, &port), field(2, &selector), field(3, b"")].concat();
        let service = [field(1, &field(1, b"s")), field(2, &spec)].concat();
        let decoded = decode(&body("v1", "Service", &service)).unwrap();
        assert_eq!(
            decoded["spec"],
            json!({"ports": [{"protocol": "TCP", "port": 80, "targetPort": "http"}], "selector": {"app": "web"}})
        );
    }

    #[test]
    fn what_is_not_protobuf_is_refused() {
        assert_eq!(decode(b"{}").unwrap_err().code, 400);
        assert_eq!(decode(&body("example.dev/v1", "Widget", b"")).unwrap_err().code, 415);
        assert_eq!(decode(&body("v1", "Service", &[0x0A, 0x7F])).unwrap_err().code, 400);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(object in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&body("v1", "Pod", &object));
            let _ = decode(&[MAGIC, &object[..]].concat());
        }
    }
}
