//! The seams of the runtime: each a trait. What sits in one works on what the one before it made, and nothing in it is
//! the plain behaviour; status writers wrap each other, around [`Plain`].
//!
//! Two more lie outside: `gateproof_proxy::Exchange` around every exchange of the data plane, and the list of CRDs that
//! the API server is started with.

use std::sync::Arc;

use async_trait::async_trait;
use gateproof_proxy::Config;
use kube::{
    Api,
    api::{DynamicObject, PostParams},
};
use serde_json::Value;
use tokio::sync::Notify;

use crate::{
    reconcile::{Outcome, infrastructure::Made, reconcile},
    settings::Settings,
    snapshot::Snapshot,
    status::{self, StatusUpdate},
};

/// What a round was worked out from.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The snapshot, as the snapshot seam gave it.
    pub snapshot: &'a Snapshot,
    /// The settings.
    pub settings: &'a Settings,
}

impl Seen<'_> {
    /// What would follow if the cluster looked otherwise.
    pub fn otherwise(&self, change: impl FnOnce(&mut Snapshot)) -> Outcome {
        let mut snapshot = self.snapshot.clone();
        change(&mut snapshot);
        reconcile(&snapshot, self.settings)
    }

    /// What would follow if the implementation did without nothing.
    pub fn lacking_nothing(&self) -> Outcome {
        let settings = Settings { lacks: std::collections::BTreeSet::new(), ..self.settings.clone() };
        reconcile(self.snapshot, &settings)
    }
}

/// What the reconciler gets to see. May keep state from one round to the next.
pub trait SnapshotSeam: Send {
    /// The view of this round.
    fn view(&mut self, snapshot: Snapshot) -> Snapshot;
}

/// What the statuses should say.
pub trait StatusesSeam: Send {
    /// Changes the desired statuses of this round.
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>);
}

/// What the data plane is told.
pub trait ConfigSeam: Send {
    /// Changes the configuration of this round.
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config);
}

/// What is made in the cluster for Gateways.
pub trait ObjectsSeam: Send {
    /// Changes the objects of this round.
    fn edit(&mut self, seen: Seen<'_>, made: &mut Vec<Made>);
}

/// What sits in one seam, in order.
pub type Several<S> = Vec<Box<S>>;

impl SnapshotSeam for Several<dyn SnapshotSeam> {
    fn view(&mut self, snapshot: Snapshot) -> Snapshot {
        self.iter_mut().fold(snapshot, |snapshot, one| one.view(snapshot))
    }
}

impl StatusesSeam for Several<dyn StatusesSeam> {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        self.iter_mut().for_each(|one| one.edit(seen, statuses));
    }
}

impl ConfigSeam for Several<dyn ConfigSeam> {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        self.iter_mut().for_each(|one| one.edit(seen, config));
    }
}

impl ObjectsSeam for Several<dyn ObjectsSeam> {
    fn edit(&mut self, seen: Seen<'_>, made: &mut Vec<Made>) {
        self.iter_mut().for_each(|one| one.edit(seen, made));
    }
}

/// How statuses get into the cluster. Every method is by default that of the writer within.
#[async_trait]
pub trait StatusWriterSeam: Send + Sync {
    /// The writer that this one wraps.
    fn within(&self) -> &dyn StatusWriterSeam;

    /// Puts the writes of a round in order, or leaves some out.
    fn arrange(&self, updates: &mut Vec<StatusUpdate>) {
        self.within().arrange(updates);
    }

    /// Works out the status to write; `now` is in RFC 3339 with whole seconds.
    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        self.within().merge(live, desired, now)
    }

    /// Whether the same desired status over the same object always comes to the same, so that it need not be looked at twice.
    fn is_steady(&self) -> bool {
        false
    }

    /// Whether there is anything to write.
    fn is_needed(&self, live: &Value, status: &Value) -> bool {
        self.within().is_needed(live, status)
    }

    /// Waits for what has to come before the write.
    async fn before(&self, desired: &StatusUpdate) {
        self.within().before(desired).await;
    }

    /// Writes `object`, which is the live one with the new status in it.
    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        self.within().put(api, object).await
    }

    /// Whether to read the object again and retry after somebody else was faster.
    fn retries_conflicts(&self) -> bool {
        self.within().retries_conflicts()
    }
}

/// The writer that does what the specification asks for, and that all others are wrapped around.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

#[async_trait]
impl StatusWriterSeam for Plain {
    fn within(&self) -> &dyn StatusWriterSeam {
        self
    }

    fn arrange(&self, _: &mut Vec<StatusUpdate>) {}

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        status::merge(live, desired, now)
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn is_needed(&self, live: &Value, status: &Value) -> bool {
        !status::same(live, status)
    }

    async fn before(&self, _: &StatusUpdate) {}

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let name = object.metadata.name.clone().unwrap_or_default();
        api.replace_status(&name, &PostParams::default(), &object).await
    }

    fn retries_conflicts(&self) -> bool {
        true
    }
}

/// The seams of one running implementation.
pub struct Seams {
    /// What the reconciler gets to see.
    pub snapshot: Several<dyn SnapshotSeam>,
    /// What the statuses should say.
    pub statuses: Several<dyn StatusesSeam>,
    /// How statuses get into the cluster.
    pub writer: Arc<dyn StatusWriterSeam>,
    /// What the data plane is told.
    pub config: Several<dyn ConfigSeam>,
    /// What is made in the cluster for Gateways.
    pub objects: Several<dyn ObjectsSeam>,
    /// Asks for another round although nothing has changed.
    pub again: Arc<Notify>,
}

impl Default for Seams {
    fn default() -> Self {
        Self {
            snapshot: Vec::new(),
            statuses: Vec::new(),
            writer: Arc::new(Plain),
            config: Vec::new(),
            objects: Vec::new(),
            again: Arc::new(Notify::new()),
        }
    }
}
