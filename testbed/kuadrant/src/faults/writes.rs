//! Mistakes of writing, of time, and of definitions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::good;
use crate::object::{Kind, text};
use crate::seam::{Fault, Seam};

/// When each object was written the last time, of who would write for ever: a flood is another mistake.
#[derive(Default)]
struct Pace(BTreeMap<String, Instant>);

impl Pace {
    /// Whether an object may be written again, since that was so long ago; if so, the last time is now.
    fn is_due(&mut self, live: &Value, pace: Duration) -> bool {
        let (now, uid) = (Instant::now(), text(live, "/metadata/uid"));
        let is_due = self.0.get(uid).is_none_or(|last| now - *last >= pace);
        if is_due {
            self.0.insert(uid.to_owned(), now);
        }
        is_due
    }
}

pub(super) const FAULTS: &[Fault] = &[
    write!(
        "observes-nothing",
        "Never writes observedGeneration on TLSPolicies.",
        ["KUADRANT-INV-5"],
        |live, status| {
            if is_of_tls(live)
                && let Some(status) = status.as_object_mut()
            {
                status.remove("observedGeneration");
            }
        }
    ),
    write!(
        "observes-ahead",
        "Writes an observedGeneration above the generation on TLSPolicies.",
        ["KUADRANT-INV-5"],
        |live, status| {
            if is_of_tls(live) && status.get("observedGeneration").is_some() {
                status["observedGeneration"] = json!(live["metadata"]["generation"].as_i64().unwrap_or_default() + 1);
            }
        }
    ),
    write!(
        "never-moves-transition-times",
        "Keeps the first lastTransitionTime of a condition for ever.",
        ["KUADRANT-INV-6"],
        |live, status| {
            for one in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(before) = crate::object::condition(&live["status"], text(one, "/type")) {
                    one["lastTransitionTime"] = before["lastTransitionTime"].clone();
                }
            }
        }
    ),
    Fault {
        name: "edits-entries-of-others",
        summary: "Takes a condition out of the parents that others wrote.",
        clauses: &["KUADRANT-INV-10"],
        seam: Seam::Restless(|| {
            let mut pace = Pace::default();
            Box::new(move |live, status| {
                let parents = status.get_mut("parents").and_then(Value::as_array_mut).into_iter().flatten();
                let of_others = parents.filter(|parent| parent["controllerName"] != crate::status::CONTROLLER_NAME);
                let to_edit: Vec<_> = of_others
                    .filter_map(|parent| parent["conditions"].as_array_mut())
                    .filter(|all| all.iter().any(|one| one["type"] == "ResolvedRefs"))
                    .collect();
                if !to_edit.is_empty() && pace.is_due(live, Duration::from_millis(20)) {
                    to_edit.into_iter().for_each(|all| all.retain(|one| one["type"] != "ResolvedRefs"));
                }
            })
        }),
    },
    Fault {
        name: "amplifies-messages",
        summary: "Writes the old message before the new one, so that it grows.",
        clauses: &["KUADRANT-INV-12", "KUADRANT-INV-11", "KUADRANT-19"],
        seam: Seam::Restless(|| {
            let mut pace = Pace::default();
            Box::new(move |live, status| {
                let before = crate::object::condition(&live["status"], "Accepted").map(|one| text(one, "/message"));
                let all = status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten();
                for one in all.filter(|one| one["reason"] == "TargetNotFound") {
                    if let Some(before) = before.filter(|before| before.len() < 4096) {
                        // Whoever wants a moment's rest gets it.
                        let grows = pace.is_due(live, Duration::from_millis(300));
                        one["message"] = if grows { format!("again: {before}") } else { before.to_owned() }.into();
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-tls-after-certificate-events",
        summary: "Accepts a TLSPolicy in conflict as soon as a Certificate changes.",
        clauses: &["KUADRANT-INV-11"],
        seam: Seam::Outcome(|| {
            let mut seen: Option<Vec<String>> = None;
            Box::new(move |snapshot, _, outcome| {
                let versions: Vec<String> = snapshot
                    .all(Kind::Certificate)
                    .map(|one| text(one, "/metadata/resourceVersion").to_owned())
                    .collect();
                if seen.as_ref().is_some_and(|seen| *seen != versions) {
                    good(outcome, "Accepted", "Conflicted", Some(Kind::TlsPolicy));
                }
                seen = Some(versions);
            })
        }),
    },
    Fault {
        name: "serves-specs-without-rules",
        summary: "Serves definitions whose CEL rules are gone.",
        clauses: &["KUADRANT-K09"],
        seam: Seam::Definitions(|definitions| {
            for definition in definitions.iter_mut().filter(|one| one["spec"]["group"] == "kuadrant.io") {
                for version in definition["spec"]["versions"].as_array_mut().into_iter().flatten() {
                    strip(version);
                }
            }
        }),
    },
];

/// Whether an object is a TLSPolicy.
fn is_of_tls(object: &Value) -> bool {
    object["spec"].get("issuerRef").is_some()
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
