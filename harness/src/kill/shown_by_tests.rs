#![allow(clippy::unwrap_used)]
use rstest::rstest;

use super::*;
use crate::judge::contract::{Contract, GATEWAY_API};
use crate::run::embedded;
use crate::scenario::load;

fn problems(table: &ShownBy) -> Vec<String> {
    let faults = embedded::faults(Reference::GatewayApi);
    table.problems(&faults, load::builtin_once(), &Contract::parse(GATEWAY_API).unwrap().rule_names())
}

#[rstest]
#[case::fault("ignores-grants", "httproute-simple steps[2].probe.status", "there is no fault ignores-grants")]
#[case::scenario("writes-once", "httproute-simpel steps[2].probe", "there is no scenario httproute-simpel")]
#[case::step("writes-once", "httproute-simple steps[99].probe.status", "can never fail")]
#[case::aspect("writes-once", "httproute-simple steps[2].probe.statsu", "can never fail")]
#[case::rule("writes-once", "httproute-simple contract/HTTPRoute/unique-typ", "can never fail")]
fn unknown_names_are_problems(#[case] fault: &str, #[case] showing: &str, #[case] problem: &str) {
    let mut table = ShownBy::builtin(Reference::GatewayApi).unwrap();
    table.shown.insert(fault.to_owned(), vec![Showing::try_from(showing.to_owned()).unwrap()]);
    let found = problems(&table);
    assert!(found.len() == 1 && found[0].contains(problem), "{found:?}");
}

#[test]
fn a_fault_that_is_left_out_is_a_problem() {
    let mut table = ShownBy::builtin(Reference::GatewayApi).unwrap();
    table.shown.remove("writes-once");
    assert_eq!(problems(&table), ["nothing is named that shows writes-once"]);
}

#[rstest]
#[case("httproute-simple")]
#[case("httproute-simple steps[2].probe and more")]
fn an_entry_is_a_scenario_and_an_expectation(#[case] text: &str) {
    assert!(ShownBy::parse(&format!("a: ['{text}']")).is_err());
}

#[test]
fn what_is_known_to_follow_is_named_as_what_shows_a_fault_is() {
    let mut table = ShownBy::builtin(Reference::GatewayApi).unwrap();
    let elsewhere = Showing::try_from("httproute-simple steps[*].probe.status".to_owned()).unwrap();
    table.besides.insert("writes-once".to_owned(), vec![elsewhere]);
    assert_eq!(problems(&table), Vec::<String>::new());
    assert!(table.is_beside("writes-once", "httproute-simple", "steps[2].probe.status"));
    assert!(!table.is_beside("writes-once", "httproute-simple", "steps[2].probe.backend"));
    assert!(!table.is_beside("writes-twice", "httproute-simple", "steps[2].probe.status"));
    table
        .besides
        .insert("writes-once".to_owned(), vec![Showing::try_from("httproute-simple steps[99].x".to_owned()).unwrap()]);
    assert_eq!(problems(&table).len(), 1);
}

#[test]
fn what_shows_a_fault_is_not_let_go_as_inconclusive() {
    let mut table = ShownBy::builtin(Reference::GatewayApi).unwrap();
    let open = |scenario: &str| vec![Showing::try_from(format!("{scenario} inconclusive")).unwrap()];
    table.besides.insert("writes-once".to_owned(), open("gatewayclass-newer-definitions"));
    assert_eq!(problems(&table), Vec::<String>::new());
    assert!(table.is_open("writes-once", "gatewayclass-newer-definitions"));
    let shows = table.of("writes-once")[0].scenario.clone();
    table.besides.insert("writes-once".to_owned(), open(&shows));
    assert_eq!(problems(&table), [format!("writes-once: {shows} cannot show it and be inconclusive")]);
}

/// One that cannot be read would leave every clause to be broken, and nobody would be told.
#[test]
fn what_is_not_broken_in_an_edition_is_well_formed() {
    assert!(!unbroken("kuadrant", "design").unwrap().is_empty());
    assert!(!unbroken("kuadrant", "current").unwrap().is_empty());
    assert!(unbroken("aso", "current").unwrap().is_empty());
}

/// A name that nobody has would excuse nothing, and nobody would be told of that either.
#[test]
fn what_is_not_broken_in_an_edition_is_declared() {
    let all: BTreeMap<String, BTreeMap<String, Vec<String>>> = serde_yaml::from_str(UNBROKEN).unwrap();
    for (place, rows) in all {
        let (dialect, edition) = place.split_once('.').unwrap();
        let known = |reference: &Reference| reference.dialect() == dialect;
        let reference = TABLES.iter().map(|(reference, ..)| *reference).find(known).unwrap();
        let suite = crate::suite::Suite::named(reference.dialect()).unwrap().unwrap();
        assert!(suite.dialect.editions().iter().any(|one| one == edition), "{place}");
        for (name, clauses) in rows {
            let fault = embedded::faults(reference).into_iter().find(|fault| fault.name == name).unwrap();
            assert!(clauses.iter().all(|clause| fault.clauses.contains(&clause.as_str())), "{name}: {clauses:?}");
        }
    }
}
