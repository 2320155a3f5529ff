//! `gateproof report badge`: what a run came to, for a page.

use std::path::PathBuf;

use clap::ValueEnum;
use gateproof_report::badge::{Badge, Verdict};

use super::causes::{contract_failed, exit_code};
use super::{Outcome, given, output};
use crate::exit_codes;

/// Write a badge of a recorded run to standard output.
///
/// It says what the exit code of the run said, and of which release.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof report badge gateproof-report > badge.svg
  gateproof report badge gateproof-report --as json > badge.json    for img.shields.io/endpoint?url=…")]
pub(super) struct Args {
    /// The report directory of a run, or its record.json.
    record: PathBuf,
    /// As what
    #[arg(long = "as", value_enum, default_value_t = Form::Svg)]
    form: Form,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// An image
    Svg,
    /// What an endpoint of shields.io answers
    Json,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let record = given::read_record(&args.record)?;
    let verdict = match exit_code(&record, contract_failed(&record)) {
        exit_codes::PASSED => Verdict::Passed,
        exit_codes::FAILED => Verdict::Failed,
        exit_codes::INTERRUPTED => Verdict::BrokenOff,
        _ => Verdict::Inconclusive,
    };
    let badge = Badge::of(&record, verdict);
    match args.form {
        Form::Svg => output::out(format_args!("{}", badge.svg())),
        Form::Json => output::json(&badge)?,
    }
    Ok(exit_codes::PASSED)
}
