//! Lists that are full, and lists that have no order.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        writer::{Inner, RESTLESS_PAUSE, keep_entries, merge},
    },
    runtime::seams::StatusWriterSeam,
    status::{DesiredStatus, ENTRIES, StatusUpdate},
};

/// So many listeners it keeps in order.
const LISTENERS: usize = 10;

fn is_own(entry: &Value, desired: &StatusUpdate) -> bool {
    entry["controllerName"] == desired.controller_name.as_str()
}

fn array<'a>(of: &'a Value, pointer: &str) -> &'a [Value] {
    of.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// How many entries too many a route would have with all of ours.
fn surplus(live: &Value, desired: &StatusUpdate) -> usize {
    let DesiredStatus::Route { parents } = &desired.status else { return 0 };
    let foreign = array(live, "/status/parents").iter().filter(|entry| !is_own(entry, desired)).count();
    (foreign + parents.len()).saturating_sub(ENTRIES)
}

/// Has room for all of its entries, in place of the first ones of others.
struct MakesRoom(Inner);

impl StatusWriterSeam for MakesRoom {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let (mut roomy, mut surplus) = (live.clone(), surplus(live, desired));
        if let Some(entries) = roomy.pointer_mut("/status/parents").and_then(Value::as_array_mut) {
            entries.retain(|entry| {
                let goes = surplus > 0 && !is_own(entry, desired);
                surplus -= usize::from(goes);
                !goes
            });
        }
        self.0.merge(&roomy, desired, now)
    }
}

/// Adds entries for new parents before it takes those for former ones out.
fn add_first(live: &Value, desired: &StatusUpdate, status: &mut Value) {
    let before = array(live, "/status/parents");
    let is_known = |entry: &Value| before.iter().any(|one| one["parentRef"] == entry["parentRef"]);
    if array(status, "/parents").iter().any(|entry| is_own(entry, desired) && !is_known(entry)) {
        keep_entries(live, status, |_| {});
    }
}

/// Writes the entries of many listeners in another order each time.
struct Turns(Inner);

fn has_many(desired: &StatusUpdate) -> bool {
    matches!(&desired.status, DesiredStatus::Gateway { listeners, .. } if listeners.len() > LISTENERS)
}

#[async_trait]
impl StatusWriterSeam for Turns {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut status = self.0.merge(live, desired, now);
        let first = array(live, "/status/listeners").first().map(|listener| &listener["name"]);
        if let Some(listeners) = status["listeners"].as_array_mut().filter(|_| has_many(desired)) {
            let at = listeners.iter().position(|listener| Some(&listener["name"]) == first);
            let turn = at.map_or(0, |at| (at + 1) % listeners.len());
            listeners.rotate_left(turn);
        }
        status
    }

    async fn before(&self, desired: &StatusUpdate) {
        self.0.before(desired).await;
        if has_many(desired) {
            tokio::time::sleep(RESTLESS_PAUSE).await;
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "writes-no-status-without-room",
            summary: "Writes nothing of a route whose list of entries has no room for one of ours.",
            clauses: &["GEP1364-08"],
            seam: Seam::StatusWriter(|inner| {
                merge(inner, |live, desired, status| {
                    if surplus(live, desired) > 0 {
                        *status = live["status"].clone();
                    }
                })
            }),
        },
        reported: &["envoyproxy/gateway#8413", "envoyproxy/gateway#8516"],
    },
    Bug {
        fault: Fault {
            name: "makes-room-among-entries-of-others",
            summary: "Drops entries of other controllers where they leave no room for one of ours.",
            clauses: &["IMPL-20"],
            seam: Seam::StatusWriter(|inner| Arc::new(MakesRoom(inner))),
        },
        reported: &["envoyproxy/gateway#8413"],
    },
    Bug {
        fault: Fault {
            name: "adds-entries-before-it-removes-others",
            summary: "Adds the entries for new parents of a route beside those for former ones, for which a list of 32 may have no room.",
            clauses: &["IMPL-35"],
            seam: Seam::StatusWriter(|inner| merge(inner, add_first)),
        },
        reported: &["envoyproxy/gateway#8516"],
    },
    Bug {
        fault: Fault {
            name: "turns-many-listeners",
            summary: "Writes the entries of more than ten listeners in another order each time, without end.",
            clauses: &["K8S-15"],
            seam: Seam::StatusWriter(|inner| Arc::new(Turns(inner))),
        },
        reported: &["Kong/kubernetes-ingress-controller#7111", "Kong/kubernetes-ingress-controller#7031"],
    },
];
