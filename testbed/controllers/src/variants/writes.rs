//! Statuses that get into the cluster in another way.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::BitOr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{Place, Variant};
use crate::{
    runtime::seams::{Seams, StatusWriterSeam},
    settings::CONTROLLER_NAME,
    status::{DesiredStatus, StatusUpdate},
};

/// How long after it is known a late status is written.
const PAUSE: Duration = Duration::from_millis(200);

/// The statuses that come before one, or none.
type Before = fn(&Value) -> Vec<Value>;

/// Writes the first status of an object that others can come before in several steps.
struct Gradual {
    before: Before,
    inner: Arc<dyn StatusWriterSeam>,
    /// UIDs of the objects that have been through them.
    begun: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl StatusWriterSeam for Gradual {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.inner
    }

    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }

    async fn put(&self, api: &Api<DynamicObject>, mut object: DynamicObject) -> kube::Result<DynamicObject> {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let before = (self.before)(&object.data["status"]);
        if !before.is_empty() && self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(uid) {
            for status in before {
                let mut earlier = object.clone();
                earlier.data["status"] = status;
                object.metadata.resource_version = self.inner.put(api, earlier).await?.metadata.resource_version;
            }
        }
        self.inner.put(api, object).await
    }
}

/// The status in which these conditions are not known yet, if any of them is known.
fn without(status: &Value, open: &[&str]) -> Vec<Value> {
    let mut first = status.clone();
    if leave_open(&mut first, open) { vec![first] } else { Vec::new() }
}

/// Says of these conditions that they are not known yet, wherever they are not. Returns whether there are any.
fn leave_open(status: &mut Value, open: &[&str]) -> bool {
    match status {
        Value::Array(items) => items.iter_mut().map(|item| leave_open(item, open)).fold(false, BitOr::bitor),
        Value::Object(fields) if fields.get("type").and_then(Value::as_str).is_some_and(|of| open.contains(&of)) => {
            let is_known = fields.get("status").is_some_and(|status| status != "Unknown");
            if is_known {
                for (name, value) in
                    [("status", "Unknown"), ("reason", "Pending"), ("message", "Waiting for more to be known")]
                {
                    fields.insert(name.to_owned(), value.into());
                }
            }
            is_known
        }
        Value::Object(fields) => fields.values_mut().map(|field| leave_open(field, open)).fold(false, BitOr::bitor),
        _ => false,
    }
}

/// The statuses of a route with one entry of our own less each, the least first.
fn entry_by_entry(status: &Value) -> Vec<Value> {
    let own = array(&status["parents"]).filter(|entry| is_own(entry)).count();
    let some = |left_out| {
        let mut some = status.clone();
        leave_out(&mut some["parents"], left_out);
        some
    };
    (1..own).rev().map(some).collect()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_own(entry: &Value) -> bool {
    entry["controllerName"] == CONTROLLER_NAME
}

/// Takes the last few entries of our own away.
fn leave_out(entries: &mut Value, mut count: usize) {
    let Some(entries) = entries.as_array_mut() else { return };
    while let Some(last) = entries.iter().rposition(is_own).filter(|_| count > 0) {
        entries.remove(last);
        count -= 1;
    }
}

/// Writes every status a while after it is known.
struct Late(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for Late {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }

    async fn before(&self, desired: &StatusUpdate) {
        tokio::time::sleep(PAUSE).await;
        self.0.before(desired).await;
    }
}

/// Writes what is about routes first.
struct RoutesFirst(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for RoutesFirst {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }

    fn arrange(&self, updates: &mut Vec<StatusUpdate>) {
        self.0.arrange(updates);
        updates.sort_by_key(|update| !matches!(update.status, DesiredStatus::Route { .. }));
    }
}

/// Patches statuses instead of putting them in place of what is there.
struct Patches(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for Patches {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let name = object.metadata.name.clone().unwrap_or_default();
        let version = &object.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "status": object.data["status"]});
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch)).await
    }
}

/// Writes everything twice.
struct Twice(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for Twice {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let written = self.0.put(api, object).await?;
        self.0.put(api, written).await
    }
}

/// Writes in the opposite order.
struct Backwards(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for Backwards {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }

    fn arrange(&self, updates: &mut Vec<StatusUpdate>) {
        self.0.arrange(updates);
        updates.reverse();
    }
}

/// The annotation of a controller that notes whom it serves.
const SERVED: &str = "reference.gateproof.dev/served";

/// Puts an annotation of its own on what it writes the status of.
struct Annotates(Arc<dyn StatusWriterSeam>);

#[async_trait]
impl StatusWriterSeam for Annotates {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_steady(&self) -> bool {
        self.0.is_steady()
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let is_new = object.metadata.annotations.as_ref().is_none_or(|all| !all.contains_key(SERVED));
        let written = self.0.put(api, object).await?;
        if is_new && let Some(name) = &written.metadata.name {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {SERVED: "true"}}}));
            return api.patch(name, &PatchParams::default(), &patch).await;
        }
        Ok(written)
    }
}

/// Puts a wiped status back only once the object itself changes.
struct Patient {
    inner: Arc<dyn StatusWriterSeam>,
    /// The generation of each object, by UID, for which a status was written.
    written: Mutex<BTreeMap<String, i64>>,
}

impl StatusWriterSeam for Patient {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.inner
    }

    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
        let generation = live["metadata"]["generation"].as_i64().unwrap_or_default();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.get(uid) == Some(&generation) && !is_written(&live["status"]) {
            return live["status"].clone();
        }
        let status = self.inner.merge(live, desired, now);
        if is_written(&status) {
            written.insert(uid.to_owned(), generation);
        } else {
            written.remove(uid);
        }
        status
    }
}

/// Whether a controller has said anything in a status: defaults of the definitions observe no generation.
fn is_written(status: &Value) -> bool {
    match status {
        Value::Array(items) => items.iter().any(is_written),
        Value::Object(fields) => fields.contains_key("observedGeneration") || fields.values().any(is_written),
        _ => false,
    }
}

fn gradual(seams: &mut Seams, before: Before) {
    seams.writer = Arc::new(Gradual { before, inner: Arc::clone(&seams.writer), begun: Mutex::default() });
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "writes-programmed-second",
        summary: "Writes the first status of a Gateway in two steps, in the first of which Programmed is Unknown.",
        source: "GEP-1364 (GEP1364-58) and the implementer's guide (IMPL-22): Programmed is Unknown while too little is \
                 known, and comes after Accepted.",
        place: Place::Runtime(|seams| gradual(seams, |status| without(status, &["Programmed"]))),
    },
    Variant {
        name: "writes-unknown-first",
        summary: "Writes the first status of every object in two steps, in the first of which no condition that is always \
                  there is known.",
        source: "GEP-1364 (GEP1364-58): a condition is Unknown, with the reason Pending, while too little is known.",
        place: Place::Runtime(|seams| {
            gradual(seams, |status| without(status, &["Accepted", "Programmed", "ResolvedRefs"]));
        }),
    },
    Variant {
        name: "writes-parents-one-by-one",
        summary: "Writes the first status of a route with several parents in several steps, each with one entry more.",
        source: "RouteStatus.parents: the controller that manages a parent must add its entry when it first sees the route; \
                 nothing says that those of several parents come at once.",
        place: Place::Runtime(|seams| gradual(seams, entry_by_entry)),
    },
    Variant {
        name: "restores-with-the-next-change",
        summary: "Puts a wiped status back only once the object itself changes.",
        source: "Kubernetes API conventions (K8S-13): status is to be reconstructable, and nothing says when.",
        place: Place::Runtime(|seams| {
            seams.writer = Arc::new(Patient { inner: Arc::clone(&seams.writer), written: Mutex::default() });
        }),
    },
    Variant {
        name: "writes-statuses-late",
        summary: "Writes every status a fifth of a second after it is known, when the data plane has long had the change.",
        source: "Nothing in the specification orders what the data plane does before what the status says.",
        place: Place::Runtime(|seams| seams.writer = Arc::new(Late(Arc::clone(&seams.writer)))),
    },
    Variant {
        name: "writes-routes-first",
        summary: "Writes the statuses of routes before those of their Gateways.",
        source: "Nothing in the specification orders the statuses of several objects.",
        place: Place::Runtime(|seams| seams.writer = Arc::new(RoutesFirst(Arc::clone(&seams.writer)))),
    },
    Variant {
        name: "writes-backwards",
        summary: "Writes the statuses of a round in the opposite order.",
        source: "Nothing in the specification orders the statuses of several objects.",
        place: Place::Runtime(|seams| seams.writer = Arc::new(Backwards(Arc::clone(&seams.writer)))),
    },
    Variant {
        name: "annotates-objects",
        summary: "Puts an annotation of its own on every object that it writes the status of.",
        source: "Kubernetes API concepts: annotations are for tools to keep what they know of an object.",
        place: Place::Runtime(|seams| seams.writer = Arc::new(Annotates(Arc::clone(&seams.writer)))),
    },
    Variant {
        name: "patches-statuses",
        summary: "Writes statuses by merge patch instead of PUT.",
        source: "Kubernetes API concepts: the subresource status takes either.",
        place: Place::Runtime(|seams| seams.writer = Arc::new(Patches(Arc::clone(&seams.writer)))),
    },
    Variant {
        name: "writes-everything-twice",
        summary: "Writes every status a second time as it is.",
        source: "Kubernetes API concepts: a write that changes nothing makes no new version.",
        place: Place::Runtime(|seams| seams.writer = Arc::new(Twice(Arc::clone(&seams.writer)))),
    },
];
