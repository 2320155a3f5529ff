//! A backend's account of a request, as it stands in an answer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The JSON in which an echo backend tells what it received. Kept as text: a run has thousands of them, and a parsed one
/// takes several times the room.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "serde_json::Map<String, Value>")]
pub struct EchoText(Arc<str>);

impl EchoText {
    /// The account that JSON is, if it is one: it names its Pod.
    pub fn of(json: &Value) -> Option<Self> {
        json.get("pod").is_some_and(Value::is_string).then(|| Self(Arc::from(json.to_string())))
    }

    /// The account that a body or line is, if it is one. What made it long was as it should be, and is kept nowhere.
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut json: Value = serde_json::from_slice(text).ok()?;
        if let Some(filler) = json.as_object_mut().and_then(|fields| fields.remove("filler")) {
            let (filler, length) = (filler.as_str()?, json["fillerLength"].as_u64()?);
            if filler.len() as u64 != length || filler != gateproof_echo::filler(filler.len()) {
                return None;
            }
        }
        Self::of(&json)
    }

    /// The account, field by field.
    pub fn parse(&self) -> Value {
        // It was made from JSON, so it is some.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for EchoText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parse().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EchoText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(&Value::deserialize(deserializer)?)
            .ok_or_else(|| serde::de::Error::custom("an echo's account names its `pod`"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn is_written_as_the_json_that_it_is() {
        let account = json!({"pod": "echo-1", "headers": {"X-A": ["one"]}});
        let echo = EchoText::of(&account).unwrap();
        assert_eq!(serde_json::to_value(&echo).unwrap(), account);
        assert_eq!(serde_json::from_value::<EchoText>(account).unwrap(), echo);
    }

    #[test]
    fn what_makes_it_long_is_looked_at_and_not_kept() {
        let long = |filler: &str| {
            EchoText::read(json!({"filler": filler, "fillerLength": 2500, "pod": "echo-1"}).to_string().as_bytes())
        };
        let whole = gateproof_echo::filler(2500);
        assert_eq!(long(&whole).unwrap().parse().get("filler"), None);
        assert_eq!((long(&whole[..1400]), long(&whole.replace('1', "2"))), (None, None));
    }

    #[rstest]
    #[case::text("hello")]
    #[case::no_object("[]")]
    #[case::no_pod(r#"{"path": "/"}"#)]
    #[case::pod_of_no_name(r#"{"pod": 1}"#)]
    fn what_names_no_pod_is_none(#[case] body: &str) {
        assert_eq!(EchoText::read(body.as_bytes()), None);
        assert!(serde_json::from_str::<EchoText>(body).is_err());
    }
}
