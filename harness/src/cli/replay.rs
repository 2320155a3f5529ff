//! `gateproof replay`: a recorded run, judged again.

use std::path::PathBuf;

use gateproof_report::record::RunRecord;
use gateproof_report::terminal;
use schemars::JsonSchema;
use serde::Serialize;

use super::causes::exit_code;
use super::dialect::DialectArg;
use super::options::scenarios_of;
use super::output::{self, Format, FormatArg, say};
use super::recorded::UNREADABLE;
use super::report_dir::{EVENTS, file_of};
use super::{Failure, Outcome, own};
use crate::log;
use crate::run::releases::Unanswered;
use crate::run::replay;
use crate::scenario::Version;

/// Judge a recorded run again, from its log
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gateproof replay gateproof-report\n  gateproof replay gateproof-report --gateway-api-version v1.7    what would fail after the upgrade"
)]
pub(crate) struct Args {
    /// The report directory of a run, or its events.jsonl
    log: PathBuf,
    /// The scenario manifests that were run, if not the built-in ones
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Judge as if at this release of Gateway API; what has to be run to be known is listed
    #[arg(long, value_name = "VERSION")]
    gateway_api_version: Option<Version>,
    #[command(flatten)]
    dialect: DialectArg,
    #[command(flatten)]
    format: FormatArg,
}

/// A recorded run, judged as if at another release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AtRelease {
    /// The release that the run was of.
    recorded_at: String,
    /// What can be judged.
    record: RunRecord,
    /// What cannot, and why.
    must_be_run: Vec<Unanswered>,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let file = file_of(&args.log, EVENTS)?;
    let text = std::fs::read_to_string(&file).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display()), "name a report directory")
    })?;
    let events =
        log::codec::read(&text).map_err(|error| Failure::usage(format!("{}: {error}", file.display()), UNREADABLE))?;
    let suite = args.dialect.suite()?;
    if let Some(version) = args.gateway_api_version {
        own::known_release("--gateway-api-version", version, &suite)?;
    }
    let scenarios = scenarios_of(&suite, &args.files)?;
    let wrong = |error: replay::ReplayError| {
        let help = error.help();
        Failure::usage(format!("{}: {error}", file.display()), help)
    };
    let (contract, preflight) = (&suite.contract, suite.preflight.as_deref());
    let record = replay::replay(&events, &scenarios, contract, preflight, args.gateway_api_version).map_err(wrong)?;
    if let Some(version) = args.gateway_api_version {
        let must_be_run = replay::to_be_run(&events, &scenarios, &suite.dialect, version).map_err(wrong)?;
        let (recorded, definitions) = replay::releases_of(&events).map_err(wrong)?;
        let at = AtRelease { recorded_at: recorded.to_owned(), record, must_be_run };
        return at_release(&at, definitions, version, args.format.format);
    }
    if args.format.format == Format::Json {
        output::json(&record)?;
    } else {
        output::out(format_args!("{}", terminal::summary(&record)));
    }
    Ok(exit_code(&record, true))
}

fn at_release(at: &AtRelease, definitions: Option<&str>, version: Version, format: Format) -> Outcome {
    let code = exit_code(&at.record, true);
    if format == Format::Json {
        output::json(at)?;
        return Ok(code);
    }
    let open = at.must_be_run.len();
    let further = if open == 0 { String::new() } else { format!(", {open} must be run to be known") };
    output::out(format_args!("{}", terminal::summary_with(&at.record, &further)));
    let recorded = terminal::printable(&at.recorded_at);
    let from = match definitions {
        None => format!("so definitions and claims are those of {recorded}"),
        Some(definitions) => format!("with definitions of {}", terminal::printable(definitions)),
    };
    say!("judged as if at {version}; recorded at {recorded}, {from}");
    if open > 0 {
        say!("must be run to be known, {open}:");
        let cells = |one: &Unanswered| [format!("  {}", one.scenario), one.why.clone()];
        output::columns(&at.must_be_run.iter().map(cells).collect::<Vec<_>>());
    }
    Ok(code)
}
