//! A run as a trace: what lies in what, and what the file looks like.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use gateproof_report::record::Stage;
use gateproof_report::trace::{Execution, Happening, Trace, What, json};
use proptest::prelude::*;
use serde_json::Value;

fn stage(step: usize, stage: &'static str, reached_ms: u64, settled_ms: u64, waited_ms: u64) -> Stage {
    Stage { step, stage: stage.into(), reached_ms, settled_ms, limit_ms: 9000, waited_ms }
}

fn happening(what: What, step: Option<usize>, name: &str, from: u64, to: u64) -> Happening {
    Happening { what, step, name: name.to_owned(), from, to, more: BTreeMap::new() }
}

/// A route is written, settles, and is probed twice at once; beside it runs another scenario, and a third one after it.
fn three() -> Trace {
    let mut probe = happening(What::Probed, Some(2), "probe GET a.example/", 62_000, 66_000);
    probe.more.insert("answer", "status 200".to_owned());
    let route = Execution {
        name: "route".to_owned(),
        outcome: "passed".to_owned(),
        from: 1000,
        to: 90_000,
        stages: vec![
            stage(1, "observed", 5, 50, 30),
            stage(1, "programmed", 20, 50, 30),
            stage(2, "converged", 10, 20, 0),
        ],
        happenings: vec![
            happening(What::Wrote, Some(0), "apply HTTPRoute/ns/route", 9000, 9000),
            happening(What::Changed, None, "modified HTTPRoute/ns/route", 15_000, 15_000),
            probe,
            happening(What::Probed, Some(2), "probe GET a.example/", 63_000, 65_000),
        ],
    };
    let plain = |name: &str, from, to| Execution {
        name: name.to_owned(),
        outcome: "failed".to_owned(),
        from,
        to,
        ..Execution::default()
    };
    let mut waits = plain("beside", 2000, 95_000);
    waits.happenings = vec![happening(What::Waited, None, "waits for another run", 3000, 40_000)];
    Trace {
        target: "embedded".to_owned(),
        date: "2026-11-20T10:00:00Z".to_owned(),
        producer: "gateproof 0.1.0".to_owned(),
        executions: vec![route, waits, plain("after", 90_000, 110_000)],
        happenings: vec![happening(What::Hindered, None, "the harness was late", 30_000, 34_000)],
    }
}

#[test]
fn the_whole() {
    insta::assert_snapshot!(json(&three()).unwrap());
}

fn events(text: &str) -> Vec<Value> {
    serde_json::from_str::<Value>(text).unwrap()["traceEvents"].as_array().unwrap().clone()
}

fn span(event: &Value) -> Option<(u64, u64)> {
    (event["ph"] == "X").then(|| {
        let from = event["ts"].as_u64().unwrap();
        (from, from + event["dur"].as_u64().unwrap())
    })
}

/// What is on one line lies in what came before, or behind it: readers nest by that.
fn is_nested(events: &[Value]) -> Result<(), String> {
    let mut open: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for event in events {
        let Some((from, to)) = span(event) else { continue };
        let line = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let stack = open.entry(line).or_default();
        while stack.last().is_some_and(|(_, end)| *end <= from && (*end < to || *end < from)) {
            stack.pop();
        }
        if let Some((_, end)) = stack.last().filter(|(_, end)| *end < to) {
            return Err(format!("{event} ends after {end}, within which it begins"));
        }
        stack.push((from, to));
    }
    Ok(())
}

#[test]
fn scenarios_that_ran_beside_each_other_have_lanes_of_their_own() {
    let all = events(&json(&three()).unwrap());
    let lane =
        |name: &str| all.iter().find(|event| event["name"] == name && event["ph"] == "X").unwrap()["tid"].clone();
    assert_eq!((lane("route"), lane("beside"), lane("after")), (0.into(), 1000.into(), 0.into()));
    let probes: Vec<&Value> = all.iter().filter(|event| event["cat"] == "probe").map(|event| &event["tid"]).collect();
    assert_eq!(probes, [2, 3]);
    is_nested(&all).unwrap();
}

/// However many probes are under way, they stay in the lane of their scenario.
#[test]
fn a_lane_has_no_more_lines_than_its_numbers() {
    let mut trace = three();
    trace.executions[0].happenings = (0..1100).map(|_| happening(What::Probed, Some(2), "x", 62_000, 66_000)).collect();
    let all = events(&json(&trace).unwrap());
    let lines = all.iter().filter(|event| event["cat"] == "probe").map(|event| event["tid"].as_u64().unwrap());
    assert_eq!(lines.max(), Some(999));
}

/// From the write on, as long as the record says, and no further than the step.
#[test]
fn stages_stand_where_they_were() {
    let all = events(&json(&three()).unwrap());
    let of = |name: &str| all.iter().find(|event| event["name"] == name).and_then(span).unwrap();
    assert_eq!(
        (of("observed"), of("programmed"), of("waits (programmed)")),
        ((9000, 14_000), (9000, 29_000), (29_000, 59_000))
    );
    assert_eq!(of("converged"), (59_000, 69_000));
    assert_eq!((of("steps[0]"), of("steps[1]"), of("steps[2]")), ((1000, 9000), (9000, 59_000), (59_000, 79_000)));
}

#[test]
fn what_others_wrote_stays_text() {
    let mut trace = three();
    trace.target = "\"}],\u{2028}".to_owned();
    let hostile = "</script>\"\n\u{202e}\u{1b}[2K";
    hostile.clone_into(&mut trace.executions[0].name);
    trace.executions[0].stages[0].stage = hostile.into();
    hostile.clone_into(&mut trace.executions[0].happenings[0].name);
    trace.executions[0].happenings[0].more.insert("answer", hostile.to_owned());
    let text = json(&trace).unwrap();
    assert_eq!(text.lines().count(), json(&three()).unwrap().lines().count());
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    events(&text);
}

prop_compose! {
    fn any_happening()(what in 0..6usize, step in prop::option::of(0..4usize), from in 0..200_000u64, length in 0..90_000u64) -> Happening {
        let what = [What::Wrote, What::Changed, What::Probed, What::Waited, What::Hindered, What::Other][what];
        happening(what, step, "x", from, from + length)
    }
}

prop_compose! {
    fn any_execution()(
        from in 0..100_000u64,
        length in 0..100_000u64,
        stages in prop::collection::vec((0..5usize, 0..200u64, any::<u64>()), 0..5),
        happenings in prop::collection::vec(any_happening(), 0..8),
    ) -> Execution {
        let stages = stages.into_iter().map(|(step, reached, settled)| stage(step, "s", reached, settled, 7)).collect();
        Execution { name: "e".to_owned(), outcome: "passed".to_owned(), from, to: from + length, stages, happenings }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever a log and a record say, together or against each other, the lines nest, and the same makes the same.
    #[test]
    fn any_run_nests(mut executions in prop::collection::vec(any_execution(), 0..5)) {
        executions.sort_by_key(|one| one.from);
        let trace = Trace { executions, ..three() };
        let text = json(&trace).unwrap();
        let nested = is_nested(&events(&text));
        prop_assert!(nested.is_ok(), "{:?}", nested);
        prop_assert_eq!(json(&trace).unwrap(), text);
    }
}
