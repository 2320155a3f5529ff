//! `summary.md`, for a CI page or a pull request.

use std::fmt::Write;

use crate::record::{Outcome, RunRecord, Severity};
use crate::{reproduce, terminal};

/// The record as Markdown. Text from the target is escaped: it can hold anything.
pub fn render(record: &RunRecord) -> String {
    let mut out = String::new();
    let target = &record.target;
    let _ = writeln!(out, "# Gateproof: {}\n", escape(&target.name));
    if target.embedded {
        let _ = writeln!(out, "The target was the embedded reference, not a real implementation.\n");
    }
    let _ = writeln!(
        out,
        "{} by {} · class `{}` · controller `{}` · Gateway API {} {}\n",
        escape(&record.date),
        escape(&record.producer),
        escape(&target.gateway_class),
        escape(&target.controller_name),
        escape(&target.gateway_api_version),
        escape(&target.gateway_api_channel)
    );
    let _ = writeln!(out, "**{}**\n", terminal::counts(record));
    if record.interrupted {
        let _ = writeln!(out, "The run was broken off; scenarios that had not ended are not listed.\n");
    }
    let _ = writeln!(out, "| scenario | outcome | why |\n|---|---|---|");
    for scenario in record.scenarios.iter().filter(|s| s.outcome != Outcome::Passed) {
        let first = scenario.findings.iter().find(|f| f.severity == Severity::Failure);
        let why = match (first, &scenario.reason) {
            (_, Some(reason)) if scenario.outcome == Outcome::KnownFailure => reason.clone(),
            (Some(f), _) => format!("expected {}; saw {} ({})", f.expected, f.seen, f.clauses.join(", ")),
            (None, Some(reason)) => reason.clone(),
            (None, None) => String::new(),
        };
        let _ = writeln!(out, "| {} | {} | {} |", scenario.name, terminal::word(scenario.outcome), escape(&why));
    }
    contract(&mut out, record);
    if let Some(line) = terminal::outside_profiles(record) {
        let _ = writeln!(out, "\n{}", escape(&line));
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
        let _ = writeln!(out, "- {}", escape(&line));
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
        let why = format!("{} breaches, first: {} {}: {}", rule.breaches.len(), first.object, first.path, first.seen);
        let (mark, why) = match &rule.known {
            Some(reason) => ("KNOWN FAILURE", reason.clone()),
            None if rule.severity == Severity::Failure => ("FAILED", why),
            None => ("WARNING", why),
        };
        let _ = writeln!(out, "| {} | {mark} | {} |", rule.name, escape(&why));
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
