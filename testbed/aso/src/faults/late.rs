//! Faults in what is sent a long while after it was said that nothing would be: no step sees them that watches for a second or two.

use std::time::Duration;

use jiff::SignedDuration;

use super::{
    Fault,
    requests::{look, looked},
    tools::{LATER, SUBSCRIPTION, has_hint, says},
};
use crate::{
    arm::{Purpose, Response},
    behaviour::Seam,
    decide::{Again, Decision, Memory, Seen, decide},
    kinds::Source,
    status::{Desired, Ready},
    world::{Facts, RESOURCE_ID},
};

/// How many attempts have failed by the time that stands for more than a minute on a cluster.
const MANY: u32 = 6;

/// Whether what would rest has rested for long. Sees to it that it is asked again by then.
fn is_due_later(seen: Seen<'_>, decision: &mut Decision) -> bool {
    // What was due before it came to rest is another matter.
    let reason = |ready: &Option<Ready>| ready.as_ref().map(|ready| ready.reason.clone());
    let rests = reason(&decision.status.ready) == reason(&seen.memory.said.ready);
    let left = match seen.memory.due.filter(|_| rests && seen.answer.is_none()) {
        Some(due) if due <= seen.now => return true,
        Some(due) => Duration::try_from(due.duration_since(seen.now)).unwrap_or(LATER),
        None => LATER,
    };
    decision.memory.due = SignedDuration::try_from(left).ok().and_then(|left| seen.now.checked_add(left).ok());
    decision.again = Again::After(left);
    false
}

/// Decides as if nothing were in the way, where something else has become of a resource. Nothing is said of it unless it comes out
/// otherwise.
fn try_again(seen: Seen<'_>, facts: &Facts, decision: &mut Decision) {
    let memory = Memory { fingerprint: None, is_parked: false, due: Some(seen.now), ..seen.memory.clone() };
    *decision = decide(Seen { facts, memory: &memory, answer: None, ..seen });
    decision.status = Desired::default();
    decision.memory.said = seen.memory.said.clone();
    decision.memory.due = None;
}

/// Sends a spec after a long while though a key is missing in what it refers to.
fn send_without_key(seen: Seen<'_>, decision: &mut Decision, source: Source, reason: &str) {
    let lacks_key =
        |facts: &Facts| facts.inputs.iter().any(|input| input.source == source && has_hint(&input.value, "has no key"));
    if lacks_key(seen.facts) && says(decision, reason) && is_due_later(seen, decision) {
        let mut facts = seen.facts.clone();
        for input in facts.inputs.iter_mut().filter(|input| input.source == source) {
            input.value = input.value.clone().or(Ok(String::new()));
        }
        try_again(seen, &facts, decision);
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "asks-late-while-waiting",
        summary: "Looks for a resource in Azure whose owner is missing, after a long while.",
        clauses: &["ASO-13"],
        seam: Seam::Decision(|seen, decision| {
            let has_looked = looked(seen, decision);
            if !has_looked && says(decision, "WaitingForOwner") && is_due_later(seen, decision) {
                let group = format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/missing");
                let id = format!("{group}{}/{}", seen.facts.kind.segment, seen.facts.azure_name());
                decision.request = look(&id, seen.facts);
            }
        }),
    },
    Fault {
        name: "retries-fatal-late",
        summary: "Sends again what failed for good, after a long while.",
        clauses: &["ASO-18", "ASO-INV-9"],
        seam: Seam::Decision(|seen, decision| {
            let is_idle = decision.memory.is_parked && decision.request.is_none() && !seen.facts.is_deleting();
            if is_idle && is_due_later(seen, decision) {
                try_again(seen, seen.facts, decision);
            }
        }),
    },
    Fault {
        name: "sends-late-without-secret-key",
        summary: "Sends a spec whose Secret lacks the key, after a long while.",
        clauses: &["ASO-A08"],
        seam: Seam::Decision(|seen, decision| send_without_key(seen, decision, Source::Secret, "SecretNotFound")),
    },
    Fault {
        name: "sends-late-without-config-map-key",
        summary: "Sends a spec whose ConfigMap lacks the key, after a long while.",
        clauses: &["ASO-A09"],
        seam: Seam::Decision(|seen, decision| {
            send_without_key(seen, decision, Source::ConfigMap, "ConfigMapNotFound");
        }),
    },
    Fault {
        name: "asks-late-in-any-subscription",
        summary: "Looks for a resource in Azure with a credential of another subscription than it is of, after a long while.",
        clauses: &["ASO-A37"],
        seam: Seam::Decision(|seen, decision| {
            let has_looked = looked(seen, decision);
            if !has_looked && says(decision, "SubscriptionMismatch") && !seen.facts.is_deleting() {
                let is_due = is_due_later(seen, decision);
                decision.request =
                    seen.facts.annotation(RESOURCE_ID).filter(|_| is_due).and_then(|id| look(id, seen.facts));
            }
        }),
    },
    Fault {
        name: "asks-late-where-ids-are-broken",
        summary: "Looks under an id of its own where the one that was taken down does not read, after a long while.",
        clauses: &["ASO-A42"],
        seam: Seam::Decision(|seen, decision| {
            let has_looked = looked(seen, decision);
            let is_broken = seen.facts.annotation(RESOURCE_ID).is_some_and(|id| !id.starts_with("/subscriptions/"));
            if !has_looked && is_broken && !seen.facts.is_deleting() {
                let is_due = is_due_later(seen, decision);
                decision.request = seen.facts.id().filter(|_| is_due).and_then(|id| look(&id, seen.facts));
            }
        }),
    },
    Fault {
        name: "changes-late-what-is-blocked",
        summary: "Puts a spec in though the resource is in a state in which it cannot be changed, after a long while.",
        clauses: &["ASO-A43"],
        seam: Seam::Decision(|seen, decision| {
            if let Some((request, Ok(response))) = seen.answer
                && request.purpose == Purpose::Check
                && says(decision, "ReconciliationBlocked")
                && seen.memory.failures >= MANY
            {
                let mut body = response.body.clone();
                body["properties"]["state"] = "Ready".into();
                let free = Ok(Response { body, ..response.clone() });
                *decision = decide(Seen { answer: Some((request, &free)), ..seen });
            }
        }),
    },
];
