//! Mistakes in what targets and children tell, and in which policies have precedence.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{each, statuses_of};
use crate::object::{Key, Kind, Snapshot, text};
use crate::reconcile::Outcome;
use crate::seam::{Edit, Fault, Seam, View};
use crate::settings::Settings;
use crate::status::{Change, Condition, StatusUpdate};

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
        "affects-without-a-generation",
        "Does not say on Gateways of which generation they are affected.",
        ["KUADRANT-INV-5"],
        |_, _, outcome| {
            for update in &mut outcome.statuses {
                if let Change::Gateway { conditions, .. } = &mut update.change {
                    conditions.iter_mut().for_each(|one| one.observed_generation = None);
                }
            }
        }
    ),
    edit!(
        "lists-refused-policies",
        "Says of Gateways that policies affect them which are not accepted, beside those that are.",
        ["KUADRANT-INV-9"],
        |snapshot, _, outcome| {
            let refuses = |one: &Condition| one.r#type == "Accepted" && one.status == "False";
            let refused = outcome.statuses.iter().filter(|update| match &update.change {
                Change::Own { conditions, .. } => conditions.iter().any(refuses),
                _ => false,
            });
            let refused: Vec<Key> = refused.map(|update| update.key.clone()).collect();
            for update in &mut outcome.statuses {
                let (_, home, gateway) = &update.key;
                let Change::Gateway { conditions, .. } = &mut update.change else { continue };
                for (kind, of, name) in refused.iter().filter(|(_, of, _)| of == home) {
                    let on_it = |policy: &Value| policy["spec"]["targetRef"]["name"] == **gateway;
                    let told = format!("kuadrant.io/{}Affected", kind.name());
                    let Some(condition) = conditions.iter_mut().find(|one| one.r#type == told) else { continue };
                    if snapshot.get(*kind, of, name).is_some_and(on_it) {
                        condition.message = condition.message.replace(']', &format!(" {of}/{name}]"));
                    }
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
    edit!(
        "ignores-sections",
        "Says of a policy of a listener that it affects the whole Gateway.",
        ["KUADRANT-23", "KUADRANT-K39", "KUADRANT-03", "KUADRANT-K28"],
        |snapshot, settings, outcome| {
            statuses_of(snapshot, settings, outcome, |other| {
                for kind in Kind::POLICIES {
                    other.edit(kind, |policy| {
                        if let Some(target) = policy["spec"]["targetRef"].as_object_mut() {
                            target.remove("sectionName");
                        }
                    });
                }
            });
        }
    ),
    edit!(
        "affects-gateways-of-routes",
        "Says on a Gateway that a policy affects it which sits on one of its routes.",
        ["KUADRANT-23"],
        |_, _, outcome| {
            let mut found: Vec<(Key, Vec<Condition>)> = Vec::new();
            for update in &outcome.statuses {
                let Change::Route(entries) = &update.change else { continue };
                found.extend(entries.iter().map(|(parent, conditions)| {
                    let key = (Kind::Gateway, text(parent, "/namespace").to_owned(), text(parent, "/name").to_owned());
                    (key, conditions.clone())
                }));
            }
            for (key, more) in found {
                if !outcome.statuses.iter().any(|one| one.key == key) {
                    let change = Change::Gateway { conditions: Vec::new(), listeners: BTreeMap::new() };
                    outcome.statuses.push(StatusUpdate { key: key.clone(), change });
                }
                for update in outcome.statuses.iter_mut().filter(|one| one.key == key) {
                    if let Change::Gateway { conditions, .. } = &mut update.change {
                        let unsaid = |one: &Condition| conditions.iter().all(|known| known.r#type != one.r#type);
                        let more: Vec<Condition> = more.iter().filter(|one| unsaid(one)).cloned().collect();
                        conditions.extend(more);
                    }
                }
            }
        }
    ),
    edit!(
        "accepts-routes-itself",
        "Says in its own entry that a route is accepted.",
        ["KUADRANT-INV-10"],
        |_, _, outcome| {
            for update in &mut outcome.statuses {
                if let Change::Route(entries) = &mut update.change {
                    entries.iter_mut().for_each(|(_, conditions)| {
                        let generation = conditions.first().and_then(|one| one.observed_generation);
                        let accepted = Condition::new("Accepted", true, "Accepted", "accepted");
                        conditions.push(Condition { observed_generation: generation, ..accepted });
                    });
                }
            }
        }
    ),
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
    view!("ignores-merging", "Takes every strategy for atomic.", ["KUADRANT-06", "KUADRANT-07"], |snapshot| {
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
