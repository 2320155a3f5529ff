//! What a target that fails behaves like, by the faults that are known. Pure.
//!
//! The kill matrix proves of every fault which expectations fail first under it, and that all of them carry a clause that it
//! declares or are known to follow from it. Read the other way round, that says which faults a failure may come from, and which
//! failures a fault would have caused and are missing. The causes that are named are few that explain most of the failures;
//! where none do, nothing is named but what comes near.

mod evidence;
mod measure;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use gateproof_report::record::RunRecord;
use gateproof_testbed::KnownFault;
use schemars::JsonSchema;
use serde::Serialize;

use crate::kill::ShownBy;
use crate::scenario::suggest;
use evidence::{Seen, Suspect};
pub use measure::{Measured, Tally};

/// Causes are named if they explain this many of a hundred failures.
const EXPLAINED: usize = 80;
/// How much heavier what is missing weighs than what is explained.
const WEIGHT: usize = 4;
/// How many causes are named as near, if none fits.
const NEAR: usize = 3;

/// What a run that failed looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// How many scenarios and rules of the contract failed.
    pub failures: usize,
    /// How many of them the causes explain.
    pub explained: usize,
    /// Whether the causes explain enough to be believed; if not they only come near.
    pub fits: bool,
    /// A few faults that explain most, the best first.
    pub causes: Vec<Cause>,
    /// Scenarios and rules that failed and that none of them explains.
    pub unexplained: Vec<String>,
    /// Of how many of the known faults nothing can be said, since no scenario that shows them came to a verdict.
    pub untried: usize,
}

/// A way to behave that explains failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The fault of the reference that behaves so.
    pub fault: String,
    /// Others that would look the same in this run.
    pub alike: Vec<String>,
    /// What it does, as one sentence.
    pub summary: String,
    /// Where such a mistake of a real controller was reported.
    pub reported: Vec<String>,
    /// Scenarios and rules that failed as they would under it.
    pub explains: Vec<String>,
    /// Those that would have failed under it, and passed.
    pub missing: Vec<String>,
    /// Why it is not sure enough to be named, if it only comes near.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// Why a fault is not sure enough to be named as a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Doubt {
    /// More than half of what shows it was not run, and might speak against it: these scenarios.
    NotRun(Vec<String>),
    /// Of what shows it half or more failed somewhere else, so that it cannot be told.
    FailedElsewhere,
    /// Too much of what it explains is tied to it by no more than a clause that it breaks.
    ByClausesAlone {
        /// How many failures are tied to it by more.
        known: usize,
    },
}

impl Diagnosis {
    /// Of a run of a dialect whose reference has these faults; nothing if nothing failed.
    pub fn of(record: &RunRecord, faults: &[KnownFault], shown_by: &ShownBy) -> Option<Diagnosis> {
        Diagnosis::of_seen(&Seen::of(record), faults, shown_by)
    }

    /// Of a part of what failed by itself: scenarios and rules whose names fit one of the patterns, in which `*` stands for any
    /// characters. Of a target with many mistakes that tells more than all at once. What else failed says nothing then, and what passed
    /// speaks against a cause as ever.
    ///
    /// # Errors
    ///
    /// Nothing fits a pattern that failed.
    pub fn only(
        record: &RunRecord,
        patterns: &[String],
        faults: &[KnownFault],
        shown_by: &ShownBy,
    ) -> Result<Option<Diagnosis>, NothingFailed> {
        let mut seen = Seen::of(record);
        seen.ask_only(patterns).map_err(|pattern| {
            let near = suggest(pattern, Seen::of(record).failures().into_iter()).map(str::to_owned);
            NothingFailed { pattern: pattern.to_owned(), near }
        })?;
        Ok(Diagnosis::of_seen(&seen, faults, shown_by))
    }

    fn of_seen(seen: &Seen<'_>, faults: &[KnownFault], shown_by: &ShownBy) -> Option<Diagnosis> {
        if seen.failures().is_empty() {
            return None;
        }
        let mut suspects: Vec<Suspect<'_>> =
            faults.iter().filter_map(|fault| Suspect::of(fault, shown_by, seen)).collect();
        suspects.retain(Suspect::is_likely);
        let all = seen.failures();
        // What is not sure enough to be named may still come near.
        let likely: Vec<&Suspect<'_>> = suspects.iter().collect();
        let sure: Vec<&Suspect<'_>> = suspects.iter().filter(|one| one.is_sure()).collect();
        let mut chosen = fewest(&sure);
        let fits = explained(&chosen).len() * 100 >= EXPLAINED * all.len();
        if !fits {
            chosen = fewest(&likely);
            chosen.truncate(NEAR);
        }
        let explained = explained(&chosen);
        let is_untried = |fault: &&KnownFault| !shown_by.of(fault.name).iter().any(|one| seen.has_run(&one.scenario));
        Some(Diagnosis {
            untried: faults.iter().filter(is_untried).count(),
            failures: all.len(),
            explained: explained.len(),
            fits,
            causes: chosen.iter().map(|one| cause(one, &likely)).collect(),
            unexplained: all.iter().filter(|name| !explained.contains(*name)).map(|name| (*name).to_owned()).collect(),
        })
    }
}

/// A part of what failed was asked about, and nothing that failed is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("nothing that fits `{pattern}` failed{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
pub struct NothingFailed {
    /// The pattern.
    pub pattern: String,
    /// What failed and has nearly this name.
    pub near: Option<String>,
}

/// What any of them explains.
fn explained<'a>(suspects: &[&Suspect<'a>]) -> BTreeSet<&'a str> {
    suspects.iter().flat_map(|one| one.explains.iter().copied()).collect()
}

/// A few suspects that together explain what all of them explain, the one that explains most first.
fn fewest<'a, 'b>(suspects: &[&'a Suspect<'b>]) -> Vec<&'a Suspect<'b>> {
    let mut open = explained(suspects);
    let mut chosen: Vec<&'a Suspect<'b>> = Vec::new();
    while !open.is_empty() {
        let worth = |one: &&&Suspect<'_>| {
            let new = |names: &BTreeSet<&str>| names.iter().filter(|name| open.contains(*name)).count();
            // What is named for a fault weighs twice. What it would have caused and is missing weighs more than what it explains.
            let (for_it, against) = (new(&one.explains) + new(&one.named), WEIGHT * one.missing.len());
            (for_it.cast_signed() - against.cast_signed(), Reverse(one.fault.clauses.len()), Reverse(one.fault.name))
        };
        let best = suspects.iter().filter(|one| one.explains.iter().any(|name| open.contains(name))).max_by_key(worth);
        let Some(best) = best.copied() else { break };
        open.retain(|name| !best.explains.contains(name));
        chosen.push(best);
    }
    // A later one may explain all that an earlier one does.
    let mut index = 0;
    while index < chosen.len() {
        let others: BTreeSet<&str> = chosen
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != index)
            .flat_map(|(_, one)| one.explains.iter().copied())
            .collect();
        if chosen[index].explains.iter().all(|name| others.contains(name)) {
            chosen.remove(index);
        } else {
            index += 1;
        }
    }
    chosen.sort_by_key(|one| Reverse(one.explains.len()));
    chosen
}

fn cause(one: &Suspect<'_>, all: &[&Suspect<'_>]) -> Cause {
    let is_alike = |other: &&&Suspect<'_>| other.fault.name != one.fault.name && other.looks_like(one);
    let text = |names: &BTreeSet<&str>| names.iter().map(|name| (*name).to_owned()).collect();
    Cause {
        fault: one.fault.name.to_owned(),
        alike: all.iter().filter(is_alike).map(|other| other.fault.name.to_owned()).collect(),
        summary: one.fault.summary.to_owned(),
        reported: one.fault.reported.iter().map(|url| (*url).to_owned()).collect(),
        explains: text(&one.explains),
        missing: text(&one.missing),
        doubt: one.doubt(),
    }
}

#[cfg(test)]
mod tests;
