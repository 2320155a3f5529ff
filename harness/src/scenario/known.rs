//! The file of known failures: what fails today, why, and until when that is put up with.

use gateproof_report::known::KnownFailure;

use super::diagnostic::{Diagnostic, Report, Source};
use super::expectations::enumerate;
use super::model::{Place, Scenario};
use super::parse::check::Checker;
use super::parse::shape::{self, Shape};
use super::parse::tree::{self, Mark, Node};
use super::pattern::matches;
use super::vocabulary::Vocabulary;

/// What entries may name.
#[derive(Debug, Clone, Copy)]
pub struct Nameable<'a> {
    /// All scenarios, selected or not.
    pub scenarios: &'a [Scenario],
    /// Contract rules, as `contract/KIND/RULE`.
    pub rules: &'a [String],
}

/// Reads a file of known failures. Each entry must name something that there is.
///
/// # Errors
/// All problems of the file, in order of their places.
pub fn parse(
    file: &str,
    text: &str,
    vocabulary: &Vocabulary,
    nameable: Nameable<'_>,
) -> Result<Vec<KnownFailure>, Vec<Diagnostic>> {
    let source = Source::new(file, text);
    let mut problems = Vec::new();
    let documents = tree::read(&source, &mut problems);
    let mut entries = Vec::new();
    for document in &documents {
        let components = Default::default();
        let mut checker = Checker { source: &source, vocabulary, problems: &mut problems, misread: false, components };
        checker.check(&document.root, &Shape::Table(&shape::KNOWN_FAILURES));
        // What is wrong in itself says nothing about what it names.
        let sound = checker.problems.is_empty();
        for node in document.root.get("failures").map(Node::list).unwrap_or_default() {
            let Some(entry) = entry(file, node) else { continue };
            if sound {
                check(&entry, node, nameable, &mut checker);
            }
            entries.push(entry);
        }
    }
    if documents.is_empty() && problems.is_empty() {
        let start = Mark { place: Place { line: 1, column: 1 }, ..Mark::default() };
        let help = "without known failures, write `failures: []`, or leave --known-failures out".to_owned();
        problems.push(source.problem(start, "the file holds no list of known failures".to_owned(), Some(help)));
    }
    if problems.is_empty() {
        return Ok(entries);
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Err(problems)
}

fn entry(file: &str, node: &Node) -> Option<KnownFailure> {
    let text = |name: &str| node.get(name).and_then(Node::text).map(str::to_owned);
    Some(KnownFailure {
        scenario: text("scenario"),
        expectation: text("expectation"),
        contract: text("contract"),
        reason: text("reason")?,
        expires: text("expires")?,
        place: format!("{file}:{}", node.mark.place.line),
    })
}

fn check(entry: &KnownFailure, node: &Node, nameable: Nameable<'_>, checker: &mut Checker<'_>) {
    let mark = |name: &str| node.get(name).map_or(node.mark, |value| value.mark);
    if entry.scenario.is_none() && entry.contract.is_none() {
        let help = Some("name what fails: a scenario, a contract rule, or a rule in a scenario".to_owned());
        checker.report(node.mark, "the entry has neither `scenario` nor `contract`".to_owned(), help);
    }
    if entry.expectation.is_some() && entry.contract.is_some() {
        let help = Some("make two entries of it".to_owned());
        checker.report(mark("expectation"), "an entry is about an expectation or a contract rule".to_owned(), help);
    }
    if entry.reason.trim().is_empty() {
        let help = Some("say why it fails, such as the number of the issue".to_owned());
        checker.report(mark("reason"), "the reason is empty".to_owned(), help);
    }
    if let Some(pattern) = &entry.contract
        && !nameable.rules.iter().any(|rule| matches(pattern, rule))
    {
        checker.unknown(mark("contract"), "contract rule", pattern, nameable.rules.iter().map(String::as_str));
    }
    let Some(pattern) = &entry.scenario else { return };
    let named: Vec<&Scenario> = nameable.scenarios.iter().filter(|s| matches(pattern, &s.name)).collect();
    if named.is_empty() {
        let names = nameable.scenarios.iter().map(|scenario| scenario.name.as_str());
        checker.unknown(mark("scenario"), "scenario", pattern, names);
    } else if let Some(expectation) = &entry.expectation {
        let ids: Vec<String> = named.iter().flat_map(|s| enumerate(s)).map(|expectation| expectation.id).collect();
        // Findings may name another aspect of what is expected, such as an outdated generation.
        let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
        if !ids.iter().any(|id| matches(expectation, id) || matches(&stem(expectation), &stem(id))) {
            checker.unknown(mark("expectation"), "expectation", expectation, ids.iter().map(String::as_str));
        }
    }
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
