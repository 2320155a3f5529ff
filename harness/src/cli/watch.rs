//! `gateproof run --watch PATH`: scenarios again, whenever what they are written in changes or the controller begins anew.

mod files;
mod memory;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};

use gateproof_report::record::{Outcome, repeat_of};
use gateproof_report::terminal::printable;
use gateproof_report::words::counted;

use self::files::Files;
use self::memory::{Memory, some, written};
use super::carry_out::{carried_out, prepared_of};
use super::crds;
use super::each::Documents;
use super::given::read_record;
use super::options::{Selected, check, connect_failure, load_failure};
use super::output::{Format, say, tell};
use super::progress::Reporter;
use super::report_dir::{RECORD, ReportDir, can_be_directory};
use super::run_args::Args;
use super::{Failure, interrupt};
use crate::cluster::connect::connect;
use crate::cluster::restarts::{Began, Restarts};
use crate::exit_codes;
use crate::run::TargetChoice;
use crate::run::interrupt::Interrupt;
use crate::scenario::load::{self, LoadError};
use crate::scenario::{Diagnostic, Scenario};
use crate::suite::Suite;

/// How often folders are read in which something comes and goes meanwhile.
const READ_AGAIN: usize = 5;

/// Runs what is selected, and again whatever a change touches, until it is broken off. The exit code is that of the last time.
pub(super) async fn run(mut args: Args) -> super::Outcome {
    args.select_again()?;
    refuse(&args)?;
    let suite = args.selection.dialect.suite()?;
    let target = args.target.choice(&suite)?;
    // It may stand in the report directory, which is taken next.
    args.tuning.read_features(&suite)?;
    let beside = beside(&args);
    // Before anything is read, so that no change is missed.
    let mut files = Files::watch(&[args.watch.clone(), beside.clone()].concat()).map_err(|error| unwatched(&error))?;
    let mut restarts = restarts(&args, &target).await?;
    let whole = Interrupt::default();
    interrupt::break_off_on_ctrl_c(target, vec![whole.clone()])?;
    let mut watch = Watch {
        beside: contents(&beside),
        paths: beside,
        args,
        whole,
        memory: Memory::default(),
        runs: 0,
        ran: None,
        trouble: None,
    };
    let mut began: Vec<String> = Vec::new();
    loop {
        if let Some(problem) = files.renew() {
            tell!("not all of it is watched any more: {problem}");
        }
        let runs = watch.runs;
        if let Some(restarts) = &mut restarts {
            restarts.run_begins();
        }
        let said = watch.round(&began).await?;
        if let Some(restarts) = &restarts {
            restarts.run_ends(watch.runs > runs);
        }
        began.clear();
        if watch.whole.is_triggered() {
            return Ok(watch.exit_code());
        }
        if said {
            say!("{}", watch.waits(restarts.is_some()));
        }
        tokio::select! {
            () = watch.whole.triggered() => return Ok(watch.exit_code()),
            () = files.changed() => {}
            names = next(&mut restarts) => match names {
                Ok(names) => {
                    // It may have been the run itself: another one for that could go on without end.
                    if !names.meanwhile.is_empty() {
                        let meanwhile = some(names.meanwhile.iter().map(String::as_str));
                        let line = format!("the controller began anew during a run ({meanwhile}), so nothing runs again for that");
                        say!("{}", printable(&line));
                    }
                    began = names.between;
                }
                Err(why) => {
                    tell!("whether the controller begins anew is not known any more: {}", printable(&why));
                    restarts = None;
                }
            }
        }
    }
}

/// What has no meaning beside it, and is not refused by the table of options.
fn refuse(args: &Args) -> Result<(), Failure> {
    if args.format.format == Format::Json {
        let help = "leave it out: record.json in the report directory is that of the last run";
        return Err(Failure::usage("--format json is one document, and --watch comes to one for each run", help));
    }
    can_be_directory(&args.report_dir, "--report-dir")?;
    for path in &args.watch {
        if let Err(source) = std::fs::metadata(path) {
            return Err(load_failure(LoadError::Read { path: path.clone(), source }));
        }
        if path.is_dir() && real(&args.report_dir).starts_with(real(path)) {
            let problem = format!("the reports would be in {}, among the manifests", path.display());
            return Err(Failure::usage(problem, "name another directory with --report-dir; nothing was applied"));
        }
    }
    Ok(())
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|at| Some((at, at.canonicalize().ok()?)));
    let Some((at, real)) = there else { return path };
    path.strip_prefix(at).map_or_else(|_| real.clone(), |rest| real.join(rest))
}

/// What all scenarios depend on beside their manifests.
fn beside(args: &Args) -> Vec<PathBuf> {
    let crds = args.target.crds.as_ref().and_then(|source| match source {
        crds::Source::File(path) => Some(path),
        crds::Source::Url(_) => None,
    });
    let files = [&args.known_failures, &args.tuning.gateway_patch];
    let mut paths: Vec<PathBuf> = files.into_iter().flatten().chain(crds).cloned().collect();
    let is_folder = |name: &&str| Suite::names().all(|built_in| built_in != **name);
    paths.extend(args.selection.dialect.words().filter(is_folder).map(PathBuf::from));
    paths
}

/// Name and text of files, and of those that a folder has by itself.
fn contents(paths: &[PathBuf]) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut files = Vec::new();
    for path in paths {
        match std::fs::read_dir(path) {
            Ok(entries) => {
                files.extend(entries.flatten().map(|entry| entry.path()).filter(|file| load::is_manifest(file)))
            }
            Err(_) => files.push(path.clone()),
        }
    }
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read(file).ok())).collect()
}

fn unwatched(error: &notify::Error) -> Failure {
    Failure::environment(format!("changes cannot be watched: {error}"), "nothing was applied")
}

/// Follows the controller's Pods, if it is known which these are; says so if it is not.
async fn restarts(args: &Args, target: &TargetChoice) -> Result<Option<Restarts>, Failure> {
    let TargetChoice::Cluster { source, .. } = target else {
        say!("each run has an embedded target of its own, so there is no controller that could begin anew");
        return Ok(None);
    };
    let Some(pods) = &args.logs_from else {
        say!(
            "which Pods are the controller's is not known; with --logs-from NAMESPACE/SELECTOR all runs again when they begin anew"
        );
        return Ok(None);
    };
    let api = connect(source).await.map_err(|error| connect_failure(&error))?;
    match Restarts::follow(&api, pods).await {
        Ok(restarts) => Ok(Some(restarts)),
        Err(error) => {
            let help =
                "`gateproof rbac --watch PATH --logs-from …` prints the role for that; without --logs-from nobody asks";
            Err(Failure::environment(format!("the Pods of {pods} cannot be followed: {error}"), help))
        }
    }
}

/// What the controller's Pods say next; nothing, if nobody follows them.
async fn next(restarts: &mut Option<Restarts>) -> Result<Began, String> {
    match restarts {
        Some(restarts) => restarts.next().await,
        None => std::future::pending().await,
    }
}

/// A run that is gone through again and again.
struct Watch {
    args: Args,
    /// Breaks off the run that is under way, and the waiting.
    whole: Interrupt,
    memory: Memory,
    /// Files that all scenarios depend on, and what they held.
    paths: Vec<PathBuf>,
    beside: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// How many runs were begun.
    runs: usize,
    /// What the last run came to.
    ran: Option<u8>,
    /// Why nothing was run the last time, if something was wrong: an exit code, too.
    trouble: Option<u8>,
}

/// The manifests as they are.
struct Manifests {
    files: BTreeSet<String>,
    /// Of the files without problems.
    scenarios: Vec<Scenario>,
    problems: Vec<Diagnostic>,
}

impl Watch {
    /// Runs what was touched. `began` are Pods of the controller that began anew. Whether anything was said.
    async fn round(&mut self, began: &[String]) -> Result<bool, Failure> {
        let was_wrong = self.trouble.take().is_some();
        let mut dir = ReportDir::at(&self.args.report_dir);
        if self.ran.is_none() {
            // What an earlier run left could pass for this one's.
            dir.take()?;
        }
        match self.again(began, &mut dir).await {
            Ok(said) => Ok(said || was_wrong),
            Err(failure) => {
                if dir.is_taken() {
                    dir.broken_off(&failure);
                }
                // Before anything was run, the command line or the cluster is wrong, as for every run.
                if self.ran.is_none() {
                    return Err(failure);
                }
                self.trouble = Some(failure.tell());
                Ok(true)
            }
        }
    }

    async fn again(&mut self, began: &[String], dir: &mut ReportDir) -> Result<bool, Failure> {
        let mut causes = self.causes(began);
        let suite = self.args.selection.dialect.suite()?;
        let Manifests { files, scenarios, problems } = manifests(&self.args.watch, &suite)?;
        let spoilt: BTreeSet<String> = problems.iter().map(|problem| problem.file.clone()).collect();
        let news = self.memory.look(files, &spoilt, written(&scenarios));
        let untold = self.memory.untold(problems);
        untold.iter().for_each(|problem| tell!("{:?}", miette::Report::new(problem.clone())));
        news.lines.iter().for_each(|line| say!("{}", printable(line)));
        let mut said = !untold.is_empty() || !news.lines.is_empty();
        if scenarios.is_empty() {
            return Ok(said || self.ran.is_none());
        }
        let selected = match self.args.selection.among(suite, scenarios) {
            Ok(selected) => selected,
            // What is selected may be in a file that has to be mended first.
            Err(failure) if !spoilt.is_empty() => {
                self.trouble = Some(failure.tell());
                return Ok(true);
            }
            Err(failure) => return Err(failure),
        };
        let of = selected.chosen.len();
        let chosen: Vec<Scenario> = selected.chosen.into_iter().filter(|one| self.memory.is_touched(one)).collect();
        let mut running = written(&chosen);
        if self.ran.is_some() && !(news.changed.is_empty() && causes.is_empty() && running.is_empty()) {
            if !news.changed.is_empty() {
                causes.push(format!("{} changed", some(news.changed.iter().map(String::as_str))));
            }
            let what = match running.is_empty() {
                true => "nothing of it is selected".to_owned(),
                false => {
                    let names = some(running.keys().map(String::as_str));
                    format!("{} of {} again: {names}", running.len(), counted(of, "scenario", "scenarios"))
                }
            };
            let line = causes.into_iter().chain([what]).collect::<Vec<_>>().join("; ");
            say!("{}", printable(&line));
            said = true;
        }
        if running.is_empty() {
            return Ok(said);
        }
        let mut prepared = prepared_of(self.args.clone(), None, Selected { chosen, ..selected }).await?;
        prepared.options.interrupt = self.whole.below();
        self.runs += 1;
        let code = carried_out(prepared, dir, Reporter::new(), &mut Documents::default()).await?;
        self.ran = Some(code);
        if self.whole.is_triggered() {
            return Ok(true);
        }
        // Of what could not be tested nothing is known yet.
        let record = read_record(&self.args.report_dir.join(RECORD))?;
        let open = record.scenarios.iter().filter(|one| one.outcome == Outcome::Inconclusive);
        open.for_each(|one| drop(running.remove(repeat_of(&one.name).0)));
        self.memory.ran(running);
        Ok(true)
    }

    /// That of the last run, unless something keeps all or a part of what is watched from being run.
    fn exit_code(&self) -> u8 {
        match (self.trouble, self.ran) {
            (Some(code), _) => code,
            (None, Some(exit_codes::PASSED)) if !self.memory.spoilt().is_empty() => exit_codes::USAGE,
            (None, Some(code)) => code,
            (None, None) => exit_codes::USAGE,
        }
    }

    /// Why everything has to be run again, if it has to.
    fn causes(&mut self, began: &[String]) -> Vec<String> {
        let mut causes = Vec::new();
        if !began.is_empty() {
            causes.push(format!("the controller began anew ({})", some(began.iter().map(String::as_str))));
        }
        let now = contents(&self.paths);
        if now != self.beside {
            let (before, after) = (self.beside.iter(), now.iter());
            let others = before.filter(|one| !now.contains(one)).chain(after.filter(|one| !self.beside.contains(one)));
            let names: BTreeSet<String> = others.map(|(file, _)| file.display().to_string()).collect();
            causes.push(format!("{} changed", some(names.iter().map(String::as_str))));
            self.beside = now;
        }
        if !causes.is_empty() {
            self.memory.forget();
        }
        causes
    }

    /// What is waited for.
    fn waits(&self, for_restarts: bool) -> String {
        let paths: Vec<String> = self.args.watch.iter().map(|path| path.display().to_string()).collect();
        let restarts = match &self.args.logs_from {
            Some(pods) if for_restarts => format!(", or for Pods of {pods} to begin anew"),
            _ => String::new(),
        };
        let spoilt = self.memory.spoilt();
        let spoilt = match spoilt.is_empty() {
            true => String::new(),
            false => format!(" (to be mended: {})", some(spoilt.into_iter())),
        };
        let text = format!("waiting for a change of {}{spoilt}{restarts}; Ctrl-C ends it", paths.join(", "));
        printable(&text).into_owned()
    }
}

/// Reads manifests, each file for itself: one that has problems does not keep the others from being run.
fn manifests(paths: &[PathBuf], suite: &Suite) -> Result<Manifests, Failure> {
    let mut texts = Vec::new();
    for path in paths {
        texts.extend(texts_of(path).map_err(load_failure)?);
    }
    let files = texts.iter().map(|(file, _)| file.clone()).collect();
    let mut problems = Vec::new();
    loop {
        let (scenarios, wrong) = check(&texts, suite)?;
        let before = texts.len();
        texts.retain(|(file, _)| wrong.iter().all(|problem| problem.file != *file));
        problems.extend(wrong);
        if texts.len() == before {
            return Ok(Manifests { files, scenarios, problems });
        }
    }
}

/// Name and text of the manifests of a path. A folder may be empty for now, and what goes while it is read is gone.
fn texts_of(path: &Path) -> Result<Vec<(String, String)>, LoadError> {
    let mut left = READ_AGAIN;
    loop {
        left -= 1;
        match load::texts(path) {
            Err(LoadError::Empty(_)) => return Ok(Vec::new()),
            Err(LoadError::Read { source, .. }) if source.kind() == ErrorKind::NotFound && left > 0 => {}
            read => return read,
        }
    }
}
