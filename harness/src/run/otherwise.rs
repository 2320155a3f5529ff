//! What a recorded run wrote, and the definitions of another release may take otherwise: refuse, or store in another form. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::releases::between;
use crate::cluster::schemas;
use crate::dialects::{Change, Dialect, Minor};
use crate::log::{Body, Event, ObjectKey, Scope, Write, WriteVerb};
use crate::scenario::{Channel, Release, Version};

/// Of each scenario of a log, event by event, the first write that is about something which definitions of two releases take otherwise.
pub(super) struct Otherwise<'d> {
    changes: Vec<&'d Change>,
    channel: Channel,
    found: BTreeMap<String, String>,
    scenarios: HashMap<Arc<str>, String>,
    /// What was patched, by which scenario and in which step.
    patched: HashMap<ObjectKey, (String, usize)>,
    /// The uids and generations of what was seen.
    seen: HashSet<(String, i64)>,
}

impl<'d> Otherwise<'d> {
    /// Before the first event of a log whose definitions are of the one release.
    pub(super) fn new(dialect: &'d Dialect, Release { version, channel }: Release, wanted: Version) -> Self {
        let changes = between(dialect, (version, channel), wanted).collect();
        let (found, scenarios) = (BTreeMap::new(), HashMap::new());
        Otherwise { changes, channel, found, scenarios, patched: HashMap::new(), seen: HashSet::new() }
    }

    /// In words, by scenario.
    pub(super) fn found(&self) -> BTreeMap<&str, String> {
        self.found.iter().map(|(scenario, words)| (scenario.as_str(), words.clone())).collect()
    }

    fn touched(&self, object: &Value, kind: &str, part: bool) -> Option<(String, Minor)> {
        self.changes.iter().filter(|change| change.kind == kind).find_map(|change| {
            let path = change.touched(object, part)?;
            (!change.newest || schemas::refused(object, self.channel)).then_some((path, change.release))
        })
    }

    /// Takes in the next event.
    pub(super) fn event(&mut self, event: &Event) {
        if self.changes.is_empty() {
            return;
        }
        let (scenario, step, kind, said) = match (&event.scope, &event.body) {
            (Scope::Scenario(name), Body::ScenarioStarted(bindings)) => {
                self.scenarios.insert(Arc::clone(name), bindings.scenario.clone());
                return;
            }
            (Scope::Scenario(name), Body::Wrote(write)) => {
                let (Some(scenario), Some(sent)) = (self.scenarios.get(name), &write.sent) else { return };
                if write.verb == WriteVerb::Patch {
                    self.patched.insert(write.key.clone(), (scenario.clone(), write.step));
                }
                let touched = |object: &Value, kind: &str, part: bool| self.touched(object, kind, part);
                (scenario.clone(), write.step, &write.key.kind, sent_of(write, sent, &touched))
            }
            // What came of a patch, in which the target writes its status.
            (_, Body::Observed { key, object, .. }) => {
                let Some((scenario, step)) = self.patched.get(key) else { return };
                let metadata = &object["metadata"];
                let version = metadata["uid"].as_str().zip(metadata["generation"].as_i64());
                if !version.is_some_and(|(uid, generation)| self.seen.insert((uid.to_owned(), generation))) {
                    return;
                }
                (scenario.clone(), *step, &key.kind, self.touched(object, &key.kind, false))
            }
            _ => return,
        };
        if let Some((path, release)) = said {
            self.found.entry(scenario).or_insert_with(|| {
                format!("steps[{step}] writes {kind} {path}, which definitions take otherwise from {release} on")
            });
        }
    }
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
