//! Named ways to differ that are legal.

use serde_json::json;

use crate::faults::valid;
use crate::seam::{Seam, Variant};

/// Every variant.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "lists-errors-backwards",
        summary: "Lists errors and warnings in another order.",
        source: "HTTPPROXY-01: they are lists in which nothing says what comes first",
        seam: Seam::Outcome(|| {
            Box::new(|_, _, outcome| {
                for verdict in outcome.verdicts.values_mut() {
                    verdict.errors.reverse();
                    verdict.warnings.reverse();
                }
            })
        }),
    },
    Variant {
        name: "says-it-at-length",
        summary: "Says more in every message, and still names what it is about.",
        source: "HTTPPROXY-12: messages are for people",
        seam: Seam::Outcome(|| {
            Box::new(|_, _, outcome| {
                for verdict in outcome.verdicts.values_mut() {
                    for sub in verdict.errors.iter_mut().chain(&mut verdict.warnings) {
                        sub.message = format!(
                            "While this object was looked at, this was found: {}. Please have a look.",
                            sub.message
                        );
                    }
                }
            })
        }),
    },
    Variant {
        name: "writes-empty-lists",
        summary: "Writes empty lists of errors and warnings where there are none.",
        source: "HTTPPROXY-18: an empty list and one that is not there are the same",
        seam: Seam::Write(|| {
            Box::new(|_, status| {
                let Some(condition) = valid(status) else { return };
                for field in ["errors", "warnings"] {
                    if condition.get(field).is_none() {
                        condition[field] = json!([]);
                    }
                }
            })
        }),
    },
    Variant {
        name: "adds-a-condition",
        summary: "Has a condition of its own beside Valid.",
        source: "HTTPPROXY-06: conditions beside Valid are no business of those who read it",
        seam: Seam::Write(|| {
            Box::new(|live, status| {
                let since = live["metadata"]["creationTimestamp"].clone();
                let own = json!({
                    "type": "example.test/Seen", "status": "True", "reason": "Seen", "message": "this object has been looked at",
                    "lastTransitionTime": since, "observedGeneration": live["metadata"]["generation"],
                });
                if let Some(conditions) = status["conditions"].as_array_mut() {
                    conditions.retain(|condition| condition["type"] != own["type"]);
                    conditions.push(own);
                }
            })
        }),
    },
    Variant {
        name: "puts-valid-last",
        summary: "Has Valid behind the conditions of others, wherever it was.",
        source: "conditions are a map by their type",
        seam: Seam::Write(|| {
            Box::new(|_, status| {
                if let Some(conditions) = status["conditions"].as_array_mut() {
                    conditions.sort_by_key(|condition| condition["type"] == "Valid");
                }
            })
        }),
    },
];
