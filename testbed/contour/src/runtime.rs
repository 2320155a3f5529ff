//! Watches the cluster, works out what should be, and brings it about: the data path first, then statuses, so that no status claims what
//! is not in force.

use std::sync::Arc;
use std::time::Duration;

use gateproof_proxy::Proxy;
use gateproof_runtime::object::Kind as _;
use gateproof_runtime::watch::Watches;
use gateproof_runtime::write;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::DefaultBackoff;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::behaviour::{Behaviour, Seams};
use crate::gate::Gate;
use crate::kinds::{Kind, Snapshot};
use crate::reconcile::{self, Outcome};
use crate::settings::Settings;
use crate::status;

/// Between two rounds of what does not rest.
const RESTLESS: Duration = Duration::from_millis(100);

/// The running implementation. Dropping it stops it at once.
pub struct Contour {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Contour {
    /// Starts the implementation against the cluster behind `client`; `gate` is the one of the proxy's exchange. Must run within a Tokio runtime.
    #[must_use]
    pub fn start(client: Client, proxy: Arc<Proxy>, gate: Gate, settings: Settings, behaviour: &Behaviour) -> Contour {
        let stop = CancellationToken::new();
        let hand = Hand { client, proxy, gate, settings, seams: behaviour.seams() };
        let task = tokio::spawn(run(hand, stop.clone()));
        Contour { stop, task }
    }

    /// Stops watching and writing. The proxy keeps what it has.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the implementation ended abnormally");
        }
    }
}

impl Drop for Contour {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Hand {
    client: Client,
    proxy: Arc<Proxy>,
    gate: Gate,
    settings: Settings,
    seams: Seams,
}

async fn run(mut hand: Hand, stop: CancellationToken) {
    let mut watches: Watches<Kind> = Watches::start(&hand.client);
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
            changed = watches.changed() => if changed.is_none() { break },
        }
        let Some(known) = watches.known().cloned() else { continue };
        let done = tokio::select! {
            () = stop.cancelled() => break,
            done = hand.act(&known) => done,
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

impl Hand {
    async fn act(&mut self, known: &Snapshot) -> kube::Result<()> {
        let Outcome { verdicts, hosts, config } = self.seams.round(known.clone(), &self.settings);
        let config = config.unwrap_or_else(|| reconcile::config(&hosts, &self.settings));
        self.gate.apply(reconcile::guards(&hosts));
        let outcome = self.proxy.apply(config).await;
        for (_, failure) in outcome.failures() {
            tracing::warn!(?failure, "a listener cannot be had");
        }
        let mut failure = Ok(());
        for ((kind, namespace, name), verdict) in &verdicts {
            let Some(live) = known.get(*kind, namespace, name) else { continue };
            let (seams, edition) = (&mut self.seams, self.settings.edition);
            let merge = |live: &serde_json::Value| {
                let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                seams.written(kind.name(), live, |live| status::merge(live, verdict, edition), &now)
            };
            if let Err(error) = write::status(&self.client, *kind, live, merge).await {
                failure = Err(error);
            }
            if let Some((label, value)) = self.seams.label
                && live["metadata"]["labels"][label].as_str().is_some_and(|before| before != value)
            {
                let patch = Patch::Merge(serde_json::json!({"metadata": {"labels": {label: value}}}));
                let of = kind.api(self.client.clone(), namespace);
                // One that is gone by now needs none.
                if let Err(error) = of.patch(name, &PatchParams::default(), &patch).await {
                    tracing::warn!(%error, "a label was not taken");
                }
            }
        }
        failure
    }
}
