//! `gateproof report`: reports from a record, what is wrong with a report, and where the two disagree.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use gateproof_report::{annotations, junit, markdown, terminal};

use super::baseline::BaselineArg;
use super::given::read_record;
use super::output::{self, FormatArg};
use super::page::page;
use super::recorded::logs_in;
use super::report_dir::{RECORD, file_of};
use super::{
    Failure, Outcome, badge, compare, diagnose, diff, matrix, merge, report_lint, requirements, submit, trace, trend,
    verify,
};
use crate::exit_codes;

/// Render, lint or compare reports.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write a report of a recorded run to standard output.
    #[command(
        after_help = "Examples:\n  gateproof report render gateproof-report --as markdown\n  gateproof report render gateproof-report --as html --baseline last-green > report.html"
    )]
    Render {
        /// The report directory of a run, or its record.json.
        record: PathBuf,
        /// Which report.
        #[arg(long = "as", value_enum, default_value_t = Form::Text)]
        form: Form,
        #[command(flatten)]
        baseline: BaselineArg,
    },
    /// Check ConformanceReports, from any producer, by upstream's rules for submissions.
    ///
    /// One that stands below conformance/reports/RELEASE/FOLDER is held to the rules for folders, file names and README.md, too.
    #[command(after_help = "\
Examples:
  gateproof report lint conformance-report.yaml
  gateproof report lint ../gateway-api/conformance/reports/v1.6/acme-gateway/*.yaml

Exit codes: 0 no defects, 1 defects, 2 a file could not be read: the others were looked at nevertheless.")]
    Lint {
        /// Files, or report directories of runs
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        format: FormatArg,
    },
    Compare(compare::Args),
    Diff(diff::Args),
    Submit(submit::Args),
    Badge(badge::Args),
    Diagnose(diagnose::Args),
    Matrix(matrix::Args),
    Merge(merge::Args),
    Requirements(requirements::Args),
    Verify(verify::Args),
    Trend(trend::Args),
    Trace(trace::Args),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// What the terminal shows at the end of a run.
    Text,
    /// summary.md
    Markdown,
    /// report.html, with what the log beside the record says
    Html,
    /// junit.xml
    Junit,
    /// What GitHub shows beside a run of a workflow.
    Annotations,
    /// record.json
    Json,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.verb {
        Verb::Render { record, form, baseline } => {
            output::out(format_args!("{}", render(record, *form, baseline)?));
            Ok(exit_codes::PASSED)
        }
        Verb::Lint { files, format } => report_lint::run(files, format.format),
        Verb::Compare(args) => compare::run(args),
        Verb::Diff(args) => diff::run(args),
        Verb::Submit(args) => submit::run(args),
        Verb::Badge(args) => badge::run(args),
        Verb::Diagnose(args) => diagnose::run(args),
        Verb::Matrix(args) => matrix::run(args),
        Verb::Merge(args) => merge::run(args),
        Verb::Requirements(args) => requirements::run(args),
        Verb::Verify(args) => verify::run(args),
        Verb::Trend(args) => trend::run(args),
        Verb::Trace(args) => trace::run(args),
    }
}

fn render(path: &Path, form: Form, baseline: &BaselineArg) -> Result<String, Failure> {
    let unwritable = |error: String| Failure::environment(error, "this is a mistake of gateproof; please report it");
    let record = &read_record(path)?;
    if baseline.baseline.is_some() && !matches!(form, Form::Html) {
        return Err(Failure::usage("nothing but the page shows news against a baseline", "add --as html"));
    }
    match form {
        Form::Text => Ok(terminal::summary(record)),
        Form::Markdown => Ok(markdown::render_with(record, &diagnose::lines_after(record)?)),
        Form::Annotations => Ok(annotations::render(record)),
        Form::Html => {
            let before = baseline.read(&record.target.dialect)?;
            let file = file_of(path, RECORD)?;
            let beside = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            page(record, &logs_in(beside)?, before.and_then(|before| before.news(record)))
        }
        Form::Junit => junit::render(record).map_err(unwritable),
        Form::Json => serde_json::to_string_pretty(record).map_err(|error| unwritable(error.to_string())),
    }
}
