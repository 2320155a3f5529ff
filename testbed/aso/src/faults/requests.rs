//! Faults in what is sent, when, and in whose name, and in what lets it be sent.

use serde_json::json;

use super::{
    Fault,
    tools::{SOON, SUBSCRIPTION, edit, edit_reason, has_hint, is_refused, object, overlook, says},
};
use crate::{
    arm::{How, Method, Poll, Purpose, Request, Response},
    behaviour::Seam,
    decide::{Again, Decision, Memory, Seen, decide},
    kinds::Source,
    status::{Desired, PRECONDITIONS, Severity, Truth},
    world::{CREDENTIAL_FROM, Facts, Owner, POLLER_TOKEN, RECONCILE_POLICY, RESOURCE_ID},
};

/// A look at something, of which nothing is to follow.
pub(super) fn look(id: &str, facts: &Facts) -> Option<Request> {
    let url = format!("{id}?api-version={}", facts.kind.api_version);
    Some(Request { method: Method::Get, url, body: None, purpose: Purpose::Linger, caller: None })
}

/// Goes on behind such a look as if it had not been. Whether there was one.
pub(super) fn looked(seen: Seen<'_>, decision: &mut Decision) -> bool {
    let has =
        !seen.facts.is_deleting() && matches!(seen.answer, Some((request, _)) if request.purpose == Purpose::Linger);
    if has {
        *decision = decide(Seen { answer: None, ..seen });
    }
    has
}

/// What the live condition says in a field.
fn live<'a>(facts: &'a Facts, field: &str) -> &'a str {
    facts.ready()[field].as_str().unwrap_or_default()
}

/// Whether the live condition is of this generation.
fn is_current(facts: &Facts) -> bool {
    facts.ready()["observedGeneration"].as_i64() == Some(facts.generation())
}

/// Stands still until something changes.
fn rest(seen: Seen<'_>, decision: &mut Decision) {
    decision.request = None;
    decision.status = Desired::default();
    decision.again = Again::Change;
    decision.memory = Memory { rounds: seen.memory.rounds + 1, ..seen.memory.clone() };
}

/// The operation that the annotations tell of.
fn operation(facts: &Facts) -> Option<Poll> {
    serde_json::from_str(facts.annotation(POLLER_TOKEN)?).ok()
}

/// Decides at the first look after a start as if no operation ran.
fn forget(seen: Seen<'_>, decision: &mut Decision, is_forgotten: impl Fn(&Poll) -> bool) {
    let is_first = seen.memory.rounds == 0 && seen.answer.is_none();
    if is_first && operation(seen.facts).is_some_and(|poll| is_forgotten(&poll)) {
        let mut facts = seen.facts.clone();
        overlook(&mut facts, POLLER_TOKEN);
        *decision = decide(Seen { facts: &facts, ..seen });
    }
}

/// Whether a spec is about to be sent that Ready stands for already.
fn sends_the_same(seen: Seen<'_>, decision: &Decision) -> bool {
    let puts = decision.request.as_ref().is_some_and(|request| request.purpose == Purpose::Put);
    puts && seen.answer.is_none() && live(seen.facts, "status") == "True" && is_current(seen.facts)
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "ignores-retry-after",
        summary: "Does not hear when a refusal says for how long nothing is to be sent.",
        clauses: &["ASO-A39"],
        seam: Seam::Arm(|_, outcome| {
            if let Ok(response) = outcome
                && response.status >= 400
            {
                response.retry_after = None;
            }
        }),
    },
    Fault {
        name: "polls-early",
        summary: "Asks how an operation goes before the time that Azure gave is over.",
        clauses: &["ASO-A39"],
        seam: Seam::Arm(|_, outcome| {
            if let Ok(response) = outcome
                && response.is_success()
            {
                response.retry_after = None;
            }
        }),
    },
    Fault {
        name: "asks-while-waiting",
        summary: "Looks for a resource in Azure whose owner is missing.",
        clauses: &["ASO-13"],
        seam: Seam::Decision(|seen, decision| {
            if !looked(seen, decision) && seen.answer.is_none() && says(decision, "WaitingForOwner") {
                let group = format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/missing");
                let id = format!("{group}{}/{}", seen.facts.kind.segment, seen.facts.azure_name());
                decision.request = look(&id, seen.facts);
            }
        }),
    },
    Fault {
        name: "asks-while-parked",
        summary: "Goes on looking at a resource after an error that is for good.",
        clauses: &["ASO-18"],
        seam: Seam::Decision(|seen, decision| {
            let has_looked = looked(seen, decision);
            let is_idle = decision.memory.is_parked && decision.request.is_none();
            if has_looked {
                decision.again = Again::After(SOON);
            } else if is_idle
                && seen.answer.is_none()
                && let Some(id) = seen.facts.annotation(RESOURCE_ID)
            {
                decision.request = look(id, seen.facts);
            }
        }),
    },
    Fault {
        name: "asks-in-its-own-name",
        summary: "Sends every request in the operator's own name.",
        clauses: &["ASO-A44", "ASO-A52"],
        seam: Seam::Decision(|_, decision| {
            if let Some(request) = &mut decision.request {
                request.caller = None;
            }
        }),
    },
    Fault {
        name: "ignores-credential-of-namespace",
        summary: "Sends what names no credential in the operator's own name, though its namespace has one.",
        clauses: &["ASO-A52"],
        seam: Seam::World(|facts| {
            if facts.annotation(CREDENTIAL_FROM).is_none() {
                facts.client = None;
            }
        }),
    },
    Fault {
        name: "forgets-operations-on-restart",
        summary: "Does not take up again what it followed before it was started.",
        clauses: &["ASO-A41"],
        seam: Seam::Decision(|seen, decision| forget(seen, decision, |_| true)),
    },
    Fault {
        name: "forgets-locations-on-restart",
        summary: "Does not take up again what it followed by a Location before it was started.",
        clauses: &["ASO-A41"],
        seam: Seam::Decision(|seen, decision| forget(seen, decision, |poll| poll.how == How::Location)),
    },
    Fault {
        name: "forgets-deletions-on-restart",
        summary: "Sends a DELETE again that Azure had accepted before it was started.",
        clauses: &["ASO-A31", "ASO-A41"],
        seam: Seam::Decision(|seen, decision| forget(seen, decision, |poll| poll.deletes)),
    },
    Fault {
        name: "drops-edits-made-meanwhile",
        summary: "Takes an operation for that of the spec as it stands by its end, and never sends an edit made meanwhile.",
        clauses: &["ASO-A48"],
        seam: Seam::Decision(|seen, decision| {
            let generation = seen.facts.generation();
            if let Some((request, outcome)) = seen.answer
                && let Purpose::Poll(poll) = &request.purpose
                && !poll.deletes
                && poll.generation != generation
            {
                let purpose = Purpose::Poll(Poll { generation, ..poll.clone() });
                let request = Request { purpose, ..request.clone() };
                *decision = decide(Seen { answer: Some((&request, outcome)), ..seen });
                decision.memory.fingerprint = Some(seen.facts.fingerprint());
                decision.memory.essence = Some(seen.facts.essence());
            } else if generation > 1 && sends_the_same(seen, decision) {
                rest(seen, decision);
            }
        }),
    },
    Fault {
        name: "lets-go-with-the-creation",
        summary: "Takes the end of an operation that makes a resource for that of its deletion.",
        clauses: &["ASO-INV-11"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.is_deleting()
                && let Some(poll) = operation(seen.facts).filter(|poll| !poll.deletes)
                && let Ok(token) = serde_json::to_string(&Poll { deletes: true, ..poll })
            {
                let mut facts = seen.facts.clone();
                object(&mut facts, |object| object["metadata"]["annotations"][POLLER_TOKEN] = token.into());
                *decision = decide(Seen { facts: &facts, ..seen });
            }
        }),
    },
    Fault {
        name: "loses-operations-after-skip",
        summary: "Does not follow an operation that makes what it could only miss before.",
        clauses: &["ASO-A30"],
        seam: Seam::Decision(|seen, decision| {
            if let Some((request, Ok(response))) = seen.answer
                && request.purpose == Purpose::Put
                && response.operation.is_some()
                && live(seen.facts, "reason") == "AzureResourceNotFound"
            {
                rest(seen, decision);
                decision.annotations.clear();
                decision.memory.due = None;
            }
        }),
    },
    Fault {
        name: "does-not-make-again",
        summary: "Looks for a resource that it has made before it sends an edit, and sends none if that is gone.",
        clauses: &["ASO-A48"],
        seam: Seam::Decision(|seen, decision| {
            if !seen.facts.object["status"]["id"].is_string() || seen.facts.is_deleting() {
                return;
            }
            if let Some((request, outcome)) = seen.answer {
                let is_gone = matches!(outcome, Ok(response) if response.status == 404);
                if is_gone && request.purpose == Purpose::Check {
                    let request = Request { purpose: Purpose::Read, ..request.clone() };
                    *decision = decide(Seen { answer: Some((&request, outcome)), ..seen });
                }
            } else if let Some(request) = decision.request.as_mut().filter(|request| request.purpose == Purpose::Put) {
                *request = Request { method: Method::Get, body: None, purpose: Purpose::Check, ..request.clone() };
            }
        }),
    },
    Fault {
        name: "never-sends-again",
        summary: "Does not send what is Ready again, neither from time to time nor when the policy changes.",
        clauses: &["ASO-A35"],
        seam: Seam::Decision(|seen, decision| {
            if sends_the_same(seen, decision) {
                rest(seen, decision);
            }
        }),
    },
    Fault {
        name: "retries-without-a-pause",
        summary: "Sends at once again what failed for now.",
        clauses: &["ASO-A50"],
        seam: Seam::Decision(|seen, decision| {
            let is_to_wait = matches!(seen.answer, Some((_, Ok(response))) if response.least().is_some());
            if is_refused(seen) && !is_to_wait && !decision.memory.is_parked && !seen.facts.is_deleting() {
                decision.memory.due = Some(seen.now);
                decision.again = Again::Now;
            }
        }),
    },
    Fault {
        name: "sends-again-after-restart",
        summary: "Sends the spec a second time once an operation has ended that was begun before the restart.",
        clauses: &["ASO-A41"],
        seam: Seam::Decision(|seen, decision| {
            let is_taken_up = seen.memory.fingerprint.is_none();
            let has_polled = matches!(seen.answer, Some((Request { purpose: Purpose::Poll(_), .. }, _)));
            if is_taken_up && has_polled {
                decision.memory.fingerprint = None;
            }
        }),
    },
    Fault {
        name: "takes-its-own-for-somebody-elses",
        summary: "Takes a resource that a failed request has made for that of somebody else.",
        clauses: &["ASO-34", "ASO-19"],
        seam: Seam::Decision(|seen, decision| {
            if let Some((request, Ok(response))) = seen.answer
                && request.purpose == Purpose::Put
                && response.status == 200
                && seen.memory.failures > 0
                && seen.facts.kind.blocking_states.is_empty()
            {
                let body = json!({"error": {"code": "Conflict", "message": "there is one of that name already"}});
                let taken = Ok(Response { status: 409, body, ..Response::default() });
                *decision = decide(Seen { answer: Some((request, &taken)), ..seen });
            }
        }),
    },
    Fault {
        name: "hears-edits-alone",
        summary: "Does not look at a resource in Error again when its credential or policy changes.",
        clauses: &["ASO-INV-9"],
        seam: Seam::Decision(|seen, decision| {
            let is_in_error = live(seen.facts, "severity") == "Error" && is_current(seen.facts);
            if is_in_error && seen.answer.is_none() && !seen.facts.is_deleting() {
                rest(seen, decision);
            }
        }),
    },
    Fault {
        name: "looks-up-once",
        summary: "Does not look again for what a resource refers to, before it is edited.",
        clauses: &["ASO-A12", "ASO-19"],
        seam: Seam::Decision(|seen, decision| {
            let reason = live(seen.facts, "reason");
            let is_missing = reason != "WaitingForOwner" && PRECONDITIONS.contains(&reason) && is_current(seen.facts);
            if is_missing && seen.answer.is_none() && !seen.facts.is_deleting() {
                rest(seen, decision);
            }
        }),
    },
    Fault {
        name: "changes-what-is-blocked",
        summary: "Puts a spec in while the resource is in a state in which it cannot be changed.",
        clauses: &["ASO-A43"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Check, Ok(response)) = (&request.purpose, outcome)
                && response.body["properties"]["state"].is_string()
            {
                response.body["properties"]["state"] = "Ready".into();
            }
        }),
    },
    Fault {
        name: "deletes-in-any-subscription",
        summary: "Deletes with a credential of another subscription than the resource is of.",
        clauses: &["ASO-A37"],
        seam: Seam::World(|facts| {
            if facts.is_deleting()
                && let Some(of) = facts.annotation(RESOURCE_ID).and_then(|id| id.split('/').nth(2))
            {
                facts.subscription = Ok(of.to_owned());
            }
        }),
    },
    Fault {
        name: "works-out-broken-ids",
        summary: "Goes on with an id of its own where the one that was taken down does not read.",
        clauses: &["ASO-A42"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.annotation(RESOURCE_ID).is_some_and(|id| !id.starts_with("/subscriptions/")) {
                let mut facts = seen.facts.clone();
                overlook(&mut facts, RESOURCE_ID);
                *decision = decide(Seen { facts: &facts, ..seen });
                decision.annotations.remove(RESOURCE_ID);
            }
        }),
    },
    Fault {
        name: "looks-for-owners-by-id",
        summary: "Looks in the cluster for an owner that is given by its id.",
        clauses: &["ASO-A05"],
        seam: Seam::World(|facts| {
            if let (Owner::Arm(id), Ok(subscription)) = (&facts.owner, &facts.subscription)
                && id.contains(subscription)
            {
                facts.owner = Owner::Missing(id.clone());
            }
        }),
    },
    Fault {
        name: "missing-group-as-error",
        summary: "Calls it an error that Azure does not know the group.",
        clauses: &["ASO-A27", "ASO-24", "ASO-36"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "ResourceGroupNotFound", |ready| ready.severity = Some(Severity::Error));
        }),
    },
    Fault {
        name: "falls-back-to-its-own-credential",
        summary: "Takes its own credential where the one that is named is not to be had.",
        clauses: &["ASO-A13", "ASO-A14"],
        seam: Seam::World(|facts| {
            if facts.subscription.is_err() {
                facts.subscription = Ok(SUBSCRIPTION.to_owned());
            }
        }),
    },
    Fault {
        name: "takes-a-missing-key-for-empty",
        summary: "Sends an empty value where a Secret lacks the key.",
        clauses: &["ASO-A08"],
        seam: Seam::World(|facts| {
            for input in &mut facts.inputs {
                if input.source == Source::Secret && has_hint(&input.value, "has no key") {
                    input.value = Ok(String::new());
                }
            }
        }),
    },
    Fault {
        name: "takes-ids-for-names",
        summary: "Takes an id of Azure that stands in the place of a name.",
        clauses: &["ASO-A11"],
        seam: Seam::World(|facts| {
            for input in facts.inputs.iter_mut().filter(|input| has_hint(&input.value, "armId")) {
                input.value = Ok("/subscriptions".to_owned());
            }
        }),
    },
    Fault {
        name: "watches-for-ever",
        summary: "Goes on watching alone what it did not find, though it may make it by now.",
        clauses: &["ASO-A30", "ASO-INV-9"],
        seam: Seam::World(|facts| {
            if !facts.is_deleting() && live(facts, "reason") == "AzureResourceNotFound" {
                object(facts, |object| object["metadata"]["annotations"][RECONCILE_POLICY] = "skip".into());
            }
        }),
    },
    Fault {
        name: "missing-name-as-warning",
        summary: "Calls it a warning that there is no name in Azure.",
        clauses: &["ASO-A15"],
        seam: Seam::Decision(|_, decision| {
            edit(decision, |ready| {
                if ready.message.contains("azureName") {
                    ready.severity = Some(Severity::Warning);
                }
            });
        }),
    },
    Fault {
        name: "once-ready-always-ready",
        summary: "Stays Ready when Azure refuses an edit.",
        clauses: &["ASO-17", "ASO-27"],
        seam: Seam::Decision(|seen, decision| {
            let is_edited = seen.facts.generation() > 1 && seen.memory.failures == 0;
            if is_refused(seen) && is_edited && !seen.facts.is_deleting() {
                edit(decision, |ready| {
                    if ready.severity == Some(Severity::Error) {
                        ready.status = Truth::True;
                        ready.severity = None;
                        ready.reason = "Succeeded".into();
                        ready.message.clear();
                    }
                });
            }
        }),
    },
];
