//! Every word that the files of a dialect may have stands on the page about them: the readers say themselves which there are.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use regex::Regex;
use rstest::rstest;

use crate::dialects::Dialect;
use crate::judge::contract::{BESIDE, Contract, READ_BY};

const DIALECT: &str = "apiVersion: gateproof.dev/v1alpha1\nkind: Dialect\nmetadata: {name: lamps}\nspec: {title: Lamps, groups: [a.example], kinds: [{kind: Lamp, plural: lamps}], X}\n";
const CONTRACT: &str = "apiVersion: gateproof.dev/v1alpha1\nkind: StatusContract\nmetadata: {name: lamps}\nspec: {X}\n";

/// The words that a reader names in place of one that it does not know: the rest of that line of what it says.
fn named(error: &str) -> Vec<String> {
    let (_, listed) = error.split_once("expected ").unwrap_or_else(|| panic!("{error}"));
    let listed = listed.lines().next().unwrap_or_default().replace('`', "").replace(" or ", ", ");
    let word = Regex::new("^[A-Za-z]+").unwrap();
    let words = listed.trim_start_matches("one of ").split(", ").filter_map(|rest| word.find(rest));
    words.map(|found| found.as_str().to_owned()).collect()
}

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/dialects.md")).unwrap()
}

/// Whether a row of the tables of the page explains a word.
fn explains(page: &str, word: &str) -> bool {
    page.lines().filter(|line| line.starts_with("| `")).any(|row| row.contains(&format!("`{word}`")))
}

#[rstest]
#[case::dialect("xx: 1")]
#[case::kind("kinds: [{xx: 1}]")]
#[case::scope("kinds: [{kind: A, plural: a, scope: xx}]")]
#[case::role("kinds: [{kind: A, plural: a, role: xx}]")]
#[case::conditions("kinds: [{kind: A, plural: a, conditions: xx}]")]
#[case::settles("kinds: [{kind: A, plural: a, settles: xx}]")]
#[case::generation("kinds: [{kind: A, plural: a, generation: xx}]")]
#[case::releases("releases: {xx: 1}")]
#[case::falls_back("fallsBack: {xx: 1}")]
#[case::implied("implied: {xx: 1}")]
fn every_word_of_a_dialect_is_explained(#[case] with: &str) {
    let spec = if with.starts_with("kinds") {
        DIALECT.replace("kinds: [{kind: Lamp, plural: lamps}], X", with)
    } else {
        DIALECT.replace('X', with)
    };
    let error = Dialect::parse(&spec).unwrap_err().to_string();
    hold(&named(&error));
}

#[rstest]
#[case::contract("xx: 1")]
#[case::transition("transitionTime: xx")]
#[case::forms("forms: {xx: 1}")]
#[case::rule("rules: {unique-type: {xx: 1}}")]
#[case::condition("conditions: {a: {B: {xx: 1}}}")]
#[case::presence("conditions: {a: {B: {presence: xx}}}")]
#[case::graded("conditions: {a: {B: {graded: {xx: 1}}}}")]
#[case::succession("conditions: {a: {B: {graded: {never: [{xx: 1}]}}}}")]
#[case::kind("kinds: [{xx: 1}]")]
#[case::subject("kinds: [{kind: A, group: b, subjects: [{xx: 1}]}]")]
#[case::place("kinds: [{kind: A, group: b, subjects: [{at: xx}]}]")]
#[case::sorted("kinds: [{kind: A, group: b, subjects: [], sorted: [{xx: 1}]}]")]
#[case::typed("kinds: [{kind: A, group: b, subjects: [], typed: [{xx: 1}]}]")]
fn every_word_of_a_contract_is_explained(#[case] with: &str) {
    let dialect = Arc::new(Dialect::parse(&DIALECT.replace(", X", "")).unwrap());
    let error = Contract::of(dialect, None, &CONTRACT.replace('X', with)).unwrap_err().to_string();
    hold(&named(&error));
}

/// Which rules read a word, and beside which other one it says something, has a row of its own.
#[test]
fn every_word_that_a_rule_reads_says_so() {
    let page = page();
    let row = |word: &str, rest: String| format!("| `{word}` | {rest} |");
    let rules = READ_BY.iter().map(|(word, rules)| {
        let names: Vec<_> = rules.iter().map(|rule| format!("`{}`", rule.name())).collect();
        row(word, names.join(" or "))
    });
    let beside = BESIDE.iter().map(|(word, beside)| row(word, format!("beside `{beside}`")));
    let missing: Vec<String> = rules.chain(beside).filter(|row| !page.lines().any(|line| line == row)).collect();
    assert!(missing.is_empty(), "docs/dialects.md lacks\n{}", missing.join("\n"));
}

fn hold(words: &[String]) {
    assert!(!words.is_empty());
    let page = page();
    let missing: Vec<&String> = words.iter().filter(|word| !explains(&page, word)).collect();
    assert!(missing.is_empty(), "docs/dialects.md says nothing of {missing:?} in its tables");
}
