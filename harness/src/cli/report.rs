//! `gateproof report`: reports from a record, what is wrong with a report, and where the two disagree.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use gateproof_report::conformance::{self, ConformanceReport, Defect, KnownTest};
use gateproof_report::record::RunRecord;
use gateproof_report::{junit, markdown, terminal};
use gateproof_suites::upstream_tests;
use schemars::JsonSchema;
use serde::Serialize;

use super::output::{self, Format, FormatArg, say};
use super::report_dir::{RECORD, file_of};
use super::{Failure, Outcome, compare, diagnose, diff};
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
    #[command(after_help = "Example:\n  gateproof report render gateproof-report --as markdown")]
    Render {
        /// The report directory of a run, or its record.json.
        record: PathBuf,
        /// Which report.
        #[arg(long = "as", value_enum, default_value_t = Form::Text)]
        form: Form,
    },
    /// Check ConformanceReports, from any producer, by upstream's rules for submissions.
    #[command(after_help = "Example:\n  gateproof report lint conformance-report.yaml")]
    Lint {
        /// Files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        format: FormatArg,
    },
    Compare(compare::Args),
    Diff(diff::Args),
    Diagnose(diagnose::Args),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// What the terminal shows at the end of a run.
    Text,
    /// summary.md
    Markdown,
    /// junit.xml
    Junit,
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
        Verb::Render { record, form } => {
            output::out(format_args!("{}", render(&read_record(record)?, *form)?));
            Ok(exit_codes::PASSED)
        }
        Verb::Lint { files, format } => lint(files, format.format),
        Verb::Compare(args) => compare::run(args),
        Verb::Diff(args) => diff::run(args),
        Verb::Diagnose(args) => diagnose::run(args),
    }
}

fn render(record: &RunRecord, form: Form) -> Result<String, Failure> {
    let unwritable = |error: String| Failure::environment(error, "this is a mistake of gateproof; please report it");
    match form {
        Form::Text => Ok(terminal::summary(record)),
        Form::Markdown => Ok(markdown::render(record)),
        Form::Junit => junit::render(record).map_err(unwritable),
        Form::Json => serde_json::to_string_pretty(record).map_err(|error| unwritable(error.to_string())),
    }
}

/// Reads `record.json`, given itself or the directory that it is in.
pub(crate) fn read_record(path: &Path) -> Result<RunRecord, Failure> {
    let file = file_of(path, RECORD)?;
    let text = read(&file)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{}: not a run record: {error}", file.display()), "name the report directory of a run")
    })
}

/// Reads a file that the user named.
pub(crate) fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))
}

fn lint(files: &[PathBuf], format: Format) -> Outcome {
    let mut found = Vec::new();
    let tests: Vec<_> = upstream_tests().iter().map(|test| KnownTest { name: test.name, since: test.since }).collect();
    for file in files {
        let defects = match ConformanceReport::from_yaml(&read(file)?) {
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
