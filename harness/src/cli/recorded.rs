//! A recorded run, judged again from its log: what verbs about more than its record begin with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof_report::conformance::ConformanceReport;
use gateproof_report::merge;
use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord, repeat_of};

use super::dialect::DialectArg;
use super::log_file::{self, every_event};
use super::options::{builtin_scenarios, scenarios_of};
use super::report_dir::{CONFORMANCE, EVENTS, RECORD, file_of, readable, text_of};
use super::reports::IdentityArgs;
use super::{Failure, given};
use crate::log::RunStarted;
use crate::run::replay::{Rederived, Replay};
use crate::scenario::Scenario;
use crate::suite::Suite;

/// What a recorded run is judged by, if it is not what its record says.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct JudgedBy {
    /// The scenario manifests that were run, if they are no longer where the run had them
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    dialect: DialectArg,
}

/// A report directory, and what its log says.
pub(super) struct Recorded {
    /// How the user named it.
    pub(super) name: String,
    /// Where it is.
    pub(super) dir: PathBuf,
    /// `record.json`, as it stands there; what the log comes to if that is not a record.
    pub(super) record: RunRecord,
    /// What targets are judged by.
    pub(super) suite: Suite,
    /// All scenarios that there are.
    pub(super) scenarios: Vec<Scenario>,
    /// Its log, or those of the parts that it was put together from.
    pub(super) logs: Vec<Log>,
    /// What they come to, together.
    pub(super) run: Rederived,
    /// Scenarios whose manifests are not what was run.
    pub(super) changed: Vec<String>,
    /// Whether the log is from before logs told of scenarios that did not run: these are taken from the record.
    pub(super) is_old: bool,
}

/// A log.
pub(super) struct Log {
    /// Its file.
    pub(super) file: PathBuf,
    /// What this log alone comes to.
    pub(super) record: RunRecord,
}

impl Recorded {
    /// The scenarios of these names. Where others than the built-in ones were given, these are left out, too.
    pub(super) fn named(&self, names: &[String]) -> Result<Vec<Arc<Scenario>>, Failure> {
        let is_known = |name: &String| self.scenarios.iter().any(|scenario| scenario.name == *name);
        let builtin = if names.iter().all(is_known) { Vec::new() } else { builtin_scenarios()? };
        let all = || self.scenarios.iter().chain(&builtin);
        Ok(names.iter().filter_map(|name| all().find(|one| one.name == *name)).cloned().map(Arc::new).collect())
    }

    /// What the user said of the implementation, which no log knows: it stands in the ConformanceReport.
    pub(super) fn identity(&self) -> IdentityArgs {
        let text = text_of(&self.dir.join(CONFORMANCE)).unwrap_or_default();
        // Of one that is not there, or that somebody spoilt, nothing is known.
        IdentityArgs::of(&ConformanceReport::from_yaml(&text).unwrap_or_default())
    }
}

/// The name of the log of a part in the directory of the whole.
pub(super) fn log_of_part(part: usize, parts: usize) -> String {
    // In order of name they are in their order.
    let width = parts.to_string().len();
    format!("events-{part:0width$}-of-{parts}.jsonl")
}

/// Reads a report directory, and judges its log again.
pub(super) fn read(dir: &Path, by: &JudgedBy) -> Result<Recorded, Failure> {
    is_directory(dir)?;
    let record = given::read_record(&file_of(dir, RECORD)?)?;
    judged(dir, by, Some(record))
}

/// The same of a directory whose record may be anything, and is to be held against the log.
pub(super) fn read_whatever_its_record(dir: &Path, by: &JudgedBy) -> Result<Recorded, Failure> {
    is_directory(dir)?;
    // That its run did not end is said, and so is that its log is no file.
    file_of(dir, EVENTS)?;
    let record = text_of(&dir.join(RECORD)).and_then(|text| serde_json::from_str(&text).ok());
    judged(dir, by, record)
}

fn is_directory(dir: &Path) -> Result<(), Failure> {
    if !dir.is_dir() {
        let problem = format!("{} is no directory", dir.display());
        return Err(Failure::usage(
            problem,
            "name the report directory of a run; its record alone does not say enough",
        ));
    }
    Ok(())
}

/// Judges the log again, by what that says of its run: a record is easily edited.
fn judged(dir: &Path, by: &JudgedBy, record: Option<RunRecord>) -> Result<Recorded, Failure> {
    let files = logs_in(dir)?;
    let mut begun = Vec::new();
    for file in &files {
        readable(file)?;
        begun.push(log_file::started(file)?);
    }
    let Some(started) = begun.first() else { return Err(none_in(dir)) };
    let suite = suite_of(started, by)?;
    let scenarios = scenarios_of(&suite, &files_of(&started.arguments, by))?;
    let (mut logs, mut runs) = (Vec::new(), Vec::new());
    for file in files {
        let wrong = |error| log_file::unfit(&file, &error);
        let mut replay = Replay::new(&scenarios, &suite.contract, suite.preflight.as_deref());
        every_event(&file, |event| replay.event(&event).map_err(wrong))?;
        let run = replay.whole().map_err(wrong)?;
        logs.push(Log { file, record: run.record.clone() });
        runs.push(run);
    }
    let mut run = together(dir, &logs, runs)?;
    let is_old = run.left_out.is_none();
    if let Some(record) = record.as_ref().filter(|_| is_old) {
        let known: Vec<&str> = run.record.scenarios.iter().map(|one| &*one.name).collect();
        let is_new = |one: &&ScenarioRecord| !known.contains(&&*one.name) && did_not_run(one);
        let more: Vec<ScenarioRecord> = record.scenarios.iter().filter(is_new).cloned().collect();
        run.record.scenarios.extend(more);
        run.record.scenarios.sort_by(|a, b| repeat_of(&a.name).cmp(&repeat_of(&b.name)));
        run.record.outside_profiles.clone_from(&record.outside_profiles);
    }
    let changed = changed(&run.record, &scenarios);
    let record = record.unwrap_or_else(|| run.record.clone());
    let (name, dir) = (dir.display().to_string(), dir.to_owned());
    Ok(Recorded { name, dir, record, suite, scenarios, logs, run, changed, is_old })
}

fn did_not_run(scenario: &ScenarioRecord) -> bool {
    matches!(scenario.outcome, Outcome::Skipped | Outcome::NotSupported | Outcome::Inconclusive)
        && scenario.findings.is_empty()
}

fn none_in(dir: &Path) -> Failure {
    Failure::usage(format!("there is no {EVENTS} in {}", dir.display()), "name a whole report directory")
}

/// The suite that the user names, or the built-in one that the log does.
fn suite_of(started: &RunStarted, by: &JudgedBy) -> Result<Suite, Failure> {
    let is_named = by.dialect.words().is_some() || by.dialect.edition.is_some();
    if is_named || Suite::names().all(|name| name != started.dialect) {
        return by.dialect.suite();
    }
    DialectArg { dialects: vec![started.dialect.clone()], edition: started.edition.clone() }.suite()
}

/// The manifests that the user names, or those that the run was given.
fn files_of(arguments: &[String], by: &JudgedBy) -> Vec<PathBuf> {
    if !by.files.is_empty() {
        return by.files.clone();
    }
    let given = arguments.windows(2).filter(|words| words[0] == "-f");
    given.map(|words| PathBuf::from(&words[1])).collect()
}

/// The log of a run, or those of its parts, if there are any.
pub(super) fn logs_in(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let whole = dir.join(EVENTS);
    if whole.exists() {
        return Ok(vec![whole]);
    }
    let unreadable = |error| Failure::usage(format!("cannot read {}: {error}", dir.display()), "check the path");
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("events-") && name.ends_with(".jsonl") {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

/// One run, or the parts of one.
fn together(dir: &Path, logs: &[Log], runs: Vec<Rederived>) -> Result<Rederived, Failure> {
    let record = match logs {
        [log] => log.record.clone(),
        _ => {
            let named = |log: &Log| (log.file.display().to_string(), log.record.clone());
            merge::merge(&logs.iter().map(named).collect::<Vec<_>>()).map_err(unmergeable)?
        }
    };
    let parts = runs.len();
    let mut whole = runs.into_iter().reduce(|mut all, one| {
        all.judged.extend(one.judged);
        all
    });
    if let Some(run) = whole.as_mut().filter(|_| parts > 1) {
        run.left_out = logs.first().and_then(|log| Some(log.record.shard.as_ref()?.left_out.clone()));
    }
    whole.map(|run| Rederived { record, ..run }).ok_or_else(|| none_in(dir))
}

/// What keeps parts from being one run.
pub(super) fn unmergeable(errors: Vec<merge::MergeError>) -> Failure {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Failure::usage(lines.join("\n"), "name every part of one run once: `gateproof run --shard 1/N` to `--shard N/N`")
}

/// The scenarios of a record whose manifests are not as they were.
fn changed(record: &RunRecord, scenarios: &[Scenario]) -> Vec<String> {
    let Some(digests) = &record.digests else { return Vec::new() };
    let is_same =
        |name: &String, digest: &String| scenarios.iter().any(|one| one.name == *name && one.digest == *digest);
    digests.manifests.iter().filter(|(name, digest)| !is_same(name, digest)).map(|(name, _)| name.clone()).collect()
}
