//! What several faults and variants are made of.

use std::sync::Arc;

use serde_json::Value;

use crate::{decide::Decision, status::Ready, world::Facts};

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
