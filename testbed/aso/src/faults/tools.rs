//! What several faults and variants are made of.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    decide::{Decision, Seen},
    status::Ready,
    world::Facts,
};

/// The subscription of the embedded ARM.
pub(super) const SUBSCRIPTION: &str = "00000000-0000-4000-8000-000000000001";

/// How soon something is needlessly done again.
pub(super) const SOON: Duration = Duration::from_millis(200);

/// How late something is done that is to trouble nothing but what waits for it: a step that only looks has ended long before.
pub(super) const LATE: Duration = Duration::from_secs(2);

/// How late something is done that no step sees which watches for a second or two; it stands for more than a minute on a cluster.
pub(super) const LATER: Duration = Duration::from_secs(4);

/// Whether this is about to be said.
pub(super) fn says(decision: &Decision, reason: &str) -> bool {
    decision.status.ready.as_ref().is_some_and(|ready| ready.reason == reason)
}

/// Whether the answer tells an error of ARM.
pub(super) fn is_refused(seen: Seen<'_>) -> bool {
    matches!(seen.answer, Some((_, Ok(response))) if response.status >= 400 && response.status != 404)
}

/// Whether it tells one without a code.
pub(super) fn has_no_code(seen: Seen<'_>) -> bool {
    is_refused(seen)
        && matches!(seen.answer, Some((_, Ok(response))) if response.body["error"]["code"].as_str().unwrap_or_default().is_empty())
}

/// Whether what is missing is so for this reason.
pub(super) fn has_hint(missing: &Result<String, String>, hint: &str) -> bool {
    missing.as_ref().is_err_and(|message| message.contains(hint))
}

/// Changes the condition that is about to be said, and what is remembered of it.
pub(crate) fn edit(decision: &mut Decision, change: impl Fn(&mut Ready)) {
    let said = [&mut decision.status.ready, &mut decision.memory.said.ready];
    said.into_iter().flatten().for_each(change);
}

/// The same, of conditions with one reason alone.
pub(super) fn edit_reason(decision: &mut Decision, reason: &str, change: impl Fn(&mut Ready)) {
    edit(decision, |ready| {
        if ready.reason == reason {
            change(ready);
        }
    });
}

/// Says nothing where the condition would have this reason.
pub(super) fn hush(decision: &mut Decision, reason: &str) {
    for said in [&mut decision.status.ready, &mut decision.memory.said.ready] {
        if said.as_ref().is_some_and(|ready| ready.reason == reason) {
            *said = None;
        }
    }
}

/// Changes the object that is seen.
pub(super) fn object(facts: &mut Facts, change: impl FnOnce(&mut Value)) {
    change(Arc::make_mut(&mut facts.object));
}

/// Does not see an annotation.
pub(super) fn overlook(facts: &mut Facts, name: &str) {
    object(facts, |object| {
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.shift_remove(name);
        }
    });
}

/// The conditions of a status that are called Ready.
pub(crate) fn readies(status: &mut Value) -> impl Iterator<Item = &mut Value> {
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    conditions.into_iter().flatten().filter(|condition| condition["type"] == "Ready")
}

/// Changes what is written of Ready.
pub(super) fn each(statuses: &mut [Value], change: impl Fn(&mut Value)) {
    statuses.iter_mut().flat_map(readies).for_each(change);
}
