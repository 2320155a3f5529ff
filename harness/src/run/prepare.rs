//! From the options to a target that can be tested: started, connected, discovered.

use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof_testbed::TestbedError;

use super::Progress;
use super::embedded::{self, Located};
use super::options::{RunOptions, TargetChoice};
pub use super::permissions::watched;
use super::preflight::Preflight;
use crate::cluster::api::{Api, chain};
use crate::cluster::backends::deployed::Deploying;
use crate::cluster::backends::{BackendError, Backends, Hosting};
use crate::cluster::clean::Leftover;
use crate::cluster::connect::{ConnectError, Source, connect};
use crate::cluster::control::Services;
use crate::cluster::definitions;
use crate::cluster::dial::{DialRule, DialRuleError, Dialer, StaticDialer};
use crate::cluster::discover::{DiscoverError, Facts, GivenClass, Patience, discover};
use crate::cluster::forward::PortForward;
use crate::cluster::lease::LeaseError;
use crate::cluster::log_writer::LogFileError;
use crate::cluster::observe::ObserveError;
use crate::cluster::pool::PoolError;
use crate::cluster::resources::Wanted;
use crate::cluster::shape::{Shape, ShapeError};
pub(super) use crate::scenario::objects::applied;
use crate::scenario::objects::{references, referred};
use crate::scenario::{ObjectRef, Scenario, scope};

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
    /// The target cannot be tested.
    #[error("the target cannot be tested\n{}", .0.preflight)]
    Preflight(Box<Failed>),
    /// What the target asks for may be made for real.
    #[error("the target cannot be tested\n{}", .0.preflight)]
    Canary(Box<Failed>),
    /// Hosting backends.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A dial rule.
    #[error(transparent)]
    Dial(#[from] DialRuleError),
    /// A manifest would touch what may be somebody else's.
    #[error("scenario {scenario} ({file}): {problem}")]
    Shared {
        /// Which scenario.
        scenario: String,
        /// Its file.
        file: String,
        /// What is wrong.
        problem: String,
    },
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
    /// Objects that preflight created and that do not go.
    #[error("preflight left objects behind")]
    Leftovers(Vec<Leftover>),
    /// The user broke preflight off, and everything is gone.
    #[error("interrupted")]
    Interrupted,
    /// A mistake of ours.
    #[error("a mistake of gateproof: {0}")]
    Internal(String),
    /// Something that this run has to have to itself, or its sign of life.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The run could not begin, and something of it is still there.
    #[error("{error}\n{}", left_lines(left))]
    Left {
        /// Why it could not begin.
        error: Box<RunError>,
        /// What is left.
        left: Vec<Leftover>,
    },
    /// Nobody has said yet what the target is to be held to.
    #[error("no controller has written a status of {kind} `{class}` yet, in which it claims features")]
    ClassSilent {
        /// Of which kind the class is.
        kind: String,
        /// The class.
        class: String,
    },
    /// Nothing to hold the target to.
    #[error(
        "{kind} `{class}` claims no features in status.supportedFeatures; name them with --features, take them from a published report with --features-from, or hold it to all with --all-features"
    )]
    NoFeatures {
        /// Of which kind the class is.
        kind: String,
        /// The class.
        class: String,
    },
}

fn left_lines(left: &[Leftover]) -> String {
    let lines = left.iter().map(|left| format!("left behind: {}: {}", left.object, left.diagnosis));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a preflight that failed came to.
#[derive(Debug)]
pub struct Failed {
    /// Every question and its answer.
    pub preflight: Preflight,
    /// What could not be removed.
    pub leftovers: Vec<Leftover>,
}

impl From<Preflight> for RunError {
    fn from(preflight: Preflight) -> RunError {
        RunError::Preflight(Box::new(Failed { preflight, leftovers: Vec::new() }))
    }
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
    pub backends: Backends,
    /// Its scripted services: those that it names itself, and those that the user names.
    pub services: Services,
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
pub async fn target(
    options: &RunOptions,
    scenarios: &[Arc<Scenario>],
    reporter: &mut dyn Progress,
) -> Result<Target, RunError> {
    tokio::select! {
        target = begin(options, scenarios, reporter) => target,
        () = options.interrupt.triggered() => Err(RunError::Interrupted),
    }
}

async fn begin(
    options: &RunOptions,
    scenarios: &[Arc<Scenario>],
    reporter: &mut dyn Progress,
) -> Result<Target, RunError> {
    let located = match &options.target {
        TargetChoice::Embedded { reference, conduct } => embedded::start(*reference, conduct, options).await?,
        TargetChoice::Cluster { source, gateway_class, .. } => {
            let api = connect(source).await?;
            Located {
                api,
                gateway_class: gateway_class.clone(),
                single_gateway_class: None,
                usable_address: None,
                dial: Vec::new(),
                features: Vec::new(),
                services: None,
                testbed: None,
            }
        }
        TargetChoice::Running { kubeconfig, gateway_class, .. } => Located {
            api: connect(&Source::Text(kubeconfig.clone())).await?,
            gateway_class: gateway_class.clone(),
            single_gateway_class: None,
            usable_address: None,
            dial: Vec::new(),
            features: Vec::new(),
            services: None,
            testbed: None,
        },
    };
    let mut rules = options.dial.clone();
    for rule in &located.dial {
        rules.push(rule.parse::<DialRule>()?);
    }
    let api = located.api.clone();
    let scenarios: Vec<&Arc<Scenario>> = scenarios.iter().chain(options.canary()).collect();
    let scenarios = || scenarios.iter().copied();
    let mut groups: BTreeSet<String> =
        scenarios().flat_map(|scenario| applied(scenario)).map(|key| key.group).collect();
    groups.extend(scenarios().flat_map(|scenario| &scenario.made).map(|made| made.group.clone()));
    let referred = scenarios().flat_map(|scenario| referred(scenario));
    groups.extend(referred.filter_map(|name| Some(name.split_once('.')?.1.to_owned())));
    let defined: BTreeSet<&str> = scenarios().flat_map(|scenario| scope::definitions(scenario)).collect();
    if options.backend_image.is_some() {
        groups.insert("apps".to_owned());
    }
    let dialect = Arc::clone(options.contract.dialect());
    let wanted = Wanted {
        dialect: Arc::clone(&dialect),
        groups,
        kinds: scenarios().flat_map(|scenario| named(scenario)).collect(),
    };
    let timing = options.timing();
    let single = options.single_gateway_class.as_deref().or(located.single_gateway_class.as_deref());
    let address = options.usable_address.as_deref().or(located.usable_address.as_deref());
    let patience =
        Patience { budget: timing.gateway_class, quiet: timing.quiet, tell: &mut |what| reporter.waiting(what) };
    let class = located.gateway_class.as_deref().map(|name| GivenClass { name, single, address });
    let found = discover(&api, class, &wanted, options.bundle, patience).await;
    let mut facts = match found {
        Err(error) if options.preflight => return Err(Preflight::of_error(&error).into()),
        found => found?,
    };
    for name in defined {
        if let Some(definition) = facts.basis().release.and_then(|release| definitions::built_in(name, release)) {
            definitions::expect(&mut facts.kinds, definition);
        }
    }
    // Sorted as what is claimed is.
    let claimed: BTreeSet<String> = facts.features.drain(..).chain(located.features.iter().cloned()).collect();
    facts.features = claimed.into_iter().collect();
    let backends = match &options.backend_image {
        Some(image) => Backends::Deployed(Deploying::new(api.clone(), image)),
        None => Backends::Hosted(Hosting::new(&options.backend_addresses, options.target.is_embedded())?),
    };
    let behind = options.port_forward.clone();
    let dialer: Arc<dyn Dialer> = match behind.and_then(|behind| PortForward::start(api.client(), behind, &facts.kinds))
    {
        Some(forward) => Arc::new(forward),
        None => Arc::new(StaticDialer::new(rules).through(options.dial_proxy.clone())),
    };
    let services = located.services.clone().unwrap_or_else(|| options.services.clone());
    Ok(Target { api, facts, dialer, backends, services, located })
}

/// The Gateways of the pool that a scenario wants, by alias.
///
/// # Errors
/// [`RunError::Shape`] if one is of no shape that the pool has.
pub fn shapes(scenario: &Scenario) -> Result<Vec<(String, Shape)>, RunError> {
    let read = |(alias, shape): (&String, &String)| Ok((alias.clone(), shape.parse()?));
    let shapes: Result<_, ShapeError> = scenario.gateways.iter().map(read).collect();
    shapes.map_err(|error| RunError::Shape { scenario: scenario.name.clone(), error })
}

/// The kinds that a scenario names without their group. Of those that it applies the group is known.
fn named(scenario: &Scenario) -> impl Iterator<Item = String> {
    let references = references(scenario).into_iter();
    let is_known =
        |object: &ObjectRef| scenario.is_made(object) || applied(scenario).any(|key| key.kind == object.kind);
    let unknown = references.filter(move |object| !is_known(object));
    unknown.map(|object| object.kind.clone())
}
