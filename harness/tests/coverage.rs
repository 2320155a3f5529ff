//! What the shipped scenarios and the status contract prove, taken together.

use std::collections::BTreeSet;

use gateproof::judge::contract::Contract;
use gateproof::scenario::select::clauses;
use gateproof::scenario::{Vocabulary, load};
use gateproof_suites::{blind_spots, profiles_of, requirements};

#[test]
fn every_requirement_that_can_be_tested_is_proven() {
    let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).unwrap();
    let proven = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    let missing = requirements()
        .iter()
        .filter(|r| r.in_scope() && !proven.contains(r.id.as_str()) && contract.rules_proving(&r.id).is_empty())
        .map(|r| r.id.as_str())
        .collect::<Vec<_>>();
    assert_eq!(missing, Vec::<&str>::new());
}

/// A blind spot that a scenario or a contract rule names has no reason to be left out, and any other has one.
#[test]
fn every_blind_spot_is_either_shown_or_left_out_for_a_reason() {
    let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).unwrap();
    let named = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    let wrong = blind_spots()
        .iter()
        .filter(|spot| {
            let clause = spot.clause();
            let shown = named.contains(clause.as_str()) || !contract.rules_proving(&clause).is_empty();
            shown == (spot.later.is_some() || spot.untested.is_some())
        })
        .map(|spot| spot.id.as_str())
        .collect::<Vec<_>>();
    assert_eq!(wrong, Vec::<&str>::new());
}

/// No ConformanceReport counts these. That is as it must be for what two kinds of routes are needed for; another scenario
/// gets here by a mistake in its features.
#[test]
fn the_scenarios_outside_every_profile_are_the_known_ones() {
    let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let outside = scenarios.iter().filter(|s| profiles_of(s.features.iter().map(String::as_str)).is_empty());
    let mut names = outside.map(|scenario| scenario.name.as_str()).collect::<Vec<_>>();
    names.sort_unstable();
    let known = [
        "gateway-conflicting-protocols",
        "gateway-tcp-supported-kinds",
        "grpcroute-attached-beside-httproute",
        "grpcroute-beside-older-httproute",
        "grpcroute-beside-younger-httproute",
        "grpcroute-named-rule",
        "httproute-misdirected-over-http2",
        "httproute-rewrite-host-of-http2-client",
    ];
    assert_eq!(names, known);
}
