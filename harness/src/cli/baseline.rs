//! `--baseline BEFORE`: the run that `report.html` says news against.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gateproof_report::diff::{self, Diff, Gate, Side};
use gateproof_report::record::RunRecord;

use super::Failure;
use super::given::records;
use super::output::tell;
use super::report_dir::took_in;

/// Which run came before.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct BaselineArg {
    /// An earlier run, or a directory of runs: report.html begins with what is news against it
    #[arg(long, value_name = "BEFORE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Where that run was of another dialect, say so, and have no news
    #[arg(long, requires = "baseline")]
    pub(crate) if_same_dialect: bool,
}

/// The runs before.
pub(crate) struct Baseline(Vec<RunRecord>);

impl BaselineArg {
    /// Reads it, for a run of this dialect. What is wrong with it is said before that run begins, and before its reports take the place of
    /// those of the run before.
    pub(crate) fn read(&self, dialect: &str) -> Result<Option<Baseline>, Failure> {
        let Some(path) = &self.baseline else { return Ok(None) };
        let runs = records(path)?;
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
        Ok(Some(Baseline(runs)))
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

/// The dialect of all of these runs, where it is not this one.
pub(super) fn other_dialect<'a>(before: &'a [RunRecord], dialect: &str) -> Option<&'a str> {
    let of = &*before.first()?.target.dialect;
    (of != dialect && before.iter().all(|run| run.target.dialect == of)).then_some(of)
}

/// That a run cannot be held against the one before.
pub(super) fn of_another(before: &str, dialect: &str) -> String {
    format!("the run before is of the dialect {before}, so this one of {dialect} is judged by itself")
}
