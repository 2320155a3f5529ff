//! What follows from an answer of ARM.

use serde_json::{Value, json};

use super::{Decision, Exports, Seen, create, delete};
use crate::{
    arm::{ArmError, How, Method, Outcome, Poll, Purpose, Request, Response},
    classify::Retry,
    definitions,
    settings::Edition,
    status::{Severity, Truth},
    world::{Destination, LATEST_GENERATION, RESOURCE_ID, destinations},
};

/// States of a resource in which nothing goes on.
const FINAL: [&str; 3] = ["Succeeded", "Failed", "Canceled"];

/// What to do about an answer.
pub(super) fn after(seen: Seen<'_>, request: &Request, outcome: &Outcome) -> Decision {
    let sent = seen.memory.fingerprint;
    let is_outdated = sent.is_some_and(|sent| sent != seen.facts.fingerprint());
    if is_outdated && matches!(request.purpose, Purpose::Confirm | Purpose::Keys(_)) {
        return anew(seen);
    }
    let mut decision = told(seen, request, outcome);
    // What changed while the request was out has been seen by now, and wakes nobody again.
    if is_outdated && decision.request.is_none() && decision.again == super::Again::Change {
        decision.again = super::Again::Now;
    }
    decision
}

/// What an answer tells of what was sent.
fn told(seen: Seen<'_>, request: &Request, outcome: &Outcome) -> Decision {
    let response = match outcome {
        Ok(response) => response,
        Err(problem) => return seen.warn(Retry::Slow, "Failed", problem.clone()),
    };
    match &request.purpose {
        Purpose::Put if response.is_success() => begun(seen, response, false),
        Purpose::Delete if response.is_success() => begun(seen, response, true),
        Purpose::Delete | Purpose::Linger if response.status == 404 => delete::gone(seen),
        Purpose::Linger if response.is_success() => delete::lingers(seen),
        Purpose::Read if response.status == 404 => {
            let error = response.error();
            seen.warn(Retry::Slow, "AzureResourceNotFound", error.message)
        }
        Purpose::Check if response.status == 404 => create::put(seen),
        Purpose::Check if response.is_success() => checked(seen, response),
        Purpose::Read | Purpose::Confirm if response.is_success() => standing(seen, response),
        Purpose::Poll(poll) => polled(seen, poll, response),
        Purpose::Keys(azure) if response.is_success() => succeeded(seen, azure.clone(), &response.body),
        _ => seen.refused(&response.error()),
    }
}

/// A PUT or a DELETE was taken: it is done, or an operation runs.
fn begun(seen: Seen<'_>, response: &Response, deletes: bool) -> Decision {
    let generation = seen.facts.generation();
    let id = seen.facts.annotation(RESOURCE_ID).map(str::to_owned).or_else(|| seen.facts.id()).unwrap_or_default();
    let runs = response.state().is_some_and(|state| !FINAL.contains(&state));
    let (url, how) = match (&response.operation, &response.location) {
        (Some(url), _) => (url.clone(), How::Async),
        (None, Some(url)) if response.status == 202 => (url.clone(), How::Location),
        _ if response.status == 202 || runs && !deletes => (id, How::Body),
        _ if deletes => return delete::gone(seen),
        _ => return confirm(seen),
    };
    let mut decision = seen.follow(&Poll { url, how, deletes, generation }, response.pause(seen.settings));
    if deletes {
        decision.say(delete::deleting(seen));
    } else {
        decision.status = seen.memory.said.clone();
    }
    decision
}

/// Reads what stands in Azure now.
fn confirm(seen: Seen<'_>) -> Decision {
    let mut decision = seen.rest();
    decision.request = seen.request(Method::Get, Purpose::Confirm, None);
    decision.forget_operation();
    decision
}

/// An operation told how it goes.
fn polled(seen: Seen<'_>, poll: &Poll, response: &Response) -> Decision {
    let again = || {
        let mut decision = seen.follow(poll, response.pause(seen.settings));
        decision.memory.failures = 0;
        decision
    };
    if poll.deletes != seen.facts.is_deleting() {
        // The user wants something else by now; what runs is of no interest any more.
        let mut decision = seen.rest();
        decision.memory.due = None;
        decision.again = super::Again::Now;
        if !seen.facts.is_deleting() {
            decision.forget_operation();
        }
        return decision;
    }
    let done = || if poll.deletes { delete::gone(seen) } else { settle(seen, poll) };
    match (poll.how, response.status) {
        (How::Body, 404) if poll.deletes => done(),
        (_, 429 | 500..) => {
            // The operation goes on, whatever the server that tells of it does.
            let error = response.error();
            let mut decision = seen.warn(Retry::Slow, &error.code, error.message);
            decision.annotations.clear();
            decision
        }
        (How::Location, 202) => again(),
        (How::Async, 200..300) => match response.body["status"].as_str() {
            Some("Succeeded") => done(),
            Some(end @ ("Failed" | "Canceled")) => seen.refused(&ArmError::read(None, &response.body, end)),
            _ => again(),
        },
        (How::Body, 200..300) => match response.state() {
            Some(end @ ("Failed" | "Canceled")) => {
                seen.refused(&ArmError::read(None, &response.body["properties"], end))
            }
            None | Some("Succeeded") if !poll.deletes => done(),
            _ => again(),
        },
        (How::Location, 200..300) => done(),
        _ => seen.refused(&response.error()),
    }
}

/// An operation has put a spec in. Should the spec have changed meanwhile, the new one follows.
fn settle(seen: Seen<'_>, poll: &Poll) -> Decision {
    if poll.generation == seen.facts.generation() {
        let mut decision = confirm(seen);
        // Whoever was started anew meanwhile does not know that it was sent.
        decision.memory.fingerprint.get_or_insert_with(|| seen.facts.fingerprint());
        decision.memory.essence.get_or_insert_with(|| seen.facts.essence());
        return decision;
    }
    anew(seen)
}

/// What stands in Azure is not what is to stand there by now: nothing is said of it, and the new spec follows.
fn anew(seen: Seen<'_>) -> Decision {
    let mut decision = seen.rest();
    decision.forget_operation();
    decision.memory.fingerprint = None;
    decision.memory.due = None;
    decision.again = super::Again::Now;
    decision
}

/// A resource that was in the way of changes was read.
fn checked(seen: Seen<'_>, response: &Response) -> Decision {
    let state = response.body["properties"]["state"].as_str().unwrap_or_default();
    if !seen.facts.kind.blocking_states.contains(&state) {
        return create::put(seen);
    }
    let message = format!("the resource is {state} and cannot be changed meanwhile");
    let mut decision = seen.warn(Retry::Slow, "ReconciliationBlocked", message);
    decision.status.azure = Some(azure(seen, &response.body));
    decision
}

/// The resource stands in Azure: it is as it should be, or is not yet, or has failed.
fn standing(seen: Seen<'_>, response: &Response) -> Decision {
    let facts = seen.facts;
    let known = azure(seen, &response.body);
    let with_state = |mut decision: Decision| {
        decision.status.azure = Some(known.clone());
        decision.memory.said.azure = Some(known.clone());
        decision
    };
    let is_read = matches!(seen.answer, Some((Request { purpose: Purpose::Read, .. }, _)));
    match response.state() {
        Some(state @ ("Failed" | "Canceled")) => {
            let error = ArmError::read(None, &response.body["properties"], state);
            let message = format!("the resource stands in Azure with provisioningState {state}: {}", error.message);
            return with_state(seen.warn(Retry::Slow, &error.code, message));
        }
        Some(state) if state != "Succeeded" && !is_read => {
            let url = facts.annotation(RESOURCE_ID).unwrap_or_default().to_owned();
            let poll = Poll { url, how: How::Body, deletes: false, generation: facts.generation() };
            return with_state(seen.follow(&poll, response.pause(seen.settings)));
        }
        _ => {}
    }
    if let Some((field, value)) = facts.kind.unfit
        && known[field] == value
    {
        let message = format!("the resource says {field} {value}");
        return with_state(seen.warn(Retry::Slow, "PostReconciliationFailure", message));
    }
    if !facts.foreign.is_empty() {
        let message = format!("{} exists and is not of this object", facts.foreign.join(", "));
        let reason = "FailedWritingAdditionalKubernetesObjects";
        return with_state(seen.fail(Severity::Error, Retry::Never, reason, message));
    }
    let needs_keys = destinations(&facts.object).iter().any(|to| to.value.starts_with("key"));
    if facts.kind.has_keys && needs_keys {
        return Decision { request: seen.request(Method::Post, Purpose::Keys(known), None), ..seen.rest() };
    }
    succeeded(seen, known, &Value::Null)
}

/// Everything is done.
fn succeeded(seen: Seen<'_>, known: Value, keys: &Value) -> Decision {
    let mut decision = seen.rest();
    let generation = seen.facts.generation();
    decision.annotations.insert(LATEST_GENERATION, Some(generation.to_string()));
    decision.exports = exports(seen, &known, keys);
    decision.status.azure = Some(known);
    decision.say(seen.ready(Truth::True, None, "Succeeded", ""));
    decision.memory.failures = 0;
    decision.memory.due = None;
    if let (Edition::Current, Some(period)) = (seen.settings.edition, seen.settings.sync_period) {
        // Not all at once: from three quarters of the period to five, by the object.
        let share = seen.facts.meta("uid").bytes().fold(7_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 51);
        decision.wait_for(&seen, seen.settings.scaled(period * (75 + share) / 100));
    }
    decision
}

/// What goes into Secrets and ConfigMaps.
fn exports(seen: Seen<'_>, known: &Value, keys: &Value) -> Exports {
    let mut exports = Exports::new();
    for Destination { value, kind, name, key } in destinations(&seen.facts.object) {
        let found = match value.as_str() {
            "key1" => &keys["keys"][0]["value"],
            "key2" => &keys["keys"][1]["value"],
            other => other.strip_suffix("Endpoint").map_or(&Value::Null, |of| &known["primaryEndpoints"][of]),
        };
        if let Some(text) = found.as_str() {
            exports.entry((kind, name)).or_default().insert(key, text.to_owned());
        }
    }
    exports
}

/// What a resource says of itself, in the form of the status.
fn azure(seen: Seen<'_>, body: &Value) -> Value {
    let mut known = body.as_object().cloned().unwrap_or_default();
    if !seen.facts.kind.keeps_properties {
        let properties = known.shift_remove("properties").unwrap_or_else(|| json!({}));
        known.extend(properties.as_object().cloned().unwrap_or_default());
    }
    known.shift_remove("conditions");
    definitions::fit(seen.facts.kind, &known.into())
}
