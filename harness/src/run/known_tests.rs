#![allow(clippy::unwrap_used)]
use gateproof_report::record::Breach;
use rstest::rstest;

use super::*;

const TODAY: &str = "2026-11-20T10:00:00Z";

fn finding(expectation: &str, consequence: bool) -> Finding {
    Finding {
        expectation: expectation.to_owned(),
        severity: Severity::Failure,
        clauses: Vec::new(),
        line: 1,
        stage: "programmed".to_owned(),
        expected: String::new(),
        seen: String::new(),
        late: false,
        consequence,
        at_ms: 0,
    }
}

fn scenario(name: &str, outcome: Outcome, findings: Vec<Finding>) -> ScenarioRecord {
    ScenarioRecord {
        name: name.to_owned(),
        suite: "".into(),
        file: "".into(),
        summary: "".into(),
        features: [].into(),
        proves: [].into(),
        outcome,
        reason: None,
        findings,
        stages: Vec::new(),
        probes: Vec::new(),
        duration_ms: 0,
        alike: 0,
    }
}

fn failed(name: &str) -> ScenarioRecord {
    scenario(name, Outcome::Failed, vec![finding("steps[1].settle.a.status", false)])
}

fn passed(name: &str) -> ScenarioRecord {
    scenario(name, Outcome::Passed, Vec::new())
}

fn entry(scenario: Option<&str>, expectation: Option<&str>, contract: Option<&str>) -> KnownFailure {
    KnownFailure {
        scenario: scenario.map(str::to_owned),
        expectation: expectation.map(str::to_owned),
        contract: contract.map(str::to_owned),
        reason: "#12".to_owned(),
        expires: "2026-12-31".to_owned(),
        place: "k.yaml:1".to_owned(),
    }
}

fn rule(name: &str, scenarios: &[&str]) -> ContractRecord {
    let breach = |scenario: &&str| Breach {
        scenario: (*scenario).to_owned(),
        object: String::new(),
        path: String::new(),
        seen: String::new(),
        seq: 0,
    };
    ContractRecord {
        name: name.to_owned(),
        clauses: Vec::new(),
        severity: Severity::Failure,
        objects: 1,
        known: None,
        breaches: scenarios.iter().map(breach).collect(),
    }
}

#[rstest]
#[case::the_scenario(&[entry(Some("a"), None, None)], &[("steps[1].x", false)], true)]
#[case::a_pattern(&[entry(Some("*"), None, None)], &[("steps[1].x", false)], true)]
#[case::another_scenario(&[entry(Some("b"), None, None)], &[("steps[1].x", false)], false)]
#[case::the_expectation(&[entry(Some("a"), Some("steps[1].x"), None)], &[("steps[1].x", false)], true)]
#[case::another_expectation(&[entry(Some("a"), Some("steps[1].y"), None)], &[("steps[1].x", false)], false)]
#[case::what_follows(&[entry(Some("a"), Some("steps[1].x"), None)], &[("steps[1].x", false), ("steps[1].y", true)], true)]
#[case::a_later_step(&[entry(Some("a"), Some("steps[1].x"), None)], &[("steps[1].x", false), ("steps[2].y", true)], false)]
#[case::what_it_follows_from(&[entry(Some("a"), Some("steps[1].y"), None)], &[("steps[1].x", false), ("steps[1].y", true)], false)]
#[case::by_two_entries(
    &[entry(Some("a"), Some("steps[1].x"), None), entry(Some("a"), Some("steps[2].y"), None)],
    &[("steps[1].x", false), ("steps[2].y", true)],
    true
)]
#[case::a_rule_in_it(&[entry(Some("a"), None, Some("contract/*"))], &[("steps[1].x", false)], false)]
#[case::no_entry(&[], &[("steps[1].x", false)], false)]
fn a_failure_is_known_if_entries_have_all_of_it(
    #[case] known: &[KnownFailure],
    #[case] findings: &[(&str, bool)],
    #[case] expected: bool,
) {
    let findings: Vec<Finding> = findings.iter().map(|(name, consequence)| finding(name, *consequence)).collect();
    for name in ["a", "a#2"] {
        let mut record = scenario(name, Outcome::Failed, findings.clone());
        excuse(known, &mut record);
        assert_eq!(record.outcome == Outcome::KnownFailure, expected);
        assert_eq!(record.reason.is_some(), expected);
    }
}

#[rstest]
#[case(Outcome::Passed)]
#[case(Outcome::Inconclusive)]
#[case(Outcome::Skipped)]
#[case(Outcome::NotSupported)]
fn what_did_not_fail_needs_no_excuse(#[case] outcome: Outcome) {
    let mut record = scenario("a", outcome, Vec::new());
    excuse(&[entry(Some("a"), None, None)], &mut record);
    assert_eq!((record.outcome, record.reason), (outcome, None));
}

#[rstest]
#[case::fails(vec![failed("a")], KnownState::Seen)]
#[case::passes(vec![passed("a")], KnownState::UnexpectedPass)]
#[case::fails_now_and_then(vec![failed("a"), passed("a#2")], KnownState::Seen)]
#[case::passes_every_time(vec![passed("a"), passed("a#2")], KnownState::UnexpectedPass)]
#[case::not_selected(vec![failed("b")], KnownState::NotTried)]
#[case::inconclusive(vec![scenario("a", Outcome::Inconclusive, Vec::new())], KnownState::NotTried)]
#[case::skipped(vec![scenario("a", Outcome::Skipped, Vec::new())], KnownState::NotTried)]
fn an_entry_is_held_against_the_run(#[case] scenarios: Vec<ScenarioRecord>, #[case] expected: KnownState) {
    let known = [entry(Some("a"), None, None)];
    assert_eq!(account(&known, TODAY, &scenarios, &[])[0].state, expected);
}

#[test]
fn a_pattern_that_names_something_that_passes_is_out_of_date() {
    let known = [entry(Some("a-*"), None, None)];
    let found = account(&known, TODAY, &[failed("a-1"), passed("a-2"), passed("b")], &[]);
    assert_eq!(found[0].state, KnownState::UnexpectedPass);
    assert_eq!((&*found[0].seen, &*found[0].passed), (&["a-1".to_owned()][..], &["a-2".to_owned()][..]));
}

#[rstest]
#[case::fails_still(failed("a"), Outcome::Failed, KnownState::Expired)]
#[case::passes(passed("a"), Outcome::Passed, KnownState::UnexpectedPass)]
#[case::not_selected(failed("b"), Outcome::Failed, KnownState::NotTried)]
fn an_entry_whose_time_is_over_excuses_nothing(
    #[case] record: ScenarioRecord,
    #[case] outcome: Outcome,
    #[case] state: KnownState,
) {
    let known = [KnownFailure { expires: "2026-11-19".to_owned(), ..entry(Some("a"), None, None) }];
    let mut record = record;
    excuse(&in_force(&known, TODAY), &mut record);
    assert_eq!(record.outcome, outcome);
    assert_eq!(account(&known, TODAY, &[record], &[])[0].state, state);
}

#[rstest]
#[case::rule(entry(None, None, Some("contract/A/x")), &["a", "", "b"], true, KnownState::Seen)]
#[case::rules(entry(None, None, Some("contract/*/x")), &["a"], true, KnownState::Seen)]
#[case::in_a_scenario(entry(Some("a"), None, Some("contract/A/x")), &["a", "a#2"], true, KnownState::Seen)]
#[case::in_another_too(entry(Some("a"), None, Some("contract/A/x")), &["a", "b"], false, KnownState::Seen)]
#[case::only_in_another(entry(Some("a"), None, Some("contract/A/x")), &["b"], false, KnownState::UnexpectedPass)]
#[case::held(entry(None, None, Some("contract/A/x")), &[], false, KnownState::UnexpectedPass)]
#[case::not_tried(entry(None, None, Some("contract/B/x")), &["a"], false, KnownState::NotTried)]
#[case::scenario_not_run(entry(Some("c"), None, Some("contract/A/x")), &["a"], false, KnownState::NotTried)]
fn a_broken_rule_is_known_too(
    #[case] known: KnownFailure,
    #[case] breaches: &[&str],
    #[case] excused: bool,
    #[case] state: KnownState,
) {
    let known = [known];
    let mut contract = [rule("contract/A/x", breaches)];
    excuse_contract(&known, &mut contract);
    assert_eq!(contract[0].known.is_some(), excused);
    assert_eq!(contract[0].fails(), !excused && !breaches.is_empty());
    let scenarios = [passed("a"), passed("b")];
    assert_eq!(account(&known, TODAY, &scenarios, &contract)[0].state, state);
}
