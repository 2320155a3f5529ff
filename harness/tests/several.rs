//! Several dialects at once: each has its own target, reports and exit code, and nothing of one gets into another.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::Path;

use process::{Ended, TestbedProcess, run};
use rstest::rstest;
use serde_json::Value;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(list: &Value) -> Vec<String> {
    let mut names: Vec<_> = list.as_array().unwrap().iter().map(|one| one["name"].to_string()).collect();
    names.sort();
    names
}

#[test]
fn dialects_run_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["run", "--dialect", "aso,kuadrant", "--report-dir", "reports"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    for (dialect, foreign) in [("aso", "kuadrant.io"), ("kuadrant", ".azure.com")] {
        let own = dir.path().join("reports").join(dialect);
        let record: Value = serde_json::from_str(&read(&own.join("record.json"))).unwrap();
        assert_eq!(record["target"]["dialect"], dialect);
        assert!(record["scenarios"].as_array().unwrap().iter().all(|one| one["outcome"] == "passed"));
        let listed = run(dir.path(), &["list", "scenarios", "--dialect", dialect, "--format", "json"]);
        assert_eq!(names(&record["scenarios"]), names(&serde_json::from_str(&listed.out).unwrap()));
        let log = read(&own.join("events.jsonl"));
        assert!(log.len() > 100_000 && !log.contains(foreign), "{dialect} has nothing of {foreign}");
        assert!(ended.err.contains(&format!("{dialect}: ")), "{}", ended.err);
    }
}

#[rstest]
#[case::twice(&["run", "--dialect", "aso,aso"], "--dialect names `aso` twice")]
#[case::unknown(&["run", "--dialect", "aso,kuadrantt"], "there is no dialect `kuadrantt`")]
#[case::selection(&["run", "--dialect", "aso,kuadrant", "aso-*"], "a selection is about one dialect")]
#[case::fault(&["run", "--dialect", "aso,kuadrant", "--target", "embedded:takes-over"], "a fault or variant of --target is about one dialect")]
#[case::document(&["run", "--dialect", "aso,kuadrant", "--format", "json"], "the document of --format json is about one dialect")]
#[case::other_verb(&["list", "scenarios", "--dialect", "aso,kuadrant"], "there is room for one dialect")]
#[case::plan(&["plan", "--dialect", "aso,kuadrant"], "there is room for one dialect")]
#[case::testbed(&["testbed", "--dialect", "aso,kuadrant"], "there is room for one dialect")]
#[case::no_cluster(&["run", "--dialect", "gateway-api,aso", "--gateway-class", "a"], "nothing names one for `aso`")]
#[case::no_class(&["run", "--dialect", "aso,gateway-api", "--context", "a"], "nothing says what of it is to be tested")]
#[case::nobodys(&["run", "--dialect", "kuadrant,aso", "--gateway-api-version", "v1.6"], "--gateway-api-version means nothing in the dialect `kuadrant`")]
#[case::nobodys_service(&["run", "--dialect", "kuadrant,aso", "--service", "arn=http://127.0.0.1:1"], "has no service `arn`")]
#[case::nobodys_edition(&["run", "--dialect", "gateway-api,aso", "--edition", "desing"], "has no edition `desing`")]
fn what_is_about_one_dialect_is_refused(#[case] arguments: &[&str], #[case] told: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended: Ended = run(dir.path(), arguments);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains(told), "{}", ended.said());
    assert!(!dir.path().join("gateproof-report").exists());
}

/// A class and releases are Gateway API's, and a service is another's: none stands in the way of the other.
#[test]
fn each_takes_the_options_that_are_its_own() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    let kubeconfig = testbed.kubeconfig.to_str().unwrap();
    let words = ["run", "--dialect", "gateway-api,aso", "--kubeconfig", kubeconfig, "--gateway-class", "nobodys"];
    let own = ["--gateway-api-version", "v1.6", "--ports", "http=80", "--service", "arm=http://127.0.0.1:1"];
    let ended = run(testbed.dir.path(), &[&words[..], &own].concat());
    // Both came to ask the cluster for what they need.
    for part in ["the target has no GatewayClass `nobodys`", "serves no resources.azure.com"] {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
    assert!(!ended.said().contains("means nothing"), "{}", ended.said());
}
