//! Values that say of which type they are, such as addresses.

use indexmap::IndexMap;
use regex::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::finding::{Finding, held};
use super::rule::Rule;
use crate::judge::conditions::array;

/// A list of values that each say of which type they are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedValues {
    /// JSON pointer.
    at: String,
    /// By type, the form that a value of it never has.
    #[serde(deserialize_with = "forms")]
    never: IndexMap<String, Regex>,
}

fn forms<'de, D: Deserializer<'de>>(from: D) -> Result<IndexMap<String, Regex>, D::Error> {
    let texts = IndexMap::<String, String>::deserialize(from)?;
    texts.into_iter().map(|(type_, text)| Ok((type_, Regex::new(&text).map_err(D::Error::custom)?))).collect()
}

impl TypedValues {
    /// Where they stand, as JSON pointer.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// Whether the values have a form that their type can have.
    pub(super) fn check(&self, object: &Value) -> Vec<Finding> {
        let one = |(at, entry): (usize, &Value)| {
            let text = |field: &str| entry.get(field).and_then(Value::as_str);
            let (type_, value) = (text("type")?, text("value")?);
            let form = self.never.get(type_)?;
            let path = format!("{}[{at}]", self.at.trim_start_matches('/').replace('/', "."));
            Some(held(Rule::ValueFitsType, path, !form.is_match(value), || format!("{value:?} of type {type_}")))
        };
        array(object.pointer(&self.at)).iter().enumerate().filter_map(one).collect()
    }
}
