//! Watches that keep a snapshot of every kind.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::object::{Kind, Snapshot};

/// What a watch saw.
pub struct Change<K>(K, Event);

enum Event {
    All(Vec<DynamicObject>),
    Applied(Box<DynamicObject>),
    Gone(Box<DynamicObject>),
}

/// Watches over every kind, and what they have seen. Dropping it ends them.
pub struct Watches<K> {
    changes: mpsc::UnboundedReceiver<Change<K>>,
    snapshot: Snapshot<K>,
    listed: BTreeSet<K>,
    _tasks: JoinSet<()>,
}

impl<K: Kind> Watches<K> {
    /// Starts them. Must run within a Tokio runtime.
    #[must_use]
    pub fn start(client: &Client) -> Watches<K> {
        let (sender, changes) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for kind in K::ALL {
            tasks.spawn(follow(*kind, client.clone(), sender.clone()));
        }
        Watches { changes, snapshot: Snapshot::default(), listed: BTreeSet::new(), _tasks: tasks }
    }

    /// Waits until something has changed, and takes in all that has. Nothing is returned once the watches are over. May be
    /// dropped while it waits: nothing is lost.
    pub async fn changed(&mut self) -> Option<()> {
        let first = self.changes.recv().await?;
        self.absorb(first);
        while let Ok(change) = self.changes.try_recv() {
            self.absorb(change);
        }
        Some(())
    }

    /// What is known, once every kind has been listed.
    #[must_use]
    pub fn known(&self) -> Option<&Snapshot<K>> {
        (self.listed.len() == K::ALL.len()).then_some(&self.snapshot)
    }

    fn absorb(&mut self, Change(kind, event): Change<K>) {
        match event {
            Event::All(objects) => {
                self.snapshot.objects.retain(|key, _| key.0 != kind);
                for object in objects {
                    self.put(kind, object);
                }
                self.listed.insert(kind);
            }
            Event::Applied(object) => self.put(kind, *object),
            Event::Gone(object) => {
                let metadata = object.metadata;
                let key = (kind, metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default());
                self.snapshot.objects.remove(&key);
            }
        }
    }

    fn put(&mut self, kind: K, object: DynamicObject) {
        match serde_json::to_value(object) {
            Ok(object) => self.snapshot.put(kind, object),
            Err(error) => tracing::warn!(kind = kind.name(), %error, "an object cannot be read"),
        }
    }
}

async fn follow<K: Kind>(kind: K, client: Client, changes: mpsc::UnboundedSender<Change<K>>) {
    let api: Api<DynamicObject> = Api::all_with(client, &kind.resource());
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.push(object);
                continue;
            }
            Ok(watcher::Event::InitDone) => Event::All(std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => Event::Applied(Box::new(object)),
            Ok(watcher::Event::Delete(object)) => Event::Gone(Box::new(object)),
            Err(error) => {
                tracing::debug!(kind = kind.name(), %error, "a watch failed and will be tried again");
                continue;
            }
        };
        if changes.send(Change(kind, event)).is_err() {
            return;
        }
    }
}
