//! Bodies of requests: JSON with duplicate fields noticed, YAML, and protobuf.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::cluster::Draft;
use crate::error::ApiError;
use crate::wire;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    Json,
    /// YAML, of which JSON is a part.
    Yaml,
    /// Kubernetes' protobuf, for built-in kinds.
    Protobuf,
}

impl Encoding {
    /// By the media type of a Content-Type header; JSON where there is none.
    ///
    /// # Errors
    /// 415 for anything else.
    pub fn of(media: &str) -> Result<Self, ApiError> {
        match media {
            "" | "application/json" | "*/*" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            _ => Err(ApiError::unsupported_media_type(
                "application/json, application/yaml, application/vnd.kubernetes.protobuf",
            )),
        }
    }

    /// Reads a body.
    ///
    /// # Errors
    /// 400 if it is not what it says to be.
    pub fn decode(self, body: &[u8]) -> Result<Draft, ApiError> {
        match self {
            Self::Json => json(body),
            Self::Yaml => json(body).or_else(|_| yaml(body)),
            Self::Protobuf => wire::decode(body).map(Draft::from),
        }
    }
}

fn yaml(body: &[u8]) -> Result<Draft, ApiError> {
    let refuse = |why: String| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let text = std::str::from_utf8(body).map_err(|error| refuse(error.to_string()))?;
    let object: Value = serde_yaml::from_str(text).map_err(|error| refuse(error.to_string()))?;
    Ok(Draft::from(object))
}

fn json(body: &[u8]) -> Result<Draft, ApiError> {
    let duplicates = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_slice(body);
    let seed = Node { path: String::new(), duplicates: &duplicates };
    let object = seed.deserialize(&mut reader).and_then(|object| reader.end().map(|()| object));
    let object = object.map_err(|error| ApiError::bad_request(format!("error decoding JSON: {error}")))?;
    Ok(Draft { object, duplicates: duplicates.into_inner() })
}

/// Reads a value at a path and notes the paths of members that come twice; the last one counts.
struct Node<'a> {
    path: String,
    duplicates: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, items.len());
            match access.next_element_seed(Node { path, duplicates: self.duplicates })? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if members.contains_key(&name) {
                self.duplicates.borrow_mut().push(path.clone());
            }
            let value = access.next_value_seed(Node { path, duplicates: self.duplicates })?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn duplicates_are_named_and_the_last_counts() {
        let draft = Encoding::Json.decode(br#"{"a": 1, "b": [{"c": 1, "c": 2}], "a": {"x": null}}"#).unwrap();
        assert_eq!(draft.object, json!({"a": {"x": null}, "b": [{"c": 2}]}));
        assert_eq!(draft.duplicates, ["b[0].c", "a"]);
    }

    #[test]
    fn yaml_is_read_where_it_is_announced() {
        let text = b"a: {b: [1, two]}\n";
        assert!(Encoding::Json.decode(text).is_err());
        assert_eq!(Encoding::Yaml.decode(text).unwrap().object, json!({"a": {"b": [1, "two"]}}));
        assert!(Encoding::Json.decode(b"{} {}").is_err());
        assert!(Encoding::of("application/cbor").is_err());
    }
}
