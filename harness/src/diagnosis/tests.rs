#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use gateproof_report::record::{Breach, ContractRecord};
use gateproof_report::record::{Finding, Outcome, RunRecord, ScenarioRecord, Severity, Target};
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rstest::rstest;

use super::*;
use crate::dialects::Reference;
use crate::kill::Showing;
use crate::run::embedded;
use crate::scenario::expectations::enumerate;
use crate::scenario::{Scenario, load};

pub(super) fn scenario(name: &str, misses: &[(&str, &[&str])]) -> ScenarioRecord {
    let finding = |(expectation, clauses): &(&str, &[&str])| Finding {
        expectation: (*expectation).to_owned(),
        severity: Severity::Failure,
        clauses: clauses.iter().map(|clause| (*clause).to_owned()).collect(),
        line: 1,
        stage: "converged".to_owned(),
        expected: String::new(),
        seen: String::new(),
        late: false,
        consequence: false,
        at_ms: 1,
    };
    ScenarioRecord {
        name: name.to_owned(),
        suite: "".into(),
        file: "".into(),
        summary: "".into(),
        features: [].into(),
        proves: [].into(),
        outcome: if misses.is_empty() { Outcome::Passed } else { Outcome::Failed },
        reason: None,
        findings: misses.iter().map(finding).collect(),
        stages: vec![],
        probes: vec![],
        duration_ms: 1,
        alike: 0,
    }
}

pub(super) fn record(scenarios: Vec<ScenarioRecord>, contract: Vec<ContractRecord>) -> RunRecord {
    RunRecord {
        format: 1,
        producer: String::new(),
        date: String::new(),
        target: Target {
            name: String::new(),
            embedded: true,
            dialect: "gateway-api".to_owned(),
            edition: None,
            gateway_class: None,
            controller_name: None,
            gateway_api_version: None,
            gateway_api_channel: None,
            definitions: None,
            features: vec![],
        },
        arguments: vec![],
        options_file: None,
        interrupted: false,
        impatient: false,
        scenarios,
        outside_profiles: vec![],
        contract,
        known_failures: vec![],
        leftovers: vec![],
        digests: None,
        shard: None,
        duration_ms: 1,
    }
}

const TABLE: &str = "
narrow: [a a.1]
wide: [a a.1, b b.1, c c.1]
other: [d d.1]
twin: [d d.1]
";

const fn fault(name: &'static str, clauses: &'static [&'static str]) -> KnownFault {
    KnownFault { name, seam: "status", summary: "It does.", clauses, reported: &[] }
}

const FAULTS: [KnownFault; 4] =
    [fault("narrow", &["X"]), fault("wide", &["X", "Y"]), fault("other", &["Z"]), fault("twin", &["Z"])];

/// What a run looks like in which these scenarios failed, each at an expectation for a clause, and the rest of a to e passed.
fn looks(failed: &[(&str, &str, &str)]) -> Option<Diagnosis> {
    let of = |name: &str| {
        let one = failed.iter().find(|(failed, _, _)| *failed == name);
        one.map_or_else(
            || scenario(name, &[]),
            |(_, expectation, clause)| scenario(name, &[(*expectation, &[*clause])]),
        )
    };
    let record = record(["a", "b", "c", "d", "e"].map(of).to_vec(), vec![]);
    Diagnosis::of(&record, &FAULTS, &ShownBy::parse(TABLE).unwrap())
}

fn named(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.causes.iter().map(|cause| &*cause.fault).collect()
}

#[test]
fn a_run_that_passed_looks_like_nothing() {
    assert_eq!(looks(&[]), None);
}

#[rstest]
#[case::what_would_have_failed_and_passed_speaks_against_it(&[("a", "a.1", "X")], &["narrow"], true)]
#[case::what_explains_more(&[("a", "a.1", "X"), ("b", "b.1", "Y"), ("c", "c.1", "Y")], &["wide"], true)]
#[case::a_clause_of_its_explains_more(&[("a", "a.1", "X"), ("e", "e.1", "X")], &["narrow"], true)]
#[case::another_expectation_for_another_clause(&[("a", "a.2", "Q")], &[], false)]
#[case::two_at_once(&[("a", "a.1", "X"), ("d", "d.1", "Z")], &["narrow", "other"], true)]
#[case::a_clause_alone_explains_most(&[("a", "a.1", "X"), ("d", "d.9", "X"), ("e", "e.9", "X")], &["narrow"], false)]
#[case::half_of_it(&[("a", "a.1", "X"), ("b", "b.7", "Q"), ("e", "e.7", "Q")], &["narrow"], false)]
fn causes_are_few_and_explain_most(#[case] failed: &[(&str, &str, &str)], #[case] causes: &[&str], #[case] fits: bool) {
    let found = looks(failed).unwrap();
    assert_eq!((named(&found), found.fits), (causes.to_vec(), fits), "{found:?}");
    assert_eq!(found.failures, found.explained + found.unexplained.len());
}

/// Who runs a part can be told of a part of the faults.
#[rstest]
#[case::all(&["a", "d"], 0)]
#[case::those_of_d(&["a", "b", "e"], 2)]
#[case::all_of_them(&["e"], 4)]
fn faults_that_no_scenario_of_the_run_shows_are_counted(#[case] run: &[&str], #[case] untried: usize) {
    let failed = run.iter().map(|name| scenario(name, &[("e.1", &["Q"])])).collect();
    let found = Diagnosis::of(&record(failed, vec![]), &FAULTS, &ShownBy::parse(TABLE).unwrap()).unwrap();
    assert_eq!(found.untried, untried);
}

#[test]
fn what_cannot_be_told_apart_is_said_together() {
    assert_eq!(looks(&[("d", "d.1", "Z")]).unwrap().causes[0].alike, ["twin"]);
}

#[rstest]
#[case::one_of_three_was_run(&[("a", "a.1")], false)]
#[case::two_of_three(&[("a", "a.1"), ("b", "b.1")], true)]
#[case::one_of_two_failed_somewhere_else(&[("a", "a.1"), ("b", "b.7")], false)]
#[case::one_of_three(&[("a", "a.1"), ("b", "b.1"), ("c", "c.7")], true)]
fn a_fault_comes_near_where_too_little_of_what_shows_it_says_something(
    #[case] failed: &[(&str, &str)],
    #[case] fits: bool,
) {
    let run = failed.iter().map(|(name, at)| scenario(name, &[(*at, &["X"])])).collect();
    let found = Diagnosis::of(&record(run, vec![]), &FAULTS[1..2], &ShownBy::parse(TABLE).unwrap()).unwrap();
    assert_eq!((named(&found), found.fits), (vec!["wide"], fits), "{found:?}");
}

#[rstest]
#[case::one_of_three_was_run(&["a"], Some(Doubt::NotRun(vec!["b".to_owned(), "c".to_owned()])))]
#[case::two_of_three(&["a", "b"], None)]
#[case::one_of_the_one_that_the_target_can_do(&["a", "b?", "c?"], None)]
#[case::one_of_two_that_it_can(&["a", "b?"], None)]
#[case::two_of_three_failed_somewhere_else(&["a", "b!", "c!"], Some(Doubt::FailedElsewhere))]
#[case::two_tie_six_more(&["a", "b", "1", "2", "3", "4", "5", "6"], None)]
#[case::and_no_more(&["a", "b", "1", "2", "3", "4", "5", "6", "7"], Some(Doubt::ByClausesAlone { known: 2 }))]
#[case::but_what_fails_in_the_same_way(&["a", "b", "1", "2", "3", "4", "5", "6", "7="], None)]
#[case::unless_something_passed(
    &["a", "b", "c+", "1", "2", "3", "4", "5", "6", "7="],
    Some(Doubt::ByClausesAlone { known: 2 })
)]
fn it_is_said_why_a_fault_is_not_sure(#[case] run: &[&str], #[case] doubt: Option<Doubt>) {
    // What the mark behind the name says of it: `?` it is not supported, `!` it failed at something else, `+` it passed, `=` it failed in
    // the way of those that show the fault; without one those of the table fail as it says, and others for the clause alone.
    let of = |text: &&str| {
        let (name, mark) = text.split_at(1);
        let way = format!("steps[1].settle.HTTPRoute/{name}.Accepted.status");
        match mark {
            "?" => ScenarioRecord { outcome: Outcome::NotSupported, ..scenario(name, &[]) },
            "+" => scenario(name, &[]),
            "!" => scenario(name, &[("else", &["Q"])]),
            "=" => scenario(name, &[(&way, &["X"])]),
            _ if name.starts_with(char::is_alphabetic) => scenario(name, &[(&way, &["X"])]),
            _ => scenario(name, &[("steps[1].probe.status", &["X"])]),
        }
    };
    let table = "wide: [a steps*.settle.*, b steps*.settle.*, c steps*.settle.*]";
    let faults = [fault("wide", &["X"])];
    let run = record(run.iter().map(of).collect(), vec![]);
    let seen = Seen::of(&run);
    let shown_by = ShownBy::parse(table).unwrap();
    assert_eq!(Suspect::of(&faults[0], &shown_by, &seen).unwrap().doubt(), doubt);
}

#[test]
fn what_is_not_sure_enough_to_be_named_may_look_the_same() {
    let run = vec![scenario("a", &[("a.1", &["X"])])];
    let found = Diagnosis::of(&record(run, vec![]), &FAULTS, &ShownBy::parse(TABLE).unwrap()).unwrap();
    assert_eq!(
        (named(&found), found.fits, &found.causes[0].alike[..]),
        (vec!["narrow"], true, &["wide".to_owned()][..])
    );
}

#[test]
fn a_rule_that_an_object_of_the_run_breaks_is_seen_in_whatever_ran() {
    let table = ShownBy::parse("narrow: [a contract/Gateway/x]").unwrap();
    let rule = broken("contract/Gateway/x");
    let found = Diagnosis::of(&record(vec![scenario("a", &[])], vec![rule]), &FAULTS, &table).unwrap();
    assert_eq!((named(&found), found.fits), (vec!["narrow"], true), "{found:?}");
}

/// Two mistakes, of which one is known: of both at once nothing fits.
fn a_known_and_an_unknown_mistake() -> RunRecord {
    let failed = [("a", "a.1", "X"), ("d", "d.7", "Q"), ("e", "e.7", "Q")];
    let run = failed.iter().map(|(name, at, clause)| scenario(name, &[(*at, &[*clause])]));
    record(run.chain(["b", "c"].map(|name| scenario(name, &[]))).collect(), vec![])
}

#[rstest]
#[case::all(&["*"], &["narrow"], false, 3)]
#[case::what_is_known(&["a"], &["narrow"], true, 1)]
#[case::what_is_not(&["d", "e"], &[], false, 2)]
fn a_part_of_what_failed_is_asked_about(
    #[case] only: &[&str],
    #[case] causes: &[&str],
    #[case] fits: bool,
    #[case] failures: usize,
) {
    let only: Vec<String> = only.iter().map(|one| (*one).to_owned()).collect();
    let table = ShownBy::parse(TABLE).unwrap();
    let found = Diagnosis::only(&a_known_and_an_unknown_mistake(), &only, &FAULTS, &table).unwrap().unwrap();
    assert_eq!((named(&found), found.fits, found.failures), (causes.to_vec(), fits, failures), "{found:?}");
}

/// Of a fault that three scenarios show, two of which passed, a part of the failures makes no more than it is.
#[test]
fn what_passed_speaks_against_a_fault_of_which_a_part_is_asked() {
    let found = Diagnosis::only(
        &a_known_and_an_unknown_mistake(),
        &["a".to_owned()],
        &FAULTS[1..2],
        &ShownBy::parse(TABLE).unwrap(),
    );
    assert_eq!(found.unwrap().unwrap().causes, []);
}

#[rstest]
#[case::of_a_scenario(&["a", "httproute-*"], "httproute-*", None)]
#[case::of_one_that_passed(&["b", "a"], "b", Some("a"))]
#[case::of_a_slip(&["contract/Gateway/entry-uniqe"], "contract/Gateway/entry-uniqe", Some("contract/Gateway/entry-unique"))]
fn a_part_in_which_nothing_failed_is_an_error(
    #[case] only: &[&str],
    #[case] pattern: &str,
    #[case] near: Option<&str>,
) {
    let mut record = a_known_and_an_unknown_mistake();
    record.contract.push(broken("contract/Gateway/entry-unique"));
    let only: Vec<String> = only.iter().map(|one| (*one).to_owned()).collect();
    let found = Diagnosis::only(&record, &only, &FAULTS, &ShownBy::parse(TABLE).unwrap());
    let expected = NothingFailed { pattern: pattern.to_owned(), near: near.map(str::to_owned) };
    assert_eq!(found, Err(expected));
}

/// A rule that another mistake breaks, and that is not asked about, is neither held nor broken by the one that is.
#[test]
fn a_rule_that_is_left_out_speaks_against_nothing() {
    let table = ShownBy::parse("narrow: [a a.1, b contract/Gateway/x]").unwrap();
    let mut record = a_known_and_an_unknown_mistake();
    record.contract.push(broken("contract/Gateway/x"));
    let found = Diagnosis::only(&record, &["a".to_owned()], &FAULTS, &table).unwrap().unwrap();
    assert_eq!((named(&found), &found.causes[0].missing[..]), (vec!["narrow"], &[][..]));
}

fn broken(rule: &str) -> ContractRecord {
    let breach =
        Breach { scenario: String::new(), object: String::new(), path: String::new(), seen: String::new(), seq: 1 };
    ContractRecord {
        name: rule.to_owned(),
        clauses: vec!["X".to_owned()],
        severity: Severity::Failure,
        objects: 1,
        known: None,
        breaches: vec![breach],
    }
}

/// The built-in table, and the scenarios by name.
fn builtin() -> (Vec<KnownFault>, ShownBy, BTreeMap<String, Scenario>) {
    let by_name = load::builtin_once().iter().map(|scenario| (scenario.name.clone(), scenario.clone())).collect();
    (embedded::faults(Reference::GatewayApi), ShownBy::builtin(Reference::GatewayApi).unwrap(), by_name)
}

/// The run in which everything that shows the faults failed, and everything else passed. Of two that fail a scenario, the first is
/// seen.
fn run_under(faults: &[&KnownFault], table: &ShownBy, scenarios: &BTreeMap<String, Scenario>) -> RunRecord {
    let mut shown: BTreeMap<&str, (&Showing, &KnownFault)> = BTreeMap::new();
    let mut rules: BTreeMap<&str, ContractRecord> = BTreeMap::new();
    for (fault, showing) in faults.iter().flat_map(|fault| table.of(fault.name).iter().map(|one| (*fault, one))) {
        if showing.expectation.starts_with("contract/") {
            let breach = Breach {
                scenario: showing.scenario.clone(),
                object: String::new(),
                path: String::new(),
                seen: String::new(),
                seq: 1,
            };
            let rule = rules.entry(&showing.expectation).or_insert_with(|| ContractRecord {
                name: showing.expectation.clone(),
                clauses: fault.clauses.iter().map(|clause| (*clause).to_owned()).collect(),
                severity: Severity::Failure,
                objects: 1,
                known: None,
                breaches: vec![],
            });
            rule.breaches.push(breach);
            continue;
        }
        let kept = shown.entry(&showing.scenario).or_insert((showing, fault));
        if showing.expectation < kept.0.expectation {
            *kept = (showing, fault);
        }
    }
    let of = |name: &String, all: &Scenario| {
        let Some((showing, fault)) = shown.get(&**name) else { return scenario(name, &[]) };
        let known =
            enumerate(all).into_iter().find(|one| crate::scenario::pattern::matches(&showing.expectation, &one.id));
        let clauses: Vec<String> = known.map_or_else(
            || fault.clauses.iter().map(|clause| (*clause).to_owned()).collect(),
            |one| one.clauses.iter().map(ToString::to_string).collect(),
        );
        let clauses: Vec<&str> = clauses.iter().map(String::as_str).collect();
        let expectation = showing.expectation.replace('*', "0");
        scenario(name, &[(&*expectation, &clauses[..])])
    };
    record(scenarios.iter().map(|(name, all)| of(name, all)).collect(), rules.into_values().collect())
}

fn names(diagnosis: &Diagnosis) -> BTreeSet<&str> {
    diagnosis.causes.iter().flat_map(|cause| cause.alike.iter().chain([&cause.fault])).map(String::as_str).collect()
}

#[test]
fn every_fault_looks_like_itself_and_like_nothing_without_it() {
    let (faults, table, scenarios) = builtin();
    let (mut itself, mut honest) = (0, 0);
    for fault in &faults {
        let record = run_under(&[fault], &table, &scenarios);
        let found = Diagnosis::of(&record, &faults, &table).unwrap();
        itself += usize::from(found.fits && names(&found).contains(fault.name));
        let alike = found
            .causes
            .iter()
            .find(|cause| cause.fault == fault.name || cause.alike.iter().any(|one| one == fault.name));
        let others: Vec<KnownFault> = faults
            .iter()
            .filter(|other| {
                other.name != fault.name
                    && !alike.is_some_and(|cause| {
                        cause.fault == other.name || cause.alike.iter().any(|one| one == other.name)
                    })
            })
            .copied()
            .collect();
        honest += usize::from(!Diagnosis::of(&record, &others, &table).unwrap().fits);
    }
    assert!(itself * 100 >= 95 * faults.len(), "{itself} of {} are found", faults.len());
    assert!(honest * 100 >= 90 * faults.len(), "of {} of {} nothing is said without them", honest, faults.len());
}

#[test]
fn two_faults_at_once_are_both_found() {
    let (faults, table, scenarios) = builtin();
    let mut draw = ChaCha8Rng::seed_from_u64(1);
    let (mut both, mut one) = (0, 0);
    for _ in 0..300 {
        let pair: Vec<&KnownFault> = faults.choose_multiple(&mut draw, 2).collect();
        let found = Diagnosis::of(&run_under(&pair, &table, &scenarios), &faults, &table).unwrap();
        let names = names(&found);
        let hits = pair.iter().filter(|fault| names.contains(fault.name)).count();
        both += usize::from(found.fits && hits == 2);
        one += usize::from(found.fits && hits == 1);
    }
    assert!(both >= 250, "of 300 pairs both were found of {both}, one of {one}");
}
