//! Mistakes in what policies say of themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::{conditions, each, good, rename};
use crate::object::{Key, Kind, Snapshot, namespace};
use crate::reconcile::Outcome;
use crate::seam::{Edit, Fault, Seam};
use crate::settings::Settings;
use crate::status::{Change, Condition};

/// Adds the name of the policy itself to the message of a condition with this reason.
fn say_self(outcome: &mut Outcome, r#type: &str, reason: &str) {
    for update in &mut outcome.statuses {
        let (_, home, name) = &update.key;
        let Change::Own { conditions, .. } = &mut update.change else { continue };
        for one in conditions.iter_mut().filter(|one| one.r#type == r#type && one.reason == reason) {
            one.message = format!("{}, {home}/{name}", one.message);
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
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
        ["KUADRANT-03", "KUADRANT-INV-4"],
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
        "calls-missing-targets-unknown",
        "Gives Unknown as the reason where the target is missing.",
        ["KUADRANT-03", "KUADRANT-INV-1", "KUADRANT-INV-3", "KUADRANT-INV-4"],
        |_, _, outcome| {
            rename(outcome, "Accepted", "TargetNotFound", "Unknown");
        }
    ),
    Fault {
        name: "forgets-why-after-other-events",
        summary: "Says Unknown instead of TargetNotFound when another policy of its namespace has come or gone.",
        clauses: &["KUADRANT-INV-11", "KUADRANT-INV-1", "KUADRANT-INV-3", "KUADRANT-INV-4"],
        seam: Seam::Outcome(|| {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            Box::new(move |snapshot, _, outcome| {
                let all = || Kind::POLICIES.into_iter().flat_map(|kind| snapshot.all(kind));
                let mut now: BTreeMap<String, usize> = BTreeMap::new();
                all().for_each(|policy| *now.entry(namespace(policy).to_owned()).or_default() += 1);
                let changed = |namespace: &String| seen.get(namespace).is_some_and(|it| now.get(namespace) != Some(it));
                for update in outcome.statuses.iter_mut().filter(|update| changed(&update.key.1)) {
                    if let Change::Own { conditions, .. } = &mut update.change {
                        let missing = conditions.iter_mut().filter(|one| one.reason == "TargetNotFound");
                        missing.for_each(|one| one.reason = "Unknown".to_owned());
                    }
                }
                seen = now;
            })
        }),
    },
    Fault {
        name: "never-leaves-enforced",
        summary: "Goes on to say Enforced of policies of DNS and TLS whose records or certificates are not ready any more.",
        clauses: &["KUADRANT-15"],
        seam: Seam::Outcome(|| {
            let mut enforced: BTreeSet<Key> = BTreeSet::new();
            Box::new(move |_, _, outcome| {
                for update in &mut outcome.statuses {
                    let Change::Own { conditions, .. } = &mut update.change else { continue };
                    if ![Kind::DnsPolicy, Kind::TlsPolicy].contains(&update.key.0) {
                        continue;
                    }
                    for one in conditions.iter_mut().filter(|one| one.r#type == "Enforced") {
                        if one.status == "True" {
                            enforced.insert(update.key.clone());
                        } else if enforced.contains(&update.key) {
                            *one = Condition::new("Enforced", true, "Enforced", "enforced");
                        }
                    }
                }
            })
        }),
    },
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
        "names-itself-as-a-rival",
        "Names a conflicted policy itself beside the one that it is in conflict with.",
        ["KUADRANT-INV-8"],
        |_, _, outcome| {
            say_self(outcome, "Accepted", "Conflicted");
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
        "enforces-without-kuadrant",
        "Says Enforced although there is no Kuadrant object.",
        ["KUADRANT-K10"],
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
        "hides-the-stopped-service",
        "Does not name the service that a policy waits for.",
        ["KUADRANT-11"],
        |_, _, outcome| {
            each(outcome, "Enforced", |_, one| {
                if one.message.contains("waits for components") {
                    for service in ["Authorino", "authorino", "Limitador", "limitador"] {
                        one.message = one.message.replace(service, "a service");
                    }
                }
            });
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
        "names-itself-among-the-winners",
        "Names an overridden policy itself beside those that override it.",
        ["KUADRANT-INV-7"],
        |_, _, outcome| {
            say_self(outcome, "Enforced", "Overridden");
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
        ["KUADRANT-K29", "KUADRANT-08"],
        |_, _, outcome| {
            // In the edition `design` no reason of its own says so.
            each(outcome, "Enforced", |_, one| {
                if one.status == "False" && one.message.contains("do not compile") {
                    *one = Condition::new("Enforced", true, "Enforced", "in order");
                }
            });
        }
    ),
    edit!(
        "hides-partial-enforcement",
        "Does not say that a policy is enforced on some paths only.",
        ["KUADRANT-K37"],
        |_, _, outcome| {
            each(outcome, "Enforced", |kind, one| {
                if kind != Kind::DnsPolicy && one.message.contains("partially") {
                    one.message = format!("{} is enforced", kind.name())
                }
            });
        }
    ),
    edit!(
        "hides-unready-records",
        "Does not say of a DNSPolicy that some of its records are not ready.",
        ["KUADRANT-K38"],
        |_, _, outcome| {
            each(outcome, "Enforced", |kind, one| {
                if kind == Kind::DnsPolicy && one.message.contains("partially") {
                    one.message = "DNSPolicy is enforced".to_owned();
                }
            });
        }
    ),
    edit!(
        "says-unknown-status",
        "Writes Unknown as the status of a condition that is False with the reason Unknown.",
        ["KUADRANT-08", "KUADRANT-INV-4"],
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
    edit!("has-no-enforced-condition", "Never writes that a policy is enforced.", ["KUADRANT-K40"], |_, _, outcome| {
        conditions(outcome, |_, all| all.retain(|one| one.r#type != "Enforced" || one.status != "True"));
    }),
    edit!(
        "has-no-accepted-condition",
        "Never writes Accepted, nor anything else, on RateLimitPolicies.",
        ["KUADRANT-01", "KUADRANT-20", "KUADRANT-INV-1"],
        |_, _, outcome| {
            conditions(outcome, |kind, all| {
                if kind == Kind::RateLimitPolicy {
                    all.clear();
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
        ["KUADRANT-K40", "KUADRANT-INV-3"],
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
];
