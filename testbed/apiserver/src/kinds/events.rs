//! The two views of an Event: `v1` and `events.k8s.io/v1`.

use serde_json::{Map, Value};

use crate::error::StatusCause;
use crate::meta;
use crate::resource::Resource;

/// Pairs of field names, core first, that hold the same thing.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The event as another group's version shows it. An event that is in that version already stays as it is.
pub fn convert(event: Value, api_version: &str) -> Value {
    let Value::Object(members) = event else { return event };
    if members.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
        return Value::Object(members);
    }
    let to_core = api_version == "v1";
    let mut converted = Map::with_capacity(members.len());
    for (name, value) in members {
        let renamed = RENAMED.iter().find_map(|(core, grouped)| match to_core {
            true => (name == *grouped).then_some(*core),
            false => (name == *core).then_some(*grouped),
        });
        converted.insert(renamed.map_or(name, str::to_owned), value);
    }
    converted.insert("apiVersion".to_owned(), Value::String(api_version.to_owned()));
    Value::Object(converted)
}

/// What is wrong with an event.
pub fn validate(resource: &Resource, event: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let about = if resource.group.is_empty() { &event["involvedObject"] } else { &event["regarding"] };
    let (here, there) = (meta::namespace(event), about["namespace"].as_str().unwrap_or(""));
    // What is about a cluster-scoped object is told in the namespace `default`.
    let fits = if there.is_empty() { here == "default" } else { here == there };
    if !fits {
        let why = "does not match event.namespace";
        causes.push(StatusCause::invalid("involvedObject.namespace", &about["namespace"], why));
    }
    // The rules of the newer form hold for what is made in it.
    if !resource.group.is_empty() && old.is_none() {
        if event["eventTime"].is_null() {
            causes.push(StatusCause::required("eventTime", ""));
        }
        if !["Normal", "Warning"].contains(&event["type"].as_str().unwrap_or("")) {
            causes.push(StatusCause::invalid("type", &event["type"], "has invalid value"));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn there_and_back_is_the_same() {
        let core =
            json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "a"}, "message": "m", "count": 2});
        let grouped = convert(core.clone(), "events.k8s.io/v1");
        assert_eq!(grouped["regarding"]["name"], "a");
        assert_eq!(grouped["note"], "m");
        assert_eq!(grouped["deprecatedCount"], 2);
        assert_eq!(convert(grouped, "v1"), core);
    }
}
