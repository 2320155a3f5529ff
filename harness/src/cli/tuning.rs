//! Options that `run`, `plan` and `preflight` share: how a run goes about it.

use std::net::IpAddr;
use std::path::PathBuf;

use super::own::{Needs, Own};
use super::{Failure, claims, own};
use crate::cluster::dial::DialRule;
use crate::cluster::discover::GivenBundle;
use crate::cluster::forward::{Behind, ServiceName};
use crate::cluster::proxy::Proxy;
use crate::cluster::shape::Ports;
use crate::log::{Timing, TimingProfile};
use crate::run::options::DEFAULT_MAX_GATEWAYS;
use crate::run::{self, FeatureChoice, Keep, RunOptions, Skip, Unsaid};
use crate::scenario::pattern::matches;
use crate::scenario::{Channel, Scenario, Version};
use crate::suite::Suite;

/// The image of deployed backends on the embedded target, which needs no registry.
const EMBEDDED_IMAGE: &str = "gateproof-echo";

/// How a run goes about it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Tuning {
    /// Scenarios at once; most of their time is waiting
    #[arg(long, value_name = "N", default_value_t = run::options::DEFAULT_JOBS)]
    pub(crate) jobs: usize,
    /// Stop at the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Run each scenario N times; of many that pass alike some are listed, and all are counted
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: u32,
    /// The table of time limits to start from; that of the target's kind unless given
    #[arg(long, value_enum)]
    pub(crate) timing: Option<TimingArg>,
    /// Judge a wrong status once it stands still, for a quick look: such a run is no ground for a ConformanceReport
    #[arg(long)]
    pub(crate) impatient: bool,
    /// Multiply every time budget
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    pub(crate) timeout_scale: f64,
    /// Reach HOST:PORT by way of ADDR:PORT; `*` matches or keeps anything, +N adds to the port
    #[arg(long, value_name = "HOST:PORT=ADDR:PORT")]
    pub(crate) dial: Vec<DialRule>,
    /// Reach the data path by way of this HTTP proxy (CONNECT), after the rules of --dial
    #[arg(long, value_name = "http://HOST:PORT")]
    pub(crate) dial_proxy: Option<Proxy>,
    /// Reach the data path by port-forward through the API server: to a Pod of the Service that has the Gateway's address, or of this one
    #[arg(
        long,
        value_name = "NAMESPACE/SERVICE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["dial", "dial_proxy"],
    )]
    pub(crate) port_forward: Option<Option<ServiceName>>,
    /// Ports that Gateways may use, such as http=80,8080 or tcp=9000-9010
    #[arg(long, value_name = "PROTOCOL=PORTS")]
    pub(crate) ports: Vec<String>,
    /// Hold the target to these features instead of those that its GatewayClass claims
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', conflicts_with = "all_features")]
    pub(crate) features: Vec<String>,
    /// The same, with what a ConformanceReport says of it: a published one, or conformance-report.yaml of another run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["features", "all_features"])]
    pub(crate) features_from: Option<PathBuf>,
    /// The release that --features is of: of what came later it says nothing, so nothing is asked of who does without. A report has one
    #[arg(long, value_name = "VERSION", requires = "features")]
    pub(crate) features_as_of: Option<Version>,
    /// Hold the target to every feature, but for those that ask less of it
    #[arg(long)]
    pub(crate) all_features: bool,
    /// Do not hold the target to these features
    #[arg(long, value_name = "FEATURE", value_delimiter = ',')]
    pub(crate) exempt_features: Vec<String>,
    /// Judge by this release of Gateway API instead of that of the installed CRDs; what they lack is not supported
    #[arg(long, value_name = "VERSION")]
    pub(crate) gateway_api_version: Option<Version>,
    /// Judge by this channel of that release instead of that of the installed CRDs
    #[arg(long, value_enum, requires = "gateway_api_version")]
    pub(crate) gateway_api_channel: Option<ChannelArg>,
    /// Leave scenarios out, as GLOB or GLOB=REASON
    #[arg(long, value_name = "GLOB[=REASON]")]
    pub(crate) skip: Vec<String>,
    /// Merge this YAML file into every Gateway that is applied
    #[arg(long, value_name = "FILE")]
    pub(crate) gateway_patch: Option<PathBuf>,
    /// Label for every namespace that is created
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) namespace_label: Vec<String>,
    /// Most pool Gateways of one shape for scenarios that need one for themselves
    #[arg(long, value_name = "N", default_value_t = run::options::DEFAULT_MAX_GATEWAYS)]
    pub(crate) max_gateways: usize,
    /// Another GatewayClass of the same controller that takes one Gateway only, for scenarios on a full target
    #[arg(long, value_name = "NAME")]
    pub(crate) single_gateway_class: Option<String>,
    /// An address that Gateways may ask for in spec.addresses and nobody has, for scenarios about that: of type IPAddress
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) usable_address: Option<IpAddr>,
    /// Leave objects in the cluster
    #[arg(long, value_enum, default_value_t = KeepArg::Never)]
    pub(crate) keep: KeepArg,
    /// Permit scenarios that change cluster-scoped objects of a named cluster
    #[arg(long)]
    pub(crate) allow_cluster_changes: bool,
    /// Where the backends run
    #[arg(long, value_enum, default_value_t = BackendsArg::Hosted)]
    pub(crate) backends: BackendsArg,
    /// Address of this host that the data plane reaches, for hosted backends; once for IPv4 and once for IPv6 to test dual stack
    #[arg(long, value_name = "IP")]
    pub(crate) backend_address: Vec<IpAddr>,
    /// Image of deployed backends, built from images/Dockerfile and there for the cluster to pull
    #[arg(long, value_name = "IMAGE")]
    pub(crate) backend_image: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BackendsArg {
    /// In this process, where the data plane has to reach it
    Hosted,
    /// In the cluster, as Deployments of --backend-image
    Deployed,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum KeepArg {
    /// Clean up everything
    Never,
    /// Leave what failed
    OnFailure,
    /// Leave everything
    Always,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum TimingArg {
    /// For a target that answers within milliseconds, such as `gateproof testbed`
    Embedded,
    /// For a cluster; budgets are those of upstream's suite
    Real,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum ChannelArg {
    /// Kinds and fields that are kept
    Standard,
    /// Everything
    Experimental,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(factor),
        _ => Err("must be a number above 0".to_owned()),
    }
}

/// What means something in some dialects alone.
const OWN: [Own<Tuning>; 11] = [
    Own {
        name: "--single-gateway-class",
        needs: Needs::Class,
        is_given: |tuning| tuning.single_gateway_class.is_some(),
        leave: |tuning| tuning.single_gateway_class = None,
    },
    Own {
        name: "--usable-address",
        needs: Needs::Class,
        is_given: |tuning| tuning.usable_address.is_some(),
        leave: |tuning| tuning.usable_address = None,
    },
    Own {
        name: "--gateway-patch",
        needs: Needs::Entry,
        is_given: |tuning| tuning.gateway_patch.is_some(),
        leave: |tuning| tuning.gateway_patch = None,
    },
    Own {
        name: "--ports",
        needs: Needs::Entry,
        is_given: |tuning| !tuning.ports.is_empty(),
        leave: |tuning| tuning.ports.clear(),
    },
    Own {
        name: "--max-gateways",
        needs: Needs::Entry,
        is_given: |tuning| tuning.max_gateways != DEFAULT_MAX_GATEWAYS,
        leave: |tuning| tuning.max_gateways = DEFAULT_MAX_GATEWAYS,
    },
    Own {
        name: "--dial",
        needs: Needs::Entry,
        is_given: |tuning| !tuning.dial.is_empty(),
        leave: |tuning| tuning.dial.clear(),
    },
    Own {
        name: "--dial-proxy",
        needs: Needs::Entry,
        is_given: |tuning| tuning.dial_proxy.is_some(),
        leave: |tuning| tuning.dial_proxy = None,
    },
    Own {
        name: "--port-forward",
        needs: Needs::Entry,
        is_given: |tuning| tuning.port_forward.is_some(),
        leave: |tuning| tuning.port_forward = None,
    },
    Own {
        name: "--features-from",
        needs: Needs::Reports,
        is_given: |tuning| tuning.features_from.is_some(),
        leave: |tuning| tuning.features_from = None,
    },
    Own {
        name: "--features-as-of",
        needs: Needs::Releases,
        is_given: |tuning| tuning.features_as_of.is_some(),
        leave: |tuning| tuning.features_as_of = None,
    },
    Own {
        name: "--gateway-api-version",
        needs: Needs::Releases,
        is_given: |tuning| tuning.gateway_api_version.is_some(),
        leave: |tuning| {
            tuning.gateway_api_version = None;
            tuning.gateway_api_channel = None;
        },
    },
];

impl Tuning {
    /// Refuses what means nothing in a dialect.
    pub(super) fn is_of(&self, suite: &Suite) -> Result<(), Failure> {
        own::foreign(&OWN, self, &suite.dialect)?;
        self.gateway_api_version.map_or(Ok(()), |version| own::known_release("--gateway-api-version", version, suite))
    }

    /// Leaves to one of several dialects what means something in it. What means nothing in any of them stays, and is refused.
    pub(super) fn keep(&mut self, ours: &Suite, all: &[&Suite]) {
        own::keep(&OWN, self, ours, all);
        let has = |suite: &Suite, name: &str| suite.vocabulary.features.contains(suite.current_feature(name));
        for features in [&mut self.features, &mut self.exempt_features] {
            features.retain(|name| own::is_ours(ours, all, |suite| has(suite, name)));
        }
    }

    /// Applies the arguments to options. `all` are all scenarios of the suite, selected or not.
    pub(crate) fn apply(&mut self, options: &mut RunOptions, all: &[Scenario], suite: &Suite) -> Result<(), Failure> {
        if self.port_forward.is_some() && options.target.is_embedded() {
            let help = match suite.dialect.class() {
                Some(class) => format!("name its {} with --gateway-class", class.kind),
                None => "name it with --context or --kubeconfig".to_owned(),
            };
            return Err(Failure::usage("--port-forward goes through the API server of a named cluster", help));
        }
        self.read_features(suite)?;
        options.jobs = self.jobs.max(1);
        options.fail_fast = self.fail_fast;
        options.repeat = self.repeat;
        options.timing = self.timing.map(|timing| match timing {
            TimingArg::Embedded => Timing::of(TimingProfile::Embedded),
            TimingArg::Real => Timing::of(TimingProfile::Real),
        });
        options.impatient = self.impatient;
        options.timeout_scale = self.timeout_scale;
        options.dial = self.dial.clone();
        options.dial_proxy.clone_from(&self.dial_proxy);
        options.port_forward = self.port_forward.clone().map(|named| named.map_or(Behind::Address, Behind::Service));
        options.ports = ports(&self.ports)?;
        options.features = self.features(suite)?;
        options.unsaid = self.features_as_of.map(|release| Unsaid { release, features: claims::newer_than(release) });
        options.exempt = known_features(&self.exempt_features, suite)?;
        options.skip = self.skip.iter().map(|text| skip(text, all)).collect::<Result<_, Failure>>()?;
        options.gateway_patch = self.gateway_patch.as_ref().map(yaml_file).transpose()?;
        options.namespace_labels =
            self.namespace_label.iter().map(|text| label(text)).collect::<Result<_, Failure>>()?;
        options.max_gateways = self.max_gateways.max(1);
        options.single_gateway_class.clone_from(&self.single_gateway_class);
        options.usable_address = self.usable_address.map(|address| address.to_string());
        options.keep = match self.keep {
            KeepArg::Never => Keep::Never,
            KeepArg::OnFailure => Keep::OnFailure,
            KeepArg::Always => Keep::Always,
        };
        options.allow_cluster_changes = self.allow_cluster_changes;
        options.backend_addresses.clone_from(&self.backend_address);
        options.backend_image = self.backend_image(options.target.is_embedded())?;
        let channel = self.gateway_api_channel.map(|channel| match channel {
            ChannelArg::Standard => Channel::Standard,
            ChannelArg::Experimental => Channel::Experimental,
        });
        options.bundle = self.gateway_api_version.map(|version| GivenBundle { version, channel });
        Ok(())
    }

    /// The image of deployed backends, if they are deployed. The embedded target runs any image of our name.
    fn backend_image(&self, embedded: bool) -> Result<Option<String>, Failure> {
        match (self.backends, &self.backend_image) {
            (BackendsArg::Hosted, None) => Ok(None),
            (BackendsArg::Hosted, Some(_)) => Err(Failure::usage(
                "--backend-image is for deployed backends",
                "add --backends deployed, or leave it out: hosted backends run in this process",
            )),
            (BackendsArg::Deployed, _) if !self.backend_address.is_empty() => Err(Failure::usage(
                "--backend-address is for hosted backends",
                "leave it out: deployed backends have the addresses of their Pods",
            )),
            (BackendsArg::Deployed, Some(image)) => Ok(Some(image.clone())),
            (BackendsArg::Deployed, None) if embedded => Ok(Some(EMBEDDED_IMAGE.to_owned())),
            (BackendsArg::Deployed, None) => Err(Failure::usage(
                "--backends deployed needs --backend-image IMAGE: none is published yet",
                "build one with `docker build -f images/Dockerfile -t REGISTRY/gateproof .`, and push it to where the cluster pulls",
            )),
        }
    }

    /// Reads the report that names the features, from then on as if they had been named themselves. Refuses what means nothing in the
    /// dialect before.
    pub(crate) fn read_features(&mut self, suite: &Suite) -> Result<(), Failure> {
        self.is_of(suite)?;
        let Some(file) = self.features_from.take() else { return Ok(()) };
        let claims = claims::read(&file)?;
        self.features = claims.features;
        self.features_as_of = claims.release.filter(|release| !claims::newer_than(*release).is_empty());
        Ok(())
    }

    fn features(&self, suite: &Suite) -> Result<FeatureChoice, Failure> {
        if self.all_features {
            let is_limit = |name: &&String| suite.features.iter().any(|one| one.limit && one.name == **name);
            let all = suite.vocabulary.features.iter().filter(|name| !is_limit(name));
            return Ok(FeatureChoice::Only(all.cloned().collect()));
        }
        if self.features.is_empty() {
            return Ok(FeatureChoice::Claimed);
        }
        known_features(&self.features, suite).map(FeatureChoice::Only)
    }
}

fn known_features(names: &[String], suite: &Suite) -> Result<Vec<String>, Failure> {
    let known = &suite.vocabulary.features;
    let mut found = Vec::new();
    for name in names.iter().map(|name| suite.current_feature(name)) {
        if !known.contains(name) {
            let near = crate::scenario::suggest(name, known.iter().map(String::as_str));
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = match known.is_empty() {
                true => format!("{} has none", suite.dialect.title()),
                false => format!("{near}`gateproof list features` shows all"),
            };
            return Err(Failure::usage(format!("there is no feature `{name}`"), help));
        }
        found.push(name.to_owned());
    }
    Ok(found)
}

fn ports(texts: &[String]) -> Result<Ports, Failure> {
    let mut ports = Ports::default();
    for text in texts {
        ports
            .set(text)
            .map_err(|error| Failure::usage(error, "for example: --ports http=80,8080 --ports tcp=9000-9010"))?;
    }
    Ok(ports)
}

/// What `--skip TEXT` leaves out of these scenarios.
///
/// # Errors
/// If it is none of them.
pub(super) fn skip(text: &str, all: &[Scenario]) -> Result<Skip, Failure> {
    let (pattern, reason) = text.split_once('=').unwrap_or((text, "left out with --skip"));
    if all.iter().any(|scenario| matches(pattern, &scenario.name)) {
        return Ok(Skip { pattern: pattern.to_owned(), reason: reason.to_owned() });
    }
    let near = crate::scenario::suggest(pattern, all.iter().map(|scenario| scenario.name.as_str()));
    let near = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let help = format!("{near}`gateproof list scenarios` shows what there is");
    Err(Failure::usage(format!("--skip: there is no scenario `{pattern}`"), help))
}

fn label(text: &str) -> Result<(String, String), Failure> {
    text.split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| Failure::usage(format!("`{text}` is not a label"), "write --namespace-label KEY=VALUE"))
}

fn yaml_file(file: &PathBuf) -> Result<serde_json::Value, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {error}", file.display()), "it must be one YAML mapping, such as `metadata: {…}`")
    };
    let value: serde_json::Value = serde_yaml::from_str(&text).map_err(|error| wrong(&error))?;
    if value.is_object() { Ok(value) } else { Err(wrong(&"this is no mapping")) }
}
