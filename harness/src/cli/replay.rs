//! `gateproof replay`: a recorded run, judged again.

use std::path::{Path, PathBuf};

use gateproof_report::record::RunRecord;
use gateproof_report::terminal;
use gateproof_report::words::counted;
use schemars::JsonSchema;
use serde::Serialize;

use super::causes::exit_code;
use super::dialect::DialectArg;
use super::log_file::{self, every_event, is_streamed};
use super::options::scenarios_of;
use super::output::{self, Format, FormatArg, say};
use super::recorded::logs_in;
use super::report_dir::{EVENTS, file_of};
use super::{Failure, Outcome, own};
use crate::run::releases::Unanswered;
use crate::run::replay::Replay;
use crate::run::survey::{Survey, Surveyed};
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
    let file = log_of(&args.log)?;
    let suite = args.dialect.suite()?;
    if let Some(version) = args.gateway_api_version {
        own::known_release("--gateway-api-version", version, &suite)?;
    }
    let scenarios = scenarios_of(&suite, &args.files)?;
    let wrong = |error| log_file::unfit(&file, &error);
    let judged = |mut replay: Replay<'_>| {
        every_event(&file, |event| replay.event(&event).map_err(wrong))?;
        replay.record().map_err(wrong)
    };
    let replay = Replay::new(&scenarios, &suite.contract, suite.preflight.as_deref());
    if let Some(version) = args.gateway_api_version {
        if is_streamed(&file) {
            let problem =
                format!("{} is no file, and a log is read twice to judge it as if at another release", file.display());
            return Err(Failure::usage(problem, "write it to a file, and name that"));
        }
        let mut survey = Survey::new(&suite.contract, version);
        every_event(&file, |event| survey.event(&event).map_err(wrong))?;
        let Surveyed { recorded_at, definitions, must_be_run } = survey.end(&scenarios).map_err(wrong)?;
        let record = judged(replay.at(version, &must_be_run))?;
        let at = AtRelease { recorded_at, record, must_be_run };
        return at_release(&at, definitions.as_deref(), version, args.format.format);
    }
    let record = judged(replay)?;
    if args.format.format == Format::Json {
        output::json(&record)?;
    } else {
        output::out(format_args!("{}", terminal::summary(&record)));
    }
    Ok(exit_code(&record, true))
}

/// The log of a run. One that was put together has several, and each says what has to be run of its own part.
fn log_of(path: &Path) -> Result<PathBuf, Failure> {
    let file = file_of(path, EVENTS)?;
    let parts = if path.is_dir() && !file.exists() { logs_in(path)? } else { Vec::new() };
    if parts.is_empty() {
        return Ok(file);
    }
    let names: Vec<String> = parts.iter().map(|part| part.display().to_string()).collect();
    let problem = format!("{} was put together of {}", path.display(), counted(parts.len(), "part", "parts"));
    Err(Failure::usage(problem, format!("name the log of one: {}", names.join(", "))))
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
