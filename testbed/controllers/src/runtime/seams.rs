//! The seams of the runtime: each a trait whose one plain implementation is [`Plain`].
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

use crate::{
    reconcile::{Outcome, reconcile},
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

/// How statuses get into the cluster. Every method has the plain behaviour.
#[async_trait]
pub trait StatusWriterSeam: Send + Sync {
    /// Puts the writes of a round in order, or leaves some out.
    fn arrange(&self, _updates: &mut Vec<StatusUpdate>) {}

    /// Works out the status to write; `now` is in RFC 3339 with whole seconds.
    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        status::merge(live, desired, now)
    }

    /// Whether the same desired status over the same object always comes to the same, so that it need not be looked at twice.
    fn is_steady(&self) -> bool {
        false
    }

    /// Whether there is anything to write.
    fn is_needed(&self, live: &Value, status: &Value) -> bool {
        !status::same(live, status)
    }

    /// Waits for what has to come before the write.
    async fn before(&self, _desired: &StatusUpdate) {}

    /// Writes `object`, which is the live one with the new status in it.
    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let name = object.metadata.name.clone().unwrap_or_default();
        api.replace_status(&name, &PostParams::default(), &object).await
    }

    /// Whether to read the object again and retry after somebody else was faster.
    fn retries_conflicts(&self) -> bool {
        true
    }
}

/// The behaviour that the specification asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl SnapshotSeam for Plain {
    fn view(&mut self, snapshot: Snapshot) -> Snapshot {
        snapshot
    }
}

impl StatusesSeam for Plain {
    fn edit(&mut self, _: Seen<'_>, _: &mut Vec<StatusUpdate>) {}
}

impl ConfigSeam for Plain {
    fn edit(&mut self, _: Seen<'_>, _: &mut Config) {}
}

impl StatusWriterSeam for Plain {
    fn is_steady(&self) -> bool {
        true
    }
}

/// The seams of one running implementation.
pub struct Seams {
    /// What the reconciler gets to see.
    pub snapshot: Box<dyn SnapshotSeam>,
    /// What the statuses should say.
    pub statuses: Box<dyn StatusesSeam>,
    /// How statuses get into the cluster.
    pub writer: Arc<dyn StatusWriterSeam>,
    /// What the data plane is told.
    pub config: Box<dyn ConfigSeam>,
}

impl Default for Seams {
    fn default() -> Self {
        Self { snapshot: Box::new(Plain), statuses: Box::new(Plain), writer: Arc::new(Plain), config: Box::new(Plain) }
    }
}
