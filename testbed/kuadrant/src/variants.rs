//! Named ways to differ that are legal.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::gate::Verdict;
use crate::object::{Kind, Snapshot, items, text};
use crate::reconcile::{Outcome, reconcile};
use crate::seam::{Seam, Variant};
use crate::settings::{Edition, Settings};
use crate::status::{Change, Condition};

/// Changes the conditions of every policy.
fn own(outcome: &mut Outcome, mut change: impl FnMut(&mut Vec<Condition>)) {
    for update in &mut outcome.statuses {
        if Kind::POLICIES.contains(&update.key.0)
            && let Change::Own { conditions, .. } = &mut update.change
        {
            change(conditions);
        }
    }
}

/// Refuses policies whose expressions do not compile; none of them acts.
fn refuse_broken(snapshot: &Snapshot, settings: &Settings, outcome: &mut Outcome) {
    let mut others = snapshot.clone();
    for update in &mut outcome.statuses {
        let Change::Own { conditions, .. } = &mut update.change else { continue };
        let broken = conditions.iter().find(|one| one.message.contains("do not compile"));
        if let Some(message) = broken.map(|one| one.message.clone()) {
            *conditions = vec![Condition::new("Accepted", false, "Invalid", message)];
            others.objects.remove(&update.key);
        }
    }
    if others.objects.len() < snapshot.objects.len() {
        outcome.gate = reconcile(&others, settings).gate;
    }
}

/// The Gateways that the status of a route in a namespace names, by reference; of anything else itself.
fn above(snapshot: &Snapshot, home: &str, reference: &Value) -> Vec<Value> {
    let route = snapshot.get(Kind::HttpRoute, home, text(reference, "/name"));
    let Some(route) = route.filter(|_| reference["kind"] == "HTTPRoute") else { return vec![reference.clone()] };
    let gateway = |entry: &Value| {
        let parent = &entry["parentRef"];
        let of = parent["namespace"].as_str().unwrap_or(home);
        json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": of, "name": parent["name"]})
    };
    let gateways: BTreeSet<String> = items(route, "/status/parents").map(|entry| gateway(entry).to_string()).collect();
    gateways.iter().filter_map(|one| serde_json::from_str(one).ok()).collect()
}

macro_rules! edit {
    ($name:literal, $summary:literal, $source:literal, $body:expr) => {
        Variant {
            name: $name,
            summary: $summary,
            source: $source,
            seam: Seam::Outcome(|| {
                let body: fn(&mut Outcome) = $body;
                Box::new(move |_, _, outcome| body(outcome))
            }),
        }
    };
}

/// Every variant.
pub const VARIANTS: &[Variant] = &[
    edit!(
        "says-it-in-other-words",
        "Words its messages otherwise.",
        "RFC 0004 asks messages to reflect the error, in no fixed words.",
        |outcome| {
            own(outcome, |all| all.iter_mut().for_each(|one| one.message = format!("Note: {}.", one.message)));
        }
    ),
    edit!(
        "shouts-partial",
        "Words partial enforcement otherwise.",
        "Only prose of RFC 0004 names partial enforcement.",
        |outcome| {
            own(outcome, |all| {
                all.iter_mut()
                    .for_each(|one| one.message = one.message.replace("partially enforced", "PARTIALLY enforced"))
            });
        }
    ),
    edit!(
        "adds-own-conditions",
        "Adds a condition of a type of its own.",
        "Kubernetes API conventions: conditions are an open set.",
        |outcome| {
            own(outcome, |all| all.push(Condition::new("example.com/Seen", true, "Seen", "seen")));
        }
    ),
    edit!(
        "orders-conditions-otherwise",
        "Writes conditions in the other order.",
        "Conditions are a map by type: their order means nothing.",
        |outcome| {
            own(outcome, |all| all.reverse());
        }
    ),
    edit!(
        "stamps-conditions",
        "Writes observedGeneration in each condition too.",
        "metav1.Condition has the field.",
        |outcome| {
            for update in &mut outcome.statuses {
                if let Change::Own { conditions, fields, .. } = &mut update.change {
                    let generation = fields.get("observedGeneration").and_then(Value::as_i64);
                    conditions.iter_mut().for_each(|one| one.observed_generation = generation);
                }
            }
        }
    ),
    edit!(
        "counts-none-as-zero",
        "Writes that there are no records as 0 instead of leaving the count out.",
        "totalRecords is an optional number; nothing tells 0 from none.",
        |outcome| {
            for update in outcome.statuses.iter_mut().filter(|one| one.key.0 == Kind::DnsPolicy) {
                if let Change::Own { fields, .. } = &mut update.change
                    && fields.get("totalRecords").is_some_and(Value::is_null)
                {
                    fields.insert("totalRecords".to_owned(), json!(0));
                }
            }
        }
    ),
    edit!(
        "writes-routes-first",
        "Writes statuses in the other order.",
        "No order of writes to several objects is promised.",
        |outcome| outcome.statuses.reverse()
    ),
    edit!(
        "keeps-more-children",
        "Keeps a record of its own beside those that policies need.",
        "Which objects an implementation keeps is its own business.",
        |outcome| {
            if let Some(home) = outcome
                .children
                .iter()
                .find(|one| one["kind"] == "Authorino")
                .map(|one| one["metadata"]["namespace"].clone())
            {
                outcome.children.push(json!({
                    "apiVersion": "kuadrant.io/v1alpha1", "kind": "DNSRecord",
                    "metadata": {"name": "spare", "namespace": home, "labels": {crate::reconcile::MANAGED: "true"}},
                    "spec": {"rootHost": "spare.example.com"},
                }));
            }
        }
    ),
    Variant {
        name: "refuses-what-does-not-compile",
        summary: "Calls a policy invalid whose expressions do not compile, in the edition that says nothing of those.",
        source: "RFC 0004: Invalid is what validation comes to, and what it reads is left open.",
        seam: Seam::Outcome(|| {
            Box::new(|snapshot, settings, outcome| {
                if settings.edition == Edition::Design {
                    refuse_broken(snapshot, settings, outcome);
                }
            })
        }),
    },
    Variant {
        name: "takes-gateways-for-ancestors",
        summary: "Has the entries of a policy on a route name the Gateways of the route.",
        source: "PolicyAncestorStatus leaves open which of the objects that a policy acts through is the ancestor.",
        seam: Seam::Outcome(|| {
            Box::new(|snapshot, _, outcome| {
                for update in &mut outcome.statuses {
                    let home = update.key.1.clone();
                    if let Change::Own { ancestors, .. } = &mut update.change {
                        *ancestors = ancestors.iter().flat_map(|one| above(snapshot, &home, one)).collect();
                    }
                }
            })
        }),
    },
    Variant {
        name: "writes-in-two-steps",
        summary: "Writes Accepted first, and Enforced with the next write.",
        source: "No number of writes is promised, and Enforced may come late.",
        seam: Seam::Write(|| {
            Box::new(|live, status| {
                let fresh = live["status"]["conditions"].as_array().is_none_or(Vec::is_empty);
                if fresh && let Some(all) = status.get_mut("conditions").and_then(Value::as_array_mut) {
                    all.retain(|one| one["type"] != "Enforced");
                }
            })
        }),
    },
    Variant {
        name: "gives-no-reasons-for-denials",
        summary: "Says of a denial only that it is forbidden, without a reason.",
        source: "No body is promised for denied requests.",
        seam: Seam::Exchange(|| {
            Arc::new(|_, verdict| match verdict {
                Verdict::Deny { status, .. } => Verdict::Deny { status, reason: "forbidden".to_owned() },
                Verdict::Pass => Verdict::Pass,
            })
        }),
    },
    Variant {
        name: "lists-affecting-policies-with-kinds",
        summary: "Words what targets say of policies otherwise.",
        source: "Only the names of the policies are asked for there.",
        seam: Seam::Outcome(|| {
            Box::new(|_, _, outcome| {
                for update in &mut outcome.statuses {
                    if let Change::Gateway { conditions, listeners } = &mut update.change {
                        let all = conditions.iter_mut().chain(listeners.values_mut().flatten());
                        all.for_each(|one| one.message = format!("policies: {}", one.message));
                    }
                }
            })
        }),
    },
];
