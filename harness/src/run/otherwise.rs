//! What a recorded run wrote, and the definitions of another release may take otherwise: refuse, or store in another form. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::releases::between;
use crate::cluster::schemas;
use crate::dialects::{Change, Dialect};
use crate::log::{Body, Event, ObjectKey, Scope, Write, WriteVerb};
use crate::scenario::{Release, Version};

/// For each scenario of a log the first write that is about something which definitions of the two releases take otherwise, in words.
pub(super) fn otherwise<'e>(
    events: &'e [Arc<Event>],
    dialect: &Dialect,
    Release { version, channel }: Release,
    wanted: Version,
) -> BTreeMap<&'e str, String> {
    let changes: Vec<&Change> = between(dialect, (version, channel), wanted).collect();
    let mut found = BTreeMap::new();
    if changes.is_empty() {
        return found;
    }
    let touched = |object: &Value, kind: &str, part: bool| {
        let own = changes.iter().filter(|change| change.kind == kind);
        own.into_iter().find_map(|change| {
            let path = change.touched(object, part)?;
            (!change.newest || schemas::refused(object, channel)).then_some((path, change.release))
        })
    };
    let mut scenarios: HashMap<&str, &str> = HashMap::new();
    let mut patched: HashMap<&ObjectKey, (&str, usize)> = HashMap::new();
    let mut seen: HashSet<(&str, i64)> = HashSet::new();
    for event in events {
        let (scenario, step, kind, said) = match (&event.scope, &event.body) {
            (Scope::Scenario(name), Body::ScenarioStarted(bindings)) => {
                scenarios.insert(name, &bindings.scenario);
                continue;
            }
            (Scope::Scenario(name), Body::Wrote(write)) => {
                let (Some(scenario), Some(sent)) = (scenarios.get(&**name), &write.sent) else { continue };
                if write.verb == WriteVerb::Patch {
                    patched.insert(&write.key, (scenario, write.step));
                }
                (*scenario, write.step, &write.key.kind, sent_of(write, sent, &touched))
            }
            // What came of a patch, in which the target writes its status.
            (_, Body::Observed { key, object, .. }) => {
                let Some((scenario, step)) = patched.get(key) else { continue };
                let metadata = &object["metadata"];
                let version = metadata["uid"].as_str().zip(metadata["generation"].as_i64());
                if !version.is_some_and(|version| seen.insert(version)) {
                    continue;
                }
                (*scenario, *step, &key.kind, touched(object, &key.kind, false))
            }
            _ => continue,
        };
        if let Some((path, release)) = said {
            found.entry(scenario).or_insert_with(|| {
                format!("steps[{step}] writes {kind} {path}, which definitions take otherwise from {release} on")
            });
        }
    }
    found
}

/// What a write touches, given what objects and parts of them do.
fn sent_of<T>(write: &Write, sent: &Value, touched: &impl Fn(&Value, &str, bool) -> Option<T>) -> Option<T> {
    let kind = &write.key.kind;
    match (write.verb, sent) {
        (WriteVerb::Delete, _) => None,
        (WriteVerb::Patch, Value::Array(operations)) => {
            let part = |one: &Value| Some(around(one["path"].as_str()?, one.get("value").unwrap_or(&Value::Null)));
            operations.iter().filter_map(part).find_map(|part| touched(&part, kind, true))
        }
        (verb, sent) => touched(sent, kind, verb == WriteVerb::Patch),
    }
}

/// A value with the objects and lists around it that a JSON pointer goes through.
fn around(pointer: &str, value: &Value) -> Value {
    let tokens = pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev();
    tokens.fold(value.clone(), |inner, token| {
        let is_index = token == "-" || token.parse::<usize>().is_ok();
        if is_index { json!([inner]) } else { json!({token.replace("~1", "/").replace("~0", "~"): inner}) }
    })
}
