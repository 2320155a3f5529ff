//! `summary.md`, for a CI page or a pull request.

use std::fmt::Write;

use crate::record::{Outcome, RunRecord, Severity};
use crate::{reproduce, terminal};

/// The record as Markdown. Text from the target is shown as code: it can hold anything.
pub fn render(record: &RunRecord) -> String {
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
        let _ = writeln!(out, "The run was broken off; scenarios that had not ended are not listed.\n");
    }
    let _ = writeln!(out, "| scenario | outcome | why |\n|---|---|---|");
    for scenario in record.scenarios.iter().filter(|s| s.outcome != Outcome::Passed) {
        let first = scenario.findings.iter().find(|f| f.severity == Severity::Failure);
        let why = match (first, &scenario.reason) {
            (_, Some(reason)) if scenario.outcome == Outcome::KnownFailure => code(reason),
            (Some(f), _) => {
                let clauses =
                    if f.clauses.is_empty() { String::new() } else { format!(" ({})", code(&f.clauses.join(", "))) };
                format!("expected {}; saw {}{clauses}", code(&f.expected), code(&f.seen))
            }
            (None, Some(reason)) => code(reason),
            (None, None) => String::new(),
        };
        let _ = writeln!(out, "| {} | {} | {why} |", code(&scenario.name), terminal::word(scenario.outcome));
    }
    contract(&mut out, record);
    if let Some(line) = terminal::outside_profiles(record) {
        let _ = writeln!(out, "\n{}", code(&line));
    }
    stale(&mut out, record);
    again(&mut out, record);
    out
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
        let _ = writeln!(out, "    {}", terminal::printable(&line));
    }
}

fn contract(out: &mut String, record: &RunRecord) {
    for rule in record.contract.iter().filter(|r| !r.breaches.is_empty()) {
        let first = &rule.breaches[0];
        let place = code(&format!("{} {}", first.object, first.path));
        let why = format!("{} breaches, first: {place}: {}", rule.breaches.len(), code(&first.seen));
        let (mark, why) = match &rule.known {
            Some(reason) => ("KNOWN FAILURE", code(reason)),
            None if rule.severity == Severity::Failure => ("FAILED", why),
            None => ("WARNING", why),
        };
        let _ = writeln!(out, "| {} | {mark} | {why} |", code(&rule.name));
    }
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
