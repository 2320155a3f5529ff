//! Statuses as they should read, and how they get into objects that others write to as well.

use gateproof_runtime::object::items;
use serde_json::{Map, Value, json};

use crate::settings::Edition;

/// The longest message of a condition that the definitions admit, less what an ellipsis takes.
const LONGEST: usize = 32_760;

/// Something that is wrong with an object, or ignored in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sub {
    /// The family, such as `ServiceError`.
    pub r#type: String,
    /// The reason within it.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// What is to be said of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What is wrong; nothing: it is valid.
    pub errors: Vec<Sub>,
    /// What is ignored.
    pub warnings: Vec<Sub>,
    /// Where the object is served, if it is one that says so; `currentStatus` and `description` go with it.
    pub served: Option<Value>,
}

impl Verdict {
    /// Adds an error.
    pub fn error(&mut self, r#type: &str, reason: &str, message: impl Into<String>) {
        self.errors.push(sub(r#type, reason, message));
    }

    /// Adds a warning.
    pub fn warn(&mut self, r#type: &str, message: impl Into<String>) {
        self.warnings.push(sub(r#type, "IgnoredField", message));
    }

    /// Whether an error has this family.
    #[must_use]
    pub fn has(&self, r#type: &str) -> bool {
        self.errors.iter().any(|error| error.r#type == r#type)
    }
}

fn sub(r#type: &str, reason: &str, message: impl Into<String>) -> Sub {
    let mut message = message.into();
    if message.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
        message.truncate(end);
        message.push_str("...");
    }
    Sub { r#type: r#type.to_owned(), reason: reason.to_owned(), message }
}

/// Reason and message of the condition Valid, beside its status.
fn headline(verdict: &Verdict, edition: Edition) -> (bool, String, String) {
    match (&verdict.errors[..], edition) {
        ([], _) => (true, "Valid".to_owned(), "this object is valid and in force".to_owned()),
        (_, Edition::Current) => {
            (false, "ErrorPresent".to_owned(), "something is wrong; errors below say what".to_owned())
        }
        ([only], Edition::Design) => (false, only.reason.clone(), only.message.clone()),
        (_, Edition::Design) => {
            (false, "MultipleReasons".to_owned(), "several things are wrong; errors below say what".to_owned())
        }
    }
}

/// The status that results from putting a verdict into the object as it is, but for the time of its condition, which [`date`] gives it.
/// Conditions of others stay, as they are and where they are.
#[must_use]
pub fn merge(live: &Value, verdict: &Verdict, edition: Edition) -> Value {
    let mut status = live["status"].as_object().cloned().unwrap_or_default();
    let (valid, reason, message) = headline(verdict, edition);
    let mut condition = json!({
        "type": "Valid", "status": if valid { "True" } else { "False" }, "reason": reason, "message": message,
        "observedGeneration": live["metadata"]["generation"],
    });
    for (field, subs) in [("errors", &verdict.errors), ("warnings", &verdict.warnings)] {
        if !subs.is_empty() {
            condition[field] = subs.iter().map(written).collect();
        }
    }
    let mut conditions: Vec<Value> = items(&live["status"], "/conditions").cloned().collect();
    let before = conditions.iter().position(|condition| condition["type"] == "Valid");
    match before {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
    status.insert("conditions".into(), Value::Array(conditions));
    if let Some(served) = &verdict.served {
        let orphan = verdict.errors.iter().find(|error| error.r#type == "Orphaned");
        let current = match orphan {
            Some(_) => "orphaned",
            None if valid => "valid",
            None => "invalid",
        };
        status.insert("currentStatus".into(), current.into());
        status.insert("description".into(), orphan.map_or(message, |orphan| orphan.message.clone()).into());
        status.insert("loadBalancer".into(), served.clone());
    }
    Value::Object(status)
}

/// Dates the condition of a status that is about to be written over that of a live object. `lastTransitionTime` is `now` (RFC 3339 with
/// whole seconds) where anything else of it differs from before, else what it was.
pub fn date(live: &Value, status: &mut Value, now: &str) {
    let before = items(&live["status"], "/conditions").find(|condition| condition["type"] == "Valid");
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter(|condition| condition["type"] == "Valid") {
        let same = before.filter(|before| is_same(before, condition));
        let since = same.map_or(Value::from(now), |before| before["lastTransitionTime"].clone());
        condition["lastTransitionTime"] = since;
    }
}

fn written(sub: &Sub) -> Value {
    json!({"type": sub.r#type, "status": "True", "reason": sub.reason, "message": sub.message})
}

fn is_same(before: &Value, after: &Value) -> bool {
    let fields = |value: &Value| {
        let mut fields: Map<String, Value> = value.as_object().cloned().unwrap_or_default();
        fields.shift_remove("lastTransitionTime");
        fields
    };
    fields(before) == fields(after)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const BEFORE: &str = "2026-01-01T00:00:00Z";
    const NOW: &str = "2026-01-01T00:00:09Z";

    fn merged(live: &Value, verdict: &Verdict, edition: Edition, now: &str) -> Value {
        let mut status = merge(live, verdict, edition);
        date(live, &mut status, now);
        status
    }

    fn live(conditions: Value) -> Value {
        json!({"metadata": {"generation": 3}, "status": {"conditions": conditions}})
    }

    fn verdict(errors: &[(&str, &str)]) -> Verdict {
        let mut verdict = Verdict { served: Some(json!({})), ..Verdict::default() };
        errors.iter().for_each(|(family, reason)| verdict.error(family, reason, format!("{reason} it is")));
        verdict
    }

    #[rstest]
    #[case::valid(&[], Edition::Current, "True Valid valid")]
    #[case::one(&[("A", "B")], Edition::Current, "False ErrorPresent invalid")]
    #[case::orphan(&[("Orphaned", "Orphaned")], Edition::Current, "False ErrorPresent orphaned")]
    #[case::one_as_designed(&[("A", "B")], Edition::Design, "False B invalid")]
    #[case::several_as_designed(&[("A", "B"), ("A", "B")], Edition::Design, "False MultipleReasons invalid")]
    fn errors_decide_what_is_said(#[case] errors: &[(&str, &str)], #[case] edition: Edition, #[case] expected: &str) {
        let status = merged(&live(json!([])), &verdict(errors), edition, NOW);
        let condition = &status["conditions"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let said = [&condition["status"], &condition["reason"], &status["currentStatus"]].map(text).join(" ");
        assert_eq!(said, expected);
        let expected = if said.ends_with("orphaned") { "Orphaned it is".into() } else { condition["message"].clone() };
        assert_eq!(status["description"], expected);
        assert_eq!(items(condition, "/errors").count(), errors.len());
    }

    #[test]
    fn the_time_moves_with_whatever_else_does_and_conditions_of_others_stay() {
        let other = json!({"type": "example.test/Other", "status": "True"});
        let first = merged(&live(json!([other])), &verdict(&[]), Edition::Current, BEFORE);
        assert_eq!(first["conditions"][0], other);
        let again = merged(&live(first["conditions"].clone()), &verdict(&[]), Edition::Current, NOW);
        assert_eq!(again["conditions"], first["conditions"]);
        let changed = merged(&live(first["conditions"].clone()), &verdict(&[("A", "B")]), Edition::Current, NOW);
        assert_eq!(changed["conditions"][0], other);
        assert_eq!(changed["conditions"][1]["lastTransitionTime"], NOW);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut verdict = Verdict::default();
        verdict.error("A", "B", "ü".repeat(LONGEST));
        let message = &verdict.errors[0].message;
        assert!(message.len() <= LONGEST + 3 && message.ends_with("ü..."));
    }
}
