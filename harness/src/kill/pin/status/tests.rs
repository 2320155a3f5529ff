#![allow(clippy::unwrap_used)]

use rstest::rstest;

use super::*;

fn route() -> (Value, Value) {
    let object = json!({
        "metadata": {"namespace": "ns", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"parentRefs": [{"name": "one"}, {"name": "two"}]},
    });
    let entry = |name: &str| {
        json!({
            "parentRef": {"name": name},
            "controllerName": CONTROLLER_NAME,
            "conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": 2}],
        })
    };
    (object, json!({"parents": [entry("one"), entry("two")]}))
}

/// The JSON pointers at which two values differ.
fn differences(before: &Value, after: &Value) -> Vec<String> {
    json_patch::diff(before, after).0.iter().map(|operation| operation.path().to_string()).collect()
}

fn accepted() -> ConditionExpectation {
    ConditionExpectation {
        status: vec!["True".to_owned()],
        reason: vec!["Accepted".to_owned()],
        ..ConditionExpectation::default()
    }
}

#[rstest]
#[case::status(Holder::Own, Aspect::Status, &["/parents/0/conditions/0/status"])]
#[case::reason(Holder::Own, Aspect::Reason, &["/parents/0/conditions/0/reason"])]
#[case::one_parent(Holder::Parent(json!({"name": "two"})), Aspect::Reason, &["/parents/1/conditions/0/reason"])]
#[case::gone(Holder::Own, Aspect::Present, &["/parents/0/conditions/0"])]
#[case::nobody(Holder::Parent(json!({"name": "three"})), Aspect::Status, &[])]
fn exactly_one_value_of_a_condition_is_wrong(#[case] holder: Holder, #[case] aspect: Aspect, #[case] at: &[&str]) {
    let (object, before) = route();
    let mut after = before.clone();
    condition(&holder, "Accepted", &accepted(), aspect)(&object, &mut after);
    assert_eq!(differences(&before, &after), at);
}

#[rstest]
#[case::too_many(parents(&Parents::Every), 3)]
#[case::one_too_many(parent(&json!({"name": "three"}), true), 3)]
#[case::there_already(parent(&json!({"name": "two"}), true), 2)]
#[case::too_few(parent(&json!({"name": "two"}), false), 1)]
fn entries_are_added_and_taken_away(#[case] edit: StatusEdit, #[case] count: usize) {
    let (object, mut status) = route();
    edit(&object, &mut status);
    assert_eq!(status["parents"].as_array().unwrap().len(), count);
    let once = status.clone();
    edit(&object, &mut status);
    assert_eq!(status, once, "a second time changes something");
}

#[rstest]
#[case::equal(FieldTest::Equals(json!("a")), json!({"x": "a"}), json!({"x": "tampered.example/tampered"}))]
#[case::not_empty(FieldTest::NotEmpty, json!({"x": [1]}), json!({"x": []}))]
#[case::contains(FieldTest::Contains(json!(1)), json!({"x": [1, 2]}), json!({"x": [2]}))]
#[case::sorted(FieldTest::SortedBy("n".to_owned()), json!({"x": [{"n": 1}, {"n": 2}]}), json!({"x": [{"n": 2}, {"n": 1}]}))]
#[case::empty(FieldTest::Empty, json!({}), json!({"x": "tampered"}))]
fn a_field_is_made_wrong(#[case] test: FieldTest, #[case] mut status: Value, #[case] after: Value) {
    field("/x", &test)(&json!({}), &mut status);
    assert_eq!(status, after);
}
