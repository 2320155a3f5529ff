#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;
use std::sync::Arc;

use rstest::rstest;

use super::*;
use crate::dialects::Dialect;

const DIALECT: &str = "{apiVersion: gateproof.dev/v1alpha1, kind: Dialect, metadata: {name: a}, spec: {title: A, groups: [a.test], kinds: \
                       [{kind: A, plural: as, role: class}], editions: [now, then]}}";

const CONTRACT: &str = "apiVersion: gateproof.dev/v1alpha1\nkind: StatusContract\nmetadata: {name: a}\nspec:\n  transitionTime: \
                        either\n  messageRequired: <message>\n  forms: {reason: '.', reasonLint: '.', type: '.'<forms>}\n  rules: \
                        {<rules>}\n  conditions: {set: {Lit: {presence: <presence><condition>}, B: {presence: optional}}}\n  \
                        kinds:\n    - {kind: A, group: a.test, subjects: [{at: listeners, conditions: \
                        set<subject>}]<kind>}\n  editions: {then: <then>}\n";

/// What stands in the places of which nothing is said.
const OTHERWISE: [(&str, &str); 7] = [
    ("<message>", "false"),
    ("<forms>", ""),
    ("<presence>", "optional"),
    ("<condition>", ""),
    ("<subject>", ""),
    ("<kind>", ""),
    ("<then>", "{}"),
];

/// A contract with these rules that says something in some of its places.
fn contract(rules: &[Rule], says: &[(&str, &str)]) -> Result<Contract, ContractError> {
    let rules: Vec<String> = rules.iter().map(|rule| format!("{}: {{level: MUST}}", rule.name())).collect();
    let places = says.iter().chain(&OTHERWISE);
    let text =
        places.fold(CONTRACT.replace("<rules>", &rules.join(", ")), |text, (place, says)| text.replace(place, says));
    Contract::of(Arc::new(Dialect::parse(DIALECT).unwrap()), Some("now"), &text)
}

/// Each says something with one of its rules, and nothing without all of them, however many others there are.
#[rstest]
#[case("messageRequired", "<message>", "true")]
#[case("forms.controllerName", "<forms>", ", controllerName: '.'")]
#[case("forms.time", "<forms>", ", time: '.'")]
#[case("presence: always", "<presence>", "always")]
#[case("presence: withAccepted", "<presence>", "withAccepted")]
#[case("presence: onlyTrue", "<presence>", "onlyTrue, negative: true")]
#[case("presence: preferablyTrue", "<presence>", "preferablyTrue, negative: true")]
#[case("presence: retired", "<presence>", "retired")]
#[case("negative", "<condition>", ", negative: true")]
#[case("explains", "<condition>", ", explains: true")]
#[case("reasons", "<condition>", ", reasons: {\"True\": [A]}")]
#[case("closed", "<condition>", ", closed: true, reasons: {\"True\": [A]}")]
#[case("askedBy", "<condition>", ", negative: true, askedBy: a")]
#[case("needs", "<condition>", ", needs: [B]")]
#[case("needsWhenTrue", "<condition>", ", needsWhenTrue: [B]")]
#[case("graded.by", "<condition>", ", graded: {by: weight}")]
#[case("graded.reasons", "<condition>", ", graded: {reasons: {a: [A]}}")]
#[case("graded.explains", "<condition>", ", graded: {explains: [a]}")]
#[case("graded.silent", "<condition>", ", graded: {silent: [\"True\"]}")]
#[case("graded.whileDeleted", "<condition>", ", graded: {whileDeleted: [A]}")]
#[case("graded.never", "<condition>", ", graded: {never: [{after: {a: [b]}, comes: {a: [c]}}]}")]
#[case("counts", "<subject>", ", counts: [attached]")]
#[case("onePerListener", "<subject>", ", onePerListener: true")]
#[case("sorted", "<kind>", ", sorted: [{at: /a, by: b}]")]
#[case("typed", "<kind>", ", typed: [{at: /a, never: {A: '.'}}]")]
fn a_word_that_no_rule_reads_is_told(#[case] word: &str, #[case] place: &str, #[case] says: &str) {
    let (_, read_by) = READ_BY.into_iter().find(|(known, _)| *known == word).unwrap();
    let others: Vec<Rule> = Rule::ALL.into_iter().filter(|rule| !read_by.contains(rule)).collect();
    // Words that are read by the same rule may be told first.
    let error = contract(&others, &[(place, says)]).unwrap_err();
    assert!(
        matches!(&error, ContractError::Unread { rules, .. } if rules.iter().all(|rule| read_by.contains(rule))),
        "{error}"
    );
    let told = error.to_string();
    assert!(told.contains(read_by[0].name()) && told.contains("has no effect"), "{told}");
    for rule in read_by {
        // What goes with the word is read, too.
        let beside = [Rule::NegativeOnlyWhileTrue, Rule::ReasonClosed];
        let rules: BTreeSet<Rule> = beside.into_iter().chain([*rule]).collect();
        contract(&Vec::from_iter(rules), &[(place, says)]).unwrap();
    }
}

#[test]
fn each_word_has_its_case() {
    let cases = include_str!("words_tests.rs");
    for (word, rules) in READ_BY {
        assert!(cases.contains(&format!("#[case(\"{word}\", ")), "{word}");
        assert!(!rules.is_empty());
    }
}

#[rstest]
#[case::only_true(
    "<presence>",
    "onlyTrue",
    "`presence: onlyTrue` of the condition `Lit` has no effect without `negative`"
)]
#[case::preferably("<presence>", "preferablyTrue", "has no effect without `negative`")]
#[case::asked_by("<condition>", ", askedBy: a", "`askedBy` of the condition `Lit` has no effect without `negative`")]
#[case::closed("<condition>", ", closed: true", "`closed` of the condition `Lit` has no effect without `reasons`")]
#[case::open("<condition>", ", open: [\"True\"]", "`open` of the condition `Lit` has no effect without `reasons`")]
fn a_word_that_needs_another_is_told(#[case] place: &str, #[case] says: &str, #[case] told: &str) {
    let error = contract(&Rule::ALL, &[(place, says)]).unwrap_err().to_string();
    assert!(error.contains(told), "{error}");
}

/// What an edition alone is held to may be said for all of them.
#[rstest]
#[case::there("{rules: {needs-met: {level: MUST}}}", true)]
#[case::nowhere("{}", false)]
fn a_rule_of_another_edition_reads(#[case] then: &str, #[case] is_read: bool) {
    let read = contract(&[], &[("<condition>", ", needs: [B]"), ("<then>", then)]);
    assert_eq!(read.is_ok(), is_read, "{read:?}");
}

/// Who takes a rule away that the contract refines does not want its word read.
#[test]
fn what_is_refined_is_taken_away_with_its_rule() {
    let text = "apiVersion: gateproof.dev/v1alpha1\nkind: StatusContract\nmetadata: {name: a}\nspec:\n  refines: policies\n  rules: \
                {message-present: null}\n";
    Contract::of(Arc::new(Dialect::parse(DIALECT).unwrap()), None, text).unwrap();
}
