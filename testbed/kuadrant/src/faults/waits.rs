//! Mistakes in what policies wait for: services, listeners, records and certificates.

use serde_json::{Map, Value};

use super::{conditions, each, good, rename, statuses_of};
use crate::object::{Kind, Snapshot, text};
use crate::reconcile::Outcome;
use crate::seam::{Edit, Fault, Seam, View};
use crate::settings::Settings;
use crate::status::{Change, Condition};

/// What the message of a certificate for other names has.
const MISMATCHED: &str = "IncorrectCertificate";

/// Says that TLSPolicies are enforced whose certificate is not ready, for other names or for another reason.
fn enforce_certificates(outcome: &mut Outcome, mismatched: bool) {
    each(outcome, "Enforced", |kind, one| {
        if kind == Kind::TlsPolicy
            && one.message.contains("Certificate")
            && one.message.contains(MISMATCHED) == mismatched
        {
            *one = Condition::new("Enforced", true, "Enforced", "enforced");
        }
    });
}

/// The fields that DNSPolicies have beside their conditions.
fn fields(outcome: &mut Outcome, change: impl Fn(&mut Vec<Condition>, &mut Map<String, Value>)) {
    for update in &mut outcome.statuses {
        if update.key.0 == Kind::DnsPolicy
            && let Change::Own { conditions, fields, .. } = &mut update.change
        {
            change(conditions, fields);
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "enforces-without-service-objects",
        "Says Enforced although the object of the service is not there.",
        ["KUADRANT-K10"],
        |snapshot, _, outcome| {
            if snapshot.all(Kind::Kuadrant).next().is_some() {
                good(outcome, "Enforced", "MissingResource", None);
            }
        }
    ),
    view!(
        "takes-unprogrammed-listeners-for-paths",
        "Says Enforced of policies whose requests come over a listener that is not programmed.",
        ["KUADRANT-K12"],
        |snapshot| {
            snapshot.edit(Kind::Gateway, |gateway| {
                let listeners = gateway.pointer_mut("/status/listeners").and_then(Value::as_array_mut);
                for listener in listeners.into_iter().flatten() {
                    let conditions = listener.get_mut("conditions").and_then(Value::as_array_mut);
                    for one in conditions.into_iter().flatten().filter(|one| one["type"] == "Programmed") {
                        one["status"] = "True".into();
                    }
                }
            });
        }
    ),
    view!(
        "takes-refused-routes-for-paths",
        "Says Enforced of policies whose requests would go by a route that the Gateway does not admit.",
        ["KUADRANT-K43"],
        |snapshot| {
            snapshot.edit(Kind::HttpRoute, |route| {
                let parents = route.pointer_mut("/status/parents").and_then(Value::as_array_mut);
                for parent in parents.into_iter().flatten() {
                    let conditions = parent.get_mut("conditions").and_then(Value::as_array_mut);
                    for one in conditions.into_iter().flatten().filter(|one| one["type"] == "Accepted") {
                        one["status"] = "True".into();
                    }
                }
            });
        }
    ),
    edit!(
        "knows-every-controller",
        "Says Enforced of policies on Gateways of a controller that it knows nothing of.",
        ["KUADRANT-K15"],
        |snapshot, settings, outcome| {
            let mut settings = settings.clone();
            let classes = snapshot.all(Kind::GatewayClass);
            settings.controllers.extend(classes.map(|class| text(class, "/spec/controllerName").to_owned()));
            statuses_of(snapshot, &settings, outcome, |_| {});
        }
    ),
    edit!(
        "enforces-without-certificates",
        "Says Enforced of a TLSPolicy whose certificate is not ready.",
        ["KUADRANT-K24"],
        |_, _, outcome| enforce_certificates(outcome, false)
    ),
    edit!(
        "enforces-mismatched-certificates",
        "Says Enforced of a TLSPolicy whose certificate was issued for other names.",
        ["KUADRANT-K25"],
        |_, _, outcome| enforce_certificates(outcome, true)
    ),
    edit!(
        "waits-for-records-that-nothing-asks-for",
        "Does not enforce a DNSPolicy that has no record to make.",
        ["KUADRANT-K27"],
        |_, _, outcome| {
            each(outcome, "Enforced", |kind, one| {
                if kind == Kind::DnsPolicy && one.message.contains("no DNSRecords") {
                    *one = Condition::new("Enforced", false, "Unknown", "waits for DNSRecords");
                }
            });
        }
    ),
    edit!(
        "waits-for-every-record",
        "Does not enforce a DNSPolicy of which some records are ready and some are not.",
        ["KUADRANT-K38"],
        |_, _, outcome| {
            each(outcome, "Enforced", |kind, one| {
                if kind == Kind::DnsPolicy && one.message.contains("partially") {
                    *one = Condition::new("Enforced", false, "Unknown", "waits for DNSRecords");
                }
            });
        }
    ),
    edit!(
        "overlooks-one-sick-record",
        "Says SubResourcesHealthy as long as one record is.",
        ["KUADRANT-K28"],
        |_, _, outcome| {
            fields(outcome, |conditions, fields| {
                let all = fields.get("totalRecords").and_then(Value::as_u64).unwrap_or_default();
                for one in conditions.iter_mut().filter(|one| one.r#type == "SubResourcesHealthy") {
                    if one.status == "False" && (one.message.split(", ").count() as u64) < all {
                        *one = Condition::new("SubResourcesHealthy", true, "SubResourcesHealthy", "healthy");
                    }
                }
            });
        }
    ),
    edit!(
        "lists-no-sick-records",
        "Does not list what is not well with records.",
        ["KUADRANT-K28"],
        |_, _, outcome| {
            fields(outcome, |_, fields| {
                fields.insert("recordConditions".to_owned(), Value::Null);
            });
        }
    ),
    edit!(
        "forgets-why-without-services",
        "Says Unknown instead of TargetNotFound while a service that policies need is not ready.",
        ["KUADRANT-INV-11", "KUADRANT-INV-1", "KUADRANT-INV-3", "KUADRANT-INV-4"],
        |_, _, outcome| {
            let waits = outcome.statuses.iter().any(|update| {
                update.key.0 == Kind::Kuadrant
                    && matches!(&update.change, Change::Own { conditions, .. } if conditions.iter().any(|one| one.status == "False"))
            });
            if waits {
                rename(outcome, "Accepted", "TargetNotFound", "Unknown");
            }
        }
    ),
    edit!(
        "keeps-health-when-refused",
        "Leaves SubResourcesHealthy of a DNSPolicy that is not accepted any more as it was.",
        ["KUADRANT-K44"],
        |_, _, outcome| {
            for update in &mut outcome.statuses {
                if update.key.0 == Kind::DnsPolicy
                    && let Change::Own { conditions, owned, .. } = &mut update.change
                    && conditions.iter().any(|one| one.r#type == "Accepted" && one.status == "False")
                {
                    owned.retain(|r#type| *r#type != "SubResourcesHealthy");
                }
            }
        }
    ),
    edit!(
        "says-nothing-of-health",
        "Drops SubResourcesHealthy while a record is not healthy.",
        ["KUADRANT-K28"],
        |_, _, outcome| {
            conditions(outcome, |_, all| {
                all.retain(|one| one.r#type != "SubResourcesHealthy" || one.status == "True");
            });
        }
    ),
];
