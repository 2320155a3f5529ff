//! Faults of the decision and of what is written.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;

use super::{
    Fault,
    tools::{LATE, SOON, each, edit, edit_reason, has_no_code, hush, is_refused, readies, says},
};
use crate::{
    arm::Purpose,
    behaviour::Seam,
    decide::{Again, Decision, Seen},
    status::{Desired, Ready, Severity, Truth, ready_of, same},
    world::{LATEST_GENERATION, POLLER_TOKEN, RESOURCE_ID},
};

fn again_soon(seen: Seen<'_>, decision: &mut Decision) {
    again_after(SOON, seen, decision);
    decision.memory.due = Some(seen.now);
}

fn again_after(delay: Duration, seen: Seen<'_>, decision: &mut Decision) {
    decision.memory.is_parked = false;
    decision.memory.essence = Some(seen.facts.essence());
    decision.memory.fingerprint = Some(seen.facts.fingerprint());
    decision.memory.due = SignedDuration::try_from(delay).ok().and_then(|delay| seen.now.checked_add(delay).ok());
    decision.again = Again::After(delay);
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "says-nothing",
        summary: "Writes no condition at all.",
        clauses: &["ASO-01", "ASO-12", "ASO-15", "ASO-22", "ASO-24", "ASO-28"],
        seam: Seam::Decision(|_, decision| {
            decision.status.ready = None;
            decision.memory.said.ready = None;
        }),
    },
    Fault {
        name: "severity-when-true",
        summary: "Leaves the severity Info on a condition that becomes True.",
        clauses: &["ASO-05", "ASO-15", "ASO-INV-2", "ASO-INV-4"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.ready()["severity"] == "Info" {
                edit_reason(decision, "Succeeded", |ready| ready.severity = Some(Severity::Info));
            }
        }),
    },
    Fault {
        name: "unknown-with-severity",
        summary: "Says Unknown with a severity while the spec is on its way.",
        clauses: &["ASO-07", "ASO-12", "ASO-INV-2"],
        seam: Seam::Decision(|_, decision| edit_reason(decision, "Reconciling", |ready| ready.status = Truth::Unknown)),
    },
    Fault {
        name: "no-severity-when-false",
        summary: "Leaves the severity out where the condition is False.",
        clauses: &["ASO-08", "ASO-12", "ASO-14", "ASO-24", "ASO-INV-2", "ASO-INV-4"],
        seam: Seam::Decision(|_, decision| edit(decision, |ready| ready.severity = None)),
    },
    Fault {
        name: "severity-of-its-own",
        summary: "Calls the severity of errors Fatal.",
        clauses: &["ASO-04", "ASO-24"],
        seam: Seam::Writer(|write, statuses| {
            let before = ready_of(write.live).clone();
            each(statuses, |ready| {
                if ready["severity"] == "Error" {
                    ready["severity"] = "Fatal".into();
                    if same(ready, &before) {
                        *ready = before.clone();
                    }
                }
            })
        }),
    },
    Fault {
        name: "empty-reason",
        summary: "Gives no reason where a reference leads nowhere.",
        clauses: &["ASO-10", "ASO-29", "ASO-A10"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "ReferenceNotFound", |ready| {
                if !ready.message.contains("armId") {
                    ready.reason.clear();
                }
            })
        }),
    },
    Fault {
        name: "reason-with-spaces",
        summary: "Gives a phrase for a reason while the spec is on its way.",
        clauses: &["ASO-10", "ASO-INV-4", "ASO-INV-8"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "Reconciling", |ready| ready.reason = "Being put in".into())
        }),
    },
    Fault {
        name: "message-on-success",
        summary: "Tells of success in a message.",
        clauses: &["ASO-INV-2"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "Succeeded", |ready| ready.message = "all is well".into())
        }),
    },
    Fault {
        name: "no-reconciling",
        summary: "Says nothing while the spec is on its way.",
        clauses: &["ASO-12"],
        seam: Seam::Decision(|_, decision| hush(decision, "Reconciling")),
    },
    Fault {
        name: "reconciling-as-warning",
        summary: "Calls it a warning that the spec is on its way.",
        // A warning is tried again, behind an error and behind True, too.
        clauses: &["ASO-12", "ASO-24", "ASO-INV-4", "ASO-A35", "ASO-18", "ASO-INV-8"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "Reconciling", |ready| ready.severity = Some(Severity::Warning))
        }),
    },
    Fault {
        name: "waiting-as-error",
        summary: "Calls it an error that the owner is missing.",
        clauses: &["ASO-13", "ASO-INV-5"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "WaitingForOwner", |ready| ready.severity = Some(Severity::Error))
        }),
    },
    Fault {
        name: "waiting-as-info",
        summary: "Calls it Info that the owner is missing.",
        clauses: &["ASO-13", "ASO-20", "ASO-INV-4", "ASO-INV-5"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "WaitingForOwner", |ready| ready.severity = Some(Severity::Info))
        }),
    },
    Fault {
        name: "claims-before-owner",
        summary: "Puts its finalizer on an object whose owner is missing.",
        clauses: &["ASO-INV-5", "ASO-INV-11"],
        seam: Seam::Decision(|_, decision| {
            if decision.status.ready.as_ref().is_some_and(|ready| ready.reason == "WaitingForOwner") {
                decision.finalizer = Some(true);
            }
        }),
    },
    Fault {
        name: "keeps-what-was-never-claimed",
        summary: "Puts its finalizer on an object whose owner is missing, and does not let go of it.",
        clauses: &["ASO-A04", "ASO-INV-11"],
        seam: Seam::Decision(|seen, decision| {
            if says(decision, "WaitingForOwner") {
                decision.finalizer = Some(true);
            }
            if seen.facts.is_deleting() && seen.facts.annotation(RESOURCE_ID).is_none() {
                decision.finalizer = None;
            }
        }),
    },
    Fault {
        name: "deleting-as-reconciling",
        summary: "Says Reconciling while the resource is being deleted.",
        clauses: &["ASO-14"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "Deleting", |ready| ready.reason = "Reconciling".into())
        }),
    },
    Fault {
        name: "no-deleting",
        summary: "Says nothing while the resource is being deleted.",
        clauses: &["ASO-14"],
        seam: Seam::Decision(|_, decision| hush(decision, "Deleting")),
    },
    Fault {
        name: "success-by-another-name",
        summary: "Calls success Applied.",
        clauses: &["ASO-15"],
        seam: Seam::Decision(|_, decision| edit_reason(decision, "Succeeded", |ready| ready.reason = "Applied".into())),
    },
    Fault {
        name: "resends-after-success",
        summary: "Sends the spec again and again, from two seconds after the first success on.",
        clauses: &["ASO-16"],
        seam: Seam::Decision(|seen, decision| {
            if says(decision, "Succeeded") {
                let is_first = seen.facts.ready()["status"] != "True";
                again_after(if is_first { LATE } else { SOON }, seen, decision);
            }
        }),
    },
    Fault {
        name: "reason-of-its-own",
        summary: "Gives AzureError for a reason, whatever the code.",
        clauses: &["ASO-17", "ASO-36"],
        seam: Seam::Decision(|seen, decision| {
            if is_refused(seen) {
                edit(decision, |ready| ready.reason = "AzureError".into());
            }
        }),
    },
    Fault {
        name: "message-lost",
        summary: "Repeats the reason where the message of Azure should stand.",
        clauses: &["ASO-17", "ASO-23"],
        seam: Seam::Decision(|seen, decision| {
            if is_refused(seen) {
                edit(decision, |ready| ready.message = ready.reason.clone());
            }
        }),
    },
    Fault {
        name: "fatal-as-warning",
        summary: "Calls what failed for good a warning.",
        clauses: &["ASO-24"],
        seam: Seam::Decision(|_, decision| {
            edit(decision, |ready| {
                if ready.severity == Some(Severity::Error) {
                    ready.severity = Some(Severity::Warning);
                }
            })
        }),
    },
    Fault {
        name: "retries-fatal",
        summary: "Sends again what failed for good.",
        clauses: &["ASO-18", "ASO-INV-9"],
        seam: Seam::Decision(|seen, decision| {
            if decision.memory.is_parked && decision.request.is_none() {
                again_soon(seen, decision);
            }
        }),
    },
    Fault {
        name: "gives-up",
        summary: "Never repeats what failed for now.",
        clauses: &["ASO-19", "ASO-INV-10"],
        seam: Seam::Decision(|seen, decision| {
            if is_refused(seen) && !decision.memory.is_parked {
                decision.memory.due = None;
                decision.again = Again::Change;
            }
        }),
    },
    Fault {
        name: "transient-as-error",
        summary: "Calls what failed for now an error.",
        clauses: &["ASO-36", "ASO-24"],
        seam: Seam::Decision(|seen, decision| {
            if is_refused(seen) {
                edit(decision, |ready| ready.severity = Some(Severity::Error));
            }
        }),
    },
    Fault {
        name: "bare-error-as-error",
        summary: "Calls a 500 without a code an error that is for good.",
        clauses: &["ASO-24"],
        seam: Seam::Decision(|seen, decision| {
            if has_no_code(seen) && matches!(seen.answer, Some((_, Ok(response))) if response.status == 500) {
                edit(decision, |ready| ready.severity = Some(Severity::Error));
            }
        }),
    },
    Fault {
        name: "time-moves-with-status-alone",
        summary: "Moves lastTransitionTime with the status alone.",
        clauses: &["ASO-09", "ASO-21"],
        seam: Seam::Writer(|write, statuses| {
            let before = ready_of(write.live).clone();
            each(statuses, |ready| {
                if ready["status"] == before["status"] {
                    ready["lastTransitionTime"] = before["lastTransitionTime"].clone();
                }
            })
        }),
    },
    Fault {
        name: "time-with-fractions",
        summary: "Gives lastTransitionTime with fractions of a second.",
        clauses: &["ASO-INV-7"],
        seam: Seam::Writer(|_, statuses| {
            each(statuses, |ready| {
                let time = ready["lastTransitionTime"].as_str().unwrap_or_default().replace("Z", ".5Z");
                if !time.contains(".5.5") {
                    ready["lastTransitionTime"] = time.into();
                }
            })
        }),
    },
    Fault {
        name: "drops-state",
        summary: "Leaves out of the status what Azure answered.",
        clauses: &["ASO-35"],
        seam: Seam::Writer(|_, statuses| {
            statuses.iter_mut().for_each(|status| {
                if let Some(fields) = status.as_object_mut() {
                    fields.retain(|name, _| name == "conditions");
                }
            })
        }),
    },
    Fault {
        name: "empty-code-empty-reason",
        summary: "Takes the missing code of an error for the reason.",
        clauses: &["ASO-41", "ASO-29"],
        seam: Seam::Decision(|seen, decision| {
            if has_no_code(seen) {
                edit(decision, |ready| ready.reason.clear());
            }
        }),
    },
    Fault {
        name: "secret-as-reference",
        summary: "Says ReferenceNotFound where a Secret is missing.",
        clauses: &["ASO-A07", "ASO-A08"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "SecretNotFound", |ready| ready.reason = "ReferenceNotFound".into())
        }),
    },
    Fault {
        name: "config-map-as-secret",
        summary: "Says SecretNotFound where a ConfigMap is missing.",
        clauses: &["ASO-A09"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "ConfigMapNotFound", |ready| ready.reason = "SecretNotFound".into())
        }),
    },
    Fault {
        name: "reference-as-owner",
        summary: "Says WaitingForOwner where a reference leads nowhere.",
        clauses: &["ASO-A10", "ASO-A11"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "ReferenceNotFound", |ready| ready.reason = "WaitingForOwner".into())
        }),
    },
    Fault {
        name: "missing-credential-as-error",
        summary: "Gives up where there is no credential.",
        clauses: &["ASO-A13"],
        seam: Seam::Decision(|_, decision| {
            edit(decision, |ready| {
                if ready.message.contains("no credential") {
                    ready.severity = Some(Severity::Error);
                }
            })
        }),
    },
    Fault {
        name: "lets-go-early",
        summary: "Takes its finalizer away before the deletion is done.",
        clauses: &["ASO-INV-11"],
        seam: Seam::Decision(|_, decision| {
            if says(decision, "Deleting") {
                decision.finalizer = Some(false);
            }
        }),
    },
    Fault {
        name: "failed-deletion-as-error",
        summary: "Calls a deletion that failed an error.",
        clauses: &["ASO-A32"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.is_deleting() && is_refused(seen) {
                edit(decision, |ready| ready.severity = Some(Severity::Error));
            }
        }),
    },
    Fault {
        name: "silent-about-missing-delete",
        summary: "Says Deleting for ever of what Azure cannot delete.",
        clauses: &["ASO-A33"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "DeletionNotSupported", |ready| {
                ready.reason = "Deleting".into();
                ready.severity = Some(Severity::Info);
            })
        }),
    },
    Fault {
        name: "dips-when-resending",
        summary: "Says Reconciling whenever it sends, though the object is Ready.",
        clauses: &["ASO-INV-8"],
        seam: Seam::Writer(|write, statuses| {
            if let Some(ready) = write.desired.ready.as_ref().filter(|ready| ready.reason == "Reconciling") {
                let (before, value) = (ready_of(write.live).clone(), ready.to_value());
                each(statuses, |one| {
                    let mut value = value.clone();
                    value["lastTransitionTime"] = write.now.into();
                    *one = if same(&value, &before) { before.clone() } else { value };
                });
            }
        }),
    },
    Fault {
        name: "generation-ahead",
        summary: "Claims to have seen a generation of a subnet that is not there yet.",
        clauses: &["ASO-INV-6"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.kind.kind == "VirtualNetworksSubnet" {
                edit(decision, |ready| ready.observed_generation = Some(seen.facts.generation() + 1));
            }
        }),
    },
    Fault {
        name: "ready-twice",
        summary: "Writes the condition Ready twice.",
        clauses: &["ASO-32", "ASO-INV-1"],
        seam: Seam::Writer(|_, statuses| {
            statuses.iter_mut().for_each(|status| {
                let one = readies(status).next().cloned();
                if let Some(list) = status.get_mut("conditions").and_then(Value::as_array_mut) {
                    list.retain(|condition| condition["type"] != "Ready");
                    list.extend(one.clone());
                    list.extend(one);
                }
            })
        }),
    },
    Fault {
        name: "deletes-twice",
        summary: "Sends a DELETE that was accepted once more.",
        clauses: &["ASO-A31"],
        seam: Seam::Decision(|seen, decision| {
            if let Some((request, Ok(response))) = seen.answer
                && request.purpose == Purpose::Delete
                && response.status == 202
                && seen.facts.annotation(POLLER_TOKEN).is_none()
            {
                decision.request = Some(request.clone());
            }
        }),
    },
    Fault {
        name: "keeps-operation",
        summary: "Never takes an operation off the annotations.",
        // What deletes it that way is never sent a second time, nor is what was edited meanwhile.
        clauses: &["ASO-A22", "ASO-18", "ASO-A32", "ASO-INV-10", "ASO-A48"],
        seam: Seam::Decision(|_, decision| decision.annotations.retain(|_, value| value.is_some())),
    },
    Fault {
        name: "forgets-status",
        summary: "Does not say again what somebody wiped, before something changes.",
        clauses: &["ASO-A38"],
        seam: Seam::Decision(|seen, decision| {
            let generation = seen.facts.generation();
            // Where a status does not say what it is about, the annotation tells what was done last.
            let done = seen.facts.annotation(LATEST_GENERATION) == Some(&generation.to_string());
            let is_about_it = |said: &Ready| said.observed_generation.map_or(done, |about| about == generation);
            if seen.facts.ready().is_null() && seen.memory.said.ready.as_ref().is_some_and(is_about_it) {
                decision.status = Desired::default();
            }
        }),
    },
    Fault {
        name: "stays-silent-once-wiped",
        summary: "Says nothing any more, whatever changes, of an object whose status somebody wiped.",
        clauses: &["ASO-30"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.ready().is_null() && seen.memory.said.ready.is_some() {
                decision.status = Desired::default();
            }
        }),
    },
    Fault {
        name: "stays-after-edit",
        summary: "Does not look at an edited spec after an error.",
        clauses: &["ASO-A24"],
        seam: Seam::Decision(|seen, decision| {
            let ready = seen.facts.ready();
            let is_edited = ready["observedGeneration"] != seen.facts.generation();
            if seen.answer.is_none() && ready["severity"] == "Error" && is_edited && !seen.facts.is_deleting() {
                decision.request = None;
                decision.status = Desired::default();
                decision.again = Again::Change;
            }
        }),
    },
];
