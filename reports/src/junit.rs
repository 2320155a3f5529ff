//! `junit.xml`: one suite for the scenarios of each suite, one for the contract, one for entries of the file of known
//! failures that are out of date, and one for what the run left behind.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::known::{KnownFailureRecord, KnownState};
use crate::record::{Breach, Outcome, RunRecord, ScenarioRecord, Severity};
use crate::terminal::{self, LONGEST};
use crate::words::{counted, shortened};

/// The record as JUnit XML. Inconclusive is an `error`, late a `failure`; known failures, not supported and skipped are
/// `skipped` with their reason, so that no reader of the file takes them for success. CI systems fail a job for a `failure`,
/// and show a skipped case with its reason.
///
/// # Errors
/// The serialiser's words if the XML cannot be written.
pub fn render(record: &RunRecord) -> Result<String, String> {
    let mut report = Report::new(record.producer.clone());
    report.set_time(Duration::from_millis(record.duration_ms));
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for scenario in &record.scenarios {
        let suite = suites.entry(&scenario.suite).or_insert_with(|| TestSuite::new(scenario.suite.clone()));
        suite.add_test_case(scenario_case(scenario, &record.again()));
    }
    report.add_test_suites(suites.into_values());
    if !record.contract.is_empty() {
        report.add_test_suite(contract_suite(record));
    }
    if record.known_failures.iter().any(KnownFailureRecord::is_stale) {
        report.add_test_suite(known_suite(record));
    }
    if !record.leftovers.is_empty() {
        report.add_test_suite(leftover_suite(record));
    }
    report.to_string().map_err(|error| error.to_string())
}

/// An error, as what is inconclusive: it says nothing of the target, and somebody has to look after it.
fn leftover_suite(record: &RunRecord) -> TestSuite {
    let mut suite = TestSuite::new("clean-up");
    for left in &record.leftovers {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("left behind").set_message(shortened(&left.diagnosis, LONGEST));
        suite.add_test_case(TestCase::new(left.object.clone(), status));
    }
    suite
}

fn scenario_case(scenario: &ScenarioRecord, arguments: &[String]) -> TestCase {
    let reason = || shortened(&scenario.reasons().unwrap_or_default(), LONGEST).into_owned();
    let status = match scenario.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed | Outcome::Late => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(if scenario.outcome == Outcome::Late { "late" } else { "failed" });
            if let Some(first) = scenario.findings.iter().find(|f| f.severity == Severity::Failure) {
                let (expected, seen) = (shortened(&first.expected, LONGEST), shortened(&first.seen, LONGEST));
                status.set_message(format!("expected {expected}; saw {seen}"));
            }
            status.set_description(terminal::failure(scenario, arguments));
            status
        }
        Outcome::Inconclusive => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("inconclusive").set_message(reason());
            status.set_description(terminal::failure(scenario, arguments));
            status
        }
        Outcome::Skipped | Outcome::NotSupported | Outcome::KnownFailure => {
            let mut status = TestCaseStatus::skipped();
            let kind = match scenario.outcome {
                Outcome::KnownFailure => "known failure",
                Outcome::Skipped => "skipped",
                _ => "not supported",
            };
            status.set_type(kind).set_message(reason());
            status
        }
    };
    let mut case = TestCase::new(scenario.name.clone(), status);
    case.set_classname(scenario.file.clone()).set_time(Duration::from_millis(scenario.duration_ms));
    case
}

fn contract_suite(record: &RunRecord) -> TestSuite {
    let mut suite = TestSuite::new("contract");
    for rule in &record.contract {
        let status = if let Some(reason) = &rule.known {
            let mut status = TestCaseStatus::skipped();
            status.set_type("known failure").set_message(reason.clone());
            status
        } else if rule.fails() {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("contract").set_message(counted(rule.breaches.len(), "breach", "breaches"));
            let seen = |b: &Breach| format!("{} {} {}: {}", b.scenario, b.object, b.path, shortened(&b.seen, LONGEST));
            let lines = rule.breaches.iter().map(seen);
            status.set_description(lines.collect::<Vec<_>>().join("\n"));
            status
        } else {
            TestCaseStatus::success()
        };
        suite.add_test_case(TestCase::new(rule.name.clone(), status));
    }
    suite
}

fn known_suite(record: &RunRecord) -> TestSuite {
    let mut suite = TestSuite::new("known-failures");
    for known in &record.known_failures {
        let Some(complaint) = known.complaint() else { continue };
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let kind = if known.state == KnownState::Expired { "expired" } else { "unexpected pass" };
        status.set_type(kind).set_message(complaint);
        suite.add_test_case(TestCase::new(known.entry.place.clone(), status));
    }
    suite
}
