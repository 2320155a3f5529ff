//! Watches the cluster, works out what should be, and brings it about: the gate first, then objects, then statuses, so that
//! no status claims what is not in force.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, DefaultBackoff};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::behaviour::{Behaviour, Seams};
use crate::components::Components;
use crate::object::{Dependency, Key, Kind, Snapshot, name, namespace, text};
use crate::reconcile::{MANAGED, Outcome};
use crate::settings::Settings;
use crate::status::StatusUpdate;

/// How often a write is tried again because somebody else was faster.
const CONFLICTS: usize = 8;

/// Between two rounds of what does not rest.
const RESTLESS: Duration = Duration::from_millis(100);

/// Why the implementation did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A service that takes scripts cannot listen.
    #[error("cannot listen for scripts")]
    Control(#[from] std::io::Error),
    /// The cluster does not say which kinds it serves, or takes no namespace.
    #[error("cannot talk to the cluster")]
    Cluster(#[from] Box<kube::Error>),
}

/// The implementation while it runs. Dropping it stops it at once.
pub(crate) struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts it. What it is `without` it does not see, as if no definitions of that were there. Which others there are is looked up
    /// now and not again.
    ///
    /// # Errors
    /// The cluster does not say which kinds it serves.
    pub(crate) async fn start(
        client: Client,
        settings: Settings,
        behaviour: &Behaviour,
        told: watch::Receiver<Components>,
        without: &BTreeSet<Dependency>,
        stop: CancellationToken,
    ) -> kube::Result<Running> {
        let mut served = served(&client).await?;
        served.retain(|kind| !without.iter().any(|dependency| dependency.kinds().contains(kind)));
        let is_missing =
            |one: &Dependency| without.contains(one) || !one.kinds().iter().all(|kind| served.contains(kind));
        let missing = Dependency::ALL.into_iter().filter(is_missing).collect();
        let known = Known { snapshot: Snapshot { missing, ..Snapshot::default() }, listed: BTreeSet::new() };
        let mut seams = behaviour.seams();
        settings.gate.alter(std::mem::take(&mut seams.alters));
        let hand = Hand { client, settings, seams };
        let task = tokio::spawn(run(hand, known, served, told, stop.clone()));
        Ok(Running { stop, task: Some(task) })
    }

    /// Stops watching and writing. The gate keeps what it has.
    pub(crate) async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the policies' implementation ended abnormally");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Has the namespace of the Kuadrant object there.
///
/// # Errors
/// The cluster does not take it.
pub(crate) async fn keep_home(client: &Client, settings: &Settings) -> kube::Result<()> {
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace}});
    let of = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Namespace"), "namespaces");
    create(&Api::all_with(client.clone(), &of), &home).await
}

fn resource(kind: Kind) -> ApiResource {
    let (name, group, version, plural) = kind.parts();
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, name), plural)
}

/// The kinds that the cluster serves.
async fn served(client: &Client) -> kube::Result<BTreeSet<Kind>> {
    let definition = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&definition, "customresourcedefinitions"));
    let definitions = api.list(&ListParams::default()).await?;
    let serves = |kind: &&Kind| {
        let (_, group, version, plural) = kind.parts();
        group.is_empty()
            || definitions.iter().any(|one| {
                let spec = &one.data["spec"];
                spec["group"] == group
                    && spec["names"]["plural"] == plural
                    && crate::object::items(spec, "/versions")
                        .any(|known| known["name"] == version && known["served"] == true)
            })
    };
    Ok(Kind::ALL.iter().filter(serves).copied().collect())
}

enum Change {
    All(Kind, Vec<DynamicObject>),
    Applied(Kind, Box<DynamicObject>),
    Gone(Kind, Box<DynamicObject>),
}

async fn follow(kind: Kind, client: Client, changes: mpsc::UnboundedSender<Change>) {
    let api: Api<DynamicObject> = Api::all_with(client, &resource(kind));
    let mut events = watcher::watcher(api, watcher::Config::default()).default_backoff().boxed();
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
            Ok(watcher::Event::Delete(object)) => Change::Gone(kind, Box::new(object)),
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

struct Known {
    snapshot: Snapshot,
    listed: BTreeSet<Kind>,
}

impl Known {
    fn put(&mut self, kind: Kind, object: DynamicObject) {
        match serde_json::to_value(object) {
            Ok(object) => self.snapshot.put(kind, object),
            Err(error) => tracing::warn!(kind = kind.name(), %error, "an object cannot be read"),
        }
    }

    fn absorb(&mut self, change: Change) {
        match change {
            Change::All(kind, objects) => {
                self.snapshot.objects.retain(|key, _| key.0 != kind);
                for object in objects {
                    self.put(kind, object);
                }
                self.listed.insert(kind);
            }
            Change::Applied(kind, object) => self.put(kind, *object),
            Change::Gone(kind, object) => {
                let metadata = object.metadata;
                let key = (kind, metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default());
                self.snapshot.objects.remove(&key);
            }
        }
    }
}

async fn run(
    mut hand: Hand,
    mut known: Known,
    served: BTreeSet<Kind>,
    mut components: watch::Receiver<Components>,
    stop: CancellationToken,
) {
    let (changes, mut changed) = mpsc::unbounded_channel();
    let mut watches = JoinSet::new();
    for kind in &served {
        watches.spawn(follow(*kind, hand.client.clone(), changes.clone()));
    }
    let mut pauses = DefaultBackoff::default();
    let mut pause: Option<Duration> = None;
    loop {
        let retry = async {
            match pause.or(hand.seams.restless.then_some(RESTLESS)) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            () = retry => {}
            told = components.changed() => if told.is_err() { break },
            change = changed.recv() => match change {
                Some(change) => known.absorb(change),
                None => break,
            },
        }
        while let Ok(change) = changed.try_recv() {
            known.absorb(change);
        }
        if known.listed.len() < served.len() {
            continue;
        }
        known.snapshot.components = components.borrow_and_update().clone();
        let acting = hand.act(&known.snapshot);
        let done = tokio::select! {
            () = stop.cancelled() => break,
            done = acting => done,
        };
        pause = match done {
            Ok(()) => {
                pauses = DefaultBackoff::default();
                None
            }
            Err(error) => {
                tracing::warn!(%error, "what should be could not be brought about and will be tried again");
                Some(pauses.next().unwrap_or_default())
            }
        };
    }
}

struct Hand {
    client: Client,
    settings: Settings,
    seams: Seams,
}

impl Hand {
    fn api(&self, key: &Key) -> Api<DynamicObject> {
        if key.1.is_empty() {
            Api::all_with(self.client.clone(), &resource(key.0))
        } else {
            Api::namespaced_with(self.client.clone(), &key.1, &resource(key.0))
        }
    }

    async fn act(&mut self, known: &Snapshot) -> kube::Result<()> {
        let Outcome { statuses, children, gate } = self.seams.round(known.clone(), &self.settings);
        self.settings.gate.apply(gate);
        self.keep(known, &children).await?;
        let mut failure = Ok(());
        for update in statuses {
            if let Some(live) = known.get(update.key.0, &update.key.1, &update.key.2)
                && let Err(error) = self.write(&update, live).await
            {
                failure = Err(error);
            }
        }
        failure
    }

    /// Creates and mends the objects that are kept, and takes away those that are not any more.
    async fn keep(&self, known: &Snapshot, children: &[Value]) -> kube::Result<()> {
        let mut wanted: BTreeMap<Key, &Value> = BTreeMap::new();
        for child in children {
            if let Some(kind) = Kind::find(text(child, "/kind")) {
                wanted.insert((kind, namespace(child).to_owned(), name(child).to_owned()), child);
            }
        }
        for (key, child) in &wanted {
            let api = self.api(key);
            match known.get(key.0, &key.1, &key.2) {
                None => kept(create(&api, child).await, key)?,
                // The host of a record is for its life: another host makes another record, in the next round.
                Some(live) if key.0 == Kind::DnsRecord && live["spec"]["rootHost"] != child["spec"]["rootHost"] => {
                    passing(api.delete(&key.2, &DeleteParams::default()).await.map(drop))?;
                }
                // The Kuadrant object is the user's once it is there.
                Some(live) if live["spec"] != child["spec"] && key.0 != Kind::Kuadrant => {
                    let mut object = live.clone();
                    object["apiVersion"] = child["apiVersion"].clone();
                    object["kind"] = child["kind"].clone();
                    object["spec"] = child["spec"].clone();
                    let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
                    kept(passing(api.replace(&key.2, &PostParams::default(), &object).await.map(drop)), key)?;
                }
                Some(_) => {}
            }
        }
        for (key, object) in &known.objects {
            if object["metadata"]["labels"][MANAGED] == "true" && !wanted.contains_key(key) {
                passing(self.api(key).delete(&key.2, &DeleteParams::default()).await.map(drop))?;
            }
        }
        Ok(())
    }

    async fn write(&mut self, update: &StatusUpdate, live: &Value) -> kube::Result<()> {
        let api = self.api(&update.key);
        let mut live = live.clone();
        for _ in 0..CONFLICTS {
            live["kind"] = update.key.0.name().into();
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let status = self.seams.written(update.key.0.name(), &live, &update.change, &now);
            if live.get("status").unwrap_or(&json!({})) == &status {
                return Ok(());
            }
            let mut object = live.clone();
            object["apiVersion"] = update.key.0.api_version().into();
            object["status"] = status;
            let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
            match api.replace_status(&update.key.2, &PostParams::default(), &object).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_conflict() => {
                    let Some(object) = api.get_opt(&update.key.2).await? else { return Ok(()) };
                    let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
                    // Another spec is another round's business.
                    if object["metadata"]["generation"] != live["metadata"]["generation"]
                        || object["metadata"]["uid"] != live["metadata"]["uid"]
                    {
                        return Ok(());
                    }
                    live = object;
                }
                Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

async fn create(api: &Api<DynamicObject>, object: &Value) -> kube::Result<()> {
    let object = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    passing(api.create(&PostParams::default(), &object).await.map(drop))
}

/// What a policy may say and the definition of an object made from it does not allow is not kept: the policy goes on waiting for it,
/// and nobody else does.
fn kept(outcome: kube::Result<()>, key: &Key) -> kube::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.is_invalid() => {
            tracing::warn!(kind = key.0.name(), namespace = key.1, name = key.2, %status, "not admitted");
            Ok(())
        }
        other => other,
    }
}

/// What somebody else was faster with is looked at again in the next round, which their change brings.
fn passing(outcome: kube::Result<()>) -> kube::Result<()> {
    match outcome {
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() || status.code == 409 => Ok(()),
        other => other,
    }
}
