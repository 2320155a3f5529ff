#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;
use crate::scenario::{Vocabulary, parse};

/// Files of scenarios, each with its text: `a.yaml: one=1 two=1; b.yaml: three=1`. A file without a colon cannot be read.
fn files(text: &str) -> (BTreeSet<String>, BTreeSet<String>, BTreeMap<String, Written>) {
    let (mut all, mut unreadable, mut scenarios) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    for file in text.split("; ").filter(|file| !file.is_empty()) {
        let (name, held) = file.split_once(':').unwrap_or_else(|| {
            unreadable.insert(file.to_owned());
            (file, "")
        });
        all.insert(name.to_owned());
        for (scenario, digest) in held.split_whitespace().map(|one| one.split_once('=').unwrap()) {
            let written = Written { file: name.to_owned(), digest: digest.to_owned() };
            assert_eq!(scenarios.insert(scenario.to_owned(), written), None);
        }
    }
    (all, unreadable, scenarios)
}

fn look(memory: &mut Memory, text: &str) -> News {
    let (all, unreadable, scenarios) = files(text);
    memory.look(all, &unreadable, scenarios)
}

/// A scenario of this name and text, whatever else it is.
fn scenario(name: &str, digest: &str) -> Scenario {
    let text = include_str!("../../../tests/cli/base.yaml");
    let scenario = parse("case.yaml", text, &Vocabulary::builtin()).unwrap().remove(0);
    Scenario { name: name.to_owned(), digest: digest.to_owned(), ..scenario }
}

const BEFORE: &str = "a.yaml: one=1 two=1; b.yaml: three=1";

#[rstest]
#[case::nothing(BEFORE, "", "", "")]
#[case::edited("a.yaml: one=1 two=2; b.yaml: three=1", "a.yaml", "two", "")]
#[case::moved_within_its_file("a.yaml: two=1 one=1; b.yaml: three=1", "", "", "")]
#[case::new_file("a.yaml: one=1 two=1; b.yaml: three=1; c.yaml: four=1", "c.yaml", "four", "")]
#[case::spoilt("a.yaml; b.yaml: three=1", "", "", "")]
#[case::spoilt_and_another_edited("a.yaml; b.yaml: three=2", "b.yaml", "three", "")]
#[case::deleted("b.yaml: three=1", "", "", "a.yaml is gone, and with it one, two")]
#[case::renamed("c.yaml: one=1 two=1; b.yaml: three=1", "", "", "a.yaml is c.yaml now")]
#[case::renamed_and_edited("c.yaml: one=1 two=2; b.yaml: three=1", "c.yaml", "two", "a.yaml is c.yaml now")]
#[case::renamed_in_part("c.yaml: one=1; b.yaml: three=1", "", "", "a.yaml is c.yaml now")]
#[case::joined("b.yaml: three=1 one=1 two=1", "", "", "a.yaml is b.yaml now")]
#[case::shorter("a.yaml: one=1; b.yaml: three=1", "", "", "a.yaml changed, and no longer has two")]
#[case::renamed_within(
    "a.yaml: one=1 four=1; b.yaml: three=1",
    "a.yaml",
    "four",
    "a.yaml changed, and no longer has two"
)]
#[case::all_gone("", "", "", "a.yaml is gone, and with it one, two|b.yaml is gone, and with it three")]
fn what_changes_is_touched(#[case] after: &str, #[case] changed: &str, #[case] touched: &str, #[case] lines: &str) {
    let mut memory = Memory::default();
    assert_eq!(look(&mut memory, BEFORE).lines, Vec::<String>::new(), "nothing is gone of what is seen first");
    memory.ran(files(BEFORE).2);
    let news = look(&mut memory, after);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(news.changed, words(changed));
    assert_eq!(news.lines.join("|"), lines);
    let now = files(after).2;
    let found: BTreeSet<String> = now
        .iter()
        .filter(|(name, one)| memory.is_touched(&scenario(name, &one.digest)))
        .map(|(n, _)| n.clone())
        .collect();
    assert_eq!(found, words(touched));
}

#[rstest]
// What was spoilt and is as it was has been run.
#[case::mended("a.yaml; b.yaml: three=1", BEFORE, "")]
#[case::mended_otherwise("a.yaml; b.yaml: three=1", "a.yaml: one=2 two=1; b.yaml: three=1", "one")]
#[case::back("b.yaml: three=1", BEFORE, "one two")]
fn what_comes_back(#[case] meanwhile: &str, #[case] after: &str, #[case] touched: &str) {
    let mut memory = Memory::default();
    look(&mut memory, BEFORE);
    memory.ran(files(BEFORE).2);
    look(&mut memory, meanwhile);
    assert_eq!(look(&mut memory, after).lines, Vec::<String>::new());
    let found: Vec<String> = files(after)
        .2
        .into_iter()
        .filter(|(n, one)| memory.is_touched(&scenario(n, &one.digest)))
        .map(|(n, _)| n)
        .collect();
    assert_eq!(found.join(" "), touched);
}

#[test]
fn a_spoilt_file_that_goes_is_told_with_what_it_had() {
    let mut memory = Memory::default();
    look(&mut memory, BEFORE);
    look(&mut memory, "a.yaml; b.yaml: three=1");
    assert_eq!(look(&mut memory, "b.yaml: three=1").lines, ["a.yaml is gone, and with it one, two"]);
    // One that never could be read, too.
    look(&mut memory, "b.yaml: three=1; c.yaml");
    assert_eq!(look(&mut memory, "b.yaml: three=1").lines, ["c.yaml is gone"]);
}

#[test]
fn what_did_not_come_to_its_end_stays_touched() {
    let mut memory = Memory::default();
    look(&mut memory, BEFORE);
    look(&mut memory, BEFORE);
    assert!(memory.is_touched(&scenario("one", "1")));
    memory.ran(files(BEFORE).2);
    assert!(!memory.is_touched(&scenario("one", "1")));
    memory.forget();
    assert!(memory.is_touched(&scenario("one", "1")));
}

#[test]
fn a_problem_is_told_once_until_it_comes_back() {
    let problems = |text: &str| parse("case.yaml", text, &Vocabulary::builtin()).unwrap_err();
    let (one, other) = (problems("kind: Scenari\n"), problems("spec: [\n"));
    let mut memory = Memory::default();
    assert_eq!(memory.untold(one.clone()).len(), one.len());
    assert_eq!(memory.untold(one.clone()).len(), 0);
    assert_eq!(memory.untold([one.clone(), other.clone()].concat()).len(), other.len());
    assert_eq!(memory.untold(Vec::new()).len(), 0);
    assert_eq!(memory.untold(one.clone()).len(), one.len());
}

#[rstest]
#[case::one(&["a"], "a")]
#[case::three(&["a", "b", "c"], "a, b, c")]
#[case::many(&["a", "b", "c", "d", "e"], "a, b, c and 2 more")]
fn many_names_are_counted(#[case] names: &[&str], #[case] expected: &str) {
    assert_eq!(some(names.iter().copied()), expected);
}
