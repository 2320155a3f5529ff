#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::cli::shelf::Held;
use crate::log::{Bindings, Elapsed, Ended, GatewayBinding};

fn scenario(name: &str) -> Scope {
    Scope::Scenario(Arc::from(name))
}

fn pool(name: &str) -> Scope {
    Scope::Pool(Arc::from(name))
}

fn seen(name: &str, change: Change, version: u64) -> Body {
    let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name}, "version": version});
    Body::Observed { key: ObjectKey::of(&object).unwrap(), change, object: Arc::new(object) }
}

fn missing() -> Body {
    Body::NoKubernetesEvents { reason: "forbidden".to_owned() }
}

fn started() -> Body {
    let gateway = GatewayBinding { namespace: "p".into(), name: "http".into(), shape: "http".into() };
    let gateways = [("gw".to_owned(), gateway)].into_iter().collect();
    Body::ScenarioStarted(Box::new(Bindings { gateways, ..Bindings::default() }))
}

fn log(events: Vec<(Scope, Body)>) -> Vec<Arc<Event>> {
    let event = |(seq, (scope, body)): (usize, (Scope, Body))| {
        Arc::new(Event { seq: seq as u64, at: Elapsed(seq as u64), scope, body })
    };
    events.into_iter().enumerate().map(event).collect()
}

/// The record of scenarios that came out so.
fn record(outcomes: &[(&str, &str)]) -> RunRecord {
    let scenario = |(name, outcome): &(&str, &str)| {
        json!({"name": name, "suite": "s", "file": "f", "summary": "", "features": [], "proves": [],
            "outcome": outcome, "durationMs": 0})
    };
    let scenarios: Vec<Value> = outcomes.iter().map(scenario).collect();
    let target = json!({"name": "t", "embedded": true, "features": []});
    serde_json::from_value(json!({
        "format": 1, "producer": "p", "date": "d", "target": target, "interrupted": false, "scenarios": scenarios,
        "contract": [], "durationMs": 0,
    }))
    .unwrap()
}

/// What is written of these events: the folders of `a`, and of `never`, which did not begin.
fn written(events: &[Arc<Event>]) -> BTreeMap<String, String> {
    let record = record(&[("a", "failed"), ("good", "passed"), ("never", "inconclusive")]);
    let (none, mut held) = (BTreeMap::new(), Held::of(PathBuf::new()));
    let mut folders = Folders::of(&record, &none);
    assert!(folders.are_wanted());
    events.iter().for_each(|event| folders.event(event, &mut held).unwrap());
    folders.finish(&mut held).unwrap();
    held.files
}

/// The places in the log of what stands in a file.
fn places(files: &BTreeMap<String, String>, name: &str) -> Vec<u64> {
    let event = |line: &str| serde_json::from_str::<Event>(line).unwrap().seq;
    files[name].lines().map(event).collect()
}

#[test]
fn a_folder_has_how_it_stood_with_what_is_shared_and_what_came_then() {
    let files = written(&log(vec![
        (Scope::Run, seen("class", Change::Added, 1)),
        (pool("http"), seen("gateway", Change::Added, 1)),
        (pool("http"), seen("gateway", Change::Modified, 2)),
        (pool("http"), seen("gone", Change::Added, 1)),
        (pool("http"), seen("gone", Change::Deleted, 2)),
        (pool("other"), seen("other", Change::Added, 1)),
        (Scope::Run, missing()),
        (scenario("good"), started()),
        (scenario("a"), started()),
        (scenario("a"), seen("route", Change::Added, 1)),
        (scenario("good"), seen("route", Change::Added, 1)),
        (pool("http"), seen("gateway", Change::Modified, 3)),
        (pool("other"), seen("other", Change::Modified, 2)),
        (Scope::Run, missing()),
        (scenario("a"), Body::ScenarioEnded(Ended::Completed)),
        (pool("http"), seen("gateway", Change::Modified, 4)),
        (scenario("good"), Body::ScenarioEnded(Ended::Completed)),
    ]));
    assert_eq!(places(&files, "failures/a/status-history.jsonl"), [0, 2, 9, 11]);
    assert_eq!(places(&files, "failures/a/kubernetes-events.jsonl"), [6, 13]);
    assert!(files.keys().all(|name| !name.starts_with("failures/good")), "{:?}", files.keys());
    assert_eq!(files["failures/never/status-history.jsonl"], "");
    assert!(files["failures/never/failure.txt"].contains("never"));
}

#[test]
fn an_execution_without_an_end_has_what_there_is() {
    let files = written(&log(vec![(scenario("a"), started()), (scenario("a"), seen("route", Change::Added, 1))]));
    assert_eq!(places(&files, "failures/a/status-history.jsonl"), [1]);
}
