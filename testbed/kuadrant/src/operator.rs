//! The implementation as a whole: it can be stopped and started again, by the scripted service `operator`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::Client;
use serde::Deserialize;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

use crate::behaviour::Behaviour;
use crate::components::Components;
use crate::control::{self, Access, Scripted};
use crate::object::Dependency;
use crate::runtime::{Running, StartError, keep_home};
use crate::settings::Settings;

/// The implementation, with its scripted services. Dropping it stops it at once.
pub struct Kuadrant {
    stop: CancellationToken,
    operator: Arc<Operator>,
    components: Access,
    control: Access,
}

impl Kuadrant {
    /// Starts the implementation against the cluster behind `client`. Which kinds the cluster serves is looked up now, and again only
    /// when a script starts it again. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] says what could not be done.
    pub async fn start(client: Client, settings: Settings, behaviour: Behaviour) -> Result<Kuadrant, StartError> {
        let stop = CancellationToken::new();
        let (sender, told) = watch::channel(Components::default());
        let components = control::serve(Arc::new(sender), stop.clone()).await?;
        if settings.keep_kuadrant {
            keep_home(&client, &settings).await.map_err(Box::new)?;
        }
        let state = Mutex::default();
        let operator = Arc::new(Operator { client, settings, behaviour, told, stop: stop.clone(), state });
        let mut begins = operator.state.lock().await;
        operator.turn(&mut begins).await.map_err(Box::new)?;
        drop(begins);
        let control = control::serve(Arc::clone(&operator), stop.clone()).await?;
        Ok(Kuadrant { stop, operator, components, control })
    }

    /// What stands in the data path; it is the gate of the settings.
    #[must_use]
    pub fn exchange(&self) -> Arc<dyn gateproof_proxy::Exchange> {
        Arc::new(self.operator.settings.gate.clone())
    }

    /// Where what stands beside the policies takes scripts.
    #[must_use]
    pub fn components(&self) -> &Access {
        &self.components
    }

    /// Where the implementation itself does.
    #[must_use]
    pub fn control(&self) -> &Access {
        &self.control
    }

    /// Stops watching and writing. The gate keeps what it has.
    pub async fn shutdown(self) {
        self.stop.cancel();
        if let Some(running) = self.operator.state.lock().await.running.take() {
            running.shutdown().await;
        }
    }
}

impl Drop for Kuadrant {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// What it takes to start the implementation, and the one that runs.
struct Operator {
    client: Client,
    settings: Settings,
    behaviour: Behaviour,
    told: watch::Receiver<Components>,
    stop: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// What it was started without.
    without: BTreeSet<Dependency>,
    /// The scripts in force, by key.
    scripts: BTreeMap<String, Vec<Rule>>,
}

/// One rule of a script: exactly one of the two.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Stops the implementation.
    #[serde(default)]
    stop: bool,
    /// Starts it again as on a cluster that has not got this.
    #[serde(default)]
    without: Option<Dependency>,
}

impl Operator {
    /// Has the implementation stopped, or running with what the scripts leave it, when this returns.
    async fn turn(&self, state: &mut State) -> kube::Result<()> {
        let rules = || state.scripts.values().flatten();
        let stops = rules().any(|rule| rule.stop);
        let without: BTreeSet<Dependency> = rules().filter_map(|rule| rule.without).collect();
        if (stops || state.without != without)
            && let Some(running) = state.running.take()
        {
            running.shutdown().await;
        }
        if !stops && state.running.is_none() {
            let (client, told, stop) = (self.client.clone(), self.told.clone(), self.stop.child_token());
            let running = Running::start(client, self.settings.clone(), &self.behaviour, told, &without, stop).await?;
            (state.running, state.without) = (Some(running), without);
        }
        Ok(())
    }
}

impl Scripted for Operator {
    type Rule = Rule;

    const HELP: &'static str = "rules are {\"stop\": true} and {\"without\": DEPENDENCY}";

    fn misplaced(rule: &Rule) -> Option<&'static str> {
        (rule.stop == rule.without.is_some()).then_some("a rule is either `stop: true` or `without`")
    }

    async fn tell(&self, key: String, rules: Vec<Rule>) -> Result<(), String> {
        let mut state = self.state.lock().await;
        if rules.is_empty() {
            state.scripts.remove(&key);
        } else {
            state.scripts.insert(key, rules);
        }
        self.turn(&mut state).await.map_err(|error| error.to_string())
    }
}
