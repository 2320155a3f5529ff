//! What is wrong over time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{edit, valid, write_status};
use crate::behaviour::{Fault, Seam};
use crate::kinds::Snapshot;
use crate::reconcile::Outcome;
use crate::settings::Settings;

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
    Fault {
        name: "writes-all-the-time",
        summary: "Writes every status again although nothing changes but the time in it.",
        clauses: &["HTTPPROXY-INV-8", "HTTPPROXY-C40"],
        seam: Seam::Restless(|| {
            Box::new(|_, status| {
                let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                if let Some(condition) = valid(status) {
                    condition["lastTransitionTime"] = now.into();
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
];
