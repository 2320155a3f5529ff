//! `gateproof report diagnose`: what a run that failed looks like.

use std::path::PathBuf;

use gateproof_report::record::{ContractRecord, Outcome, RunRecord, ScenarioRecord};
use gateproof_report::terminal::printable;
use gateproof_report::words::counted;

use super::output::{self, Format, FormatArg, say};
use super::{Failure, given};
use crate::diagnosis::{Cause, Diagnosis, Doubt};
use crate::exit_codes;
use crate::kill::ShownBy;
use crate::suite::Suite;

/// Say which known mistakes would make a target fail as it did.
///
/// The faults of the reference are known by what fails first under each. A few of them that explain most of the failures are
/// named, with what they would have made fail and did not; if none do, what comes nearest. Of many mistakes at once little can be
/// told: `--only` asks of a part of what failed by itself.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gateproof report diagnose gateproof-report\n  gateproof report diagnose gateproof-report --only 'grpcroute-missing-*' --only contract/GRPCRoute/entry-unique"
)]
pub(super) struct Args {
    /// The report directory of a run, or its record.json.
    record: PathBuf,
    /// Of what failed ask of these scenarios and rules alone, as globs; what passed still speaks against a fault. Several may be given.
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> super::Outcome {
    let record = given::read_record(&args.record)?;
    let dialect = &record.target.dialect;
    let Some(suite) = built_in(&record)? else {
        let problem = format!("no faults are known of the dialect `{dialect}`");
        return Err(Failure::usage(problem, "those of built-in dialects with a reference are known"));
    };
    let found = of(&record, &args.only, &suite)?;
    match (args.format.format, &found) {
        (Format::Json, _) => output::json(&found)?,
        (Format::Text, None) => say!("nothing failed"),
        (Format::Text, Some(found)) => print(found),
    }
    Ok(exit_codes::PASSED)
}

/// Prints what a run that failed looks like, where its dialect has a reference; nothing if it passed.
pub(super) fn after(record: &RunRecord) -> Result<(), Failure> {
    lines_after(record)?.iter().for_each(|line| say!("{line}"));
    Ok(())
}

/// The same, line by line.
pub(super) fn lines_after(record: &RunRecord) -> Result<Vec<String>, Failure> {
    let Some(suite) = built_in(record)? else { return Ok(Vec::new()) };
    Ok(match of(record, &[], &suite)? {
        Some(found) if found.fits => lines(&found),
        // Of a run in which nothing but what is known failed there is nothing to find out every night.
        Some(found) if has_news(record) => {
            let more = "`gateproof report diagnose` says more, and asks of a part of it by --only";
            let all = all(found.failures);
            vec![match &found.causes[..] {
                [cause] if found.explained == found.failures && cause.missing.is_empty() => {
                    format!("{} would explain {all}, and that is not sure: {more}", cause.fault)
                }
                _ => format!("no known fault looks like {all}: {more}"),
            }]
        }
        _ => Vec::new(),
    })
}

/// Whether anything failed that was not known to.
fn has_news(record: &RunRecord) -> bool {
    let failed = |one: &ScenarioRecord| matches!(one.outcome, Outcome::Failed | Outcome::Late);
    record.scenarios.iter().any(failed) || record.contract.iter().any(ContractRecord::fails)
}

fn all(failures: usize) -> String {
    if failures == 1 { "the one failure".to_owned() } else { format!("the {failures} failures") }
}

fn built_in(record: &RunRecord) -> Result<Option<Suite>, Failure> {
    let target = &record.target;
    let suite = Suite::named_in(&target.dialect, target.edition.as_deref()).transpose();
    let suite = suite.map_err(|error| Failure::usage(error, "the record is of a version that knew it"))?;
    Ok(suite.filter(|suite| suite.reference().is_some()))
}

fn of(record: &RunRecord, only: &[String], suite: &Suite) -> Result<Option<Diagnosis>, Failure> {
    let Some(reference) = suite.reference() else { return Ok(None) };
    let malformed = |error: serde_yaml::Error| {
        Failure::usage(format!("what shows faults: {error}"), "this is a mistake of gateproof; please report it")
    };
    let shown_by = ShownBy::in_edition(reference, suite.other_edition()).map_err(malformed)?;
    let faults = ShownBy::faults(reference, suite.other_edition()).map_err(malformed)?;
    if only.is_empty() {
        return Ok(Diagnosis::of(record, &faults, &shown_by));
    }
    Diagnosis::only(record, only, &faults, &shown_by)
        .map_err(|error| Failure::usage(error, "`gateproof report render RECORD` says what failed"))
}

fn print(found: &Diagnosis) {
    lines(found).iter().for_each(|line| say!("{line}"));
}

fn lines(found: &Diagnosis) -> Vec<String> {
    let (explained, failures) = (found.explained, found.failures);
    let mut lines = Vec::new();
    let all = all(failures);
    if found.fits {
        let causes = match found.causes.len() {
            1 => "one of the known faults, which explains".to_owned(),
            count => format!("{count} of the known faults, which explain"),
        };
        lines
            .push(format!("it behaves as under {causes} {explained} of {}:", counted(failures, "failure", "failures")));
    } else if found.causes.is_empty() {
        lines.push(format!("no known fault looks like {all}"));
    } else if explained == failures && found.causes.iter().all(|cause| cause.missing.is_empty()) {
        lines.push(format!("this would explain {all}, and is not sure:"));
    } else {
        lines.push(format!("no known fault looks like {all}; what comes near explains {explained}:"));
    }
    lines.extend(found.causes.iter().flat_map(lines_of));
    if !found.unexplained.is_empty() && !found.causes.is_empty() {
        lines.push(format!("  not explained: {}", few(&found.unexplained)));
    }
    if !found.fits && found.untried > 0 {
        lines.push(format!("  known faults that none of the scenarios of this run shows: {}", found.untried));
    }
    lines
}

fn lines_of(cause: &Cause) -> Vec<String> {
    let mut lines = vec![format!("  {}: {} It explains {}.", cause.fault, cause.summary, cause.explains.len())];
    if !cause.alike.is_empty() {
        lines.push(format!("      or, which would look the same: {}", cause.alike.join(", ")));
    }
    if !cause.missing.is_empty() {
        lines.push(format!("      would have failed too, and passed: {}", few(&cause.missing)));
    }
    if let Some(doubt) = &cause.doubt {
        lines.push(format!("      not sure: {}", of_doubt(doubt)));
    }
    if !cause.reported.is_empty() {
        lines.push(format!("      reported of others: {}", cause.reported.join(" ")));
    }
    lines
}

fn of_doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::NotRun(scenarios) => {
            format!("most of what shows it was not run, and would tell: {}", few(scenarios))
        }
        Doubt::FailedElsewhere => "most of what shows it failed somewhere else, so that it cannot be told".to_owned(),
        Doubt::ByClausesAlone { known } => {
            format!(
                "more than a clause that it breaks ties no more than {} to it",
                counted(*known, "failure", "failures")
            )
        }
    }
}

/// The first few names, and how many more there are.
fn few(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(SHOWN);
    let text = if more == 0 { shown } else { format!("{shown} and {more} more") };
    printable(&text).into_owned()
}
