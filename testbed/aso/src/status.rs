//! The condition Ready, and how it gets into a status that others write to as well.

use serde_json::{Map, Value, json};

use crate::settings::Edition;

/// `status` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the values")]
pub enum Truth {
    True,
    False,
    Unknown,
}

/// How bad it is that a condition is False.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It is on its way.
    Info,
    /// It is tried again.
    Warning,
    /// It is not tried again.
    Error,
}

/// The condition Ready as it should read. When it last changed is worked out when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Status.
    pub status: Truth,
    /// Severity, for False alone.
    pub severity: Option<Severity>,
    /// Reason, one word.
    pub reason: String,
    /// Message; left out where it is empty.
    pub message: String,
    /// The generation that it was worked out from; nothing in the edition `design`.
    pub observed_generation: Option<i64>,
    /// Whether it may take the place of a failed precondition, because a request is about to be sent.
    pub starts: bool,
}

/// Reasons of preconditions that did not hold: what begins afterwards may take their place.
pub const PRECONDITIONS: [&str; 4] = ["WaitingForOwner", "SecretNotFound", "ConfigMapNotFound", "ReferenceNotFound"];

impl Ready {
    /// The condition as JSON, without its time.
    pub fn to_value(&self) -> Value {
        let mut condition = Map::new();
        condition.insert("type".into(), "Ready".into());
        condition.insert("status".into(), format!("{:?}", self.status).into());
        if let Some(severity) = self.severity {
            condition.insert("severity".into(), format!("{severity:?}").into());
        }
        if let Some(generation) = self.observed_generation {
            condition.insert("observedGeneration".into(), generation.into());
        }
        condition.insert("reason".into(), self.reason.clone().into());
        if !self.message.is_empty() {
            condition.insert("message".into(), self.message.clone().into());
        }
        Value::Object(condition)
    }
}

/// How much a condition says: more may take the place of less.
fn rank(condition: &Value) -> u8 {
    match (condition["status"].as_str(), condition["severity"].as_str()) {
        (Some("True"), _) | (_, Some("Warning" | "Error")) => 5,
        (_, Some("Info")) => 4,
        _ => 3,
    }
}

/// Whether one condition may take the place of another (`ShouldOverwrite`): a newer generation always, an older one never; of the
/// same generation, what says as much or more. The same never does. Without generations, whatever differs does.
pub fn should_overwrite(edition: Edition, new: &Ready, old: &Value) -> bool {
    let value = new.to_value();
    if same(&value, old) {
        return false;
    }
    let observed = |condition: &Value| condition["observedGeneration"].as_i64().unwrap_or_default();
    if old.is_null() || edition == Edition::Design {
        return true;
    }
    match observed(&value).cmp(&observed(old)) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => {
            let follows = new.starts && old["reason"].as_str().is_some_and(|reason| PRECONDITIONS.contains(&reason));
            follows || rank(&value) >= rank(old)
        }
    }
}

/// Whether two conditions say the same, but for when.
pub fn same(one: &Value, other: &Value) -> bool {
    let content = |condition: &Value| {
        let mut fields = condition.as_object().cloned().unwrap_or_default();
        fields.shift_remove("lastTransitionTime");
        fields.retain(|_, value| value != &json!("") && !value.is_null());
        fields
    };
    content(one) == content(other)
}

/// The condition Ready of an object; null for none.
pub fn ready_of(object: &Value) -> &Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or(&Value::Null)
}

/// What is to be written: the condition, and what ARM answered, where that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Desired {
    /// The condition.
    pub ready: Option<Ready>,
    /// The state in ARM, which takes the place of what was known of it.
    pub azure: Option<Value>,
}

/// The status that results from putting the desired one into an object. `now` is in RFC 3339 with whole seconds.
///
/// The condition is replaced as a whole with its time, which so moves with every change of it. Conditions of other types stay.
pub fn merge(edition: Edition, live: &Value, desired: &Desired, now: &str) -> Value {
    let before = live["status"].as_object().cloned().unwrap_or_default();
    let conditions = before.get("conditions").cloned();
    let mut status = match &desired.azure {
        Some(Value::Object(azure)) => azure.clone(),
        _ => before,
    };
    match conditions {
        Some(conditions) => status.insert("conditions".into(), conditions),
        None => status.shift_remove("conditions"),
    };
    if let Some(ready) = &desired.ready
        && should_overwrite(edition, ready, ready_of(live))
    {
        let mut condition = ready.to_value();
        let last = ready_of(live)["lastTransitionTime"].as_str().unwrap_or_default();
        // Texts of this form are ordered as the times are; time does not run backwards though the clock may.
        condition["lastTransitionTime"] = now.max(last).into();
        let list = status.entry("conditions").or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            match list.iter_mut().find(|one| one["type"] == "Ready") {
                Some(one) => *one = condition,
                None => list.push(condition),
            }
        }
    }
    Value::Object(status)
}
