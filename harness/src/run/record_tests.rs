#![allow(clippy::unwrap_used)]
use std::time::Duration;

use gateproof_report::record::{Finding, ProbeRecord};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::judge::contract::GATEWAY_API;
use crate::log::{Body, Elapsed, Event, Timing, TimingProfile};
use crate::scenario::{Channel, load};

fn event(seq: u64, scope: Scope, body: Body) -> Arc<Event> {
    Arc::new(Event { seq, at: Elapsed(seq * 1000), scope, body })
}

fn scenario(name: &str) -> Scope {
    Scope::Scenario(Arc::from(name))
}

fn pool(name: &str) -> Scope {
    Scope::Pool(Arc::from(name))
}

/// Hundreds of executions of everything would not fit into memory otherwise.
#[test]
fn executions_of_a_scenario_have_its_manifest_in_common() {
    let scenario = Arc::new(load::builtin_once()[0].clone());
    let mut records = Records::default();
    for (name, duration_ms) in [("a", 3), ("a#2", 4)] {
        let end = End::not_run(Outcome::Skipped, "it was left out");
        records.add(Entry { name: Arc::from(name), scenario: Arc::clone(&scenario), end }, duration_ms);
    }
    let [first, second] = &records.all()[..] else { panic!("two were added") };
    assert_eq!((second.name.as_str(), second.duration_ms, second.outcome), ("a#2", 4, Outcome::Skipped));
    assert!(!first.summary.is_empty() && Arc::ptr_eq(&first.summary, &second.summary));
    assert!(!first.proves.is_empty() && Arc::ptr_eq(&first.proves, &second.proves));
}

#[test]
fn executions_that_never_began_for_one_reason_are_counted() {
    let scenarios = load::builtin_once();
    let [one, other] = [0, 1].map(|index: usize| Arc::new(scenarios[index].clone()));
    let ends = [
        (&one, "a", "interrupted"),
        (&one, "a#2", "interrupted"),
        (&one, "a#3", "broken off"),
        (&one, "a#4", "broken off"),
        (&one, "a#5", "interrupted"),
        (&other, "b", "interrupted"),
        (&other, "b#2", "interrupted"),
    ];
    let entries = ends.map(|(scenario, name, reason)| Entry {
        name: Arc::from(name),
        scenario: Arc::clone(scenario),
        end: End::not_run(Outcome::Inconclusive, reason),
    });
    let mut records = Records::default();
    folded(entries.into_iter(), |name| name == "a#3").into_iter().for_each(|entry| records.add(entry, 0));
    let all = records.all();
    let told: Vec<(&str, u32)> = all.iter().map(|one| (one.name.as_str(), one.alike)).collect();
    assert_eq!(told, [("a", 2), ("a#3", 0), ("a#4", 0), ("b", 1)]);
}

fn verdict(outcome: Outcome) -> Verdict {
    Verdict {
        outcome,
        reason: None,
        findings: Vec::new(),
        stages: Vec::new(),
        shares: Vec::new(),
        probes: vec![ProbeRecord { converging: 3, ..ProbeRecord::default() }],
        came_out: Vec::new(),
        checked: 1,
        contract: Vec::new(),
        contract_watched: Watched::default(),
        slowest_settle: Duration::ZERO,
    }
}

fn finding() -> Finding {
    serde_json::from_value(json!({
        "expectation": "steps[1].settle", "severity": "warning", "clauses": [], "line": 1, "stage": "observed",
        "expected": "one thing", "seen": "another", "late": false, "consequence": false, "atMs": 1,
    }))
    .unwrap()
}

fn breach() -> (String, Breach) {
    let (scenario, object, path, seen) = Default::default();
    ("contract/Gateway/a".to_owned(), Breach { scenario, object, path, seen, seq: 1 })
}

/// What stays of each is what a long run takes of memory.
#[rstest]
#[case::passed(|_: &mut Verdict| (), false)]
#[case::failed(|one: &mut Verdict| one.outcome = Outcome::Failed, true)]
#[case::with_a_warning(|one: &mut Verdict| one.findings.push(finding()), true)]
#[case::not_all_the_time(|one: &mut Verdict| one.probes[0].staying = 1, true)]
#[case::against_the_contract(|one: &mut Verdict| one.contract.push(breach()), true)]
fn what_passed_as_others_did_is_counted(#[case] differs: fn(&mut Verdict), #[case] is_listed: bool) {
    const MOST: usize = 10;
    let scenario = Arc::new(load::builtin_once()[0].clone());
    let last = MOST + 4;
    let mut ended = Vec::new();
    for number in 1..=last {
        let mut verdict = verdict(if number == 1 { Outcome::Failed } else { Outcome::Passed });
        if number == MOST + 2 {
            differs(&mut verdict);
        }
        let name = if number == 1 { scenario.name.clone() } else { format!("{}#{number}", scenario.name) };
        ended.push((Arc::from(name), verdict));
    }
    // The last first, but for one.
    ended[1..].reverse();
    let (mut alike, mut entries) = (Alike { most: MOST, listed: HashMap::new() }, Vec::<Entry>::new());
    for (name, verdict) in ended {
        let beyond = alike.beyond(entries.len(), &name, &verdict);
        entries.push(Entry { name, scenario: Arc::clone(&scenario), end: End::Judged(Box::new(verdict)) });
        beyond.into_iter().for_each(|beyond| entries[beyond].end = End::Alike);
    }
    let mut records = Records::default();
    entries.into_iter().for_each(|entry| records.add(entry, 1));
    let all = records.all();
    let told: Vec<(u32, u32)> = all.iter().map(|one| (repeat_of(&one.name).1, one.alike)).collect();
    let mut expected: Vec<(u32, u32)> = (1..).take(MOST + 1).map(|number| (number, 0)).collect();
    expected[1].1 = if is_listed { 2 } else { 3 };
    expected.extend(is_listed.then_some((expected.len() as u32 + 1, 0)));
    assert_eq!(told, expected);
    assert_eq!(all.iter().map(ScenarioRecord::executions).sum::<usize>(), last);
}

#[rstest]
#[case::one(1, 5_000)]
#[case::none(0, 5_000)]
#[case::some(100, 50)]
#[case::all(900, 5)]
#[case::more_than_there_are(9_000, 5)]
fn of_few_scenarios_more_executions_are_listed(#[case] scenarios: usize, #[case] expected: u32) {
    assert_eq!(listed(scenarios), expected);
}

#[test]
fn an_execution_lasts_from_its_first_event_to_its_last() {
    let events = [
        event(0, Scope::Run, Body::Tick),
        event(3, scenario("a"), Body::Tick),
        event(4, scenario("b"), Body::Tick),
        event(5, scenario("a"), Body::Tick),
        event(6, pool("http"), Body::Tick),
    ];
    let tally = tally(&events);
    assert_eq!((tally.duration("a"), tally.duration("b"), tally.duration("c"), tally.whole()), (2, 0, 0, 6));
}

fn basis() -> Basis {
    Basis::release("1.6.1".parse().unwrap(), Channel::Standard)
}

fn tally(events: &[Arc<Event>]) -> Tally {
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    let mut tally = Tally::new(&contract, basis(), "a.test/b", &timing());
    events.iter().for_each(|event| tally.observe(event));
    tally
}

fn timing() -> Timing {
    let quiet = Duration::from_millis(100);
    Timing { quiet, gateway: Duration::from_secs(1), ..Timing::of(TimingProfile::Embedded) }
}

/// A pool Gateway at generation 2 whose Accepted is about the one before.
fn outdated(resource_version: &str, programmed: &str) -> Value {
    let condition = |type_: &str, status: &str, generation: u64| {
        json!({"type": type_, "status": status, "reason": type_, "message": "because",
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "http", "namespace": "p", "generation": 2, "uid": "u", "resourceVersion": resource_version},
        "status": {"conditions": [condition("Accepted", "True", 1), condition("Programmed", programmed, 2)]},
    })
}

#[rstest]
#[case::stands_still("True", 1, 200, true)]
#[case::not_yet("True", 1, 90, false)]
#[case::between_two_versions("True", 101, 150, true)]
#[case::never_still("True", 60, 130, false)]
#[case::not_programmed("False", 1, 200, false)]
fn a_pool_gateway_is_held_to_what_settled_ones_must_be(
    #[case] programmed: &str,
    #[case] second_after_ms: u64,
    #[case] end_ms: u64,
    #[case] found: bool,
) {
    let seen = |resource_version: &str| {
        let object = outdated(resource_version, programmed);
        let key = crate::log::ObjectKey::of(&object).unwrap();
        Body::Observed { key, change: crate::log::Change::Modified, object: Arc::new(object) }
    };
    let events = [
        event(0, pool("http"), seen("1")),
        event(second_after_ms, pool("http"), seen("2")),
        event(end_ms, Scope::Run, Body::RunEnded { interrupted: false }),
    ];
    let contract = Contract::parse(GATEWAY_API).unwrap();
    let records = contract_records(&contract, basis(), tally(&events).shared(), Watched::default(), &[]);
    let rule = "contract/Gateway/observed-generation-current";
    let record = records.iter().find(|record| record.name == rule).unwrap();
    let paths: Vec<&str> = record.breaches.iter().map(|breach| breach.path.as_str()).collect();
    assert_eq!(!paths.is_empty(), found, "{paths:?}");
}

#[rstest]
#[case::within_the_budget(900, false)]
#[case::after_the_budget(1100, true)]
fn a_changed_pool_gateway_has_time_to_be_answered(#[case] end_ms: u64, #[case] found: bool) {
    let seen = |resource_version: &str, generation: u64| {
        let mut object = outdated(resource_version, "True");
        object["metadata"]["generation"] = json!(generation);
        let key = crate::log::ObjectKey::of(&object).unwrap();
        Body::Observed { key, change: crate::log::Change::Modified, object: Arc::new(object) }
    };
    let events = [
        event(0, pool("http"), seen("1", 1)),
        event(1, pool("http"), seen("2", 2)),
        event(end_ms, Scope::Run, Body::RunEnded { interrupted: false }),
    ];
    let contract = Contract::parse(GATEWAY_API).unwrap();
    let records = contract_records(&contract, basis(), tally(&events).shared(), Watched::default(), &[]);
    let record = records.iter().find(|record| record.name == "contract/Gateway/observed-generation-current").unwrap();
    assert_eq!(!record.breaches.is_empty(), found);
}

#[test]
fn repeats_are_counted_as_people_count() {
    let mut names = ["a#10", "b", "a#2", "a"];
    names.sort_by(|a, b| repeat_of(a).cmp(&repeat_of(b)));
    assert_eq!(names, ["a", "a#2", "a#10", "b"]);
}
