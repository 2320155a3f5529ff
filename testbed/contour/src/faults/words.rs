//! What is said in the wrong words, or in the wrong place.

use gateproof_runtime::object::items;
use serde_json::json;

use super::{edit, valid, verdicts, write_status};
use crate::behaviour::Fault;

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "renames-missing-services",
        "Says ServiceNotFound of a Service that is not there.",
        ["HTTPPROXY-C03"],
        |_, _, outcome| {
            for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
                if error.reason == "ServiceUnresolvedReference" && error.r#type == "ServiceError" {
                    error.reason = "ServiceNotFound".into();
                }
            }
        }
    ),
    edit!(
        "blames-routes-for-includes",
        "Says RouteError of paths of includes that cannot be matched.",
        ["HTTPPROXY-C28", "HTTPPROXY-47"],
        |_, _, outcome| {
            for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
                if error.reason == "PathMatchConditionsNotValid" {
                    error.r#type = "RouteError".into();
                }
            }
        }
    ),
    edit!(
        "takes-warnings-for-errors",
        "Calls an HTTPProxy invalid because of what is ignored in it.",
        ["HTTPPROXY-15", "HTTPPROXY-C36"],
        |_, _, outcome| {
            for verdict in verdicts(outcome) {
                verdict.errors.append(&mut verdict.warnings);
            }
        }
    ),
    edit!(
        "blames-one-of-several-roots",
        "Tells one of several roots with one host, and calls the others valid.",
        ["HTTPPROXY-C24", "HTTPPROXY-INV-13"],
        |_, _, outcome| {
            let mut told = false;
            for verdict in verdicts(outcome) {
                let is_duplicate = verdict.errors.iter().any(|error| error.reason == "DuplicateVhost");
                if is_duplicate && std::mem::replace(&mut told, true) {
                    verdict.errors.retain(|error| error.reason != "DuplicateVhost");
                }
            }
        }
    ),
    write_status!(
        "calls-orphans-invalid",
        "Says currentStatus invalid of what is orphaned.",
        ["HTTPPROXY-INV-5"],
        |_, status| {
            if status["currentStatus"] == "orphaned" {
                status["currentStatus"] = "invalid".into();
            }
        }
    ),
    write_status!(
        "keeps-the-old-fields",
        "Writes conditions, and never the fields that were there before them.",
        ["HTTPPROXY-INV-5"],
        |live, status| {
            for field in ["currentStatus", "description"] {
                status[field] = live["status"][field].clone();
            }
        }
    ),
    write_status!(
        "counts-reasons",
        "Says MultipleReasons where several things are wrong.",
        ["HTTPPROXY-INV-2"],
        |_, status| {
            if let Some(condition) = valid(status)
                && condition["errors"].as_array().is_some_and(|errors| errors.len() > 1)
            {
                condition["reason"] = "MultipleReasons".into();
            }
        }
    ),
    write_status!(
        "lists-no-errors",
        "Says that something is wrong, and not what.",
        ["HTTPPROXY-25", "HTTPPROXY-14"],
        |_, status| {
            if let Some(condition) = valid(status).and_then(|condition| condition.as_object_mut()) {
                condition.shift_remove("errors");
            }
        }
    ),
    write_status!(
        "has-a-condition-for-each-family",
        "Adds a condition for each family of errors.",
        ["HTTPPROXY-04"],
        |live, status| {
            let Some(condition) = valid(status).cloned() else { return };
            for error in items(&condition, "/errors") {
                let mut own = error.clone();
                own["lastTransitionTime"] = live["metadata"]["creationTimestamp"].clone();
                own["observedGeneration"] = live["metadata"]["generation"].clone();
                if let Some(conditions) = status["conditions"].as_array_mut() {
                    conditions.retain(|other| other["type"] != own["type"]);
                    conditions.push(own);
                }
            }
        }
    ),
    write_status!("says-errors-are-false", "Says False of what stands below Valid.", ["HTTPPROXY-19"], |_, status| {
        for error in
            valid(status).and_then(|condition| condition.get_mut("errors")?.as_array_mut()).into_iter().flatten()
        {
            error["status"] = json!("False");
        }
    }),
    write_status!(
        "drops-conditions-of-others",
        "Takes away conditions that others added.",
        ["HTTPPROXY-06", "HTTPPROXY-INV-10"],
        |_, status| {
            if let Some(conditions) = status["conditions"].as_array_mut() {
                conditions.retain(|condition| condition["type"] == "Valid");
            }
        }
    ),
];
