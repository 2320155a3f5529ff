//! Mistakes in what the edition `design` alone asks: an entry for the ancestor, and one policy of a kind on a target.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::good;
use crate::object::{Key, Kind, Snapshot, condition, full_name, namespace, text};
use crate::reconcile::{Outcome, reconcile};
use crate::seam::{Edit, Fault, Seam};
use crate::settings::{Edition, Settings};
use crate::status::{Change, Condition};

/// The kinds whose policies conflict in this edition alone.
const SHARING: [Kind; 2] = [Kind::AuthPolicy, Kind::RateLimitPolicy];

/// Takes the entries of policies of a kind away.
fn no_ancestors(outcome: &mut Outcome, kind: Kind) {
    for update in outcome.statuses.iter_mut().filter(|update| update.key.0 == kind) {
        if let Change::Own { ancestors, .. } = &mut update.change {
            ancestors.clear();
        }
    }
}

/// The entries that a policy of a kind is about to have.
fn entries<'s>(live: &Value, status: &'s mut Value, kind: Kind) -> impl Iterator<Item = &'s mut Value> {
    let found = status.get_mut("ancestors").filter(|_| live["kind"] == kind.name());
    found.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Leaves the times of conditions whose status is what it was in the first entry.
fn keep_times(live: &Value, entry: &mut Value) {
    let before = live.pointer("/status/ancestors/0").unwrap_or(&Value::Null);
    for one in entry["conditions"].as_array_mut().into_iter().flatten() {
        if let Some(before) = condition(before, text(one, "/type")).filter(|before| before["status"] == one["status"]) {
            one["lastTransitionTime"] = before["lastTransitionTime"].clone();
        }
    }
}

/// Calls the winners of conflicts in conflict, too.
fn refuse_winners(snapshot: &Snapshot, outcome: &mut Outcome) {
    let is_conflicted = |one: &Condition| one.reason == "Conflicted";
    let losers: BTreeSet<Key> = outcome
        .statuses
        .iter()
        .filter(
            |update| matches!(&update.change, Change::Own { conditions, .. } if conditions.iter().any(is_conflicted)),
        )
        .map(|update| update.key.clone())
        .collect();
    for update in outcome.statuses.iter_mut().filter(|update| !losers.contains(&update.key)) {
        let (kind, home, name) = &update.key;
        let Change::Own { conditions, .. } = &mut update.change else { continue };
        let Some(policy) = snapshot.get(*kind, home, name).filter(|_| SHARING.contains(kind)) else { continue };
        let rival = losers.iter().filter(|loser| loser.0 == *kind).find_map(|(_, home, name)| {
            snapshot.get(*kind, home, name).filter(|other| {
                other["spec"]["targetRef"] == policy["spec"]["targetRef"] && namespace(other) == namespace(policy)
            })
        });
        if let Some(rival) = rival {
            let message = format!("in conflict with {}", full_name(rival));
            *conditions = vec![Condition::new("Accepted", false, "Conflicted", message)];
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "names-no-ancestors",
        "Has no entry for the target of a policy in its status, in the edition whose policies have one.",
        ["KUADRANT-13"],
        |_, _, outcome| Kind::POLICIES.into_iter().for_each(|kind| no_ancestors(outcome, kind))
    ),
    edit!(
        "names-no-ancestors-for-tls",
        "Has no entry for the target of a TLSPolicy in its status.",
        ["KUADRANT-13"],
        |_, _, outcome| no_ancestors(outcome, Kind::TlsPolicy)
    ),
    edit!(
        "names-no-ancestors-for-dns",
        "Has no entry for the target of a DNSPolicy in its status.",
        ["KUADRANT-13"],
        |_, _, outcome| no_ancestors(outcome, Kind::DnsPolicy)
    ),
    write!(
        "calls-every-ancestor-a-class",
        "Says in the reference to an AuthPolicy's ancestor that it is a GatewayClass, whatever it is.",
        ["KUADRANT-13"],
        |live, status| {
            for entry in entries(live, status, Kind::AuthPolicy) {
                entry["ancestorRef"]["kind"] = json!("GatewayClass");
            }
        }
    ),
    write!(
        "gives-ancestors-its-own-group",
        "Gives the group of the policies in the reference to a RateLimitPolicy's ancestor.",
        ["KUADRANT-13"],
        |live, status| {
            for entry in entries(live, status, Kind::RateLimitPolicy) {
                entry["ancestorRef"]["group"] = json!("kuadrant.io");
            }
        }
    ),
    write!(
        "writes-entries-twice",
        "Has the entry for a RateLimitPolicy's ancestor twice in its status.",
        ["KUADRANT-13"],
        |live, status| {
            let again: Vec<Value> = entries(live, status, Kind::RateLimitPolicy).map(|entry| entry.clone()).collect();
            if let Some(all) = status.get_mut("ancestors").and_then(Value::as_array_mut) {
                all.extend(again);
            }
        }
    ),
    write!(
        "repeats-acceptance-alone",
        "Leaves Enforced out of the entry for a DNSPolicy's ancestor.",
        ["KUADRANT-13"],
        |live, status| {
            for entry in entries(live, status, Kind::DnsPolicy) {
                if let Some(conditions) = entry["conditions"].as_array_mut() {
                    conditions.retain(|one| one["type"] != "Enforced");
                }
            }
        }
    ),
    write!(
        "keeps-the-first-entry",
        "Leaves the entry for a TLSPolicy's ancestor as it was first written.",
        ["KUADRANT-13"],
        |live, status| {
            for entry in entries(live, status, Kind::TlsPolicy) {
                if let Some(before) = live.pointer("/status/ancestors/0") {
                    *entry = before.clone();
                }
            }
        }
    ),
    write!(
        "keeps-good-entries",
        "Leaves the entry for the ancestor of a policy as one of a policy in force, while the policy is in conflict with another there.",
        ["KUADRANT-13"],
        |live, status| {
            let is_conflicted = |one: &Value| one["reason"] == "Conflicted";
            let conflicted =
                status["conditions"].as_array().into_iter().flatten().find(|one| is_conflicted(one)).cloned();
            for kind in Kind::POLICIES {
                for entry in entries(live, status, kind) {
                    if let Some(conflicted) = &conflicted {
                        let good = |r#type: &str| {
                            let mut condition = conflicted.clone();
                            condition["type"] = json!(r#type);
                            condition["status"] = json!("True");
                            condition["reason"] = json!(r#type);
                            condition
                        };
                        entry["conditions"] = json!([good("Accepted"), good("Enforced")]);
                    }
                    // What is good before, during and after a conflict became so once.
                    keep_times(live, entry);
                }
            }
        }
    ),
    edit!(
        "accepts-second-auth-policies",
        "Accepts the younger of two AuthPolicies on one target, in the edition whose policies exclude each other.",
        ["KUADRANT-04"],
        |_, _, outcome| good(outcome, "Accepted", "Conflicted", Some(Kind::AuthPolicy))
    ),
    edit!(
        "accepts-second-rate-limit-policies",
        "Accepts the younger of two RateLimitPolicies on one target, in the edition whose policies exclude each other.",
        ["KUADRANT-04"],
        |_, _, outcome| good(outcome, "Accepted", "Conflicted", Some(Kind::RateLimitPolicy))
    ),
    edit!(
        "refuses-both-in-conflict",
        "Calls both of two AuthPolicies, or RateLimitPolicies, on one target conflicted.",
        ["KUADRANT-04"],
        |snapshot, _, outcome| refuse_winners(snapshot, outcome)
    ),
    edit!(
        "acts-by-conflicted-policies",
        "Lets the rules of a policy act that it calls conflicted.",
        ["KUADRANT-18"],
        |snapshot, settings, outcome| {
            // There policies of one target are merged.
            let settings = Settings { edition: Edition::Current, ..settings.clone() };
            outcome.gate = reconcile(snapshot, &settings).gate;
        }
    ),
];
