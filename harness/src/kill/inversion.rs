//! Inversion: every asserted value is negated once, and the plain reference must then fail at that very value.
//!
//! A scenario that fails somewhere else, comes late or is inconclusive has not shown that the value is looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use gateproof_report::record::{Outcome, ScenarioRecord, Severity};

use super::drive::{Plan, Watcher, binding_expectations};
use crate::run::{self, RunError, RunOptions, Silent, TargetChoice};
use crate::scenario::Scenario;
use crate::scenario::expectations::{invert, is_opposite_of};

/// Scenarios that share one embedded target. Each judge reads the whole history of its pool Gateway, which everybody's
/// routes make longer.
const BATCH: usize = 64;

/// Scenarios at once on one target: most of their time is the deadline that they have to miss.
const JOBS: usize = 16;

/// Factor on every budget of the first attempt. A reference that is slower than that shows by failing elsewhere, and
/// gets the whole budget in the second.
const HASTE: f64 = 0.4;

/// One scenario with one value negated.
#[derive(Debug, Clone)]
pub struct Negated {
    /// The scenario.
    pub scenario: String,
    /// The expectation.
    pub expectation: String,
    /// The scenario with this value negated, under a name of its own.
    pub inverted: Scenario,
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
    /// Values whose opposite did not fail.
    pub survivors: Vec<Survivor>,
}

/// Every binding asserted value that has an opposite, negated; and the number of those that have none.
pub fn negated(scenarios: &[Scenario]) -> (Vec<Negated>, usize) {
    let mut all = Vec::new();
    let mut without_opposite = 0;
    for scenario in scenarios {
        for (position, id) in binding_expectations(std::slice::from_ref(scenario))[&scenario.name].iter().enumerate() {
            match invert(scenario, id) {
                Some(mut inverted) => {
                    inverted.name = format!("{}-inverted-{position}", scenario.name);
                    all.push(Negated { scenario: scenario.name.clone(), expectation: id.clone(), inverted });
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
    let survivors = survivors(plan, &all, watcher).await?;
    Ok(Inversion { inverted: all.len(), without_opposite, survivors })
}

/// Those whose opposite did not fail.
///
/// # Errors
/// If an embedded target cannot be tested at all.
pub async fn survivors(plan: &Plan, negated: &[Negated], watcher: &dyn Watcher) -> Result<Vec<Survivor>, RunError> {
    let first = attempt(plan, negated.to_vec(), HASTE, watcher).await?;
    // What passed has survived; the rest may have had too little time.
    let (mut survivors, unclear): (Vec<_>, Vec<_>) = first.into_iter().partition(|(_, s)| s.outcome == "passed");
    let again = unclear.into_iter().map(|(negated, _)| negated).collect();
    survivors.extend(attempt(plan, again, 1.0, watcher).await?);
    let mut survivors: Vec<Survivor> = survivors.into_iter().map(|(_, survivor)| survivor).collect();
    survivors.sort();
    Ok(survivors)
}

/// Runs each once; returns those that did not fail at the negated value.
async fn attempt(
    plan: &Plan,
    negated: Vec<Negated>,
    scale: f64,
    watcher: &dyn Watcher,
) -> Result<Vec<(Negated, Survivor)>, RunError> {
    let runs = futures::stream::iter(negated.chunks(BATCH).map(|batch| async move {
        let mut options = RunOptions::new(TargetChoice::Embedded { fault: None }, Arc::clone(&plan.contract));
        options.jobs = JOBS;
        options.timeout_scale = scale;
        let scenarios = batch.iter().map(|negated| negated.inverted.clone()).collect();
        let record = run::run(options, scenarios, &mut Silent).await?.record;
        let records: BTreeMap<&str, &ScenarioRecord> =
            record.scenarios.iter().map(|record| (record.name.as_str(), record)).collect();
        let alive: Vec<_> = batch
            .iter()
            .filter_map(|one| Some((one.clone(), survivor(one, records.get(one.inverted.name.as_str()).copied())?)))
            .collect();
        watcher.ran("inverted expectations", batch.len() - alive.len());
        Ok::<_, RunError>(alive)
    }))
    .buffer_unordered(plan.targets.max(1))
    .collect::<Vec<_>>()
    .await;
    Ok(runs.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// `None` if the scenario failed at the negated value and nowhere else.
fn survivor(negated: &Negated, record: Option<&ScenarioRecord>) -> Option<Survivor> {
    let (outcome, why) = match record {
        None => ("missing".to_owned(), "it was not run".to_owned()),
        Some(record) => {
            let failures: Vec<_> = record.findings.iter().filter(|f| f.severity == Severity::Failure).collect();
            let elsewhere = failures.iter().find(|f| f.late || !is_opposite_of(&negated.expectation, &f.expectation));
            let why = match elsewhere {
                None if record.outcome == Outcome::Failed => return None,
                None => record.reason.clone().unwrap_or_default(),
                Some(finding) => format!("{}: {}", finding.expectation, finding.seen),
            };
            (format!("{:?}", record.outcome).to_lowercase(), why)
        }
    };
    Some(Survivor { scenario: negated.scenario.clone(), expectation: negated.expectation.clone(), outcome, why })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateproof_report::record::Finding;
    use rstest::rstest;

    use super::*;
    use crate::scenario::{Vocabulary, load};

    const ID: &str = "steps[1].settle.HTTPRoute/route.Accepted.status";

    fn sample() -> Negated {
        let inverted = load::builtin(&Vocabulary::builtin()).unwrap().remove(0);
        Negated { scenario: "a".to_owned(), expectation: ID.to_owned(), inverted }
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
        let alive = |record: ScenarioRecord| survivor(&sample(), Some(&record)).is_some();
        assert!(!alive(failed(finding(ID, Severity::Failure, false))));
        assert!(alive(failed(finding("steps[0].settle.HTTPRoute/route.Accepted.status", Severity::Failure, false))));
        assert!(alive(record(Outcome::Late, vec![finding(ID, Severity::Failure, true)])));
        assert!(alive(record(
            Outcome::Failed,
            vec![finding(ID, Severity::Failure, false), finding("steps[1].settle.x", Severity::Failure, false)]
        )));
        assert_eq!(survivor(&sample(), None).unwrap().outcome, "missing");
    }

    #[rstest]
    #[case(Outcome::Passed, "passed")]
    #[case(Outcome::Inconclusive, "inconclusive")]
    #[case(Outcome::NotSupported, "notsupported")]
    fn no_failure_is_a_survivor(#[case] outcome: Outcome, #[case] name: &str) {
        assert_eq!(survivor(&sample(), Some(&record(outcome, Vec::new()))).unwrap().outcome, name);
    }
}
