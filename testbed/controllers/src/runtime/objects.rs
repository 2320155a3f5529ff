//! Makes in the cluster what is to be there for Gateways, follows their specs, and takes away what it made for one that is none of
//! ours any more. With a Gateway that is deleted goes what names it as its owner. Nobody watches what was made: what others do to
//! it stays until the spec changes, and what somebody else made under the same name is left alone.

use std::{collections::BTreeMap, sync::Arc};

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions},
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
    /// What was tried last, whatever came of it.
    tried: watch::Receiver<Arc<Vec<Made>>>,
    task: JoinHandle<()>,
}

impl Maker {
    pub(super) fn start(client: Client, stop: CancellationToken) -> Self {
        let (wanted, mut latest) = watch::channel(Arc::new(Vec::new()));
        let (tries, tried) = watch::channel(Arc::new(Vec::new()));
        let mut hand = Hand { client, made: BTreeMap::new(), tries };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = hand.serve(&mut latest) => {}
            }
        });
        Self { wanted, tried, task }
    }

    /// Hands over what there should be, and waits until it was tried to make it: whoever reads in a status that a Gateway is
    /// accepted finds what was made for it.
    pub(super) async fn make(&mut self, made: Vec<Made>) {
        if **self.wanted.borrow() == made {
            return;
        }
        let made = Arc::new(made);
        self.wanted.send_replace(Arc::clone(&made));
        // Once nothing is made any more, there is nothing to wait for.
        let _ = self.tried.wait_for(|tried| Arc::ptr_eq(tried, &made)).await;
    }

    /// Waits until it has ended, after its stop was called for.
    pub(super) async fn finish(self) {
        let Self { wanted, task, .. } = self;
        drop(wanted);
        if let Err(error) = task.await {
            tracing::error!(%error, "what makes objects for Gateways ended abnormally");
        }
    }
}

struct Hand {
    client: Client,
    /// What there is, as it was applied last, and its uid, by kind and name.
    made: BTreeMap<(String, ObjectKey), (Value, String)>,
    tries: watch::Sender<Arc<Vec<Made>>>,
}

impl Hand {
    async fn serve(&mut self, latest: &mut watch::Receiver<Arc<Vec<Made>>>) {
        let mut pauses = DefaultBackoff::default();
        while latest.changed().await.is_ok() {
            loop {
                let wanted = Arc::clone(&latest.borrow_and_update());
                let all = self.make_all(&wanted).await;
                self.tries.send_replace(wanted);
                if all {
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
            if self.made.get(&key).is_some_and(|(known, _)| known == object) {
                continue;
            }
            if !self.made.contains_key(&key) && is_anothers(&self.client, object).await {
                let (kind, key) = key;
                tracing::warn!(kind, object = %key, "an object is not made, since somebody else has one of that name");
                continue;
            }
            match put(&self.client, object).await {
                Ok(uid) => drop(self.made.insert(key, (object.clone(), uid))),
                // Most likely its namespace goes, and it would go with that.
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_forbidden() => {
                    let (kind, key) = key;
                    tracing::info!(kind, object = %key, %status, "an object could not be made, and will not be tried again");
                }
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
            let Some((_, uid)) = self.made.get(&(kind.clone(), key.clone())) else { continue };
            let conditions = Preconditions { uid: Some(uid.clone()), resource_version: None };
            let params = DeleteParams::default().preconditions(conditions);
            let deleted = api(&self.client, &kind, &key).delete(&key.name, &params).await;
            match deleted {
                Ok(_) => drop(self.made.remove(&(kind, key))),
                // It is gone, or another one has its name.
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                    self.made.remove(&(kind, key));
                }
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

/// Applies an object as the implementation does. Returns its uid.
pub(crate) async fn put(client: &Client, object: &Value) -> kube::Result<String> {
    let (kind, key) = key(object);
    let params = PatchParams::apply(MANAGER).force();
    let put = api(client, &kind, &key).patch(&key.name, &params, &Patch::Apply(object)).await?;
    Ok(put.metadata.uid.unwrap_or_default())
}

/// Whether there is one of its name that does not belong to the same Gateway.
async fn is_anothers(client: &Client, object: &Value) -> bool {
    let (kind, key) = key(object);
    let owner = object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str);
    let there = api(client, &kind, &key).get_opt(&key.name).await.ok().flatten();
    let owns = |there: DynamicObject| {
        there.metadata.owner_references.unwrap_or_default().iter().any(|of| Some(of.uid.as_str()) == owner)
    };
    there.is_some_and(|there| !owns(there))
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
