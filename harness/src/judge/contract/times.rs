//! Rules about how one condition changes from version to version.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::finding::{Finding, held};
use super::rule::Rule;
use super::terms::Transition;
use crate::judge::conditions::{Condition, array};
use crate::log::Elapsed;

/// lastTransitionTime has whole seconds, so a flip within a second of the old value need not show. What is measured
/// here is when the watch delivered both, and a controller takes the time before it writes: what either may be late by
/// stretches the time between them, and a second and a half covers that.
const SURELY_ANOTHER_SECOND: Duration = Duration::from_millis(2500);
/// By how much two writes have to be apart for the same, by the API server's time, which has whole seconds too.
const WRITTEN_APART: SignedDuration = SignedDuration::from_secs(2);

/// How far the clock of a controller may be before that of the API server.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);

/// A version of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// When it was seen.
    pub(super) at: Elapsed,
    /// When its status was written, as far as it tells.
    pub(super) written: Option<Timestamp>,
    /// How late the harness had been by then, all in all: so late may be whoever shares its machine.
    pub(super) late: Duration,
}

impl Look {
    /// Of an object that was seen now.
    pub(super) fn of(object: &Value, at: Elapsed, late: Duration) -> Look {
        let entries = array(object.pointer("/metadata/managedFields")).iter();
        let of_status = entries.filter(|entry| entry.get("subresource").and_then(Value::as_str) == Some("status"));
        let times = of_status.filter_map(|entry| instant(entry.get("time").and_then(Value::as_str)));
        Look { at, written: times.max(), late }
    }
}

/// What is remembered of a condition.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    status: String,
    /// The whole condition, as it stood.
    pub(super) raw: Value,
    time: Option<String>,
    /// When this `lastTransitionTime` was first seen.
    time_since: Elapsed,
    /// When the version was written that had it first, as far as the object tells.
    written: Option<Timestamp>,
    /// How late the harness had been by then.
    late: Duration,
    generation: Option<i64>,
    placeholder: bool,
}

impl Memory {
    pub(super) fn of(condition: &Condition<'_>, before: Option<&Memory>, now: Look) -> Memory {
        let time = condition.last_transition_time.map(str::to_owned);
        let first = before.filter(|b| b.time == time);
        let time_since = first.map_or(now.at, |b| b.time_since);
        let written = first.map_or(now.written, |b| b.written);
        let late = first.map_or(now.late, |b| b.late);
        Memory {
            status: condition.status.to_owned(),
            raw: condition.raw.clone(),
            time,
            time_since,
            written,
            late,
            generation: condition.observed_generation,
            placeholder: condition.is_placeholder(),
        }
    }
}

/// Holds the step from what is remembered to what is there now.
pub(super) fn check(
    path: &str,
    before: &Memory,
    now: &Condition<'_>,
    look: Look,
    transition: Transition,
    may_be_older: bool,
) -> Vec<Finding> {
    let mut found = Vec::new();
    if let (Some(old), Some(new), false) = (before.generation, now.observed_generation, may_be_older) {
        let seen = || format!("observedGeneration {new} after {old}");
        found.push(held(Rule::ObservedGenerationNotBackwards, path.to_owned(), new >= old, seen));
    }
    let moved = before.time.as_deref() != now.last_transition_time;
    let times = || {
        format!(
            "lastTransitionTime {} after {}, status {} after {}",
            now.last_transition_time.unwrap_or("none"),
            before.time.as_deref().unwrap_or("none"),
            now.status,
            before.status
        )
    };
    let flipped = before.status != now.status;
    let changed = !is_same(&before.raw, now.raw);
    let must_move = match transition {
        Transition::OnStatusChange | Transition::Either => flipped,
        Transition::OnAnyChange => changed,
    };
    // A watch may keep apart what was written in one second, and a machine that is late what was stamped in one.
    let late = look.late.saturating_sub(before.late);
    let apart = WRITTEN_APART.saturating_add(SignedDuration::try_from(late).unwrap_or(SignedDuration::MAX));
    let written = before.written.zip(look.written);
    let is_other_second = written.is_none_or(|(then, now)| now.duration_since(then) >= apart);
    let is_later = look.at - before.time_since >= SURELY_ANOTHER_SECOND + late && is_other_second;
    if must_move && (before.placeholder || is_later) {
        found.push(held(Rule::TransitionTimeMoves, path.to_owned(), moved, times));
    }
    // The controller's first word replaces a time that is none, even if it repeats the status.
    if !must_move && transition != Transition::Either && !before.placeholder {
        found.push(held(Rule::TransitionTimeStays, path.to_owned(), !moved, times));
    }
    if let (Some(old), Some(new)) = (instant(before.time.as_deref()), instant(now.last_transition_time)) {
        found.push(held(Rule::TransitionTimeNotBackwards, path.to_owned(), new >= old, times));
    }
    found
}

/// Whether two looks of a condition differ in nothing but the time.
fn is_same(before: &Value, now: &Value) -> bool {
    let fields = |condition: &Value| {
        let mut fields = condition.as_object().cloned().unwrap_or_default();
        fields.remove("lastTransitionTime");
        fields
    };
    fields(before) == fields(now)
}

/// Holds a time against the API server's, as far as the object tells that.
pub(super) fn ahead(path: &str, condition: &Condition<'_>, look: Look) -> Option<Finding> {
    let (time, written) = (instant(condition.last_transition_time)?, look.written?);
    let good = time.duration_since(written) <= AHEAD;
    Some(held(Rule::TransitionTimeNotAhead, path.to_owned(), good, || {
        format!("lastTransitionTime {time}, in a status that was written at {written}")
    }))
}

fn instant(time: Option<&str>) -> Option<Timestamp> {
    time?.parse().ok()
}
