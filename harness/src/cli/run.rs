//! `gateproof run`: scenarios against a target, and reports of it.

use std::path::{Path, PathBuf};

use gateproof_apiserver::StartError;
use gateproof_report::record::RunRecord;
use gateproof_report::terminal::{self, printable};
use gateproof_testbed::TestbedError;

use super::baseline::{Baseline, BaselineArg};
use super::causes::{causes, to_rerun};
use super::each::Documents;
use super::options::{Selected, Selection, Target, connect_failure, known_failures};
use super::output::{self, Format, FormatArg, say, tell};
use super::progress::Reporter;
use super::report_dir::{OPTIONS, ReportDir, last_record};
use super::shard::Shard;
use super::tuning::Tuning;
use super::{
    Failure, Outcome, diagnose, interrupt, options_from, own, report, reports, reproduce, served, several, watch,
};
use crate::cluster::api::chain;
use crate::cluster::clean::Leftover;
use crate::cluster::discover::DiscoverError;
use crate::cluster::pod_logs::LogSource;
use crate::exit_codes;
use crate::run::origin::{self, Part};
use crate::run::{self, Preflight, RunError, RunOptions, RunOutput};
use crate::scenario::Scenario;

/// Run scenarios, write reports
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// Run one part of the selection alone, of as many as are named, such as 2/4; `report merge` puts all of them together
    #[arg(long, value_name = "PART/PARTS")]
    pub(crate) shard: Option<Shard>,

    /// Run the scenarios of PATH (a file or a folder), and again those that a change touches, until Ctrl-C: of their manifests, of files
    /// that the options name, and with --logs-from another start of the controller. The exit code is that of the last run, 130 if that was
    /// broken off, and 2 if it passed and a manifest with problems was left out
    #[arg(long, value_name = "PATH", conflicts_with_all = ["files", "shard", "rerun_failed", "baseline", "fail_fast"])]
    pub(crate) watch: Vec<PathBuf>,

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

    #[command(flatten)]
    pub(crate) baseline: BaselineArg,

    /// Do not ask first whether a named cluster can be tested; see `gateproof preflight`
    #[arg(long)]
    pub(crate) skip_preflight: bool,

    #[command(flatten)]
    pub(crate) format: FormatArg,

    #[command(flatten)]
    pub(crate) identity: reports::IdentityArgs,
}

const EXAMPLES: &str = "\
Examples:
  gateproof run
  gateproof run 'httproute-*' TCPRoute --jobs 8
  gateproof run GEP1364-41 --target embedded:ignores-reference-grants
  gateproof run --gateway-class my-class --context kind-dev --backend-address 172.18.0.1
  gateproof run --rerun-failed gateproof-report
  gateproof run --watch my-scenarios                          and again whatever is edited there, until Ctrl-C
  gateproof run --baseline last-green                         report.html begins with what is news
  gateproof run --shard 2/4 --report-dir part-2               a quarter of it, for one of four machines
  gateproof run --dialect gateway-api,kuadrant,aso
  gateproof run 'aso-*' KUADRANT-22 --dialect kuadrant,aso    each in the dialect that has it
  gateproof run --gateway-class my-class --known-failures known-failures.yaml";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ContractEffect {
    /// It fails
    Fail,
    /// It is only told
    Warn,
}

impl Args {
    /// Selects what is watched, and what is to be run again, if that was asked for. `false` if there is nothing.
    pub(crate) fn select_again(&mut self) -> Result<bool, Failure> {
        self.selection.files.extend(self.watch.iter().cloned());
        let Some(dir) = &self.rerun_failed else { return Ok(true) };
        let record = report::read_record(&last_record(dir)?)?;
        let (was, is) = (record.target.edition.as_deref(), self.selection.dialect.edition.as_deref());
        if let Some(was) = was.filter(|was| is.is_some_and(|is| is != *was)) {
            let problem = format!("the run in {} was of the edition {was}", dir.display());
            return Err(Failure::usage(problem, format!("run it again with --edition {was}; nothing was applied")));
        }
        self.selection.dialect.edition = was.map(str::to_owned);
        let again = to_rerun(&record);
        if again.is_empty() {
            tell!("everything passed in {}; nothing to run again", dir.display());
            return Ok(false);
        }
        self.selection.selectors.extend(again);
        Ok(true)
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args) -> Outcome {
    if args.selection.dialect.are_several() {
        return several::run(&args).await;
    }
    if !args.watch.is_empty() {
        return watch::run(args).await;
    }
    let mut dir = ReportDir::at(&args.report_dir);
    let outcome = one(args, &mut dir).await;
    if let Err(failure) = &outcome {
        dir.broken_off(failure);
    }
    outcome
}

async fn one(mut args: Args, dir: &mut ReportDir) -> Outcome {
    // What is read here may stand in the directory that is taken next.
    if !args.select_again()? {
        return Ok(exit_codes::PASSED);
    }
    let suite = args.selection.dialect.suite()?;
    let baseline = args.baseline.read(suite.dialect.name())?;
    args.tuning.read_features(&suite)?;
    dir.take()?;
    let prepared = prepared(args, baseline).await?;
    interrupt::clean_up_on_ctrl_c(&prepared.options)?;
    carried_out(prepared, dir, Reporter::new(), &mut Documents::default()).await
}

/// A run whose arguments are read, and mean something.
pub(super) struct Prepared {
    args: Args,
    baseline: Option<Baseline>,
    /// What they come to.
    pub(super) options: RunOptions,
    /// What is selected.
    pub(super) scenarios: Vec<Scenario>,
}

/// Reads the arguments of a run for one dialect, but for the run before, which is read by now.
pub(super) async fn prepared(args: Args, baseline: Option<Baseline>) -> Result<Prepared, Failure> {
    let selected = args.selection.among_all()?;
    prepared_of(args, baseline, selected).await
}

/// The same of what is selected already.
pub(super) async fn prepared_of(
    mut args: Args,
    baseline: Option<Baseline>,
    Selected { suite, chosen, all }: Selected,
) -> Result<Prepared, Failure> {
    let part = args.shard.map(|shard| Part { part: shard.part, parts: shard.parts, whole: origin::manifests(&chosen) });
    let scenarios = match args.shard {
        Some(shard) if shard.parts > chosen.len() => return Err(too_many(shard, chosen.len())),
        Some(shard) => shard.of(chosen),
        None => chosen,
    };
    let mut options = args.target.options(&suite).await?;
    args.tuning.apply(&mut options, &all, &suite)?;
    served::hold(&suite, &args.selection.files, &scenarios, &options).await?;
    if let Some(file) = &args.known_failures {
        options.known_failures = known_failures(file, &all, &suite)?;
    }
    own::of_identity(&args.identity, &suite)?;
    options.unselected = args.selection.left_out(&scenarios, all)?;
    options.preflight &= !args.skip_preflight;
    options.logs_from.clone_from(&args.logs_from);
    options.arguments = reproduce::arguments(&args);
    let unreadable = |error| Failure::usage(error, "nothing was applied");
    options.suite = Some(suite.digest().map_err(unreadable)?);
    options.part = part;
    Ok(Prepared { args, baseline, options, scenarios })
}

fn too_many(shard: Shard, selected: usize) -> Failure {
    let problem = format!("--shard {shard}: {selected} scenarios are selected, so some of the parts would have none");
    Failure::usage(problem, format!("name at most {selected} parts; nothing was applied"))
}

/// Carries it out, with reports in this directory.
pub(super) async fn carried_out(
    prepared: Prepared,
    dir: &mut ReportDir,
    mut reporter: Reporter,
    documents: &mut Documents,
) -> Outcome {
    let Prepared { args, baseline, mut options, scenarios } = prepared;
    dir.begin()?;
    options.events_file = Some(dir.events_file()?);
    options.took = dir.took(&options.target.name());
    if let Some(text) = options_from::file(&options.arguments) {
        dir.write(&[OPTIONS], &text)?;
        options.options_file = Some(args.report_dir.join(OPTIONS).display().to_string());
    }
    reporter.watch(&options.waits);
    let output = match run::run(options, scenarios, &mut reporter).await {
        Err(RunError::Interrupted) => {
            tell!("interrupted before anything was applied");
            return Ok(exit_codes::INTERRUPTED);
        }
        output => output.map_err(run_failure)?,
    };
    reporter.finish();
    reports::write(dir, &output, &args.identity, baseline.as_ref())?;
    dir.finish()?;

    if args.format.format == Format::Json {
        documents.json(&output.record)?;
    } else {
        output::out(format_args!("{}", terminal::summary(&output.record)));
        diagnose::after(&output.record)?;
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
            let message = format!("{}{}", preflight_text(&failed.preflight), left_behind(&failed.leftovers));
            let all_the_same = match failed.preflight.unknown {
                true => "",
                false => " --skip-preflight runs the scenarios all the same.",
            };
            Failure::environment(message, format!("{next}\nNothing was judged.{all_the_same}"))
        }
        RunError::Canary(failed) => {
            let next = failed.preflight.failure().and_then(|check| check.next.clone()).unwrap_or_default();
            Failure::usage(format!("{}{}", preflight_text(&failed.preflight), left_behind(&failed.leftovers)), next)
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

fn left_behind(left: &[Leftover]) -> String {
    left.iter().map(|left| format!("\nleft behind: {}: {}", left.object, left.diagnosis)).collect()
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
