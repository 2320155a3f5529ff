//! One step of a field path, in the encoding of FieldsV1.

use std::fmt;

use serde_json::{Map, Value};

/// `f:name`, `k:{"name":"a"}`, `v:"a"` or `i:0`.
///
/// The encoded form is canonical (keys sorted, no white space), so elements compare as strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Element(String);

impl Element {
    /// A field of an object or key of a map.
    pub(crate) fn field(name: &str) -> Element {
        Element(format!("f:{name}"))
    }

    /// An item of a list that is a map.
    pub(crate) fn key(keys: impl IntoIterator<Item = (String, Value)>) -> Element {
        let mut keys: Vec<(String, Value)> = keys.into_iter().collect();
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        Element(format!("k:{}", Value::Object(keys.into_iter().collect())))
    }

    /// An item of a list that is a set.
    pub(crate) fn value(value: &Value) -> Element {
        Element(format!("v:{value}"))
    }

    /// Reads an encoded element, whatever the order of its keys.
    pub(crate) fn decode(encoded: &str) -> Option<Element> {
        let (tag, rest) = encoded.split_once(':')?;
        match tag {
            "f" => Some(Element::field(rest)),
            "k" => Some(Element::key(serde_json::from_str::<Map<String, Value>>(rest).ok()?)),
            "v" => Some(Element::value(&serde_json::from_str(rest).ok()?)),
            "i" => rest.parse::<u64>().ok().map(|index| Element(format!("i:{index}"))),
            _ => None,
        }
    }

    /// The encoded form.
    pub(crate) fn encoded(&self) -> &str {
        &self.0
    }

    /// The name, if this is a field.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }
}

/// As conflicts spell it: `.name`, `[name="a",port=80]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tag, rest) = self.0.split_once(':').unwrap_or(("", &self.0));
        match tag {
            "f" => write!(f, ".{rest}"),
            "v" => write!(f, "[={rest}]"),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
                let keys: Vec<String> = keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            _ => write!(f, "[{rest}]"),
        }
    }
}
