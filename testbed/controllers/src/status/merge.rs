use serde_json::{Map, Value, json};

use super::{Condition, DesiredStatus, ListenerStatus, ParentStatus, StatusUpdate};
use crate::model::ParentRef;

/// Condition types that this implementation speaks for; whatever else it finds belongs to somebody else.
const OWNED: &[&str] = &[
    "Accepted",
    "Programmed",
    "AddressesAssigned",
    "ResolvedRefs",
    "SupportedVersion",
    "Conflicted",
    "OverlappingTLSConfig",
    "InsecureFrontendValidationMode",
    "PartiallyInvalid",
];

/// As many entries as `status.parents` has room for.
pub(crate) const ENTRIES: usize = 32;

/// The same of `status.ancestors`.
const ANCESTORS: usize = 16;

/// The status that results from putting the desired one into the object as it is now.
///
/// Conditions of other types, entries of other controllers and fields not ours stay as they are, where they are. New entries of ours
/// for which these leave no room are left out, since the API server would not take any of it.
/// A condition that was worked out from a newer generation than ours is left alone. `lastTransitionTime` is `now` for a
/// condition whose status differs from before, else what it was.
pub fn merge(live: &Value, desired: &StatusUpdate, now: &str) -> Value {
    let namespace = &desired.key.namespace;
    let mut status = live.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    match &desired.status {
        DesiredStatus::GatewayClass { conditions, supported_features, as_names } => {
            merge_conditions(&mut status, conditions, now);
            let feature = |name: &String| if *as_names { json!(name) } else { json!({ "name": name }) };
            let features = supported_features.iter().map(feature).collect();
            status.insert("supportedFeatures".into(), Value::Array(features));
        }
        DesiredStatus::Gateway { conditions, addresses, listeners, attached_listener_sets } => {
            merge_conditions(&mut status, conditions, now);
            status.insert("addresses".into(), json!(addresses));
            merge_listeners(&mut status, listeners, now);
            if let Some(count) = attached_listener_sets {
                status.insert("attachedListenerSets".into(), json!(count));
            }
        }
        DesiredStatus::ListenerSet { conditions, listeners } => {
            merge_conditions(&mut status, conditions, now);
            merge_listeners(&mut status, listeners, now);
        }
        DesiredStatus::Route { parents } => {
            let before = entries(&status, "parents");
            let after =
                merge_entries((before, ENTRIES), (parents, "parentRef"), &desired.controller_name, namespace, now);
            status.insert("parents".into(), Value::Array(after));
        }
        DesiredStatus::Policy { ancestors } => {
            let before = entries(&status, "ancestors");
            let ours = (ancestors.as_slice(), "ancestorRef");
            let after = merge_entries((before, ANCESTORS), ours, &desired.controller_name, namespace, now);
            status.insert("ancestors".into(), Value::Array(after));
        }
    }
    Value::Object(status)
}

/// Whether writing `after` over the status of `live` would change nothing that a reader can tell.
pub fn same(live: &Value, after: &Value) -> bool {
    fn meaningful(status: Option<&Value>) -> Map<String, Value> {
        let mut map = status.and_then(Value::as_object).cloned().unwrap_or_default();
        map.retain(|_, value| !matches!(value, Value::Array(items) if items.is_empty()) && !value.is_null());
        map
    }
    meaningful(live.get("status")) == meaningful(Some(after))
}

fn entries(status: &Map<String, Value>, field: &str) -> Vec<Value> {
    status.get(field).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn merge_listeners(status: &mut Map<String, Value>, listeners: &[ListenerStatus], now: &str) {
    let before = entries(status, "listeners");
    let after = listeners.iter().map(|listener| merge_listener(&before, listener, now)).collect();
    status.insert("listeners".into(), Value::Array(after));
}

fn merge_listener(before: &[Value], listener: &ListenerStatus, now: &str) -> Value {
    let mut entry = before
        .iter()
        .find(|entry| entry["name"] == listener.name.as_str())
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    entry.insert("name".into(), json!(listener.name));
    entry.insert("supportedKinds".into(), json!(listener.supported_kinds));
    entry.insert("attachedRoutes".into(), json!(listener.attached_routes));
    merge_conditions(&mut entry, &listener.conditions, now);
    Value::Object(entry)
}

/// Puts our entries, each under what `reference` names, into a list that has room for so many.
fn merge_entries(
    (before, most): (Vec<Value>, usize),
    (parents, reference): (&[ParentStatus], &str),
    controller_name: &str,
    namespace: &str,
    now: &str,
) -> Vec<Value> {
    let is = |entry: &Value, parent: &ParentStatus| {
        entry["controllerName"] == parent.controller_name.as_str()
            && serde_json::from_value::<ParentRef>(entry[reference].clone())
                .is_ok_and(|found| found.same(&parent.parent_ref, namespace))
    };
    let written = |entry: Option<Value>, parent: &ParentStatus| {
        let mut entry = entry.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        entry.insert(reference.into(), json!(parent.parent_ref));
        entry.insert("controllerName".into(), json!(parent.controller_name));
        merge_conditions(&mut entry, &parent.conditions, now);
        Value::Object(entry)
    };
    let mut rest: Vec<&ParentStatus> = parents.iter().collect();
    let mut after = Vec::new();
    for entry in before {
        if let Some(at) = rest.iter().position(|parent| is(&entry, parent)) {
            after.push(written(Some(entry), rest.remove(at)));
        } else if entry["controllerName"] != controller_name {
            after.push(entry);
        }
    }
    let room = most.saturating_sub(after.len());
    after.extend(rest.into_iter().take(room).map(|parent| written(None, parent)));
    after
}

fn merge_conditions(holder: &mut Map<String, Value>, desired: &[Condition], now: &str) {
    let mut rest: Vec<&Condition> = desired.iter().collect();
    let mut after = Vec::new();
    for before in entries(holder, "conditions") {
        let r#type = before["type"].as_str().unwrap_or_default();
        if let Some(at) = rest.iter().position(|condition| condition.r#type == r#type) {
            after.push(merge_condition(Some(&before), rest.remove(at), now));
        } else if !OWNED.contains(&r#type) {
            after.push(before);
        }
    }
    after.extend(rest.into_iter().map(|condition| merge_condition(None, condition, now)));
    holder.insert("conditions".into(), Value::Array(after));
}

fn merge_condition(before: Option<&Value>, desired: &Condition, now: &str) -> Value {
    let observed = |value: &Value| value["observedGeneration"].as_i64();
    if let Some(before) = before
        && observed(before) > desired.observed_generation.or(observed(before))
    {
        return before.clone();
    }
    let unchanged = before.filter(|before| before["status"] == desired.status.to_string().as_str());
    let since = desired.last_transition_time.as_deref();
    let since = since.or_else(|| unchanged.and_then(|before| before["lastTransitionTime"].as_str())).unwrap_or(now);
    let mut after = json!({
        "type": desired.r#type,
        "status": desired.status,
        "reason": desired.reason,
        "message": desired.message,
        "lastTransitionTime": since,
    });
    if let (Some(generation), Some(map)) = (desired.observed_generation, after.as_object_mut()) {
        map.insert("observedGeneration".into(), json!(generation));
    }
    after
}
