//! `gateproof run`: scenarios against a target, and reports of it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use gateproof_apiserver::StartError;
use gateproof_report::record::RunRecord;
use gateproof_report::terminal::{self, printable};
use gateproof_testbed::TestbedError;

use super::causes::{causes, to_rerun};
use super::options::{Selection, Target, known_failures};
use super::output::{self, Format, FormatArg, say, tell};
use super::progress::Reporter;
use super::report_dir::{OPTIONS, ReportDir, last_record};
use super::{Failure, Outcome, claims, interrupt, options_from, report, reports, reproduce};
use crate::exit_codes;
use crate::log::{Timing, TimingProfile};
use crate::run::{self, FeatureChoice, Keep, Preflight, RunError, RunOptions, RunOutput, Skip};
use crate::scenario::pattern::matches;
use crate::scenario::{Channel, Scenario, Version};
use crate::target::api::chain;
use crate::target::connect::ConnectError;
use crate::target::dial::DialRule;
use crate::target::discover::{DiscoverError, GivenBundle};
use crate::target::forward::{Behind, ServiceName};
use crate::target::pod_logs::LogSource;
use crate::target::proxy::Proxy;
use crate::target::shape::Ports;

/// Run scenarios, write reports
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// Where reports go
    #[arg(long, value_name = "DIR", default_value = "gateproof-report")]
    pub(crate) report_dir: PathBuf,

    /// Run only what kept the exit code of the run whose reports are in DIR from 0
    #[arg(long, value_name = "DIR")]
    pub(crate) rerun_failed: Option<PathBuf>,

    /// More options from a file, one word a line, such as the one of a report directory
    #[arg(long, value_name = "FILE")]
    pub(crate) options_from: Option<PathBuf>,

    /// What a broken MUST of the status contract does to the run
    #[arg(long, value_enum, default_value_t = ContractEffect::Fail)]
    pub(crate) contract: ContractEffect,

    /// Logs of the controller's Pods as evidence of failures: a namespace and a label selector
    #[arg(long, value_name = "NAMESPACE/SELECTOR")]
    pub(crate) logs_from: Option<LogSource>,

    /// Failures that do not fail the run, with reason and last day; see `gateproof schema known-failures`
    #[arg(long, value_name = "FILE")]
    pub(crate) known_failures: Option<PathBuf>,

    /// Do not ask first whether a named cluster can be tested; see `gateproof preflight`
    #[arg(long)]
    pub(crate) skip_preflight: bool,

    #[command(flatten)]
    pub(crate) format: FormatArg,

    #[command(flatten)]
    pub(crate) identity: reports::IdentityArgs,
}

/// The image of deployed backends on the embedded target, which needs no registry.
const EMBEDDED_IMAGE: &str = "gateproof-echo";

const EXAMPLES: &str = "\
Examples:
  gateproof run
  gateproof run 'httproute-*' TCPRoute --jobs 8
  gateproof run GEP1364-41 --target embedded:ignores-reference-grants
  gateproof run --gateway-class my-class --context kind-dev --backend-address 172.18.0.1
  gateproof run --rerun-failed gateproof-report
  gateproof run --gateway-class my-class --known-failures known-failures.yaml";

/// How a run goes about it.
#[derive(Debug, clap::Args)]
pub(crate) struct Tuning {
    /// Scenarios at once; most of their time is waiting
    #[arg(long, value_name = "N", default_value_t = run::options::DEFAULT_JOBS)]
    pub(crate) jobs: usize,
    /// Stop at the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Run each scenario N times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: u32,
    /// The table of time limits to start from; that of the target's kind unless given
    #[arg(long, value_enum)]
    pub(crate) timing: Option<TimingArg>,
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
    /// Hold the target to every feature
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ContractEffect {
    /// It fails
    Fail,
    /// It is only told
    Warn,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor.is_finite() => Ok(factor),
        _ => Err("must be a number above 0".to_owned()),
    }
}

impl Args {
    /// Selects what is to be run again, if that was asked for. `false` if there is nothing.
    pub(crate) fn select_again(&mut self) -> Result<bool, Failure> {
        let Some(dir) = &self.rerun_failed else { return Ok(true) };
        let again = to_rerun(&report::read_record(&last_record(dir)?)?);
        if again.is_empty() {
            tell!("everything passed in {}; nothing to run again", dir.display());
            return Ok(false);
        }
        self.selection.selectors.extend(again);
        Ok(true)
    }
}

impl Tuning {
    /// Applies the arguments to options. `all` are all scenarios, selected or not.
    pub(crate) fn apply(&mut self, options: &mut RunOptions, all: &[Scenario]) -> Result<(), Failure> {
        if self.port_forward.is_some() && options.target.is_embedded() {
            return Err(Failure::usage(
                "--port-forward goes through the API server of a named cluster",
                "name its GatewayClass with --gateway-class",
            ));
        }
        self.read_features()?;
        options.jobs = self.jobs.max(1);
        options.fail_fast = self.fail_fast;
        options.repeat = self.repeat;
        options.timing = self.timing.map(|timing| match timing {
            TimingArg::Embedded => Timing::of(TimingProfile::Embedded),
            TimingArg::Real => Timing::of(TimingProfile::Real),
        });
        options.timeout_scale = self.timeout_scale;
        options.dial = self.dial.clone();
        options.dial_proxy.clone_from(&self.dial_proxy);
        options.port_forward = self.port_forward.clone().map(|named| named.map_or(Behind::Address, Behind::Service));
        options.ports = ports(&self.ports)?;
        options.features = self.features()?;
        options.exempt = known_features(&self.exempt_features)?;
        options.skip = self.skip.iter().map(|text| skip(text, all)).collect::<Result<_, Failure>>()?;
        options.gateway_patch = self.gateway_patch.as_ref().map(yaml_file).transpose()?;
        options.namespace_labels =
            self.namespace_label.iter().map(|text| label(text)).collect::<Result<_, Failure>>()?;
        options.max_gateways = self.max_gateways.max(1);
        options.single_gateway_class.clone_from(&self.single_gateway_class);
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

    /// Reads the report that names the features, from then on as if they had been named themselves.
    fn read_features(&mut self) -> Result<(), Failure> {
        if let Some(file) = self.features_from.take() {
            self.features = claims::read(&file)?;
        }
        Ok(())
    }

    fn features(&self) -> Result<FeatureChoice, Failure> {
        if self.all_features {
            return Ok(FeatureChoice::All);
        }
        if self.features.is_empty() {
            return Ok(FeatureChoice::Claimed);
        }
        known_features(&self.features).map(FeatureChoice::Only)
    }
}

fn known_features(names: &[String]) -> Result<Vec<String>, Failure> {
    let names: Vec<&str> = names.iter().map(|name| gateproof_suites::current_name(name)).collect();
    let known = || gateproof_suites::features().iter().map(|feature| &*feature.name);
    for name in &names {
        if !known().any(|feature| feature == *name) {
            let near = crate::scenario::suggest(name, known()).map(|n| format!("did you mean `{n}`? "));
            let help = format!("{}`gateproof list features` shows all", near.unwrap_or_default());
            return Err(Failure::usage(format!("there is no feature `{name}`"), help));
        }
    }
    Ok(names.into_iter().map(str::to_owned).collect())
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

fn skip(text: &str, all: &[Scenario]) -> Result<Skip, Failure> {
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

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    let mut dir = ReportDir::at(&args.report_dir);
    let outcome = run_into(args, &mut dir).await;
    if let Err(failure) = &outcome {
        dir.broken_off(failure);
    }
    outcome
}

async fn run_into(mut args: Args, dir: &mut ReportDir) -> Outcome {
    // What is read here may stand in the directory that is taken next.
    if !args.select_again()? {
        return Ok(exit_codes::PASSED);
    }
    args.tuning.read_features()?;
    dir.take()?;
    let (scenarios, all) = args.selection.among_all()?;
    let mut options = args.target.options().await?;
    args.tuning.apply(&mut options, &all)?;
    if let Some(file) = &args.known_failures {
        options.known_failures = known_failures(file, &all, &options.contract)?;
    }
    options.unselected = args.selection.left_out(&scenarios, all)?;
    options.preflight &= !args.skip_preflight;
    options.logs_from.clone_from(&args.logs_from);
    options.arguments = reproduce::arguments(&args);
    dir.begin()?;
    options.events_file = Some(dir.events_file()?);
    if let Some(text) = options_from::file(&options.arguments) {
        dir.write(&[OPTIONS], &text)?;
        options.options_file = Some(args.report_dir.join(OPTIONS).display().to_string());
    }
    interrupt::clean_up_on_ctrl_c(&options)?;

    let mut reporter = Reporter::new();
    let output = match run::run(options, scenarios, &mut reporter).await {
        Err(RunError::Interrupted) => {
            tell!("interrupted before anything was applied");
            return Ok(exit_codes::INTERRUPTED);
        }
        output => output.map_err(run_failure)?,
    };
    reporter.finish();
    reports::write(dir, &output, &args.identity)?;
    dir.finish()?;

    if args.format.format == Format::Json {
        output::json(&output.record)?;
    } else {
        output::out(format_args!("{}", terminal::summary(&output.record)));
    }
    tell(&output, &args.report_dir, args.format.format);
    Ok(exit_code(&output.record, args.contract == ContractEffect::Fail))
}

/// What a person may want to know beside the record.
fn tell(output: &RunOutput, report_dir: &Path, format: Format) {
    let mut lines = Vec::new();
    for leftover in &output.leftovers {
        lines.push(format!("left behind: {}: {}", printable(&leftover.object), printable(&leftover.diagnosis)));
    }
    if !output.leftovers.is_empty() {
        lines.push("`gateproof clean` removes what is left behind, once whatever holds it lets go".to_owned());
    }
    if !output.kept.is_empty() {
        lines.push("kept for you to look at; `gateproof clean` removes it later:".to_owned());
        lines.extend(output.kept.iter().map(|name| format!("  kubectl get all,gateways,httproutes -n {name}")));
    }
    lines.push(format!("reports: {}", report_dir.display()));
    for line in lines {
        match format {
            Format::Text => say!("{line}"),
            // Standard output holds one document and nothing else.
            Format::Json => tell!("{line}"),
        }
    }
}

/// Why a run did not come to a record, with the blame where it belongs.
pub(crate) fn run_failure(error: RunError) -> Failure {
    match error {
        RunError::Embedded(TestbedError::ApiServer(StartError::Definition(_))) => {
            Failure::usage(error, "the definitions given with --crds cannot be served; nothing was applied")
        }
        RunError::Connect(error) => connect_failure(&error),
        RunError::Discover(
            error @ (DiscoverError::ClassMissing { .. }
            | DiscoverError::ForeignClass { .. }
            | DiscoverError::Bundle { .. }),
        ) => Failure::usage(error, "nothing was applied"),
        RunError::Preflight(failed) => {
            let next = failed.preflight.failure().and_then(|check| check.next.clone()).unwrap_or_default();
            let left =
                failed.leftovers.iter().map(|left| format!("\nleft behind: {}: {}", left.object, left.diagnosis));
            let message = format!("{}{}", preflight_text(&failed.preflight), left.collect::<String>());
            let all_the_same = match failed.preflight.unknown {
                true => "",
                false => " --skip-preflight runs the scenarios all the same.",
            };
            Failure::environment(message, format!("{next}\nNothing was judged.{all_the_same}"))
        }
        RunError::Shared { .. } => {
            Failure::usage(error, "name it ${name:alias}, which is unique to run and scenario; nothing was applied")
        }
        RunError::ClassSilent { .. } => Failure::environment(
            error,
            "start the controller, or name the features with --features; nothing was applied",
        ),
        RunError::Dial(_) | RunError::Shape { .. } | RunError::NoFeatures { .. } => {
            Failure::usage(error, "nothing was applied")
        }
        other => {
            Failure::environment(chain(&other), "nothing was judged; run again with GATEPROOF_LOG=debug to see more")
        }
    }
}

/// Why a cluster cannot be reached: what the user wrote, or what answers.
pub(crate) fn connect_failure(error: &ConnectError) -> Failure {
    let help = "nothing was applied";
    match error {
        ConnectError::Kubeconfig(_) | ConnectError::ContextMissing { .. } | ConnectError::Credentials(_) => {
            Failure::usage(error, help)
        }
        ConnectError::Unreachable { .. } | ConnectError::Forbidden { .. } | ConnectError::NotAnApiServer { .. } => {
            Failure::environment(error, help)
        }
    }
}

fn preflight_text(preflight: &Preflight) -> String {
    format!("the target cannot be tested\n{}", preflight.to_string().trim_end())
}

/// What the process says of a record.
pub(crate) fn exit_code(record: &RunRecord, contract_fails: bool) -> u8 {
    let causes = causes(record, contract_fails);
    let any = |code| causes.iter().any(|cause| cause.code == code);
    if record.interrupted {
        exit_codes::INTERRUPTED
    } else if any(exit_codes::FAILED) {
        exit_codes::FAILED
    } else if any(exit_codes::INCONCLUSIVE) {
        exit_codes::INCONCLUSIVE
    } else {
        exit_codes::PASSED
    }
}
