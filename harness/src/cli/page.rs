//! `report.html`: what of a run's log goes into its page.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gateproof_report::diff::Diff;
use gateproof_report::html::{About, Clause, Page};
use gateproof_report::record::RunRecord;
use gateproof_report::terminal::printable;

use super::belongs::is_of;
use super::evidence::Collector;
use super::log_file::{events_so_far, is_streamed};
use super::output::tell;
use super::profiles::profile_rules;
use super::{Failure, diagnose};
use crate::log::Body;
use crate::suite::{Said, Suite};

/// The page of a run, with what its log says, or those of its parts, if there are any.
pub(super) fn page(record: &RunRecord, logs: &[PathBuf], news: Option<Diff>) -> Result<String, Failure> {
    let internal = |error: serde_json::Error| {
        Failure::environment(error.to_string(), "this is a mistake of gateproof; please report it")
    };
    let mut page = Page::of(record, about(record, news)?).map_err(internal)?;
    for log in logs.iter().filter(|log| !is_streamed(log)) {
        let (mut collector, mut is_whole) = (Collector::default(), false);
        let mut is_known = false;
        events_so_far(log, |event| {
            if !is_known {
                is_of(log, Some(&event.body), record)?;
                is_known = true;
            }
            is_whole = matches!(event.body, Body::RunEnded { .. });
            match collector.event(event) {
                Some((name, evidence)) => page.put(&name, evidence).map_err(internal),
                None => Ok(()),
            }
        })?;
        if !is_whole {
            let log = log.to_string_lossy();
            tell!("{}: the log was cut off, and the page has no evidence from there on", printable(&log));
        }
    }
    page.render().map_err(internal)
}

fn about(record: &RunRecord, news: Option<Diff>) -> Result<About, Failure> {
    let target = &record.target;
    let release = target.gateway_api_version.as_deref();
    Ok(About {
        clauses: clauses(record),
        profiles: release.map(profile_rules).unwrap_or_default(),
        diagnosis: diagnose::lines_after(record)?,
        news,
    })
}

/// What the clauses say that the record names. Those of a dialect of the user's own are not at hand.
fn clauses(record: &RunRecord) -> Vec<Clause> {
    let Some(Ok(suite)) = Suite::named_in(&record.target.dialect, record.target.edition.as_deref()) else {
        return Vec::new();
    };
    let proven = record.scenarios.iter().flat_map(|one| one.proves.iter());
    let broken = record.scenarios.iter().flat_map(|one| &one.findings).flat_map(|one| &one.clauses);
    let of_rules = record.contract.iter().flat_map(|rule| &rule.clauses);
    let named: BTreeSet<&String> = proven.chain(broken).chain(of_rules).collect();
    let clause = |id: &String| {
        let Said { level, text, source } = suite.said(id)?;
        Some(Clause { id: id.clone(), level, text, source })
    };
    named.into_iter().filter_map(clause).collect()
}
