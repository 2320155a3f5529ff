//! `gateproof replay`: a recorded run, judged again.

use std::path::PathBuf;

use gateproof_report::terminal;

use super::options::{Selection, contract};
use super::run::exit_code;
use super::{Failure, Outcome};
use crate::log;
use crate::run::replay;

/// Judge a recorded run again, from its log
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gateproof replay gateproof-report")]
pub(crate) struct Args {
    /// The report directory of a run, or its events.jsonl
    log: PathBuf,
    #[command(flatten)]
    selection: Selection,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let file = if args.log.is_dir() { args.log.join("events.jsonl") } else { args.log.clone() };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display()), "name a report directory")
    })?;
    let events = log::codec::read(&text).map_err(|error| {
        Failure::usage(format!("{}: {error}", file.display()), "name the report directory of a run that ended")
    })?;
    let scenarios = args.selection.scenarios()?;
    let record = replay::replay(&events, &scenarios, &contract()?).map_err(|error| {
        Failure::usage(format!("{}: {error}", file.display()), "replay with the manifests that were run")
    })?;
    print!("{}", terminal::summary(&record));
    Ok(exit_code(&record, true))
}
