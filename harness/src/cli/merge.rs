//! `gateproof report merge`: the parts of a run, put together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof_report::record::{RunRecord, ShardRecord, repeat_of};
use gateproof_report::{junit, markdown, merge, terminal};

use super::baseline::{Baseline, BaselineArg};
use super::failures::{Folders, has_evidence};
use super::log_file::every_event;
use super::output::{self, Format, FormatArg, say, tell};
use super::page::page;
use super::recorded::{self, JudgedBy, Log, Recorded, log_of_part, unmergeable};
use super::report_dir::{HTML, JUNIT, OPTIONS, RECORD, ReportDir, SUMMARY, can_be_directory};
use super::reports::{self, IdentityArgs};
use super::shelf::Shelf;
use super::{Failure, Outcome, causes, diagnose, given, options_from};
use crate::scenario::Scenario;

/// Put the parts of a run together that were run with --shard.
///
/// The directory that is written has what one run would have: record, summary, page, JUnit, ConformanceReport and evidence. The log of each
/// part stands beside them. Parts have to be of one run: of one target, suite and selection, with the same arguments, each once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gateproof run --shard 1/2 --report-dir one
  gateproof run --shard 2/2 --report-dir two
  gateproof report merge one two --report-dir gateproof-report

Exit codes: those of the run that the parts are of; 2 if they are not all of one run.")]
pub(super) struct Args {
    /// The report directories of all parts
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Where the reports of the whole go
    #[arg(short = 'o', long, value_name = "DIR")]
    report_dir: PathBuf,
    #[command(flatten)]
    baseline: BaselineArg,
    #[command(flatten)]
    by: JudgedBy,
    #[command(flatten)]
    format: FormatArg,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    can_be_directory(&args.report_dir, "--report-dir")?;
    let out = |dir: &PathBuf| std::fs::canonicalize(dir).ok();
    if let Some(dir) = args.dirs.iter().find(|dir| out(dir).is_some() && out(dir) == out(&args.report_dir)) {
        let problem = format!("{} is a part, and its reports would be taken away", dir.display());
        return Err(Failure::usage(problem, "name another directory with --report-dir"));
    }
    // What is wrong with their records is said before their logs are read.
    let records = args.dirs.iter().map(|dir| {
        let file = super::report_dir::file_of(dir, RECORD)?;
        Ok((dir.display().to_string(), given::read_record(&file)?))
    });
    let records: Vec<(String, RunRecord)> = records.collect::<Result<_, Failure>>()?;
    let mut record = merge::merge(&records).map_err(unmergeable)?;
    let baseline = args.baseline.read(&record.target.dialect)?;
    let mut parts: Vec<Recorded> =
        args.dirs.iter().map(|dir| recorded::read(dir, &args.by)).collect::<Result<_, _>>()?;
    parts.sort_by_key(|part| part.record.shard.as_ref().map(|shard| shard.part));
    let mut dir = ReportDir::at(&args.report_dir);
    dir.begin()?;
    if let Some(text) = options_from::file(&record.arguments) {
        dir.write(&[OPTIONS], &text)?;
        record.options_file = Some(args.report_dir.join(OPTIONS).display().to_string());
    }
    for part in &parts {
        copied(part, &record, &mut dir)?;
    }
    let Some(first) = parts.first() else { return Err(unmergeable(vec![merge::MergeError::Nothing])) };
    let identity = if args.identity.is_given() { args.identity.clone() } else { first.identity() };
    let left_out = first.record.shard.as_ref().map(|shard| shard.left_out.as_slice()).unwrap_or_default();
    let logs: Vec<&Log> = parts.iter().flat_map(|part| &part.logs).collect();
    write(&mut dir, &record, &logs, &first.named(left_out)?, &identity, baseline.as_ref())?;
    dir.finish()?;
    match args.format.format {
        Format::Json => output::json(&record)?,
        Format::Text => {
            output::out(format_args!("{}", terminal::summary(&record)));
            say!("reports: {}", args.report_dir.display());
        }
    }
    Ok(causes::exit_code(&record, causes::contract_failed(&record)))
}

/// Writes every report of a run that was put together, but for the logs and what Pods said.
pub(super) fn write(
    dir: &mut dyn Shelf,
    record: &RunRecord,
    logs: &[&Log],
    left_out: &[Arc<Scenario>],
    identity: &IdentityArgs,
    baseline: Option<&Baseline>,
) -> Result<(), Failure> {
    let internal = |error: String| Failure::environment(error, "this is a mistake of gateproof; please report it");
    dir.write(&[JUNIT], &junit::render(record).map_err(internal)?)?;
    dir.write(&[SUMMARY], &markdown::render_with(record, &diagnose::lines_after(record)?))?;
    let files: Vec<PathBuf> = logs.iter().map(|log| log.file.clone()).collect();
    dir.write(&[HTML], &page(record, &files, baseline.and_then(|before| before.news(record)))?)?;
    reports::conformance_report(dir, record, left_out, identity)?;
    // What Pods said is copied from the parts.
    let none = BTreeMap::new();
    for log in logs {
        let mut folders = Folders::of(record, &none);
        if !folders.are_wanted() {
            continue;
        }
        every_event(&log.file, |event| folders.event(&Arc::new(event), dir))?;
    }
    dir.write(&[RECORD], &serde_json::to_string_pretty(record).map_err(|error| internal(error.to_string()))?)
}

/// What no record says: the log of a part, and what the controller's Pods said there.
fn copied(part: &Recorded, whole: &RunRecord, dir: &mut ReportDir) -> Result<(), Failure> {
    let Some(ShardRecord { part: number, parts, .. }) = part.record.shard else { return Ok(()) };
    for log in &part.logs {
        dir.copy(&[&log_of_part(number, parts)], &log.file)?;
    }
    let mut names: Vec<&str> = part.record.scenarios.iter().map(|one| &*one.name).collect();
    names.retain(|name| whole.scenarios.iter().any(|one| one.name == *name && has_evidence(one)));
    for name in names {
        let folder = part.dir.join(super::report_dir::listed_as(&["failures", name]));
        for file in files_of_pods(&folder) {
            let text = given::read(&folder.join(&file))?;
            dir.write(&["failures", name, &file], &text)?;
        }
        if !folder.is_dir() {
            tell!("{}: there is no evidence of {}", part.name, terminal::printable(repeat_of(name).0));
        }
    }
    Ok(())
}

/// The files of a folder of evidence that are not made of the log.
fn files_of_pods(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| is_of_pods(name));
    names.sort();
    names
}

/// Whether a file of evidence has what Pods said, which no log has.
pub(super) fn is_of_pods(name: &str) -> bool {
    name.ends_with(".log") || name == "no-logs.txt"
}
