//! The directory of a run's reports. It holds the files of one run, whole, or says that its run did not end.
//!
//! Everything that is written here is on a list beside it, and only what is on that list is ever taken away. Whatever else
//! stands where a file of ours has to go is set aside under another name. A run of several dialects lists a folder for each, which has
//! a list of its own.

mod name;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gateproof_report::record::{RunRecord, repeat_of};

use self::name::{file_name, is_file_name};
use super::Failure;
use super::output::tell;

/// The log.
pub(crate) const EVENTS: &str = "events.jsonl";
/// The record.
pub(crate) const RECORD: &str = "record.json";
/// What the record comes to, for whoever reads it.
pub(crate) const JUNIT: &str = "junit.xml";
/// The same as Markdown.
pub(crate) const SUMMARY: &str = "summary.md";
/// The same as a page, with evidence.
pub(crate) const HTML: &str = "report.html";
/// The same for upstream.
pub(crate) const CONFORMANCE: &str = "conformance-report.yaml";
/// The options of the run, if they are too many for a line.
pub(crate) const OPTIONS: &str = "options.txt";

/// What would be taken for a run's, whoever wrote it.
const REPORTS: [&str; 6] = [EVENTS, RECORD, JUNIT, SUMMARY, HTML, CONFORMANCE];
/// The list.
pub(crate) const LIST: &str = "gateproof-files.txt";
const LIST_HEAD: &str =
    "# What gateproof wrote here, and takes away when the next run begins; a folder ends with a slash.";
/// There as long as the rest is not the whole of a run.
const UNFINISHED: &str = "unfinished.txt";
const UNFINISHED_HEAD: &str =
    "The run of this directory has not ended: it is under way, was killed, or could not start.";
/// What the last run that ended came to, until another one has: what failed then can still be run again.
pub(crate) const PREVIOUS: &str = "previous-record.json";

/// The report directory of one run.
pub(crate) struct ReportDir {
    root: PathBuf,
    taken: bool,
    /// What this run has written, as it is listed.
    ours: BTreeSet<String>,
    /// The dialects of this run that have a directory of their own in it.
    dialects: Vec<String>,
    /// Those of an earlier run of several that are none of this one's. What failed in them can be run again until this one has ended.
    earlier: Vec<String>,
}

impl ReportDir {
    /// One that is not touched yet.
    pub(crate) fn at(root: &Path) -> ReportDir {
        ReportDir::of_several(root, Vec::new())
    }

    /// The same of a run of several dialects. Each has a directory of its own below it, which itself takes away what an earlier run left there.
    pub(crate) fn of_several(root: &Path, dialects: Vec<String>) -> ReportDir {
        ReportDir { root: root.to_owned(), taken: false, ours: BTreeSet::new(), dialects, earlier: Vec::new() }
    }

    /// Takes away what an earlier run left, of one dialect or of several, if there is anything that could pass for this one's, and says
    /// that this run has not ended.
    pub(crate) fn take(&mut self) -> Result<(), Failure> {
        can_be_directory(&self.root, "--report-dir")?;
        if self.taken || !self.root.is_dir() {
            return Ok(());
        }
        let listed = self.listed()?;
        let there = |name: &&str| fs::symlink_metadata(self.root.join(name)).is_ok();
        if listed.is_some() || REPORTS.iter().any(there) {
            let last = if is_unfinished(&self.root) { PREVIOUS } else { RECORD };
            let previous = text_of(&self.root.join(last));
            let listed = listed.unwrap_or_default();
            self.earlier = dialects_of(&self.root, &listed).into_iter().map(|(name, _)| name).collect();
            self.earlier.retain(|name| !self.dialects.contains(name));
            for name in &self.earlier {
                ReportDir::at(&self.root.join(name)).take()?;
            }
            self.remove(&listed)?;
            self.mark(previous.as_deref())?;
        }
        Ok(())
    }

    /// The same, and makes the directory, so that a run does not end without a place for its reports.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        can_be_directory(&self.root, "--report-dir")?;
        fs::create_dir_all(&self.root).map_err(|error| self.failure(&self.root, &error))?;
        self.take()?;
        if self.taken { Ok(()) } else { self.mark(None) }
    }

    /// How long scenarios took in the run that ended here last, if that was on this target: milliseconds by name.
    pub(crate) fn took(&self, target: &str) -> BTreeMap<String, u64> {
        // Whoever cannot read it goes without.
        let text = fs::read_to_string(self.root.join(PREVIOUS)).ok();
        let record: Option<RunRecord> = text.and_then(|text| serde_json::from_str(&text).ok());
        took_in(record.iter(), target)
    }

    /// Whether it holds no earlier run any more, and this one's, as far as that has come.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken
    }

    /// Says why the run does not end, where that can be said.
    pub(crate) fn broken_off(&mut self, why: &Failure) {
        // Whoever reads the directory is told already that its run did not end.
        if self.take().is_ok() && self.taken {
            let (Failure::Usage(report) | Failure::Environment(report)) = why;
            let _ = self.write(&[UNFINISHED], &format!("{UNFINISHED_HEAD}\nIt was broken off: {report}\n"));
        }
    }

    /// The run has ended, and everything of it is written.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        for name in std::mem::take(&mut self.earlier) {
            let dir = self.root.join(name);
            if let Some(listed) = listed_in(&dir) {
                ReportDir::at(&dir).clear(&listed)?;
            }
        }
        for name in [PREVIOUS, UNFINISHED].into_iter().filter(|name| self.ours.contains(*name)) {
            let path = self.root.join(name);
            fs::remove_file(&path).map_err(|error| self.failure(&path, &error))?;
        }
        Ok(())
    }

    /// Where the log is streamed to.
    pub(crate) fn events_file(&mut self) -> Result<PathBuf, Failure> {
        self.place(&[EVENTS])
    }

    /// Writes a file: folders, and its name. Each of them may be any text, and the file is below the directory.
    pub(crate) fn write(&mut self, parts: &[&str], text: &str) -> Result<(), Failure> {
        let path = self.place(parts)?;
        fs::write(&path, text).map_err(|error| self.failure(&path, &error))
    }

    /// Writes what stands in another file, however large.
    pub(crate) fn copy(&mut self, parts: &[&str], from: &Path) -> Result<(), Failure> {
        let mut source = File::open(from)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", from.display()), "check the path"))?;
        let path = self.place(parts)?;
        let copied = File::create(&path).and_then(|mut file| io::copy(&mut source, &mut file));
        copied.map(drop).map_err(|error| self.failure(&path, &error))
    }

    fn mark(&mut self, previous: Option<&str>) -> Result<(), Failure> {
        self.taken = true;
        let path = self.root.join(LIST);
        let dialects: String = self.dialects.iter().chain(&self.earlier).map(|name| format!("{name}/\n")).collect();
        fs::write(&path, format!("{LIST_HEAD}\n{dialects}")).map_err(|error| self.failure(&path, &error))?;
        self.write(&[UNFINISHED], &format!("{UNFINISHED_HEAD}\n"))?;
        REPORTS.iter().try_for_each(|name| self.make_room(&self.root.join(name)))?;
        previous.map_or(Ok(()), |record| self.write(&[PREVIOUS], record))
    }

    /// The path of a file of ours, with room for it.
    fn place(&mut self, parts: &[&str]) -> Result<PathBuf, Failure> {
        let names: Vec<String> = parts.iter().map(|part| file_name(part)).collect();
        let mut path = self.root.clone();
        let mut listed = String::new();
        for (index, name) in names.iter().enumerate() {
            path.push(name);
            listed.push_str(name);
            if index + 1 < names.len() {
                listed.push('/');
                self.folder(&path, &listed)?;
            } else if !self.ours.contains(&listed) {
                self.make_room(&path)?;
                self.list(&listed)?;
            }
        }
        Ok(path)
    }

    /// A link would lead elsewhere, so it is no folder.
    fn folder(&mut self, path: &Path, listed: &str) -> Result<(), Failure> {
        if fs::symlink_metadata(path).is_ok_and(|there| there.is_dir()) {
            return Ok(());
        }
        self.make_room(path)?;
        self.list(listed)?;
        fs::create_dir(path).map_err(|error| self.failure(path, &error))
    }

    /// Renames what is in the way. A pipe or a device is there to be written to.
    fn make_room(&self, path: &Path) -> Result<(), Failure> {
        let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
        if !(there.is_file() || there.is_dir() || there.is_symlink()) {
            return Ok(());
        }
        let aside = |number: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(if number == 1 { ".before".to_owned() } else { format!(".before-{number}") });
            PathBuf::from(name)
        };
        let free = (1..).map(aside).find(|aside| fs::symlink_metadata(aside).is_err()).unwrap_or_else(|| aside(0));
        fs::rename(path, &free).map_err(|error| self.failure(path, &error))?;
        tell!("{} was not written by gateproof, as far as can be known; it is {} now", path.display(), free.display());
        Ok(())
    }

    /// Before it is there, so that nothing of a killed run is forgotten.
    fn list(&mut self, name: &str) -> Result<(), Failure> {
        let path = self.root.join(LIST);
        let file = fs::OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| writeln!(file, "{name}")).map_err(|error| self.failure(&path, &error))?;
        self.ours.insert(name.to_owned());
        Ok(())
    }

    /// What earlier runs wrote; nothing if there is no list of ours.
    fn listed(&self) -> Result<Option<Vec<String>>, Failure> {
        let listed = listed_in(&self.root);
        if listed.is_none() {
            self.make_room(&self.root.join(LIST))?;
        }
        Ok(listed)
    }

    /// Removes what is listed, the list, and the directory if nothing else is in it: how many files there were.
    fn clear(&self, listed: &[String]) -> Result<usize, Failure> {
        let there = |name: &&String| fs::symlink_metadata(self.root.join(name)).is_ok_and(|there| there.is_file());
        let before = listed.iter().filter(there).count();
        self.remove(listed)?;
        let left = listed.iter().filter(there).count();
        let list = self.root.join(LIST);
        fs::remove_file(&list).map_err(|error| self.failure(&list, &error))?;
        // What is not empty holds something of somebody else's.
        let _ = fs::remove_dir(&self.root);
        Ok(before - left)
    }

    /// Removes what is on the list, and nothing that has another thing's form or stands behind a link.
    fn remove(&self, listed: &[String]) -> Result<(), Failure> {
        let is_below = |name: &str| name.split('/').all(is_file_name);
        let (folders, files): (Vec<&str>, Vec<&str>) =
            listed.iter().map(String::as_str).partition(|n| n.ends_with('/'));
        for name in files.into_iter().filter(|name| is_below(name)) {
            let path = self.root.join(name);
            let is_file = fs::symlink_metadata(&path).is_ok_and(|there| !there.is_dir() && !there.is_symlink());
            if is_file && self.is_no_detour(name) {
                fs::remove_file(&path).map_err(|error| self.failure(&path, &error))?;
            }
        }
        for name in folders.iter().rev().map(|name| name.trim_end_matches('/')).filter(|name| is_below(name)) {
            // What is not empty holds something of somebody else's.
            if self.is_no_detour(name) {
                let _ = fs::remove_dir(self.root.join(name));
            }
        }
        Ok(())
    }

    /// Whether every folder on the way to it is a folder.
    fn is_no_detour(&self, name: &str) -> bool {
        let ends = name.match_indices('/').map(|(at, _)| at);
        ends.map(|at| self.root.join(&name[..at]))
            .all(|way| fs::symlink_metadata(way).is_ok_and(|there| there.is_dir()))
    }

    fn failure(&self, path: &Path, error: &io::Error) -> Failure {
        Failure::environment(
            format!("cannot write {}: {error}", path.display()),
            "name a directory that can be written with --report-dir",
        )
    }
}

/// That a directory is there or can be made, as far as what is on the way to it goes. `option` names it.
///
/// # Errors
/// If something else stands there.
pub(crate) fn can_be_directory(path: &Path, option: &str) -> Result<(), Failure> {
    let there = |at: &&Path| fs::symlink_metadata(at).is_ok();
    match path.ancestors().find(there) {
        Some(at) if !at.is_dir() => {
            let help = format!("name a directory with {option}, or one that is to be made");
            Err(Failure::usage(format!("{} is no directory", at.display()), help))
        }
        _ => Ok(()),
    }
}

/// The path of a file below a report directory, as it is listed there.
pub(crate) fn listed_as(parts: &[&str]) -> String {
    parts.iter().map(|part| file_name(part)).collect::<Vec<_>>().join("/")
}

fn is_unfinished(dir: &Path) -> bool {
    text_of(&dir.join(UNFINISHED)).is_some_and(|text| text.starts_with(UNFINISHED_HEAD))
}

/// The text of a file, if it is one: whoever reads a pipe waits for a writer, who may never come.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    readable(path).ok()?;
    fs::read_to_string(path).ok()
}

/// That what stands in a directory can be read to its end, if there is anything.
///
/// # Errors
/// If it is no file.
pub(crate) fn readable(path: &Path) -> Result<(), Failure> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let help = "what went through a pipe is not kept; name the report directory of a run that wrote files";
        return Err(Failure::usage(format!("{} is no file", path.display()), help));
    }
    Ok(())
}

/// A file that the user named, or this one of a directory, whose run must have ended.
///
/// # Errors
/// If it did not, or if that is no file.
pub(crate) fn file_of(path: &Path, name: &str) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    if is_unfinished(path) {
        let help = format!("{} says more; run the scenarios again", path.join(UNFINISHED).display());
        return Err(Failure::usage(format!("the run of {} did not end", path.display()), help));
    }
    let file = path.join(name);
    readable(&file)?;
    let within = if file.exists() { Vec::new() } else { directories_with(path, name) };
    if within.is_empty() && name == CONFORMANCE && !file.exists() && path.join(RECORD).is_file() {
        let problem = format!("{} has no {name}", path.display());
        return Err(Failure::usage(
            problem,
            "only a run of the dialect gateway-api, without --impatient, writes a ConformanceReport",
        ));
    }
    if within.is_empty() {
        return Ok(file);
    }
    let problem = format!("{} has no {name}, but report directories in it", path.display());
    Err(Failure::usage(problem, format!("name one of them: {}", within.join(", "))))
}

/// The directories in this one that have such a file, as those of a run of several dialects.
fn directories_with(path: &Path, name: &str) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|entry| entry.join(name).is_file()).collect();
    found.sort();
    found.iter().map(|dir| dir.display().to_string()).collect()
}

/// Takes away what runs wrote into a directory, and the directory if nothing else is in it: how many files, or why nothing of it was touched.
pub(crate) fn prune(root: &Path) -> Result<Result<usize, &'static str>, Failure> {
    if !fs::symlink_metadata(root).is_ok_and(|there| there.is_dir()) {
        return Ok(Err("it is no directory of reports"));
    }
    if is_unfinished(root) {
        return Ok(Err("its run has not ended"));
    }
    let Some(listed) = listed_in(root) else { return Ok(Err("it has no list of what gateproof wrote there")) };
    let files = ReportDir::at(root).clear(&listed)?;
    if let (Some(whole), Some(name)) = (root.parent(), root.file_name().and_then(|name| name.to_str())) {
        leave(whole, name);
    }
    Ok(Ok(files))
}

/// Takes away the list of a run of several dialects, of which this was the last that had reports, and its directory if nothing else is in it.
fn leave(whole: &Path, dialect: &str) {
    let there = |name: &String| fs::symlink_metadata(whole.join(name)).is_ok();
    let Some(listed) = listed_in(whole) else { return };
    if listed.contains(&format!("{dialect}/")) && !listed.iter().any(there) {
        // What stays is a list of nothing.
        let _ = fs::remove_file(whole.join(LIST)).and_then(|()| fs::remove_dir(whole));
    }
}

/// What runs wrote into a directory; nothing if there is no list of ours.
fn listed_in(root: &Path) -> Option<Vec<String>> {
    let list = root.join(LIST);
    // Whoever reads a pipe waits for a writer, and a link leads elsewhere.
    if !fs::symlink_metadata(&list).is_ok_and(|there| there.is_file()) {
        return None;
    }
    let text = fs::read_to_string(&list).ok()?;
    let mut lines = text.lines();
    (lines.next() == Some(LIST_HEAD)).then(|| lines.map(str::to_owned).collect())
}

/// The directories of a run of several dialects, as the list of the whole names them, each with what is on its own list.
fn dialects_of(root: &Path, listed: &[String]) -> Vec<(String, Vec<String>)> {
    let names = listed.iter().filter_map(|name| name.strip_suffix('/')).filter(|name| is_file_name(name));
    let is_folder = |name: &&str| fs::symlink_metadata(root.join(name)).is_ok_and(|there| there.is_dir());
    names.filter(is_folder).filter_map(|name| Some((name.to_owned(), listed_in(&root.join(name))?))).collect()
}

/// Says why a run of several dialects is not begun, where reports of earlier runs would be taken for its own.
pub(crate) fn not_begun(root: &Path, why: &Failure) {
    let listed = listed_in(root).unwrap_or_default();
    let dialects: Vec<String> = dialects_of(root, &listed).into_iter().map(|(name, _)| name).collect();
    dialects.iter().for_each(|name| ReportDir::at(&root.join(name)).broken_off(why));
    ReportDir::of_several(root, dialects).broken_off(why);
}

/// Where the record is that says what failed: that of the last run that ended.
pub(crate) fn last_record(path: &Path) -> Result<PathBuf, Failure> {
    let previous = path.join(PREVIOUS);
    match file_of(path, RECORD) {
        Err(_) if previous.is_file() => {
            tell!("the last run of {} did not end; this is about the one before", path.display());
            Ok(previous)
        }
        found => found,
    }
}

/// How long scenarios took at most in those runs that were on this target: milliseconds by name.
pub(crate) fn took_in<'r>(runs: impl Iterator<Item = &'r RunRecord>, target: &str) -> BTreeMap<String, u64> {
    let mut took = BTreeMap::new();
    for scenario in runs.filter(|run| run.target.name == target).flat_map(|run| &run.scenarios) {
        let longest = took.entry(repeat_of(&scenario.name).0.to_owned()).or_default();
        *longest = scenario.duration_ms.max(*longest);
    }
    took.retain(|_, longest| *longest > 0);
    took
}

#[cfg(test)]
#[path = "report_dir/tests.rs"]
mod tests;
