//! Scenarios that failed for one reason are one entry.
//!
//! Two have one first cause if what failed first in each is of one stage and sort, if the same was expected and seen there but for the
//! names that a run gives, and if the clauses that it breaks have one in common, with each other or with others of the group.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::record::{Finding, Outcome, RunRecord, ScenarioRecord, Severity};

/// What several executions of scenarios have in common that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// How they ended.
    pub outcome: Outcome,
    /// The stage that did not settle; nothing where nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What of what was asked, such as `settle HTTPRoute ResolvedRefs.status`.
    pub kind: String,
    /// What was expected, without the names of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was seen, without the names of this run; for what came to no verdict, why.
    pub seen: String,
    /// Clauses that the first failures break, those of most of them first.
    pub clauses: Vec<String>,
    /// The executions, in order.
    pub scenarios: Vec<String>,
}

/// The causes, by outcome, those of most scenarios first.
pub fn causes(record: &RunRecord) -> Vec<Cause> {
    let mut sorts: BTreeMap<Sort, Vec<(&ScenarioRecord, &[String])>> = BTreeMap::new();
    for scenario in &record.scenarios {
        let first = first_miss(scenario);
        let sort = match (scenario.outcome, first) {
            (Outcome::Failed | Outcome::Late | Outcome::KnownFailure, Some(first)) => Sort {
                outcome: scenario.outcome,
                stage: Some(first.stage.clone()),
                kind: kind(&first.expectation),
                expected: Some(plain(&first.expected)),
                seen: plain(&first.seen),
            },
            (Outcome::Failed | Outcome::Late | Outcome::KnownFailure | Outcome::Inconclusive, _) => {
                Sort::without_verdict(scenario)
            }
            _ => continue,
        };
        let clauses = first.filter(|_| sort.stage.is_some()).map_or(&[][..], |first| &first.clauses);
        sorts.entry(sort).or_default().push((scenario, clauses));
    }
    let mut causes: Vec<Cause> = sorts.into_iter().flat_map(|(sort, members)| parted(&sort, &members)).collect();
    causes.sort_by(|a, b| {
        (a.outcome, b.scenarios.len()).cmp(&(b.outcome, a.scenarios.len())).then_with(|| a.scenarios.cmp(&b.scenarios))
    });
    causes
}

/// What failed first, and follows from nothing.
pub(super) fn first_miss(scenario: &ScenarioRecord) -> Option<&Finding> {
    scenario.findings.iter().find(|one| one.severity == Severity::Failure && !one.consequence)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    outcome: Outcome,
    stage: Option<String>,
    kind: String,
    expected: Option<String>,
    seen: String,
}

impl Sort {
    fn without_verdict(scenario: &ScenarioRecord) -> Sort {
        let seen = scenario.reason.as_deref().map_or_else(|| "nobody says why".to_owned(), plain);
        Sort { outcome: scenario.outcome, stage: None, kind: String::new(), expected: None, seen }
    }
}

/// Members of one sort, parted where they have no clause in common.
fn parted(sort: &Sort, members: &[(&ScenarioRecord, &[String])]) -> Vec<Cause> {
    let mut parts: Vec<(BTreeSet<&str>, Vec<usize>)> = Vec::new();
    for (index, (_, clauses)) in members.iter().enumerate() {
        // Whatever it has something in common with is one with it, and so are those with each other.
        let is_one =
            |known: &BTreeSet<&str>| clauses.is_empty() || clauses.iter().any(|one| known.contains(one.as_str()));
        let (mut joined, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(known, _)| is_one(known));
        parts = apart;
        // There may be tens of thousands in one: it grows, and is put together anew only where it was several.
        let mut part = joined.pop().unwrap_or_default();
        if !joined.is_empty() {
            for (known, indices) in joined {
                part.0.extend(known);
                part.1.extend(indices);
            }
            part.1.sort_unstable();
        }
        part.0.extend(clauses.iter().map(String::as_str));
        part.1.push(index);
        parts.push(part);
    }
    let cause = |(clauses, indices): (BTreeSet<&str>, Vec<usize>)| {
        let often = |clause: &str| indices.iter().filter(|at| members[**at].1.iter().any(|one| one == clause)).count();
        let mut clauses: Vec<&str> = clauses.into_iter().collect();
        clauses.sort_by_key(|clause| std::cmp::Reverse(often(clause)));
        Cause {
            outcome: sort.outcome,
            stage: sort.stage.clone(),
            kind: sort.kind.clone(),
            expected: sort.expected.clone(),
            seen: sort.seen.clone(),
            clauses: clauses.into_iter().map(str::to_owned).collect(),
            scenarios: indices.iter().map(|at| members[*at].0.name.clone()).collect(),
        }
    };
    parts.into_iter().map(cause).collect()
}

/// An expectation without its step and the names of objects: `steps[4].settle.HTTPRoute/route.ResolvedRefs.reason` is
/// `settle HTTPRoute ResolvedRefs.reason`.
pub(super) fn kind(expectation: &str) -> String {
    let rest =
        expectation.strip_prefix("steps[").and_then(|rest| rest.split_once("].")).map_or(expectation, |(_, r)| r);
    let (verb, rest) = rest.split_once('.').unwrap_or((rest, ""));
    // A name may hold dots, and what comes behind it begins with a letter of its own.
    let rest = match rest.split_once('/') {
        Some((object, behind)) if object.chars().all(char::is_alphanumeric) => {
            let field = behind.split_once('.').map_or("", |(_, field)| field);
            format!("{object} {field}")
        }
        _ => rest.to_owned(),
    };
    plain(format!("{verb} {rest}").trim_end())
}

/// A text without what every run has its own of: names that it gives, addresses, numbers.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().take(LONGEST) {
        if c.is_ascii_alphanumeric() || "-._:".contains(c) {
            word.push(c);
        } else {
            out.push_str(&plain_word(&word));
            word.clear();
            out.push(c);
        }
    }
    out.push_str(&plain_word(&word));
    out
}

/// How much of a text tells it from others.
const LONGEST: usize = 600;

fn plain_word(word: &str) -> String {
    let trimmed = word.trim_end_matches([':', '.', ',']);
    let end = &word[trimmed.len()..];
    let is_address =
        trimmed.matches('.').count() == 3 && trimmed.chars().all(|c| c.is_ascii_digit() || ".:".contains(c));
    let is_host = trimmed.ends_with(".gateproof.test");
    let of_run = trimmed.starts_with("gp-");
    let has_digit = trimmed.contains(|c: char| c.is_ascii_digit());
    // A token of a run has letters and digits, and so has a uid.
    let is_long = trimmed.len() >= 16 && has_digit && trimmed.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let name = if is_address {
        "ADDRESS"
    } else if is_host {
        "HOST"
    } else if is_long {
        "ID"
    } else if of_run {
        "NAMESPACE"
    } else if is_amount(trimmed) {
        "N"
    } else {
        trimmed
    };
    format!("{name}{end}")
}

/// Whether it is a number, but for those of three digits: they are statuses of answers.
fn is_amount(word: &str) -> bool {
    let digits = word.trim_end_matches("ms").trim_end_matches('s');
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number && !(word.len() == 3 && digits.len() == 3)
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
