//! `--baseline BEFORE`: the run that `report.html` says news against.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use gateproof_report::diff::{self, Diff, Gate, Side};
use gateproof_report::record::RunRecord;
use gateproof_report::trend;

use super::Failure;
use super::given::{none_in, read_record, records};
use super::output::tell;
use super::report_dir::{RECORD, took_in};

/// Which run came before.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct BaselineArg {
    /// An earlier run, or a directory of runs: report.html begins with what is news against it
    #[arg(long, value_name = "BEFORE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Where that run was of another dialect, say so, and have no news
    #[arg(long, requires = "baseline")]
    pub(crate) if_same_dialect: bool,
    /// Where it is not there or cannot be read, in whole or in part, say so, and use what can be; runs of other dialects are left out
    #[arg(long, requires = "baseline")]
    pub(crate) baseline_optional: bool,
    /// Of a directory of runs, take the last green one alone, or the last one if none was
    #[arg(long, requires = "baseline")]
    pub(crate) last_green: bool,
}

/// The runs before.
pub(crate) struct Baseline(Vec<RunRecord>);

impl BaselineArg {
    /// Reads it, for a run of this dialect. What is wrong with it is said before that run begins, and before its reports take the place of
    /// those of the run before.
    pub(crate) fn read(&self, dialect: &str) -> Result<Option<Baseline>, Failure> {
        let Some(path) = &self.baseline else { return Ok(None) };
        if self.baseline_optional {
            let runs = self.readable(path, dialect);
            return Ok((!runs.is_empty()).then_some(Baseline(runs)));
        }
        let runs = match self.last_green && path.is_dir() && !path.join(RECORD).exists() {
            true => runs_in(path, dialect).iter().map(|file| read_record(file)).collect::<Result<Vec<_>, _>>()?,
            false => records(path)?,
        };
        if runs.is_empty() {
            return Err(none_in(path));
        }
        if self.if_same_dialect
            && let Some(other) = other_dialect(&runs, dialect)
        {
            tell!("{}", of_another(other, dialect));
            return Ok(None);
        }
        if let Some(other) = runs.iter().map(|run| &*run.target.dialect).find(|other| *other != dialect) {
            let problem = format!("{}: a run of the dialect {other}, and this one is of {dialect}", path.display());
            return Err(Failure::usage(problem, "name a run of the same dialect with --baseline"));
        }
        Ok(Some(Baseline(if self.last_green { last_green(runs) } else { runs })))
    }

    /// What can be read of the runs of this dialect. What cannot is said.
    fn readable(&self, path: &Path, dialect: &str) -> Vec<RunRecord> {
        let is_one = !path.is_dir() || path.join(RECORD).exists();
        let files = if is_one { vec![path.to_owned()] } else { runs_in(path, dialect) };
        let (mut runs, mut others, mut failures) = (Vec::new(), BTreeSet::new(), Vec::new());
        for file in &files {
            match read_record(file) {
                Ok(run) if run.target.dialect != dialect => {
                    others.insert(run.target.dialect);
                }
                Ok(run) => runs.push(run),
                Err(failure) => failures.push(failure.message()),
            }
            if self.last_green {
                // Many are no more in memory than one.
                runs = last_green(runs);
            }
        }
        if files.is_empty() {
            failures.push(none_in(path).message());
        }
        let more = if failures.len() > 1 { format!(", and {} more", failures.len() - 1) } else { String::new() };
        match failures.first().map(|why| why.lines().next().unwrap_or_default()) {
            Some(why) if runs.is_empty() => tell!("{why}{more}, so this run of {dialect} is judged by itself"),
            Some(why) => tell!("left out of the runs before this one of {dialect}: {why}{more}"),
            None if runs.is_empty() => tell!("{}", of_another(&Vec::from_iter(others).join(", "), dialect)),
            None => {}
        }
        runs
    }

    /// That of one of several dialects. The run before was one of these, too; what may be missing is looked for in the whole.
    pub(super) fn of_several(&self, dialect: &str) -> BaselineArg {
        let is_whole = |dir: &PathBuf| self.baseline_optional || (self.last_green && !dir.join(dialect).is_dir());
        let of_it = |dir: &PathBuf| if is_whole(dir) { dir.clone() } else { dir.join(dialect) };
        BaselineArg { baseline: self.baseline.as_ref().map(of_it), ..*self }
    }
}

impl Baseline {
    /// How long scenarios took in those of the runs that were on this target: milliseconds by name.
    pub(crate) fn took(&self, target: &str) -> BTreeMap<String, u64> {
        took_in(self.0.iter(), target)
    }

    /// What is news.
    pub(crate) fn news(&self, here: &RunRecord) -> Option<Diff> {
        Some(diff::diff(&Side::of(&self.0)?, &Side::of([here])?, &Gate::default()))
    }
}

/// The runs of a directory: those in it, and of runs of several dialects those of this one.
fn runs_in(path: &Path, dialect: &str) -> Vec<PathBuf> {
    let run = |entry: PathBuf| {
        let is_file = entry.extension().is_some_and(|extension| extension == "json") && entry.is_file();
        let of_dialect = entry.join(dialect);
        [entry, of_dialect].into_iter().find(|dir| is_file || dir.join(RECORD).is_file())
    };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.filter_map(|entry| run(entry.path())).collect();
    runs.sort();
    runs
}

/// The last of these in which nothing failed but as is known, or the last one.
fn last_green(runs: Vec<RunRecord>) -> Vec<RunRecord> {
    let key = |run: &RunRecord| (trend::summary("", run).is_green(), run.date.clone());
    runs.into_iter().max_by_key(key).into_iter().collect()
}

/// The dialect of all of these runs, where it is not this one.
pub(super) fn other_dialect<'a>(before: &'a [RunRecord], dialect: &str) -> Option<&'a str> {
    let of = &*before.first()?.target.dialect;
    (of != dialect && before.iter().all(|run| run.target.dialect == of)).then_some(of)
}

/// That a run cannot be held against the one before.
pub(super) fn of_another(before: &str, dialect: &str) -> String {
    format!("the run before is of the dialect {before}, so this one of {dialect} is judged by itself")
}
