//! A run held against a ConformanceReport of upstream's suite, upstream test by upstream test.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::conformance::{ConformanceReport, ProfileReport, ProfileRule};
use crate::record::{Outcome, RunRecord, ScenarioRecord, Severity};

/// A test of upstream's suite, as the release of the published report has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its short name.
    pub name: String,
    /// The features that it needs.
    pub features: Vec<String>,
}

/// What the published report says of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Published {
    /// It was counted, and is in no list of tests that failed or were left out.
    Passed,
    /// It failed.
    Failed,
    /// It was left out.
    Skipped,
}

/// What the run says of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Here {
    /// Every scenario that proves it passed.
    Passed,
    /// A scenario failed at an expectation that proves it.
    Failed,
    /// A scenario that proves it failed, at an expectation that asks for something else.
    FailedElsewhere,
    /// A scenario that proves it is inconclusive, and none failed.
    Inconclusive,
    /// The scenarios that prove it were left out, or have no meaning on the target.
    NotRun,
    /// No scenario of the run proves it.
    NotTested,
}

/// How the two stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Agreement {
    /// Both passed it, or both failed it.
    Agrees,
    /// One passed it and one failed it.
    Disagrees,
    /// What the test asks for was not found wanting here, but something beside it in the same scenario was.
    Stricter,
    /// One of them says nothing of it.
    Open,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// Its short name.
    pub test: String,
    /// What the published report says.
    pub published: Published,
    /// What the run says.
    pub here: Here,
    /// How the two stand to each other.
    pub agreement: Agreement,
    /// The scenarios that decide what the run says, sorted.
    pub scenarios: Vec<String>,
}

/// A profile of which the published report counts another number of tests than are known by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Miscount {
    /// Such as `GATEWAY-HTTP`.
    pub profile: String,
    /// How many tests its statistics count.
    pub counted: u32,
    /// How many tests its features select.
    pub known: u32,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Every test that the published report speaks of, in order of name.
    pub tests: Vec<Line>,
    /// Profiles whose tests are not all known by name, or too many of them.
    pub miscounts: Vec<Miscount>,
}

impl Comparison {
    /// How many tests stand so.
    pub fn count(&self, agreement: Agreement) -> usize {
        self.tests.iter().filter(|line| line.agreement == agreement).count()
    }
}

/// Holds a run against a published report. A report names only the tests that did not pass; those that ran are known by
/// their features, of which `tests` must be the table of the report's release.
pub fn compare(
    record: &RunRecord,
    published: &ConformanceReport,
    tests: &[Test],
    profiles: &[ProfileRule],
) -> Comparison {
    let held = profiles.iter().filter_map(|rule| {
        let report = published.profiles.iter().find(|report| report.name == rule.name)?;
        Some((rule, report))
    });
    let held: Vec<(&ProfileRule, &ProfileReport)> = held.collect();
    let claimed = claimed(&held);
    let selected = |test: &Test| test.features.iter().all(|feature| claimed.contains(feature.as_str()));
    let counts = |rule: &ProfileRule, test: &Test| {
        selected(test) && test.features.iter().all(|f| rule.core.contains(f) || rule.extended.contains(f))
    };
    let mut lines: Vec<Line> = tests
        .iter()
        .filter(|test| {
            held.iter().any(|(rule, _)| counts(rule, test))
                || published.succeeded_provisional_tests.contains(&test.name)
        })
        .map(|test| line(record, &held, &test.name))
        .collect();
    lines.sort_by(|a, b| a.test.cmp(&b.test));
    let miscounts = held.iter().filter_map(|(rule, report)| {
        let known = tests.iter().filter(|test| counts(rule, test)).count();
        let known = u32::try_from(known).unwrap_or(u32::MAX);
        let counted = counted(report);
        (known != counted).then(|| Miscount { profile: rule.name.clone(), counted, known })
    });
    Comparison { miscounts: miscounts.collect(), tests: lines }
}

/// Core features of the profiles that were tested, and extended ones that were claimed.
fn claimed<'a>(held: &[(&'a ProfileRule, &'a ProfileReport)]) -> BTreeSet<&'a str> {
    let core = held.iter().flat_map(|(rule, _)| &rule.core);
    let extended = held.iter().filter_map(|(_, report)| report.extended.as_ref());
    core.chain(extended.flat_map(|extended| &extended.supported_features)).map(String::as_str).collect()
}

fn counted(report: &ProfileReport) -> u32 {
    let extended = report.extended.as_ref().map(|extended| extended.status().statistics);
    let all = std::iter::once(report.core.statistics).chain(extended);
    all.map(|statistics| statistics.passed + statistics.failed + statistics.skipped).sum()
}

fn line(record: &RunRecord, held: &[(&ProfileRule, &ProfileReport)], test: &str) -> Line {
    let published = published(held, test);
    let (here, mut scenarios) = here(record, test);
    scenarios.sort();
    let agreement = match (published, here) {
        (Published::Passed, Here::Passed) | (Published::Failed, Here::Failed) => Agreement::Agrees,
        (Published::Passed, Here::Failed) | (Published::Failed, Here::Passed) => Agreement::Disagrees,
        (Published::Passed, Here::FailedElsewhere) => Agreement::Stricter,
        _ => Agreement::Open,
    };
    Line { test: test.to_owned(), published, here, agreement, scenarios }
}

/// A test counts in several profiles; what is worst there is what is said of it.
fn published(held: &[(&ProfileRule, &ProfileReport)], test: &str) -> Published {
    let statuses = held.iter().flat_map(|(_, report)| {
        let extended = report.extended.as_ref().map(|extended| extended.status());
        std::iter::once(report.core.clone()).chain(extended)
    });
    statuses.fold(Published::Passed, |said, status| {
        let within = |list: &[String]| list.iter().any(|name| name == test);
        if said == Published::Failed || within(&status.failed_tests) {
            Published::Failed
        } else if within(&status.skipped_tests) {
            Published::Skipped
        } else {
            said
        }
    })
}

fn here(record: &RunRecord, test: &str) -> (Here, Vec<String>) {
    let clause = format!("upstream:{test}");
    let proving: Vec<&ScenarioRecord> = record.scenarios.iter().filter(|s| s.proves.contains(&clause)).collect();
    let names = |of: &dyn Fn(&ScenarioRecord) -> bool| -> Vec<String> {
        proving.iter().filter(|scenario| of(scenario)).map(|scenario| scenario.name.clone()).collect()
    };
    let has_failed = |s: &ScenarioRecord| matches!(s.outcome, Outcome::Failed | Outcome::Late | Outcome::KnownFailure);
    let fails_it = |s: &ScenarioRecord| {
        let own = s.findings.iter().filter(|f| f.severity == Severity::Failure && !f.consequence);
        has_failed(s) && own.flat_map(|finding| &finding.clauses).any(|named| *named == clause)
    };
    for here in [Here::Failed, Here::FailedElsewhere, Here::Inconclusive, Here::Passed] {
        let named = names(&|scenario| match here {
            Here::Failed => fails_it(scenario),
            Here::FailedElsewhere => has_failed(scenario),
            Here::Inconclusive => scenario.outcome == Outcome::Inconclusive,
            _ => scenario.outcome == Outcome::Passed,
        });
        if !named.is_empty() {
            return (here, named);
        }
    }
    match names(&|_| true) {
        none if none.is_empty() => (Here::NotTested, none),
        left_out => (Here::NotRun, left_out),
    }
}
