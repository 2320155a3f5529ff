//! What is wrong in a run as commands of GitHub's workflows, which shows each beside the run.

use std::borrow::Cow;
use std::fmt::Write;

use crate::record::{Outcome, RunRecord, Severity};
use crate::terminal::{self, LONGEST, printable};
use crate::words::shortened;

/// More of one kind are not shown for a step.
const SHOWN: usize = 10;

/// One command a line: an error for what fails the run, a warning for what could not be tested. Where there are more than are
/// shown, the last one says how many.
pub fn render(record: &RunRecord) -> String {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    for scenario in &record.scenarios {
        let first = scenario.findings.iter().find(|finding| finding.severity == Severity::Failure);
        let why = first.map(|finding| format!("expected {}; saw {}", finding.expected, finding.seen));
        let why = why.or_else(|| scenario.reasons().map(Cow::into_owned)).unwrap_or_default();
        match scenario.outcome {
            Outcome::Failed | Outcome::Late => errors.push((scenario.name.clone(), why)),
            Outcome::Inconclusive => warnings.push((scenario.name.clone(), why)),
            Outcome::Passed | Outcome::KnownFailure | Outcome::Skipped | Outcome::NotSupported => {}
        }
    }
    for rule in record.contract.iter().filter(|rule| rule.fails()) {
        let first = &rule.breaches[0];
        errors.push((rule.name.clone(), format!("{} {}: {}", first.object, first.path, first.seen)));
    }
    let stale = record.known_failures.iter().filter_map(terminal::stale);
    errors.extend(stale.map(|line| ("known failures".to_owned(), line)));
    let mut out = String::new();
    for (command, all) in [("error", errors), ("warning", warnings)] {
        let shown = if all.len() > SHOWN { SHOWN - 1 } else { all.len() };
        for (title, why) in &all[..shown] {
            let _ = writeln!(out, "::{command} title={}::{}", property(title), data(&shortened(why, LONGEST)));
        }
        if shown < all.len() {
            let _ = writeln!(out, "::{command} title=gateproof::and {} more in the summary", all.len() - shown);
        }
    }
    out
}

/// Text that others chose, so that it ends no command and begins none.
fn data(text: &str) -> String {
    printable(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
