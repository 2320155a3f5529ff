//! Watches the cluster, and makes Pods, EndpointSlices and statuses what they shall be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::addresses::{Addresses, Place};
use crate::kubelet::{self, KubeletError, Logs};
use crate::pod::Running;
use crate::slices::{self, Backing, MANAGED_BY, MANAGED_BY_LABEL};
use crate::volumes::{Sources, Volumes};
use crate::{NODE, deployment};

/// Who the writes are said to be from.
const MANAGER: &str = "gateproof-workloads";

/// How long after a refused write the next attempt comes, unless something changes before.
const RETRY: Duration = Duration::from_secs(1);

/// Why workloads cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kubelet did not start.
    #[error("cannot start the kubelet of the workloads")]
    Kubelet(#[from] KubeletError),
    /// The node was refused.
    #[error("cannot register the node of the workloads")]
    Node(#[source] Box<kube::Error>),
}

/// The workloads that run. Dropping it stops them at once; [`Workloads::shutdown`] also takes back what was published.
pub struct Workloads {
    client: Client,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Workloads {
    /// Starts to run what the cluster behind `client` asks for. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] if the cluster does not take the node.
    pub async fn start(client: Client, place: Place) -> Result<Workloads, StartError> {
        let stop = CancellationToken::new();
        let (logs, addresses) = (Logs::default(), Addresses::new(place));
        let kubelet = kubelet::start(addresses.host(), logs.clone(), stop.clone()).await?;
        register(&client, kubelet).await.map_err(|error| StartError::Node(Box::new(error)))?;
        let task = tokio::spawn(run(client.clone(), addresses, logs, stop.clone()));
        Ok(Workloads { client, stop, task })
    }

    /// Stops everything, and removes the node, the Pods on it and the EndpointSlices from the cluster.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the workloads ended abnormally");
        }
        if let Err(error) = withdraw(&self.client).await {
            tracing::warn!(%error, "not everything that was published could be removed");
        }
    }
}

impl Drop for Workloads {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Puts the node into the cluster, with the place of its kubelet.
async fn register(client: &Client, kubelet: SocketAddr) -> kube::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = Node {
        metadata: kube::api::ObjectMeta { name: Some(NODE.to_owned()), ..Default::default() },
        ..Default::default()
    };
    tolerate(nodes.create(&PostParams::default(), &node).await, 409)?;
    let now = Timestamp::now().to_string();
    let status = json!({"status": {
        "addresses": [{"type": "InternalIP", "address": kubelet.ip().to_string()}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port()}},
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "Echo images run here",
            "lastTransitionTime": now, "lastHeartbeatTime": now,
        }],
    }});
    nodes.patch_status(NODE, &PatchParams::default(), &Patch::Merge(status)).await.map(drop)
}

async fn withdraw(client: &Client) -> kube::Result<()> {
    let at_once = DeleteParams::default().grace_period(0);
    let on_node = kube::api::ListParams::default().fields(&format!("spec.nodeName={NODE}"));
    for pod in Api::<Pod>::all(client.clone()).list(&on_node).await? {
        let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        tolerate(pods.delete(&pod.name_any(), &at_once).await, 404)?;
    }
    let ours = kube::api::ListParams::default().labels(&format!("{MANAGED_BY_LABEL}={MANAGED_BY}"));
    for slice in Api::<EndpointSlice>::all(client.clone()).list(&ours).await? {
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), &slice.namespace().unwrap_or_default());
        tolerate(slices.delete(&slice.name_any(), &DeleteParams::default()).await, 404)?;
    }
    let nodes: Api<Node> = Api::all(client.clone());
    tolerate(nodes.delete(NODE, &DeleteParams::default()).await, 404)
}

/// An answer of this code is as good as success.
fn tolerate<T>(outcome: kube::Result<T>, code: u16) -> kube::Result<()> {
    match outcome {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == code => Ok(()),
        Err(error) => Err(error),
    }
}

async fn run(client: Client, addresses: Addresses, logs: Logs, stop: CancellationToken) {
    let changed = Arc::new(Notify::new());
    let mut watches = JoinSet::new();
    let on_node = watcher::Config::default().fields(&format!("spec.nodeName={NODE}"));
    let ours = watcher::Config::default().labels(&format!("{MANAGED_BY_LABEL}={MANAGED_BY}"));
    let known = Known {
        deployments: follow(&client, watcher::Config::default(), &changed, &mut watches),
        services: follow(&client, watcher::Config::default(), &changed, &mut watches),
        secrets: follow(&client, watcher::Config::default(), &changed, &mut watches),
        config_maps: follow(&client, watcher::Config::default(), &changed, &mut watches),
        pods: follow(&client, on_node, &changed, &mut watches),
        slices: follow(&client, ours, &changed, &mut watches),
    };
    if stop.run_until_cancelled(known.are_listed()).await.is_none() {
        return;
    }
    let mut node = NodeState { client, addresses, logs, running: BTreeMap::new(), ending: TaskTracker::new() };
    loop {
        let well = node.round(&known).await;
        let retry = async { if well { std::future::pending().await } else { tokio::time::sleep(RETRY).await } };
        tokio::select! {
            () = stop.cancelled() => break,
            () = changed.notified() => {}
            () = retry => {}
        }
    }
    for (_, running) in std::mem::take(&mut node.running) {
        node.ending.spawn(running.stop());
    }
    node.ending.close();
    node.ending.wait().await;
}

/// Follows a kind for ever. Broken connections and compacted versions end in a new list.
fn follow<K>(client: &Client, config: watcher::Config, changed: &Arc<Notify>, watches: &mut JoinSet<()>) -> Store<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + Sync,
    K: 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    let (store, writer) = reflector::store();
    let events = reflector::reflector(writer, watcher(Api::all(client.clone()), config)).default_backoff();
    let changed = changed.clone();
    watches.spawn(async move {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(_) => changed.notify_one(),
                Err(error) => tracing::debug!(kind = %K::kind(&()), %error, "a watch failed and will be tried again"),
            }
        }
    });
    store
}

/// What the cluster says.
struct Known {
    deployments: Store<Deployment>,
    services: Store<Service>,
    secrets: Store<Secret>,
    config_maps: Store<ConfigMap>,
    pods: Store<Pod>,
    slices: Store<EndpointSlice>,
}

impl Known {
    /// Waits until everything was listed once: before that, absence means nothing.
    async fn are_listed(&self) {
        let _ = tokio::join!(
            self.deployments.wait_until_ready(),
            self.services.wait_until_ready(),
            self.secrets.wait_until_ready(),
            self.config_maps.wait_until_ready(),
            self.pods.wait_until_ready(),
            self.slices.wait_until_ready(),
        );
    }
}

impl Sources for Known {
    fn secret(&self, namespace: &str, name: &str) -> Option<Secret> {
        self.secrets.get(&ObjectRef::new(name).within(namespace)).map(Arc::unwrap_or_clone)
    }

    fn config_map(&self, namespace: &str, name: &str) -> Option<ConfigMap> {
        self.config_maps.get(&ObjectRef::new(name).within(namespace)).map(Arc::unwrap_or_clone)
    }
}

/// What runs, by the Pod's UID.
struct NodeState {
    client: Client,
    addresses: Addresses,
    logs: Logs,
    running: BTreeMap<String, Running>,
    ending: TaskTracker,
}

type Key = (String, String);

fn key<K: Resource>(object: &K) -> Key {
    (object.meta().namespace.clone().unwrap_or_default(), object.meta().name.clone().unwrap_or_default())
}

impl NodeState {
    /// Compares what is with what shall be, and acts on the difference. Whether every write was taken.
    async fn round(&mut self, known: &Known) -> bool {
        let deployments: Vec<Arc<Deployment>> =
            known.deployments.state().into_iter().filter(|one| deployment::is_ours(one)).collect();
        let wanted: BTreeMap<Key, Pod> =
            deployments.iter().flat_map(|one| deployment::pods(one)).map(|pod| (key(&pod), pod)).collect();
        let pods = known.pods.state();
        let mut outcome = Outcome(true);

        let stays = |pod: &&Arc<Pod>| pod.metadata.deletion_timestamp.is_none() && wanted.contains_key(&key(&***pod));
        let (staying, going): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = pods.iter().partition(stays);
        self.stop_all_but(&staying);
        for pod in going {
            let parameters = DeleteParams::default().grace_period(0);
            outcome.note(tolerate(self.api::<Pod>(&key(&**pod).0).delete(&pod.name_any(), &parameters).await, 404));
        }
        let there: BTreeSet<Key> = pods.iter().map(|pod| key(&**pod)).collect();
        for (key, pod) in wanted.iter().filter(|(key, _)| !there.contains(*key)) {
            outcome.note(tolerate(self.api::<Pod>(&key.0).create(&PostParams::default(), pod).await, 409));
        }
        for pod in &staying {
            outcome.note(self.keep(pod, known).await);
        }
        outcome.note_all(self.publish(known, &staying).await);
        for deployment in &deployments {
            outcome.note(self.report(deployment, &staying).await);
        }
        outcome.0
    }

    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn stop_all_but(&mut self, staying: &[&Arc<Pod>]) {
        let uids: BTreeSet<&str> = staying.iter().filter_map(|pod| pod.metadata.uid.as_deref()).collect();
        let gone: Vec<String> = self.running.keys().filter(|uid| !uids.contains(uid.as_str())).cloned().collect();
        for running in gone.iter().filter_map(|uid| self.running.remove(uid)) {
            self.addresses.release(running.address);
            self.ending.spawn(running.stop());
        }
        let names: BTreeSet<Key> = staying.iter().map(|pod| key(&***pod)).collect();
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).retain(|pod, _| names.contains(pod));
    }

    /// Sees to it that a Pod runs, and that its status says so. One that lacks a volume waits until it comes.
    async fn keep(&mut self, pod: &Pod, known: &Known) -> kube::Result<()> {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if !self.running.contains_key(&uid) {
            let volumes = match Volumes::of(pod, known) {
                Ok(volumes) => volumes,
                Err(missing) => {
                    tracing::debug!(pod = %pod.name_any(), missing, "a Pod waits for a volume");
                    return Ok(());
                }
            };
            let Some(address) = self.addresses.take() else {
                tracing::warn!(pod = %pod.name_any(), "no address is left for another Pod");
                return Ok(());
            };
            let running = Running::start(pod, &volumes, address, &self.addresses).await;
            self.logs.lock().unwrap_or_else(PoisonError::into_inner).insert(key(pod), running.log.clone());
            self.running.insert(uid.clone(), running);
        }
        let Some(running) = self.running.get(&uid).filter(|running| !running.is_told(pod)) else { return Ok(()) };
        let api = self.api::<Pod>(&key(pod).0);
        let status = Patch::Merge(running.status(pod));
        tolerate(api.patch_status(&pod.name_any(), &PatchParams::default(), &status).await, 404)
    }

    /// Publishes the Pods that are ready under the Services that select them.
    async fn publish(&self, known: &Known, pods: &[&Arc<Pod>]) -> Vec<kube::Result<()>> {
        let ready = pods.iter().filter_map(|pod| {
            let running = self.running.get(pod.metadata.uid.as_deref()?)?;
            running.is_ready().then_some(Backing { pod, address: running.address, bound: &running.bound })
        });
        let ready: Vec<Backing<'_>> = ready.collect();
        let services = known.services.state();
        let living = services.iter().filter(|service| service.metadata.deletion_timestamp.is_none());
        let wanted: BTreeMap<Key, EndpointSlice> =
            living.flat_map(|service| slices::slices(service, &ready)).map(|slice| (key(&slice), slice)).collect();
        let there: BTreeMap<Key, Arc<EndpointSlice>> =
            known.slices.state().into_iter().map(|slice| (key(&*slice), slice)).collect();
        let mut outcomes = Vec::new();
        for (key, slice) in &wanted {
            let same = |there: &Arc<EndpointSlice>| there.endpoints == slice.endpoints && there.ports == slice.ports;
            if !there.get(key).is_some_and(same) {
                let parameters = PatchParams::apply(MANAGER).force();
                outcomes.push(
                    self.api::<EndpointSlice>(&key.0).patch(&key.1, &parameters, &Patch::Apply(slice)).await.map(drop),
                );
            }
        }
        for (namespace, name) in there.keys().filter(|key| !wanted.contains_key(*key)) {
            let api = self.api::<EndpointSlice>(namespace);
            outcomes.push(tolerate(api.delete(name, &DeleteParams::default()).await, 404));
        }
        outcomes
    }

    /// Writes the status of a Deployment, if it is another one.
    async fn report(&self, deployment: &Deployment, pods: &[&Arc<Pod>]) -> kube::Result<()> {
        let is_ready = |pod: &&&Arc<Pod>| {
            let owners = pod.metadata.owner_references.iter().flatten();
            let uid = pod.metadata.uid.as_deref().unwrap_or_default();
            owners.map(|owner| Some(&owner.uid)).any(|uid| uid == deployment.metadata.uid.as_ref())
                && self.running.get(uid).is_some_and(Running::is_ready)
        };
        let ready = i32::try_from(pods.iter().filter(is_ready).count()).unwrap_or(i32::MAX);
        let Some(status) = deployment::status(deployment, ready, &Timestamp::now().to_string()) else { return Ok(()) };
        let api = self.api::<Deployment>(&key(deployment).0);
        let parameters = PatchParams::default();
        tolerate(api.patch_status(&deployment.name_any(), &parameters, &Patch::Merge(status)).await, 404)
    }
}

/// Whether every write of a round was taken.
struct Outcome(bool);

impl Outcome {
    fn note(&mut self, outcome: kube::Result<()>) {
        if let Err(error) = outcome {
            tracing::debug!(%error, "a write was refused and will be tried again");
            self.0 = false;
        }
    }

    fn note_all(&mut self, outcomes: Vec<kube::Result<()>>) {
        for outcome in outcomes {
            self.note(outcome);
        }
    }
}
