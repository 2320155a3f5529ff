//! The dialect of Kuadrant's policies as a folder: it reads, and its scenarios and contract prove what its clauses ask.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use gateproof::scenario::Scenario;
use gateproof::scenario::load;
use gateproof::scenario::select::clauses;
use gateproof::suite::Suite;
use gateproof_suites::Requirement;
use rstest::rstest;

/// The suite with its manifests inside, as users name it.
fn suite() -> (Suite, Vec<Scenario>) {
    suite_in(None)
}

fn suite_in(edition: Option<&str>) -> (Suite, Vec<Scenario>) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("suites/dialects/kuadrant");
    let folder = tempfile::tempdir().unwrap();
    for name in ["dialect.yaml", "contract.yaml", "requirements.yaml", "features.yaml", "services.yaml"] {
        std::fs::copy(own.join(name), folder.path().join(name)).unwrap();
    }
    for (file, text) in gateproof_suites::manifests_of("kuadrant") {
        let path = folder.path().join("manifests").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let suite = Suite::read(folder.path(), edition).unwrap();
    let scenarios = load::parsed(&suite.manifests().unwrap(), &suite.vocabulary).unwrap();
    (suite, scenarios)
}

/// What one edition shows excuses no other.
#[rstest]
#[case::current("current", 100)]
#[case::design("design", 80)]
fn every_clause_is_proven_in_its_edition_or_says_why_not(#[case] edition: &str, #[case] at_least: usize) {
    let (suite, scenarios) = suite_in(Some(edition));
    assert!(scenarios.len() > at_least, "{}", scenarios.len());
    let named: BTreeSet<_> = scenarios.iter().flat_map(clauses).collect();
    let proven = |id: &str| named.contains(id) || !suite.contract.rules_proving(id).is_empty();
    let is_here = |one: &&Requirement| !suite.vocabulary.edition.is_elsewhere(&one.id);
    let wrong = suite.requirements.iter().filter(is_here).filter(|one| proven(&one.id) != one.in_scope());
    assert_eq!(wrong.map(|one| one.id.as_str()).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn every_clause_of_the_contract_is_there() {
    let (suite, _) = suite();
    let rules = suite.contract.rule_names();
    let rules: BTreeSet<&str> = rules.iter().filter_map(|name| name.rsplit('/').next()).collect();
    for rule in rules {
        let terms = gateproof::judge::contract::Rule::named(rule).and_then(|rule| suite.contract.rule(rule)).unwrap();
        assert!(!terms.clauses.is_empty(), "{rule}");
        for clause in &terms.clauses {
            assert!(suite.requirement(clause).is_some(), "{rule} names {clause}");
        }
    }
}

#[test]
fn clauses_are_told_and_sourced() {
    let (suite, _) = suite();
    let mut texts = BTreeSet::new();
    for one in &suite.requirements {
        assert!(texts.insert(&one.text), "{} repeats another", one.id);
        assert!(one.source.starts_with("https://"), "{}", one.id);
        let editions: Vec<&str> = one.editions.iter().flatten().map(String::as_str).collect();
        assert!(editions.iter().all(|edition| ["design", "current"].contains(edition)), "{}", one.id);
    }
    let numbered = |prefix: &str, count: usize, width: usize| {
        (1..=count).map(|number| format!("{prefix}{number:0width$}")).collect::<Vec<_>>()
    };
    let expected = [numbered("KUADRANT-", 23, 2), numbered("KUADRANT-INV-", 12, 1)].concat();
    let ids: Vec<&str> = suite.requirements.iter().map(|one| one.id.as_str()).take(expected.len()).collect();
    assert_eq!(ids, expected);
}
