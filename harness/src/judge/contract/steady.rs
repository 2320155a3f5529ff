//! Whether what follows from configuration alone stands still while nothing is configured.
//!
//! A controller may be at work for as long as a settle may take after a change, and may come to its word in steps; nothing is said of
//! that. From then on a condition has no reason to turn until something changes again. There and back twice is no coming to a word,
//! and is counted from shortly after the change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::finding::{Finding, held};
use super::list::List;
use super::rule::Rule;
use crate::judge::conditions::{find, generation};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Timing};
use crate::scenario::Basis;

/// How many turns are there and back twice.
const TWICE: u32 = 4;

/// How long after a change conditions have to stand still.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Calm {
    /// From then on turns are counted.
    counts: Duration,
    /// From then on one turn is too many.
    pub(super) settled: Duration,
}

impl Calm {
    pub(super) fn of(timing: &Timing) -> Calm {
        let budgets = [timing.gateway_class, timing.gateway, timing.listener, timing.route];
        Calm { counts: timing.calm, settled: budgets.into_iter().fold(timing.calm, Duration::max) }
    }
}

/// When something last changed that conditions may follow from.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    pub(super) last: Elapsed,
    /// The objects, as they stood.
    stood: HashMap<ObjectKey, Arc<Value>>,
}

impl Changes {
    /// Takes in an event. What the harness was late for may have come before.
    pub(super) fn observe(&mut self, event: &Event) {
        let is_change = match &event.body {
            Body::Wrote(_)
            | Body::Made(_)
            | Body::Scripted { .. }
            | Body::Gap { .. }
            | Body::Lagged { .. }
            | Body::Unreachable { .. } => true,
            Body::Observed { key, change, object } => {
                let before = self.stood.insert(key.clone(), Arc::clone(object));
                *change != Change::Modified || before.is_none_or(|before| !says_same(&before, object))
            }
            _ => false,
        };
        if is_change {
            self.last = event.at;
        }
    }

    /// Takes in what changed elsewhere.
    pub(super) fn join(&mut self, other: &Changes) {
        self.last = self.last.max(other.last);
        self.stood.extend(other.stood.iter().map(|(key, object)| (key.clone(), Arc::clone(object))));
    }
}

/// Whether two versions of an object differ in their status alone.
fn says_same(before: &Value, after: &Value) -> bool {
    let metadata = |field: &str| before["metadata"].get(field) == after["metadata"].get(field);
    if !["uid", "labels", "annotations", "deletionTimestamp"].into_iter().all(metadata) {
        return false;
    }
    if generation(after) > 0 {
        return generation(before) == generation(after);
    }
    let rest = |object: &Value| {
        let fields = object.as_object().into_iter().flatten();
        let rest = fields.filter(|(name, _)| !matches!(name.as_str(), "status" | "metadata"));
        rest.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    rest(before) == rest(after)
}

/// What is remembered of the conditions of an object, by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Steady(HashMap<String, Stand>);

#[derive(Debug, Clone)]
struct Stand {
    status: String,
    /// The change after which it was said.
    after: Elapsed,
    /// How often it has turned while nothing changed.
    turns: u32,
}

impl Steady {
    /// Holds the conditions of a list, all as of one version, against what they said before. Nothing is asked if no time is given
    /// to be at work in.
    pub(super) fn check(
        &mut self,
        list: &List<'_>,
        changes: &Changes,
        calm: Calm,
        at: Elapsed,
        basis: Basis,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        if calm.counts.is_zero() || !list.visited() {
            return found;
        }
        for (type_, terms) in list.subject.conditions.iter().filter(|(_, t)| t.configured && t.known_at(basis)) {
            let status = match find(&list.conditions, type_) {
                Some(condition) => condition.status,
                // Of what is wrong nothing is said while it is not.
                None if terms.negative => "False",
                None => continue,
            };
            // No word yet.
            if status == "Unknown" {
                continue;
            }
            let path = list.path_of(type_);
            let before = self.0.get(&path).filter(|before| before.after == changes.last);
            let turned = before.is_some_and(|before| before.status != status && at - changes.last >= calm.counts);
            let turns = before.map_or(0, |before| before.turns) + u32::from(turned);
            if turned {
                let was = before.map_or_else(String::new, |before| before.status.clone());
                let still = at - changes.last;
                let seen = || format!("{status} after {was}, turn {turns}, and nothing had changed for {still:.1?}");
                found.push(held(Rule::ConditionsStay, path.clone(), still < calm.settled, seen));
                found.push(held(Rule::ConditionsDoNotFlap, path.clone(), turns < TWICE, seen));
            }
            self.0.insert(path, Stand { status: status.to_owned(), after: changes.last, turns });
        }
        found
    }
}
