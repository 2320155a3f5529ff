//! What a scenario's events say of the Gateways that it makes. Pure.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::cluster::pool::is_programmed;
use crate::dialects::Dialect;
use crate::log::{Body, Change, Event, ObjectKey, Scope, WriteOutcome, WriteVerb};
use crate::scenario::Scenario;
use crate::scenario::objects::applied;

/// What came of a Gateway that a scenario makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It is made.
    Made(ObjectKey),
    /// It is not: the API server refused it.
    Refused,
    /// Its status says something else.
    Changed(ObjectKey),
    /// It is programmed.
    Programmed(ObjectKey),
    /// It is no more.
    Gone(ObjectKey),
}

/// What an execution tells the session that has begun it.
pub enum News {
    /// Something became of a Gateway that it makes.
    Moved(Moved),
    /// Whether it waits for nothing but that something wrong changes after all.
    Lingers(bool),
}

/// Who is told.
pub type Told = Box<dyn Fn(News) + Send + Sync>;

/// How many Gateways a scenario makes.
pub fn own(scenario: &Scenario) -> usize {
    let gateways = applied(scenario).filter(|object| scenario.dialect.is_entry(&object.kind));
    gateways.map(|object| (object.namespace, object.name)).collect::<HashSet<_>>().len()
}

/// Watches the events of an execution.
pub struct Watch {
    dialect: Arc<Dialect>,
    made: HashSet<ObjectKey>,
    /// What the status of each said that is made and not programmed, but for times: some write it again and again with new ones.
    said: HashMap<ObjectKey, Value>,
    /// Those that were programmed already: what becomes of them until they go is nobody's matter here.
    programmed: HashSet<ObjectKey>,
}

impl Watch {
    /// Of a scenario of this dialect.
    pub fn new(dialect: Arc<Dialect>) -> Watch {
        Watch { dialect, made: HashSet::new(), said: HashMap::new(), programmed: HashSet::new() }
    }

    /// What an event says of them.
    pub fn observe(&mut self, event: &Event) -> Option<Moved> {
        if !matches!(event.scope, Scope::Scenario(_)) {
            return None;
        }
        match &event.body {
            Body::Wrote(write) if write.verb == WriteVerb::Apply && self.dialect.is_entry(&write.key.kind) => {
                match &write.outcome {
                    WriteOutcome::Admitted { .. } => {
                        self.made.insert(write.key.clone()).then(|| Moved::Made(write.key.clone()))
                    }
                    _ => (!self.made.contains(&write.key)).then_some(Moved::Refused),
                }
            }
            Body::Observed { key, change: Change::Deleted, .. } => {
                self.programmed.remove(key);
                self.said.remove(key);
                self.made.remove(key).then(|| Moved::Gone(key.clone()))
            }
            // What a watch shows may be there before the answer to the write.
            Body::Observed { key, object, .. } if self.dialect.is_entry(&key.kind) => {
                let is_new = self.made.insert(key.clone());
                if self.programmed.contains(key) {
                    return None;
                }
                let key = key.clone();
                if is_programmed(&self.dialect, object) {
                    self.said.remove(&key);
                    self.programmed.insert(key.clone());
                    return Some(Moved::Programmed(key));
                }
                let says = timeless(object.get("status"));
                let is_said = self.said.get(&key) == Some(&says);
                self.said.insert(key.clone(), says);
                match is_new {
                    true => Some(Moved::Made(key)),
                    false => (!is_said).then_some(Moved::Changed(key)),
                }
            }
            _ => None,
        }
    }
}

/// A status without the times of its conditions, wherever these stand.
fn timeless(status: Option<&Value>) -> Value {
    match status {
        Some(Value::Object(fields)) => {
            let kept = fields.iter().filter(|(name, _)| *name != "lastTransitionTime");
            kept.map(|(name, value)| (name.clone(), timeless(Some(value)))).collect()
        }
        Some(Value::Array(items)) => items.iter().map(|item| timeless(Some(item))).collect(),
        other => other.cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
#[path = "coming_tests.rs"]
mod tests;
