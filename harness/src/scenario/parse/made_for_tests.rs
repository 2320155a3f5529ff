#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::json;

use crate::log::Bindings;
use crate::scenario::bind::bind;
use crate::scenario::expectations::{enumerate, invert};
use crate::scenario::model::*;
use crate::scenario::{Vocabulary, parse};

const HEAD: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: []
  gateways: {gw: http}
  steps:
    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: own}, spec: {}}]
    - apply: [{apiVersion: v1, kind: ConfigMap, metadata: {name: map}}]
";

fn read(made: &str) -> Result<Scenario, String> {
    let text = format!("{HEAD}    - made: {made}\n");
    let read = parse("a.yaml", &text, &Vocabulary::builtin());
    read.map(|mut all| all.remove(0)).map_err(|all| {
        // Whatever is wrong stands in the step, and is said where.
        assert!(all.iter().all(|one| one.line == 11 && one.column > 1), "{all:?}");
        all.iter().map(|one| format!("{}\n", one.message)).collect()
    })
}

fn made(text: &str) -> MadeFor {
    match read(text).unwrap().steps[2].verb.clone() {
        Verb::Made(made) => *made,
        other => panic!("{other:?}"),
    }
}

#[test]
fn labels_and_annotations_are_asked_after() {
    let made = made(r#"{for: Gateway/own, labels: {team: blue, old: absent}, annotations: {note: {notEmpty: true}}}"#);
    assert_eq!(made.object.to_string(), "Gateway/own");
    assert_eq!(made.label, "gateway.networking.k8s.io/gateway-name");
    assert_eq!(made.labels["team"], FieldTest::Equals(json!("blue")));
    assert_eq!(made.labels["old"], FieldTest::Absent);
    assert_eq!(made.annotations["note"], FieldTest::NotEmpty);
    assert_eq!((made.some_of_each, made.level), (false, Level::Must));
    assert!(made.kinds.iter().any(|kind| kind.kind == "Service") && made.kinds.len() > 2);
}

#[test]
fn some_kinds_can_be_named() {
    let made = made("{for: Gateway/own, kinds: [Service], labels: {team: blue}, someOfEach: true, level: SHOULD}");
    assert_eq!(made.kinds.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>(), ["Service"]);
    assert_eq!((made.some_of_each, made.level), (true, Level::Should));
}

#[rstest]
#[case::nothing("{for: Gateway/own}", "nothing is asked of what is made")]
#[case::no_label("{for: Gateway/own, labels: {}}", "no label is named")]
#[case::unknown_object("{for: Gateway/other, labels: {a: b}}", "Gateway/other")]
#[case::of_no_maker("{for: ConfigMap/map, labels: {a: b}}", "says of nothing that it is made for a ConfigMap")]
#[case::unknown_kind("{for: Gateway/own, kinds: [Servise], labels: {a: b}}", "Servise")]
#[case::no_kind("{for: Gateway/own, kinds: [], labels: {a: b}}", "no kind is named")]
#[case::kind_twice("{for: Gateway/own, kinds: [Pod, Pod], labels: {a: b}}", "`Pod` is there twice")]
#[case::no_text("{for: Gateway/own, labels: {a: 1}}", "the value of `a` is no text")]
#[case::unknown_key("{for: Gateway/own, labels: {a: b}, more: 1}", "more")]
fn what_says_nothing_is_an_error(#[case] text: &str, #[case] problem: &str) {
    let problems = read(text).unwrap_err();
    assert!(problems.contains(problem), "{problems}");
}

#[test]
fn each_value_is_an_expectation_that_has_an_opposite() {
    let scenario = read("{for: Gateway/own, labels: {a: b, c: absent}, annotations: {d: {oneOf: [e, f]}}}").unwrap();
    let all: Vec<String> = enumerate(&scenario).into_iter().map(|expectation| expectation.id).collect();
    assert_eq!(
        all,
        ["steps[2].made.labels[a]", "steps[2].made.labels[c]", "steps[2].made.annotations[d]"].map(str::to_owned)
    );
    for id in all {
        let inverted = invert(&scenario, &id).unwrap();
        assert_ne!(inverted.steps[2].verb, scenario.steps[2].verb, "{id}");
    }
}

#[test]
fn names_are_bound() {
    let scenario = read(r#"{for: Gateway/own, labels: {a: "${token}"}}"#).unwrap();
    let bindings = Bindings {
        token: "t-1".to_owned(),
        namespaces: [("ns".to_owned(), "gp-ns".to_owned())].into(),
        ..Bindings::default()
    };
    let bound = bind(&scenario, &bindings).unwrap();
    let Verb::Made(made) = &bound.steps[2].verb else { panic!("{bound:?}") };
    assert_eq!(made.object.namespace.as_deref(), Some("gp-ns"));
    assert_eq!(made.labels["a"], FieldTest::Equals(json!("t-1")));
}
