//! Mistakes in what policies depend on, and in how the operator begins.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{conditions, each};
use crate::object::{Dependency, Key, Kind, Snapshot, condition, is_true, items, name, namespace, text};
use crate::reconcile::Outcome;
use crate::seam::{Edit, Fault, Seam, View};
use crate::settings::Settings;
use crate::status::{Change, Condition};
use crate::topology::target;

/// For so long after its start it says that it is about to begin: long enough for whoever looks.
const WARMING: Duration = Duration::from_millis(800);

/// The services and operators that carry policies out.
const CARRIERS: [Dependency; 4] = [Dependency::Authorino, Dependency::Limitador, Dependency::Dns, Dependency::Issuer];

/// Whether a condition says that this is not there.
fn misses(one: &Condition, what: Dependency) -> bool {
    let listed = one.message.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    one.reason == "MissingDependency" && listed.is_some_and(|(names, _)| names.split(", ").any(|it| it == what.name()))
}

/// Accepts policies that lack nothing but this.
fn accept_without(outcome: &mut Outcome, what: &[Dependency]) {
    each(outcome, "Accepted", |_, one| {
        let mut others = Dependency::ALL.into_iter().filter(|other| !what.contains(other));
        if one.reason == "MissingDependency" && !others.any(|other| misses(one, other)) {
            *one = Condition::new("Accepted", true, "Accepted", "accepted");
        }
    });
}

/// The generation of each policy that is not refused: what an edit changes, and most statuses do not.
fn edits(snapshot: &Snapshot) -> BTreeMap<Key, Value> {
    let is_refused =
        |one: &Value| condition(&one["status"], "Accepted").is_some_and(|accepted| accepted["status"] == "False");
    let of_kind = |kind: Kind| {
        snapshot.all(kind).filter(move |one| !is_refused(one)).map(move |one| {
            let key = (kind, namespace(one).to_owned(), name(one).to_owned());
            (key, json!([one["metadata"]["uid"], one["metadata"]["generation"]]))
        })
    };
    Kind::POLICIES.into_iter().flat_map(of_kind).collect()
}

/// The spec of what the service that authorizes is given, but for whom it is.
fn rules_of(config: &Value) -> Value {
    let mut spec = config["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("hosts");
    }
    spec
}

/// The namespaces of the routes for which that service refuses what it is given.
fn refused_for(snapshot: &Snapshot) -> BTreeSet<&str> {
    let is_refused =
        |config: &&Value| condition(&config["status"], "Ready").is_some_and(|ready| ready["status"] == "False");
    let refused = snapshot.all(Kind::AuthConfig).filter(is_refused);
    let hosts: BTreeSet<&str> =
        refused.flat_map(|config| items(config, "/spec/hosts")).filter_map(Value::as_str).collect();
    let is_of =
        |route: &&Value| items(route, "/spec/hostnames").filter_map(Value::as_str).any(|host| hosts.contains(host));
    snapshot.all(Kind::HttpRoute).filter(is_of).map(namespace).collect()
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "looks-for-targets-without-gateway-api",
        "Says TargetNotFound of policies where there is no Gateway API.",
        ["KUADRANT-K01"],
        |_, _, outcome| {
            each(outcome, "Accepted", |_, one| {
                if misses(one, Dependency::GatewayApi) {
                    one.reason = "TargetNotFound".to_owned();
                }
            });
        }
    ),
    edit!(
        "accepts-without-a-provider",
        "Accepts policies where no implementation of the Gateway API is known.",
        ["KUADRANT-K02"],
        |_, _, outcome| accept_without(outcome, &[Dependency::Provider])
    ),
    edit!(
        "accepts-without-carriers",
        "Accepts policies where nobody is who could carry them out.",
        ["KUADRANT-K41"],
        |_, _, outcome| accept_without(outcome, &CARRIERS)
    ),
    edit!(
        "hides-missing-dependencies",
        "Does not name what policies depend on and is not there.",
        ["KUADRANT-K01", "KUADRANT-K02", "KUADRANT-K41", "KUADRANT-11"],
        |_, _, outcome| {
            each(outcome, "Accepted", |_, one| {
                if one.reason == "MissingDependency" {
                    one.message = "something is not installed".to_owned();
                }
            });
        }
    ),
    edit!(
        "misses-what-others-need",
        "Says MissingDependency of policies of every kind once one kind misses something.",
        ["KUADRANT-K03"],
        |_, _, outcome| {
            let mut message = None;
            conditions(outcome, |_, all| {
                let found = all.iter().find(|one| one.reason == "MissingDependency");
                message = message.take().or_else(|| found.map(|one| one.message.clone()));
            });
            let Some(message) = message else { return };
            conditions(outcome, |_, all| {
                if all.iter().any(|one| one.r#type == "Accepted" && one.status == "True") {
                    *all = vec![Condition::new("Accepted", false, "MissingDependency", message.clone())];
                }
            });
        }
    ),
    view!(
        "remembers-what-was-missing",
        "Goes on missing what a policy said that it misses, although it was started anew since that is there.",
        ["KUADRANT-K04"],
        |snapshot| {
            let said = |one: Dependency| {
                let mut all = Kind::POLICIES.into_iter().flat_map(|kind| snapshot.all(kind));
                all.any(|policy| {
                    condition(&policy["status"], "Accepted").is_some_and(|accepted| {
                        accepted["reason"] == "MissingDependency" && text(accepted, "/message").contains(one.name())
                    })
                })
            };
            let missing: Vec<Dependency> = Dependency::ALL.into_iter().filter(|one| said(*one)).collect();
            snapshot.missing.extend(missing);
        }
    ),
    Fault {
        name: "overlooks-what-it-finds",
        summary: "Says nothing of policies that were there, and not refused, when it was started, until they are edited.",
        clauses: &["KUADRANT-K42"],
        seam: Seam::Outcome(|| {
            let mut found: Option<BTreeMap<Key, Value>> = None;
            Box::new(move |snapshot, _, outcome| {
                let now = edits(snapshot);
                // What is missing comes to light as it does otherwise.
                let is_whole = snapshot.missing.is_empty();
                let found = found.get_or_insert_with(|| if is_whole { now.clone() } else { BTreeMap::new() });
                found.retain(|key, edit| now.get(key) == Some(&*edit));
                outcome.statuses.retain(|update| !found.contains_key(&update.key));
            })
        }),
    },
    Fault {
        name: "takes-back-what-it-finds",
        summary: "Says of policies that it finds enforced when it is started that they are not, until it has looked at everything.",
        clauses: &["KUADRANT-K42"],
        seam: Seam::Restless(|| {
            let begun = Instant::now();
            let mut is_found: BTreeMap<String, bool> = BTreeMap::new();
            Box::new(move |live, status| {
                let uid = text(live, "/metadata/uid").to_owned();
                let is_found = *is_found.entry(uid).or_insert_with(|| is_true(&live["status"], "Enforced"));
                if !is_found || begun.elapsed() > WARMING {
                    return;
                }
                let before = condition(&live["status"], "Enforced").filter(|before| before["status"] == "False");
                let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                let since = before.map_or(now, |before| text(before, "/lastTransitionTime").to_owned());
                let all = status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten();
                for one in all.filter(|one| one["type"] == "Enforced") {
                    (one["status"], one["reason"]) = ("False".into(), "Unknown".into());
                    (one["message"], one["lastTransitionTime"]) = ("about to begin".into(), since.clone().into());
                }
            })
        }),
    },
    view!(
        "takes-one-auth-config-for-all",
        "Takes all that the service of authentication is given by a policy for ready once a part of it is.",
        ["KUADRANT-K13"],
        |snapshot| {
            let ready: Vec<Value> = snapshot
                .all(Kind::AuthConfig)
                .filter(|config| is_true(&config["status"], "Ready"))
                .map(rules_of)
                .collect();
            snapshot.edit(Kind::AuthConfig, |config| {
                if !is_true(&config["status"], "Ready") && ready.contains(&rules_of(config)) {
                    let all = config.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
                    for one in all.into_iter().flatten().filter(|one| one["type"] == "Ready") {
                        one["status"] = "True".into();
                    }
                }
            });
        }
    ),
    edit!(
        "waits-for-auth-configs-of-others",
        "Does not enforce an AuthPolicy while something is refused that another one of its namespace gives to the service of authentication.",
        ["KUADRANT-K13"],
        |snapshot, _, outcome| {
            let homes = refused_for(snapshot);
            for update in &mut outcome.statuses {
                let (kind, home, _) = &update.key;
                let Change::Own { conditions, .. } = &mut update.change else { continue };
                if *kind == Kind::AuthPolicy && homes.contains(home.as_str()) {
                    let enforced = conditions.iter_mut().filter(|one| one.r#type == "Enforced" && one.status == "True");
                    enforced
                        .for_each(|one| *one = Condition::new("Enforced", false, "Unknown", "waits for AuthConfigs"));
                }
            }
        }
    ),
    edit!(
        "accepts-missing-sections",
        "Accepts policies of TLS and DNS on listeners that are not there.",
        ["KUADRANT-03"],
        |_, _, outcome| {
            each(outcome, "Accepted", |kind, one| {
                let is_direct = matches!(kind, Kind::TlsPolicy | Kind::DnsPolicy);
                if is_direct && one.reason == "TargetNotFound" && one.message.contains(" section ") {
                    *one = Condition::new("Accepted", true, "Accepted", "accepted");
                }
            });
        }
    ),
    view!(
        "publishes-beyond-sections",
        "Makes records of all listeners for a DNSPolicy on one of them.",
        ["KUADRANT-K28"],
        |snapshot| {
            let before = snapshot.clone();
            snapshot.edit(Kind::DnsPolicy, |policy| {
                if target(&before, policy).is_ok()
                    && let Some(target) = policy["spec"]["targetRef"].as_object_mut()
                {
                    target.remove("sectionName");
                }
            });
        }
    ),
];
