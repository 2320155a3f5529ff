//! Makes in the cluster what is to be there for Gateways, keeps it up, and takes away what is left of one that is none of ours
//! any more. With a Gateway that is deleted goes what names it as its owner.

use std::{collections::BTreeMap, sync::Arc};

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
    runtime::watcher::DefaultBackoff,
};
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{reconcile::infrastructure::Made, snapshot::ObjectKey};

/// Who applies them.
const MANAGER: &str = "gateproof-reference";

/// Makes objects, the latest round first: what a newer one replaces is not made any more.
pub(super) struct Maker {
    wanted: watch::Sender<Arc<Vec<Made>>>,
    task: JoinHandle<()>,
}

impl Maker {
    pub(super) fn start(client: Client, stop: CancellationToken) -> Self {
        let (wanted, mut latest) = watch::channel(Arc::new(Vec::new()));
        let mut hand = Hand { client, made: BTreeMap::new() };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = hand.serve(&mut latest) => {}
            }
        });
        Self { wanted, task }
    }

    /// Hands over what there should be.
    pub(super) fn make(&self, made: Vec<Made>) {
        self.wanted.send_if_modified(|known| {
            let changes = **known != made;
            if changes {
                *known = Arc::new(made);
            }
            changes
        });
    }

    /// Waits until it has ended, after its stop was called for.
    pub(super) async fn finish(self) {
        let Self { wanted, task } = self;
        drop(wanted);
        if let Err(error) = task.await {
            tracing::error!(%error, "what makes objects for Gateways ended abnormally");
        }
    }
}

struct Hand {
    client: Client,
    /// What there is, as it was applied last, by kind and name.
    made: BTreeMap<(String, ObjectKey), Value>,
}

impl Hand {
    async fn serve(&mut self, latest: &mut watch::Receiver<Arc<Vec<Made>>>) {
        let mut pauses = DefaultBackoff::default();
        while latest.changed().await.is_ok() {
            loop {
                let wanted = Arc::clone(&latest.borrow_and_update());
                if self.make_all(&wanted).await {
                    pauses = DefaultBackoff::default();
                    break;
                }
                let pause = pauses.next().unwrap_or_default();
                // A newer round is reason enough to try again at once.
                if let Ok(Err(_)) = tokio::time::timeout(pause, latest.changed()).await {
                    return;
                }
            }
        }
    }

    /// Makes what differs. Returns whether everything is as it should be.
    async fn make_all(&mut self, wanted: &[Made]) -> bool {
        let mut all = true;
        for Made { object, .. } in wanted {
            let key = key(object);
            if self.made.get(&key) == Some(object) {
                continue;
            }
            match put(&self.client, object).await {
                Ok(()) => drop(self.made.insert(key, object.clone())),
                // Its namespace goes, and it would go with that.
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_forbidden() => {}
                Err(error) => {
                    let (kind, key) = key;
                    tracing::warn!(kind, object = %key, %error, "an object could not be made and will be tried again");
                    all = false;
                }
            }
        }
        let keep: Vec<_> = wanted.iter().map(|made| key(&made.object)).collect();
        let gone: Vec<_> = self.made.keys().filter(|key| !keep.contains(key)).cloned().collect();
        for (kind, key) in gone {
            let deleted = api(&self.client, &kind, &key).delete(&key.name, &DeleteParams::default()).await;
            match deleted {
                Ok(_) => drop(self.made.remove(&(kind, key))),
                Err(kube::Error::Api(status)) if status.is_not_found() => drop(self.made.remove(&(kind, key))),
                Err(error) => {
                    tracing::warn!(kind, object = %key, %error, "an object could not be deleted and will be tried again");
                    all = false;
                }
            }
        }
        all
    }
}

fn key(object: &Value) -> (String, ObjectKey) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/kind"), ObjectKey::new(text("/metadata/namespace"), text("/metadata/name")))
}

/// Applies an object as the implementation does.
pub(crate) async fn put(client: &Client, object: &Value) -> kube::Result<()> {
    let (kind, key) = key(object);
    let params = PatchParams::apply(MANAGER).force();
    api(client, &kind, &key).patch(&key.name, &params, &Patch::Apply(object)).await.map(drop)
}

/// All of the kinds that are made are Kubernetes' own, of the core group.
fn api(client: &Client, kind: &str, key: &ObjectKey) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    };
    Api::namespaced_with(client.clone(), &key.namespace, &resource)
}
