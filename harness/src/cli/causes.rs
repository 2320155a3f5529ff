//! What of a record keeps the exit code from 0, and so has to be run again; and which exit code that is. Pure.

use gateproof_report::record::{ContractRecord, Outcome, RunRecord};

use crate::exit_codes;

/// One thing that keeps the exit code from 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The exit code that it asks for.
    pub(crate) code: u8,
    /// The scenarios in which it is seen; none if that cannot be told, as of what they share.
    scenarios: Vec<String>,
}

/// Everything that keeps the exit code of a run that was not interrupted from 0.
pub(crate) fn causes(record: &RunRecord, contract_fails: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut passed = false;
    for scenario in &record.scenarios {
        let code = match scenario.outcome {
            Outcome::Failed | Outcome::Late => exit_codes::FAILED,
            Outcome::Inconclusive => exit_codes::INCONCLUSIVE,
            Outcome::Passed | Outcome::KnownFailure => {
                passed = true;
                continue;
            }
            Outcome::Skipped | Outcome::NotSupported => continue,
        };
        causes.push(Cause { code, scenarios: vec![scenario.name.clone()] });
    }
    for rule in record.contract.iter().filter(|rule| contract_fails && rule.fails()) {
        causes.push(Cause { code: exit_codes::FAILED, scenarios: broken_in(rule) });
    }
    for known in record.known_failures.iter().filter(|known| known.is_stale()) {
        let names = known.seen.iter().chain(&known.passed).cloned();
        let scenarios = if known.entry.contract.is_some() { Vec::new() } else { names.collect() };
        causes.push(Cause { code: exit_codes::FAILED, scenarios });
    }
    if !record.leftovers.is_empty() {
        // Somebody has to look after it, and what it stands in the way of cannot be told.
        causes.push(Cause { code: exit_codes::INCONCLUSIVE, scenarios: Vec::new() });
    }
    if causes.is_empty() && !passed {
        causes.push(Cause { code: exit_codes::INCONCLUSIVE, scenarios: Vec::new() });
    }
    causes
}

/// What the process says of a record.
pub(crate) fn exit_code(record: &RunRecord, contract_fails: bool) -> u8 {
    let causes = causes(record, contract_fails);
    let any = |code| causes.iter().any(|cause| cause.code == code);
    if record.interrupted {
        exit_codes::INTERRUPTED
    } else if any(exit_codes::FAILED) {
        exit_codes::FAILED
    } else if any(exit_codes::INCONCLUSIVE) {
        exit_codes::INCONCLUSIVE
    } else {
        exit_codes::PASSED
    }
}

/// The scenarios that show a broken rule; none if it is broken by what they share, which no few of them may show.
fn broken_in(rule: &ContractRecord) -> Vec<String> {
    let names = rule.breaches.iter().map(|breach| breach.scenario.clone());
    if rule.breaches.iter().any(|breach| breach.scenario.is_empty()) { Vec::new() } else { names.collect() }
}

/// The scenarios to run again, in order and each once: nothing if and only if the run ended with exit code 0.
pub(crate) fn to_rerun(record: &RunRecord) -> Vec<String> {
    let causes = causes(record, contract_failed(record));
    let base = |name: &String| name.split('#').next().unwrap_or_default().to_owned();
    let every = record.scenarios.iter().map(|scenario| base(&scenario.name));
    let one_by_one = causes.iter().all(|cause| !cause.scenarios.is_empty());
    let mut names: Vec<String> = match (causes.is_empty(), record.interrupted) {
        (true, false) => Vec::new(),
        (false, _) if one_by_one => causes.iter().flat_map(|cause| &cause.scenarios).map(base).collect(),
        _ => every.collect(),
    };
    names.sort();
    names.dedup();
    names
}

/// Whether a broken MUST of the contract failed that run.
pub(crate) fn contract_failed(record: &RunRecord) -> bool {
    !record.arguments.windows(2).any(|words| words == ["--contract", "warn"])
}

#[cfg(test)]
#[path = "causes_tests.rs"]
mod tests;
