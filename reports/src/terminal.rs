//! Plain text for people: what was expected, what was seen, which clause, how to run just that one.

use std::borrow::Cow;
use std::fmt::Write;

use crate::known::{KnownFailureRecord, KnownState};
use crate::record::{ContractRecord, Finding, Outcome, RunRecord, ScenarioRecord, Severity, executions};
use crate::reproduce;
use crate::words::{counted, shortened};

/// How many bytes of a text of others are said: enough for whatever is meant to be read. record.json has all of it.
pub(crate) const LONGEST: usize = 8_000;

/// Text that came from a target, safe to print: what could steer a terminal or turn the direction of text around is
/// written as an escape, line ends too, so that no message can pass for lines of ours.
pub fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| {
        let turns =
            matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() || turns
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// How many scenarios ended in each way, in one line.
pub fn counts(record: &RunRecord) -> String {
    let count = |outcome| executions(record, |one| one == outcome);
    let mut parts = vec![format!("{} passed", count(Outcome::Passed)), format!("{} failed", count(Outcome::Failed))];
    for (outcome, word) in [
        (Outcome::Late, "late"),
        (Outcome::KnownFailure, "known to fail"),
        (Outcome::Inconclusive, "inconclusive"),
        (Outcome::Skipped, "skipped"),
        (Outcome::NotSupported, "not supported"),
    ] {
        let n = count(outcome);
        if n > 0 {
            parts.push(format!("{n} {word}"));
        }
    }
    parts.join(", ")
}

/// One scenario that did not pass, with all of its findings. `arguments` are those of its run that decide verdicts.
pub fn failure(scenario: &ScenarioRecord, arguments: &[String]) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} {} ({})", word(scenario.outcome), printable(&scenario.name), printable(&scenario.file));
    let _ = writeln!(out, "  {}", printable(&scenario.summary));
    if let Some(reason) = scenario.reasons() {
        let _ = writeln!(out, "  reason:   {}", printable(&shortened(&reason, LONGEST)));
    }
    let (first, consequences): (Vec<&Finding>, Vec<&Finding>) = scenario.findings.iter().partition(|f| !f.consequence);
    for finding in first {
        let _ = write!(out, "{}", describe(finding, &scenario.file));
    }
    if !consequences.is_empty() {
        let _ = writeln!(out, "  and {} more that follow from it", consequences.len());
    }
    if scenario.findings.iter().flat_map(|f| &f.clauses).any(|clause| clause.starts_with("upstream:")) {
        let _ = writeln!(out, "  where upstream's suite judges otherwise, and why: docs/differences.md");
    }
    let _ = writeln!(out, "  run just this: {}", printable(&reproduce::command(arguments, &scenario.name)));
    out
}

fn describe(finding: &Finding, file: &str) -> String {
    let mut out = String::new();
    let mark = match finding.severity {
        Severity::Failure => "✗",
        Severity::Warning => "!",
        Severity::Note => "·",
    };
    let late = if finding.late { ", came late" } else { "" };
    let _ = writeln!(
        out,
        "  {mark} {} ({}:{}, {} stage, after {} ms{late})",
        printable(&finding.expectation),
        printable(file),
        finding.line,
        printable(&finding.stage),
        finding.at_ms
    );
    let _ = writeln!(out, "    expected: {}", printable(&shortened(&finding.expected, LONGEST)));
    let _ = writeln!(out, "    saw:      {}", printable(&shortened(&finding.seen, LONGEST)));
    if !finding.clauses.is_empty() {
        let _ = writeln!(out, "    clause:   {}", printable(&finding.clauses.join(", ")));
    }
    out
}

/// One broken contract rule, with its first breaches.
pub fn contract(rule: &ContractRecord) -> String {
    const SHOWN: usize = 3;
    let mut out = String::new();
    let mark = if rule.severity == Severity::Failure { "FAILED" } else { "WARNING" };
    let _ = writeln!(out, "{mark} {} [{}]", printable(&rule.name), printable(&rule.clauses.join(", ")));
    for breach in rule.breaches.iter().take(SHOWN) {
        let seen = shortened(&breach.seen, LONGEST);
        let _ = writeln!(out, "  {} {}: {}", printable(&breach.object), printable(&breach.path), printable(&seen));
        if !breach.scenario.is_empty() {
            let _ = writeln!(out, "    seen in {}", printable(&breach.scenario));
        }
    }
    if rule.breaches.len() > SHOWN {
        let _ = writeln!(out, "  and {} more in record.json", rule.breaches.len() - SHOWN);
    }
    out
}

fn known(name: &str, reason: Option<&str>) -> String {
    format!("KNOWN FAILURE {}: {}", printable(name), printable(reason.unwrap_or_default()))
}

/// An entry of the file of known failures that has to be changed, in one line; `None` for others.
pub fn stale(known: &KnownFailureRecord) -> Option<String> {
    let word = if known.state == KnownState::Expired { "EXPIRED" } else { "UNEXPECTED PASS" };
    known.complaint().map(|complaint| format!("{word} {}: {complaint}", known.entry.place))
}

/// The scenarios that no ConformanceReport counts, in one line; `None` if there are none. Those that the target does not
/// support would not be counted anyway.
pub fn outside_profiles(record: &RunRecord) -> Option<String> {
    let counted =
        |name: &&String| record.scenarios.iter().any(|s| s.name == **name && s.outcome != Outcome::NotSupported);
    let names: Vec<&str> = record.outside_profiles.iter().filter(counted).map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("in no conformance profile: {}", names.join(", ")))
}

/// Everything that a person should see at the end of a run.
pub fn summary(record: &RunRecord) -> String {
    summary_with(record, "")
}

/// The same with something further to count beside the outcomes, such as `, 3 to be run`.
pub fn summary_with(record: &RunRecord, further: &str) -> String {
    let mut out = String::new();
    for scenario in &record.scenarios {
        let warned = scenario.findings.iter().any(|f| f.severity == Severity::Warning);
        if scenario.outcome == Outcome::KnownFailure {
            let _ = writeln!(out, "{}", known(&scenario.name, scenario.reason.as_deref()));
            continue;
        }
        let silent = matches!(scenario.outcome, Outcome::Passed | Outcome::Skipped | Outcome::NotSupported);
        if !silent || (warned && scenario.outcome == Outcome::Passed) {
            let _ = writeln!(out, "{}", failure(scenario, &record.again()));
        }
    }
    for rule in record.contract.iter().filter(|r| !r.breaches.is_empty() && r.severity != Severity::Note) {
        match &rule.known {
            Some(reason) => {
                let _ = writeln!(out, "{}", known(&rule.name, Some(reason)));
            }
            None => {
                let _ = writeln!(out, "{}", contract(rule));
            }
        }
    }
    for entry in &record.known_failures {
        if let Some(text) = stale(entry) {
            let _ = writeln!(out, "{}", printable(&text));
        }
    }
    if let Some(line) = outside_profiles(record) {
        let _ = writeln!(out, "{}", printable(&line));
    }
    let broken = record.contract.iter().filter(|r| r.severity == Severity::Failure && !r.breaches.is_empty()).count();
    let _ = writeln!(
        out,
        "{}{further} in {:.2} s; contract: {} held, {} broken",
        counts(record),
        std::time::Duration::from_millis(record.duration_ms).as_secs_f64(),
        counted(record.contract.len() - broken, "rule", "rules"),
        broken
    );
    out
}

/// The word for an outcome, as reports print it.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "PASSED",
        Outcome::Failed => "FAILED",
        Outcome::Late => "LATE",
        Outcome::KnownFailure => "KNOWN FAILURE",
        Outcome::Inconclusive => "INCONCLUSIVE",
        Outcome::Skipped => "SKIPPED",
        Outcome::NotSupported => "NOT SUPPORTED",
    }
}
