//! Which options of a first run are true of the nightly's as well.

use std::path::PathBuf;

use clap::{Arg, Args as _, Command};
use gateproof_report::record::{Outcome, RunRecord, repeat_of};
use gateproof_report::terminal::printable;

use super::super::run_args;
use super::Ci;

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is about the controller, or how that is tested.
    Kept,
    /// The same, and what it names has to be in the repository.
    File,
    /// It is kept for this CI alone; why not for the other.
    Only(Ci, &'static str),
    /// What is written says it in another place, or has its own.
    Written,
    /// It is about a machine, a cluster or a moment.
    Left(&'static str),
    /// It is not among the arguments of a record: whoever needs it adds it.
    Unrecorded,
}

const MACHINE: &str = "of that machine";
const MOMENT: &str = "of that run alone";
const WAY: &str = "how that machine reached Gateways";
const EMBEDDED: &str = "of the embedded target";
const DIALECT: &str = "of another dialect";
const INSTALLED: &str = "the definitions of that release are what is installed";

/// Every option of `run`. A new one has to be sorted in.
const FATES: &[(&str, Fate)] = &[
    ("profile", Fate::Unrecorded),
    ("file", Fate::File),
    ("dialect", Fate::Left(DIALECT)),
    ("edition", Fate::Kept),
    ("target", Fate::Left(EMBEDDED)),
    ("crds", Fate::Left(EMBEDDED)),
    ("without-crd", Fate::Left(EMBEDDED)),
    ("gateway-class", Fate::Written),
    ("kubeconfig", Fate::Left(MACHINE)),
    ("context", Fate::Left(MACHINE)),
    ("service", Fate::Left(DIALECT)),
    ("service-token", Fate::Left(DIALECT)),
    ("service-ca", Fate::Left(DIALECT)),
    ("jobs", Fate::Unrecorded),
    ("fail-fast", Fate::Left(MOMENT)),
    ("repeat", Fate::Left(MOMENT)),
    ("timing", Fate::Kept),
    ("impatient", Fate::Left("for a quick look")),
    ("timeout-scale", Fate::Kept),
    ("dial", Fate::Left(WAY)),
    ("dial-proxy", Fate::Left(WAY)),
    ("port-forward", Fate::Kept),
    ("ports", Fate::Kept),
    ("features", Fate::Kept),
    // The record has the features themselves.
    ("features-from", Fate::Written),
    ("features-as-of", Fate::Kept),
    ("all-features", Fate::Kept),
    ("exempt-features", Fate::Kept),
    ("gateway-api-version", Fate::Only(Ci::Gitlab, INSTALLED)),
    ("gateway-api-channel", Fate::Only(Ci::Gitlab, INSTALLED)),
    // The record has what was skipped.
    ("skip", Fate::Kept),
    ("gateway-patch", Fate::File),
    ("namespace-label", Fate::Kept),
    ("max-gateways", Fate::Kept),
    ("single-gateway-class", Fate::Kept),
    ("usable-address", Fate::Left("an address of that cluster")),
    ("keep", Fate::Left(MOMENT)),
    // A cluster of kind is there for the run alone.
    ("allow-cluster-changes", Fate::Only(Ci::Github, "for whoever has the cluster to permit")),
    ("backends", Fate::Kept),
    ("backend-address", Fate::Left("an address of that machine")),
    ("backend-image", Fate::Kept),
    ("shard", Fate::Left(MOMENT)),
    ("watch", Fate::Left(MOMENT)),
    ("report-dir", Fate::Written),
    ("rerun-failed", Fate::Left(MOMENT)),
    // Its words are among the others.
    ("options-from", Fate::Written),
    ("contract", Fate::Kept),
    ("logs-from", Fate::Unrecorded),
    (KNOWN_FAILURES, Fate::File),
    ("baseline", Fate::Written),
    ("if-same-dialect", Fate::Written),
    ("baseline-optional", Fate::Written),
    ("last-green", Fate::Written),
    ("skip-preflight", Fate::Left("a nightly asks first whether it can test")),
    ("format", Fate::Left(MOMENT)),
    ("organization", Fate::Written),
    ("project", Fate::Written),
    ("url", Fate::Written),
    ("implementation-version", Fate::Written),
    ("contact", Fate::Written),
    ("mode", Fate::Unrecorded),
];

/// There is one file of known failures, and the action has an input for it.
const KNOWN_FAILURES: &str = "known-failures";
/// What is said of a scenario that is skipped without a reason.
const NO_REASON: &str = "left out with --skip";

/// Where what a first run names may be.
pub(super) struct Places {
    /// The top of the repository, without links.
    pub(super) top: PathBuf,
    /// Where the run may have been started.
    pub(super) bases: Vec<PathBuf>,
}

impl Places {
    /// The path within the repository.
    fn within(&self, file: &str) -> Result<String, &'static str> {
        let mut there = self.bases.iter().filter_map(|base| base.join(file).canonicalize().ok()).peekable();
        if there.peek().is_none() {
            return Err("it is not there");
        }
        let path = there.find_map(|file| Some(file.strip_prefix(&self.top).ok()?.to_str()?.to_owned()));
        path.map(|path| if path.is_empty() { ".".to_owned() } else { path }).ok_or("it is not in the repository")
    }
}

/// What of a first run goes into the nightly's, and what does not.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Options with their values.
    pub(super) options: Vec<Vec<String>>,
    /// Its file of known failures, within the repository.
    pub(super) known: Option<String>,
    /// What is left out, and why.
    pub(super) left: Vec<String>,
    /// What would be true and cannot be written, with what to do about it.
    pub(super) next: Vec<String>,
}

/// What of this run is true of the nightly's.
pub(super) fn of(record: &RunRecord, ci: Ci, places: &Places) -> Carried {
    let mut carried = Carried::default();
    for given in given(&record.arguments).into_iter().chain(skips(record, ci)) {
        carried.take(given, ci, places);
    }
    carried
}

/// The options that no record has.
pub(super) fn unrecorded() -> Vec<String> {
    let named = FATES.iter().filter(|(_, fate)| *fate == Fate::Unrecorded);
    named.map(|(name, _)| format!("--{name}")).collect()
}

/// How a user says one of these options.
pub(super) fn has(options: &[Vec<String>], name: &str) -> bool {
    options.iter().any(|words| words.first().is_some_and(|word| word.split('=').next() == Some(name)))
}

/// An option as it was given.
struct Given {
    /// Its long name, without dashes.
    name: String,
    /// It, and its value.
    words: Vec<String>,
}

/// The options of a line. One that nobody knows any more takes what may be its value.
fn given(words: &[String]) -> Vec<Given> {
    let command = run_args::Args::augment_args(Command::new("run"));
    let mut rest = words.iter().peekable();
    let mut all = Vec::new();
    while let Some(word) = rest.next() {
        let option = word.split('=').next().unwrap_or_default();
        let known = command.get_arguments().find(|arg| is_called(arg, option));
        let value = match known {
            Some(arg) if !arg.get_action().takes_values() || arg.is_require_equals_set() || word != option => None,
            Some(_) => rest.next(),
            None => rest.next_if(|next| !next.starts_with('-')),
        };
        let name = known.and_then(Arg::get_long).unwrap_or(option).to_owned();
        all.push(Given { name, words: std::iter::once(word).chain(value).cloned().collect() });
    }
    all
}

fn is_called(arg: &Arg, option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| option.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))),
    }
}

/// `--skip` for each scenario that the user left out, with the reason if a line can hold it.
fn skips(record: &RunRecord, ci: Ci) -> Vec<Given> {
    let skipped = record.scenarios.iter().filter(|one| one.outcome == Outcome::Skipped && repeat_of(&one.name).1 == 1);
    let by_user = skipped.filter(|one| !one.reason.as_deref().is_some_and(is_ours));
    by_user
        .map(|one| {
            let reason = one.reason.as_deref().filter(|reason| *reason != NO_REASON);
            let with_reason = reason.map(|reason| format!("{}={reason}", one.name));
            let value = with_reason.filter(|value| can_hold(ci, value)).unwrap_or_else(|| one.name.clone());
            Given { name: "skip".to_owned(), words: vec!["--skip".to_owned(), value] }
        })
        .collect()
}

/// Whether a scenario was skipped for something else than `--skip`.
fn is_ours(reason: &str) -> bool {
    reason.starts_with("--fail-fast: ")
        || reason.ends_with(", which needs --allow-cluster-changes")
        || reason.contains("; with --backends deployed ")
}

/// Whether a word is the same word after it was written, and means nothing else to the CI. The action parts words by spaces, and knows
/// no quotes.
fn can_hold(ci: Ci, word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || c.is_ascii_graphic() || (c == ' ' && ci == Ci::Gitlab);
    let is_one = ci == Ci::Gitlab || !word.is_empty();
    is_one && word.chars().all(plain) && !["${{", "$[["].iter().any(|begin| word.contains(begin))
}

impl Carried {
    fn take(&mut self, given: Given, ci: Ci, places: &Places) {
        let fate = FATES.iter().find(|(name, _)| *name == given.name).map(|(_, fate)| *fate);
        let said = || printable(&given.words.join(" ")).into_owned();
        match fate {
            Some(Fate::Kept | Fate::Unrecorded) => self.keep(given, ci),
            Some(Fate::Only(only, _)) if only == ci => self.keep(given, ci),
            Some(Fate::Only(_, why) | Fate::Left(why)) => self.left.push(format!("{}: {why}", said())),
            Some(Fate::Written) => {}
            None => self.left.push(format!("{}: this gateproof has no such option", said())),
            Some(Fate::File) => {
                let is_known = given.name == KNOWN_FAILURES;
                match places.within(given.words.get(1).map_or("", String::as_str)) {
                    Ok(path) if is_known && can_hold(Ci::Gitlab, &path) => self.known = Some(path),
                    Ok(path) => self.keep(Given { words: vec![given.words[0].clone(), path], name: given.name }, ci),
                    Err(why) => self.next.push(format!(
                        "`{}` was left out, since {why}: {}",
                        said(),
                        match is_known {
                            true => "take its entries over into the file that is written",
                            false => "put it into the repository, and name it there",
                        }
                    )),
                }
            }
        }
    }

    fn keep(&mut self, given: Given, ci: Ci) {
        if given.words.iter().all(|word| can_hold(ci, word)) {
            return self.options.push(given.words);
        }
        self.next.push(format!(
            "`{}` was left out, since what is written can hold no such word: put its words into a file, each on a line, and name that with \
             --options-from",
            printable(&given.words.join(" "))
        ));
    }
}

#[cfg(test)]
#[path = "carried_tests.rs"]
mod tests;
