//! Mistakes in how statuses follow each other, and in what each of them must have whatever it says: the contract's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::object::{condition, text};
use crate::seam::{Fault, Seam};

/// The conditions of a status that are of a type.
fn of<'a>(status: &'a mut Value, r#type: &'a str) -> impl Iterator<Item = &'a mut Value> {
    all(status).filter(move |one| one["type"] == r#type)
}

fn all(status: &mut Value) -> impl Iterator<Item = &mut Value> {
    status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten()
}

fn is(live: &Value, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| live["kind"] == *kind)
}

/// Whether a condition of the old status has another status than the new one.
fn flips(live: &Value, now: &Value) -> bool {
    condition(&live["status"], text(now, "/type")).is_some_and(|before| before["status"] != now["status"])
}

/// Moves the time of a condition.
fn shift(one: &mut Value, from: &str, by: SignedDuration) {
    if let Ok(time) = from.parse::<Timestamp>() {
        let moved = time.checked_add(by).unwrap_or(time);
        one["lastTransitionTime"] = moved.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    }
}

/// What a policy has to say, in short.
fn words(live: &Value, status: &Value) -> Value {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let words: Vec<_> = conditions.map(|one| [&one["type"], &one["status"], &one["reason"]]).collect();
    json!([live["metadata"]["generation"], words])
}

/// The policies of one target, and how often all of them were to be written anew since one of them had something else to say.
struct Crowd {
    members: BTreeMap<String, Value>,
    since: Instant,
    round: u128,
    last: String,
}

impl Crowd {
    /// The round of a member. They come by name: the next round begins with the first, so that all are written in it.
    fn round(&mut self, live: &Value, status: &Value) -> u128 {
        let (name, says) = (text(live, "/metadata/name").to_owned(), words(live, status));
        if name <= self.last {
            self.round = self.since.elapsed().as_millis() / RENEWED.as_millis();
        }
        if self.members.insert(name.clone(), says.clone()).is_none_or(|before| before != says) {
            (self.since, self.round) = (Instant::now(), 0);
        }
        self.last = name;
        if self.members.len() > CROWD { self.round } else { 0 }
    }
}

impl Default for Crowd {
    fn default() -> Self {
        Self { members: BTreeMap::new(), since: Instant::now(), round: 0, last: String::new() }
    }
}

/// For how long each policy has had the same to say.
#[derive(Default)]
struct Ages(BTreeMap<String, (Value, Instant)>);

impl Ages {
    fn of(&mut self, live: &Value, status: &Value) -> Duration {
        let says = words(live, status);
        let now = Instant::now();
        let entry = self.0.entry(text(live, "/metadata/uid").to_owned()).or_insert_with(|| (says.clone(), now));
        if entry.0 != says {
            *entry = (says, now);
        }
        now - entry.1
    }
}

/// The AuthPolicies whose target is there, by namespace.
#[derive(Default)]
struct Company(BTreeMap<String, BTreeSet<String>>);

impl Company {
    /// Whether no other of them is in its namespace, so that nothing that others say follows from what this one says.
    fn is_alone(&mut self, live: &Value, status: &Value) -> bool {
        let name = text(live, "/metadata/name");
        let others = self.0.entry(text(live, "/metadata/namespace").to_owned()).or_default();
        if condition(status, "Accepted").is_some_and(|one| one["reason"] == "TargetNotFound") {
            others.remove(name);
            return true;
        }
        others.insert(name.to_owned());
        others.len() == 1
    }
}

/// Longer than whoever expects an answer at once will wait.
const LATE: Duration = Duration::from_millis(5800);
/// After that times are written anew.
const RENEWED: Duration = Duration::from_millis(800);
/// After that who is not enforced says that it is: soon after it was heard that it is not.
const RECOVERED: Duration = Duration::from_millis(500);
/// After that conditions begin to turn: later than whoever is busy looks for the first time.
const TURNING: Duration = Duration::from_millis(3500);
/// So long each word lasts.
const WORD: Duration = Duration::from_millis(300);

/// More policies than that on one target are a crowd.
const CROWD: usize = 4;

/// Says that a policy is not accepted, with all that goes with it.
fn refuse(live: &Value, status: &mut Value) {
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let before = condition(&live["status"], "Accepted").filter(|before| before["status"] == "False");
    let since = before.map_or(now, |before| text(before, "/lastTransitionTime").to_owned());
    status["conditions"] = json!([{
        "type": "Accepted", "status": "False", "reason": "Unknown", "message": "not accepted", "lastTransitionTime": since,
    }]);
}

pub(super) const FAULTS: &[Fault] = &[
    write!(
        "says-it-twice",
        "Has Accepted twice among the conditions of TLSPolicies and DNSPolicies.",
        ["KUADRANT-10"],
        |live, status| {
            if is(live, &["TLSPolicy", "DNSPolicy"]) {
                let again: Vec<Value> = of(status, "Accepted").map(|one| one.clone()).collect();
                if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
                    conditions.extend(again);
                }
            }
        }
    ),
    Fault {
        name: "writes-empty-statuses",
        summary: "Leaves the status of Enforced empty where it would be False with the reason Unknown.",
        clauses: &["KUADRANT-10", "KUADRANT-08", "KUADRANT-INV-4"],
        seam: Seam::Unchecked(|| {
            Box::new(|live, status| {
                let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                for one in of(status, "Enforced").filter(|one| one["reason"] == "Unknown") {
                    one["status"] = json!("");
                    let before = condition(&live["status"], "Enforced").filter(|one| one["status"] == "");
                    let since = before.map_or(now.as_str(), |before| text(before, "/lastTransitionTime"));
                    one["lastTransitionTime"] = since.to_owned().into();
                }
            })
        }),
    },
    Fault {
        name: "writes-reasons-as-sentences",
        summary: "Gives a sentence as the reason where a target is missing.",
        clauses: &["KUADRANT-10", "KUADRANT-INV-4", "KUADRANT-03"],
        seam: Seam::Unchecked(|| {
            Box::new(|_, status| {
                let missing = of(status, "Accepted").filter(|one| one["reason"] == "TargetNotFound");
                missing.for_each(|one| one["reason"] = json!("target not found"));
            })
        }),
    },
    Fault {
        name: "writes-no-message-field",
        summary: "Leaves the message out of Enforced=True, but where that is so in part.",
        clauses: &["KUADRANT-10"],
        seam: Seam::Unchecked(|| {
            Box::new(|_, status| {
                let in_full = |one: &&mut Value| {
                    let is_partly = one["message"].as_str().is_some_and(|message| message.contains("partially"));
                    one["status"] == "True" && !is_partly
                };
                for one in of(status, "Enforced").filter(in_full) {
                    if let Some(fields) = one.as_object_mut() {
                        fields.remove("message");
                    }
                }
            })
        }),
    },
    write!(
        "drops-accepted-after-an-edit",
        "Writes no Accepted any more once the spec has changed.",
        ["KUADRANT-INV-1", "KUADRANT-INV-2", "KUADRANT-14"],
        |live, status| {
            if live["metadata"]["generation"].as_i64() > Some(1)
                && is(live, &["AuthPolicy", "RateLimitPolicy"])
                && let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut)
            {
                conditions.retain(|one| one["type"] != "Accepted");
            }
        }
    ),
    write!(
        "observes-the-first-generation",
        "Keeps the first observedGeneration for ever.",
        ["KUADRANT-INV-5"],
        |live, status| {
            if let Some(first) = live["status"].get("observedGeneration") {
                status["observedGeneration"] = first.clone();
            }
        }
    ),
    write!(
        "observes-five-generations",
        "Says of no generation beyond the fifth that it was observed.",
        ["KUADRANT-INV-5"],
        |_, status| {
            if status["observedGeneration"].as_i64() > Some(5) {
                status["observedGeneration"] = json!(5);
            }
        }
    ),
    Fault {
        name: "goes-back-a-generation",
        summary: "Writes the generation before once more after an edit.",
        clauses: &["KUADRANT-INV-5"],
        seam: Seam::Write(|| {
            let mut done = BTreeSet::new();
            Box::new(move |live, status| {
                let generation = live["metadata"]["generation"].as_i64().unwrap_or_default();
                let again = live["status"]["observedGeneration"] == generation && generation > 1;
                if again && done.insert((text(live, "/metadata/uid").to_owned(), generation)) {
                    status["observedGeneration"] = json!(generation - 1);
                }
            })
        }),
    },
    write!(
        "moves-times-with-edits",
        "Moves lastTransitionTime on with every edit, whether or not the status turns.",
        ["KUADRANT-INV-6"],
        |live, status| {
            let observed = live["status"]["observedGeneration"].as_i64();
            if observed.is_some_and(|observed| live["metadata"]["generation"] != observed) {
                for one in all(status).filter(|one| !flips(live, one)) {
                    let from = text(one, "/lastTransitionTime").to_owned();
                    shift(one, &from, SignedDuration::from_secs(1));
                }
            }
        }
    ),
    write!(
        "sets-times-back",
        "Writes a lastTransitionTime before the last one when a condition turns.",
        ["KUADRANT-INV-6"],
        |live, status| {
            for one in all(status).filter(|one| flips(live, one)) {
                if let Some(before) = condition(&live["status"], text(one, "/type")) {
                    shift(one, text(before, "/lastTransitionTime"), SignedDuration::from_hours(-1));
                }
            }
        }
    ),
    write!(
        "writes-times-of-tomorrow",
        "Writes lastTransitionTimes that are a day ahead.",
        ["KUADRANT-INV-6"],
        |live, status| {
            for one in all(status) {
                let before = condition(&live["status"], text(one, "/type")).map(|it| &it["lastTransitionTime"]);
                if before != Some(&one["lastTransitionTime"]) {
                    let from = text(one, "/lastTransitionTime").to_owned();
                    shift(one, &from, SignedDuration::from_hours(24));
                }
            }
        }
    ),
    Fault {
        name: "renews-times",
        summary: "Writes the time of the write as lastTransitionTime, time and again.",
        clauses: &["KUADRANT-INV-6", "KUADRANT-19", "KUADRANT-INV-11"],
        seam: Seam::Restless(|| {
            let mut ages = Ages::default();
            Box::new(move |live, status| {
                // Often enough for whoever looks, and no more often than every second.
                if ages.of(live, status) > RENEWED {
                    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                    of(status, "Accepted").for_each(|one| one["lastTransitionTime"] = now.clone().into());
                }
            })
        }),
    },
    Fault {
        name: "rewrites-crowds",
        summary: "Writes the statuses of policies of a kind anew, time and again, once more than four have had one target.",
        clauses: &["KUADRANT-19", "KUADRANT-INV-11"],
        seam: Seam::Restless(|| {
            let mut crowds: BTreeMap<String, Crowd> = BTreeMap::new();
            Box::new(move |live, status| {
                let of_target = |field: &str| text(&live["spec"]["targetRef"], field);
                if of_target("/name").is_empty() {
                    return;
                }
                let target =
                    [text(live, "/kind"), text(live, "/metadata/namespace"), of_target("/kind"), of_target("/name")];
                let round = crowds.entry(target.join("/")).or_default().round(live, status);
                if round > 0 {
                    of(status, "Accepted").for_each(|one| one["message"] = format!("accepted, round {round}").into());
                }
            })
        }),
    },
    Fault {
        name: "recovers-by-itself",
        summary: "Says Enforced again after a while although the service that it waits for is still stopped.",
        clauses: &["KUADRANT-15", "KUADRANT-18", "KUADRANT-INV-11"],
        seam: Seam::Restless(|| {
            let mut ages = Ages::default();
            Box::new(move |live, status| {
                if ages.of(live, status) > RECOVERED {
                    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                    let before = condition(&live["status"], "Enforced").filter(|before| before["status"] == "True");
                    let since = before.map_or(now, |before| text(before, "/lastTransitionTime").to_owned());
                    let waits = of(status, "Enforced").filter(|one| {
                        one["message"].as_str().is_some_and(|message| message.contains("waits for components"))
                    });
                    for one in waits {
                        one["status"] = json!("True");
                        one["reason"] = json!("Enforced");
                        one["message"] = json!("enforced");
                        one["lastTransitionTime"] = since.clone().into();
                    }
                }
            })
        }),
    },
    Fault {
        name: "turns-by-itself",
        summary: "Says by turns that an AuthPolicy that stands alone is accepted and that it is not.",
        clauses: &["KUADRANT-INV-11", "KUADRANT-INV-1", "KUADRANT-INV-3", "KUADRANT-INV-4"],
        seam: Seam::Restless(|| {
            let (mut ages, mut company) = (Ages::default(), Company::default());
            Box::new(move |live, status| {
                if !is(live, &["AuthPolicy"]) {
                    return;
                }
                let (age, is_alone) = (ages.of(live, status), company.is_alone(live, status));
                let turned = age.saturating_sub(TURNING).as_millis() / WORD.as_millis() % 2 == 1;
                if age > TURNING && turned && is_alone {
                    refuse(live, status);
                }
            })
        }),
    },
    Fault {
        name: "turns-after-a-while",
        summary: "Does not accept an AuthPolicy that stands alone any more after a while.",
        clauses: &["KUADRANT-INV-11", "KUADRANT-INV-1", "KUADRANT-INV-3", "KUADRANT-INV-4"],
        seam: Seam::Restless(|| {
            let (mut ages, mut company) = (Ages::default(), Company::default());
            Box::new(move |live, status| {
                if !is(live, &["AuthPolicy"]) {
                    return;
                }
                let (age, is_alone) = (ages.of(live, status), company.is_alone(live, status));
                if age > LATE && is_alone {
                    refuse(live, status);
                }
            })
        }),
    },
    Fault {
        name: "forgets-why-after-a-while",
        summary: "Says Unknown instead of TargetNotFound after a while.",
        clauses: &["KUADRANT-INV-11", "KUADRANT-INV-1", "KUADRANT-INV-3", "KUADRANT-INV-4"],
        seam: Seam::Restless(|| {
            let mut ages = Ages::default();
            Box::new(move |live, status| {
                if ages.of(live, status) > LATE {
                    let missing = of(status, "Accepted").filter(|one| one["reason"] == "TargetNotFound");
                    missing.for_each(|one| one["reason"] = json!("Unknown"));
                }
            })
        }),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_alone_beside_those_that_sit_on_nothing() {
        let mut company = Company::default();
        let mut is_alone = |name: &str, reason: &str| {
            let live = json!({"metadata": {"namespace": "ns", "name": name}});
            company.is_alone(&live, &json!({"conditions": [{"type": "Accepted", "reason": reason}]}))
        };
        assert!(is_alone("policy", "Accepted"));
        assert!(is_alone("lost", "TargetNotFound"));
        assert!(is_alone("policy", "Accepted"));
        assert!(!is_alone("other", "Accepted"));
        assert!(!is_alone("policy", "Accepted"));
        assert!(is_alone("lost", "TargetNotFound"));
        assert!(is_alone("other", "TargetNotFound"));
        assert!(is_alone("policy", "Accepted"));
    }
}
