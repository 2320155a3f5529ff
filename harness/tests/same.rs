//! The record of a run, without its times, is the same whenever the same scenarios run.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use gateproof::dialects::Reference;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::log::Body;
use gateproof::run::replay::replay;
use gateproof::run::{RunOptions, RunOutput, Silent, TargetChoice, run};
use gateproof::scenario::expectations::enumerate;
use gateproof::scenario::select::select;
use gateproof::scenario::{Basis, Channel, Level, Scenario, Verb, Vocabulary, load};
use gateproof_report::record::{Outcome, ProbeRecord, RunRecord, ScenarioRecord, executions};

/// One in so many of these.
const ONE_IN: usize = 3;
const SELECTION: [&str; 4] = ["gatewayclass-*", "gateway-*", "httproute-missing-*", "TCPRoute"];

fn scenarios() -> Vec<Scenario> {
    let vocabulary = Vocabulary::builtin();
    let all = load::builtin(&vocabulary).unwrap();
    let chosen = select(&all, &SELECTION.map(str::to_owned), &vocabulary).unwrap();
    chosen.into_iter().step_by(ONE_IN).map(|index| all[index].clone()).collect()
}

/// Records are made of all of this in different ways. No built-in scenario that could be chosen has a MAY.
#[test]
fn the_scenarios_have_musts_and_shoulds_of_every_kind_and_tcp() {
    let scenarios = scenarios();
    for kind in ["GatewayClass", "Gateway", "HTTPRoute", "TCPRoute"] {
        let applies = |scenario: &Scenario| {
            scenario.steps.iter().any(|step| match &step.verb {
                Verb::Apply(apply) => apply.objects.iter().any(|object| object["kind"] == kind),
                _ => false,
            })
        };
        assert!(scenarios.iter().any(applies), "{kind}");
    }
    let basis = Basis::release("v1.6.1".parse().unwrap(), Channel::Standard);
    for level in [Level::Must, Level::Should] {
        let asks = |scenario: &Scenario| {
            enumerate(scenario).iter().any(|expectation| expectation.level == level && expectation.binds(basis))
        };
        assert!(scenarios.iter().any(asks), "{level:?}");
    }
}

/// Takes the times out.
fn timeless(mut record: RunRecord) -> RunRecord {
    record.date.clear();
    record.duration_ms = 0;
    for scenario in &mut record.scenarios {
        scenario.duration_ms = 0;
        for finding in &mut scenario.findings {
            finding.at_ms = 0;
        }
        // How often it was asked until it agreed is a matter of time too.
        for probe in &mut scenario.probes {
            *probe = ProbeRecord { step: probe.step, ..ProbeRecord::default() };
        }
        // And so is whether a Gateway had to be waited for before a probe.
        let converged: Vec<usize> =
            scenario.stages.iter().filter(|stage| stage.stage == "converged").map(|stage| stage.step).collect();
        scenario.stages.retain(|stage| stage.stage != "programmed" || !converged.contains(&stage.step));
        for stage in &mut scenario.stages {
            (stage.reached_ms, stage.settled_ms, stage.limit_ms, stage.waited_ms) = (0, 0, 0, 0);
        }
    }
    record
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_without_its_times_is_the_same_every_time() {
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    let mut records = Vec::new();
    // More at once than a small machine bears would make notes of its own lateness.
    for jobs in [3, 16, 16] {
        let mut options = RunOptions::new(TargetChoice::embedded(Reference::GatewayApi, None), Arc::clone(&contract));
        options.jobs = jobs;
        let output = run(options, scenarios(), &mut Silent).await.unwrap();
        records.push(timeless(output.record));
    }
    for other in &records[1..] {
        for (first, other) in records[0].scenarios.iter().zip(&other.scenarios) {
            let text = |scenario: &ScenarioRecord| serde_json::to_string_pretty(scenario).unwrap();
            let (first_text, other_text) = (text(first), text(other));
            let differing: Vec<_> =
                first_text.lines().zip(other_text.lines()).filter(|(a, b)| a != b).take(10).collect();
            assert!(first_text == other_text, "{}: {differing:#?}", first.name);
        }
        let text = |record: &RunRecord| serde_json::to_string_pretty(record).unwrap();
        assert!(text(other) == text(&records[0]), "what is not about one scenario differs");
    }
}

/// Those of the first numbers are listed, in whatever order they ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executions_that_passed_alike_are_counted_in_a_replay_too() {
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    let mut options = RunOptions::new(TargetChoice::embedded(Reference::GatewayApi, None), Arc::clone(&contract));
    (options.repeat, options.listed) = (6, Some(2));
    let scenarios: Vec<Scenario> =
        scenarios().into_iter().filter(|one| one.name.starts_with("gatewayclass-")).collect();
    assert!(!scenarios.is_empty());
    let RunOutput { mut events, record, .. } = run(options, scenarios.clone(), &mut Silent).await.unwrap();
    let passed = |record: &RunRecord| executions(record, |outcome| outcome == Outcome::Passed);
    assert_eq!((record.scenarios.len(), passed(&record)), (2 * scenarios.len(), 6 * scenarios.len()));
    assert_eq!(replay(&events, &scenarios, &contract, None).unwrap().scenarios, record.scenarios);

    let Body::RunStarted(started) = &mut Arc::make_mut(&mut events[0]).body else {
        panic!("a run begins with its start")
    };
    started.listed = None;
    let whole = replay(&events, &scenarios, &contract, None).unwrap();
    for (two, six) in record.scenarios.chunks(2).zip(whole.scenarios.chunks(6)) {
        assert_eq!(two, [ScenarioRecord { alike: 4, ..six[0].clone() }, six[1].clone()]);
    }
}
