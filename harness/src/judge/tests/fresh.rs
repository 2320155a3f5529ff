//! Fields of a status that is about an earlier generation.

use std::sync::Arc;

use indexmap::IndexMap;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::{context, object, scenario};
use crate::dialects::{Dialect, Standing};
use crate::judge::expect::{Rules, evaluate};
use crate::judge::history::{Latest, Version};
use crate::log::Elapsed;
use crate::scenario::{ConditionExpectation, FieldExpectation, FieldTest, Level, Parents, Place, SubjectExpectation};

const DIALECT: &str = r"
apiVersion: gateproof.dev/v1alpha1
kind: Dialect
metadata: {name: seals}
spec:
  title: Seals
  groups: [seals.example]
  kinds:
    - {kind: Seal, plural: seals, generation: status}
    - {kind: Stamp, plural: stamps}
    - {kind: Mark, plural: marks, generation: unsaid}
  conditions: [Taken]
";

fn field(pointer: &str, test: FieldTest) -> FieldExpectation {
    FieldExpectation { pointer: pointer.to_owned(), test, level: Level::Must }
}

/// The expectations that an object of generation 2 misses.
fn missed(kind: &str, status: Value, fields: Vec<FieldExpectation>, conditions: &[&str], strict: bool) -> Vec<String> {
    let mut scenario = scenario(Vec::new());
    scenario.dialect = Arc::new(Dialect::parse(DIALECT).unwrap());
    let taken = ConditionExpectation { status: vec!["True".to_owned()], ..ConditionExpectation::default() };
    let expected = SubjectExpectation {
        subject: object(kind, "a"),
        standing: Standing::Object,
        conditions: conditions.iter().map(|type_| ((*type_).to_owned(), taken.clone())).collect(),
        parents: Parents::Every,
        listeners: IndexMap::new(),
        fields,
        place: Place::default(),
    };
    let seen = json!({"apiVersion": "seals.example/v1", "kind": kind,
        "metadata": {"name": "a", "namespace": "ns-1", "uid": "u", "generation": 2}, "status": status});
    let version = Version { seq: 0, at: Elapsed(0), object: Arc::new(seen) };
    let context = context();
    let rules = Rules {
        prefix: "p".to_owned(),
        context: &context,
        scenario: &scenario,
        strict_freshness: strict,
        implies: true,
    };
    let evaluation = evaluate(&expected, Latest::Current(&version), &rules);
    assert_eq!(evaluation.observed(), evaluation.met());
    evaluation.misses.into_iter().map(|miss| miss.expectation.rsplit_once('/').unwrap().1.to_owned()).collect()
}

fn phase() -> FieldExpectation {
    field("/status/phase", FieldTest::Equals(json!("Shut")))
}

fn status(observed: Option<i64>, of_condition: Option<i64>) -> Value {
    let mut taken = json!({"type": "Taken", "status": "True", "reason": "Taken", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    if let Some(observed) = of_condition {
        taken["observedGeneration"] = json!(observed);
    }
    let mut status = json!({"phase": "Shut", "conditions": [taken]});
    if let Some(observed) = observed {
        status["observedGeneration"] = json!(observed);
    }
    status
}

const STALE: &[&str] = &["a.observedGeneration"];

#[rstest]
#[case::current("Seal", status(Some(2), None), &[])]
#[case::earlier("Seal", status(Some(1), None), STALE)]
#[case::ahead("Seal", status(Some(3), None), STALE)]
#[case::unsaid("Seal", status(None, None), STALE)]
#[case::condition_of_this("Stamp", status(None, Some(2)), &[])]
#[case::condition_of_an_earlier("Stamp", status(None, Some(1)), STALE)]
#[case::condition_of_none("Stamp", status(None, None), &[])]
#[case::no_condition("Stamp", json!({"phase": "Shut"}), &[])]
#[case::no_generations("Mark", status(None, Some(1)), &[])]
#[case::of_another_dialect("Deployment", status(Some(1), Some(1)), &[])]
fn a_field_counts_if_the_status_is_about_this_generation(
    #[case] kind: &str,
    #[case] status: Value,
    #[case] parts: &[&str],
) {
    assert_eq!(missed(kind, status.clone(), vec![phase()], &[], true), parts);
    assert_eq!(missed(kind, status, vec![phase()], &[], false), &[] as &[&str], "while it is held, it may be behind");
}

#[rstest]
#[case::absent_before_a_word_is_said(vec![field("/status/phase", FieldTest::Absent)], Value::Null, &[])]
#[case::absent_of_an_earlier(vec![field("/status/x", FieldTest::Absent)], status(Some(1), None), STALE)]
#[case::beside_the_status(vec![field("/metadata/finalizers", FieldTest::Empty)], status(Some(1), None), &[])]
#[case::says_itself(vec![field("/status/observedGeneration", FieldTest::Equals(json!(1)))], status(Some(1), None), &[])]
fn only_what_a_controller_said_can_be_of_an_earlier_generation(
    #[case] fields: Vec<FieldExpectation>,
    #[case] status: Value,
    #[case] parts: &[&str],
) {
    assert_eq!(missed("Seal", status, fields, &[], true), parts);
}

/// It is told once.
#[test]
fn a_condition_that_is_asked_beside_it_says_so_itself() {
    let found = missed("Seal", status(Some(1), None), vec![phase()], &["Taken"], true);
    assert_eq!(found, ["a.Taken.observedGeneration"]);
}
