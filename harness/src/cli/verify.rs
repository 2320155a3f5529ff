//! `gateproof report verify`: whether reports are those of their log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gateproof_report::html;
use gateproof_report::terminal::printable;
use gateproof_report::words::counted;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::merge::{self, is_of_pods};
use super::output::{self, Format, FormatArg, say};
use super::recorded::{self, JudgedBy, Log, Recorded};
use super::report_dir::{CONFORMANCE, EVENTS, HTML, LIST, OPTIONS};
use super::reports;
use super::shelf::{Held, Shelf as _};
use super::{Failure, Outcome, options_from};
use crate::exit_codes;
use crate::run::RunOutput;

/// How deep a report directory is: folders within it, and within those.
const DEPTH: usize = 3;

/// Derive every report of a directory anew from its log, and say which are not as they were written.
///
/// The log itself cannot be held against anything, nor can what the controller's Pods said, what the user said of the implementation, and
/// what report.html says of a baseline.
/// Whoever edits the log and all that is made of it leaves no trace.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gateproof report verify gateproof-report

Exit codes: 0 everything is as the log has it, 1 something was edited, is missing or foreign, 2 the log cannot be judged again.")]
pub(super) struct Args {
    /// The report directory of a run
    dir: PathBuf,
    #[command(flatten)]
    by: JudgedBy,
    #[command(flatten)]
    format: FormatArg,
}

/// What a report directory holds, against what its log says.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verified {
    /// Every file that is there or should be, in order of path.
    files: Vec<Checked>,
    /// What stands in the way of taking a difference for an edit.
    notes: Vec<String>,
}

/// A file.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Checked {
    /// Its path below the directory.
    file: String,
    /// How it is.
    state: State,
    /// The first line that is another, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// What stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    there: Option<String>,
    /// What the log says.
    #[serde(skip_serializing_if = "Option::is_none")]
    derived: Option<String>,
}

/// How a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum State {
    /// As the log has it.
    Same,
    /// Otherwise.
    Edited,
    /// Not there.
    Missing,
    /// Nobody's.
    Foreign,
    /// What no log says.
    NotInTheLog,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Same => "same",
            State::Edited => "edited",
            State::Missing => "missing",
            State::Foreign => "foreign",
            State::NotInTheLog => "not in the log",
        }
    }

    fn is_well(self) -> bool {
        matches!(self, State::Same | State::NotInTheLog)
    }
}

/// Runs the verb.
pub(super) fn run(args: &Args) -> Outcome {
    let recorded = recorded::read_whatever_its_record(&args.dir, &args.by)?;
    let derived = derived(&recorded)?;
    let mut there = files_in(&args.dir)?;
    let has_news = without_news(&mut there);
    let logs: BTreeSet<String> =
        recorded.logs.iter().filter_map(|log| Some(log.file.file_name()?.to_str()?.to_owned())).collect();
    let beside = Beside { logs, has_conformance: !recorded.is_old };
    let mut verified = Verified { files: checked(&derived, &there, &beside), notes: notes(&recorded)? };
    if has_news {
        verified
            .notes
            .push(format!("{HTML} begins with news against a baseline, which cannot be held against the log"));
    }
    match args.format.format {
        Format::Json => output::json(&verified)?,
        Format::Text => print(&verified),
    }
    let is_well = verified.files.iter().all(|file| file.state.is_well());
    Ok(if is_well { exit_codes::PASSED } else { exit_codes::FAILED })
}

/// Every file that can be made of the log.
fn derived(recorded: &Recorded) -> Result<BTreeMap<String, String>, Failure> {
    let record = &recorded.run.record;
    let identity = recorded.identity();
    let left_out = recorded.named(recorded.run.left_out.as_deref().unwrap_or_default())?;
    let mut record = record.clone();
    let mut held = match &recorded.logs[..] {
        [log] => {
            let mut held = Held::of(log.file.clone());
            let output = RunOutput {
                events: Vec::new(),
                record: record.clone(),
                left_out,
                leftovers: Vec::new(),
                kept: Vec::new(),
                logs: BTreeMap::new(),
            };
            reports::write(&mut held, &output, &identity, None)?;
            held
        }
        logs => {
            // Where the whole has its options is for whoever put it together to say.
            record.options_file.clone_from(&recorded.record.options_file);
            let mut held = Held::of(recorded.dir.join(EVENTS));
            let logs: Vec<&Log> = logs.iter().collect();
            merge::write(&mut held, &record, &logs, &left_out, &identity, None)?;
            held
        }
    };
    if let Some(text) = options_from::file(&record.arguments) {
        held.write(&[OPTIONS], &text)?;
    }
    Ok(held.files)
}

/// What is in a directory beside what is made of its log.
struct Beside {
    logs: BTreeSet<String>,
    /// Whether the log says enough for a ConformanceReport.
    has_conformance: bool,
}

impl Beside {
    fn is_unsaid(&self, file: &str) -> bool {
        let of_pods = file.starts_with("failures/") && file.rsplit('/').next().is_some_and(is_of_pods);
        of_pods || (file == CONFORMANCE && !self.has_conformance)
    }
}

/// Takes what is news against a baseline out of the page that is there, for no log has it; whether there was any.
fn without_news(there: &mut BTreeMap<String, Option<String>>) -> bool {
    let Some(Some(page)) = there.get_mut(HTML) else { return false };
    let Some(plain) = html::without_news(page) else { return false };
    *page = plain;
    true
}

/// How every file is. Files that are there come with their text, if it is one.
fn checked(
    derived: &BTreeMap<String, String>,
    there: &BTreeMap<String, Option<String>>,
    beside: &Beside,
) -> Vec<Checked> {
    let plain = |file: &str, state| Checked { file: file.to_owned(), state, line: None, there: None, derived: None };
    let names: BTreeSet<&String> = derived.keys().chain(there.keys()).collect();
    let one = |file: &String| match (derived.get(file), there.get(file)) {
        _ if beside.logs.contains(file) || file == LIST => None,
        _ if beside.is_unsaid(file) => Some(plain(file, State::NotInTheLog)),
        (Some(_), None) => Some(plain(file, State::Missing)),
        (None, _) => Some(plain(file, State::Foreign)),
        (Some(derived), Some(Some(text))) if is_alike(file, derived, text) => Some(plain(file, State::Same)),
        (Some(derived), Some(text)) => {
            let text = text.as_deref().unwrap_or_default();
            let both = derived.lines().zip(text.lines());
            let line = both.take_while(|(one, other)| is_alike(file, one, other)).count();
            let at = |text: &str| Some(text.lines().nth(line).unwrap_or("the end of the file").to_owned());
            let (there, derived) = (at(text), at(derived));
            Some(Checked { line: Some(line + 1), there, derived, ..plain(file, State::Edited) })
        }
    };
    names.into_iter().filter_map(one).collect()
}

/// Whether two texts say the same. Objects that were put together from a log have their fields in another order, and nothing more or less: a
/// field that is there twice counts for whoever reads its first value.
fn is_alike(file: &str, one: &str, other: &str) -> bool {
    let value = |line: &str| serde_json::from_str::<Value>(line).ok();
    let same = |(one, other): (&str, &str)| {
        one == other || (one.len() == other.len() && value(one).is_some_and(|it| Some(it) == value(other)))
    };
    one == other
        || (file.ends_with(".jsonl")
            && one.ends_with('\n') == other.ends_with('\n')
            && one.lines().count() == other.lines().count()
            && one.lines().zip(other.lines()).all(same))
}

/// Every file below a directory by its path, with its text, if it is one. Links are not followed.
fn files_in(dir: &Path) -> Result<BTreeMap<String, Option<String>>, Failure> {
    let mut found = BTreeMap::new();
    let mut open = vec![(dir.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = open.pop() {
        let unreadable = |error| Failure::usage(format!("cannot read {}: {error}", folder.display()), "check the path");
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if kind.is_dir() && depth < DEPTH {
                open.push((entry.path(), format!("{name}/"), depth + 1));
            } else if kind.is_file() && !(prefix.is_empty() && name.starts_with("events")) {
                found.insert(name, std::fs::read_to_string(entry.path()).ok());
            } else {
                found.insert(name, None);
            }
        }
    }
    Ok(found)
}

fn notes(recorded: &Recorded) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    let record = &recorded.run.record;
    let own = format!("gateproof {}", env!("CARGO_PKG_VERSION"));
    if record.producer != own {
        notes.push(format!("the run was of {}, and this is {own}: reports may be written otherwise", record.producer));
    }
    match &record.digests {
        None => notes.push("the log has no digests: what it was judged by cannot be told".to_owned()),
        Some(digests) => {
            let suite = recorded.suite.digest();
            let suite = suite.map_err(|error| Failure::usage(error, "the suite cannot be read"))?;
            if digests.suite != suite {
                notes.push("the run was judged by another suite than this one has".to_owned());
            }
        }
    }
    if !recorded.changed.is_empty() {
        notes.push(format!("manifests that are not those that were run: {}", recorded.changed.join(", ")));
    }
    if recorded.is_old {
        notes.push("the log does not say which scenarios did not run: these are taken from record.json".to_owned());
    }
    Ok(notes)
}

fn print(verified: &Verified) {
    let told = verified.files.iter().filter(|file| file.state != State::Same);
    for Checked { file, state, line, there, derived } in told {
        let at = line.map(|line| format!(", line {line}")).unwrap_or_default();
        say!("{}: {}{at}", printable(file), state.word());
        for (what, text) in [("there", there), ("log", derived)] {
            if let Some(text) = text {
                say!("  {what}: {}", printable(&shortened(text)));
            }
        }
    }
    verified.notes.iter().for_each(|note| say!("{}", printable(note)));
    let count = |state| verified.files.iter().filter(|file| file.state == state).count();
    let states = [State::Same, State::Edited, State::Missing, State::Foreign, State::NotInTheLog];
    let counts: Vec<String> = states
        .into_iter()
        .filter(|state| count(*state) > 0)
        .map(|state| format!("{} {}", count(state), state.word()))
        .collect();
    say!("{}: {}", counted(verified.files.len(), "file", "files"), counts.join(", "));
}

/// A line of which the beginning is shown.
fn shortened(line: &str) -> String {
    const LONGEST: usize = 160;
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn of<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
        files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
    }

    #[rstest]
    #[case::same(&[("a", "x\ny\n")], &[("a", State::Same, None)])]
    #[case::edited(&[("a", "x\nz\n")], &[("a", State::Edited, Some(2))])]
    #[case::cut(&[("a", "x\n")], &[("a", State::Edited, Some(2))])]
    #[case::longer(&[("a", "x\ny\nz\n")], &[("a", State::Edited, Some(3))])]
    #[case::ends_otherwise(&[("a", "x\ny")], &[("a", State::Edited, Some(3))])]
    #[case::missing(&[], &[("a", State::Missing, None)])]
    #[case::foreign(&[("a", "x\ny\n"), ("b", "")], &[("a", State::Same, None), ("b", State::Foreign, None)])]
    #[case::of_the_directory(&[("a", "x\ny\n"), (LIST, ""), (EVENTS, "")], &[("a", State::Same, None)])]
    #[case::of_pods(
        &[("a", "x\ny\n"), ("failures/s/pod.log", ""), ("pod.log", "")],
        &[("a", State::Same, None), ("failures/s/pod.log", State::NotInTheLog, None), ("pod.log", State::Foreign, None)]
    )]
    fn each_file_is_told_of(#[case] there: &[(&str, &str)], #[case] expected: &[(&str, State, Option<usize>)]) {
        let there = there.iter().map(|(name, text)| ((*name).to_owned(), Some((*text).to_owned()))).collect();
        let beside = Beside { logs: BTreeSet::from([EVENTS.to_owned()]), has_conformance: true };
        let found = checked(&of([("a", "x\ny\n")]), &there, &beside);
        let found: Vec<_> = found.iter().map(|one| (one.file.as_str(), one.state, one.line)).collect();
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::order("a.jsonl", "{\"a\":1,\"b\":2}\n", "{\"b\":2,\"a\":1}\n", true)]
    #[case::value("a.jsonl", "{\"a\":1}\n", "{\"a\":2}\n", false)]
    #[case::more("a.jsonl", "{}\n", "{}\n{}\n", false)]
    #[case::twice("a.jsonl", "{\"a\":1}\n", "{\"a\":2,\"a\":1}\n", false)]
    #[case::no_end("a.jsonl", "{}\n", "{}", false)]
    #[case::no_data("a.jsonl", "{a\n", "{b\n", false)]
    #[case::of_another_form("a.json", "{\"a\":1,\"b\":2}\n", "{\"b\":2,\"a\":1}\n", false)]
    fn only_the_order_of_fields_is_free(
        #[case] file: &str,
        #[case] one: &str,
        #[case] other: &str,
        #[case] alike: bool,
    ) {
        assert_eq!(is_alike(file, one, other), alike);
    }

    #[test]
    fn what_is_no_text_is_edited() {
        let there = BTreeMap::from([("a".to_owned(), None)]);
        let beside = Beside { logs: BTreeSet::new(), has_conformance: true };
        assert_eq!(checked(&of([("a", "x\n")]), &there, &beside)[0].state, State::Edited);
    }

    #[test]
    fn a_log_that_says_too_little_is_no_evidence_against_a_conformance_report() {
        let there = BTreeMap::from([(CONFORMANCE.to_owned(), Some("b".to_owned()))]);
        let beside = |has_conformance| Beside { logs: BTreeSet::new(), has_conformance };
        assert_eq!(checked(&of([(CONFORMANCE, "a")]), &there, &beside(true))[0].state, State::Edited);
        assert_eq!(checked(&of([(CONFORMANCE, "a")]), &there, &beside(false))[0].state, State::NotInTheLog);
    }
}
