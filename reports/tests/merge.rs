//! Parts of a run are one run if all of them are there, each once, and of the same.
#![allow(clippy::unwrap_used)]

mod support;

use gateproof_report::known::{KnownFailure, KnownFailureRecord, KnownState};
use gateproof_report::merge::{MergeError, merge};
use gateproof_report::record::{
    Breach, ContractRecord, Digests, LeftoverRecord, Outcome, RunRecord, Severity, ShardRecord,
};
use rstest::rstest;
use support::{record, scenario};

/// A part of a run of `a` to `d`, with these scenarios.
fn part(part: usize, parts: usize, names: &[&str]) -> RunRecord {
    let scenarios = names.iter().map(|name| scenario(name, &["Gateway"], Outcome::Passed)).collect();
    let manifests = names.iter().map(|name| ((*name).to_owned(), format!("of {name}"))).collect();
    RunRecord {
        digests: Some(Digests {
            suite: "s".to_owned(),
            manifests,
            target: "t".to_owned(),
            environment: "e".to_owned(),
        }),
        shard: Some(ShardRecord { part, parts, selected: 4, selection: "abcd".to_owned(), left_out: Vec::new() }),
        ..record(scenarios)
    }
}

fn named(records: Vec<RunRecord>) -> Vec<(String, RunRecord)> {
    records.into_iter().enumerate().map(|(index, record)| (format!("dir-{}", index + 1), record)).collect()
}

fn two() -> Vec<RunRecord> {
    vec![part(1, 2, &["a", "c"]), part(2, 2, &["b", "d"])]
}

fn refused(records: Vec<RunRecord>) -> String {
    let errors = merge(&named(records)).unwrap_err();
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn together_they_are_the_whole() {
    let whole = merge(&named(two())).unwrap();
    let names: Vec<&str> = whole.scenarios.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!((whole.shard, whole.digests.unwrap().manifests.len()), (None, 4));
    let mut turned = two();
    turned.reverse();
    assert_eq!(merge(&named(turned)).unwrap(), merge(&named(two())).unwrap());
}

/// Repeats are told in the order of their numbers, and counted as one scenario.
#[test]
fn repeats_stay_together() {
    let records = vec![part(1, 2, &["a", "a#2", "a#10", "c"]), part(2, 2, &["b", "b#2", "d"])];
    let whole = merge(&named(records)).unwrap();
    let names: Vec<&str> = whole.scenarios.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "a#2", "a#10", "b", "b#2", "c", "d"]);
}

#[test]
fn a_whole_run_is_its_only_part() {
    let whole = merge(&named(vec![part(1, 1, &["a", "b", "c", "d"])])).unwrap();
    assert_eq!(whole.scenarios.len(), 4);
}

#[rstest]
#[case::nothing(vec![], "there is no part to put together")]
#[case::missing(vec![part(1, 3, &["a"]), part(3, 3, &["b"])], "part 2/3 is missing")]
#[case::several_missing(vec![part(2, 4, &["a"])], "parts 1/4, 3/4, 4/4 are missing")]
#[case::doubled(vec![part(1, 2, &["a", "c"]), part(1, 2, &["a", "c"]), part(2, 2, &["b", "d"])], "part 1/2 is there twice: dir-1 and dir-2")]
#[case::doubled_far_apart(vec![part(1, 2, &["a", "c"]), part(2, 2, &["b", "d"]), part(1, 2, &["a", "c"])], "part 1/2 is there twice: dir-1 and dir-3")]
#[case::no_part(vec![record(vec![]), part(1, 1, &["a"])], "dir-1 is no part of a run: it was not run with --shard")]
#[case::of_another_number(vec![part(1, 2, &["a"]), part(2, 3, &["b"])], "dir-2 is no part of the run that dir-1 is of: the number of parts is 3, not 2")]
#[case::cut(vec![part(1, 2, &["a"]), part(2, 2, &["b", "d"])], "of 4 scenarios that were selected the parts have 3")]
#[case::same_scenarios(vec![part(1, 2, &["a", "b"]), part(2, 2, &["b", "a"])], "of 4 scenarios that were selected the parts have 2")]
#[case::too_many(vec![part(1, 2, &["a", "c", "e"]), part(2, 2, &["b", "d"])], "of 4 scenarios that were selected the parts have 5")]
fn what_is_not_all_of_one_run_is_told(#[case] records: Vec<RunRecord>, #[case] expected: &str) {
    assert_eq!(refused(records), expected);
}

/// Spoils the second of two parts.
type Spoil = fn(&mut RunRecord);

#[test]
fn a_part_of_another_run_is_told() {
    let table: [(Spoil, &str); 11] = [
        (|record| record.target.name = "embedded:deaf".to_owned(), "its target is embedded:deaf, not embedded"),
        (
            |record| record.target.features.clear(),
            "the target is of another kind or release, or held to other features",
        ),
        (
            |record| record.arguments = vec!["--timing".to_owned(), "real".to_owned()],
            "the arguments of its run is --timing real, not --target embedded:deaf",
        ),
        (|record| record.arguments.clear(), "the arguments of its run is none, not --target embedded:deaf"),
        (|record| record.producer = "gateproof 9".to_owned(), "its gateproof is gateproof 9, not gateproof 0.1.0"),
        (|record| record.digests.as_mut().unwrap().suite.push('x'), "it was judged by another suite"),
        (
            |record| record.shard.as_mut().unwrap().selection.push('x'),
            "other scenarios were selected, or their manifests are others",
        ),
        (|record| record.digests.as_mut().unwrap().target.push('x'), "the target said something else of itself"),
        (
            |record| record.digests.as_mut().unwrap().environment.push('x'),
            "it was run otherwise, such as with other limits or repeats",
        ),
        (|record| record.digests = None, "it was judged by another suite"),
        (|record| record.known_failures = vec![known(&[], &[])], "its file of known failures is another"),
    ];
    for (spoil, expected) in table {
        let mut records = two();
        spoil(&mut records[1]);
        assert_eq!(refused(records), format!("dir-2 is no part of the run that dir-1 is of: {expected}"));
    }
}

#[test]
fn times_are_those_of_all() {
    let mut records = two();
    records[0].date = "2026-11-20T10:00:30Z".to_owned();
    records[0].duration_ms = 5_000;
    records[1].date = "2026-11-20T10:00:00Z".to_owned();
    records[1].duration_ms = 20_000;
    let whole = merge(&named(records.clone())).unwrap();
    assert_eq!((whole.date.as_str(), whole.duration_ms), ("2026-11-20T10:00:00Z", 35_000));
    records[1].date = "yesterday".to_owned();
    assert_eq!(merge(&named(records)).unwrap().duration_ms, 20_000);
}

#[test]
fn what_is_left_behind_and_broken_off_is_so_in_the_whole() {
    let mut records = two();
    records[1].interrupted = true;
    records[1].leftovers = vec![LeftoverRecord { object: "Gateway/a".to_owned(), diagnosis: "held".to_owned() }];
    records[0].outside_profiles = vec!["c".to_owned()];
    records[1].outside_profiles = vec!["b".to_owned()];
    // Options of a part would run that part again.
    records[0].options_file = Some("dir-1/options.yaml".to_owned());
    let whole = merge(&named(records)).unwrap();
    assert!(whole.interrupted && whole.options_file.is_none());
    assert_eq!((whole.leftovers.len(), whole.outside_profiles), (1, vec!["b".to_owned(), "c".to_owned()]));
}

fn rule(objects: u64, breaches: &[&str], known: Option<&str>) -> ContractRecord {
    let breach = |scenario: &&str| Breach {
        scenario: (*scenario).to_owned(),
        object: String::new(),
        path: String::new(),
        seen: String::new(),
        seq: 0,
    };
    ContractRecord {
        name: "contract/HTTPRoute/x".to_owned(),
        clauses: vec![],
        severity: Severity::Failure,
        objects,
        known: known.map(str::to_owned),
        breaches: breaches.iter().map(breach).collect(),
    }
}

#[rstest]
#[case::held(rule(2, &[], None), rule(3, &[], None), 0, None)]
#[case::broken_in_one(rule(2, &["a"], None), rule(3, &[], None), 1, None)]
#[case::known_in_the_one_that_breaks_it(rule(2, &["a"], Some("why")), rule(3, &[], None), 1, Some("why"))]
#[case::known_in_the_other(rule(2, &[], None), rule(3, &["b"], Some("why")), 1, Some("why"))]
#[case::known_in_both(rule(2, &["a"], Some("why")), rule(3, &["b"], Some("why")), 2, Some("why"))]
#[case::for_two_reasons(rule(2, &["a"], Some("why")), rule(3, &["b"], Some("so")), 2, Some("why; so"))]
#[case::known_in_one_of_two(rule(2, &["a"], Some("why")), rule(3, &["b"], None), 2, None)]
fn rules_are_held_in_all_parts(
    #[case] one: ContractRecord,
    #[case] other: ContractRecord,
    #[case] breaches: usize,
    #[case] known: Option<&str>,
) {
    let mut records = two();
    (records[0].contract, records[1].contract) = (vec![one], vec![other]);
    let whole = merge(&named(records)).unwrap();
    let [rule] = &whole.contract[..] else { panic!("{:?}", whole.contract) };
    assert_eq!((rule.objects, rule.breaches.len(), rule.known.as_deref()), (5, breaches, known));
}

fn known(seen: &[&str], passed: &[&str]) -> KnownFailureRecord {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let entry = KnownFailure {
        scenario: Some("*".to_owned()),
        expectation: None,
        contract: None,
        reason: "because".to_owned(),
        expires: "2027-01-31".to_owned(),
        place: "known.yaml:1".to_owned(),
    };
    let state = KnownState::of(&entry, "2026-11-20", &words(seen), &words(passed));
    KnownFailureRecord { entry, state, seen: words(seen), passed: words(passed) }
}

#[rstest]
#[case::nowhere(known(&[], &[]), known(&[], &[]), known(&[], &[]))]
#[case::in_one(known(&["a"], &[]), known(&[], &[]), known(&["a"], &[]))]
#[case::in_both(known(&["c"], &[]), known(&["b"], &[]), known(&["b", "c"], &[]))]
#[case::passed_in_one(known(&["a"], &[]), known(&[], &["b"]), known(&["a"], &["b"]))]
#[case::a_rule_that_one_part_does_not_break(known(&["contract/x"], &[]), known(&[], &["contract/x"]), known(&["contract/x"], &[]))]
fn an_entry_became_what_it_did_in_all_parts(
    #[case] one: KnownFailureRecord,
    #[case] other: KnownFailureRecord,
    #[case] expected: KnownFailureRecord,
) {
    let mut records = two();
    (records[0].known_failures, records[1].known_failures) = (vec![one], vec![other]);
    assert_eq!(merge(&named(records)).unwrap().known_failures, [expected]);
}

/// The day of the whole is that of its first part.
#[test]
fn an_entry_whose_time_is_over_is_so_in_the_whole() {
    let mut over = known(&["a"], &[]);
    over.entry.expires = "2026-11-19".to_owned();
    let mut records = two();
    (records[0].known_failures, records[1].known_failures) = (vec![over.clone()], vec![over]);
    assert_eq!(merge(&named(records)).unwrap().known_failures[0].state, KnownState::Expired);
}

#[test]
fn every_error_is_told_at_once() {
    let records = vec![part(1, 4, &["a"]), part(1, 4, &["a"]), part(3, 4, &["b"])];
    let errors = merge(&named(records)).unwrap_err();
    assert!(matches!(&errors[..], [MergeError::Doubled { .. }, MergeError::Missing { .. }]), "{errors:?}");
}
