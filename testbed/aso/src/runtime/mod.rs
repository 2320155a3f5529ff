//! Watches the cluster, decides, and acts on it: one task for each object, and one that keeps what is known.

mod http;
mod task;
mod watch;
mod writes;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kube::Client;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use http::{ClientError, HttpArm};

use crate::{
    arm::ArmClient,
    behaviour::Behaviour,
    kinds,
    settings::Settings,
    world::{Key, World},
};

/// The running implementation. Dropping it stops it; [`Aso::shutdown`] lets it finish what it does.
pub struct Aso {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// What all tasks share.
struct Shared {
    client: Client,
    arm: Arc<dyn ArmClient>,
    settings: Settings,
    behaviour: Behaviour,
    world: Mutex<World>,
    /// Moves with every change of the world.
    changes: tokio::sync::watch::Sender<u64>,
    stop: CancellationToken,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aso {
    /// Starts the implementation against the cluster behind `client` and the ARM that the settings name. Must run within a Tokio
    /// runtime. Definitions may come later.
    ///
    /// # Errors
    /// [`ClientError`]: the client for ARM cannot be made from the settings.
    pub fn start(client: Client, settings: Settings, behaviour: Behaviour) -> Result<Self, ClientError> {
        let arm = Arc::new(HttpArm::new(&settings)?);
        Ok(Self::start_with(client, arm, settings, behaviour))
    }

    /// Starts it with a client for ARM of one's own.
    pub fn start_with(client: Client, arm: Arc<dyn ArmClient>, settings: Settings, behaviour: Behaviour) -> Self {
        let stop = CancellationToken::new();
        let (changes, _) = tokio::sync::watch::channel(0);
        let world = Mutex::new(World::default());
        let shared = Shared { client, arm, settings, behaviour, world, changes, stop: stop.clone() };
        Self { stop, task: tokio::spawn(run(Arc::new(shared))) }
    }

    /// Stops. What was begun is brought to an end: the answer to a request that is out is still taken down.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the implementation ended abnormally");
        }
    }
}

impl Drop for Aso {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn run(shared: Arc<Shared>) {
    let (sender, mut heard) = mpsc::unbounded_channel();
    let watches = watch::Watches::start(&shared.client, &sender);
    let mut tasks: BTreeMap<(Key, String), JoinHandle<()>> = BTreeMap::new();
    loop {
        let change = tokio::select! {
            () = shared.stop.cancelled() => break,
            change = heard.recv() => change,
        };
        let Some(change) = change else { break };
        let is_complete = {
            let mut known = shared.world();
            watches.absorb(change, &mut known);
            while let Ok(change) = heard.try_recv() {
                watches.absorb(change, &mut known);
            }
            watches.are_synced()
        };
        // Before everything was listed once, absence means nothing.
        if !is_complete {
            continue;
        }
        tasks.retain(|_, task| !task.is_finished());
        for (key, uid) in candidates(&shared) {
            let (shared, object) = (Arc::clone(&shared), key.clone());
            tasks.entry((key, uid.clone())).or_insert_with(|| tokio::spawn(task::run(shared, object, uid)));
        }
        shared.changes.send_modify(|count| *count += 1);
    }
    for (_, task) in tasks {
        if let Err(error) = task.await {
            tracing::error!(%error, "the task of an object ended abnormally");
        }
    }
}

/// The objects that are to be looked after, with their UIDs.
fn candidates(shared: &Shared) -> Vec<(Key, String)> {
    let namespaces = &shared.settings.namespaces;
    let world = shared.world();
    let ours = world.objects.iter().filter(|(key, _)| {
        kinds::find(&key.group, &key.kind).is_some() && (namespaces.is_empty() || namespaces.contains(&key.namespace))
    });
    ours.map(|(key, object)| (key.clone(), object["metadata"]["uid"].as_str().unwrap_or_default().to_owned())).collect()
}
