//! Conditions with a grade, in a dialect of their own.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use crate::dialects::Dialect;
use crate::judge::contract::{Contract, ContractState, Rule};
use crate::log::{Body, Change, Elapsed, Event, ObjectKey, Scope};
use crate::scenario::Basis;

const DIALECT: &str = r"
apiVersion: gateproof.dev/v1alpha1
kind: Dialect
metadata: {name: kettles}
spec:
  title: Kettles
  groups: [kettles.example]
  kinds: [{kind: Kettle, plural: kettles}]
  conditions: [Boils]
";

const CONTRACT: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: StatusContract
metadata: {name: kettles}
spec:
  transitionTime: onAnyChange
  messageRequired: false
  forms: {reason: '.', reasonLint: '.', type: '.', time: ':[0-9]{2}Z$'}
  rules:
    grade-fits-status: {level: MUST, clauses: [K-1]}
    reason-fits-grade: {level: MUST, clauses: [K-2]}
    message-explains: {level: MUST, clauses: [K-3]}
    message-silent: {level: MUST, clauses: [K-4]}
    reason-while-deleted: {level: MUST, clauses: [K-5]}
    no-step-back: {level: MUST, clauses: [K-6]}
    said-in-status-alone: {level: MUST, clauses: [K-9]}
    transition-time-form: {level: MUST, clauses: [K-8]}
    reason-listed: {level: MUST, clauses: [K-7]}
    always-present: {level: MUST, clauses: [K-7]}
    transition-time-moves: {level: MUST, clauses: [K-8]}
    transition-time-stays: {level: MUST, clauses: [K-8]}
  conditions:
    kettle:
      Boils:
        presence: always
        reasons: {"True": [Hot]}
        open: ["False"]
        graded:
          by: weight
          values: {"False": [Light, Heavy]}
          reasons: {Light: [Warming, Emptying], Heavy: [NoWater, Broken]}
          closed: [Light]
          explains: [Heavy]
          silent: ["True"]
          whileDeleted: [Emptying]
          never:
            - {after: {status: ["True"]}, comes: {weight: [Light]}}
            - after: {weight: [Heavy]}
              comes: {weight: [Light]}
              unless: {after: {reason: [NoWater]}, comes: {reason: [Warming]}}
  kinds:
    - {kind: Kettle, group: kettles.example, subjects: [{at: object, conditions: kettle}]}
"#;

pub(super) fn contract() -> Contract {
    Contract::of(Arc::new(Dialect::parse(DIALECT).unwrap()), None, CONTRACT).unwrap()
}

/// `Status/Reason`, with `,weight` behind it if there is one, and the message behind a `:`.
fn condition(text: &str) -> Value {
    let (head, message) = text.split_once(':').unwrap_or((text, ""));
    let (head, weight) = head.split_once(',').unwrap_or((head, ""));
    let (status, reason) = head.split_once('/').unwrap();
    let mut condition = json!({"type": "Boils", "status": status, "reason": reason, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    for (field, value) in [("weight", weight), ("message", message)] {
        if !value.is_empty() {
            condition[field] = json!(value);
        }
    }
    condition
}

fn kettle(condition: Value) -> Value {
    json!({"apiVersion": "kettles.example/v1", "kind": "Kettle", "spec": {}, "status": {"conditions": [condition]},
        "metadata": {"name": "k", "namespace": "n", "uid": "u", "generation": 2}})
}

/// The rules that versions break which are seen some seconds apart.
fn broken(versions: Vec<Value>) -> Vec<String> {
    let mut state = ContractState::new(Arc::new(contract()), Basis::default(), String::new());
    for (seq, object) in (0..).zip(versions) {
        let key = ObjectKey::of(&object).unwrap();
        let body = Body::Observed { key, change: Change::Modified, object: Arc::new(object) };
        state.observe(&Event { seq, at: Elapsed(seq * 5_000_000), scope: Scope::Scenario("s".into()), body });
    }
    let mut names: Vec<String> =
        state.breaches().into_iter().map(|(name, _)| name.rsplit('/').next().unwrap().to_owned()).collect();
    names.retain(|name| name != Rule::TransitionTimeMoves.name());
    names
}

fn has(rule: Rule, names: &[String]) -> bool {
    names.iter().any(|name| name == rule.name())
}

#[rstest]
#[case::grade_of_what_is_well(Rule::GradeFitsStatus, "True/Hot,Huge", "True/Hot")]
#[case::grade_of_what_is_unknown(Rule::GradeFitsStatus, "Unknown/Hidden,Heavy:odd", "Unknown/Hidden")]
#[case::no_grade(Rule::GradeFitsStatus, "False/Leaking", "False/Leaking,Heavy:at the spout")]
#[case::other_grade(Rule::GradeFitsStatus, "False/Leaking,Huge:at the spout", "False/Leaking,Heavy:at the spout")]
#[case::reason_of_another_grade(Rule::ReasonFitsGrade, "False/Warming,Heavy:slowly", "False/Warming,Light")]
#[case::reason_of_a_closed_grade(Rule::ReasonFitsGrade, "False/Leaking,Light", "False/Leaking,Heavy:at the spout")]
#[case::no_message(Rule::MessageExplains, "False/NoWater,Heavy", "False/NoWater,Heavy:empty since noon")]
#[case::poor_message(Rule::MessageExplains, "False/NoWater,Heavy:NoWater", "False/Warming,Light")]
#[case::something_to_say(Rule::MessageSilent, "True/Hot:and how", "True/Hot")]
#[case::not_deleted(Rule::ReasonWhileDeleted, "False/Emptying,Light", "False/Warming,Light")]
#[case::other_reason(Rule::ReasonListed, "True/Boiling", "False/Boiling,Heavy:over")]
fn a_version(#[case] rule: Rule, #[case] bad: &str, #[case] good: &str) {
    assert_eq!(broken(vec![kettle(condition(bad))]), [rule.name()]);
    assert_eq!(broken(vec![kettle(condition(good))]), Vec::<String>::new());
}

#[test]
fn what_is_deleted_may_say_so() {
    let mut object = kettle(condition("False/Emptying,Light"));
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(broken(vec![object]), Vec::<String>::new());
}

#[test]
fn a_time_has_its_form() {
    let mut exact = condition("True/Hot");
    exact["lastTransitionTime"] = json!("2026-01-01T00:00:00.25Z");
    assert!(has(Rule::TransitionTimeForm, &broken(vec![kettle(exact)])));
}

/// What is said stands in no annotation, as far as it can be told from other words.
#[rstest]
#[case::all_of_it(Rule::SaidInStatusAlone, "at the spout again", "Leaking: at the spout again", true)]
#[case::something_else(Rule::SaidInStatusAlone, "at the spout again", "at the spout", false)]
#[case::a_few_letters(Rule::SaidInStatusAlone, "spout", "at the spout", false)]
fn words_in_an_annotation(
    #[case] rule: Rule,
    #[case] message: &str,
    #[case] annotation: &str,
    #[case] is_broken: bool,
) {
    let mut object = kettle(condition(&format!("False/Leaking,Heavy:{message}")));
    object["metadata"]["annotations"] = json!({"kettles.example/note": annotation});
    assert_eq!(has(rule, &broken(vec![object])), is_broken);
}

#[rstest]
#[case::back_from_true(&["True/Hot", "False/Warming,Light"], true)]
#[case::back_from_what_is_grave(&["False/Broken,Heavy:in two", "False/Warming,Light"], true)]
#[case::there_and_back(&["False/Warming,Light", "True/Hot", "False/Warming,Light"], true)]
#[case::an_exception(&["False/NoWater,Heavy:empty", "False/Warming,Light", "True/Hot"], false)]
#[case::no_such_exception(&["False/NoWater,Heavy:empty", "False/Emptying,Light"], true)]
#[case::forth(&["False/Warming,Light", "False/Broken,Heavy:in two", "True/Hot"], false)]
#[case::grave_after_true(&["True/Hot", "False/Broken,Heavy:in two"], false)]
fn a_succession(#[case] looks: &[&str], #[case] is_broken: bool) {
    let back = |names: Vec<String>| has(Rule::NoStepBack, &names);
    let versions = looks.iter().map(|look| kettle(condition(look))).collect();
    assert_eq!(back(broken(versions)), is_broken);
    // Of another generation anything may be said.
    let generations = looks.iter().zip(1..).map(|(look, generation)| {
        let mut condition = condition(look);
        condition["observedGeneration"] = json!(generation);
        kettle(condition)
    });
    assert!(!back(broken(generations.collect())));
}

/// With `onAnyChange` the time tells of every field, but not of nothing.
#[rstest]
#[case::grade("False/Leaking,Heavy:a", "False/Leaking,Light:a", true)]
#[case::message("False/Leaking,Heavy:a", "False/Leaking,Heavy:b", true)]
#[case::nothing("False/Leaking,Heavy:a", "False/Leaking,Heavy:a", false)]
fn a_change_of_any_field_moves_the_time(#[case] before: &str, #[case] now: &str, #[case] must_move: bool) {
    let mut later = condition(now);
    later["lastTransitionTime"] = json!("2026-01-01T00:00:05Z");
    let seen = broken(vec![kettle(condition(before)), kettle(later)]);
    assert_eq!(has(Rule::TransitionTimeStays, &seen), !must_move);
    let mut state = ContractState::new(Arc::new(contract()), Basis::default(), String::new());
    for (seq, look) in [before, now].into_iter().enumerate() {
        let (object, seq) = (Arc::new(kettle(condition(look))), seq as u64);
        let body = Body::Observed { key: ObjectKey::of(&object).unwrap(), change: Change::Modified, object };
        state.observe(&Event { seq, at: Elapsed(seq * 5_000_000), scope: Scope::Run, body });
    }
    let moves = format!("contract/Kettle/{}", Rule::TransitionTimeMoves.name());
    assert_eq!(state.breaches().iter().any(|(name, _)| *name == moves), must_move);
}
