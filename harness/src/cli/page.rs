//! `report.html`: what of a run's log goes into its page.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use gateproof_report::diff::Diff;
use gateproof_report::html::{About, Clause, Page};
use gateproof_report::record::RunRecord;
use gateproof_report::terminal::printable;

use super::belongs::is_of;
use super::evidence::Collector;
use super::output::tell;
use super::profiles::profile_rules;
use super::{Failure, diagnose};
use crate::log::codec::Decoder;
use crate::log::{Body, Event};
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
        each_event(log, |event| {
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

/// Whether a log was streamed through a pipe: it is gone, and would be waited for.
pub(super) fn is_streamed(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|there| !there.is_file())
}

/// Reads a log line by line: the whole of it would take a multiple of its size. A run that was killed leaves a line without its end, which is
/// no event.
pub(super) fn each_event(log: &Path, mut take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
    let unreadable =
        |error: std::io::Error| Failure::usage(format!("cannot read {}: {error}", log.display()), "check the path");
    let mut decoder = Decoder::default();
    let mut text = BufReader::new(File::open(log).map_err(unreadable)?);
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
        let text = str::from_utf8(&line).map_err(|error| error.to_string());
        let event = text.and_then(|text| decoder.event(text.trim_end_matches('\n')).map_err(|error| error.to_string()));
        match event {
            Ok(event) => take(event)?,
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => {
                let help = "name the report directory of a run that ended";
                return Err(Failure::usage(format!("{}: {error}", log.display()), help));
            }
        }
        line.clear();
    }
    Ok(())
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
