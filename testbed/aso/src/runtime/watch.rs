use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

use crate::{
    kinds,
    world::{Key, World},
};

/// One message of a watch.
pub(super) enum Change {
    /// Everything there is of a kind; nothing where the kind is not served.
    All(usize, Vec<DynamicObject>),
    /// An object is there, or another than before.
    Applied(usize, Box<DynamicObject>),
    /// An object is gone.
    Gone(usize, Box<DynamicObject>),
}

/// The watches of everything that matters.
pub(super) struct Watches {
    resources: Vec<ApiResource>,
    synced: Mutex<BTreeSet<usize>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// How a kind is spoken of to the server.
pub(super) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    ApiResource { group: group.into(), version: version.into(), api_version, kind: kind.into(), plural: plural.into() }
}

impl Watches {
    pub(super) fn start(client: &Client, changes: &UnboundedSender<Change>) -> Self {
        let core = [("Namespace", "namespaces"), ("Secret", "secrets"), ("ConfigMap", "configmaps")];
        let core = core.map(|(kind, plural)| resource("", "v1", kind, plural));
        let ours = kinds::ALL.iter().map(|kind| resource(kind.group, kind.version, kind.kind, kind.plural));
        let resources: Vec<_> = core.into_iter().chain(ours).collect();
        let tasks = resources
            .iter()
            .enumerate()
            .map(|(at, resource)| tokio::spawn(watch(at, Api::all_with(client.clone(), resource), changes.clone())));
        let tasks = tasks.collect();
        Self { resources, synced: Mutex::default(), tasks }
    }

    /// Whether everything was listed once.
    pub(super) fn are_synced(&self) -> bool {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner).len() == self.resources.len()
    }

    pub(super) fn absorb(&self, change: Change, world: &mut World) {
        match change {
            Change::All(at, objects) => {
                let Some(of) = self.resources.get(at) else { return };
                world.objects.retain(|key, _| key.group != of.group || key.kind != of.kind);
                objects.into_iter().for_each(|object| put(world, of, object));
                self.synced.lock().unwrap_or_else(PoisonError::into_inner).insert(at);
            }
            Change::Applied(at, object) => {
                if let Some(of) = self.resources.get(at) {
                    put(world, of, *object);
                }
            }
            Change::Gone(at, object) => {
                if let Some(of) = self.resources.get(at) {
                    world.objects.remove(&key(of, &object));
                }
            }
        }
    }
}

fn key(of: &ApiResource, object: &DynamicObject) -> Key {
    let (namespace, name) = (object.metadata.namespace.as_deref(), object.metadata.name.as_deref());
    Key::new(&of.group, &of.kind, namespace.unwrap_or_default(), name.unwrap_or_default())
}

fn put(world: &mut World, of: &ApiResource, object: DynamicObject) {
    let key = key(of, &object);
    if let Ok(object) = serde_json::to_value(object) {
        learn(world, key, object);
    }
}

/// Takes an object in, unless a newer version of it is known.
pub(super) fn learn(world: &mut World, key: Key, object: Value) {
    let version =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok());
    let is_known = world.objects.get(&key).is_some_and(|known| {
        known["metadata"]["uid"] == object["metadata"]["uid"] && version(known) > version(&object)
    });
    if !is_known {
        world.objects.insert(key, Arc::new(object));
    }
}

/// Follows one kind for ever, with increasing pauses between attempts that fail. A kind that is not served has no objects.
async fn watch(at: usize, api: Api<DynamicObject>, changes: UnboundedSender<Change>) {
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
            Ok(watcher::Event::InitDone) => Change::All(at, std::mem::take(&mut listed)),
            Ok(watcher::Event::Apply(object)) => Change::Applied(at, Box::new(object)),
            Ok(watcher::Event::Delete(object)) => Change::Gone(at, Box::new(object)),
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.is_not_found() => {
                Change::All(at, Vec::new())
            }
            Err(error) => {
                tracing::debug!(%error, "a watch failed and will be tried again");
                continue;
            }
        };
        if changes.send(change).is_err() {
            return;
        }
    }
}
