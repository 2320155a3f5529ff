#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::super::trial::Survivor;
use super::*;

fn set(items: &[&str]) -> BTreeSet<String> {
    items.iter().map(|i| (*i).to_owned()).collect()
}

/// An expectation with its clauses.
type First<'t> = (&'t str, &'t [&'t str]);

fn run(clauses: &[&str], failing: &[(&str, &[First<'_>])]) -> FaultRun {
    FaultRun {
        fault: "f".to_owned(),
        clauses: set(clauses),
        scenarios: failing
            .iter()
            .map(|(scenario, first)| {
                let first: Vec<FirstFailure> =
                    first.iter().map(|(e, c)| FirstFailure { expectation: (*e).to_owned(), clauses: set(c) }).collect();
                ScenarioRun {
                    scenario: (*scenario).to_owned(),
                    outcome: if first.is_empty() { Outcome::Passed } else { Outcome::Failed },
                    beside: first.clone(),
                    first,
                }
            })
            .collect(),
        contract: BTreeMap::new(),
        error: None,
    }
}

fn expectations() -> BTreeMap<String, BTreeSet<String>> {
    BTreeMap::from([("a".to_owned(), set(&["a.1", "a.2"])), ("b".to_owned(), set(&["b.1"]))])
}

/// What shows the fault `f`, each a scenario and an expectation.
fn listed(showings: &[&str]) -> ShownBy {
    ShownBy::parse(&format!("f: {showings:?}")).unwrap()
}

fn unproven(clause: &str) -> Complaint {
    Complaint::Unproven { fault: "f".to_owned(), clause: clause.to_owned() }
}

fn unshown(expectation: &str, instead: &str) -> Complaint {
    let (fault, scenario) = ("f".to_owned(), "a".to_owned());
    Complaint::Unshown { fault, scenario, expectation: expectation.to_owned(), instead: instead.to_owned() }
}

#[test]
fn a_fault_that_nobody_notices_is_a_complaint() {
    let matrix = Matrix::of(&[run(&["X"], &[("a", &[])])], &expectations(), &listed(&["a a.1"]), 2);
    assert_eq!(matrix.complaints, [unshown("a.1", "it ended Passed"), unproven("X")]);
    assert_eq!(matrix.holes.len(), 3);
}

/// What is named for other scenarios was not asked.
#[test]
fn of_some_scenarios_only_what_they_do_is_complained_of() {
    let unlooked = run(&["X"], &[("a", &[("a.1", &["Y"])])]);
    let mut matrix = Matrix::of(std::slice::from_ref(&unlooked), &expectations(), &listed(&["b b.1", "a a.2"]), 2);
    assert_eq!(matrix.complaints.len(), 4, "{:?}", matrix.complaints);
    matrix.of_some(&set(&["a"]), &["f".to_owned()]);
    let undeclared = Complaint::Undeclared {
        fault: "f".to_owned(),
        scenario: "a".to_owned(),
        expectation: "a.1".to_owned(),
        clauses: set(&["Y"]),
    };
    assert_eq!(matrix.complaints, [unshown("a.2", "a.1 failed"), undeclared]);
    let mut unnoticed = Matrix::of(&[run(&["X"], &[("a", &[])])], &expectations(), &listed(&["b b.1"]), 2);
    unnoticed.of_some(&set(&["a"]), &[]);
    assert_eq!((unnoticed.rows.len(), unnoticed.complaints.len()), (0, 0), "{unnoticed:?}");
    unnoticed.of_some(&set(&["a"]), &["f".to_owned()]);
    assert_eq!(unnoticed.complaints, [Complaint::Unnoticed { fault: "f".to_owned() }]);
    let mut unlisted = Matrix::of(&[unlooked], &expectations(), &ShownBy::default(), 2);
    unlisted.of_some(&set(&["a"]), &["f".to_owned()]);
    assert!(matches!(unlisted.complaints[..], [Complaint::Undeclared { .. }]), "{:?}", unlisted.complaints);
}

#[test]
fn another_expectation_of_the_same_clause_excuses_nothing() {
    let other = run(&["X"], &[("a", &[("a.2", &["X"])])]);
    let matrix = Matrix::of(std::slice::from_ref(&other), &expectations(), &listed(&["a a.1"]), 2);
    assert_eq!(matrix.complaints, [unshown("a.1", "a.2 failed"), unproven("X")]);
    assert_eq!(matrix.rows[0].shown_by, ["a a.2"], "what the table might say");
    let matrix = Matrix::of(&[other], &expectations(), &ShownBy::default(), 2);
    assert_eq!(matrix.complaints, [Complaint::Unlisted { fault: "f".to_owned() }, unproven("X")]);
}

#[test]
fn what_could_not_be_told_is_one_complaint() {
    let mut open = run(&["X"], &[("a", &[])]);
    open.scenarios[0].outcome = Outcome::Inconclusive;
    let matrix = Matrix::of(&[open], &expectations(), &listed(&["a a.1"]), 2);
    assert_eq!(matrix.complaints, [Complaint::Inconclusive { fault: "f".to_owned(), scenario: "a".to_owned() }]);
}

#[rstest]
#[case::known("b inconclusive", &[])]
#[case::of_another("a inconclusive", &["b"])]
#[case::what_fails("b *", &["b"])]
fn what_is_known_to_be_inconclusive_is_none(#[case] beside: &str, #[case] complained_of: &[&str]) {
    let mut open = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
    open.scenarios[1].outcome = Outcome::Inconclusive;
    let table = listed(&["a a.1"]).with_besides(&format!("f: ['{beside}']")).unwrap();
    let matrix = Matrix::of(&[open], &expectations(), &table, 2);
    let scenarios: Vec<&str> = matrix.complaints.iter().filter_map(Complaint::scenario).collect();
    assert_eq!((scenarios.as_slice(), matrix.complaints.len()), (complained_of, complained_of.len()));
}

#[test]
fn what_fails_in_the_same_step_as_the_first_is_as_good() {
    let mut both = run(&["X"], &[("a", &[("a.2", &["X"])])]);
    both.scenarios[0].beside.push(FirstFailure { expectation: "a.1".to_owned(), clauses: set(&["X"]) });
    for either in ["a a.1", "a *.1"] {
        let matrix = Matrix::of(std::slice::from_ref(&both), &expectations(), &listed(&[either]), 2);
        assert_eq!(matrix.complaints, []);
    }
}

#[test]
fn a_rule_counts_where_it_was_broken() {
    let mut broken = run(&["X"], &[("a", &[]), ("b", &[])]);
    let of = |scenario: &str| BrokenRule { clauses: set(&["X"]), scenarios: set(&[scenario]) };
    broken.contract.insert("contract/K/r".to_owned(), of("b"));
    let complaints = |run: &FaultRun| {
        Matrix::of(std::slice::from_ref(run), &expectations(), &listed(&["a contract/K/r"]), 2).complaints
    };
    assert_eq!(complaints(&broken), [unshown("contract/K/r", "it ended Passed"), unproven("X")]);
    assert_eq!(
        Matrix::of(&[broken.clone()], &expectations(), &ShownBy::default(), 2).rows[0].shown_by,
        ["b contract/K/r"]
    );
    for place in ["a", ""] {
        broken.contract.insert("contract/K/r".to_owned(), of(place));
        assert_eq!(complaints(&broken), []);
    }
}

#[rstest]
#[case::known("a contract/K/r", 0)]
#[case::another_rule("a contract/K/s", 1)]
fn a_rule_that_is_known_to_be_broken_beside_is_no_complaint(#[case] beside: &str, #[case] complaints: usize) {
    let mut broken = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
    let rule = BrokenRule { clauses: set(&["Y"]), scenarios: set(&["a", "b"]) };
    broken.contract.insert("contract/K/r".to_owned(), rule);
    let table = listed(&["a a.1"]).with_besides(&format!("f: ['{beside}']")).unwrap();
    let matrix = Matrix::of(&[broken], &expectations(), &table, 2);
    assert_eq!(matrix.complaints.len(), complaints, "{:?}", matrix.complaints);
}

#[test]
fn only_a_fault_against_what_should_be_is_noticed_by_a_warning() {
    let requirements = gateproof_suites::requirements();
    assert_eq!(weakest(&["IMPL-31"], requirements), Severity::Warning);
    assert_eq!(weakest(&["IMPL-32"], requirements), Severity::Failure);
    assert_eq!(weakest(&["IMPL-31", "IMPL-32"], requirements), Severity::Failure);
    assert_eq!(weakest(&["upstream:GatewayModifyListeners"], requirements), Severity::Failure);
    let mut warned = run(&["IMPL-31"], &[("a", &[("a.1", &["IMPL-31"])])]);
    warned.scenarios[0].outcome = Outcome::Passed;
    assert_eq!(warned.kills().count(), 1);
}

#[test]
fn a_failure_for_another_reason_than_declared_is_a_complaint() {
    let matrix = Matrix::of(&[run(&["X"], &[("a", &[("a.1", &["Y"])])])], &expectations(), &listed(&["a a.1"]), 2);
    let undeclared = Complaint::Undeclared {
        fault: "f".to_owned(),
        scenario: "a".to_owned(),
        expectation: "a.1".to_owned(),
        clauses: set(&["Y"]),
    };
    assert_eq!(matrix.complaints, [undeclared, unproven("X")]);
}

#[test]
fn what_is_known_to_follow_elsewhere_is_no_complaint() {
    let both = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[("b.1", &["Y"])])]);
    let complaints = |table: ShownBy| Matrix::of(std::slice::from_ref(&both), &expectations(), &table, 2).complaints;
    assert_eq!(complaints(listed(&["a a.1"])).len(), 1);
    assert_eq!(complaints(listed(&["a a.1"]).with_besides("f: ['b b.2']").unwrap()).len(), 1);
    assert_eq!(complaints(listed(&["a a.1"]).with_besides("f: ['b b.1']").unwrap()), []);
    // It shows nothing.
    assert_eq!(complaints(listed(&["b b.1"]).with_besides("f: ['b b.1']").unwrap()), [unproven("X")]);
}

#[test]
fn a_second_run_replaces_what_was_inconclusive() {
    let mut first = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
    first.scenarios[1].outcome = Outcome::Inconclusive;
    assert!(first.is_inconclusive("b") && !first.is_inconclusive("a"));
    first.amend(run(&["X"], &[("b", &[("b.1", &["X"])])]));
    assert_eq!(first.kills().map(|s| s.scenario.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let matrix = Matrix::of(&[first], &expectations(), &listed(&["a a.1", "b b.1"]), 2);
    assert_eq!(matrix.complaints, []);
}

#[test]
fn only_the_sole_first_failure_of_a_narrow_fault_closes_a_hole() {
    let sole = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
    let double = run(&["X"], &[("a", &[("a.1", &["X"]), ("a.2", &["X"])]), ("b", &[])]);
    let broad = run(&["X"], &[("a", &[("a.2", &["X"])]), ("b", &[("b.1", &["X"])])]);
    let matrix = Matrix::of(&[sole, double, broad], &expectations(), &ShownBy::default(), 2);
    assert_eq!(matrix.holes, ["a: a.2", "b: b.1"]);
    assert_eq!(matrix.signatures, 2);
}

#[test]
fn a_pinpoint_fault_closes_a_hole_unless_the_expectation_survives() {
    let alone = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
    let mut matrix = Matrix::of(&[alone], &expectations(), &ShownBy::default(), 2);
    let survivor = Survivor {
        scenario: "b".to_owned(),
        expectation: "b.1".to_owned(),
        outcome: "passed".to_owned(),
        why: String::new(),
    };
    matrix.pinpointed(&Proof { tried: 2, survivors: vec![survivor], ..Proof::default() });
    assert_eq!((matrix.holes, matrix.pinpointed), (vec!["b: b.1".to_owned()], Some(1)));
}

/// Who breaks what must be beside what only should be is warned of the latter, and that counts.
#[rstest::rstest]
#[case::should_alone(&["K8S-15"], 1)]
#[case::must_beside(&["GEP1364-54", "K8S-15"], 1)]
#[case::another_should(&["GEP1364-54", "GEP1364-09"], 0)]
#[case::must_alone(&["GEP1364-54"], 0)]
fn warnings_count_for_what_only_should_be(#[case] clauses: &[&str], #[case] first: usize) {
    let finding = Finding {
        expectation: "steps[2].hold.unchanged.HTTPRoute/route".to_owned(),
        severity: Severity::Warning,
        clauses: vec!["K8S-15".to_owned()],
        line: 1,
        stage: "hold".to_owned(),
        expected: String::new(),
        seen: String::new(),
        late: false,
        consequence: false,
        at_ms: 0,
    };
    let record = ScenarioRecord {
        name: "a".to_owned(),
        suite: "".into(),
        file: "".into(),
        summary: "".into(),
        features: [].into(),
        proves: [].into(),
        outcome: Outcome::Passed,
        reason: None,
        findings: vec![finding],
        stages: Vec::new(),
        probes: Vec::new(),
        duration_ms: 0,
        alike: 0,
    };
    assert_eq!(ScenarioRun::of(&record, clauses, gateproof_suites::requirements()).first.len(), first);
}
