//! Mistakes of writing, of time, and of definitions.

use serde_json::{Value, json};

use super::good;
use crate::object::{Kind, text};
use crate::seam::{Fault, Seam};

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
    write!(
        "edits-entries-of-others",
        "Takes a condition out of the parents that others wrote.",
        ["KUADRANT-INV-10"],
        |_, status| {
            for parent in status.get_mut("parents").and_then(Value::as_array_mut).into_iter().flatten() {
                if parent["controllerName"] != crate::status::CONTROLLER_NAME
                    && let Some(all) = parent["conditions"].as_array_mut()
                {
                    all.retain(|one| one["type"] != "ResolvedRefs");
                }
            }
        }
    ),
    write!(
        "amplifies-messages",
        "Writes the old message before the new one, so that it grows.",
        ["KUADRANT-INV-12", "KUADRANT-INV-11", "KUADRANT-19"],
        |live, status| {
            for one in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
                if one["reason"] == "TargetNotFound"
                    && let Some(before) = crate::object::condition(&live["status"], "Accepted")
                    && text(before, "/message").len() < 4096
                {
                    one["message"] = format!("again: {}", text(before, "/message")).into();
                }
            }
        }
    ),
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
