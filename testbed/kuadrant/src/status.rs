//! Statuses as they should read, and how they get into objects that others write to as well.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::object::Key;

/// Who writes entries that belong to a controller.
pub const CONTROLLER_NAME: &str = "kuadrant.io/policy-controller";

/// A condition as it should read; when it last changed is worked out when it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Type.
    pub r#type: String,
    /// `True` or `False`.
    pub status: &'static str,
    /// Reason, one word.
    pub reason: String,
    /// Message for people.
    pub message: String,
    /// The generation it was worked out from, where conditions say it.
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition without a generation.
    pub fn new(r#type: &str, status: bool, reason: &str, message: impl Into<String>) -> Self {
        let status = if status { "True" } else { "False" };
        Self {
            r#type: r#type.into(),
            status,
            reason: reason.into(),
            message: message.into(),
            observed_generation: None,
        }
    }
}

/// What the status of one object should become.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusUpdate {
    /// The object.
    pub key: Key,
    /// The change.
    pub change: Change,
}

/// What a status should say. Whatever is not named stays.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Conditions and fields of the object itself.
    Own {
        /// The conditions.
        conditions: Vec<Condition>,
        /// Types that are ours: those that are not among the conditions go.
        owned: Vec<&'static str>,
        /// Fields to set; null takes one away.
        fields: Map<String, Value>,
        /// References to the ancestors that repeat the conditions (`PolicyAncestorStatus`, edition `design`).
        ancestors: Vec<Value>,
    },
    /// What a Gateway says of the policies that affect it and its listeners.
    Gateway {
        /// The Gateway's own.
        conditions: Vec<Condition>,
        /// By listener.
        listeners: BTreeMap<String, Vec<Condition>>,
    },
    /// The same of a route: our own entries among its parents, by parentRef.
    Route(Vec<(Value, Vec<Condition>)>),
}

/// Whether a condition says that a policy affects the object.
#[must_use]
pub fn is_affected(r#type: &str) -> bool {
    r#type.starts_with("kuadrant.io/") && r#type.ends_with("Affected")
}

/// Conditions as the entry for an ancestor repeats them, in which each says its generation.
fn repeated(live: &Value, conditions: Option<&Value>) -> Value {
    let mut written = conditions.cloned().unwrap_or_default();
    for condition in written.as_array_mut().into_iter().flatten() {
        condition["observedGeneration"] = live["metadata"]["generation"].clone();
    }
    written
}

/// Has entries for ancestors repeat the conditions again, where one has changed these after they were written, and not the entries.
pub(crate) fn repeat(live: &Value, before: &Value, status: &mut Value) {
    if status["conditions"] == before["conditions"] || status["ancestors"] != before["ancestors"] {
        return;
    }
    let written = repeated(live, status.get("conditions"));
    for entry in status.get_mut("ancestors").and_then(Value::as_array_mut).into_iter().flatten() {
        entry["conditions"] = written.clone();
    }
}

/// The status that results from putting the desired one into the object as it is. `now` is RFC 3339 with whole seconds.
///
/// `lastTransitionTime` is `now` where the condition's status differs from before, else what it was.
#[must_use]
pub fn merge(live: &Value, change: &Change, now: &str) -> Value {
    let mut status = live["status"].as_object().cloned().unwrap_or_default();
    match change {
        Change::Own { conditions, owned, fields, ancestors } => {
            merge_conditions(&mut status, conditions, now, |r#type| owned.contains(&r#type));
            for (name, value) in fields {
                if value.is_null() {
                    status.shift_remove(name);
                } else {
                    status.insert(name.clone(), value.clone());
                }
            }
            if ancestors.is_empty() {
                status.shift_remove("ancestors");
            } else {
                let written = repeated(live, status.get("conditions"));
                let entry = |ancestor: &Value| json!({"ancestorRef": ancestor, "controllerName": CONTROLLER_NAME, "conditions": written});
                status.insert("ancestors".into(), ancestors.iter().map(entry).collect());
            }
        }
        Change::Gateway { conditions, listeners } => {
            merge_conditions(&mut status, conditions, now, is_affected);
            for listener in status.get_mut("listeners").and_then(Value::as_array_mut).into_iter().flatten() {
                let wanted = listeners.get(listener["name"].as_str().unwrap_or_default());
                if let Some(listener) = listener.as_object_mut() {
                    merge_conditions(listener, wanted.map_or(&[], Vec::as_slice), now, is_affected);
                }
            }
        }
        Change::Route(parents) => {
            let before = status.get("parents").and_then(Value::as_array).cloned().unwrap_or_default();
            let (ours, mut after): (Vec<Value>, Vec<Value>) =
                before.into_iter().partition(|entry| entry["controllerName"] == CONTROLLER_NAME);
            for (parent, conditions) in parents {
                let known = ours.iter().find(|entry| entry["parentRef"] == *parent).and_then(Value::as_object);
                let mut entry = known.cloned().unwrap_or_default();
                entry.insert("parentRef".into(), parent.clone());
                entry.insert("controllerName".into(), CONTROLLER_NAME.into());
                merge_conditions(&mut entry, conditions, now, is_affected);
                after.push(Value::Object(entry));
            }
            if !after.is_empty() || status.contains_key("parents") {
                status.insert("parents".into(), Value::Array(after));
            }
        }
    }
    Value::Object(status)
}

fn merge_conditions(holder: &mut Map<String, Value>, wanted: &[Condition], now: &str, owned: impl Fn(&str) -> bool) {
    let before = holder.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut rest: Vec<&Condition> = wanted.iter().collect();
    let mut after = Vec::new();
    for old in &before {
        let r#type = old["type"].as_str().unwrap_or_default();
        match rest.iter().position(|condition| condition.r#type == r#type) {
            Some(at) => after.push(written(Some(old), rest.remove(at), now)),
            None if owned(r#type) => {}
            None => after.push(old.clone()),
        }
    }
    after.extend(rest.into_iter().map(|condition| written(None, condition, now)));
    if !after.is_empty() || !before.is_empty() {
        holder.insert("conditions".into(), Value::Array(after));
    }
}

fn written(before: Option<&Value>, condition: &Condition, now: &str) -> Value {
    let same = before.filter(|before| before["status"] == condition.status);
    let since = same.and_then(|before| before["lastTransitionTime"].as_str()).unwrap_or(now);
    let mut after = json!({
        "type": condition.r#type, "status": condition.status, "reason": condition.reason,
        "message": condition.message, "lastTransitionTime": since,
    });
    if let Some(generation) = condition.observed_generation {
        after["observedGeneration"] = json!(generation);
    }
    after
}
