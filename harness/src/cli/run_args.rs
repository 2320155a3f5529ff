//! What `gateproof run` is asked.

use std::path::PathBuf;

use super::Failure;
use super::baseline::BaselineArg;
use super::causes::to_rerun;
use super::given::read_record;
use super::options::{Selection, Target};
use super::output::{FormatArg, tell};
use super::report_dir::last_record;
use super::reports::IdentityArgs;
use super::shard::Shard;
use super::tuning::Tuning;
use crate::cluster::pod_logs::LogSource;

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
    pub(crate) identity: IdentityArgs,
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
        let record = read_record(&last_record(dir)?)?;
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
