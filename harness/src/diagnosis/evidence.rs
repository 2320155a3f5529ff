//! What a run says for a fault and against it.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_report::record::{ContractRecord, Finding, Outcome, RunRecord, ScenarioRecord, Severity, repeat_of};
use gateproof_testbed::KnownFault;

use crate::kill::{Showing, ShownBy};
use crate::scenario::pattern::matches;

/// What failed in a run, and what passed.
pub(super) struct Seen<'a> {
    /// What failed first in each scenario that failed, and what failed in the same step: which comes first may be a matter of time.
    failed: BTreeMap<&'a str, Vec<&'a Finding>>,
    passed: BTreeSet<&'a str>,
    rules: BTreeMap<&'a str, &'a ContractRecord>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(record: &'a RunRecord) -> Seen<'a> {
        let mut seen = Seen { failed: BTreeMap::new(), passed: BTreeSet::new(), rules: BTreeMap::new() };
        for scenario in &record.scenarios {
            let name = repeat_of(&scenario.name).0;
            match scenario.outcome {
                Outcome::Failed | Outcome::Late | Outcome::KnownFailure => {
                    seen.failed.entry(name).or_default().extend(firsts(scenario));
                }
                Outcome::Passed => drop(seen.passed.insert(name)),
                Outcome::Inconclusive | Outcome::Skipped | Outcome::NotSupported => {}
            }
        }
        // What fails in one repeat of several fails.
        seen.passed.retain(|name| !seen.failed.contains_key(name));
        let binding = record.contract.iter().filter(|rule| rule.severity == Severity::Failure && rule.objects > 0);
        seen.rules = binding.map(|rule| (&*rule.name, rule)).collect();
        seen
    }

    /// The scenarios and the rules of the contract that failed.
    pub(super) fn failures(&self) -> BTreeSet<&'a str> {
        let broken = self.rules.values().filter(|rule| !rule.breaches.is_empty()).map(|rule| &*rule.name);
        self.failed.keys().copied().chain(broken).collect()
    }

    /// Whether what is said to show a fault does, and in what; nothing if the run says neither.
    fn shows(&self, showing: &'a Showing) -> Option<(&'a str, bool)> {
        let scenario = &*showing.scenario;
        if let Some(rule) = self.rules.get(&*showing.expectation) {
            let has_run = self.passed.contains(scenario) || self.failed.contains_key(scenario);
            let is_there = rule.breaches.iter().any(|breach| repeat_of(&breach.scenario).0 == scenario);
            return (has_run || is_there).then_some((&*rule.name, is_there));
        }
        match self.failed.get(scenario) {
            Some(findings) if findings.iter().any(|one| matches(&showing.expectation, &one.expectation)) => {
                Some((scenario, true))
            }
            // Another mistake may have come first.
            Some(_) => None,
            None => self.passed.contains(scenario).then_some((scenario, false)),
        }
    }
}

fn firsts(scenario: &ScenarioRecord) -> impl Iterator<Item = &Finding> {
    let step = |finding: &Finding| finding.expectation.split(']').next().unwrap_or_default().to_owned();
    let grave = || scenario.findings.iter().filter(|one| one.severity == Severity::Failure);
    let steps: BTreeSet<String> = grave().filter(|one| !one.consequence).map(step).collect();
    grave().filter(move |one| steps.contains(&step(one)))
}

/// A fault that may be a cause: something that shows it was seen.
pub(super) struct Suspect<'a> {
    pub(super) fault: &'a KnownFault,
    /// What failed as it would under the fault: for a clause that it declares, or where it is known to fail.
    pub(super) explains: BTreeSet<&'a str>,
    /// Those of them that are named for it.
    pub(super) named: BTreeSet<&'a str>,
    /// What shows the fault, and passed.
    pub(super) missing: BTreeSet<&'a str>,
    /// How much of what shows the fault was seen.
    pub(super) confirmed: usize,
}

impl<'a> Suspect<'a> {
    pub(super) fn of(fault: &'a KnownFault, shown_by: &'a ShownBy, seen: &Seen<'a>) -> Option<Suspect<'a>> {
        let told: Vec<(&str, bool)> = shown_by.of(fault.name).iter().filter_map(|one| seen.shows(one)).collect();
        let named: BTreeSet<&str> = told.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        if named.is_empty() {
            return None;
        }
        let missing = told.iter().filter(|(name, is_there)| !is_there && !named.contains(name));
        let is_declared = |clauses: &[String]| clauses.iter().any(|clause| fault.clauses.contains(&&**clause));
        let follows = |scenario: &str, one: &Finding| {
            is_declared(&one.clauses) || shown_by.is_beside(fault.name, scenario, &one.expectation)
        };
        let scenarios = seen.failed.iter().filter(|(name, all)| all.iter().any(|one| follows(name, one)));
        let rules = seen.rules.values().filter(|rule| !rule.breaches.is_empty() && is_declared(&rule.clauses));
        let mut explains: BTreeSet<&str> = scenarios.map(|(name, _)| *name).collect();
        explains.extend(rules.map(|rule| &*rule.name));
        explains.extend(&named);
        Some(Suspect {
            fault,
            explains,
            missing: missing.map(|(name, _)| *name).collect(),
            confirmed: named.len(),
            named,
        })
    }

    /// Whether the run cannot tell the two apart.
    pub(super) fn looks_like(&self, other: &Suspect<'_>) -> bool {
        (&self.explains, &self.named, &self.missing) == (&other.explains, &other.named, &other.missing)
    }
}
