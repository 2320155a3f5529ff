use std::collections::BTreeMap;

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

use super::{
    kinds,
    store::{Change, Store, key},
};
use crate::snapshot::Kind;

/// The watches that run: one for each kind that the cluster has.
pub(super) struct Watches {
    client: Client,
    changes: UnboundedSender<Change>,
    running: BTreeMap<Kind, Running>,
}

struct Running {
    resource: ApiResource,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watches {
    /// Starts with the kinds that every cluster has.
    pub(super) fn new(client: Client, changes: UnboundedSender<Change>) -> Self {
        let mut watches = Self { client, changes, running: BTreeMap::new() };
        watches.follow(&Store::default());
        watches
    }

    /// Starts watching what has appeared and stops what is gone or served in another version now. Returns the kinds
    /// that were stopped, of which nothing is known any more.
    pub(super) fn follow(&mut self, store: &Store) -> Vec<Kind> {
        let wanted: BTreeMap<Kind, ApiResource> = kinds::available(store.known()).into_iter().collect();
        let stopped: Vec<Kind> = self
            .running
            .iter()
            .filter(|(kind, running)| wanted.get(kind) != Some(&running.resource))
            .map(|(kind, _)| *kind)
            .collect();
        self.running.retain(|kind, _| !stopped.contains(kind));
        for (kind, resource) in wanted {
            self.running.entry(kind).or_insert_with(|| {
                let api = Api::all_with(self.client.clone(), &resource);
                let task = tokio::spawn(watch(kind, api, self.changes.clone()));
                Running { resource, task }
            });
        }
        stopped
    }

    /// Whether everything that is watched was listed: before that, absence means nothing.
    pub(super) fn are_synced(&self, store: &Store) -> bool {
        self.running.keys().all(|kind| store.is_synced(*kind))
    }

    /// How a kind is spoken of to the server.
    pub(super) fn resource(&self, kind: Kind) -> Option<&ApiResource> {
        self.running.get(&kind).map(|running| &running.resource)
    }
}

/// Follows one kind for ever. Broken connections, compacted versions and errors of the server end in a new list, with
/// increasing pauses between attempts that fail.
async fn watch(kind: Kind, api: Api<DynamicObject>, changes: UnboundedSender<Change>) {
    let events = watcher(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let change = match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.push(object);
                continue;
            }
            Ok(watcher::Event::InitDone) => Change::All(kind, std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => Change::Applied(kind, Box::new(object)),
            Ok(watcher::Event::Delete(object)) => Change::Gone(kind, key(&object)),
            Err(error) => {
                tracing::debug!(kind = kind.name(), %error, "a watch failed and will be tried again");
                continue;
            }
        };
        if changes.send(change).is_err() {
            return;
        }
    }
}
