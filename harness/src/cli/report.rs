//! `gateproof report`: reports from a record, what is wrong with a report, and where the two disagree.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use gateproof_report::conformance::{self, ConformanceReport, Defect};
use gateproof_report::{annotations, junit, markdown, terminal};
use schemars::JsonSchema;
use serde::Serialize;

use super::baseline::BaselineArg;
use super::given::{read, read_record};
use super::output::{self, Format, FormatArg, say};
use super::page::page;
use super::recorded::logs_in;
use super::report_dir::{CONFORMANCE, RECORD, file_of};
use super::{
    Failure, Outcome, badge, compare, diagnose, diff, matrix, merge, requirements, submit, trace, trend, verify,
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
    #[command(after_help = "Example:\n  gateproof report lint conformance-report.yaml")]
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

/// Something in a ConformanceReport that a submission may not have.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileDefect {
    /// The file as the user named it.
    file: String,
    /// Which field, such as `profiles[GATEWAY-HTTP].core.result`.
    field: String,
    /// What is wrong with it, and what to do.
    problem: String,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    match &args.verb {
        Verb::Render { record, form, baseline } => {
            output::out(format_args!("{}", render(record, *form, baseline)?));
            Ok(exit_codes::PASSED)
        }
        Verb::Lint { files, format } => lint(files, format.format),
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

fn lint(files: &[PathBuf], format: Format) -> Outcome {
    let mut found = Vec::new();
    let tests = submit::known_tests();
    for file in files {
        let defects = match ConformanceReport::from_yaml(&read(&file_of(file, CONFORMANCE)?)?) {
            Ok(report) => conformance::lint(&report, &tests),
            Err(error) => {
                return Err(Failure::usage(format!("{}: {error}", file.display()), "see the place named above"));
            }
        };
        found.extend(defects.into_iter().map(|Defect { field, problem }| FileDefect {
            file: file.display().to_string(),
            field,
            problem,
        }));
    }
    if format == Format::Json {
        output::json(&found)?;
    } else {
        for FileDefect { file, field, problem } in &found {
            say!("{file}: {field} {problem}");
        }
    }
    Ok(if found.is_empty() { exit_codes::PASSED } else { exit_codes::FAILED })
}
