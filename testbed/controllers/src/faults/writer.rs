use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use kube::{Api, api::DynamicObject};
use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{drop_field, each},
};
use crate::{
    runtime::seams::StatusWriterSeam,
    snapshot::Kind,
    status::{self, StatusUpdate},
};

/// A fault in how the status is put together. The function gets the object as it is and the right status.
struct Merge(Inner, fn(&Value, &StatusUpdate, &mut Value));

/// The writer that is wrapped.
pub(super) type Inner = Arc<dyn StatusWriterSeam>;

impl StatusWriterSeam for Merge {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.0.merge(live, desired, now);
        (self.1)(live, desired, &mut status);
        status
    }
}

pub(super) fn merge(inner: Inner, change: fn(&Value, &StatusUpdate, &mut Value)) -> Inner {
    Arc::new(Merge(inner, change))
}

/// Leaves entries of parents that the route no longer names, changed so.
pub(super) fn keep_entries(live: &Value, status: &mut Value, change: impl Fn(&mut Value)) {
    let before = live.pointer("/status/parents").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(parents) = status.get_mut("parents").and_then(Value::as_array_mut) else { return };
    for mut entry in before {
        let is_same = |one: &Value| {
            (&one["parentRef"], &one["controllerName"]) == (&entry["parentRef"], &entry["controllerName"])
        };
        if !parents.iter().any(is_same) {
            change(&mut entry);
            parents.push(entry);
        }
    }
}

/// Says of an entry that it is about the spec as it is.
fn renew(entry: &mut Value, live: &Value) {
    for condition in each(entry, "/conditions") {
        condition["observedGeneration"] = live["metadata"]["generation"].clone();
    }
}

/// Every list of conditions in a status.
fn lists(status: &mut Value) -> Vec<&mut Vec<Value>> {
    let Some(map) = status.as_object_mut() else { return Vec::new() };
    let mut lists = Vec::new();
    for (field, value) in map {
        match field.as_str() {
            "conditions" => lists.extend(value.as_array_mut()),
            "listeners" | "parents" => {
                let entries = value.as_array_mut().into_iter().flatten();
                lists.extend(entries.filter_map(|entry| entry.get_mut("conditions")?.as_array_mut()));
            }
            _ => {}
        }
    }
    lists
}

fn is_own(r#type: &Value) -> bool {
    !r#type.as_str().unwrap_or_default().contains('/')
}

/// Whether a controller, rather than the defaults of the CRD, has written the conditions before.
pub(super) fn was_visited(live: &Value) -> bool {
    let mut status = live["status"].clone();
    lists(&mut status).into_iter().flatten().any(|condition| condition.get("observedGeneration").is_some())
}

/// Moves `lastTransitionTime` with every change, whether or not the status changed.
struct MovesTimes(Inner);

impl StatusWriterSeam for MovesTimes {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.0.merge(live, desired, now);
        if !status::same(live, &status) {
            for condition in lists(&mut status).into_iter().flatten().filter(|condition| is_own(&condition["type"])) {
                condition["lastTransitionTime"] = now.into();
            }
        }
        status
    }
}

/// Says the same thing again and again, in a message that counts.
struct Restless(Inner, Mutex<u64>);

/// Between two needless writes, so that a machine stays usable.
pub(super) const RESTLESS_PAUSE: Duration = Duration::from_millis(50);

#[async_trait]
impl StatusWriterSeam for Restless {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.0.merge(live, desired, now);
        if desired.kind == Kind::HttpRoute {
            let mut count = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            *count += 1;
            for condition in each(&mut status, "/parents").flat_map(|entry| each(entry, "/conditions")) {
                condition["message"] = format!("reconciled {} times", *count).into();
            }
        }
        status
    }

    async fn before(&self, desired: &StatusUpdate) {
        self.0.before(desired).await;
        tokio::time::sleep(RESTLESS_PAUSE).await;
    }
}

/// Says of a route at first whether it is accepted and nothing else.
struct AcceptsFirst(Inner, Mutex<BTreeSet<String>>);

#[async_trait]
impl StatusWriterSeam for AcceptsFirst {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    async fn put(&self, api: &Api<DynamicObject>, mut object: DynamicObject) -> kube::Result<DynamicObject> {
        let is_route = object.types.as_ref().is_some_and(|types| types.kind.ends_with("Route"));
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let is_first = self.1.lock().unwrap_or_else(PoisonError::into_inner).insert(uid);
        if is_route && is_first {
            let mut first = object.clone();
            let conditions = lists(&mut first.data["status"]);
            conditions.into_iter().for_each(|list| list.retain(|condition| condition["type"] == "Accepted"));
            object.metadata.resource_version = self.0.put(api, first).await?.metadata.resource_version;
        }
        self.0.put(api, object).await
    }
}

/// Writes bad news of a TCPRoute late, and everything else at once.
struct Late(Inner);

/// Longer than whoever expects an answer at once will wait.
const LATE: Duration = Duration::from_secs(7);

fn is_bad_news_of_tcp(object: &DynamicObject) -> bool {
    let mut status = object.data["status"].clone();
    object.types.as_ref().is_some_and(|types| types.kind == "TCPRoute")
        && lists(&mut status).into_iter().flatten().any(|one| one["type"] == "ResolvedRefs" && one["status"] == "False")
}

#[async_trait]
impl StatusWriterSeam for Late {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        if !is_bad_news_of_tcp(&object) {
            return self.0.put(api, object).await;
        }
        let (inner, api, late) = (Arc::clone(&self.0), api.clone(), object.clone());
        tokio::spawn(async move {
            tokio::time::sleep(LATE).await;
            // Refused if the object has changed since then: what is late is not to undo what was written after it.
            if let Err(error) = inner.put(&api, late).await {
                tracing::debug!(%error, "the late status came too late");
            }
        });
        Ok(object)
    }
}

/// Gives an object up for good once somebody else has wiped its status.
struct GivesUp(Inner, Mutex<BTreeMap<String, Left>>);

/// What became of a status that was written.
enum Left {
    Standing,
    Wiped,
}

impl StatusWriterSeam for GivesUp {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let uid = live["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let mut known = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&uid) {
            Some(Left::Wiped) => {}
            Some(Left::Standing) if !was_visited(live) => {
                known.insert(uid, Left::Wiped);
            }
            _ => {
                let status = self.0.merge(live, desired, now);
                // A route that names no Gateway of ours has nothing that could be wiped.
                match was_visited(&json!({ "status": status })) {
                    true => known.insert(uid, Left::Standing),
                    false => known.remove(&uid),
                };
                return status;
            }
        }
        live.get("status").cloned().unwrap_or_else(|| json!({}))
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "drops-foreign-conditions",
        summary: "Removes conditions that somebody else put on the object.",
        clauses: &[
            "K8S-11",
            "GEP1364-19",
            "upstream:GatewayPreserveForeignConditions",
            "blind:GatewayPreserveForeignConditions.4",
        ],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, _, status| {
                lists(status).into_iter().for_each(|list| list.retain(|condition| is_own(&condition["type"])));
            })
        }),
    },
    Fault {
        name: "reorders-conditions",
        summary: "Sorts conditions by type, those of others included.",
        clauses: &["K8S-11", "blind:GatewayPreserveForeignConditions.2"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, _, status| {
                for list in lists(status) {
                    list.sort_by_key(|condition| condition["type"].as_str().unwrap_or_default().to_owned());
                }
            })
        }),
    },
    Fault {
        name: "drops-foreign-parents",
        summary: "Removes the entries of other controllers from status.parents.",
        clauses: &["IMPL-20", "IMPL-36", "upstream:HTTPRoutePreserveForeignStatus"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| {
                if let Some(parents) = status.get_mut("parents").and_then(Value::as_array_mut) {
                    parents.retain(|entry| entry["controllerName"] == desired.controller_name.as_str());
                }
            })
        }),
    },
    Fault {
        name: "keeps-parent-entries",
        summary: "Leaves its own entries in status.parents after the parentRef is gone.",
        clauses: &["OWN-13"],
        seam: Seam::StatusWriter(|inner| merge(inner, |live, _, status| keep_entries(live, status, |_| {}))),
    },
    Fault {
        name: "renews-entries-of-former-parents",
        summary: "Goes on saying, of each new spec, that parents which the route no longer names accept it.",
        clauses: &["IMPL-34", "IMPL-20", "blind:Generic.8", "blind:HTTPRouteMultipleGateways.1"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |live, _, status| keep_entries(live, status, |entry| renew(entry, live)))
        }),
    },
    Fault {
        name: "refuses-for-former-parents",
        summary: "Says, of each new spec, that parents which the route no longer names refuse it.",
        clauses: &["IMPL-20", "blind:Generic.8"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |live, _, status| {
                keep_entries(live, status, |entry| {
                    renew(entry, live);
                    let accepted = |one: &&mut Value| one["type"] == "Accepted" && one["status"] != "False";
                    for condition in each(entry, "/conditions").filter(accepted) {
                        condition["status"] = "False".into();
                        condition["reason"] = "NoMatchingParent".into();
                        condition["lastTransitionTime"] =
                            Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
                    }
                });
            })
        }),
    },
    Fault {
        name: "moves-transition-times",
        summary: "Sets lastTransitionTime to the time of every write, whether or not the status changed.",
        clauses: &["K8S-07", "blind:Generic.12", "IMPL-20"],
        seam: Seam::StatusWriter(|inner| Arc::new(MovesTimes(inner))),
    },
    Fault {
        name: "dates-conditions-ahead",
        summary: "Writes a lastTransitionTime on Gateways that is an hour away.",
        clauses: &["K8S-07"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| {
                if desired.kind != Kind::Gateway {
                    return;
                }
                let now = Timestamp::now();
                for condition in lists(status).into_iter().flatten().filter(|condition| is_own(&condition["type"])) {
                    let time = condition["lastTransitionTime"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
                    if let Some(time) = time.filter(|time| *time <= now) {
                        condition["lastTransitionTime"] = (time + SignedDuration::from_hours(1)).to_string().into();
                    }
                }
            })
        }),
    },
    Fault {
        name: "freezes-transition-times",
        summary: "Keeps the first lastTransitionTime of a condition when its status flips.",
        clauses: &["K8S-07"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |live, _, status| {
                let mut before = live.get("status").cloned().unwrap_or_else(|| json!({}));
                if !was_visited(live) {
                    return;
                }
                let (old, new) = (lists(&mut before), lists(status));
                // Entries that came or went leave no list at its place, and those of others are none of its business.
                if old.len() != new.len() {
                    return;
                }
                for (old, new) in old.into_iter().zip(new) {
                    for condition in new {
                        if let Some(same) = old.iter().find(|one| one["type"] == condition["type"]) {
                            condition["lastTransitionTime"] = same["lastTransitionTime"].clone();
                        }
                    }
                }
            })
        }),
    },
    Fault {
        name: "programs-before-accepting",
        summary: "Says Programmed=True on a Gateway while Accepted is still Unknown.",
        clauses: &["IMPL-22"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |live, desired, status| {
                if desired.kind == Kind::Gateway && !was_visited(live) {
                    for condition in each(status, "/conditions").filter(|condition| condition["type"] == "Accepted") {
                        condition["status"] = "Unknown".into();
                        condition["reason"] = "Pending".into();
                    }
                }
            })
        }),
    },
    Fault {
        name: "accepts-before-it-resolves",
        summary: "Writes the first status of a route in two steps, in the first of which only Accepted is there.",
        clauses: &["GEP1364-10", "K8S-09"],
        seam: Seam::StatusWriter(|inner| Arc::new(AcceptsFirst(inner, Mutex::default()))),
    },
    Fault {
        name: "forgets-observed-generation",
        summary: "Publishes no observedGeneration on routes.",
        clauses: &["GEP1364-08", "IMPL-25"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| {
                if matches!(desired.kind, Kind::HttpRoute | Kind::TcpRoute) {
                    for condition in lists(status).into_iter().flatten() {
                        drop_field(condition, "observedGeneration");
                    }
                }
            })
        }),
    },
    Fault {
        name: "never-stops-writing",
        summary: "Rewrites the status of routes over and over although nothing has changed.",
        clauses: &["K8S-15", "GEP1364-54", "GEP1364-60", "K8S-11", "GEP1364-21", "GEP1364-38", "IMPL-20"],
        seam: Seam::StatusWriter(|inner| Arc::new(Restless(inner, Mutex::default()))),
    },
    Fault {
        name: "writes-once",
        summary: "Does not restore a status that somebody else has wiped, not even when the object changes.",
        clauses: &["K8S-13"],
        seam: Seam::StatusWriter(|inner| Arc::new(GivesUp(inner, Mutex::default()))),
    },
    Fault {
        name: "writes-late",
        summary: "Writes that a reference of a TCPRoute does not resolve long after the deadline.",
        clauses: &[
            "upstream:TCPRouteInvalidBackendRefNonexistent",
            "upstream:TCPRouteInvalidCrossNamespaceBackendRef",
            "GEP1364-21",
            "GEP1364-38",
        ],
        seam: Seam::StatusWriter(|inner| Arc::new(Late(inner))),
    },
];
