//! What the shipped scenarios and the status contract prove, taken together.

use std::collections::BTreeSet;

use gateproof::judge::contract::Contract;
use gateproof::scenario::select::clauses;
use gateproof::scenario::{Vocabulary, load};
use gateproof_suites::requirements;

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
