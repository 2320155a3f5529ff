//! Mistakes in the data path.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::effective::Rule;
use crate::gate::Verdict;
use crate::object::{Kind, Snapshot, text};
use crate::reconcile::Outcome;
use crate::seam::{Edit, Fault, Seam};
use crate::settings::Settings;

/// What a request has by a pointer.
fn asks<'a>(facts: &'a serde_json::Map<String, Value>, pointer: &str) -> &'a str {
    facts.get("request").map(|request| text(request, pointer)).unwrap_or_default()
}

/// What tells one kind of request from another.
fn kind_of(facts: &serde_json::Map<String, Value>) -> [String; 4] {
    ["/method", "/host", "/path", "/headers/authorization"].map(|pointer| asks(facts, pointer).to_owned())
}

/// Changes the limits in force.
fn limits(outcome: &mut Outcome, change: impl FnMut(&mut Rule)) {
    outcome.gate.guards.values_mut().flat_map(|guard| &mut guard.limits).for_each(change);
}

/// Changes how many requests each limit lets through.
fn rates(outcome: &mut Outcome, change: impl Fn(u64) -> u64) {
    limits(outcome, |rule| {
        for rate in rule.body.get_mut("rates").and_then(Value::as_array_mut).into_iter().flatten() {
            rate["limit"] = json!(change(rate["limit"].as_u64().unwrap_or_default()));
        }
    });
}

fn deny(status: u16) -> Verdict {
    Verdict::Deny { status, reason: "denied".to_owned() }
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "claims-without-a-gate",
        "Enforces nothing and says that it does.",
        ["KUADRANT-05", "KUADRANT-K34", "KUADRANT-K35", "KUADRANT-K36"],
        |_, _, outcome| outcome.gate.guards.clear()
    ),
    edit!(
        "enforces-no-limits",
        "Stops nobody however often they ask.",
        ["KUADRANT-05", "KUADRANT-K35"],
        |_, _, outcome| {
            outcome.gate.guards.values_mut().for_each(|guard| guard.limits.clear());
        }
    ),
    edit!(
        "lets-one-more-through",
        "Lets one request more through than a limit says.",
        ["KUADRANT-K35"],
        |_, _, outcome| {
            rates(outcome, |limit| limit + 1);
        }
    ),
    edit!("stops-one-early", "Lets one request less through than a limit says.", ["KUADRANT-K35"], |_, _, outcome| {
        rates(outcome, |limit| limit.saturating_sub(1));
    }),
    edit!(
        "counts-all-together",
        "Counts all requests of a limit together, whatever its counters are.",
        ["KUADRANT-K35"],
        |_, _, outcome| {
            limits(outcome, |rule| {
                if let Some(body) = rule.body.as_object_mut() {
                    body.remove("counters");
                }
            });
        }
    ),
    edit!(
        "knows-limits-by-name-alone",
        "Takes limits of one name, of whichever policies, for the same.",
        ["KUADRANT-K35"],
        |_, _, outcome| {
            let mut known: BTreeMap<String, u64> = BTreeMap::new();
            limits(outcome, |rule| {
                let limit = rule.body["rates"][0]["limit"].as_u64().unwrap_or_default();
                let least = known.entry(rule.id.clone()).or_insert(limit);
                *least = limit.min(*least);
            });
            limits(outcome, |rule| {
                if let (Some(least), true) = (known.get(&rule.id), rule.body["rates"][0]["limit"].is_u64()) {
                    rule.body["rates"][0]["limit"] = json!(least);
                }
            });
        }
    ),
    edit!("enforces-no-authorization", "Lets everybody pass who has a key.", ["KUADRANT-K34"], |_, _, outcome| {
        outcome
            .gate
            .guards
            .values_mut()
            .for_each(|guard| guard.auth.retain(|rule| !rule.id.starts_with("authorization/")));
    }),
    edit!(
        "fails-open-without-authorino",
        "Lets everybody pass while the service that authorizes is down.",
        ["KUADRANT-K36"],
        |_, _, outcome| {
            if !outcome.gate.auth_up {
                outcome.gate.auth_up = true;
                outcome.gate.guards.values_mut().for_each(|guard| guard.auth.clear());
            }
        }
    ),
    Fault {
        name: "never-takes-guards-away",
        summary: "Goes on to deny after the policy is gone.",
        clauses: &["KUADRANT-18"],
        seam: Seam::Outcome(|| {
            let mut kept = BTreeMap::new();
            Box::new(move |_, _, outcome| {
                kept.extend(std::mem::take(&mut outcome.gate.guards));
                outcome.gate.guards.clone_from(&kept);
            })
        }),
    },
    Fault {
        name: "acts-by-the-first-rules",
        summary: "Goes on to act by the rules that a path had first, after an edit.",
        clauses: &["KUADRANT-K34", "KUADRANT-07", "KUADRANT-21", "KUADRANT-K21", "KUADRANT-K35", "KUADRANT-22"],
        seam: Seam::Outcome(|| {
            let mut first = BTreeMap::new();
            Box::new(move |_, _, outcome| {
                for (key, guard) in &mut outcome.gate.guards {
                    *guard = first.entry(key.clone()).or_insert_with(|| guard.clone()).clone();
                }
            })
        }),
    },
    Fault {
        name: "counts-by-the-first-rates",
        summary: "Goes on to count by the rates that a limit had first, after an edit.",
        clauses: &["KUADRANT-22"],
        seam: Seam::Outcome(|| {
            let mut first: BTreeMap<(String, String), Value> = BTreeMap::new();
            Box::new(move |_, _, outcome| {
                limits(outcome, |rule| {
                    let rates = rule.body["rates"].clone();
                    let known = first.entry((rule.source.clone(), rule.id.clone())).or_insert(rates);
                    rule.body["rates"] = known.clone();
                });
            })
        }),
    },
    edit!(
        "fails-closed-without-limitador",
        "Lets nobody pass where limits are while the service that counts is down.",
        ["KUADRANT-K36"],
        |_, _, outcome| {
            if !outcome.gate.limits_up {
                for guard in outcome.gate.guards.values_mut().filter(|guard| !guard.limits.is_empty()) {
                    let body = json!({"patternMatching": {"patterns": [{"predicate": "false"}]}});
                    guard.auth.push(Rule {
                        id: "authorization/limits".into(),
                        source: String::new(),
                        when: Vec::new(),
                        body,
                    });
                }
            }
        }
    ),
    alter!("answers-403-without-key", "Answers 403 where 401 belongs.", ["KUADRANT-K34"], |_, verdict| match verdict {
        Verdict::Deny { status: 401, .. } => deny(403),
        other => other,
    }),
    alter!("answers-503-for-limits", "Answers 503 where 429 belongs.", ["KUADRANT-K35"], |_, verdict| match verdict {
        Verdict::Deny { status: 429, .. } => deny(503),
        other => other,
    }),
    Fault {
        name: "answers-once-more-by-the-old-rules",
        summary: "Answers the first request after a change of who may pass as before it.",
        clauses: &["KUADRANT-05", "KUADRANT-22"],
        seam: Seam::Exchange(|| {
            let known: Mutex<BTreeMap<[String; 4], Verdict>> = Mutex::default();
            Arc::new(move |facts, verdict| {
                if matches!(verdict, Verdict::Deny { status: 429, .. }) {
                    return verdict;
                }
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(kind_of(facts), verdict.clone()).unwrap_or(verdict)
            })
        }),
    },
    Fault {
        name: "limits-from-the-second-request",
        summary: "Lets the first request of a kind through that a limit would stop.",
        clauses: &["KUADRANT-05"],
        seam: Seam::Exchange(|| {
            let known: Mutex<BTreeSet<[String; 4]>> = Mutex::default();
            Arc::new(move |facts, verdict| {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                let is_first = known.insert(kind_of(facts));
                match verdict {
                    Verdict::Deny { status: 429, .. } if is_first => Verdict::Pass,
                    other => other,
                }
            })
        }),
    },
    edit!(
        "counts-to-one",
        "Stops nobody where a limit lets more than one request through.",
        ["KUADRANT-K35"],
        |_, _, outcome| {
            rates(outcome, |limit| if limit > 1 { u64::MAX } else { limit });
        }
    ),
    edit!(
        "never-begins-another-window",
        "Goes on counting for a day where a window ends sooner.",
        ["KUADRANT-K35"],
        |_, _, outcome| {
            limits(outcome, |rule| {
                for rate in rule.body.get_mut("rates").and_then(Value::as_array_mut).into_iter().flatten() {
                    rate["window"] = json!("24h");
                }
            });
        }
    ),
    alter!("trusts-every-key", "Lets everybody pass who shows any key.", ["KUADRANT-K34"], |facts, verdict| {
        match verdict {
            Verdict::Deny { status: 401, .. } if !asks(facts, "/headers/authorization").is_empty() => Verdict::Pass,
            other => other,
        }
    }),
    edit!(
        "trusts-keys-of-any-label",
        "Lets everybody pass who shows a key that Authorino watches, whichever labels the policy selects by.",
        ["KUADRANT-K45"],
        |_, _, outcome| {
            for rule in outcome.gate.guards.values_mut().flat_map(|guard| &mut guard.auth) {
                if let Some(keys) = rule.body.get_mut("apiKey").and_then(Value::as_object_mut) {
                    keys.remove("selector");
                }
            }
        }
    ),
    edit!(
        "trusts-keys-that-authorino-does-not-watch",
        "Lets everybody pass who shows a key that the policy selects, without Authorino's label on its Secret.",
        ["KUADRANT-K45"],
        |snapshot, _, outcome| outcome.gate.secrets = snapshot.all(Kind::Secret).cloned().collect()
    ),
];
