//! `gateproof report diff`: a run beside an earlier one, and whether it may be so.

use std::path::{Path, PathBuf};

use gateproof_report::diff::{self, Gate, Rule, Side};
use gateproof_report::record::RunRecord;

use super::baseline::{of_another, other_dialect};
use super::given::{none_in, records};
use super::output::{self, Format, FormatArg, say};
use super::{Failure, Outcome};
use crate::exit_codes;

/// Show what fails newly, what no longer, and what is slower than in an earlier run.
///
/// Each side is the report directory of a run, a record.json, or a directory of either, whose runs stand for one: what
/// passed in some of them and failed in others is flaky, as is what does so among the repeats of one run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof report diff last-green gateproof-report
  gateproof report diff baseline/ gateproof-report --gate
  gateproof report diff baseline/record.json gateproof-report --gate=new-failures,new-flakes,at-least=600

The exit code is 0 whatever differs, unless a gate is asked for: then it is 1 if one of its rules is broken. --gate alone stands for
new-failures,fewer-scenarios. What the user's file of known failures names breaks no rule.")]
pub(super) struct Args {
    /// The run before, or a directory of runs
    before: PathBuf,
    /// The run now, or a directory of runs
    here: PathBuf,
    #[arg(
        long,
        help = rules(),
        value_name = "RULES",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "new-failures,fewer-scenarios"
    )]
    gate: Vec<Rule>,
    /// Where the run before is of another dialect, say so and pass
    #[arg(long, conflicts_with = "format")]
    if_same_dialect: bool,
    #[command(flatten)]
    format: FormatArg,
}

/// What `--gate` takes, from the table of the rules.
fn rules() -> String {
    let rules: Vec<String> = Rule::all().map(|(name, asks)| format!("{name} ({asks})")).collect();
    format!("Fail if one of these rules is broken: {}", rules.join(", "))
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let (before, here) = (records(&args.before)?, records(&args.here)?);
    if args.if_same_dialect
        && let [one, more @ ..] = &here[..]
        && let dialect = &*one.target.dialect
        && more.iter().all(|run| run.target.dialect == dialect)
        && let Some(other) = other_dialect(&before, dialect)
    {
        say!("{}", of_another(other, dialect));
        return Ok(exit_codes::PASSED);
    }
    one_dialect(before.iter().chain(&here))?;
    let side = |path: &Path, records| Side::of(records).ok_or_else(|| none_in(path));
    let (before, here) = (side(&args.before, &before)?, side(&args.here, &here)?);
    let diff = diff::diff(&before, &here, &Gate(args.gate.clone()));
    match args.format.format {
        Format::Json => output::json(&diff)?,
        Format::Text => output::out(format_args!("{}", diff::render(&diff))),
    }
    Ok(if diff.passes() { exit_codes::PASSED } else { exit_codes::FAILED })
}

pub(super) fn one_dialect<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Result<(), Failure> {
    let mut dialects: Vec<&str> = records.map(|record| &*record.target.dialect).collect();
    dialects.sort_unstable();
    dialects.dedup();
    match dialects[..] {
        [] | [_] => Ok(()),
        _ => Err(Failure::usage(
            format!("the runs are of several dialects: {}", dialects.join(", ")),
            "compare runs of one dialect",
        )),
    }
}
