//! `gateproof replay`: a recorded run, judged again.

use std::path::PathBuf;

use gateproof_report::terminal;

use super::options::{contract, load_scenarios};
use super::output::{self, Format, FormatArg};
use super::report_dir::{EVENTS, file_of};
use super::run::exit_code;
use super::{Failure, Outcome};
use crate::log;
use crate::run::replay;
use crate::scenario::Vocabulary;

/// Judge a recorded run again, from its log
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof replay gateproof-report")]
pub(crate) struct Args {
    /// The report directory of a run, or its events.jsonl
    log: PathBuf,
    /// The scenario manifests that were run, if not the built-in ones
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let file = file_of(&args.log, EVENTS)?;
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display()), "name a report directory")
    })?;
    let events = log::codec::read(&text).map_err(|error| {
        Failure::usage(format!("{}: {error}", file.display()), "name the report directory of a run that ended")
    })?;
    let scenarios = load_scenarios(&args.files, &Vocabulary::builtin())?;
    let record = replay::replay(&events, &scenarios, &contract()?, None).map_err(|error| {
        Failure::usage(format!("{}: {error}", file.display()), "replay with the manifests that were run")
    })?;
    if args.format.format == Format::Json {
        output::json(&record)?;
    } else {
        output::out(format_args!("{}", terminal::summary(&record)));
    }
    Ok(exit_code(&record, true))
}
