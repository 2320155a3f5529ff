//! What is wrong over time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use gateproof_runtime::object::items;
use serde_json::Value;

use super::{edit, valid, write_status};
use crate::kinds::Snapshot;
use crate::reconcile::Outcome;
use crate::seam::{Fault, Seam};
use crate::settings::Settings;

/// After that an HTTPProxy begins to turn: later than whoever expects a word at once looks, and before whoever watches has gone.
const TURNING: Duration = Duration::from_millis(250);
/// So long each word lasts.
const WORD: Duration = Duration::from_millis(200);

/// The time, as statuses have it.
pub(super) fn now() -> Value {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "keeps-calling-valid-what-was",
        "Calls an HTTPProxy valid that was, until it is edited itself.",
        ["HTTPPROXY-C09"],
        {
            let mut valid: BTreeSet<String> = BTreeSet::new();
            move |snapshot: &Snapshot, _: &Settings, outcome: &mut Outcome| {
                for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                    let Some(object) = snapshot.get(*kind, namespace, name) else { continue };
                    let version = format!("{}/{}", object["metadata"]["uid"], object["metadata"]["generation"]);
                    if verdict.errors.is_empty() {
                        valid.insert(version);
                    } else if valid.contains(&version) {
                        verdict.errors.clear();
                    }
                }
            }
        }
    ),
    write_status!(
        "keeps-old-errors",
        "Adds errors, and never takes one away.",
        ["HTTPPROXY-21", "HTTPPROXY-17"],
        |live, status| {
            let before =
                live["status"]["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "Valid");
            let old = before.and_then(|condition| condition.get("errors")).cloned();
            if let (Some(old), Some(condition)) = (old, valid(status))
                && condition.get("errors").is_none()
            {
                condition["errors"] = old;
            }
        }
    ),
    write_status!(
        "observes-first-generations",
        "Leaves observedGeneration at the first one.",
        ["HTTPPROXY-09", "HTTPPROXY-50"],
        |_, status| {
            if let Some(condition) = valid(status) {
                condition["observedGeneration"] = 1.into();
            }
        }
    ),
    write_status!(
        "observes-what-is-to-come",
        "Has a generation in observedGeneration that the object does not have yet.",
        ["HTTPPROXY-50", "HTTPPROXY-INV-7"],
        |live, status| {
            if let Some(condition) = valid(status) {
                condition["observedGeneration"] =
                    live["metadata"]["generation"].as_i64().map(|generation| generation + 1).into();
            }
        }
    ),
    write_status!(
        "takes-valid-away-first",
        "Takes Valid away after an edit, and writes it anew a version later.",
        ["HTTPPROXY-20"],
        {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            move |live, status| {
                let metadata = &live["metadata"];
                let is_new = seen.insert(format!("{}/{}", metadata["uid"], metadata["generation"]));
                if let Some(conditions) = status["conditions"].as_array_mut()
                    && is_new
                    && metadata["generation"].as_i64() > Some(1)
                {
                    conditions.retain(|condition| condition["type"] != "Valid");
                }
            }
        }
    ),
    Fault {
        name: "relabels-what-it-looks-at",
        summary: "Writes over a label of what it looks at.",
        clauses: &["HTTPPROXY-INV-11"],
        seam: Seam::Label("team", "proxies"),
    },
    Fault {
        name: "writes-all-the-time",
        summary: "Writes every status again although nothing changes but the time in it.",
        clauses: &["HTTPPROXY-INV-8", "HTTPPROXY-C40", "HTTPPROXY-10"],
        seam: Seam::Restless(|| {
            Box::new(|_, status| {
                if let Some(condition) = valid(status) {
                    condition["lastTransitionTime"] = now();
                }
            })
        }),
    },
    write_status!(
        "says-unknown-first",
        "Says Unknown of an HTTPProxy at first, and the truth a version later.",
        ["HTTPPROXY-23", "HTTPPROXY-INV-1"],
        {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            move |live, status| {
                if let Some(condition) = valid(status).and_then(Value::as_object_mut)
                    && seen.insert(live["metadata"]["uid"].to_string())
                {
                    condition["status"] = "Unknown".into();
                    condition["reason"] = "Pending".into();
                    condition.shift_remove("errors");
                }
            }
        }
    ),
    Fault {
        name: "turns-by-itself",
        summary: "Says by turns that an HTTPProxy is orphaned and that it is valid.",
        clauses: &["HTTPPROXY-INV-9"],
        seam: Seam::Restless(|| {
            let mut since: BTreeMap<String, Instant> = BTreeMap::new();
            Box::new(move |live, status| {
                // Others than those with one route are left alone, so that this is seen where nothing changes.
                if status["currentStatus"] != "orphaned" || items(live, "/spec/routes").count() != 1 {
                    return;
                }
                let age = since.entry(live["metadata"]["uid"].to_string()).or_insert_with(Instant::now).elapsed();
                if age < TURNING || age.saturating_sub(TURNING).as_millis() / WORD.as_millis() % 2 == 1 {
                    return;
                }
                let before = items(&live["status"], "/conditions").find(|one| one["type"] == "Valid");
                let before = before.filter(|one| one["status"] == "True").map(|one| one["lastTransitionTime"].clone());
                status["currentStatus"] = "valid".into();
                if let Some(condition) = valid(status).and_then(Value::as_object_mut) {
                    condition["status"] = "True".into();
                    condition["reason"] = "Valid".into();
                    condition.shift_remove("errors");
                    condition["lastTransitionTime"] = before.unwrap_or_else(now);
                }
            })
        }),
    },
    Fault {
        name: "keeps-the-first-time",
        summary: "Leaves lastTransitionTime as it was first, whatever becomes of the condition.",
        clauses: &["HTTPPROXY-10"],
        seam: Seam::Restless(|| {
            Box::new(|live, status| {
                let before = items(&live["status"], "/conditions").find(|one| one["type"] == "Valid");
                if let (Some(before), Some(condition)) = (before, valid(status)) {
                    condition["lastTransitionTime"] = before["lastTransitionTime"].clone();
                }
            })
        }),
    },
    write_status!(
        "says-false-and-lists-nothing-first",
        "Writes the errors a version after it has said that there are some.",
        ["HTTPPROXY-24"],
        {
            let mut seen: BTreeMap<String, Value> = BTreeMap::new();
            move |live, status| {
                let key = format!("{}/{}", live["metadata"]["uid"], live["metadata"]["generation"]);
                let Some(condition) = valid(status) else { return };
                let errors = condition.get("errors").cloned().unwrap_or_default();
                if seen.insert(key, errors.clone()) != Some(errors)
                    && let Some(condition) = condition.as_object_mut()
                {
                    condition.shift_remove("errors");
                }
            }
        }
    ),
    Fault {
        name: "admits-odd-hosts",
        summary: "Serves definitions that admit whatever is called a host.",
        clauses: &["HTTPPROXY-K14"],
        seam: Seam::Definitions(|definitions| {
            for definition in definitions.iter_mut() {
                let fqdn =
                    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/virtualhost/properties/fqdn";
                if let Some(fqdn) = definition.pointer_mut(fqdn).and_then(Value::as_object_mut) {
                    fqdn.shift_remove("pattern");
                }
            }
        }),
    },
    Fault {
        name: "says-nothing-before-it-looks",
        summary: "Serves definitions by which an HTTPProxy begins without a status.",
        clauses: &["HTTPPROXY-K01"],
        seam: Seam::Definitions(|definitions| {
            for definition in definitions.iter_mut() {
                let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
                if let Some(status) = definition.pointer_mut(status).and_then(Value::as_object_mut) {
                    status.shift_remove("default");
                }
            }
        }),
    },
];
