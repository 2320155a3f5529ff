//! `summary.md`, for a CI page or a pull request.

use std::fmt::Write;

use crate::record::{Outcome, RunRecord, Severity};
use crate::words::shortened;
use crate::{reproduce, terminal};

/// How many bytes of a text that others chose are shown. One object of a cluster may have more of it than GitHub shows of a whole summary.
const LONGEST: usize = 2_000;
/// From how many bytes on no further row is shown, and no further command: GitHub leaves out a summary of more than 1,048,576.
const ROWS: usize = 700_000;
const COMMANDS: usize = 900_000;

/// The record as Markdown. Text from the target is shown as code: it can hold anything.
pub fn render(record: &RunRecord) -> String {
    render_with(record, &[])
}

/// The same with what the failures look like, line by line.
pub fn render_with(record: &RunRecord, diagnosis: &[String]) -> String {
    let mut out = String::new();
    let target = &record.target;
    let _ = writeln!(out, "# Gateproof: {}\n", code(&target.name));
    if target.embedded {
        let _ = writeln!(out, "The target was the embedded reference, not a real implementation.\n");
    }
    let mut about = format!("{} by {}", code(&record.date), code(&record.producer));
    for (what, name) in [("class", &target.gateway_class), ("controller", &target.controller_name)] {
        if let Some(name) = name {
            let _ = write!(about, " · {what} {}", code(name));
        }
    }
    match (&target.gateway_api_version, &target.gateway_api_channel) {
        (Some(version), Some(channel)) => {
            let _ = write!(about, " · Gateway API {} {}", code(version), code(channel));
        }
        _ => {
            let _ = write!(about, " · {}", code(&target.dialect));
            if let Some(edition) = &target.edition {
                let _ = write!(about, ", edition {}", code(edition));
            }
        }
    }
    let _ = writeln!(out, "{about}\n");
    if let Some(definitions) = &target.definitions {
        let _ = writeln!(out, "The release was chosen: the definitions on the target are of {}.\n", code(definitions));
    }
    let _ = writeln!(out, "**{}**\n", terminal::counts(record));
    if record.interrupted {
        let _ = writeln!(out, "The run was broken off before everything had ended: what had not is inconclusive.\n");
    }
    if record.impatient {
        let _ = writeln!(out, "The run was impatient: what is wrong was judged before its time was up.\n");
    }
    let _ = writeln!(out, "| scenario | outcome | why |\n|---|---|---|");
    let mut left_out = 0_usize;
    for scenario in record.scenarios.iter().filter(|s| s.outcome != Outcome::Passed) {
        if out.len() > ROWS {
            left_out += scenario.executions();
            continue;
        }
        let first = scenario.findings.iter().find(|f| f.severity == Severity::Failure);
        let why = match (first, &scenario.reasons()) {
            (_, Some(reason)) if scenario.outcome == Outcome::KnownFailure => cell(reason),
            (Some(f), _) => {
                let clauses =
                    if f.clauses.is_empty() { String::new() } else { format!(" ({})", code(&f.clauses.join(", "))) };
                format!("expected {}; saw {}{clauses}", cell(&f.expected), cell(&f.seen))
            }
            (None, Some(reason)) => cell(reason),
            (None, None) => String::new(),
        };
        let _ = writeln!(out, "| {} | {} | {why} |", code(&scenario.name), terminal::word(scenario.outcome));
    }
    left_out += contract(&mut out, record);
    if left_out > 0 {
        let _ = writeln!(out, "\n{left_out} more did not pass, or are not well: report.html has all of them.");
    }
    looks_like(&mut out, diagnosis);
    if let Some(line) = terminal::outside_profiles(record) {
        let _ = writeln!(out, "\n{}", code(&line));
    }
    stale(&mut out, record);
    again(&mut out, record);
    out
}

/// Which mistake it may be, indented as it is told: in such a block nothing is markup.
fn looks_like(out: &mut String, diagnosis: &[String]) {
    if !diagnosis.is_empty() {
        let _ = writeln!(out, "\nWhat it looks like:\n");
    }
    for line in diagnosis {
        let _ = writeln!(out, "    {}", terminal::printable(line));
    }
}

/// Entries of the file of known failures that have to be changed.
fn stale(out: &mut String, record: &RunRecord) {
    let lines: Vec<String> = record.known_failures.iter().filter_map(terminal::stale).collect();
    if !lines.is_empty() {
        let _ = writeln!(out, "\nOut of date in the file of known failures:\n");
    }
    for line in lines {
        let _ = writeln!(out, "- {}", code(&line));
    }
}

/// How to run what did not pass again, ready to be copied.
fn again(out: &mut String, record: &RunRecord) {
    let lines: Vec<String> = record
        .scenarios
        .iter()
        .filter(|s| matches!(s.outcome, Outcome::Failed | Outcome::Late | Outcome::Inconclusive))
        .map(|s| reproduce::command(&record.again(), &s.name))
        .collect();
    if lines.is_empty() {
        return;
    }
    // An indented block ends at no mark that a name or path could hold.
    let _ = writeln!(out, "\nRun just one of them again:\n");
    for line in lines {
        if out.len() > COMMANDS {
            break;
        }
        let _ = writeln!(out, "    {}", terminal::printable(&line));
    }
}

/// Returns how many rules there was no room for.
fn contract(out: &mut String, record: &RunRecord) -> usize {
    let mut left_out = 0;
    for rule in record.contract.iter().filter(|r| !r.breaches.is_empty()) {
        if out.len() > ROWS {
            left_out += 1;
            continue;
        }
        let first = &rule.breaches[0];
        let place = code(&format!("{} {}", first.object, first.path));
        let often = match rule.breaches.len() {
            1 => String::new(),
            count => format!("{count} breaches, first: "),
        };
        let why = format!("{often}{place}: {}", cell(&first.seen));
        let (mark, why) = match &rule.known {
            Some(reason) => ("KNOWN FAILURE", code(reason)),
            None if rule.severity == Severity::Failure => ("FAILED", why),
            None => ("WARNING", why),
        };
        let _ = writeln!(out, "| {} | {mark} | {why} |", code(&rule.name));
    }
    left_out
}

/// A text of whatever length as code.
fn cell(text: &str) -> String {
    code(&shortened(text, LONGEST))
}

/// A text that others chose, as code: within it nothing is a link, an image, HTML, a mention or a number of an issue, neither to
/// Markdown nor to the sites that make more of it afterwards. Good for cells of tables too.
pub(crate) fn code(text: &str) -> String {
    let text = terminal::printable(text);
    // A cell ends at a bar even within code, unless a backslash is before it, and that one must not belong to another one.
    let text = text.replace("\\|", "\\u{5c}|").replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // Code that begins or ends with a fence's letter or a space needs one more; of nothing there can be no code.
    let space = if text.trim_matches(' ').is_empty() || text.starts_with([' ', '`']) || text.ends_with([' ', '`']) {
        " "
    } else {
        ""
    };
    if text.is_empty() { String::new() } else { format!("{fence}{space}{text}{space}{fence}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    /// A run in which so many scenarios failed, each of which saw this.
    fn failed(count: usize, seen: &str) -> RunRecord {
        let finding = json!({
            "expectation": "steps[0].settle.a", "severity": "failure", "clauses": ["A-1"], "line": 1, "stage": "programmed",
            "expected": "b", "seen": seen, "late": false, "consequence": false, "atMs": 1,
        });
        let scenario = |index: usize| {
            json!({
                "name": format!("scenario-{index}"), "suite": "s", "file": "f", "summary": "", "features": [], "proves": [],
                "outcome": "failed", "findings": [finding], "durationMs": 1,
            })
        };
        let record = json!({
            "format": 1, "producer": "gateproof 0.1.0", "date": "2026-01-01T00:00:00Z", "interrupted": false, "durationMs": 1,
            "target": {"name": "t", "embedded": false, "features": []},
            "scenarios": (0..count).map(scenario).collect::<Vec<_>>(), "contract": [],
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let text = render(&failed(1, &format!("{}the end", "ä".repeat(1_000))));
        assert!(text.contains("… (7 bytes more)`") && !text.contains("the end"), "{text}");
        assert!(render(&failed(1, &"ä".repeat(1_000))).contains(&format!("saw `{}`", "ä".repeat(1_000))));
    }

    #[test]
    fn github_shows_all_of_the_largest() {
        for (count, seen) in [(1_000, "`|\u{1b}<".repeat(1_000).as_str()), (20_000, "x")] {
            let text = render(&failed(count, seen));
            assert!(text.len() < 1_048_576, "{} bytes", text.len());
            let rows = text.lines().filter(|line| line.starts_with("| `scenario-")).count();
            assert!(rows > 50 && rows < count, "{rows} rows");
            assert!(text.contains(&format!("\n{} more did not pass", count - rows)), "{rows} rows");
        }
        assert!(!render(&failed(3, "x")).contains("more did not pass"));
    }

    #[test]
    fn what_it_looks_like_is_no_markup() {
        let lines = ["it behaves as under one of them:".to_owned(), "  a: <b>\nnews\u{1b}".to_owned()];
        let text = render_with(&failed(1, "x"), &lines);
        let told = "\nWhat it looks like:\n\n    it behaves as under one of them:\n      a: <b>\\nnews\\u{1b}\n\n";
        assert!(text.contains(told), "{text}");
        assert!(!render(&failed(1, "x")).contains("looks like"));
    }
}
