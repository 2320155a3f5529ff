#![allow(clippy::unwrap_used)]
use gateproof_report::record::{Breach, ContractRecord};
use rstest::rstest;

use super::super::tests::{record, scenario};
use super::*;

const fn fault(name: &'static str, clauses: &'static [&'static str]) -> KnownFault {
    KnownFault { name, seam: "status", summary: "It does.", clauses, reported: &[] }
}

const FAULTS: [KnownFault; 3] = [fault("one", &["X"]), fault("two", &["Y"]), fault("twin", &["Y"])];

fn table() -> ShownBy {
    ShownBy::parse("{one: [a a.1], two: [b b.1], twin: [b b.1]}").unwrap()
}

/// A run under `behaviour` in which these scenarios failed, each at an expectation for a clause, and the rest of a to i passed.
fn under(behaviour: &str, failed: &[(&str, &str, &str)]) -> RunRecord {
    let of = |name: &str| {
        let misses: Vec<(&str, Vec<&str>)> =
            failed.iter().filter(|one| one.0 == name).map(|one| (one.1, vec![one.2])).collect();
        let misses: Vec<(&str, &[&str])> = misses.iter().map(|(at, clauses)| (*at, &clauses[..])).collect();
        scenario(name, &misses)
    };
    let mut run = record(["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(of).to_vec(), vec![]);
    run.target.name = format!("embedded:{behaviour}");
    run
}

#[rstest]
#[case::alone("one", Some("one"))]
#[case::beside_a_variant("two+variant:slow", Some("two"))]
#[case::the_variant_first("variant:slow+two", Some("two"))]
#[case::two_of_them("one+two", None)]
#[case::none("variant:slow", None)]
#[case::unknown("three", None)]
fn a_run_says_what_it_was_under(#[case] behaviour: &str, #[case] name: Option<&str>) {
    assert_eq!(cause(&under(behaviour, &[]), &FAULTS).map(|fault| fault.name), name);
}

#[rstest]
#[case::right(&["one"], &[("a", "a.1", "X")], Said::Right)]
#[case::right_among_what_looks_the_same(&["twin"], &[("b", "b.1", "Y")], Said::Right)]
#[case::both(&["one", "two"], &[("a", "a.1", "X"), ("b", "b.1", "Y")], Said::Right)]
#[case::one_of_two(&["one", "two"], &[("a", "a.1", "X")], Said::Part)]
#[case::another_beside_it(&["one"], &[("a", "a.1", "X"), ("b", "b.1", "Y")], Said::Beside)]
#[case::another(&["one"], &[("b", "b.1", "Y")], Said::Wrong)]
#[case::anything_where_the_cause_is_unknown(&[], &[("b", "b.1", "Y")], Said::Wrong)]
#[case::nothing(&["one"], &[("c", "c.1", "Q")], Said::Nothing)]
fn what_was_said_is_held_against_the_causes(
    #[case] causes: &[&str],
    #[case] failed: &[(&str, &str, &str)],
    #[case] expected: Said,
) {
    let found = Diagnosis::of(&under("one", failed), &FAULTS, &table()).unwrap();
    let causes: Vec<BTreeSet<&str>> = causes.iter().map(|cause| BTreeSet::from([*cause])).collect();
    assert_eq!(said(&found, &causes.iter().collect::<Vec<_>>()), expected, "{found:?}");
}

#[test]
fn a_cut_takes_a_third_of_the_features_and_of_the_scenarios_with_what_they_broke() {
    let mut run = under("one", &[]);
    for (number, one) in run.scenarios.iter_mut().enumerate() {
        one.features = ["All".to_owned()].into_iter().chain((number < 3).then(|| format!("F{number}"))).collect();
    }
    let breach = |name: &str| Breach {
        scenario: name.to_owned(),
        object: String::new(),
        path: String::new(),
        seen: String::new(),
        seq: 1,
    };
    let rule = ContractRecord {
        name: "contract/Gateway/x".to_owned(),
        clauses: vec![],
        severity: Severity::Failure,
        objects: 9,
        known: None,
        breaches: run.scenarios.iter().map(|one| breach(&one.name)).collect(),
    };
    run.contract.push(rule);
    let mut draw = ChaCha8Rng::seed_from_u64(1);
    let (mut seen, mut bare) = (BTreeSet::new(), 0);
    for _ in 0..50 {
        let left = cut(&run, &mut draw);
        // Of nine three go; of the features of the rest one in four is not claimed, be it that of all.
        assert_eq!(left.scenarios.len(), 6);
        let ran = left.scenarios.iter().filter(|one| one.outcome != Outcome::NotSupported);
        let names: Vec<&str> = ran.map(|one| one.name.as_str()).collect();
        assert!(matches!(names.len(), 0 | 5 | 6), "{names:?}");
        let breached: Vec<&str> = left.contract[0].breaches.iter().map(|one| one.scenario.as_str()).collect();
        assert_eq!(breached, names);
        bare += usize::from(names.is_empty());
        seen.insert(names.join(" "));
    }
    assert!(seen.len() > 10, "{} cuts", seen.len());
    assert!(bare > 0, "none was without the feature that all need");
}

#[rstest]
#[case::the_earlier(("steps[2].x", "X"), ("steps[10].y", "Y"), &["steps[2].x"])]
#[case::whichever_run_it_is_in(("steps[10].x", "X"), ("steps[2].y", "Y"), &["steps[2].y"])]
#[case::both_of_one_step(("steps[2].x", "X"), ("steps[2].y", "Y"), &["steps[2].x", "steps[2].y"])]
fn of_two_runs_at_once_that_failure_is_seen_which_comes_first(
    #[case] one: (&str, &str),
    #[case] other: (&str, &str),
    #[case] expected: &[&str],
) {
    let both = at_once(
        &under("one", &[("a", one.0, one.1), ("b", "steps[0].z", "Z")]),
        &under("two", &[("a", other.0, other.1), ("c", "steps[0].z", "Z")]),
    );
    let failed: Vec<&str> = both.scenarios.iter().filter(|one| has_failed(one)).map(|one| one.name.as_str()).collect();
    assert_eq!(failed, ["a", "b", "c"]);
    let first: Vec<&str> = both.scenarios[0].findings.iter().map(|one| one.expectation.as_str()).collect();
    assert_eq!(first, expected);
    assert_eq!(both.scenarios.len(), 9);
}

#[test]
fn what_fails_first_and_no_table_has_is_told() {
    let run = under("two+variant:slow", &[("b", "b.1", "Q"), ("c", "c.1", "Y"), ("d", "d.1", "Q")]);
    assert_eq!(unknown(&run, &FAULTS[1], &table()), ["embedded:two+variant:slow: d d.1"]);
}

#[test]
fn everything_is_counted() {
    let runs = [
        under("one", &[("a", "a.1", "X")]),
        under("two", &[("b", "b.1", "Y")]),
        under("twin", &[("a", "a.1", "X")]),
        under("twin", &[]),
    ];
    let found = Measured::of(&runs, &FAULTS, &table(), 1);
    assert_eq!(found.whole, Tally { right: 2, wrong: 1, silent: 1, ..Tally::default() });
    // `two` goes with its twin, or that would be named in its place.
    assert_eq!(found.whole_unlisted, Tally { nothing: 2, wrong: 1, silent: 1, ..Tally::default() });
    assert_eq!(found.cut.asked() + found.cut.silent, runs.len() * CUTS);
    assert_eq!(found.cut.silent, found.cut_unlisted.silent);
    assert_eq!(found.pairs.asked(), DRAWN);
    assert_eq!(found.fives, Tally::default(), "there are no five that failed");
    assert_eq!((found.one_of_five, found.one_of_five_unlisted), (found.fives, found.fives));
    assert!(found.pairs.right > 0 && found.pairs.wrong == 0, "{:?}", found.pairs);
    assert!(found.wrong.iter().any(|line| line == "as it is: embedded:twin: one (1 of 1)"), "{:?}", found.wrong);
    assert!(!found.is_honest());
}

/// Of five at once four have a cause that no table knows: of all nothing fits, and of what the fifth failed in its cause does.
#[test]
fn one_of_five_is_asked_by_itself() {
    let strange = ["c", "d", "e", "f"].map(|name| under("twin", &[(name, "x.1", "Q")]));
    let runs: Vec<RunRecord> = strange.into_iter().chain([under("one", &[("a", "a.1", "X")])]).collect();
    let found = Measured::of(&runs, &FAULTS, &table(), 1);
    assert_eq!((found.fives.nothing, found.fives.asked()), (DRAWN, DRAWN));
    let Tally { right, nothing, .. } = found.one_of_five;
    assert!(right > 0 && nothing > 0 && right + nothing == DRAWN, "{:?}", found.one_of_five);
    assert_eq!(found.one_of_five_unlisted.nothing, DRAWN);
}
