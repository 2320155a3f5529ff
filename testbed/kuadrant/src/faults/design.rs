//! Mistakes in what the edition `design` alone asks: an entry for the ancestor.

use serde_json::{Value, json};

use crate::behaviour::{Edit, Fault, Seam};
use crate::object::{Kind, Snapshot};
use crate::reconcile::Outcome;
use crate::settings::Settings;
use crate::status::Change;

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
        "calls-every-ancestor-a-gateway",
        "Leaves the kind out of the reference to an AuthPolicy's ancestor, so that a route is taken for a Gateway.",
        ["KUADRANT-13"],
        |live, status| {
            for entry in entries(live, status, Kind::AuthPolicy) {
                entry["ancestorRef"]["kind"] = json!("Gateway");
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
];
