#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::json;

use crate::scenario::expectations::{enumerate, invert};
use crate::scenario::model::*;
use crate::scenario::{Vocabulary, parse};

const HEAD: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  steps:
    - apply:
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {name: route}
          spec: {parentRefs: [\"${gw}\"]}
";

fn read(subject: &str) -> Result<Scenario, Vec<(usize, usize, String)>> {
    let text = format!("{HEAD}    - settle:\n        HTTPRoute/route: {subject}\n");
    match parse("a.yaml", &text, &Vocabulary::builtin()) {
        Ok(mut scenarios) => Ok(scenarios.remove(0)),
        Err(found) => Err(found.into_iter().map(|d| (d.line, d.column, d.message)).collect()),
    }
}

fn subject(text: &str) -> SubjectExpectation {
    let scenario = read(text).unwrap();
    let Verb::Settle(settle) = &scenario.steps[1].verb else { panic!("not a settle") };
    settle.subjects[0].clone()
}

#[rstest]
#[case::value("Warning", FieldTest::Equals(json!("Warning")))]
#[case::number("3", FieldTest::Equals(json!(3)))]
#[case::truth("true", FieldTest::Equals(json!(true)))]
#[case::null("null", FieldTest::Absent)]
#[case::word("absent", FieldTest::Absent)]
#[case::absent("{absent: true}", FieldTest::Absent)]
#[case::that_word("{equals: absent}", FieldTest::Equals(json!("absent")))]
#[case::one_of("{oneOf: [a, b]}", FieldTest::OneOf(vec![json!("a"), json!("b")]))]
#[case::list("{equals: [a]}", FieldTest::Equals(json!(["a"])))]
#[case::not_empty("{notEmpty: true}", FieldTest::NotEmpty)]
#[case::empty("{empty: true}", FieldTest::Empty)]
fn a_value_is_a_test(#[case] text: &str, #[case] expected: FieldTest) {
    let condition = subject(&format!("{{Accepted: {{fields: {{severity: {text}}}}}}}")).conditions["Accepted"].clone();
    assert_eq!(condition.fields["severity"], expected);
    let mirror = subject(&format!("{{mirrors: {{phase: {text}}}}}")).fields[0].clone();
    assert_eq!((mirror.pointer.as_str(), mirror.test), ("/status/phase", expected));
}

#[rstest]
#[case::generation("observedGeneration", "/status/observedGeneration")]
#[case::pointer("/a/b", "/status/a/b")]
#[case::slash("a/b", "/status/a~1b")]
fn a_mirror_is_a_field_of_the_status(#[case] name: &str, #[case] pointer: &str) {
    let mirror = subject(&format!("{{mirrors: {{{name}: current}}}}")).fields[0].clone();
    assert_eq!((mirror.pointer.as_str(), mirror.test), (pointer, FieldTest::Current));
}

#[rstest]
#[case::same("sameAs: /status/phase", FieldTest::SameAs("/status/phase".to_owned()))]
#[case::mentions("mentions: a name", FieldTest::Mentions(json!("a name")))]
fn a_field_may_be_held_against_others(#[case] test: &str, #[case] expected: FieldTest) {
    let field = subject(&format!("{{fields: [{{at: /status/text, {test}}}]}}")).fields[0].clone();
    assert_eq!((field.pointer.as_str(), field.test), ("/status/text", expected));
    let found = read(&format!("{{mirrors: {{text: {{{test}}}}}}}")).unwrap_err();
    assert!(found.iter().any(|(_, _, message)| message.starts_with("unknown field of a Value")), "{found:?}");
}

#[test]
fn what_a_field_is_held_against_has_a_place() {
    let found = read("{fields: [{at: /status/text, sameAs: status/phase}]}").unwrap_err();
    assert_eq!(found[0].2, "`status/phase` is not a JSON pointer");
}

#[test]
fn current_is_a_word_of_mirrors_alone() {
    let condition = subject("{Accepted: {fields: {phase: current}}}").conditions["Accepted"].clone();
    assert_eq!(condition.fields["phase"], FieldTest::Equals(json!("current")));
}

#[rstest]
#[case("[A/X, A/X]", &["A/X", "A/X"], false)]
#[case("[]", &[], false)]
#[case("{atLeast: [a.b/C/X]}", &["a.b/C/X"], true)]
fn sub_conditions_are_read(#[case] text: &str, #[case] entries: &[&str], #[case] at_least: bool) {
    let condition = subject(&format!("{{Accepted: {{below: {{errors: {text}}}}}}}")).conditions["Accepted"].clone();
    let below = &condition.below["errors"];
    assert_eq!(below.entries.iter().map(ToString::to_string).collect::<Vec<_>>(), entries);
    assert_eq!(below.at_least, at_least);
}

#[rstest]
#[case("{present: false}", true)]
#[case("{present: true}", false)]
#[case("absent", true)]
fn a_condition_may_have_to_be_absent(#[case] text: &str, #[case] absent: bool) {
    assert_eq!(subject(&format!("{{Accepted: {text}}}")).conditions["Accepted"].absent, absent);
}

/// Every mistake has its place: the line is that of the subject, and the column that of the text given here.
#[rstest]
#[case::reason(
    "{Accepted: {present: false, reason: A}}",
    "{present",
    "an absent condition has neither status nor reason"
)]
#[case::status(
    "{Accepted: {present: false, status: \"True\"}}",
    "{present",
    "an absent condition has neither status nor reason"
)]
#[case::fields("{Accepted: {present: false, fields: {a: b}}}", "fields", "an absent condition has no `fields`")]
#[case::below("{Accepted: {absent: true, below: {a: []}}}", "below", "an absent condition has no `below`")]
#[case::both(
    "{Accepted: {present: false, absent: true}}",
    "present",
    "`present` and `absent` say the same of a condition"
)]
#[case::optional("{Accepted: {present: true, optional: true}}", "optional", "`optional` beside `present` says nothing")]
#[case::placed("{Accepted: {fields: {reason: A}}}", "reason", "`reason` is no further field")]
#[case::generation(
    "{Accepted: {fields: {observedGeneration: 1}}}",
    "observedGeneration",
    "`observedGeneration` is no further field"
)]
#[case::list("{Accepted: {fields: {severity: [A, B]}}}", "[A", "expected a value or a mapping (Value), found a list")]
#[case::no_test(
    "{Accepted: {fields: {severity: {}}}}",
    "{}",
    "Value needs one of equals, oneOf, absent, notEmpty, empty"
)]
#[case::two_tests(
    "{Accepted: {fields: {severity: {equals: a, empty: true}}}}",
    "empty",
    "Value has both `equals` and `empty`"
)]
#[case::unknown_test("{mirrors: {a: {equal: b}}}", "equal", "unknown field of a Value `equal`")]
#[case::negated("{mirrors: {a: {absent: false}}}", "{absent", "`absent: false` says nothing")]
#[case::none_of("{mirrors: {a: {oneOf: []}}}", "[]", "no value can be one of none")]
#[case::no_fields("{Accepted: {fields: {}}}", "{}", "no field is named")]
#[case::no_mirrors("{mirrors: {}}", "{}", "no field is named")]
#[case::no_lists("{Accepted: {below: {}}}", "{}", "no list is named")]
#[case::no_reason("{Accepted: {below: {errors: [A]}}}", "A]", "`A` is not a sub-condition")]
#[case::nothing_at_least("{Accepted: {below: {errors: {atLeast: []}}}}", "[]", "at least nothing is always there")]
#[case::not_a_list(
    "{Accepted: {below: {errors: A/X}}}",
    "A/X",
    "expected a list, each item a string such as Type/Reason or a mapping (Below), found a string"
)]
#[case::twice("{mirrors: {a: b}, fields: [{at: /status/a, empty: true}]}", "{at", "`/status/a` is tested twice")]
fn mistakes_have_their_places(#[case] text: &str, #[case] at: &str, #[case] message: &str) {
    let found = read(text).unwrap_err();
    let column = "        HTTPRoute/route: ".len() + text.find(at).unwrap() + 1;
    let place = (HEAD.lines().count() + 2, column, message);
    assert!(found.iter().any(|(line, column, said)| (*line, *column, said.as_str()) == place), "{found:#?}");
}

#[test]
fn each_has_a_name_and_an_opposite() {
    let scenario = read(
        "{Accepted: {status: \"False\", fields: {severity: Warning, hint: null}, below: {errors: [A/X], warnings: {atLeast: [B/Y]}}}, \
         ResolvedRefs: {present: false}, mirrors: {phase: valid, observedGeneration: current, old: {absent: true}}}",
    )
    .unwrap();
    let all: Vec<String> = enumerate(&scenario).into_iter().map(|e| e.id).collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    steps[1].settle.HTTPRoute/route.parents
    steps[1].settle.HTTPRoute/route.Accepted.status
    steps[1].settle.HTTPRoute/route.Accepted.fields.severity
    steps[1].settle.HTTPRoute/route.Accepted.fields.hint
    steps[1].settle.HTTPRoute/route.Accepted.below.errors
    steps[1].settle.HTTPRoute/route.Accepted.below.warnings
    steps[1].settle.HTTPRoute/route.ResolvedRefs.absent
    steps[1].settle.HTTPRoute/route.fields[/status/phase]
    steps[1].settle.HTTPRoute/route.fields[/status/observedGeneration]
    steps[1].settle.HTTPRoute/route.fields[/status/old]
    ");
    for id in all {
        assert_ne!(invert(&scenario, &id), Some(scenario.clone()), "{id}");
    }
}
