//! Conditions that are asked for, and how writes may end.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn conditions_have_a_short_and_a_long_form() {
    let Verb::Settle(settle) = step(
        "settle: {HTTPRoute/route: {Accepted: True|False/A|B, ResolvedRefs: absent, example.com/Own: {status: [\"True\"], \
         optional: true, reasonLevel: SHOULD, since: \"1.5\", message: {mentions: [a, b], lacks: d, starts: c, level: MUST}}}}",
    )
    .verb
    else {
        panic!("not a settle")
    };
    let conditions = &settle.subjects[0].conditions;
    assert_eq!(conditions["Accepted"].status, ["True", "False"]);
    assert_eq!(conditions["Accepted"].reason, ["A", "B"]);
    assert!(conditions["ResolvedRefs"].absent);
    let own = &conditions["example.com/Own"];
    assert!(own.optional && own.reason_level == Some(Level::Should) && own.bounds.since.is_some());
    let message = own.message.as_ref().unwrap();
    assert_eq!(
        (&message.mentions[..], &message.starts[..]),
        (&["a".to_owned(), "b".to_owned()][..], &["c".to_owned()][..])
    );
    assert_eq!(message.lacks, ["d"]);
}

#[test]
fn a_reason_may_be_any_but_some() {
    let condition = |text: &str| with(&format!("settle: {{HTTPRoute/route: {{Accepted: {text}}}}}"));
    let Verb::Settle(settle) =
        step("settle: {HTTPRoute/route: {Accepted: {status: \"False\", otherThan: [A, B]}}}").verb
    else {
        panic!("not a settle")
    };
    assert_eq!(settle.subjects[0].conditions["Accepted"].other_than, ["A", "B"]);
    let told = problems(&condition("{status: \"False\", reason: C, otherThan: A}"));
    assert_eq!(told[0].1, "`otherThan` beside the reasons that are legal says nothing");
    assert_eq!(problems(&condition("{absent: true, otherThan: A}")).len(), 1);
}

#[test]
fn an_end_may_be_for_one_age() {
    let end = "{settle: {HTTPRoute/route: {Accepted: \"True\"}}, sameAge: true}";
    let step = step(&format!("{{delete: [Service/echo], either: [{end}]}}"));
    assert!(matches!(&step.either[..], [Ending::Settle(Settle { same_age: Some(true), .. }, _)]), "{step:?}");
}

#[test]
fn writes_may_have_several_ends() {
    let step = step(
        "{delete: [Service/echo], either: [{refused: {field: spec}}, {settle: {HTTPRoute/route: {Accepted: \"True\"}}, since: \"1.2\"}]}",
    );
    let [Ending::Refused(refusal, _), Ending::Settle(_, bounds)] = &step.either[..] else { panic!("{step:?}") };
    assert_eq!((refusal.code, refusal.reason.as_str(), refusal.field.as_deref()), (422, "Invalid", Some("spec")));
    assert_eq!(bounds.since.unwrap().to_string(), "v1.2.0");
}

#[test]
fn admission_may_be_all_that_a_write_is_about() {
    let step = step("{patch: {target: HTTPRoute/route, merge: {spec: {hostnames: []}}}, admitted: true}");
    assert_eq!(step.either, [Ending::Admitted]);
}
