//! Inversion: every asserted value is negated once, and the plain reference must then fail at that very value.
//!
//! A scenario that fails somewhere else, comes late or is inconclusive has not shown that the value is looked at.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gateproof_report::record::{Outcome, ScenarioRecord, Severity, Target};

use super::drive::{Plan, Watcher};
use crate::log::Timing;
use crate::run::{self, RunError, RunOptions, Silent, TargetChoice};
use crate::scenario::expectations::{Expectation, enumerate, invert, is_opposite_of};
use crate::scenario::{Channel, Isolation, Level, Scenario};

/// Scenarios that share one embedded target. Each judge reads the whole history of its pool Gateway, which everybody's
/// routes make longer.
const BATCH: usize = 64;

/// Scenarios at once on one target: most of their time is the deadline that they have to miss.
const JOBS: usize = 16;

/// The quiet window of the second attempt. A state from before a step may be the very opposite of what the step leads
/// to; it must not count as settled because a busy machine keeps the reference from reacting at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much is tried at once, and for how long.
#[derive(Clone, Copy)]
struct Effort {
    targets: usize,
    jobs: usize,
    patient: bool,
}

/// One scenario with one value negated.
#[derive(Debug, Clone)]
pub struct Negated {
    /// The scenario.
    pub scenario: String,
    /// The scenario with this value negated, under a name of its own.
    pub inverted: Scenario,
    /// The value before.
    original: Expectation,
}

/// An asserted value whose opposite the plain reference satisfies too, or that was not shown to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Survivor {
    /// The scenario.
    pub scenario: String,
    /// The expectation.
    pub expectation: String,
    /// How the inverted scenario ended.
    pub outcome: String,
    /// What was seen instead of a failure at the negated value.
    pub why: String,
}

/// What inversion found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inversion {
    /// How many values were negated, each in a run of its own scenario.
    pub inverted: usize,
    /// Values that have no opposite in a manifest.
    pub without_opposite: usize,
    /// Negated values that have no meaning at the reference's version.
    pub unbound: usize,
    /// Values whose opposite did not fail.
    pub survivors: Vec<Survivor>,
}

/// Every binding asserted value that has an opposite, negated; and the number of those that have none.
pub fn negated(scenarios: &[Scenario]) -> (Vec<Negated>, usize) {
    let mut all = Vec::new();
    let mut without_opposite = 0;
    for scenario in scenarios {
        let binding = enumerate(scenario).into_iter().filter(|e| e.level == Level::Must && !e.alternative);
        for (position, original) in binding.enumerate() {
            match invert(scenario, &original.id) {
                Some(mut inverted) => {
                    inverted.name = format!("{}-inverted-{position}", scenario.name);
                    all.push(Negated { scenario: scenario.name.clone(), inverted, original });
                }
                None => without_opposite += 1,
            }
        }
    }
    (all, without_opposite)
}

/// Negates every binding asserted value once, and runs each against a plain reference, which must then fail.
///
/// # Errors
/// If an embedded target cannot be tested at all.
pub async fn inversion(plan: &Plan, watcher: &dyn Watcher) -> Result<Inversion, RunError> {
    let (all, without_opposite) = negated(&plan.scenarios);
    Ok(Inversion { without_opposite, ..prove(plan, all, watcher).await? })
}

/// Runs each of these against a plain reference, which must then fail.
///
/// # Errors
/// If an embedded target cannot be tested at all.
pub async fn prove(plan: &Plan, negated: Vec<Negated>, watcher: &dyn Watcher) -> Result<Inversion, RunError> {
    let mut found = Inversion { inverted: negated.len(), ..Inversion::default() };
    let quick = Effort { targets: plan.targets, jobs: JOBS, patient: false };
    let patient = Effort { targets: plan.targets.div_ceil(2), jobs: JOBS, patient: true };
    let mut left = negated;
    for effort in [quick, patient] {
        let (alive, unbound) = attempt(plan, left, effort, watcher).await?;
        found.unbound += unbound;
        (left, found.survivors) = alive.into_iter().unzip();
    }
    found.survivors.sort();
    Ok(found)
}

/// Runs each once; returns those that did not fail at the negated value, and the number of those that say nothing of
/// the reference's version.
async fn attempt(
    plan: &Plan,
    negated: Vec<Negated>,
    effort: Effort,
    watcher: &dyn Watcher,
) -> Result<(Vec<(Negated, Survivor)>, usize), RunError> {
    // What fails half-way through changing the cluster leaves it changed, so it has a cluster for itself.
    let (alone, together): (Vec<Negated>, Vec<Negated>) =
        negated.into_iter().partition(|one| one.inverted.isolation == Isolation::Cluster);
    let batches = alone.chunks(1).chain(together.chunks(BATCH));
    let runs = futures::stream::iter(batches.map(|batch| async move {
        let mut options = RunOptions::new(TargetChoice::Embedded { fault: None }, Arc::clone(&plan.contract));
        options.jobs = effort.jobs;
        if effort.patient {
            options.timing = Some(Timing { quiet: PATIENCE, ..options.timing() });
            options.timeout_scale = 2.0;
        }
        let scenarios = batch.iter().map(|negated| negated.inverted.clone()).collect();
        let record = run::run(options, scenarios, &mut Silent).await?.record;
        let (bound, unbound): (Vec<&Negated>, Vec<&Negated>) = batch.iter().partition(|one| binds(one, &record.target));
        let alive: Vec<_> = bound
            .iter()
            .filter_map(|one| {
                let of_it = record.scenarios.iter().find(|record| record.name == one.inverted.name);
                Some(((*one).clone(), survivor(&one.scenario, &one.original, of_it)?))
            })
            .collect();
        watcher.ran("inverted expectations", bound.len() - alive.len());
        Ok::<_, RunError>((alive, unbound.len()))
    }))
    .buffer_unordered(effort.targets.max(1))
    .collect::<Vec<_>>()
    .await;
    let mut all = (Vec::new(), 0);
    for run in runs {
        let (alive, unbound) = run?;
        all.0.extend(alive);
        all.1 += unbound;
    }
    Ok(all)
}

/// Whether the target is held to the value at all. What its version is called is well-formed, or it was not found.
fn binds(negated: &Negated, target: &Target) -> bool {
    let channel = if target.gateway_api_channel == "experimental" { Channel::Experimental } else { Channel::Standard };
    target.gateway_api_version.parse().map_or(true, |version| negated.original.binds(version, channel))
}

/// `None` if the scenario failed at the negated value and nowhere else.
fn survivor(scenario: &str, original: &Expectation, record: Option<&ScenarioRecord>) -> Option<Survivor> {
    let (outcome, why) = match record {
        None => ("missing".to_owned(), "it was not run".to_owned()),
        Some(record) => {
            let failures: Vec<_> = record.findings.iter().filter(|f| f.severity == Severity::Failure).collect();
            let elsewhere = failures.iter().find(|f| f.late || !is_opposite_of(original, &f.expectation));
            let why = match elsewhere {
                None if record.outcome == Outcome::Failed => return None,
                None => record.reason.clone().unwrap_or_default(),
                Some(finding) => format!("{}: {}", finding.expectation, finding.seen),
            };
            (format!("{:?}", record.outcome).to_lowercase(), why)
        }
    };
    Some(Survivor { scenario: scenario.to_owned(), expectation: original.id.clone(), outcome, why })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateproof_report::record::Finding;
    use rstest::rstest;

    use super::*;

    const ID: &str = "steps[1].settle.HTTPRoute/route.Accepted.status";

    fn original() -> Expectation {
        Expectation {
            id: ID.to_owned(),
            level: Level::Must,
            clauses: Vec::new(),
            alternative: false,
            untouched: false,
            bounds: Vec::new(),
            line: 1,
        }
    }

    fn finding(expectation: &str, severity: Severity, late: bool) -> Finding {
        Finding {
            expectation: expectation.to_owned(),
            severity,
            clauses: Vec::new(),
            line: 1,
            stage: String::new(),
            expected: String::new(),
            seen: String::new(),
            late,
            consequence: false,
            at_ms: 0,
        }
    }

    fn record(outcome: Outcome, findings: Vec<Finding>) -> ScenarioRecord {
        ScenarioRecord {
            name: "a".to_owned(),
            suite: String::new(),
            file: String::new(),
            summary: String::new(),
            features: Vec::new(),
            proves: Vec::new(),
            outcome,
            reason: None,
            findings,
            stages: Vec::new(),
            duration_ms: 0,
        }
    }

    #[test]
    fn only_a_failure_at_the_negated_value_counts() {
        let failed = |finding| record(Outcome::Failed, vec![finding]);
        let alive = |record: ScenarioRecord| survivor("a", &original(), Some(&record)).is_some();
        assert!(!alive(failed(finding(ID, Severity::Failure, false))));
        assert!(alive(failed(finding("steps[0].settle.HTTPRoute/route.Accepted.status", Severity::Failure, false))));
        assert!(alive(record(Outcome::Late, vec![finding(ID, Severity::Failure, true)])));
        assert!(alive(record(
            Outcome::Failed,
            vec![finding(ID, Severity::Failure, false), finding("steps[1].settle.x", Severity::Failure, false)]
        )));
        assert_eq!(survivor("a", &original(), None).unwrap().outcome, "missing");
    }

    #[rstest]
    #[case(Outcome::Passed, "passed")]
    #[case(Outcome::Inconclusive, "inconclusive")]
    #[case(Outcome::NotSupported, "notsupported")]
    fn no_failure_is_a_survivor(#[case] outcome: Outcome, #[case] name: &str) {
        assert_eq!(survivor("a", &original(), Some(&record(outcome, Vec::new()))).unwrap().outcome, name);
    }
}
