#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;

#[rstest]
#[case("steps[4].settle.HTTPRoute/route.ResolvedRefs.reason", "settle HTTPRoute ResolvedRefs.reason")]
#[case("steps[12].settle.HTTPRoute/route.example.parents", "settle HTTPRoute example.parents")]
#[case("steps[2].probe.status", "probe status")]
#[case("steps[2].probe", "probe")]
#[case("steps[2].probe.headers.x/y.z", "probe headers.x/y.z")]
#[case("something else", "something else")]
fn an_expectation_without_names(#[case] expectation: &str, #[case] expected: &str) {
    assert_eq!(kind(expectation), expected);
}

#[rstest]
#[case(
    "condition of HTTPRoute/route for Gateway gp-mf7syz-pool/http is",
    "condition of HTTPRoute/route for Gateway NAMESPACE/http is"
)]
#[case("observedGeneration 1 (\"All\")", "observedGeneration N (\"All\")")]
#[case("status 503 after 4012 ms", "status 503 after N ms")]
#[case("status 503, not 200", "status 503, not 200")]
#[case("it came after 12.5s.", "it came after N.")]
#[case("connect to 127.0.0.1:8080: refused", "connect to ADDRESS: refused")]
#[case("host mf7syz-12.gateproof.test", "host HOST")]
#[case("gpu gpx-1", "gpu gpx-1")]
#[case("uid 37a7c35e-7717-4ead-a26f-a581d5a1b2c3", "uid ID")]
#[case("", "")]
fn a_text_without_names_of_the_run(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(plain(text), expected);
}

fn failed(name: &str, outcome: Outcome, clauses: &[&str], stage: &str, seen: &str) -> ScenarioRecord {
    let finding = Finding {
        expectation: format!("steps[1].settle.HTTPRoute/{name}.Accepted.status"),
        severity: Severity::Failure,
        clauses: clauses.iter().map(|clause| (*clause).to_owned()).collect(),
        line: 1,
        stage: stage.to_owned(),
        expected: "Accepted is True".to_owned(),
        seen: seen.to_owned(),
        late: false,
        consequence: false,
        at_ms: 1,
    };
    ScenarioRecord {
        name: name.to_owned(),
        suite: "".into(),
        file: "".into(),
        summary: "".into(),
        features: [].into(),
        proves: [].into(),
        outcome,
        reason: None,
        findings: vec![finding],
        stages: Vec::new(),
        probes: Vec::new(),
        duration_ms: 1,
        alike: 0,
    }
}

fn groups(scenarios: Vec<ScenarioRecord>) -> Vec<(Vec<String>, Vec<String>)> {
    let text = r#"{"format": 1, "producer": "", "date": "", "target": {"name": "", "embedded": false, "features": []},
        "interrupted": false, "scenarios": [], "contract": [], "durationMs": 0}"#;
    let record = RunRecord { scenarios, ..serde_json::from_str(text).unwrap() };
    causes(&record).into_iter().map(|cause| (cause.scenarios, cause.clauses)).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn one_cause_is_one_entry() {
    let one = |name: &str| failed(name, Outcome::Failed, &["A", name], "observed", "False at 1");
    let other = |name: &str| failed(name, Outcome::Failed, &["A"], "observed", &format!("False at {}", name.len()));
    assert_eq!(groups(vec![one("a"), one("b"), other("c")]), [(names(&["a", "b", "c"]), names(&["A", "a", "b"]))]);
}

#[rstest]
#[case::stage(failed("b", Outcome::Failed, &["A"], "programmed", "False"))]
#[case::clause(failed("b", Outcome::Failed, &["B"], "observed", "False"))]
#[case::seen(failed("b", Outcome::Failed, &["A"], "observed", "Unknown"))]
#[case::outcome(failed("b", Outcome::KnownFailure, &["A"], "observed", "False"))]
fn another_cause_is_another_entry(#[case] other: ScenarioRecord) {
    let found = groups(vec![failed("a", Outcome::Failed, &["A"], "observed", "False"), other]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn what_failed_most_often_comes_first() {
    let one = |name: &str, seen: &str| failed(name, Outcome::Failed, &["A"], "observed", seen);
    let found = groups(vec![one("a", "False"), one("b", "Unknown"), one("c", "Unknown")]);
    assert_eq!(
        found.into_iter().map(|(scenarios, _)| scenarios).collect::<Vec<_>>(),
        [names(&["b", "c"]), names(&["a"])]
    );
}

/// The first has nothing in common with the second, and both have something with the third.
#[test]
fn clauses_in_common_join_whatever_the_order() {
    let one = |name: &str, clauses: &[&str]| failed(name, Outcome::Failed, clauses, "observed", "False");
    let all = [one("a", &["A"]), one("b", &["B"]), one("c", &["A", "B"]), one("d", &["D"])];
    let found = groups(all.to_vec());
    assert_eq!(found, [(names(&["a", "b", "c"]), names(&["A", "B"])), (names(&["d"]), names(&["D"]))]);
}

#[test]
fn what_follows_or_only_should_be_is_no_cause() {
    let mut scenario = failed("a", Outcome::Failed, &["A"], "observed", "the cause");
    let mut first = scenario.findings[0].clone();
    (first.severity, first.seen) = (Severity::Warning, "a SHOULD".to_owned());
    scenario.findings.insert(0, first);
    let mut second = scenario.findings[1].clone();
    (second.consequence, second.seen) = (true, "follows".to_owned());
    scenario.findings.insert(0, second);
    assert_eq!(first_miss(&scenario).unwrap().seen, "the cause");
}

#[test]
fn what_came_to_no_verdict_is_grouped_by_its_reason() {
    let one = |name: &str, step: u32| {
        let mut one = failed(name, Outcome::Inconclusive, &["A"], "observed", "False");
        one.reason = Some(format!("the harness itself was late in steps[{step}]"));
        one
    };
    assert_eq!(groups(vec![one("a", 1), one("b", 2)]), [(names(&["a", "b"]), names(&[]))]);
}
