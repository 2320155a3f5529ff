//! What a run is asked to do.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateproof_report::known::KnownFailure;
use gateproof_testbed::{KnownVariant, Tampering, variants};
use serde_json::Value;

use super::interrupt::Interrupt;
use super::permissions::Ways;
use super::waits::Waits;
use crate::cluster::connect::Source;
use crate::cluster::control::Services;
use crate::cluster::dial::DialRule;
use crate::cluster::discover::GivenBundle;
use crate::cluster::forward::Behind;
use crate::cluster::pod_logs::LogSource;
use crate::cluster::proxy::Proxy;
use crate::cluster::shape::Ports;
use crate::dialects::Reference;
use crate::judge::contract::Contract;
use crate::log::{Timing, TimingProfile};
use crate::scenario::scope::Lacking;
use crate::scenario::{Scenario, Version};

/// Which target.
#[derive(Debug, Clone)]
pub enum TargetChoice {
    /// The embedded one of a dialect; it lives as long as the run.
    Embedded {
        /// Of which dialect.
        reference: Reference,
        /// What it does otherwise.
        conduct: Conduct,
    },
    /// A cluster that somebody else runs.
    Cluster {
        /// Where its address and credentials are.
        source: Source,
        /// The GatewayClass to test, in a dialect that has classes.
        gateway_class: Option<String>,
        /// How the user named it, for reports.
        name: String,
    },
    /// An embedded target that is running already, and outlives the run.
    Running {
        /// Its kubeconfig.
        kubeconfig: String,
        /// The GatewayClass to test, in a dialect that has classes.
        gateway_class: Option<String>,
        /// How it is named in reports, such as `embedded:deaf`.
        name: String,
    },
}

/// What an embedded target does otherwise than its reference.
#[derive(Debug, Clone)]
pub enum Conduct {
    /// Nothing, or what these faults and variants do, such as `ignores-reference-grants` or
    /// `ignores-reference-grants+variant:adds-own-conditions`.
    Named(Option<String>),
    /// What the holder of the handles says while it runs.
    Tampered(Tampering),
}

impl TargetChoice {
    /// The embedded target of a dialect, perhaps with faults and variants.
    pub fn embedded(reference: Reference, fault: Option<String>) -> TargetChoice {
        TargetChoice::Embedded { reference, conduct: Conduct::Named(fault) }
    }

    /// The embedded target of a dialect, in which the holder of the handles makes single values wrong.
    pub fn tampered(reference: Reference, tampering: Tampering) -> TargetChoice {
        TargetChoice::Embedded { reference, conduct: Conduct::Tampered(tampering) }
    }

    /// Whether the target is an embedded one, which nobody else uses and which answers at once.
    pub fn is_embedded(&self) -> bool {
        !matches!(self, TargetChoice::Cluster { .. })
    }

    /// The limits that it is given: those of a cluster too where an embedded one is told to be as slow.
    fn profile(&self) -> TimingProfile {
        let in_time = Timing::of(TimingProfile::Embedded).gateway;
        match self {
            TargetChoice::Embedded { reference, conduct: Conduct::Named(Some(names)) }
                if delay(*reference, names).is_some_and(|delay| delay >= in_time) =>
            {
                TimingProfile::Real
            }
            TargetChoice::Embedded { .. } | TargetChoice::Running { .. } => TimingProfile::Embedded,
            TargetChoice::Cluster { .. } => TimingProfile::Real,
        }
    }

    /// How reports name it.
    pub fn name(&self) -> String {
        match self {
            TargetChoice::Embedded { conduct, .. } => match conduct {
                Conduct::Named(None) => "embedded".to_owned(),
                Conduct::Named(Some(fault)) => format!("embedded:{fault}"),
                Conduct::Tampered(_) => "embedded, tampered with".to_owned(),
            },
            TargetChoice::Cluster { name, .. } | TargetChoice::Running { name, .. } => name.clone(),
        }
    }
}

/// How long what is named lets a data path wait, if that is what a variant among it does: those of Gateway API alone do.
fn delay(reference: Reference, names: &str) -> Option<Duration> {
    let all = matches!(reference, Reference::GatewayApi).then(variants)?;
    let is_named =
        |variant: &&KnownVariant| names.split('+').any(|one| one.strip_prefix("variant:") == Some(variant.name));
    all.iter().filter(is_named).filter_map(|variant| variant.delay).max()
}

/// Which features the target is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureChoice {
    /// Those that the GatewayClass claims in its status.
    Claimed,
    /// These.
    Only(Vec<String>),
}

/// What a list of features says nothing of, for it came later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsaid {
    /// The release that the list is of.
    pub release: Version,
    /// The features that are newer.
    pub features: Vec<String>,
}

/// A scenario that the user leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// Name of the scenario; `*` stands for any characters.
    pub pattern: String,
    /// Why, for the reports.
    pub reason: String,
}

/// One of several parts of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    pub part: usize,
    /// How many there are.
    pub parts: usize,
    /// Every scenario of all of them, with the digest of its text.
    pub whole: BTreeMap<String, String>,
}

/// Whose objects stay when the run is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// Nobody's.
    #[default]
    Never,
    /// Those of scenarios that failed or came late, and the pool with them.
    OnFailure,
    /// Everybody's.
    Always,
}

/// Stands by while scenarios run, and acts before the first, or when one comes to a step.
#[async_trait]
pub trait Bystander: fmt::Debug + Send + Sync {
    /// Nothing of the target is watched yet, and it is not until this returns.
    async fn before_watches(&self) {}

    /// An execution of a bound scenario is about to do this step, and waits until this returns.
    async fn at_step(&self, scenario: &Scenario, step: usize);
}

/// Everything that a run is asked to do.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Which target.
    pub target: TargetChoice,
    /// CustomResourceDefinitions that the embedded target serves; the built-in ones if there are none.
    pub crds: Vec<Value>,
    /// Names of those that it does not serve.
    pub without_crds: Vec<String>,
    /// Features that the embedded target does without.
    pub without_features: Vec<String>,
    /// Scenarios that the user did not select: a ConformanceReport counts those that the target could have run as skipped.
    pub unselected: Vec<Arc<Scenario>>,
    /// How the user asked for what decides verdicts, for reports: arguments of `gateproof run` beside the selection.
    pub arguments: Vec<String>,
    /// A file that holds them, if they are too many for a line of their own.
    pub options_file: Option<String>,
    /// The digest of what targets are judged by beside scenarios, for the record.
    pub suite: Option<String>,
    /// Which part of a selection it is, if it is not the whole.
    pub part: Option<Part>,
    /// The status contract.
    pub contract: Arc<Contract>,
    /// Failures that do not fail the run.
    pub known_failures: Vec<KnownFailure>,
    /// Scenarios at once. Most of their time is waiting, so more than there are cores pay off.
    pub jobs: usize,
    /// How long scenarios took the last time, in milliseconds, by name: the longest begin first.
    pub took: BTreeMap<String, u64>,
    /// Ends the run at the first failure.
    pub fail_fast: bool,
    /// How many times each scenario runs; at least once.
    pub repeat: u32,
    /// How many executions of a scenario are listed that passed with nothing else to say; by how many scenarios there are unless given.
    pub listed: Option<u32>,
    /// The table of limits; by default that of the target's kind.
    pub timing: Option<Timing>,
    /// Whether a wrong status is judged once it stands still.
    pub impatient: bool,
    /// Factor on every budget.
    pub timeout_scale: f64,
    /// Static map of addresses, before that of the embedded target.
    pub dial: Vec<DialRule>,
    /// The HTTP proxy through which the data path is reached.
    pub dial_proxy: Option<Proxy>,
    /// Which Services Gateways are behind, if the data path is reached through the API server.
    pub port_forward: Option<Behind>,
    /// Ports that the target permits.
    pub ports: Ports,
    /// Which features the target is held to.
    pub features: FeatureChoice,
    /// What the list of these says nothing of.
    pub unsaid: Option<Unsaid>,
    /// Features that it is not held to all the same.
    pub exempt: Vec<String>,
    /// Scenarios that the user leaves out.
    pub skip: Vec<Skip>,
    /// Merged into every Gateway that is applied.
    pub gateway_patch: Option<Value>,
    /// Labels for every namespace that is created.
    pub namespace_labels: Vec<(String, String)>,
    /// Most Gateways of one shape that are created for scenarios that need one for themselves.
    pub max_gateways: usize,
    /// A GatewayClass of the same controller that takes one Gateway only; by default the embedded target's.
    pub single_gateway_class: Option<String>,
    /// An address that Gateways may ask for; by default one of the embedded target's.
    pub usable_address: Option<String>,
    /// Whose objects stay.
    pub keep: Keep,
    /// Permits scenarios that change cluster-scoped objects on a cluster that is not embedded.
    pub allow_cluster_changes: bool,
    /// Where the log is streamed to.
    pub events_file: Option<PathBuf>,
    /// Whose logs are evidence of failures.
    pub logs_from: Option<LogSource>,
    /// Addresses that hosted backends bind and publish, one of each family at most; by default one of this host's.
    pub backend_addresses: Vec<IpAddr>,
    /// Image of deployed backends; hosted ones without it.
    pub backend_image: Option<String>,
    /// The release to judge by, if not that of the CRDs, or for CRDs that do not name theirs.
    pub bundle: Option<GivenBundle>,
    /// Most probes that one test of shares may use.
    pub max_probes: u32,
    /// Scripted services of the target.
    pub services: Services,
    /// Whether to ask first if the target can be tested at all.
    pub preflight: bool,
    /// What a cluster has to pass before anything else is applied to it, whether or not the rest is asked.
    pub canary: Option<Arc<Scenario>>,
    /// What it is asked by way of what traffic comes in by, if it is asked first.
    pub request: Option<Arc<Scenario>>,
    /// Whether other people may change something on the target, so that it is to be watched for that.
    pub others: bool,
    /// How the user breaks the run off.
    pub interrupt: Interrupt,
    /// What executions wait for, for whoever looks on.
    pub waits: Waits,
    /// Who stands by, if anybody.
    pub bystander: Option<Arc<dyn Bystander>>,
}

/// Scenarios at once, unless the user says otherwise.
pub const DEFAULT_JOBS: usize = 32;
/// Gateways of one shape for one scenario each, unless the user says otherwise.
pub const DEFAULT_MAX_GATEWAYS: usize = 8;
/// Probes that one test of shares may use, unless the user says otherwise.
pub const DEFAULT_MAX_PROBES: u32 = 5000;

impl RunOptions {
    /// The defaults for a target.
    pub fn new(target: TargetChoice, contract: Arc<Contract>) -> RunOptions {
        RunOptions {
            preflight: !target.is_embedded(),
            others: true,
            target,
            crds: Vec::new(),
            without_crds: Vec::new(),
            without_features: Vec::new(),
            unselected: Vec::new(),
            arguments: Vec::new(),
            options_file: None,
            suite: None,
            part: None,
            contract,
            known_failures: Vec::new(),
            jobs: DEFAULT_JOBS,
            took: BTreeMap::new(),
            fail_fast: false,
            repeat: 1,
            listed: None,
            timing: None,
            impatient: false,
            timeout_scale: 1.0,
            dial: Vec::new(),
            dial_proxy: None,
            port_forward: None,
            ports: Ports::default(),
            features: FeatureChoice::Claimed,
            unsaid: None,
            exempt: Vec::new(),
            skip: Vec::new(),
            gateway_patch: None,
            namespace_labels: Vec::new(),
            max_gateways: DEFAULT_MAX_GATEWAYS,
            single_gateway_class: None,
            usable_address: None,
            keep: Keep::default(),
            allow_cluster_changes: false,
            events_file: None,
            logs_from: None,
            backend_addresses: Vec::new(),
            backend_image: None,
            bundle: None,
            max_probes: DEFAULT_MAX_PROBES,
            services: Services::default(),
            canary: None,
            request: None,
            interrupt: Interrupt::default(),
            waits: Waits::default(),
            bystander: None,
        }
    }

    /// The same on an embedded target that lacks this, and is not held to it either. What another release has no definition of is
    /// lacking there as it is.
    pub fn lacking(mut self, Lacking { definitions, features }: Lacking) -> RunOptions {
        if let FeatureChoice::Only(held) = &mut self.features {
            held.retain(|feature| !features.contains(feature));
        }
        let is_served = |name: &String| {
            self.crds.is_empty() || self.crds.iter().any(|crd| crd["metadata"]["name"] == name.as_str())
        };
        self.without_crds = definitions.into_iter().filter(is_served).collect();
        self.without_features = features;
        self
    }

    /// The canary, if the target is one that could do harm.
    pub fn canary(&self) -> Option<&Arc<Scenario>> {
        self.canary.as_ref().filter(|_| !self.target.is_embedded())
    }

    /// What of the API server serves as a way.
    pub fn ways(&self) -> Ways {
        Ways { port_forward: self.port_forward.is_some(), deployed: self.backend_image.is_some() }
    }

    /// How often each scenario is executed.
    pub fn times(&self) -> usize {
        usize::try_from(self.repeat).unwrap_or(usize::MAX).max(1)
    }

    /// The table of limits in force: that of the target's kind, unless told otherwise.
    pub fn timing(&self) -> Timing {
        let timing =
            self.timing.clone().unwrap_or_else(|| Timing::of(self.target.profile())).scaled(self.timeout_scale);
        Timing { impatient: self.impatient || timing.impatient, ..timing }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain(None, TimingProfile::Embedded)]
    #[case::within_the_limits(Some("variant:starts-data-planes-late"), TimingProfile::Embedded)]
    #[case::beyond_them(Some("variant:waits-for-machines"), TimingProfile::Real)]
    #[case::beside_others(Some("ignores-reference-grants+variant:waits-for-machines"), TimingProfile::Real)]
    fn who_is_told_to_be_slow_is_given_time(#[case] names: Option<&str>, #[case] profile: TimingProfile) {
        let target = TargetChoice::embedded(Reference::GatewayApi, names.map(str::to_owned));
        assert_eq!(target.profile(), profile);
    }
}
