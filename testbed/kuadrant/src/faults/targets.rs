//! Mistakes in what targets and children tell, and in which policies have precedence.

use serde_json::{Value, json};

use super::{each, statuses_of};
use crate::behaviour::{Edit, Fault, Seam, View};
use crate::object::{Kind, Snapshot};
use crate::reconcile::Outcome;
use crate::settings::Settings;
use crate::status::{Change, Condition};

pub(super) const FAULTS: &[Fault] = &[
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
        ["KUADRANT-23"],
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
    view!("ignores-sections", "Lets a policy of a listener affect the whole Gateway.", ["KUADRANT-23"], |snapshot| {
        for kind in Kind::POLICIES {
            snapshot.edit(kind, |policy| {
                if let Some(target) = policy["spec"]["targetRef"].as_object_mut() {
                    target.remove("sectionName");
                }
            });
        }
    }),
    view!("ignores-overrides", "Takes overrides for defaults.", ["KUADRANT-07"], |snapshot| {
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
    view!("ignores-merging", "Takes every strategy for atomic.", ["KUADRANT-06"], |snapshot| {
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
];
