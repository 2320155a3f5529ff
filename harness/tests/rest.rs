//! What is watched until everything else of a run has come to its end (`for: rest`, `within: rest`), on the embedded target of Azure
//! Service Operator: it sees what comes late, keeps nobody waiting, and ends when the run is broken off.
#![allow(clippy::unwrap_used)]

mod proof;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gateproof::cluster::discover::Facts;
use gateproof::dialects::Reference;
use gateproof::kill::Plan;
use gateproof::log::{Body, Event, Scope, Timing, TimingProfile};
use gateproof::run::interrupt::Interrupt;
use gateproof::run::replay::replay;
use gateproof::run::{Planned, Progress, RunOptions, Silent, run};
use gateproof::scenario::{HoldFor, Scenario, Verb};
use gateproof_report::record::{Outcome, ScenarioRecord};
use rstest::rstest;

/// Of one scenario each sort: it rests, and it does not.
const RESTING: [&str; 3] = ["aso-error-with-label", "aso-owner-never-comes", "aso-skip-deleted"];
const BUSY: [&str; 3] = ["aso-owner-missing", "aso-refused-with-unknown-code", "aso-secret-missing"];

fn plan_of(names: &[&str]) -> Plan {
    let mut plan = proof::plan(Reference::Aso, 1);
    plan.scenarios.retain(|scenario| names.contains(&scenario.name.as_str()));
    assert_eq!(plan.scenarios.len(), names.len());
    plan
}

/// The least time that it takes to watch on; the most is an hour.
fn timed(least: Duration) -> Option<Timing> {
    Some(Timing { rest_min: least, rest_max: Duration::from_secs(3600), ..Timing::of(TimingProfile::Embedded) })
}

fn hurried(mut scenario: Scenario) -> Scenario {
    for step in &mut scenario.steps {
        match &mut step.verb {
            Verb::Requests(requests) if requests.within == HoldFor::Rest => requests.within = HoldFor::Quiet,
            Verb::Hold(hold) if hold.duration == HoldFor::Rest => hold.duration = HoldFor::Quiet,
            _ => {}
        }
    }
    scenario
}

/// Alone, too: what is watched for the rest of the run is watched for a while at least.
#[rstest]
#[case::an_error("retries-fatal-late", "aso-error-mended-elsewhere", "steps[5].requests.count")]
#[case::a_wait("asks-late-while-waiting", "aso-owner-never-comes", "steps[2].requests.count")]
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_late_is_seen_by_who_watches_on(
    #[case] fault: &str,
    #[case] scenario: &str,
    #[case] expectation: &str,
) {
    let plan = plan_of(&[scenario]);
    let of = async |scenario: Scenario| run(plan.run_on(Some(fault.to_owned())), vec![scenario], &mut Silent).await;
    let asked = plan.scenarios[0].clone();
    let (seen, missed) = tokio::join!(of(asked.clone()), of(hurried(asked)));
    let (seen, missed) = (seen.unwrap(), missed.unwrap());
    assert_eq!(missed.record.scenarios[0].outcome, Outcome::Passed, "{:#?}", missed.record.scenarios[0]);
    let record = &seen.record.scenarios[0];
    let failed: Vec<&str> = record.findings.iter().map(|finding| finding.expectation.as_str()).collect();
    assert_eq!((record.outcome, failed), (Outcome::Failed, vec![expectation]));
    let again = replay(&seen.events, &plan.scenarios, &plan.suite.contract, None).unwrap();
    assert_eq!(again.scenarios[0].findings, record.findings);
}

fn position(events: &[Arc<Event>], name: &str, is_it: impl Fn(&Body) -> bool) -> Option<u64> {
    let of = Scope::Scenario(Arc::from(name));
    events.iter().find(|event| event.scope == of && is_it(&event.body)).map(|event| event.seq)
}

/// One at a time, and twice each: who watches on takes nobody's place, and hears that the rest is over when the last other scenario is.
#[tokio::test(flavor = "multi_thread")]
async fn who_watches_on_keeps_nobody_waiting() {
    let names: Vec<&str> = RESTING.into_iter().chain(BUSY).collect();
    let plan = plan_of(&names);
    let options = RunOptions { jobs: 1, repeat: 2, timing: timed(Duration::ZERO), ..plan.run_on(None) };
    let output = run(options, plan.scenarios.clone(), &mut Silent).await.unwrap();
    let wrong: Vec<_> = output.record.scenarios.iter().filter(|one| one.outcome != Outcome::Passed).collect();
    assert_eq!((wrong, output.record.scenarios.len()), (Vec::new(), 12));
    let find = |name: &str, is_it: fn(&Body) -> bool| position(&output.events, name, is_it);
    let each = |names: [&'static str; 3]| names.into_iter().flat_map(|name| [name.to_owned(), format!("{name}#2")]);
    let rested: BTreeSet<u64> =
        each(RESTING).map(|name| find(&name, |body| matches!(body, Body::Rested)).expect(&name)).collect();
    let first = *rested.first().unwrap();
    for name in each(BUSY) {
        assert_eq!(find(&name, |body| matches!(body, Body::Rested)), None);
        assert!(find(&name, |body| matches!(body, Body::ScenarioEnded(_))).unwrap() < first, "{name}");
    }
    for name in each(RESTING) {
        assert!(find(&name, |body| matches!(body, Body::ScenarioStarted(_))).unwrap() < first, "{name}");
    }
    let again = replay(&output.events, &plan.scenarios, &plan.suite.contract, None).unwrap();
    assert!(again.scenarios.iter().all(|one| one.outcome == Outcome::Passed));
}

/// Breaks the run off as soon as somebody only watches on.
struct Impatient(Interrupt);

impl Progress for Impatient {
    fn planned(&mut self, _: &[Planned], _: &Facts) {}
    fn started(&mut self, _: &str) {}
    fn finished(&mut self, _: &ScenarioRecord) {}
    fn resting(&mut self, count: usize) {
        if count > 0 {
            self.0.trigger();
        }
    }
}

/// Of an hour that it would take.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_broken_off_ends_at_once() {
    let plan = plan_of(&RESTING);
    let options = RunOptions { timing: timed(Duration::from_secs(3600)), ..plan.run_on(None) };
    let mut impatient = Impatient(options.interrupt.clone());
    let output = run(options, plan.scenarios, &mut impatient).await.unwrap();
    assert!(output.leftovers.is_empty());
    let told: Vec<_> = output.record.scenarios.iter().map(|one| one.outcome).collect();
    assert_eq!(told, [Outcome::Inconclusive; 3]);
}
