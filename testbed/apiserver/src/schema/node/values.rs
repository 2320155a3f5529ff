//! Value validations of a schema node, as data.

use serde_json::{Map, Number, Value};

use super::Node;
use crate::schema::SchemaError;
use crate::schema::read::{flag, strings, text};

/// Everything beside the type that a node asks of a value.
#[derive(Debug, Default)]
pub(crate) struct ValueRules {
    pub(crate) required: Vec<String>,
    pub(crate) enumeration: Option<Vec<Value>>,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) unique_items: bool,
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
}

impl ValueRules {
    pub(crate) fn compile(map: &Map<String, Value>, at: &str) -> Result<ValueRules, SchemaError> {
        let branches = |name: &str| -> Result<Vec<Node>, SchemaError> {
            let list = map.get(name).and_then(Value::as_array);
            let compile = |(index, branch)| Node::compile(branch, &format!("{at}.{name}[{index}]"));
            list.into_iter().flatten().enumerate().map(compile).collect()
        };
        let count = |name: &str| map.get(name).and_then(Value::as_u64);
        let number = |name: &str| match map.get(name) {
            Some(Value::Number(number)) => Some(number.clone()),
            _ => None,
        };
        Ok(ValueRules {
            required: strings(map, "required"),
            enumeration: map.get("enum").and_then(Value::as_array).cloned(),
            pattern: text(map, "pattern"),
            format: text(map, "format"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: flag(map, "exclusiveMinimum"),
            exclusive_maximum: flag(map, "exclusiveMaximum"),
            multiple_of: map.get("multipleOf").and_then(Value::as_f64),
            unique_items: flag(map, "uniqueItems"),
            all_of: branches("allOf")?,
            any_of: branches("anyOf")?,
            one_of: branches("oneOf")?,
            not: match map.get("not") {
                Some(branch) => Some(Box::new(Node::compile(branch, &format!("{at}.not"))?)),
                None => None,
            },
        })
    }
}
