//! A ConformanceReport from a run record.

use std::collections::BTreeSet;

use super::types::{ConformanceReport, Extended, Implementation, ProfileReport, Statistics, Status, TestResult};
use crate::record::{Outcome, RunRecord, ScenarioRecord};

/// Which features make up a profile. Upstream's rule: a test belongs to every profile whose features hold all of its
/// own, and is extended there as soon as one of them is not core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileRule {
    /// Such as `GATEWAY-HTTP`.
    pub name: String,
    /// Core features.
    pub core: BTreeSet<String>,
    /// Extended features.
    pub extended: BTreeSet<String>,
}

/// Who was tested, as the user says.
pub type Identity = Implementation;

/// The free word that a report carries as its mode.
pub type Mode = String;

/// The report of a run, one entry for each profile that has a counted scenario, in the order of `profiles`.
///
/// A profile with an inconclusive scenario is withheld: its name is returned in the second place, and nothing about it is
/// in the report. Contract findings are never counted.
pub fn build(
    record: &RunRecord,
    profiles: &[ProfileRule],
    implementation: Identity,
    mode: Mode,
) -> (ConformanceReport, Vec<String>) {
    let mut withheld = Vec::new();
    let mut reports = Vec::new();
    for rule in profiles {
        match profile(record, rule) {
            Built::Report(report) => reports.push(*report),
            Built::Withheld => withheld.push(rule.name.clone()),
            Built::Empty => {}
        }
    }
    let report = ConformanceReport {
        api_version: "gateway.networking.k8s.io/v1".to_owned(),
        date: record.date.clone(),
        gateway_api_channel: Some(record.target.gateway_api_channel.clone()),
        gateway_api_version: record.target.gateway_api_version.clone(),
        implementation,
        kind: "ConformanceReport".to_owned(),
        mode: Some(mode),
        profiles: reports,
        succeeded_provisional_tests: Vec::new(),
    };
    (report, withheld)
}

enum Built {
    Report(Box<ProfileReport>),
    Withheld,
    Empty,
}

fn profile(record: &RunRecord, rule: &ProfileRule) -> Built {
    let (mut core, mut extended) = (Tally::default(), Tally::default());
    for scenario in &record.scenarios {
        let inside = scenario.features.iter().all(|f| rule.core.contains(f) || rule.extended.contains(f));
        if !inside || scenario.outcome == Outcome::NotSupported {
            continue;
        }
        if scenario.outcome == Outcome::Inconclusive {
            return Built::Withheld;
        }
        let is_core = scenario.features.iter().all(|f| rule.core.contains(f));
        if is_core { core.count(scenario) } else { extended.count(scenario) }
    }
    if core.total() + extended.total() == 0 {
        return Built::Empty;
    }
    let core = core.status();
    let extended = (extended.total() > 0).then(|| extended.status());
    let claimed: BTreeSet<&String> = record.target.features.iter().collect();
    let summary = Some(summarise(&core, extended.as_ref()));
    let extended = extended.map(|status| Extended {
        failed_tests: status.failed_tests,
        result: status.result,
        skipped_tests: status.skipped_tests,
        statistics: status.statistics,
        status: None,
        summary: None,
        supported_features: rule.extended.iter().filter(|f| claimed.contains(f)).cloned().collect(),
        unsupported_features: rule.extended.iter().filter(|f| !claimed.contains(f)).cloned().collect(),
    });
    Built::Report(Box::new(ProfileReport { core, extended, name: rule.name.clone(), summary }))
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: BTreeSet<String>,
    skipped: BTreeSet<String>,
}

impl Tally {
    fn count(&mut self, scenario: &ScenarioRecord) {
        match scenario.outcome {
            Outcome::Passed => self.passed += 1,
            // That the user expects it changes nothing for whoever reads the report.
            Outcome::Failed | Outcome::Late | Outcome::KnownFailure => {
                self.failed.insert(scenario.name.clone());
            }
            Outcome::Skipped => {
                self.skipped.insert(scenario.name.clone());
            }
            Outcome::Inconclusive | Outcome::NotSupported => {}
        }
    }

    fn total(&self) -> usize {
        self.passed as usize + self.failed.len() + self.skipped.len()
    }

    fn status(self) -> Status {
        let count = |set: &BTreeSet<String>| u32::try_from(set.len()).unwrap_or(u32::MAX);
        let statistics = Statistics { failed: count(&self.failed), passed: self.passed, skipped: count(&self.skipped) };
        Status {
            failed_tests: self.failed.into_iter().collect(),
            result: statistics.result(),
            skipped_tests: self.skipped.into_iter().collect(),
            statistics,
            summary: None,
        }
    }
}

fn summarise(core: &Status, extended: Option<&Status>) -> String {
    let sentence = |name: &str, status: &Status| match status.result {
        TestResult::Success => format!("{name} tests succeeded."),
        TestResult::Partial => {
            format!("{name} tests partially succeeded with {} test skips.", status.statistics.skipped)
        }
        TestResult::Failure => format!("{name} tests failed with {} test failures.", status.statistics.failed),
    };
    let core = sentence("Core", core);
    extended.map_or_else(|| core.clone(), |status| format!("{core} {}", sentence("Extended", status)))
}
