//! `gateproof report trend`: what became of scenarios over many runs, and which runs need be kept no longer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use gateproof_report::record::RunRecord;
use gateproof_report::terminal::printable;
use gateproof_report::trend::{self, Keep, Run};
use gateproof_report::words::counted;

use super::output::{self, say, tell};
use super::report_dir::{PREVIOUS, RECORD, prune};
use super::{Failure, Outcome, diff, given};
use crate::cluster::clock;
use crate::exit_codes;

/// How deep directories are searched: artefacts of a CI have a folder or two around the reports.
const DEPTH: usize = 5;
/// Of how many files it is told why they could not be read.
const NOTES: usize = 20;

/// Show how scenarios went over many runs: what broke, was fixed, is flaky or slower, and since when.
///
/// Every report directory below the named ones is a run, and so is every record.json that was saved under another name. They
/// stand in order of their dates, and as text those of each dialect by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gateproof report trend runs/
  gateproof report trend runs/ --as html > trend.html
  gateproof report trend runs/ --keep 30 --keep-days 90           what would be pruned
  gateproof report trend runs/ --keep 30 --keep-days 90 --prune

A run is kept if --keep or --keep-days keeps it; the last run and the last green one of a dialect always
are. Of a pruned run the files go that stand on the list of its directory (gateproof-files.txt), and the
directory if nothing else is in it. Nothing is ever deleted without --prune. With it, a directory without
runs is none that lacks any: there is nothing to prune yet.")]
pub(super) struct Args {
    /// Directories of runs
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// As what
    #[arg(long = "as", value_enum, default_value_t = Form::Text)]
    form: Form,
    /// So many runs are shown, the last ones
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u16).range(1..=1000))]
    last: u16,
    /// Show the scenarios that passed in every run, too, as text
    #[arg(long)]
    all: bool,
    /// Keep so many of the newest runs
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Keep the runs that are no older than so many days
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<u32>,
    /// Delete the reports of the runs that are not kept
    #[arg(long)]
    prune: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// For people.
    Text,
    /// A page that needs nothing beside it.
    Html,
    /// For programs.
    Json,
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    if args.prune && !args.kept().is_given() {
        return Err(Failure::usage("--prune does not know what to keep", "add --keep N, --keep-days DAYS, or both"));
    }
    let mut found = Found { last: usize::from(args.last), ..Found::default() };
    for path in &args.paths {
        if !path.exists() {
            return Err(Failure::usage(format!("cannot read {}: it is not there", path.display()), "check the path"));
        }
        found.search(path, DEPTH);
    }
    if found.of.is_empty() {
        let why = found.notes.first().map(|note| format!("; {note}")).unwrap_or_default();
        let paths: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
        let problem = format!("{}: there is no record of a run{why}", paths.join(", "));
        if args.prune {
            // As before the first of all nights.
            tell!("{}, so nothing is pruned", printable(&problem));
            return Ok(exit_codes::PASSED);
        }
        return Err(Failure::usage(problem, "name directories with report directories of runs in them"));
    }
    if !matches!(args.form, Form::Text) {
        diff::one_dialect(found.of.values().flat_map(|series| series.shown.values()))?;
    }
    let (mut notes, are_several) = (found.told(), found.of.len() > 1);
    for (index, (dialect, series)) in found.of.into_iter().enumerate() {
        if are_several {
            say!("{}== {} ==", if index == 0 { "" } else { "\n" }, printable(&dialect));
        }
        // What could not be read is of no dialect, and said once.
        show(args, series, std::mem::take(&mut notes))?;
    }
    Ok(exit_codes::PASSED)
}

/// Shows the runs of a dialect, and prunes those that need be kept no longer.
fn show(args: &Args, series: Series, notes: Vec<String>) -> Result<(), Failure> {
    let older = series.runs.len() - series.shown.len();
    let shown: Vec<(String, RunRecord)> =
        series.shown.into_iter().map(|((_, place), record)| (name(&place), record)).collect();
    let mut trend = trend::trend(&shown, older);
    trend.notes.extend(notes);
    match args.form {
        Form::Text => output::out(format_args!("{}", trend::render(&trend, args.all))),
        Form::Html => output::out(format_args!("{}", trend::html(&trend))),
        Form::Json => output::json(&trend)?,
    }
    let runs: Vec<Run> = series.runs.into_values().collect();
    for old in args.kept().prunable(&runs, clock::calendar()) {
        let (place, date) = (printable(&old.place), printable(&old.date));
        if !args.prune {
            tell!("{place} of {date} would be pruned");
            continue;
        }
        // One that cannot be deleted keeps none of the others.
        match prune(Path::new(&old.place)) {
            Ok(Ok(files)) => tell!("pruned {place} of {date}: {}", counted(files, "file", "files")),
            Ok(Err(why)) => tell!("{place} of {date} is left: {why}"),
            Err(failure) => tell!("{place} of {date} is left: {}", failure.message()),
        }
    }
    Ok(())
}

impl Args {
    fn kept(&self) -> Keep {
        Keep { newest: self.keep, days: self.keep_days }
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// What a search found, by dialect.
#[derive(Default)]
struct Found {
    last: usize,
    of: BTreeMap<String, Series>,
    notes: Vec<String>,
}

/// The runs of a dialect, by date and place: of all a few numbers, and of the last ones everything.
#[derive(Default)]
struct Series {
    runs: BTreeMap<(String, PathBuf), Run>,
    shown: BTreeMap<(String, PathBuf), RunRecord>,
}

impl Found {
    /// A directory of reports, a record, or a directory with such in it. What cannot be read is noted.
    fn search(&mut self, path: &Path, depth: usize) {
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
        if !path.is_dir() || path.join(RECORD).is_file() {
            self.read(path);
            return;
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.notes.push(format!("cannot read {}: {error}", path.display())),
        };
        let mut entries: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        for entry in entries {
            // What a run that did not end keeps of the one before is no run.
            let is_json = entry.extension().is_some_and(|extension| extension == "json") && !entry.ends_with(PREVIOUS);
            let is_record = is_json && entry.is_file();
            if is_record || (depth > 0 && entry.is_dir() && !is_link(&entry)) {
                self.search(&entry, depth - usize::from(!is_record));
            }
        }
    }

    fn read(&mut self, path: &Path) {
        let record = match given::read_record(path) {
            Ok(record) => record,
            Err(failure) => return self.notes.push(failure.message()),
        };
        let key = (record.date.clone(), path.to_owned());
        let series = self.of.entry(record.target.dialect.clone()).or_default();
        series.runs.insert(key.clone(), trend::summary(&name(path), &record));
        series.shown.insert(key, record);
        if series.shown.len() > self.last {
            series.shown.pop_first();
        }
    }

    /// Why files could not be read, as far as anybody reads that.
    fn told(&mut self) -> Vec<String> {
        let more = self.notes.len().saturating_sub(NOTES);
        self.notes.truncate(NOTES);
        if more > 0 {
            self.notes.push(format!("{more} more could not be read"));
        }
        std::mem::take(&mut self.notes)
    }
}
