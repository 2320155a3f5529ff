use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, stream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::watcher::DefaultBackoff,
};
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{Watches, seams::StatusWriterSeam};
use crate::{
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate},
};

/// How many writes may be under way at once.
const PARALLEL: usize = 16;

/// How often a write is tried again because somebody else was faster, before its turn comes again later.
const CONFLICTS: usize = 8;

/// The statuses that follow from one round, with what they are written over.
#[derive(Clone, Default)]
pub(super) struct Batch {
    updates: Vec<StatusUpdate>,
    targets: BTreeMap<(Kind, ObjectKey), Target>,
}

#[derive(Clone)]
struct Target {
    resource: ApiResource,
    live: Arc<Value>,
}

impl Batch {
    /// Looks up what each update is written over.
    pub(super) fn new(updates: Vec<StatusUpdate>, seen: &Snapshot, watches: &Watches) -> Self {
        let target = |update: &StatusUpdate| {
            let live = Arc::clone(&seen.get(update.kind, &update.key.namespace, &update.key.name)?.raw);
            let resource = watches.resource(update.kind)?.clone();
            Some(((update.kind, update.key.clone()), Target { resource, live }))
        };
        let targets = updates.iter().filter_map(target).collect();
        Self { updates, targets }
    }
}

/// Writes statuses, the latest batch first: what a newer one replaces is not written any more.
pub(super) struct Writer {
    batches: watch::Sender<Arc<Batch>>,
    task: JoinHandle<()>,
}

impl Writer {
    pub(super) fn start(client: Client, seam: Arc<dyn StatusWriterSeam>, stop: CancellationToken) -> Self {
        let (batches, mut latest) = watch::channel(Arc::new(Batch::default()));
        let hand = Hand { client, seam, written: Mutex::default(), settled: Mutex::default() };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = hand.serve(&mut latest) => {}
            }
        });
        Self { batches, task }
    }

    /// Hands a batch over, in place of one not begun yet.
    pub(super) fn write(&self, batch: Batch) {
        self.batches.send_replace(Arc::new(batch));
    }

    /// Waits until the writer has ended, after its stop was called for.
    pub(super) async fn finish(self) {
        let Self { batches, task } = self;
        drop(batches);
        if let Err(error) = task.await {
            tracing::error!(%error, "the status writer ended abnormally");
        }
    }
}

/// Something of each object.
type ByObject<T> = BTreeMap<(Kind, ObjectKey), T>;

struct Hand {
    client: Client,
    seam: Arc<dyn StatusWriterSeam>,
    /// What the server answered to the last writes: newer than what the watches may have brought so far.
    written: Mutex<ByObject<Arc<Value>>>,
    /// What needed no write, with the object that said it already.
    settled: Mutex<ByObject<(Arc<Value>, DesiredStatus)>>,
}

impl Hand {
    async fn serve(&self, latest: &mut watch::Receiver<Arc<Batch>>) {
        let mut pauses = DefaultBackoff::default();
        while latest.changed().await.is_ok() {
            loop {
                let batch = Arc::clone(&latest.borrow_and_update());
                if self.write_all(&batch).await {
                    pauses = DefaultBackoff::default();
                    break;
                }
                let pause = pauses.next().unwrap_or_default();
                // A newer batch is reason enough to try again at once.
                if let Ok(Err(_)) = tokio::time::timeout(pause, latest.changed()).await {
                    return;
                }
            }
        }
    }

    /// Writes what differs. Returns whether everything is written.
    async fn write_all(&self, batch: &Batch) -> bool {
        self.written().retain(|key, _| batch.targets.contains_key(key));
        self.settled().retain(|key, _| batch.targets.contains_key(key));
        let mut updates = batch.updates.clone();
        self.seam.arrange(&mut updates);
        let writes = updates.into_iter().filter_map(|update| {
            let target = batch.targets.get(&(update.kind, update.key.clone()))?;
            (!self.is_settled(&update, target)).then(|| self.write_one(update, target))
        });
        let writes: Vec<_> = writes.collect();
        stream::iter(writes).buffer_unordered(PARALLEL).fold(true, |all, one| async move { all && one }).await
    }

    /// Whether the last look at this status and this very object found nothing to write. Most statuses of a round are like that.
    fn is_settled(&self, update: &StatusUpdate, target: &Target) -> bool {
        let settled = self.settled();
        settled
            .get(&(update.kind, update.key.clone()))
            .is_some_and(|(live, desired)| Arc::ptr_eq(live, &target.live) && *desired == update.status)
    }

    async fn write_one(&self, update: StatusUpdate, target: &Target) -> bool {
        let api = if update.key.namespace.is_empty() {
            Api::all_with(self.client.clone(), &target.resource)
        } else {
            Api::namespaced_with(self.client.clone(), &update.key.namespace, &target.resource)
        };
        match self.try_write(&api, &update, target).await {
            Ok(done) => done,
            Err(error) => {
                let kind = update.kind.name();
                tracing::warn!(kind, object = %update.key, %error, "a status could not be written and will be tried again");
                false
            }
        }
    }

    async fn try_write(&self, api: &Api<DynamicObject>, update: &StatusUpdate, target: &Target) -> kube::Result<bool> {
        let key = (update.kind, update.key.clone());
        let mut live = Arc::clone(&target.live);
        if let Some(written) = self.written().get(&key).filter(|written| is_newer(written, &live)) {
            live = Arc::clone(written);
        }
        for _ in 0..CONFLICTS {
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let status = self.seam.merge(&live, update, &now);
            if !self.seam.is_needed(&live, &status) {
                if self.seam.is_steady() && Arc::ptr_eq(&live, &target.live) {
                    self.settled().insert(key, (live, update.status.clone()));
                }
                return Ok(true);
            }
            self.seam.before(update).await;
            let mut object = (*live).clone();
            object["status"] = status;
            // Objects out of a list do not say what they are.
            object["apiVersion"] = target.resource.api_version.clone().into();
            object["kind"] = target.resource.kind.clone().into();
            let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
            match self.seam.put(api, object).await {
                Ok(object) => {
                    let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
                    self.written().insert(key, Arc::new(object));
                    return Ok(true);
                }
                Err(kube::Error::Api(status)) if status.is_conflict() && self.seam.retries_conflicts() => {
                    let Some(object) = api.get_opt(&update.key.name).await? else { return Ok(true) };
                    let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
                    if object["metadata"]["uid"] != live["metadata"]["uid"] {
                        return Ok(true);
                    }
                    live = Arc::new(object);
                }
                // Gone, or lost to somebody else with nobody caring: the next round is computed without it.
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn settled(&self) -> MutexGuard<'_, ByObject<(Arc<Value>, DesiredStatus)>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, ByObject<Arc<Value>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one version of an object is newer than another of the same object.
fn is_newer(one: &Value, other: &Value) -> bool {
    let version =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok());
    one["metadata"]["uid"] == other["metadata"]["uid"] && version(one) > version(other)
}
