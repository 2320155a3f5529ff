//! Objects that a target makes: without fields until they are there, and once they are gone.

use std::sync::Arc;

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::dialects::Dialect;
use crate::judge::others::Others;
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope};
use crate::scenario::{FieldExpectation, FieldTest, Level, MadeObject, SubjectExpectation};

fn deployment(replicas: i64, extra: Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "proxy", "namespace": NS, "uid": "uid-proxy", "generation": 2},
        "spec": {"replicas": replicas},
    });
    object["status"] = extra;
    object
}

fn asked(pointer: &str, test: FieldTest) -> SubjectExpectation {
    let mut subject = subject(object("Deployment", "proxy"), &[]);
    subject.fields.push(FieldExpectation { pointer: pointer.to_owned(), test, level: Level::Must });
    subject
}

fn judged(expected: SubjectExpectation, versions: &[(Change, Value)]) -> crate::judge::Verdict {
    let mut scenario = scenario(vec![apply(vec![route(&["http"])]), settle(vec![expected])]);
    scenario.made.push(MadeObject { group: "apps".to_owned(), object: object("Deployment", "proxy") });
    let mut play = Play::new(scenario);
    for (index, (change, version)) in versions.iter().enumerate() {
        play = play.at(20 * (index as u64 + 1), seen(*change, version));
    }
    play.run()
}

#[rstest]
#[case::there(&[(Change::Added, 1)], Outcome::Passed)]
#[case::at_last(&[(Change::Added, 0), (Change::Modified, 1)], Outcome::Passed)]
#[case::otherwise(&[(Change::Added, 3)], Outcome::Failed)]
#[case::never(&[], Outcome::Failed)]
#[case::gone(&[(Change::Added, 0), (Change::Deleted, 1)], Outcome::Failed)]
fn what_is_not_there_has_no_fields(#[case] versions: &[(Change, i64)], #[case] outcome: Outcome) {
    let versions: Vec<_> =
        versions.iter().map(|(change, replicas)| (*change, deployment(*replicas, json!({})))).collect();
    let verdict = judged(asked("/spec/replicas", FieldTest::Equals(json!(1))), &versions);
    assert_eq!(verdict.outcome, outcome, "{verdict:?}");
    if outcome == Outcome::Failed {
        let ids: Vec<_> = verdict.findings.iter().map(|finding| finding.expectation.as_str()).collect();
        assert_eq!(ids, ["steps[1].settle.Deployment/ns-1/proxy.fields[/spec/replicas]"]);
    }
}

#[test]
fn that_it_is_not_there_can_be_asked_too() {
    let absent = || asked("/metadata/name", FieldTest::Absent);
    assert_eq!(judged(absent(), &[]).outcome, Outcome::Passed);
    let there = (Change::Added, deployment(1, json!({})));
    assert_eq!(judged(absent(), std::slice::from_ref(&there)).outcome, Outcome::Failed);
    let gone = (Change::Deleted, deployment(1, json!({})));
    assert_eq!(judged(absent(), &[there, gone]).outcome, Outcome::Passed);
}

/// Kinds that no dialect knows say it in one place or another which generation they are about, or nowhere.
#[rstest]
#[case::nowhere(json!({}), Outcome::Passed)]
#[case::at_the_top(json!({"observedGeneration": 2}), Outcome::Passed)]
#[case::at_the_top_of_another(json!({"observedGeneration": 1}), Outcome::Failed)]
fn its_conditions_are_of_its_generation(#[case] mut status: Value, #[case] outcome: Outcome) {
    status["conditions"] = json!([{"type": "Available", "status": "True", "reason": "Enough"}]);
    let expected = subject(object("Deployment", "proxy"), &["Available=True"]);
    let verdict = judged(expected, &[(Change::Added, deployment(1, status))]);
    assert_eq!(verdict.outcome, outcome, "{verdict:?}");
}

/// Of the dialect's own kinds too: what else turns up in a namespace of the scenario is somebody else's.
#[rstest]
#[case::made("child", 0)]
#[case::by_somebody_else("stray", 1)]
fn what_the_target_makes_is_no_interference(#[case] name: &str, #[case] found: usize) {
    let made = MadeObject { group: "gateway.networking.k8s.io".to_owned(), object: object("HTTPRoute", "child") };
    let mut others = Others::of(Dialect::gateway_api());
    others.beside(&[made]);
    others.begin(&bindings());
    let mut route = route(&["http"]);
    route["metadata"]["name"] = json!(name);
    let (key, object) = (ObjectKey::of(&route).unwrap(), Arc::new(route));
    let body = Body::Stirred { key, change: Change::Added, object };
    others.observe(&Event { seq: 0, at: Elapsed(0), scope: Scope::Scenario("test".into()), body });
    assert_eq!(others.interference().len(), found);
}
