//! The failures of a first run as a file of known failures.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::record::{Finding, Outcome, RunRecord, ScenarioRecord, Severity, repeat_of};
use crate::terminal::printable;

/// A file for `run --known-failures`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    api_version: &'static str,
    kind: &'static str,
    failures: Vec<Entry<'a>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expectation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<&'a str>,
    reason: String,
    expires: &'a str,
}

/// Longer reasons are cut: the record has the rest.
const REASON: usize = 160;

const HEAD: &str = "\
# What fails today and is not mended at once. Each entry ends on its day, and whatever it names must fail until then:
# what passes has to be taken out. Give each the number of its issue, and a day on which it will be mended.
";

/// The file for what fails in a run, each until the same day: everything that failed first in its step, so that whatever fails
/// beside it is news. Of a run in which nothing failed, or of none, it is empty.
///
/// # Errors
/// If a value has no YAML form.
pub fn render(record: Option<&RunRecord>, until: &str) -> Result<String, String> {
    let failures: BTreeSet<Entry<'_>> = record.map(|record| entries(record, until)).unwrap_or_default();
    let file =
        File { api_version: "gateproof.dev/v1alpha1", kind: "KnownFailures", failures: failures.into_iter().collect() };
    let options = serde_yaml::ser_options! { prefer_block_scalars: false };
    let text = serde_yaml::to_string_with_options(&file, options).map_err(|error| error.to_string())?;
    Ok(format!("{HEAD}{text}"))
}

fn entries<'a>(record: &'a RunRecord, until: &'a str) -> BTreeSet<Entry<'a>> {
    let failed = |scenario: &&ScenarioRecord| matches!(scenario.outcome, Outcome::Failed | Outcome::Late);
    let mut entries = BTreeSet::new();
    let mut named = BTreeSet::new();
    for scenario in record.scenarios.iter().filter(failed) {
        let (name, _) = repeat_of(&scenario.name);
        let failures: Vec<&Finding> = scenario.findings.iter().filter(|f| f.severity == Severity::Failure).collect();
        // What follows from another failure of its step is known with that one.
        let follows = |finding: &Finding| {
            finding.consequence && failures.iter().any(|first| !first.consequence && step(first) == step(finding))
        };
        for finding in failures.iter().filter(|finding| !follows(finding)) {
            // Repeats see the same in other words.
            if named.insert((name, finding.expectation.as_str())) {
                entries.insert(Entry {
                    scenario: Some(name),
                    expectation: Some(&finding.expectation),
                    contract: None,
                    reason: reason(&format!("expected {}; saw {}", finding.expected, finding.seen)),
                    expires: until,
                });
            }
        }
    }
    for rule in record.contract.iter().filter(|rule| rule.fails()) {
        let first = &rule.breaches[0];
        entries.insert(Entry {
            scenario: None,
            expectation: None,
            contract: Some(&rule.name),
            reason: reason(&format!("{} {}: {}", first.object, first.path, first.seen)),
            expires: until,
        });
    }
    entries
}

/// `steps[4` of `steps[4].settle.…`.
fn step(finding: &Finding) -> &str {
    finding.expectation.split(']').next().unwrap_or_default()
}

fn reason(text: &str) -> String {
    let text = printable(text);
    let mut short: String = text.chars().take(REASON).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
