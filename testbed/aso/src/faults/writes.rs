//! Faults in what is written, and in the definitions that it is held against.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Fault,
    tools::{each, edit, edit_reason, has_no_code},
};
use crate::{
    behaviour::{Seam, Write},
    status::ready_of,
};

/// A time that has not come.
const FUTURE: &str = "2099-01-01T00:00:00Z";

fn desires(write: &Write<'_>, reason: &str) -> bool {
    write.desired.ready.as_ref().is_some_and(|ready| ready.reason == reason)
}

/// Whether success is about to be said of what is Ready already.
fn is_repeated(write: &Write<'_>) -> bool {
    let before = ready_of(write.live);
    desires(write, "Succeeded")
        && before["status"] == "True"
        && before["observedGeneration"] == write.live["metadata"]["generation"]
}

/// Whether what stands there was said some seconds ago.
fn is_old(write: &Write<'_>) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let said = ready_of(write.live)["lastTransitionTime"].as_str().and_then(time);
    said.zip(time(write.now)).is_some_and(|(said, now)| now.duration_since(said) >= SignedDuration::from_secs(3))
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("x-kubernetes-validations");
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "deleting-as-status",
        summary: "Says Deleting in the status of the condition, not in its reason.",
        clauses: &["ASO-03", "ASO-14", "ASO-15"],
        seam: Seam::Writer(|write, statuses| {
            let before = ready_of(write.live);
            each(statuses, |ready| {
                if ready["reason"] == "Deleting" {
                    if before["status"] == "Deleting" {
                        ready["lastTransitionTime"] = before["lastTransitionTime"].clone();
                    }
                    ready["status"] = "Deleting".into();
                    ready["reason"] = "InProgress".into();
                    if let Some(fields) = ready.as_object_mut() {
                        fields.shift_remove("severity");
                    }
                }
            });
        }),
    },
    Fault {
        name: "observes-nothing-on-the-way",
        summary: "Leaves observedGeneration out while the spec is on its way.",
        clauses: &["ASO-INV-6"],
        seam: Seam::Decision(|_, decision| {
            edit_reason(decision, "Reconciling", |ready| ready.observed_generation = None);
        }),
    },
    Fault {
        name: "observes-backwards",
        summary: "Goes back by a generation when the spec was sent again.",
        clauses: &["ASO-INV-6", "ASO-A35", "ASO-16"],
        seam: Seam::Writer(|write, statuses| {
            if is_repeated(&write) && is_old(&write) {
                each(statuses, |ready| {
                    ready["observedGeneration"] = json!(ready["observedGeneration"].as_i64().unwrap_or_default() - 1);
                    ready["lastTransitionTime"] = write.now.into();
                });
            }
        }),
    },
    Fault {
        name: "renews-time-when-resending",
        summary: "Gives Ready a new time whenever the spec was sent again.",
        clauses: &["ASO-A35", "ASO-16", "ASO-21", "ASO-INV-7"],
        seam: Seam::Writer(|write, statuses| {
            if is_repeated(&write) {
                each(statuses, |ready| ready["lastTransitionTime"] = write.now.into());
            }
        }),
    },
    Fault {
        name: "time-goes-backwards",
        summary: "Gives success a time of long ago.",
        clauses: &["ASO-INV-7"],
        seam: Seam::Writer(|_, statuses| {
            each(statuses, |ready| {
                if ready["status"] == "True" {
                    ready["lastTransitionTime"] = "2020-01-01T00:00:00Z".into();
                }
            });
        }),
    },
    Fault {
        name: "time-to-come",
        summary: "Gives success a time that has not come.",
        clauses: &["ASO-INV-7"],
        seam: Seam::Writer(|write, statuses| {
            each(statuses, |ready| {
                if ready["status"] == "True" {
                    ready["lastTransitionTime"] = FUTURE.into();
                } else if ready["lastTransitionTime"] == FUTURE {
                    ready["lastTransitionTime"] = write.now.into();
                }
            });
        }),
    },
    Fault {
        name: "clears-ready-after-an-error",
        summary: "Takes Ready away when an edit follows an error, until Azure has answered.",
        clauses: &["ASO-01"],
        seam: Seam::Writer(|write, statuses| {
            if desires(&write, "Reconciling") && ready_of(write.live)["severity"] == "Error" {
                for status in statuses {
                    if let Some(all) = status.get_mut("conditions").and_then(Value::as_array_mut) {
                        all.retain(|one| one["type"] != "Ready");
                    }
                }
            }
        }),
    },
    Fault {
        name: "deleting-after-an-error",
        summary: "Says Deleting while an edit that follows an error is on its way.",
        clauses: &["ASO-14", "ASO-INV-4"],
        seam: Seam::Decision(|seen, decision| {
            if seen.facts.ready()["severity"] == "Error" && !seen.facts.is_deleting() {
                edit_reason(decision, "Reconciling", |ready| ready.reason = "Deleting".into());
            }
        }),
    },
    Fault {
        name: "reasons-with-dashes",
        summary: "Gives an error without a code a reason in lower case with dashes.",
        clauses: &["ASO-26", "ASO-INV-3"],
        seam: Seam::Decision(|seen, decision| {
            if has_no_code(seen) {
                edit(decision, |ready| ready.reason = "unknown-error".into());
            }
        }),
    },
    Fault {
        name: "writes-defaults-into-the-spec",
        summary: "Writes into the spec, once it has a status, what Azure would take for a field that is not there.",
        clauses: &["ASO-INV-12"],
        seam: Seam::Object(|wanted| {
            if wanted.pointer("/status/conditions/0").is_none() {
                return;
            }
            let spec = &mut wanted["spec"];
            if spec["kind"] == "StorageV2" && spec.get("minimumTlsVersion").is_none() {
                spec["minimumTlsVersion"] = "TLS1_2".into();
            }
        }),
    },
    Fault {
        name: "says-it-in-an-annotation",
        summary: "Writes down in an annotation what Ready says.",
        clauses: &["ASO-33"],
        seam: Seam::Object(|wanted| {
            let ready = ready_of(wanted);
            let words = ["reason", "message"].map(|field| ready[field].as_str().unwrap_or_default());
            if !words.concat().is_empty() {
                let said = words.join(": ");
                wanted["metadata"]["annotations"]["serviceoperator.azure.com/last-condition"] = said.into();
            }
        }),
    },
    Fault {
        name: "serves-definitions-without-rules",
        summary: "Serves definitions whose CEL rules are gone.",
        clauses: &["ASO-A16"],
        seam: Seam::Definitions(|definitions| definitions.iter_mut().for_each(strip)),
    },
];
