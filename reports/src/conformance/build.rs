//! A ConformanceReport from a run record.

use std::collections::BTreeSet;
use std::fmt;

use super::types::{ConformanceReport, Extended, Implementation, ProfileReport, Statistics, Status, TestResult};
use crate::record::{Outcome, RunRecord, ScenarioRecord, repeat_of};

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

/// A scenario that could have been run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The features that it needs.
    pub features: Vec<String>,
}

/// A profile that a report says nothing about, although scenarios of it were run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Name of the profile.
    pub profile: String,
    /// Why.
    pub why: Why,
}

/// Why nothing is said of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The target is not held to these of its core features, so nobody asks.
    Unclaimed(Vec<String>),
    /// No scenario needs these of its core features, so nothing is known of them.
    Untried(Vec<String>),
    /// One of its scenarios is inconclusive.
    Inconclusive,
    /// The target's definitions are of another release, as said here: whoever reads a report takes them for that of its results.
    Chosen(String),
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Unclaimed(features) => write!(f, "{} ({} not claimed)", self.profile, features.join(", ")),
            Why::Untried(features) => write!(f, "{} (no scenario is about {})", self.profile, features.join(", ")),
            Why::Chosen(definitions) => {
                write!(f, "{} (judged by a chosen release; the definitions are of {definitions})", self.profile)
            }
            Why::Inconclusive => write!(f, "{} (a scenario of it is inconclusive)", self.profile),
        }
    }
}

/// The report of a run, one entry for each profile that has a counted scenario, in the order of `profiles`, and the
/// profiles that nothing can be said of.
///
/// What the selection left out counts as skipped, as in upstream's suite. A scenario that was repeated counts once, by its
/// worst end. Contract findings are never counted.
pub fn build(
    record: &RunRecord,
    left_out: &[LeftOut],
    profiles: &[ProfileRule],
    implementation: Identity,
    mode: Mode,
) -> (ConformanceReport, Vec<Withheld>) {
    let mut withheld = Vec::new();
    let mut reports = Vec::new();
    for rule in profiles {
        match profile(record, left_out, rule) {
            Built::Report(report) => reports.push(*report),
            Built::Withheld(why) => withheld.push(Withheld { profile: rule.name.clone(), why }),
            Built::Empty => {}
        }
    }
    let report = ConformanceReport {
        api_version: "gateway.networking.k8s.io/v1".to_owned(),
        date: record.date.clone(),
        gateway_api_channel: record.target.gateway_api_channel.clone(),
        gateway_api_version: record.target.gateway_api_version.clone().unwrap_or_default(),
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
    Withheld(Why),
    Empty,
}

fn profile(record: &RunRecord, left_out: &[LeftOut], rule: &ProfileRule) -> Built {
    let (mut core, mut extended) = (Tally::default(), Tally::default());
    for scenario in record.scenarios.iter().filter(|one| rule.counts(&one.features)) {
        let tally = if rule.is_core(&scenario.features) { &mut core } else { &mut extended };
        tally.count(scenario);
    }
    if core.is_empty() && extended.is_empty() {
        return Built::Empty;
    }
    if let Some(definitions) = &record.target.definitions {
        return Built::Withheld(Why::Chosen(definitions.clone()));
    }
    let claimed: BTreeSet<&String> = record.target.features.iter().collect();
    let core_without = |of: &BTreeSet<&String>| -> Vec<String> {
        rule.core.iter().filter(|feature| !of.contains(feature)).cloned().collect()
    };
    let unclaimed = core_without(&claimed);
    if !unclaimed.is_empty() {
        return Built::Withheld(Why::Unclaimed(unclaimed));
    }
    let could_run =
        record.scenarios.iter().filter(|one| one.outcome != Outcome::NotSupported).map(|one| &*one.features);
    let all = could_run.chain(left_out.iter().map(|one| &*one.features));
    let untried = core_without(&all.filter(|features| rule.counts(features)).flatten().collect());
    if !untried.is_empty() {
        return Built::Withheld(Why::Untried(untried));
    }
    if core.is_inconclusive || extended.is_inconclusive {
        return Built::Withheld(Why::Inconclusive);
    }
    for scenario in left_out.iter().filter(|one| rule.counts(&one.features)) {
        let tally = if rule.is_core(&scenario.features) { &mut core } else { &mut extended };
        tally.skipped.insert(scenario.name.clone());
    }
    let extended = (!extended.is_empty()).then(|| extended.status());
    let core = core.status();
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

impl ProfileRule {
    pub(crate) fn counts(&self, features: &[String]) -> bool {
        features.iter().all(|f| self.core.contains(f) || self.extended.contains(f))
    }

    pub(crate) fn is_core(&self, features: &[String]) -> bool {
        features.iter().all(|f| self.core.contains(f))
    }
}

/// Names of scenarios by how they ended.
#[derive(Default)]
struct Tally {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    skipped: BTreeSet<String>,
    is_inconclusive: bool,
}

impl Tally {
    fn count(&mut self, scenario: &ScenarioRecord) {
        // Executions after the first have a number behind the name.
        let name = repeat_of(&scenario.name).0.to_owned();
        match scenario.outcome {
            Outcome::Passed => drop(self.passed.insert(name)),
            // That the user expects it changes nothing for whoever reads the report.
            Outcome::Failed | Outcome::Late | Outcome::KnownFailure => drop(self.failed.insert(name)),
            Outcome::Skipped => drop(self.skipped.insert(name)),
            Outcome::Inconclusive => self.is_inconclusive = true,
            Outcome::NotSupported => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.passed.is_empty() && self.failed.is_empty() && self.skipped.is_empty() && !self.is_inconclusive
    }

    fn status(self) -> Status {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let skipped: BTreeSet<String> = self.skipped.difference(&self.failed).cloned().collect();
        let passed = self.passed.iter().filter(|name| !self.failed.contains(*name) && !skipped.contains(*name)).count();
        let statistics =
            Statistics { failed: count(self.failed.len()), passed: count(passed), skipped: count(skipped.len()) };
        Status {
            failed_tests: self.failed.into_iter().collect(),
            result: statistics.result(),
            skipped_tests: skipped.into_iter().collect(),
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
