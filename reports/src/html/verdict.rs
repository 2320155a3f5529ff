//! The first sentence of the page, and the profiles under it. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::causes::Cause;
use crate::conformance::ProfileRule;
use crate::record::{Outcome, RunRecord, repeat_of};
use crate::words::counted;

/// What a run came to, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// `passed`, `failed`, or `open` where nothing failed and something could not be tested.
    pub tone: &'static str,
    /// The sentence.
    pub text: String,
}

/// Says it.
pub(super) fn sentence(record: &RunRecord, causes: &[Cause]) -> Sentence {
    let ends = ends(record);
    let count = |outcomes: &[Outcome]| ends.values().filter(|end| outcomes.contains(end)).count();
    let failed = count(&[Outcome::Failed, Outcome::Late]);
    let (passed, known) = (count(&[Outcome::Passed]), count(&[Outcome::KnownFailure]));
    let open = count(&[Outcome::Inconclusive]);
    let rules = record.contract.iter().filter(|rule| rule.fails()).count();
    let stale = record.known_failures.iter().filter(|entry| entry.is_stale()).count();
    let tested = passed + failed + known;
    let mut text = Vec::new();
    if record.interrupted {
        text.push("The run was broken off.".to_owned());
    }
    if record.impatient {
        text.push("The run was impatient: what is wrong was judged before its time was up.".to_owned());
    }
    if failed > 0 {
        let reasons = causes.iter().filter(|cause| matches!(cause.outcome, Outcome::Failed | Outcome::Late)).count();
        let why = if reasons == 1 { "for one reason".to_owned() } else { format!("for {reasons} reasons") };
        text.push(format!("{failed} of {} failed, {why}.", scenarios(tested)));
    } else if tested == 0 {
        text.push("Nothing was tested.".to_owned());
    } else if known == 0 {
        text.push(format!("All of {} passed.", scenarios(tested)));
    } else {
        text.push(format!("{passed} of {} passed, and nothing failed newly.", scenarios(tested)));
    }
    if rules > 0 {
        text.push(format!("{} of the status contract {} broken.", counted(rules, "rule", "rules"), are(rules)));
    }
    if known > 0 {
        text.push(format!("{known} failed as your file of known failures says."));
    }
    if stale > 0 {
        text.push(format!("{} of that file {} out of date.", counted(stale, "entry", "entries"), are(stale)));
    }
    if open > 0 {
        text.push(format!("{open} could not be tested."));
    }
    let is_bad = failed + rules + stale > 0;
    let is_open = open > 0 || tested == 0 || record.interrupted;
    let tone = if is_bad {
        "failed"
    } else if is_open {
        "open"
    } else {
        "passed"
    };
    Sentence { tone, text: text.join(" ") }
}

/// How scenarios ended, by plain name: of several executions, in the worst way.
fn ends(record: &RunRecord) -> BTreeMap<&str, Outcome> {
    const WORST_FIRST: [Outcome; 7] = [
        Outcome::Failed,
        Outcome::Late,
        Outcome::KnownFailure,
        Outcome::Inconclusive,
        Outcome::Passed,
        Outcome::Skipped,
        Outcome::NotSupported,
    ];
    let rank = |outcome: Outcome| WORST_FIRST.iter().position(|one| *one == outcome);
    let mut ends = BTreeMap::new();
    for scenario in &record.scenarios {
        let end = ends.entry(repeat_of(&scenario.name).0).or_insert(scenario.outcome);
        if rank(scenario.outcome) < rank(*end) {
            *end = scenario.outcome;
        }
    }
    ends
}

fn scenarios(count: usize) -> String {
    counted(count, "scenario", "scenarios")
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// A profile, and what its scenarios came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileLine {
    /// Such as `GATEWAY-HTTP`.
    pub name: String,
    /// Of those that need core features only.
    pub core: Tally,
    /// Of the others.
    pub extended: Tally,
}

/// Scenarios by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// In every execution.
    pub passed: usize,
    /// In one at least, known or not.
    pub failed: usize,
    /// Without a verdict, though the target supports what they need.
    pub open: usize,
}

/// The profiles of which anything was tested.
pub(super) fn profiles(record: &RunRecord, rules: &[ProfileRule]) -> Vec<ProfileLine> {
    let line = |rule: &ProfileRule| {
        let mut line = ProfileLine { name: rule.name.clone(), core: Tally::default(), extended: Tally::default() };
        // Executions of one scenario stand beside each other, and the worst of them counts.
        let all: Vec<_> = record.scenarios.iter().filter(|one| rule.counts(&one.features)).collect();
        for executions in all.chunk_by(|a, b| repeat_of(&a.name).0 == repeat_of(&b.name).0) {
            let tally = if rule.is_core(&executions[0].features) { &mut line.core } else { &mut line.extended };
            match executions.iter().map(|one| worth(one.outcome)).max() {
                Some(Worth::Failed) => tally.failed += 1,
                Some(Worth::Open) => tally.open += 1,
                Some(Worth::Passed) => tally.passed += 1,
                _ => {}
            }
        }
        line
    };
    let is_empty = |tally: &Tally| *tally == Tally::default();
    rules.iter().map(line).filter(|line| !(is_empty(&line.core) && is_empty(&line.extended))).collect()
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Nothing,
    Passed,
    Open,
    Failed,
}

fn worth(outcome: Outcome) -> Worth {
    match outcome {
        Outcome::Passed => Worth::Passed,
        Outcome::Failed | Outcome::Late | Outcome::KnownFailure => Worth::Failed,
        Outcome::Inconclusive | Outcome::Skipped => Worth::Open,
        Outcome::NotSupported => Worth::Nothing,
    }
}
