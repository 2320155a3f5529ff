#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;
use crate::suite::Suite;

/// A part of what was written, and what is told of it.
type Told<'t> = Option<(&'t str, &'t str, &'t str)>;

const NO_SEVERITY: &str = "is no severity of Ready, by the contract of `aso`";
const NO_SUCCESS: &str = "is no reason of Ready while it is True, by the contract of `aso`";
const SLIP: &str = "is all but a reason of Ready in the contract of `aso`";

#[rstest]
#[case::listed("aso", "VirtualNetwork/a: {Ready: False/WaitingForOwner}", None)]
#[case::of_azure("aso", "VirtualNetwork/a: {Ready: False/ResourceNotFound}", None)]
#[case::short_one_of_azure("aso", "VirtualNetwork/a: {Ready: False/Fails}", None)]
#[case::slip(
    "aso",
    "VirtualNetwork/a: {Ready: False/WaitingForOnwer}",
    Some(("False/WaitingForOnwer", SLIP, "did you mean `WaitingForOwner`? If not, list `WaitingForOnwer` in the contract"))
)]
#[case::slip_in_long(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"False\", reason: [Failed, SecretNotFuond]}}",
    Some(("SecretNotFuond", SLIP, "did you mean `SecretNotFound`?"))
)]
#[case::slip_of_an_error(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"False\", reason: SubscriptionMissmatch}}",
    Some(("SubscriptionMissmatch", SLIP, "did you mean `SubscriptionMismatch`?"))
)]
#[case::other_than(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"False\", otherThan: [Failed, Reconcilling]}}",
    Some(("Reconcilling", SLIP, "did you mean `Reconciling`?"))
)]
#[case::success("aso", "VirtualNetwork/a: {Ready: True/Succeeded}", None)]
#[case::closed("aso", "VirtualNetwork/a: {Ready: True/Done}", Some(("True/Done", NO_SUCCESS, "there is Succeeded")))]
#[case::closed_and_near(
    "aso",
    "VirtualNetwork/a: {Ready: True/Suceeded}",
    Some(("True/Suceeded", NO_SUCCESS, "did you mean `Succeeded`?"))
)]
#[case::placeholder("aso", "VirtualNetwork/a: {Ready: {status: \"True\", reason: \"${token}\"}}", None)]
#[case::severity("aso", "VirtualNetwork/a: {Ready: {status: \"False\", fields: {severity: Warning}}}", None)]
#[case::no_severity("aso", "VirtualNetwork/a: {Ready: {status: \"True\", fields: {severity: absent}}}", None)]
#[case::empty_severity("aso", "VirtualNetwork/a: {Ready: {status: \"True\", fields: {severity: {empty: true}}}}", None)]
#[case::misspelt_severity(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"False\", fields: {severity: Warnign}}}",
    Some(("Warnign", NO_SEVERITY, "did you mean `Warning`?"))
)]
#[case::one_of_the_severities(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"False\", fields: {severity: {oneOf: [Info, Eror]}}}}",
    Some(("Eror", NO_SEVERITY, "did you mean `Error`?"))
)]
#[case::equal_to_a_severity(
    "aso",
    "VirtualNetwork/a: {Ready: {fields: {severity: {equals: Grave}}}}",
    Some(("Grave", NO_SEVERITY, "there is Error, Info, Warning"))
)]
#[case::severity_of_success(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"True\", fields: {severity: Info}}}",
    Some(("Info", NO_SEVERITY, "there is none"))
)]
#[case::all_listed("kuadrant", "AuthPolicy/a: {Accepted: False/TargetNotFound, Enforced: True/Enforced}", None)]
#[case::of_another_status(
    "kuadrant",
    "AuthPolicy/a: {Accepted: True/TargetNotFound}",
    Some(("True/TargetNotFound", "is no reason of Accepted while it is True, by the contract of `kuadrant`", "there is Accepted"))
)]
#[case::of_a_policy(
    "kuadrant",
    "AuthPolicy/a: {Enforced: False/Overriden}",
    Some(("False/Overriden", "is no reason of Enforced while it is False, by the contract of `kuadrant`", "did you mean `Overridden`?"))
)]
#[case::of_a_kind_of_another_dialect("kuadrant", "Gateway/a: {Accepted: True/Accepptd}", None)]
#[case::route("gateway-api", "HTTPRoute/a: {Accepted: False/NotAllowedByListeners}", None)]
#[case::of_an_implementation("gateway-api", "HTTPRoute/a: {Accepted: False/QuotaExceeded}", None)]
#[case::slip_of_a_route(
    "gateway-api",
    "HTTPRoute/a: {Accepted: False/NotAllowedByListener}",
    Some(("False/NotAllowedByListener", "is all but a reason of Accepted in the contract of `gateway-api`", "did you mean `NotAllowedByListeners`?"))
)]
#[case::slip_of_a_parent(
    "gateway-api",
    "HTTPRoute/a: {parents: [{ref: Gateway/b, ResolvedRefs: False/BackendNotFuond}]}",
    Some(("False/BackendNotFuond", "is all but a reason of ResolvedRefs", "did you mean `BackendNotFound`?"))
)]
#[case::parent_of_another(
    "gateway-api",
    "HTTPRoute/a: {parents: [{ref: Gateway/b, controller: a.test/b, ResolvedRefs: False/BackendNotFuond}]}",
    None
)]
#[case::slip_of_a_listener(
    "gateway-api",
    "Gateway/a: {listeners: {l: {Conflicted: True/HostnameConflictt}}}",
    Some(("True/HostnameConflictt", "is all but a reason of Conflicted", "did you mean `HostnameConflict`?"))
)]
#[case::no_kind("gateway-api", "\"${gw}\": {Accepted: True/Accepptd}", None)]
#[case::own_type("gateway-api", "Gateway/a: {example.com/Fine: True/Accepptd}", None)]
fn what_conditions_are_to_say_is_listed(#[case] dialect: &str, #[case] subject: &str, #[case] told: Told<'_>) {
    let suite = Suite::named(dialect).unwrap().unwrap();
    let held = |step: &str, indent: usize| {
        let text = format!("spec:\n  steps:\n    - {step}\n{}{subject}\n", " ".repeat(indent));
        let found = said("a.yaml", &text, &suite, &suite.dialect);
        found
            .into_iter()
            .map(|d| (d.line, d.column - indent, d.message, d.help.unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    for (step, indent, line) in
        [("settle:", 8, 4), ("hold:\n        always:", 10, 5), ("either:\n        - settle:", 12, 5)]
    {
        let found = held(step, indent);
        assert_eq!(found.len(), usize::from(told.is_some()), "{step} {found:?}");
        if let Some((written, message, help)) = told {
            let (at, column, said, helped) = &found[0];
            assert_eq!((*at, *column), (line, subject.find(written).unwrap() + 1), "{step}");
            assert!(said.contains(message) && helped.starts_with(help), "{said}: {helped}");
        }
    }
}

/// What must not be may be what no status goes with, but not what there is not.
#[rstest]
#[case::of_another_status("kuadrant", "AuthPolicy/a: {Accepted: True/TargetNotFound}", false)]
#[case::grade_of_another_status(
    "aso",
    "VirtualNetwork/a: {Ready: {status: \"True\", fields: {severity: Info}}}",
    false
)]
#[case::slip("aso", "VirtualNetwork/a: {Ready: False/WaitingForOnwer}", true)]
#[case::severity("aso", "VirtualNetwork/a: {Ready: {fields: {severity: Warnign}}}", true)]
#[case::closed("kuadrant", "AuthPolicy/a: {Accepted: False/TargetNotFond}", true)]
fn what_must_not_be_is_listed_somewhere(#[case] dialect: &str, #[case] subject: &str, #[case] is_told: bool) {
    let suite = Suite::named(dialect).unwrap().unwrap();
    let text = format!("spec:\n  steps:\n    - hold:\n        never:\n          {subject}\n");
    let found = said("a.yaml", &text, &suite, &suite.dialect);
    assert_eq!(found.len(), usize::from(is_told), "{found:?}");
}

/// In whichever edition a target is judged.
#[rstest]
#[case("gateway-api")]
#[case("aso")]
#[case("kuadrant")]
fn what_our_manifests_expect_is_listed(#[case] dialect: &str) {
    let first = Suite::named(dialect).unwrap().unwrap();
    let editions = first.dialect.editions().iter().map(|edition| Some(&**edition));
    for edition in editions.chain([None]) {
        let suite = Suite::named_in(dialect, edition).unwrap().unwrap();
        for (file, text) in suite.manifests().unwrap() {
            let found = said(&file, &text, &suite, &suite.dialect);
            assert!(found.is_empty(), "{edition:?} {found:?}");
        }
    }
}

/// A list is closed only if it is so in each of two, and what one has is legal in both.
#[test]
fn of_two_the_wider_list_counts() {
    let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<String>>();
    let of = |reasons: &[&str], closed: &[&str], values: &[&str]| Saying {
        reasons: [("True".to_owned(), set(reasons))].into(),
        closed: set(closed),
        grades: [("severity".to_owned(), [("True".to_owned(), set(values))].into())].into(),
    };
    let both = of(&["A"], &["True", "False"], &["Low"]).or(of(&["B"], &["True"], &["High"]));
    assert_eq!(both, of(&["A", "B"], &["True"], &["Low", "High"]));
    let ungraded = of(&["A"], &[], &["Low"]).or(Saying::default());
    assert!(ungraded.grades.is_empty());
}
