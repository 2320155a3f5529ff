//! A closed log, judged again. The same path as in the run: the judge folds over the same events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::RunRecord;

use super::options::DEFAULT_MAX_PROBES;
use super::record::{self, End, Entry, events_of};
use crate::judge::contract::Contract;
use crate::judge::{Context, Judge};
use crate::log::{Bindings, Body, Event, RunStarted, Scope};
use crate::scenario::{Channel, Scenario, bind};

/// Why a log cannot be judged again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It does not begin as logs do.
    #[error("the log does not begin with the start of a run")]
    NoStart,
    /// It is of another format.
    #[error("the log is of format {found}; this version reads format {known}")]
    Format {
        /// In the log.
        found: u32,
        /// Known.
        known: u32,
    },
    /// It was not closed: a report of it would say more than is known.
    #[error("the log was not closed: the run was killed before it ended")]
    Open,
    /// A version in it is none.
    #[error("{0}")]
    Version(String),
    /// Names that do not fit the manifest.
    #[error("scenario {scenario} does not fit the recorded names: {error}")]
    Bind {
        /// Which scenario.
        scenario: String,
        /// What is wrong.
        error: String,
    },
}

/// Judges every recorded execution of the given scenarios.
///
/// # Errors
/// If the log is not closed, of another format, or does not fit the scenarios.
pub fn replay(events: &[Event], scenarios: &[Scenario], contract: &Arc<Contract>) -> Result<RunRecord, ReplayError> {
    let started = start_of(events)?;
    let Some(Body::RunEnded { interrupted }) = events.last().map(|event| &event.body) else {
        return Err(ReplayError::Open);
    };
    let version = started.gateway_api_version.parse().map_err(ReplayError::Version)?;
    let channel = if started.gateway_api_channel == "experimental" { Channel::Experimental } else { Channel::Standard };
    let by_name: BTreeMap<&str, &Scenario> = scenarios.iter().map(|s| (s.name.as_str(), s)).collect();
    let mut ended: Vec<(u64, Duration)> = Vec::new();
    let mut entries = Vec::new();
    for (begun, name, bindings) in executions(events) {
        let Some(scenario) = by_name.get(bindings.scenario.as_str()) else { continue };
        let context = Context {
            timing: started.timing.clone(),
            contract: Arc::clone(contract),
            version,
            channel,
            controller_name: started.controller_name.clone(),
            slowest_settle: ended
                .iter()
                .filter(|(seq, _)| *seq < begun)
                .map(|(_, took)| *took)
                .max()
                .unwrap_or_default(),
            max_probes: DEFAULT_MAX_PROBES,
        };
        let bound = bind(scenario, bindings)
            .map_err(|error| ReplayError::Bind { scenario: scenario.name.clone(), error: error.to_string() })?;
        let mut judge = Judge::new(Arc::new(bound), context);
        for event in events_of(events, &name) {
            judge.observe(event);
        }
        let verdict = judge.verdict();
        ended.push((end_of(events, &name), verdict.slowest_settle));
        let scenario = Arc::new((*scenario).clone());
        entries.push(Entry { name, scenario, end: End::Judged(Box::new(verdict)) });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let durations = record::durations(events);
    let records = entries
        .iter()
        .map(|entry| record::scenario_record(entry, durations.get(&entry.name).copied().unwrap_or_default()))
        .collect();
    let verdicts: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.end {
            End::Judged(verdict) => Some((Arc::clone(&entry.name), &**verdict)),
            End::NotRun { .. } => None,
        })
        .collect();
    let contract = record::contract_records(contract, version, &started.controller_name, events, &verdicts);
    Ok(record::run_record(started, events, records, contract, *interrupted))
}

fn start_of(events: &[Event]) -> Result<&RunStarted, ReplayError> {
    match events.first().map(|event| &event.body) {
        Some(Body::RunStarted(started)) if started.format == record::LOG_FORMAT => Ok(started),
        Some(Body::RunStarted(started)) => {
            Err(ReplayError::Format { found: started.format, known: record::LOG_FORMAT })
        }
        _ => Err(ReplayError::NoStart),
    }
}

/// Every execution with the position of its first event, in order.
fn executions(events: &[Event]) -> impl Iterator<Item = (u64, Arc<str>, &Bindings)> {
    events.iter().filter_map(|event| match (&event.scope, &event.body) {
        (Scope::Scenario(name), Body::ScenarioStarted(bindings)) => Some((event.seq, Arc::clone(name), &**bindings)),
        _ => None,
    })
}

fn end_of(events: &[Event], name: &str) -> u64 {
    let ends = |event: &&Event| matches!((&event.scope, &event.body), (Scope::Scenario(own), Body::ScenarioEnded(_)) if &**own == name);
    events.iter().find(ends).map_or(u64::MAX, |event| event.seq)
}
