//! One side of a comparison: a run, or several of which none is more than the others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{Finding, Outcome, RunRecord, ScenarioRecord, Severity, repeat_of};

/// What all executions of a scenario came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It passed in every one.
    Passed,
    /// It failed or came late in every one.
    Failed,
    /// It failed in every one, each time as the user's file of known failures says.
    Known,
    /// It passed in some and failed in others.
    Flaky,
    /// None came to a verdict, or there is none.
    Untested,
}

/// The runs of one side, at least one.
#[derive(Debug)]
pub struct Side<'a> {
    runs: Vec<&'a RunRecord>,
    executions: BTreeMap<&'a str, Vec<&'a ScenarioRecord>>,
}

impl<'a> Side<'a> {
    /// A side of these runs, which are put in order of their dates; nothing if there are none.
    pub fn of(runs: impl IntoIterator<Item = &'a RunRecord>) -> Option<Side<'a>> {
        let mut runs: Vec<&RunRecord> = runs.into_iter().collect();
        runs.sort_by(|a, b| a.date.cmp(&b.date));
        let mut executions: BTreeMap<&str, Vec<&ScenarioRecord>> = BTreeMap::new();
        for scenario in runs.iter().flat_map(|run| &run.scenarios) {
            executions.entry(repeat_of(&scenario.name).0).or_default().push(scenario);
        }
        (!runs.is_empty()).then_some(Side { runs, executions })
    }

    /// The runs, the oldest first.
    pub fn runs(&self) -> &[&'a RunRecord] {
        &self.runs
    }

    /// The last one.
    pub(super) fn latest(&self) -> &'a RunRecord {
        self.runs[self.runs.len() - 1]
    }

    /// The scenarios that were selected, by plain name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.executions.keys().copied()
    }

    /// How many scenarios came to a verdict.
    pub(crate) fn tested(&self) -> usize {
        self.names().filter(|name| self.state(name) != State::Untested).count()
    }

    /// The executions of a scenario.
    pub(crate) fn executions(&self, name: &str) -> &[&'a ScenarioRecord] {
        self.executions.get(name).map_or(&[], Vec::as_slice)
    }

    /// How many executions of a scenario came to a verdict.
    pub(super) fn verdicts(&self, name: &str) -> usize {
        self.executions(name).iter().filter(|one| has_passed(one).is_some()).map(|one| one.executions()).sum()
    }

    /// What the executions of a scenario came to.
    pub(crate) fn state(&self, name: &str) -> State {
        let verdicts: Vec<bool> = self.executions(name).iter().filter_map(|one| has_passed(one)).collect();
        match (verdicts.contains(&true), verdicts.contains(&false)) {
            (true, true) => State::Flaky,
            (true, false) => State::Passed,
            (false, true) if self.fails_only_as_known(name) => State::Known,
            (false, true) => State::Failed,
            (false, false) => State::Untested,
        }
    }

    /// Whether a scenario fails, and every time as the user expects.
    pub(super) fn fails_only_as_known(&self, name: &str) -> bool {
        let mut failures = self.executions(name).iter().filter(|one| has_passed(one) == Some(false)).peekable();
        failures.peek().is_some() && failures.all(|one| one.outcome == Outcome::KnownFailure)
    }

    /// What of a scenario was found that breaks a MUST and follows from nothing else.
    pub(super) fn misses(&self, name: &str) -> impl Iterator<Item = &'a Finding> + use<'a> {
        let all: Vec<_> = self.executions(name).iter().flat_map(|one| &one.findings).collect();
        all.into_iter().filter(|one| one.severity == Severity::Failure && !one.consequence)
    }

    /// Why a scenario came to no verdict.
    pub(super) fn why_untested(&self, name: &str) -> String {
        let Some(last) = self.executions(name).last() else { return "it was not selected".to_owned() };
        let how = match last.outcome {
            Outcome::Skipped => "skipped",
            Outcome::NotSupported => "not supported",
            _ => "inconclusive",
        };
        last.reason.as_ref().map_or_else(|| how.to_owned(), |reason| format!("{how}: {reason}"))
    }
}

/// Whether an execution passed or failed; nothing if it says neither.
fn has_passed(scenario: &ScenarioRecord) -> Option<bool> {
    match scenario.outcome {
        Outcome::Passed => Some(true),
        Outcome::Failed | Outcome::Late | Outcome::KnownFailure => Some(false),
        Outcome::Inconclusive | Outcome::Skipped | Outcome::NotSupported => None,
    }
}
