//! What is expected of a condition beside status, reason and message.

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::log::Change;
use crate::scenario::{
    BelowExpectation, FieldTest, Hold, HoldFor, Level, Patch, PatchKind, SubCondition, SubjectExpectation, Verb,
};

/// A route whose one condition has these fields besides.
fn version(further: &Value) -> Value {
    let mut version = route_version(1, &["http"], &[("http", GOOD)]);
    let condition = &mut version["status"]["parents"][0]["conditions"][0];
    for (name, value) in further.as_object().unwrap() {
        condition[name] = value.clone();
    }
    version
}

fn asked(severity: FieldTest, errors: Option<(&[&str], bool)>) -> SubjectExpectation {
    let mut subject = route_subject(&["Accepted=True/Accepted"]);
    let condition = &mut subject.conditions[0];
    condition.fields.insert("severity".to_owned(), severity);
    if let Some((entries, at_least)) = errors {
        let entries = entries.iter().filter_map(|text| SubCondition::of(text)).collect();
        condition.below.insert("errors".to_owned(), BelowExpectation { entries, at_least });
    }
    subject
}

fn play(verb: Verb, versions: &[Value]) -> crate::judge::Verdict {
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), verb]));
    for (index, version) in versions.iter().enumerate() {
        let change = if index == 0 { Change::Added } else { Change::Modified };
        play = play.at(20 * (index as u64 + 1), seen(change, version));
    }
    play.run()
}

#[rstest]
#[case::as_asked(json!({"severity": "Info", "errors": [{"type": "A", "reason": "X"}]}), &[])]
#[case::severity(json!({"severity": "Error", "errors": [{"type": "A", "reason": "X"}]}), &["fields.severity"])]
#[case::no_severity(json!({"errors": [{"type": "A", "reason": "X"}]}), &["fields.severity"])]
#[case::another_error(json!({"severity": "Info", "errors": [{"type": "A", "reason": "Y"}]}), &["below.errors"])]
#[case::one_too_many(json!({"severity": "Info", "errors": [{"type": "A", "reason": "X"}, {"type": "B", "reason": "Y"}]}), &["below.errors"])]
#[case::both(json!({}), &["fields.severity", "below.errors"])]
fn what_is_further_must_be_so(#[case] further: Value, #[case] parts: &[&str]) {
    let subject = asked(FieldTest::Equals(json!("Info")), Some((&["A/X"], false)));
    let verdict = play(settle(vec![subject]), &[version(&further)]);
    let found: Vec<&str> =
        verdict.findings.iter().filter_map(|f| f.expectation.split_once("Accepted.")).map(|(_, part)| part).collect();
    assert_eq!(found, parts);
    assert_eq!(verdict.outcome == Outcome::Passed, parts.is_empty(), "{verdict:?}");
}

/// A field that changes is what is waited for to stand still, as a status is.
#[test]
fn what_is_further_has_to_stand_still() {
    let versions: Vec<Value> = (0..4).map(|n| version(&json!({"severity": format!("S{n}")}))).collect();
    let verdict = play(settle(vec![asked(FieldTest::NotEmpty, None)]), &versions);
    let settled = verdict.stages.last().unwrap().settled_ms;
    assert_eq!(verdict.outcome, Outcome::Passed);
    // Since the last version, at 80 ms.
    assert!(settled >= 75 + 150, "{settled}");
}

#[rstest]
#[case::seen("Error", Outcome::Failed)]
#[case::another("Info", Outcome::Passed)]
fn what_is_further_belongs_to_what_must_never_be(#[case] severity: &str, #[case] outcome: Outcome) {
    let never = vec![asked(FieldTest::Equals(json!("Error")), None)];
    let hold = Hold {
        duration: HoldFor::Millis(300),
        never,
        always: Vec::new(),
        unchanged: Vec::new(),
        other_messages: false,
        unchanged_level: Level::Must,
    };
    let verdict = play(Verb::Hold(hold), &[version(&json!({"severity": severity}))]);
    assert_eq!(verdict.outcome, outcome, "{verdict:?}");
}

/// A status that a scenario writes in the name of another component is not the target's to answer for, from then on.
#[rstest]
#[case::as_the_target(false, true)]
#[case::as_another(true, false)]
fn the_status_of_a_component_is_not_held_against_the_contract(#[case] component: bool, #[case] broken: bool) {
    let patch = Verb::Patch(Patch {
        target: object("HTTPRoute", "route"),
        subresource: Some("status".to_owned()),
        kind: PatchKind::Merge,
        patch: json!({"status": {}}),
        component,
    });
    let mut odd = version(&json!({}));
    odd["status"]["parents"][0]["conditions"][1]["status"] = json!("Perhaps");
    let verbs = vec![apply(vec![route(&["http"])]), patch, settle(vec![route_subject(&["Accepted=True"])])];
    let verdict = Play::new(scenario(verbs)).at(20, seen(Change::Added, &odd)).run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    assert_eq!(verdict.contract.iter().any(|(_, breach)| breach.seen.contains("Perhaps")), broken, "{verdict:?}");
}
