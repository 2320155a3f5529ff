//! Watches the cluster, calls the reconciler and acts on the outcome.
//!
//! One task owns what is known. It takes every change that waits, works out what follows, lets the data plane take the
//! configuration over, works out the statuses with what the data plane answered, and leaves them to the writer. So a
//! status never claims what the data plane does not do yet, and a burst of changes costs one round.

pub(crate) mod kinds;
pub(crate) mod objects;
pub mod seams;
mod served;
mod store;
mod watch;
mod writer;

use std::{collections::BTreeSet, sync::Arc};

use gateproof_proxy::Proxy;
use kube::Client;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use self::seams::Seams;
use self::{
    objects::Maker,
    seams::{ConfigSeam, ObjectsSeam, Seen, Several, SnapshotSeam, StatusesSeam},
    store::Store,
    watch::Watches,
    writer::{Batch, Writer},
};
use crate::{
    reconcile::{
        infrastructure::{self, Made},
        reconcile,
    },
    settings::Settings,
    snapshot::{Addresses, Bind, Binds, Snapshot},
};

/// The running implementation. Dropping it stops it at once; [`Controllers::shutdown`] lets it finish what it does.
pub struct Controllers {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Controllers {
    /// Starts the implementation against the cluster behind `client`, with `proxy` as its data plane. Must run within a
    /// Tokio runtime. It needs no CRD to be there: kinds are taken up as they appear.
    pub fn start(client: Client, proxy: Arc<Proxy>, settings: Settings, seams: Seams) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(client, proxy, settings, seams, stop.clone()));
        Self { stop, task }
    }

    /// Stops watching and writing. The data plane keeps what it has.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the controllers ended abnormally");
        }
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn run(client: Client, proxy: Arc<Proxy>, settings: Settings, seams: Seams, stop: CancellationToken) {
    let (changes, mut changed) = mpsc::unbounded_channel();
    let mut watches = Watches::new(client.clone(), changes);
    let mut store = Store::default();
    let Seams { snapshot, statuses, writer, config, objects, again } = seams;
    let mut maker = Maker::start(client.clone(), stop.child_token());
    let writer = Writer::start(client, writer, stop.child_token());
    let mut round = Round {
        proxy,
        settings,
        snapshot,
        statuses,
        config,
        objects,
        addresses: Addresses::default(),
        binds: Binds::new(),
        provided: BTreeSet::new(),
    };
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            () = again.notified() => {}
            change = changed.recv() => match change {
                Some(change) => watches.hear(change, &mut store),
                None => break,
            },
        }
        while let Ok(change) = changed.try_recv() {
            watches.hear(change, &mut store);
        }
        for kind in watches.follow(&store) {
            store.forget(kind);
        }
        if watches.are_synced(&store) {
            let (batch, made) = round.run(store.snapshot(), &watches).await;
            maker.make(made).await;
            writer.write(batch);
        }
    }
    writer.finish().await;
    maker.finish().await;
}

/// What one round of reconciling needs to know from the last.
struct Round {
    proxy: Arc<Proxy>,
    settings: Settings,
    snapshot: Several<dyn SnapshotSeam>,
    statuses: Several<dyn StatusesSeam>,
    config: Several<dyn ConfigSeam>,
    objects: Several<dyn ObjectsSeam>,
    addresses: Addresses,
    binds: Binds,
    /// The Gateways that objects were made for, by uid.
    provided: BTreeSet<String>,
}

impl Round {
    async fn run(&mut self, known: Snapshot, watches: &Watches) -> (Batch, Vec<Made>) {
        let mut seen = self.snapshot.view(known);
        seen.addresses = std::mem::take(&mut self.addresses);
        seen.binds = std::mem::take(&mut self.binds);
        let mut outcome = reconcile(&seen, &self.settings);
        seen.addresses = outcome.addresses;

        let mut config = outcome.config;
        self.config.edit(Seen { snapshot: &seen, settings: &self.settings }, &mut config);
        let applied = self.proxy.apply(config).await;
        for problem in &applied.problems {
            tracing::error!(subject = problem.subject, reason = problem.reason, "the data plane cannot serve a part");
        }
        let bind = |bound: &Result<_, gateproof_proxy::BindFailure>| match bound {
            Ok(_) => Bind::Bound,
            Err(failure) => Bind::Failed(failure.to_string()),
        };
        let binds: Binds = applied
            .listeners
            .iter()
            .map(|listener| ((listener.key.address, listener.key.port, listener.key.transport), bind(&listener.bound)))
            .collect();
        if binds != seen.binds {
            seen.binds = binds;
            outcome.statuses = reconcile(&seen, &self.settings).statuses;
        }
        let mut made = infrastructure::objects(&seen, &outcome.statuses, &mut self.provided);
        self.objects.edit(Seen { snapshot: &seen, settings: &self.settings }, &mut made);
        self.statuses.edit(Seen { snapshot: &seen, settings: &self.settings }, &mut outcome.statuses);
        let batch = Batch::new(outcome.statuses, &seen, watches);
        self.addresses = seen.addresses;
        self.binds = seen.binds;
        (batch, made)
    }
}
