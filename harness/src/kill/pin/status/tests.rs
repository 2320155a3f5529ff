#![allow(clippy::unwrap_used)]

use rstest::rstest;

use super::*;
use crate::scenario::BelowExpectation;

fn route() -> (Value, Value) {
    let object = json!({
        "kind": "HTTPRoute",
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
    let mut other = entry("two");
    other["controllerName"] = json!("another/one");
    (object, json!({"parents": [entry("one"), entry("two"), other]}))
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
#[case::one_parent(Holder::Parent(json!({"name": "two"}), None), Aspect::Reason, &["/parents/1/conditions/0/reason"])]
#[case::gone(Holder::Own, Aspect::Present, &["/parents/0/conditions/0"])]
#[case::of_another(Holder::Parent(json!({"name": "two"}), Some("another/one".to_owned())), Aspect::Reason, &["/parents/2/conditions/0/reason"])]
#[case::nobody(Holder::Parent(json!({"name": "three"}), None), Aspect::Status, &[])]
fn exactly_one_value_of_a_condition_is_wrong(#[case] holder: Holder, #[case] aspect: Aspect, #[case] at: &[&str]) {
    let (object, before) = route();
    let mut after = before.clone();
    condition(&holder, "Accepted", &accepted(), aspect)(&object, &mut after);
    assert_eq!(differences(&before, &after), at);
}

fn further(test: FieldTest, at_least: bool) -> ConditionExpectation {
    let entries = vec![SubCondition { type_: "A".to_owned(), reason: "X".to_owned() }];
    ConditionExpectation {
        fields: [("severity".to_owned(), test)].into_iter().collect(),
        below: [("errors".to_owned(), BelowExpectation { entries, at_least })].into_iter().collect(),
        ..accepted()
    }
}

#[rstest]
#[case::value(FieldTest::Equals(json!("Info")), false, Aspect::Field("severity".to_owned()), "/severity")]
#[case::gone(FieldTest::NotEmpty, false, Aspect::Field("severity".to_owned()), "/severity")]
#[case::one_too_many(FieldTest::NotEmpty, false, Aspect::Below("errors".to_owned()), "/errors/1")]
#[case::gone_too(FieldTest::NotEmpty, true, Aspect::Below("errors".to_owned()), "/errors/0")]
fn what_is_further_of_a_condition_is_made_wrong_alone(
    #[case] test: FieldTest,
    #[case] at_least: bool,
    #[case] aspect: Aspect,
    #[case] at: &str,
) {
    let (object, mut before) = route();
    let condition_before = &mut before["parents"][0]["conditions"][0];
    condition_before["severity"] = json!("Info");
    condition_before["errors"] = json!([{"type": "A", "reason": "X"}]);
    let mut after = before.clone();
    condition(&Holder::Own, "Accepted", &further(test, at_least), aspect)(&object, &mut after);
    assert_eq!(differences(&before, &after), [format!("/parents/0/conditions/0{at}")]);
}

#[test]
fn what_must_never_be_is_written_whole() {
    let (object, mut status) = route();
    let subject = SubjectExpectation {
        subject: crate::scenario::ObjectRef {
            kind: "HTTPRoute".to_owned(),
            namespace: Some("ns".to_owned()),
            name: "route".to_owned(),
            pool: false,
        },
        standing: crate::dialects::Standing::Parents,
        conditions: [("Accepted".to_owned(), further(FieldTest::Equals(json!("Error")), false))].into_iter().collect(),
        parents: Parents::Every,
        listeners: Default::default(),
        fields: vec![crate::scenario::FieldExpectation {
            pointer: "/status/phase".to_owned(),
            test: FieldTest::Equals(json!("lost")),
            level: crate::scenario::Level::Must,
        }],
        place: Default::default(),
    };
    never(&subject)(&object, &mut status);
    let written = &status["parents"][0]["conditions"][0];
    assert_eq!((&written["severity"], &written["errors"][0]["reason"]), (&json!("Error"), &json!("X")));
    assert_eq!(status["phase"], "lost");
}

#[rstest]
#[case::too_many(parents(&Parents::Every), 4)]
#[case::one_too_many(parent(&json!({"name": "three"}), None, true), 4)]
#[case::there_already(parent(&json!({"name": "two"}), None, true), 3)]
#[case::too_few(parent(&json!({"name": "two"}), None, false), 2)]
fn entries_are_added_and_taken_away(#[case] edit: StatusEdit, #[case] count: usize) {
    let (object, mut status) = route();
    edit(&object, &mut status);
    assert_eq!(status["parents"].as_array().unwrap().len(), count);
    let once = status.clone();
    edit(&object, &mut status);
    assert_eq!(status, once, "a second time changes something");
}

/// An entry that ought not to be there says all that one has to say: nothing else is wrong with it.
#[test]
fn an_entry_too_many_lacks_nothing() {
    let (object, mut status) = (route().0, json!({}));
    parents(&Parents::Absent)(&object, &mut status);
    let conditions = status["parents"][0]["conditions"].as_array().unwrap();
    let told: Vec<_> =
        conditions.iter().map(|one| [&one["type"], &one["reason"]].map(|it| it.as_str().unwrap())).collect();
    assert_eq!(told, [["Accepted", "Accepted"], ["ResolvedRefs", "ResolvedRefs"]]);
}
