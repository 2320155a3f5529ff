//! From the options to a target that can be tested: started, connected, discovered.

use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof_testbed::TestbedError;

use super::embedded::{self, Located};
use super::options::{RunOptions, TargetChoice};
use crate::log::ObjectKey;
use crate::scenario::Scenario;
use crate::scenario::{Ending, SubjectExpectation, Verb};
use crate::target::api::{Api, chain};
use crate::target::backends::{BackendError, Hosting};
use crate::target::connect::{ConnectError, Source, connect};
use crate::target::dial::{DialRule, DialRuleError, Dialer, StaticDialer};
use crate::target::discover::{DiscoverError, Facts, discover};
use crate::target::kinds::{Kind, Kinds};
use crate::target::log_writer::LogFileError;
use crate::target::observe::ObserveError;
use crate::target::pool::PoolError;
use crate::target::shape::ShapeError;

/// Why a run did not come to a record, named for the phase that failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The embedded target.
    #[error("cannot start the embedded target: {}", chain(.0))]
    Embedded(#[from] TestbedError),
    /// Connecting.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Discovering.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// Hosting backends.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A dial rule.
    #[error(transparent)]
    Dial(#[from] DialRuleError),
    /// Observing.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// The pool.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The log's file.
    #[error(transparent)]
    LogFile(#[from] LogFileError),
    /// A manifest asks for a Gateway that the pool does not have.
    #[error("scenario {scenario}: {error}")]
    Shape {
        /// Which scenario.
        scenario: String,
        /// What is wrong.
        error: ShapeError,
    },
    /// Nothing to hold the target to.
    #[error(
        "GatewayClass `{class}` claims no features in status.supportedFeatures; name them with --features, or hold it to all with --all-features"
    )]
    NoFeatures {
        /// The class.
        class: String,
    },
}

/// A target that can be tested.
pub struct Target {
    /// Its API server.
    pub api: Api,
    /// What it is.
    pub facts: Facts,
    /// The way to its data path.
    pub dialer: Arc<dyn Dialer>,
    /// Backends within its reach.
    pub hosting: Hosting,
    located: Located,
}

impl Target {
    /// Stops it, if it was started for this run.
    pub async fn stop(self) {
        if let Some(testbed) = self.located.testbed {
            testbed.shutdown().await;
        }
    }
}

/// Starts, connects and discovers.
pub async fn target(options: &RunOptions, scenarios: &[Arc<Scenario>]) -> Result<Target, RunError> {
    let located = match &options.target {
        TargetChoice::Embedded { fault } => embedded::start(fault.as_deref(), &options.crds).await?,
        TargetChoice::Cluster { source, gateway_class, .. } => {
            let api = connect(source).await?;
            Located { api, gateway_class: gateway_class.clone(), dial: Vec::new(), features: Vec::new(), testbed: None }
        }
        TargetChoice::Running { kubeconfig, gateway_class, .. } => Located {
            api: connect(&Source::Text(kubeconfig.clone())).await?,
            gateway_class: gateway_class.clone(),
            dial: Vec::new(),
            features: Vec::new(),
            testbed: None,
        },
    };
    let mut rules = options.dial.clone();
    for rule in &located.dial {
        rules.push(rule.parse::<DialRule>()?);
    }
    let api = located.api.clone();
    let groups = scenarios.iter().flat_map(|scenario| objects(scenario)).map(|key| key.group).collect::<BTreeSet<_>>();
    let budget = options.timing().gateway_class;
    let mut facts = discover(&api, &located.gateway_class, &groups, options.bundle, budget).await?;
    if facts.features.is_empty() {
        facts.features.clone_from(&located.features);
    }
    let hosting = Hosting::new(options.backend_address, options.target.is_embedded())?;
    Ok(Target { api, facts, dialer: Arc::new(StaticDialer::new(rules)), hosting, located })
}

/// The objects that a scenario applies.
fn objects(scenario: &Scenario) -> impl Iterator<Item = ObjectKey> {
    scenario
        .steps
        .iter()
        .filter_map(|step| match &step.verb {
            Verb::Apply(apply) => Some(&apply.objects),
            _ => None,
        })
        .flatten()
        .filter_map(ObjectKey::of)
}

/// The kinds of everything that a scenario applies, patches, deletes or expects something of.
pub fn kinds_of<'k>(scenario: &Scenario, kinds: &'k Kinds) -> Vec<&'k Kind> {
    let mut found: Vec<&Kind> = objects(scenario).filter_map(|key| kinds.of(&key.group, &key.kind)).collect();
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let subjects = |subjects: &'_ [SubjectExpectation]| -> Vec<String> {
        subjects.iter().map(|subject| subject.subject.kind.clone()).collect()
    };
    let mut expected: Vec<String> = Vec::new();
    for step in &scenario.steps {
        match &step.verb {
            Verb::Patch(patch) => {
                named.insert(&patch.target.kind);
            }
            Verb::Delete(delete) => named.extend(delete.objects.iter().map(|object| object.kind.as_str())),
            Verb::Settle(settle) => expected.extend(subjects(&settle.subjects)),
            Verb::Hold(hold) => {
                expected.extend(subjects(&hold.never));
                expected.extend(subjects(&hold.always));
                named.extend(hold.unchanged.iter().map(|object| object.kind.as_str()));
            }
            Verb::Apply(_) | Verb::Probe(_) => {}
        }
        for ending in &step.either {
            if let Ending::Settle(settle, _) = ending {
                expected.extend(subjects(&settle.subjects));
            }
        }
    }
    named.extend(expected.iter().map(String::as_str));
    found.extend(named.into_iter().filter_map(|kind| kinds.named(kind)));
    found
}
