//! On the way into Azure: what has to hold before anything is sent.

use serde_json::{Map, Value};

use super::{Decision, Seen};
use crate::{
    arm::{Method, Purpose},
    kinds::Source,
    settings::Edition,
    status::{Ready, Severity},
    world::{LATEST_GENERATION, OPERATOR_NAMESPACE, Owner, Policy, RESOURCE_ID},
};

/// What to do about an object that is to be there.
pub(super) fn create(seen: Seen<'_>, is_owned: bool) -> Decision {
    let ownership = Some(seen.settings.operator_namespace.clone());
    if !is_owned && seen.settings.edition == Edition::Current {
        let mut decision = seen.rest();
        decision.annotations.insert(OPERATOR_NAMESPACE, ownership);
        decision.again = super::Again::Now;
        return decision;
    }
    let mut decision = begin(seen);
    if !is_owned {
        decision.annotations.insert(OPERATOR_NAMESPACE, ownership);
        decision.status_first = true;
    }
    decision
}

fn begin(seen: Seen<'_>) -> Decision {
    let id = match identify(seen) {
        Ok(id) => id,
        Err(decision) => return *decision,
    };
    let mut decision = attempt(seen);
    if !seen.facts.has_finalizer() {
        decision.finalizer = Some(true);
    }
    if seen.facts.annotation(RESOURCE_ID).is_none() {
        // The request of this very decision is sent under the id that is taken down with it.
        decision.annotations.insert(RESOURCE_ID, Some(id));
    }
    if let Owner::Found { name, uid, .. } = &seen.facts.owner {
        let name = name.rsplit('/').next().unwrap_or_default();
        // A label holds no more than 63 characters.
        if name.len() < 64 {
            decision.labels.insert("serviceoperator.azure.com/owner-name", name.to_owned());
        }
        decision.labels.insert("serviceoperator.azure.com/owner-uid", uid.clone());
    }
    decision
}

/// The id in ARM, or what to say where there is none.
fn identify(seen: Seen<'_>) -> Result<String, Box<Decision>> {
    let facts = seen.facts;
    let blocked = |severity, reason, message: String| Err(Box::new(seen.blocked(severity, reason, message)));
    let needs_ready = seen.settings.edition == Edition::Current;
    match &facts.owner {
        Owner::Missing(name) => {
            return blocked(Severity::Warning, "WaitingForOwner", format!("the owner {name} cannot be found"));
        }
        Owner::Found { name, is_ready, id, .. } if id.is_none() || needs_ready && !is_ready => {
            return blocked(
                Severity::Warning,
                "WaitingForOwner",
                format!("the owner {name} cannot be found or is not ready"),
            );
        }
        _ => {}
    }
    let subscription = match &facts.subscription {
        Ok(subscription) => subscription,
        Err(missing) => return blocked(Severity::Warning, "Failed", missing.clone()),
    };
    if let Owner::Arm(id) = &facts.owner {
        match subscription_of(id) {
            Some(of) if of.eq_ignore_ascii_case(subscription) => {}
            Some(of) => {
                let message = format!("the owner {id} is of subscription {of}, the credential of {subscription}");
                return blocked(Severity::Error, "Failed", message);
            }
            None => return blocked(Severity::Error, "Failed", format!("the owner {id:?} is no id in ARM")),
        }
    }
    if facts.azure_name().is_empty() {
        return blocked(Severity::Error, "Failed", "spec.azureName is empty".to_owned());
    }
    check_subscription(seen)?;
    match facts.annotation(RESOURCE_ID).map(str::to_owned).or_else(|| facts.id()) {
        Some(id) => Ok(id),
        None => blocked(Severity::Error, "Failed", "the resource has no id".to_owned()),
    }
}

/// Whether the id that was taken down reads, and is of the credential's subscription.
pub(super) fn check_subscription(seen: Seen<'_>) -> Result<(), Box<Decision>> {
    let blocked = |reason, message: String| Err(Box::new(seen.blocked(Severity::Error, reason, message)));
    let (Some(id), Ok(subscription)) = (seen.facts.annotation(RESOURCE_ID), &seen.facts.subscription) else {
        return Ok(());
    };
    match subscription_of(id) {
        None => blocked("Failed", format!("the annotation {RESOURCE_ID} holds {id:?}, which is no id in ARM")),
        Some(of) if !of.eq_ignore_ascii_case(subscription) => {
            let message = format!("the resource {id} is of subscription {of}, the credential of {subscription}");
            blocked("SubscriptionMismatch", message)
        }
        Some(_) => Ok(()),
    }
}

fn subscription_of(id: &str) -> Option<&str> {
    let mut parts = id.strip_prefix('/')?.split('/');
    let is_id = parts.next()?.eq_ignore_ascii_case("subscriptions");
    parts.next().filter(|subscription| is_id && !subscription.is_empty())
}

/// The next step into Azure, if one is due.
fn attempt(seen: Seen<'_>) -> Decision {
    let (facts, memory) = (seen.facts, seen.memory);
    if let Some(poll) = seen.operation().filter(|poll| !poll.deletes) {
        let mut decision = if memory.due.is_some_and(|due| due > seen.now) {
            seen.wait()
        } else {
            Decision { request: seen.poll(poll), ..seen.rest() }
        };
        decision.say(reconciling(seen));
        return decision;
    }
    let is_parked = memory.is_parked && memory.essence == Some(facts.essence());
    if is_parked || memory.essence.is_none() && was_refused(seen) {
        let mut decision = seen.wait();
        decision.memory.is_parked = true;
        decision.memory.essence = Some(facts.essence());
        return decision;
    }
    let is_changed = memory.fingerprint != Some(facts.fingerprint());
    if !is_changed && memory.due.is_none_or(|due| due > seen.now) {
        return seen.wait();
    }
    let mut decision = send(seen);
    if decision.request.is_some() {
        decision.memory.fingerprint = Some(facts.fingerprint());
        decision.memory.essence = Some(facts.essence());
        decision.memory.is_parked = false;
        if is_changed {
            decision.memory.failures = 0;
        }
    }
    decision
}

/// Whether this generation was refused for good before a restart.
fn was_refused(seen: Seen<'_>) -> bool {
    let latest = seen.facts.annotation(LATEST_GENERATION).and_then(|text| text.parse().ok());
    let is_local = ["SubscriptionMismatch", "Failed"].map(Value::from).contains(&seen.facts.ready()["reason"]);
    seen.facts.ready()["severity"] == "Error" && !is_local && latest == Some(seen.facts.generation())
}

fn reconciling(seen: Seen<'_>) -> Ready {
    Ready { starts: true, ..seen.info("Reconciling", "the spec is on its way into Azure") }
}

fn send(seen: Seen<'_>) -> Decision {
    let facts = seen.facts;
    if facts.policy() == Policy::Skip {
        return Decision { request: seen.request(Method::Get, Purpose::Read, None), ..seen.rest() };
    }
    for input in &facts.inputs {
        if let Err(missing) = &input.value {
            let reason = match input.source {
                Source::Secret => "SecretNotFound",
                Source::ConfigMap => "ConfigMapNotFound",
                Source::Resource => "ReferenceNotFound",
            };
            return seen.blocked(Severity::Warning, reason, missing.clone());
        }
    }
    // What the status says of its state may be old.
    if !facts.kind.blocking_states.is_empty() {
        return Decision { request: seen.request(Method::Get, Purpose::Check, None), ..seen.rest() };
    }
    put(seen)
}

/// Puts the spec in.
pub(super) fn put(seen: Seen<'_>) -> Decision {
    let mut decision = seen.rest();
    decision.request = seen.request(Method::Put, Purpose::Put, Some(body(seen)));
    let is_done = seen.facts.annotation(LATEST_GENERATION) == Some(&seen.facts.generation().to_string());
    // What is merely sent again stays Ready. The overwriting rule sees to that where it knows generations.
    let is_ready = seen.settings.edition == Edition::Design && is_done && seen.facts.ready()["status"] == "True";
    if !is_ready {
        decision.say(reconciling(seen));
    }
    decision
}

/// What ARM gets: what it knows beside `properties`, and the rest in there.
fn body(seen: Seen<'_>) -> Value {
    let (mut body, mut properties) = (Map::new(), Map::new());
    for (name, value) in seen.facts.object["spec"].as_object().into_iter().flatten() {
        match name.as_str() {
            "azureName" | "owner" | "operatorSpec" => {}
            field if seen.facts.kind.inputs.iter().any(|rule| rule.field == field) => {}
            "location" | "tags" | "sku" | "kind" | "managedBy" => _ = body.insert(name.clone(), value.clone()),
            _ => _ = properties.insert(name.clone(), value.clone()),
        }
    }
    for input in &seen.facts.inputs {
        if let Ok(value) = &input.value {
            properties.insert(input.property.to_owned(), value.clone().into());
        }
    }
    body.insert("properties".into(), properties.into());
    body.into()
}
