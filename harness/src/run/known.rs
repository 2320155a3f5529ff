//! What the user's file of known failures makes of a run. Pure.
//!
//! An entry says that everything that it names fails. So it is out of date as soon as one of these passes; otherwise a
//! pattern that is too wide would hide what breaks next.

use std::collections::BTreeMap;

use gateproof_report::known::{KnownFailure, KnownFailureRecord, KnownState};
use gateproof_report::record::{ContractRecord, Finding, Outcome, ScenarioRecord, Severity};

use crate::scenario::pattern::matches;

/// The entries that hold at a time, given as RFC 3339.
pub fn in_force(known: &[KnownFailure], date: &str) -> Vec<KnownFailure> {
    known.iter().filter(|entry| entry.holds_on(date)).cloned().collect()
}

/// Excuses a failed scenario if entries in force have all that failed in it.
pub fn excuse(in_force: &[KnownFailure], scenario: &mut ScenarioRecord) {
    if !matches!(scenario.outcome, Outcome::Failed | Outcome::Late) {
        return;
    }
    let entries: Vec<&KnownFailure> = in_force.iter().filter(|entry| is_about(entry, scenario)).collect();
    let failures: Vec<&Finding> = scenario.findings.iter().filter(|f| f.severity == Severity::Failure).collect();
    let covered = |finding: &Finding| entries.iter().any(|entry| covers(entry, finding));
    // What follows from a known miss within its step is no news. Later steps come only after what was merely late.
    let follows = |finding: &Finding| {
        finding.consequence && failures.iter().any(|first| step(first) == step(finding) && covered(first))
    };
    if !failures.is_empty() && failures.iter().all(|finding| covered(finding) || follows(finding)) {
        scenario.outcome = Outcome::KnownFailure;
        let used = entries.iter().filter(|entry| failures.iter().any(|finding| covers(entry, finding)));
        scenario.reason = Some(reasons(used.copied()));
    }
}

/// Excuses broken contract rules of which entries in force have all breaches.
pub fn excuse_contract(in_force: &[KnownFailure], contract: &mut [ContractRecord]) {
    for rule in contract.iter_mut().filter(|rule| !rule.breaches.is_empty()) {
        let entries: Vec<&KnownFailure> = in_force.iter().filter(|entry| names_rule(entry, &rule.name)).collect();
        let covered = |scenario: &str| entries.iter().any(|entry| names_scenario(entry, scenario));
        if rule.breaches.iter().all(|breach| covered(&breach.scenario)) {
            rule.known = Some(reasons(entries.iter().copied()));
        }
    }
}

/// What became of each entry, from records whose failures are excused already or not.
pub fn account(
    known: &[KnownFailure],
    date: &str,
    scenarios: &[ScenarioRecord],
    contract: &[ContractRecord],
) -> Vec<KnownFailureRecord> {
    let became = |entry: &KnownFailure| {
        let (seen, passed) = match entry.contract {
            Some(_) => of_contract(entry, scenarios, contract),
            None => of_scenarios(entry, scenarios),
        };
        let state = KnownState::of(entry, date, &seen, &passed);
        KnownFailureRecord { entry: entry.clone(), state, seen, passed }
    };
    known.iter().map(became).collect()
}

/// The scenarios that failed as the entry says, and those that passed every time.
fn of_scenarios(entry: &KnownFailure, scenarios: &[ScenarioRecord]) -> (Vec<String>, Vec<String>) {
    let mut executions: BTreeMap<&str, Vec<&ScenarioRecord>> = BTreeMap::new();
    for scenario in scenarios.iter().filter(|scenario| is_about(entry, scenario)) {
        executions.entry(base(&scenario.name)).or_default().push(scenario);
    }
    let fails = |scenario: &&ScenarioRecord| {
        scenario.findings.iter().any(|f| f.severity == Severity::Failure && covers(entry, f))
    };
    let names = |wanted: &dyn Fn(&[&ScenarioRecord]) -> bool| {
        executions.iter().filter(|(_, all)| wanted(all)).map(|(name, _)| (*name).to_owned()).collect()
    };
    let seen = names(&|all| all.iter().any(fails));
    (seen, names(&|all| all.iter().all(|scenario| scenario.outcome == Outcome::Passed)))
}

/// The rules that were broken as the entry says, and those that were held against something and were not.
fn of_contract(
    entry: &KnownFailure,
    scenarios: &[ScenarioRecord],
    contract: &[ContractRecord],
) -> (Vec<String>, Vec<String>) {
    let ended = |scenario: &ScenarioRecord| {
        matches!(scenario.outcome, Outcome::Passed | Outcome::Failed | Outcome::Late | Outcome::KnownFailure)
    };
    let tried = scenarios.iter().any(|scenario| ended(scenario) && names_scenario(entry, &scenario.name));
    if !tried {
        return (Vec::new(), Vec::new());
    }
    let broken = |rule: &&ContractRecord| rule.breaches.iter().any(|breach| names_scenario(entry, &breach.scenario));
    let (seen, held): (Vec<_>, Vec<_>) =
        contract.iter().filter(|rule| names_rule(entry, &rule.name)).partition(|rule| broken(rule));
    let name = |rules: Vec<&ContractRecord>| rules.into_iter().map(|rule| rule.name.clone()).collect();
    (name(seen), name(held))
}

fn is_about(entry: &KnownFailure, scenario: &ScenarioRecord) -> bool {
    entry.contract.is_none() && names_scenario(entry, &scenario.name)
}

fn names_scenario(entry: &KnownFailure, name: &str) -> bool {
    entry.scenario.as_deref().is_none_or(|pattern| matches(pattern, base(name)))
}

fn names_rule(entry: &KnownFailure, name: &str) -> bool {
    entry.contract.as_deref().is_some_and(|pattern| matches(pattern, name))
}

fn covers(entry: &KnownFailure, finding: &Finding) -> bool {
    entry.expectation.as_deref().is_none_or(|pattern| matches(pattern, &finding.expectation))
}

/// `steps[4` of `steps[4].settle.…`.
fn step(finding: &Finding) -> &str {
    finding.expectation.split(']').next().unwrap_or_default()
}

/// A scenario's name without the number of its repeat.
fn base(name: &str) -> &str {
    name.split('#').next().unwrap_or_default()
}

fn reasons<'a>(entries: impl Iterator<Item = &'a KnownFailure>) -> String {
    let one = |entry: &KnownFailure| format!("{} (until {}, {})", entry.reason, entry.expires, entry.place);
    entries.map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
