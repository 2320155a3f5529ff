//! Named ways to differ that are allowed.

use crate::{
    arm::{Method, Purpose, Request},
    behaviour::{Seam, Variant},
    decide::{Again, Decision, Seen},
    faults::tools::{edit, readies},
    status::{Severity, ready_of},
    world::{POLLER_ID, POLLER_TOKEN},
};

/// Waits longer or less long.
fn stretch(seen: Seen<'_>, decision: &mut Decision, by: f64) {
    if let Again::After(delay) = decision.again {
        let delay = delay.mul_f64(by);
        decision.again = Again::After(delay);
        let delay = jiff::SignedDuration::try_from(delay).ok();
        decision.memory.due = delay.and_then(|delay| seen.now.checked_add(delay).ok());
    }
}

/// Whether the answer says from when on something may be asked again.
fn tells_when(seen: Seen<'_>) -> bool {
    matches!(seen.answer, Some((_, Ok(response))) if response.least().is_some())
}

/// What the messages of `other-messages` begin with.
const OTHER_WORDS: &str = "in other words: ";

/// Every variant.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "unknown-first",
        summary: "Says Unknown before anything else.",
        source: "ASO-28: the first write may say Unknown.",
        seam: Seam::Writer(|write, statuses| {
            if ready_of(write.live).is_null()
                && let Some(mut first) = statuses.first().cloned()
                && readies(&mut first).next().is_some()
            {
                readies(&mut first).for_each(|ready| {
                    ready["status"] = "Unknown".into();
                    ready["reason"] = "Pending".into();
                    if let Some(fields) = ready.as_object_mut() {
                        fields.retain(|name, _| name != "severity" && name != "message");
                    }
                });
                statuses.insert(0, first);
            }
        }),
    },
    Variant {
        name: "two-writes",
        summary: "Writes the state in Azure before the condition.",
        source: "Nothing says that both come in one write.",
        seam: Seam::Writer(|write, statuses| {
            if write.desired.azure.is_some() {
                let mut first = crate::status::merge(
                    crate::Edition::Design,
                    write.live,
                    &crate::status::Desired { ready: None, azure: write.desired.azure.clone() },
                    write.now,
                );
                if first.is_null() {
                    first = serde_json::json!({});
                }
                statuses.insert(0, first);
            }
        }),
    },
    Variant {
        name: "other-messages",
        summary: "Words its messages otherwise.",
        source: "Messages are for people.",
        seam: Seam::Decision(|_, decision| {
            edit(decision, |ready| {
                // What is said already comes back as it was said.
                if !ready.message.is_empty() && !ready.message.starts_with(OTHER_WORDS) {
                    ready.message = format!("{OTHER_WORDS}{}", ready.message);
                }
            })
        }),
    },
    Variant {
        name: "no-message-while-on-its-way",
        summary: "Gives no message with Info.",
        source: "ASO-11: a message may be missing.",
        seam: Seam::Decision(|_, decision| {
            edit(decision, |ready| {
                if ready.severity == Some(Severity::Info) {
                    ready.message.clear();
                }
            })
        }),
    },
    Variant {
        name: "empty-fields",
        summary: "Writes an empty severity and message on success instead of leaving them out.",
        source: "ASO-05 and ASO-11: empty or absent.",
        seam: Seam::Writer(|_, statuses| {
            statuses.iter_mut().flat_map(readies).for_each(|ready| {
                if ready["status"] == "True" {
                    ready["severity"] = "".into();
                    ready["message"] = "".into();
                }
            })
        }),
    },
    Variant {
        name: "another-condition",
        summary: "Writes a condition Synced beside Ready.",
        source: "ASO-02: other types may follow.",
        seam: Seam::Writer(|write, statuses| {
            statuses.iter_mut().for_each(|status| {
                let copy: Vec<_> = readies(status).map(|ready| ready.clone()).collect();
                if let Some(list) = status.get_mut("conditions").and_then(serde_json::Value::as_array_mut) {
                    for mut one in copy {
                        one["type"] = "Synced".into();
                        let before = write.live["status"]["conditions"]
                            .as_array()
                            .into_iter()
                            .flatten()
                            .find(|one| one["type"] == "Synced");
                        if !before.is_some_and(|before| crate::status::same(before, &one)) {
                            one["lastTransitionTime"] = write.now.into();
                        }
                        list.retain(|one| one["type"] != "Synced");
                        list.push(one);
                    }
                }
            })
        }),
    },
    Variant {
        name: "slower-retries",
        summary: "Waits half as long again after a failure.",
        source: "Only the caps of the delays are given, and early delays are far from them.",
        seam: Seam::Decision(|seen, decision| {
            if decision.memory.failures > seen.memory.failures && decision.memory.failures < 4 {
                stretch(seen, decision, 1.5);
            }
        }),
    },
    Variant {
        name: "faster-retries",
        summary: "Waits half as long after a failure, where Retry-After does not say how long.",
        source: "Only the caps of the delays are given.",
        seam: Seam::Decision(|seen, decision| {
            if decision.memory.failures > seen.memory.failures && !tells_when(seen) {
                stretch(seen, decision, 0.5);
            }
        }),
    },
    Variant {
        name: "slower-polls",
        summary: "Waits twice as long between polls.",
        source: "Retry-After is the least time to wait.",
        seam: Seam::Decision(|seen, decision| {
            if decision.annotations.get(POLLER_TOKEN).is_some_and(Option::is_some) {
                stretch(seen, decision, 2.0);
            }
        }),
    },
    Variant {
        name: "looks-first",
        summary: "Reads a resource before it puts a spec in.",
        source: "Nothing forbids to read.",
        seam: Seam::Decision(|seen, decision| {
            if let Some(request) = &mut decision.request
                && request.purpose == Purpose::Put
                && !matches!(seen.answer, Some((before, _)) if before.purpose == Purpose::Check)
            {
                *request = Request { method: Method::Get, body: None, purpose: Purpose::Check, ..request.clone() };
            }
        }),
    },
    Variant {
        name: "no-labels",
        summary: "Sets no labels of the owner.",
        source: "Labels are for people and their tools.",
        seam: Seam::Decision(|_, decision| decision.labels.clear()),
    },
    Variant {
        name: "begins-again-after-refused-polls",
        summary: "Asks Azure anew for what it followed, once Azure did not say for now how that goes.",
        source: "No clause says that an operation is followed further then, and the operator's own source does not.",
        seam: Seam::Decision(|seen, decision| {
            if let Some((Request { purpose: Purpose::Poll(_), .. }, Ok(response))) = seen.answer
                && matches!(response.status, 429 | 500..)
            {
                decision.annotations.insert(POLLER_TOKEN, None);
                decision.annotations.insert(POLLER_ID, None);
            }
        }),
    },
];

/// The variant of that name.
pub fn find(name: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.name == name)
}
