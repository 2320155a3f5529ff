//! Mistakes in which of two policies prevails, and in what becomes of the other.

use std::collections::BTreeMap;

use super::each;
use crate::object::{Key, Kind, Snapshot, age, full_name, namespace, text};
use crate::reconcile::Outcome;
use crate::seam::{Edit, Fault, Seam, View};
use crate::settings::Settings;
use crate::status::{Change, Condition};

/// The kinds of which several policies may sit on one target.
const SHARING: [Kind; 2] = [Kind::AuthPolicy, Kind::RateLimitPolicy];

/// Turns the order of ages round, of policies that override or of the others.
fn turn_ages(snapshot: &mut Snapshot, overriding: bool) {
    for kind in SHARING {
        snapshot.edit(kind, |policy| {
            if policy["spec"]["overrides"].is_object() == overriding {
                let turn =
                    |one: char| one.to_digit(10).and_then(|digit| char::from_digit(9 - digit, 10)).unwrap_or(one);
                let turned: String = text(policy, "/metadata/creationTimestamp").chars().map(turn).collect();
                policy["metadata"]["creationTimestamp"] = turned.into();
            }
        });
    }
}

/// Keeps what policies said first for a reason, as long as they are there.
fn keeps(r#type: &'static str, reason: &'static str) -> Edit {
    let mut kept: BTreeMap<Key, Vec<Condition>> = BTreeMap::new();
    Box::new(move |_, _, outcome| {
        for update in &mut outcome.statuses {
            let Change::Own { conditions, .. } = &mut update.change else { continue };
            if let Some(first) = kept.get(&update.key) {
                conditions.clone_from(first);
            } else if conditions.iter().any(|one| one.r#type == r#type && one.reason == reason) {
                kept.insert(update.key.clone(), conditions.clone());
            }
        }
    })
}

/// The policies that a message names as winners.
fn winners(message: &str) -> Vec<&str> {
    let listed = message.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    listed.map(|(names, _)| names.split(' ').collect()).unwrap_or_default()
}

/// Says that an overridden policy is enforced as soon as one of those that replaced it is not there any more.
fn ends_early() -> Edit {
    let mut most: BTreeMap<Key, usize> = BTreeMap::new();
    Box::new(move |_, _, outcome| {
        for update in &mut outcome.statuses {
            let Change::Own { conditions, .. } = &mut update.change else { continue };
            match conditions.iter_mut().find(|one| one.reason == "Overridden") {
                Some(one) => {
                    let (now, before) = (winners(&one.message).len(), most.entry(update.key.clone()).or_default());
                    *before = now.max(*before);
                    if now < *before {
                        *one = Condition::new("Enforced", true, "Enforced", "enforced");
                    }
                }
                None => drop(most.remove(&update.key)),
            }
        }
    })
}

pub(super) const FAULTS: &[Fault] = &[
    view!(
        "oldest-default-wins",
        "Lets the oldest of several defaults on one target prevail.",
        ["KUADRANT-K21"],
        |snapshot| turn_ages(snapshot, false)
    ),
    view!(
        "newest-override-wins",
        "Lets the newest of several overrides on one target prevail.",
        ["KUADRANT-K21"],
        |snapshot| turn_ages(snapshot, true)
    ),
    view!(
        "takes-the-last-by-name-for-the-oldest",
        "Takes of policies on one target that were made in one second the last by name for the oldest.",
        ["KUADRANT-K23"],
        |snapshot| {
            for kind in SHARING {
                let mut names: Vec<String> = snapshot.all(kind).map(full_name).collect();
                names.sort();
                snapshot.edit(kind, |policy| {
                    let place = names.iter().rev().position(|name| *name == full_name(policy)).unwrap_or_default();
                    // Behind the seconds, where it counts among those of one second alone.
                    let time = format!("{}{place:04}", text(policy, "/metadata/creationTimestamp"));
                    policy["metadata"]["creationTimestamp"] = time.into();
                });
            }
        }
    ),
    edit!(
        "calls-younger-policies-conflicted",
        "Accepts one policy of authentication, and one of limits, on each target.",
        ["KUADRANT-K21", "KUADRANT-INV-4"],
        |snapshot, _, outcome| {
            for update in &mut outcome.statuses {
                let (kind, home, name) = &update.key;
                let Change::Own { conditions, .. } = &mut update.change else { continue };
                let Some(policy) = snapshot.get(*kind, home, name).filter(|_| SHARING.contains(kind)) else { continue };
                let rival = snapshot.all(*kind).find(|other| {
                    other["spec"]["targetRef"] == policy["spec"]["targetRef"]
                        && namespace(other) == namespace(policy)
                        && age(other) < age(policy)
                });
                if let Some(rival) = rival {
                    let message = format!("in conflict with {}", full_name(rival));
                    *conditions = vec![Condition::new("Accepted", false, "Conflicted", message)];
                }
            }
        }
    ),
    view!(
        "decides-conflicts-by-name",
        "Accepts of two policies for TLS or DNS in conflict the first by name, whichever is older.",
        ["KUADRANT-04"],
        |snapshot| {
            for kind in [Kind::TlsPolicy, Kind::DnsPolicy] {
                let mut names: Vec<String> = snapshot.all(kind).map(full_name).collect();
                names.sort();
                snapshot.edit(kind, |policy| {
                    let place = names.iter().position(|name| *name == full_name(policy)).unwrap_or_default();
                    policy["metadata"]["creationTimestamp"] = format!("{:04}-01-01T00:00:00Z", 1000 + place).into();
                });
            }
        }
    ),
    view!(
        "merges-overrides-as-defaults",
        "Lets what is nearer to the request prevail over single rules of overrides that are merged.",
        ["KUADRANT-07"],
        |snapshot| {
            for kind in SHARING {
                snapshot.edit(kind, |policy| {
                    if policy["spec"]["overrides"]["strategy"] == "merge"
                        && let Some(spec) = policy["spec"].as_object_mut()
                        && let Some(body) = spec.remove("overrides")
                    {
                        spec.insert("defaults".to_owned(), body);
                    }
                });
            }
        }
    ),
    edit!(
        "names-the-first-winner-alone",
        "Names one of several policies that override another.",
        ["KUADRANT-07"],
        |_, _, outcome| {
            each(outcome, "Enforced", |_, one| {
                if let [first, _, ..] = winners(&one.message)[..] {
                    one.message = format!("overridden by [{first}]");
                }
            });
        }
    ),
    Fault {
        name: "ends-overridden-with-one-winner",
        summary: "Says Enforced of an overridden policy when one of those that override it has gone, and others have not.",
        clauses: &["KUADRANT-07"],
        seam: Seam::Outcome(ends_early),
    },
    Fault {
        name: "stays-overridden",
        summary: "Goes on to say Overridden after the other policy has gone.",
        clauses: &["KUADRANT-21"],
        seam: Seam::Outcome(|| keeps("Enforced", "Overridden")),
    },
    Fault {
        name: "stays-conflicted",
        summary: "Goes on to say Conflicted after the other policy has gone.",
        clauses: &["KUADRANT-21"],
        seam: Seam::Outcome(|| keeps("Accepted", "Conflicted")),
    },
    edit!(
        "acts-beyond-sections",
        "Lets a policy on a listener or a rule act on the whole Gateway or route.",
        ["KUADRANT-K39"],
        |snapshot, settings, outcome| {
            let mut other = snapshot.clone();
            for kind in SHARING {
                other.edit(kind, |policy| {
                    if let Some(target) = policy["spec"]["targetRef"].as_object_mut() {
                        target.remove("sectionName");
                    }
                });
            }
            outcome.gate = crate::reconcile::reconcile(&other, settings).gate;
        }
    ),
];
