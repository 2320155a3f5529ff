//! Trials: a scenario is run because it must fail, at one expectation and nowhere else.
//!
//! A scenario that fails somewhere else, comes late or is inconclusive has not shown that the value is looked at.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gateproof_report::record::{Outcome, ScenarioRecord, Severity, Target};

use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{Plan, Watcher};
use crate::log::Timing;
use crate::run::{self, Bystander, RunError, Silent, TargetChoice, embedded};
use crate::scenario::expectations::Expectation;
use crate::scenario::scope::{Lacking, lacking};
use crate::scenario::{Basis, Channel, Scenario};

/// Scenarios that share one embedded target. Each judge reads the whole history of its pool Gateway, which everybody's
/// routes make longer.
const BATCH: usize = 64;

/// Scenarios at once on one target: most of their time is the deadline that they have to miss.
const JOBS: usize = 16;

/// The quiet window of the second attempt. A state from before a step may be the very opposite of what the step leads
/// to; it must not count as settled because a busy machine keeps the reference from reacting at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// One scenario that must fail.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The scenario's name.
    pub scenario: String,
    /// The scenario as it is run, under a name of its own.
    pub variant: Scenario,
    /// The expectation that must fail.
    pub expectation: Expectation,
}

impl Trial {
    /// The scenario and its expectation.
    pub fn name(&self) -> String {
        format!("{}: {}", self.scenario, self.expectation.id)
    }

    /// It, where the scenario came to this instead of a failure at the expectation.
    fn survivor(&self, outcome: &str, why: &str) -> Survivor {
        Survivor {
            scenario: self.scenario.clone(),
            expectation: self.expectation.id.clone(),
            outcome: outcome.to_owned(),
            why: why.to_owned(),
        }
    }
}

/// What makes a scenario fail.
pub(super) trait Method: Sync {
    /// Whether a trial changes what others on its target depend on.
    fn needs_target_alone(&self, trial: &Trial) -> bool;

    /// What a batch is run against, and who stands by.
    fn target(&self, batch: &[Trial]) -> (TargetChoice, Option<Arc<dyn Bystander>>);

    /// Whether a failure is the one that the trial is to provoke.
    fn is_meant(&self, expectation: &Expectation, finding: &str) -> bool;
}

/// An expectation that was not shown to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Survivor {
    /// The scenario.
    pub scenario: String,
    /// The expectation.
    pub expectation: String,
    /// How the trial ended.
    pub outcome: String,
    /// What was seen instead of a failure at the expectation.
    pub why: String,
}

/// What trials showed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// How many expectations were tried, each in a run of its own scenario.
    pub tried: usize,
    /// Those (`scenario: expectation`) that have no opposite to be tried.
    pub untried: Vec<String>,
    /// How many have no meaning at the reference's version, or belong to another end of a write than the reference comes to.
    pub unbound: usize,
    /// Those that did not fail.
    pub survivors: Vec<Survivor>,
}

/// The trials that did not fail as they should, and how many say nothing of the reference's version.
type Alive = (Vec<(Trial, Survivor)>, usize);

/// How much is tried at once, and for how long.
#[derive(Clone, Copy)]
struct Effort {
    targets: usize,
    jobs: usize,
    patient: bool,
}

/// Runs every trial; those that did not fail as they should get a second, more patient attempt.
pub(super) async fn prove(
    plan: &Plan,
    trials: Vec<Trial>,
    method: &dyn Method,
    watcher: &dyn Watcher,
) -> Result<Proof, RunError> {
    let mut found = Proof { tried: trials.len(), ..Proof::default() };
    let quick = Effort { targets: plan.targets, jobs: JOBS, patient: false };
    let patient = Effort { targets: plan.targets.div_ceil(2), jobs: JOBS, patient: true };
    let mut left = trials;
    for effort in [quick, patient] {
        let (alive, unbound) = attempt(plan, left, method, effort, watcher).await?;
        found.unbound += unbound;
        (left, found.survivors) = alive.into_iter().unzip();
    }
    found.survivors.sort();
    Ok(found)
}

/// Runs each once; returns those that did not fail as they should, and the number of those that say nothing of the
/// reference's version.
async fn attempt(
    plan: &Plan,
    trials: Vec<Trial>,
    method: &dyn Method,
    effort: Effort,
    watcher: &dyn Watcher,
) -> Result<Alive, RunError> {
    let (alone, together): (Vec<Trial>, Vec<Trial>) =
        trials.into_iter().partition(|trial| method.needs_target_alone(trial));
    let mut by_lacking: BTreeMap<Lacking, Vec<Trial>> = BTreeMap::new();
    for trial in together {
        by_lacking.entry(lacking(&trial.variant)).or_default().push(trial);
    }
    let together = by_lacking.values().flat_map(|trials| trials.chunks(BATCH));
    let batches: Vec<&[Trial]> = alone.chunks(1).chain(together).collect();
    watcher.planned(batches.len());
    let runs = futures::stream::iter(batches.into_iter().map(|batch| async move {
        let (target, bystander) = method.target(batch);
        let mut options = plan.run_against(target);
        options.features = embedded::held_to(plan.reference);
        options.jobs = effort.jobs;
        options.bystander = bystander;
        // All of a batch lack the same.
        options = options.lacking(batch.first().map(|trial| lacking(&trial.variant)).unwrap_or_default());
        // Whatever happens to this target, the trial does to it as a mistake of its own, its definitions included.
        options.others = false;
        if effort.patient {
            options.timing = Some(Timing { quiet: PATIENCE, ..options.timing() });
            options.timeout_scale = 2.0;
        }
        let scenarios = batch.iter().map(|trial| trial.variant.clone()).collect();
        let name = match batch {
            [one] => one.name(),
            many => format!("{} expectations that must fail", many.len()),
        };
        let record = match run::run(options, scenarios, &mut Silent).await {
            Ok(run) => run.record,
            Err(error) => {
                watcher.ran(&name, 0);
                return Err((batch, error));
            }
        };
        let of = |trial: &Trial| record.scenarios.iter().find(|record| record.name == trial.variant.name);
        let is_asked = |trial: &&Trial| binds(trial, &record.target) && !is_elsewhere(trial, of(trial));
        let (bound, unbound): (Vec<&Trial>, Vec<&Trial>) = batch.iter().partition(is_asked);
        let alive: Vec<_> =
            bound.iter().filter_map(|trial| Some(((*trial).clone(), survivor(trial, of(trial), method)?))).collect();
        watcher.ran(&name, bound.len() - alive.len());
        Ok((alive, unbound.len()))
    }))
    .buffer_unordered(effort.targets.max(1))
    .collect::<Vec<_>>()
    .await;
    merged(runs, effort.patient)
}

/// What the batches of an attempt came to together. A batch that could not be run costs nobody what the others showed: its trials are
/// alive. Where none could be, in this attempt or in one before, there is nothing to tell.
fn merged(runs: Vec<Result<Alive, (&[Trial], RunError)>>, has_run_before: bool) -> Result<Alive, RunError> {
    let has_run = has_run_before || runs.iter().any(Result::is_ok);
    let mut all = (Vec::new(), 0);
    for run in runs {
        match run {
            Ok((alive, unbound)) => {
                all.0.extend(alive);
                all.1 += unbound;
            }
            Err((batch, error)) if has_run && !matches!(error, RunError::Interrupted) => {
                let why = error.to_string();
                let not_run =
                    |trial: &Trial| (trial.clone(), trial.survivor("missing", &format!("nothing could be run: {why}")));
                all.0.extend(batch.iter().map(not_run));
            }
            Err((_, error)) => return Err(error),
        }
    }
    Ok(all)
}

/// Whether the scenario passed and never came to the step of the expectation, because a write came to another of its ends.
fn is_elsewhere(trial: &Trial, record: Option<&ScenarioRecord>) -> bool {
    let step = |step: usize| trial.expectation.id.starts_with(&format!("steps[{step}]."));
    let is_there = |record: &ScenarioRecord| {
        record.stages.iter().any(|stage| step(stage.step)) || record.probes.iter().any(|probe| step(probe.step))
    };
    trial.expectation.conditional && record.is_some_and(|record| record.outcome == Outcome::Passed && !is_there(record))
}

/// Whether the target is held to the expectation at all. What its version is called is well-formed, or it was not
/// found.
fn binds(trial: &Trial, target: &Target) -> bool {
    let Some(version) = &target.gateway_api_version else { return trial.expectation.binds(Basis::default()) };
    let is_experimental = target.gateway_api_channel.as_deref() == Some("experimental");
    let channel = if is_experimental { Channel::Experimental } else { Channel::Standard };
    version.parse().map_or(true, |version| trial.expectation.binds(Basis::release(version, channel)))
}

/// `None` if the scenario failed as it was meant to and nowhere else.
fn survivor(trial: &Trial, record: Option<&ScenarioRecord>, method: &dyn Method) -> Option<Survivor> {
    let (outcome, why) = match record {
        None => return Some(trial.survivor("missing", "it was not run")),
        Some(record) => {
            let failures: Vec<_> = record.findings.iter().filter(|f| f.severity == Severity::Failure).collect();
            let meant = |finding: &str| method.is_meant(&trial.expectation, finding);
            let elsewhere = failures.iter().find(|f| f.late || !meant(&f.expectation));
            let why = match elsewhere {
                None if record.outcome == Outcome::Failed => return None,
                None => record.reason.clone().unwrap_or_default(),
                Some(finding) => format!("{}: {}", finding.expectation, finding.seen),
            };
            (format!("{:?}", record.outcome).to_lowercase(), why)
        }
    };
    Some(trial.survivor(&outcome, &why))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateproof_report::record::{Finding, Stage};
    use rstest::rstest;

    use super::*;
    use crate::dialects::Reference;
    use crate::scenario::{Level, load};

    const ID: &str = "steps[1].settle.HTTPRoute/route.Accepted.status";

    struct Same;

    impl Method for Same {
        fn needs_target_alone(&self, _: &Trial) -> bool {
            false
        }

        fn target(&self, _: &[Trial]) -> (TargetChoice, Option<Arc<dyn Bystander>>) {
            (TargetChoice::embedded(Reference::GatewayApi, None), None)
        }

        fn is_meant(&self, expectation: &Expectation, finding: &str) -> bool {
            expectation.id == finding
        }
    }

    fn trial() -> Trial {
        let expectation = Expectation {
            id: ID.to_owned(),
            level: Level::Must,
            clauses: Vec::new(),
            alternative: false,
            conditional: false,
            untouched: false,
            bounds: Vec::new(),
            line: 1,
        };
        let variant = load::builtin_once()[0].clone();
        Trial { scenario: "a".to_owned(), variant, expectation }
    }

    /// One batch that could not be run takes nothing of the others along; where none could be, the run says why.
    #[test]
    fn a_batch_that_could_not_be_run_is_alive() {
        let (one, two) = ([trial()], [trial()]);
        let broken = |error| Err((&one[..], error));
        let shown = || Ok((vec![(two[0].clone(), two[0].survivor("passed", ""))], 3));
        let (alive, unbound) = merged(vec![broken(RunError::Internal("odd".to_owned())), shown()], false).unwrap();
        let outcomes: Vec<_> = alive.iter().map(|(_, one)| (one.outcome.as_str(), one.why.contains("odd"))).collect();
        assert_eq!((outcomes, unbound), (vec![("missing", true), ("passed", false)], 3));
        let alone = |has_run_before| merged(vec![broken(RunError::Internal("odd".to_owned()))], has_run_before);
        assert!(alone(false).is_err());
        assert_eq!(alone(true).unwrap().0.len(), 1);
        assert!(merged(vec![shown(), broken(RunError::Interrupted)], true).is_err());
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
            suite: "".into(),
            file: "".into(),
            summary: "".into(),
            features: [].into(),
            proves: [].into(),
            outcome,
            reason: None,
            findings,
            stages: Vec::new(),
            probes: Vec::new(),
            duration_ms: 0,
            alike: 0,
        }
    }

    #[test]
    fn only_a_failure_at_the_expectation_counts() {
        let failed = |finding| record(Outcome::Failed, vec![finding]);
        let alive = |record: ScenarioRecord| survivor(&trial(), Some(&record), &Same).is_some();
        assert!(!alive(failed(finding(ID, Severity::Failure, false))));
        assert!(alive(failed(finding("steps[0].settle.HTTPRoute/route.Accepted.status", Severity::Failure, false))));
        assert!(alive(record(Outcome::Late, vec![finding(ID, Severity::Failure, true)])));
        assert!(alive(record(
            Outcome::Failed,
            vec![finding(ID, Severity::Failure, false), finding("steps[1].settle.x", Severity::Failure, false)]
        )));
        assert_eq!(survivor(&trial(), None, &Same).unwrap().outcome, "missing");
    }

    #[test]
    fn an_expectation_behind_another_end_of_a_write_was_not_tried() {
        let conditional = |conditional| {
            let Trial { scenario, variant, expectation } = trial();
            Trial { scenario, variant, expectation: Expectation { conditional, ..expectation } }
        };
        let stage = |step| Stage { step, stage: "".into(), reached_ms: 0, settled_ms: 0, limit_ms: 0, waited_ms: 0 };
        let came_to = |outcome, step| ScenarioRecord { stages: vec![stage(step)], ..record(outcome, Vec::new()) };
        assert!(is_elsewhere(&conditional(true), Some(&came_to(Outcome::Passed, 11))));
        assert!(!is_elsewhere(&conditional(true), Some(&came_to(Outcome::Passed, 1))));
        assert!(!is_elsewhere(&conditional(true), Some(&came_to(Outcome::Inconclusive, 11))));
        assert!(!is_elsewhere(&conditional(false), Some(&came_to(Outcome::Passed, 11))));
        assert!(!is_elsewhere(&conditional(true), None));
    }

    #[rstest]
    #[case(Outcome::Passed, "passed")]
    #[case(Outcome::Inconclusive, "inconclusive")]
    #[case(Outcome::NotSupported, "notsupported")]
    fn no_failure_is_a_survivor(#[case] outcome: Outcome, #[case] name: &str) {
        assert_eq!(survivor(&trial(), Some(&record(outcome, Vec::new())), &Same).unwrap().outcome, name);
    }
}
