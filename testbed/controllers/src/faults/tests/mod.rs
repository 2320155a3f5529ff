#![allow(clippy::unwrap_used)]

mod effect;

use std::collections::{BTreeMap, BTreeSet};

use super::{catalogue, find};
use crate::runtime::Seams;

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = catalogue().iter().map(|fault| fault.name).collect();
    assert_eq!(names.len(), catalogue().len());
    assert!(names.iter().all(|name| find(name).is_some_and(|fault| fault.name == *name)));
    assert!(find("no-such-fault").is_none());
    assert!(find("ignores-reference-grants").is_some());
}

#[test]
fn names_are_in_kebab_case_and_summaries_are_sentences() {
    for fault in catalogue() {
        let is_kebab =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        assert!(fault.name.split('-').all(is_kebab), "{}", fault.name);
        assert!(fault.summary.ends_with('.') && fault.summary.len() > 20, "{}", fault.name);
    }
}

#[test]
fn every_fault_breaks_something_of_a_known_kind() {
    for fault in catalogue() {
        assert!(!fault.clauses.is_empty(), "{} breaks nothing", fault.name);
        let unique: BTreeSet<_> = fault.clauses.iter().collect();
        assert_eq!(unique.len(), fault.clauses.len(), "{} repeats a clause", fault.name);
        for clause in fault.clauses {
            let known = ["GEP1364-", "GRPC-", "IMPL-", "K8S-", "OWN-", "upstream:", "blind:"]
                .iter()
                .any(|kind| clause.starts_with(kind));
            assert!(known, "{}: {clause}", fault.name);
        }
    }
}

#[test]
fn reports_name_an_issue_of_a_repository() {
    assert!(catalogue().iter().any(|fault| fault.reported().is_empty()));
    assert!(catalogue().iter().any(|fault| !fault.reported().is_empty()));
    for (fault, report) in
        catalogue().iter().flat_map(|fault| fault.reported().iter().map(move |report| (fault, report)))
    {
        let (repository, number) = report.split_once('#').unwrap_or_default();
        let is_issue = repository.split('/').count() == 2 && number.parse::<u32>().is_ok();
        assert!(is_issue, "{}: {report}", fault.name);
    }
}

#[test]
fn every_seam_has_faults() {
    let mut seams: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in catalogue() {
        *seams.entry(fault.seam.name()).or_default() += 1;
        fault.enter(&mut Seams::default());
        fault.exchange();
        fault.reshape(&mut Vec::new());
    }
    assert_eq!(seams.len(), 7, "{seams:?}");
}

/// Gives an ID one of the faults that declare it, and who had that fault before another one.
fn give<'f>(
    id: &'f str,
    declared: &BTreeMap<&'f str, Vec<&'f str>>,
    asked: &mut BTreeSet<&'f str>,
    given: &mut BTreeMap<&'f str, &'f str>,
) -> bool {
    for fault in &declared[id] {
        let is_free =
            asked.insert(*fault) && given.get(fault).copied().is_none_or(|holder| give(holder, declared, asked, given));
        if is_free {
            given.insert(*fault, id);
            return true;
        }
    }
    false
}

#[test]
fn each_blind_spot_and_test_of_upstreams_has_a_fault_of_its_own() {
    let mut declared: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for fault in catalogue() {
        for id in fault.clauses.iter().filter(|id| id.starts_with("upstream:") || id.starts_with("blind:")) {
            declared.entry(*id).or_default().push(fault.name);
        }
    }
    let mut given = BTreeMap::new();
    let left: Vec<&str> =
        declared.keys().copied().filter(|&id| !give(id, &declared, &mut BTreeSet::new(), &mut given)).collect();
    assert!(left.is_empty(), "these have none of their own: {left:?}");
    assert_eq!(declared.len(), 398, "CONTRIBUTING.md says how many");
}
