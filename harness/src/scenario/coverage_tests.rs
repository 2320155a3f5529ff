//! What the shipped scenarios prove, taken together.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use gateproof_suites::{TestKind, requirements};

use super::select::clauses;
use super::{Vocabulary, load};

/// Requirements that the always-on status contract proves, on every object of every scenario.
const BY_CONTRACT: &[&str] = &["GEP1364-01", "GEP1364-10", "K8S-04", "K8S-05", "K8S-07", "K8S-09"];

/// Requirements in scope that neither scenarios nor the contract prove: K8S-08 is a rule of dialects other than the
/// Gateway API's.
const OPEN: &[&str] = &["K8S-08"];

#[test]
fn every_requirement_that_can_be_tested_is_proven_or_known_to_be_open() {
    let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let proven = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    let missing = requirements()
        .iter()
        .filter(|r| r.in_scope() && r.tests.iter().any(|kind| *kind != TestKind::C))
        .map(|r| r.id.as_str())
        .filter(|id| !proven.contains(*id) && !BY_CONTRACT.contains(id))
        .collect::<Vec<_>>();
    assert_eq!(missing, OPEN);
}

#[test]
fn nothing_is_listed_as_open_that_is_proven() {
    let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let proven = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    for id in BY_CONTRACT.iter().chain(OPEN) {
        assert!(!proven.contains(*id), "{id}");
    }
}
