//! Named ways to misbehave, each in one seam.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::behaviour::{Edit, Fault, Seam, View};
use crate::gate::Verdict;
use crate::object::{Kind, Snapshot, text};
use crate::reconcile::{Outcome, reconcile};
use crate::settings::Settings;
use crate::status::{Change, Condition};

/// Changes the conditions of every policy of the kinds.
fn conditions(outcome: &mut Outcome, mut change: impl FnMut(Kind, &mut Vec<Condition>)) {
    for update in &mut outcome.statuses {
        if Kind::POLICIES.contains(&update.key.0)
            && let Change::Own { conditions, .. } = &mut update.change
        {
            change(update.key.0, conditions);
        }
    }
}

/// Changes one condition of every policy that has it.
fn each(outcome: &mut Outcome, r#type: &str, change: impl Fn(Kind, &mut Condition)) {
    conditions(outcome, |kind, all| {
        all.iter_mut().filter(|one| one.r#type == r#type).for_each(|one| change(kind, one));
    });
}

/// Says that a condition is good whatever it was, if it had that reason.
fn good(outcome: &mut Outcome, r#type: &str, reason: &str, only: Option<Kind>) {
    each(outcome, r#type, |kind, one| {
        if one.status == "False" && one.reason == reason && only.is_none_or(|only| only == kind) {
            *one = Condition::new(r#type, true, r#type, "in order");
        }
    });
}

/// Takes the statuses of another view of the cluster, and leaves the rest.
fn statuses_of(snapshot: &Snapshot, settings: &Settings, outcome: &mut Outcome, change: impl FnOnce(&mut Snapshot)) {
    let mut other = snapshot.clone();
    change(&mut other);
    outcome.statuses = reconcile(&other, settings).statuses;
}

/// Gives conditions another reason.
fn rename(outcome: &mut Outcome, r#type: &str, from: &'static str, to: &'static str) {
    each(outcome, r#type, |_, one| {
        if one.reason == from {
            one.reason = to.to_owned();
        }
    });
}

/// What a request has by a pointer.
fn asks<'a>(facts: &'a serde_json::Map<String, Value>, pointer: &str) -> &'a str {
    facts.get("request").map(|request| text(request, pointer)).unwrap_or_default()
}

macro_rules! edit {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault {
            name: $name,
            summary: $summary,
            clauses: &$clauses,
            seam: Seam::Outcome(|| {
                let body: fn(&Snapshot, &Settings, &mut Outcome) = $body;
                Box::new(body) as Edit
            }),
        }
    };
}

macro_rules! view {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault {
            name: $name,
            summary: $summary,
            clauses: &$clauses,
            seam: Seam::Snapshot(|| {
                let body: fn(&mut Snapshot) = $body;
                Box::new(body) as View
            }),
        }
    };
}

macro_rules! write {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault {
            name: $name,
            summary: $summary,
            clauses: &$clauses,
            seam: Seam::Write(|| {
                let body: fn(&Value, &mut Value) = $body;
                Box::new(body)
            }),
        }
    };
}

macro_rules! alter {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault { name: $name, summary: $summary, clauses: &$clauses, seam: Seam::Exchange(|| Arc::new($body)) }
    };
}

fn deny(status: u16) -> Verdict {
    Verdict::Deny { status, reason: "denied".to_owned() }
}

/// Every fault.
pub const FAULTS: &[Fault] = &[
    edit!(
        "accepts-missing-targets",
        "Accepts policies whose target is not there.",
        ["KUADRANT-03"],
        |_, _, outcome| {
            good(outcome, "Accepted", "TargetNotFound", None);
        }
    ),
    edit!(
        "calls-missing-targets-invalid",
        "Gives Invalid as the reason where the target is missing.",
        ["KUADRANT-03"],
        |_, _, outcome| {
            rename(outcome, "Accepted", "TargetNotFound", "Invalid");
        }
    ),
    edit!(
        "hides-the-missing-target",
        "Does not name the target that was not found.",
        ["KUADRANT-03", "KUADRANT-11"],
        |_, _, outcome| {
            each(outcome, "Accepted", |_, one| {
                if one.reason == "TargetNotFound" {
                    one.message = "not found".into()
                }
            });
        }
    ),
    edit!(
        "forgets-why-after-other-events",
        "Says Unknown instead of TargetNotFound, as after an event of another object.",
        ["KUADRANT-03", "KUADRANT-K32"],
        |_, _, outcome| {
            rename(outcome, "Accepted", "TargetNotFound", "Unknown");
        }
    ),
    edit!(
        "accepts-conflicts",
        "Accepts the younger of two policies that exclude each other.",
        ["KUADRANT-04"],
        |_, _, outcome| {
            good(outcome, "Accepted", "Conflicted", None);
        }
    ),
    edit!(
        "hides-the-rival",
        "Does not name the policy that another is in conflict with.",
        ["KUADRANT-04", "KUADRANT-INV-8"],
        |_, _, outcome| {
            each(outcome, "Accepted", |_, one| {
                if one.reason == "Conflicted" {
                    one.message = "conflict".into()
                }
            });
        }
    ),
    edit!(
        "accepts-tls-policies-without-issuer",
        "Accepts a TLSPolicy whose issuer is not there.",
        ["KUADRANT-02"],
        |_, _, outcome| {
            good(outcome, "Accepted", "Invalid", Some(Kind::TlsPolicy));
        }
    ),
    edit!(
        "accepts-bad-networks",
        "Accepts a DNSPolicy with a CIDR that is none.",
        ["KUADRANT-K26"],
        |_, _, outcome| {
            good(outcome, "Accepted", "Unknown", Some(Kind::DnsPolicy));
        }
    ),
    edit!(
        "ignores-missing-dependencies",
        "Accepts policies although what they depend on is not served.",
        ["KUADRANT-K01"],
        |_, _, outcome| {
            good(outcome, "Accepted", "MissingDependency", None);
        }
    ),
    edit!(
        "enforces-without-kuadrant",
        "Says Enforced although there is no Kuadrant object.",
        ["KUADRANT-18", "KUADRANT-K10"],
        |_, _, outcome| {
            good(outcome, "Enforced", "MissingResource", None);
        }
    ),
    edit!(
        "enforces-without-paths",
        "Says Enforced although no route is there or the service is away.",
        ["KUADRANT-08", "KUADRANT-18"],
        |_, _, outcome| {
            good(outcome, "Enforced", "Unknown", None);
        }
    ),
    edit!(
        "enforces-overridden-policies",
        "Says Enforced of a policy that another replaces everywhere.",
        ["KUADRANT-07"],
        |_, _, outcome| {
            good(outcome, "Enforced", "Overridden", None);
        }
    ),
    edit!(
        "hides-the-winners",
        "Does not name the policies that override another.",
        ["KUADRANT-07", "KUADRANT-INV-7"],
        |_, _, outcome| {
            each(outcome, "Enforced", |_, one| {
                if one.reason == "Overridden" {
                    one.message = "overridden".into()
                }
            });
        }
    ),
    edit!(
        "calls-overridden-unknown",
        "Gives Unknown as the reason where a policy is overridden.",
        ["KUADRANT-07"],
        |_, _, outcome| {
            rename(outcome, "Enforced", "Overridden", "Unknown");
        }
    ),
    edit!(
        "enforces-broken-expressions",
        "Says Enforced although an expression does not compile.",
        ["KUADRANT-18", "KUADRANT-K29"],
        |_, _, outcome| {
            good(outcome, "Enforced", "InvalidCelExpression", None);
        }
    ),
    edit!(
        "hides-partial-enforcement",
        "Does not say that a policy is enforced on some paths only.",
        ["KUADRANT-06"],
        |_, _, outcome| {
            each(outcome, "Enforced", |kind, one| {
                if one.message.contains("partially") {
                    one.message = format!("{} is enforced", kind.name())
                }
            });
        }
    ),
    edit!(
        "says-unknown-status",
        "Writes Unknown as the status of a condition that is False with the reason Unknown.",
        ["KUADRANT-08"],
        |_, _, outcome| {
            each(outcome, "Enforced", |_, one| {
                if one.reason == "Unknown" {
                    one.status = "Unknown"
                }
            });
        }
    ),
    edit!(
        "keeps-enforced-beside-refusals",
        "Keeps a condition Enforced on policies that are not accepted.",
        ["KUADRANT-14", "KUADRANT-INV-2"],
        |_, _, outcome| {
            conditions(outcome, |_, all| {
                if all.iter().any(|one| one.r#type == "Accepted" && one.status == "False") {
                    all.push(Condition::new("Enforced", false, "Unknown", "not accepted"));
                }
            });
        }
    ),
    edit!(
        "enforces-what-it-refuses",
        "Says Enforced True of policies that are not accepted.",
        ["KUADRANT-14", "KUADRANT-INV-2"],
        |_, _, outcome| {
            conditions(outcome, |_, all| {
                if all.iter().any(|one| one.r#type == "Accepted" && one.status == "False") {
                    all.push(Condition::new("Enforced", true, "Enforced", "enforced"));
                }
            });
        }
    ),
    edit!("has-no-enforced-condition", "Never writes Enforced.", ["KUADRANT-05"], |_, _, outcome| {
        conditions(outcome, |_, all| all.retain(|one| one.r#type != "Enforced"));
    }),
    edit!(
        "has-no-accepted-condition",
        "Never writes Accepted on RateLimitPolicies.",
        ["KUADRANT-01", "KUADRANT-20", "KUADRANT-INV-1"],
        |_, _, outcome| {
            conditions(outcome, |kind, all| {
                if kind == Kind::RateLimitPolicy {
                    all.retain(|one| one.r#type != "Accepted")
                }
            });
        }
    ),
    edit!(
        "gives-no-messages",
        "Leaves the message of False conditions empty.",
        ["KUADRANT-11", "KUADRANT-INV-4"],
        |_, _, outcome| {
            conditions(outcome, |_, all| {
                all.iter_mut().filter(|one| one.status == "False").for_each(|one| one.message.clear())
            });
        }
    ),
    edit!(
        "invents-reasons",
        "Gives a reason of its own where a policy is accepted.",
        ["KUADRANT-01", "KUADRANT-INV-3"],
        |_, _, outcome| {
            rename(outcome, "Accepted", "Accepted", "Valid");
        }
    ),
    edit!(
        "invents-enforced-reasons",
        "Gives a reason of its own where a policy is enforced.",
        ["KUADRANT-05", "KUADRANT-INV-3"],
        |_, _, outcome| {
            rename(outcome, "Enforced", "Enforced", "Programmed");
        }
    ),
    edit!(
        "adds-failed",
        "Adds a condition Failed to policies that are not accepted.",
        ["KUADRANT-09"],
        |_, _, outcome| {
            conditions(outcome, |_, all| {
                if all.iter().any(|one| one.r#type == "Accepted" && one.status == "False") {
                    all.push(Condition::new("Failed", true, "Failed", "failed"));
                }
            });
        }
    ),
    edit!(
        "has-no-affected-conditions",
        "Says nothing on targets of the policies that affect them.",
        ["KUADRANT-23"],
        |_, _, outcome| {
            outcome.statuses.retain(|one| matches!(one.change, Change::Own { .. }));
        }
    ),
    edit!(
        "affects-gateways-only",
        "Says nothing on routes of the policies that affect them.",
        ["KUADRANT-23"],
        |_, _, outcome| {
            outcome.statuses.retain(|one| !matches!(one.change, Change::Route(_)));
        }
    ),
    edit!(
        "says-affected-false",
        "Says False on targets of the policies that affect them.",
        ["KUADRANT-23", "KUADRANT-INV-9"],
        |_, _, outcome| {
            for update in &mut outcome.statuses {
                if let Change::Gateway { conditions, .. } = &mut update.change {
                    conditions.iter_mut().for_each(|one| one.status = "False");
                }
            }
        }
    ),
    edit!(
        "keeps-affected-conditions",
        "Never takes back what targets say of policies.",
        ["KUADRANT-23", "KUADRANT-INV-9"],
        |_, _, outcome| {
            outcome.statuses.retain(|one| match &one.change {
                Change::Own { .. } => true,
                Change::Gateway { conditions, .. } => !conditions.is_empty(),
                Change::Route(entries) => !entries.is_empty(),
            });
        }
    ),
    edit!(
        "is-blind-to-stopped-services",
        "Says of services that are down what it would say if they ran.",
        ["KUADRANT-15", "KUADRANT-18"],
        |snapshot, settings, outcome| {
            statuses_of(snapshot, settings, outcome, |other| {
                for kind in [Kind::Authorino, Kind::Limitador] {
                    other.edit(kind, |object| {
                        object["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]})
                    });
                }
            });
        }
    ),
    edit!(
        "forgets-sick-records",
        "Says SubResourcesHealthy although a record is not.",
        ["KUADRANT-K28"],
        |_, _, outcome| {
            each(outcome, "SubResourcesHealthy", |_, one| {
                *one = Condition::new("SubResourcesHealthy", true, "SubResourcesHealthy", "healthy")
            });
        }
    ),
    edit!("miscounts-records", "Counts one DNSRecord too many.", ["KUADRANT-K28"], |_, _, outcome| {
        for update in &mut outcome.statuses {
            if let Change::Own { fields, .. } = &mut update.change
                && let Some(count) = fields.get("totalRecords").and_then(Value::as_i64)
            {
                fields.insert("totalRecords".to_owned(), json!(count + 1));
            }
        }
    }),
    view!(
        "ignores-sections",
        "Lets a policy of a listener affect the whole Gateway.",
        ["KUADRANT-23", "KUADRANT-K07"],
        |snapshot| {
            for kind in Kind::POLICIES {
                snapshot.edit(kind, |policy| {
                    if let Some(target) = policy["spec"]["targetRef"].as_object_mut() {
                        target.remove("sectionName");
                    }
                });
            }
        }
    ),
    view!("ignores-overrides", "Takes overrides for defaults.", ["KUADRANT-07", "KUADRANT-K18"], |snapshot| {
        for kind in [Kind::AuthPolicy, Kind::RateLimitPolicy] {
            snapshot.edit(kind, |policy| {
                if let Some(spec) = policy["spec"].as_object_mut()
                    && let Some(body) = spec.remove("overrides")
                {
                    spec.insert("defaults".to_owned(), body);
                }
            });
        }
    }),
    view!("ignores-merging", "Takes every strategy for atomic.", ["KUADRANT-06", "KUADRANT-K17"], |snapshot| {
        for kind in [Kind::AuthPolicy, Kind::RateLimitPolicy] {
            snapshot.edit(kind, |policy| {
                for part in ["defaults", "overrides"] {
                    if policy["spec"][part].is_object() {
                        policy["spec"][part]["strategy"] = json!("atomic");
                    }
                }
            });
        }
    }),
    edit!(
        "claims-without-a-gate",
        "Enforces nothing and says that it does.",
        ["KUADRANT-05", "KUADRANT-18"],
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
        "enforces-no-authorization",
        "Lets everybody pass who has a key.",
        ["KUADRANT-05", "KUADRANT-K34"],
        |_, _, outcome| {
            outcome
                .gate
                .guards
                .values_mut()
                .for_each(|guard| guard.auth.retain(|rule| !rule.id.starts_with("authorization/")));
        }
    ),
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
        clauses: &["KUADRANT-18", "KUADRANT-K34"],
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
        clauses: &["KUADRANT-22"],
        seam: Seam::Outcome(|| {
            let mut first = BTreeMap::new();
            Box::new(move |_, _, outcome| {
                for (key, guard) in &mut outcome.gate.guards {
                    *guard = first.entry(key.clone()).or_insert_with(|| guard.clone()).clone();
                }
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
                    guard.auth.push(crate::effective::Rule {
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
    alter!("trusts-every-key", "Lets everybody pass who shows any key.", ["KUADRANT-K34"], |facts, verdict| {
        match verdict {
            Verdict::Deny { status: 401, .. } if !asks(facts, "/headers/authorization").is_empty() => Verdict::Pass,
            other => other,
        }
    }),
    write!("observes-nothing", "Never writes observedGeneration.", ["KUADRANT-INV-5"], |_, status| {
        if let Some(status) = status.as_object_mut() {
            status.remove("observedGeneration");
        }
    }),
    write!(
        "observes-ahead",
        "Writes an observedGeneration above the generation.",
        ["KUADRANT-INV-5"],
        |live, status| {
            if status.get("observedGeneration").is_some() {
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
        clauses: &["KUADRANT-K33", "KUADRANT-INV-11"],
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
