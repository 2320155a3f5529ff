//! Judges a recorded run again: the same path, the same verdicts, with no target. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::{Finding, Outcome, RunRecord, Severity, repeat_of};
use indexmap::IndexMap;

use super::options::DEFAULT_MAX_PROBES;
use super::otherwise::otherwise;
use super::preflight::PREFLIGHT;
use super::record::{self, Alike, End, Entry, Records};
use super::releases::{Recorded as Record, Unanswered, has_meaning, release_in_words, stands, unanswered};
use super::tally::Tally;
use crate::dialects::Dialect;
use crate::judge::contract::{Contract, Watched};
use crate::judge::{Context, Judge, Verdict};
use crate::log::{Bindings, Body, Event, NotRun, RunStarted, Scope};
use crate::scenario::bind::{BindError, bind};
use crate::scenario::{Basis, Channel, Release, Scenario, Version};

/// Why a log cannot be judged again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It does not begin as a log does.
    #[error("the log does not begin with the start of a run")]
    NoStart,
    /// It was not closed.
    #[error("the log was not closed: its run did not end, or it was cut off{}", .0.iter().map(|name| format!("; {name} is open")).collect::<String>())]
    Open(Vec<String>),
    /// It is of another format.
    #[error("the log is of format {0}; this version reads format {known}", known = record::LOG_FORMAT)]
    Format(u32),
    /// Its release or channel cannot be read.
    #[error("the log names no Gateway API release and channel: {0}")]
    Bundle(String),
    /// It is of another dialect.
    #[error("the log is of the dialect `{of}`, not of `{other}`: name it with --dialect")]
    Dialect {
        /// The log's.
        of: String,
        /// The one that was meant.
        other: String,
    },
    /// It is of another edition of the dialect.
    #[error("the log is of the edition {of}, not of {other}: name it with --edition")]
    Edition {
        /// Its own.
        of: String,
        /// The one that was meant.
        other: String,
    },
    /// Its dialect has no releases.
    #[error("the log is of a dialect that has no releases")]
    NoRelease,
    /// Its scenario is not among those given.
    #[error("there is no scenario `{0}`, which the log has run")]
    Unknown(String),
    /// The manifest no longer fits the names that the log holds.
    #[error("scenario `{name}` cannot be bound as in the log: {error}")]
    Bind {
        /// Which.
        name: String,
        /// Why not.
        error: BindError,
    },
}

impl ReplayError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ReplayError::NoStart => "its beginning is gone; name the report directory of another run",
            ReplayError::Open(_) => "nothing can be made of it but what `report trace` shows; run the scenarios again",
            ReplayError::Format(_) => "read it with the gateproof that wrote it, or a newer one",
            ReplayError::Bundle(_) | ReplayError::NoRelease => "name the log of a run that was of a release",
            ReplayError::Dialect { .. } | ReplayError::Edition { .. } => {
                "leave the option out, or name what the log is of"
            }
            ReplayError::Unknown(_) | ReplayError::Bind { .. } => "name the manifests that were run with -f",
        }
    }
}

/// Judges every execution of a log again, that of `preflight` too. Scenarios that did not run then do not appear. `release` replaces the release that
/// the run had: what has no meaning there does not appear either, nor does what has to be run to be known ([`to_be_run`]), unless it
/// failed at something that is asked at both.
pub fn replay(
    events: &[Arc<Event>],
    scenarios: &[Scenario],
    contract: &Arc<Contract>,
    preflight: Option<&Scenario>,
    release: Option<Version>,
) -> Result<RunRecord, ReplayError> {
    let again = again(events, scenarios, contract, preflight, release)?;
    Ok(again.record(contract))
}

/// Everything that a log says of its run.
pub struct Rederived {
    /// The record, with the scenarios that did not run, as far as the log tells of these.
    pub record: RunRecord,
    /// Every execution.
    pub judged: Vec<Judged>,
    /// What the target was judged by.
    pub basis: Basis,
    /// The scenarios that were not selected and could have run; nothing in a log from before it was said, nor does that tell of
    /// scenarios that did not run.
    pub left_out: Option<Vec<String>>,
}

/// An execution that was judged again.
pub struct Judged {
    /// Name, with `#2` and up for repeats.
    pub name: Arc<str>,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// What became of it.
    pub verdict: Verdict,
}

/// Derives the whole of a run from its log, as the run itself did.
///
/// # Errors
/// As [`replay`].
pub fn rederive(
    events: &[Arc<Event>],
    scenarios: &[Scenario],
    contract: &Arc<Contract>,
    preflight: Option<&Scenario>,
) -> Result<Rederived, ReplayError> {
    let Again { entries, watched, tally, as_if, basis, interrupted } =
        again(events, scenarios, contract, preflight, None)?;
    let mut all = Vec::new();
    // Of one there may be hundreds.
    let mut known: HashMap<&str, Arc<Scenario>> = HashMap::new();
    for NotRun { name, outcome, reason, alike } in events.iter().filter_map(not_run).flatten() {
        let of = repeat_of(name).0;
        if !known.contains_key(of) {
            let scenario = scenarios.iter().find(|scenario| scenario.name == of);
            known.insert(of, Arc::new(scenario.ok_or_else(|| ReplayError::Unknown(name.clone()))?.clone()));
        }
        let end = End::NotRun { outcome: *outcome, reason: Arc::from(reason.as_str()), alike: *alike };
        all.push(Entry { name: Arc::from(name.as_str()), scenario: Arc::clone(&known[of]), end });
    }
    all.extend(entries);
    // The order of the run decides whose a breach is that several saw.
    all.sort_by(|a, b| {
        let place = |entry: &Entry| !matches!(entry.end, End::NotRun { .. });
        (place(a), repeat_of(&a.name)).cmp(&(place(b), repeat_of(&b.name)))
    });
    let left_out = as_if.left_out.clone();
    let judged = |entry: &Entry| {
        let verdict = entry.verdict()?.clone();
        Some(Judged { name: Arc::clone(&entry.name), scenario: Arc::clone(&entry.scenario), verdict })
    };
    let judged = all.iter().filter_map(judged).collect();
    let record = Again { entries: all, watched, tally, as_if, basis, interrupted }.record(contract);
    Ok(Rederived { judged, record, basis, left_out })
}

fn not_run(event: &Arc<Event>) -> Option<&[NotRun]> {
    match &event.body {
        Body::NotRun { scenarios } => Some(scenarios),
        _ => None,
    }
}

/// What is judged again, and as what.
struct Again {
    entries: Vec<Entry>,
    watched: Watched,
    tally: Tally,
    as_if: RunStarted,
    basis: Basis,
    interrupted: bool,
}

impl Again {
    /// The record of these entries.
    fn record(self, contract: &Contract) -> RunRecord {
        let Again { entries, watched, tally, as_if, basis, interrupted } = self;
        let rules = record::contract_records(contract, basis, tally.shared(), watched, &entries);
        let mut records = Records::default();
        for entry in entries {
            let duration = tally.duration(&entry.name);
            records.add(entry, duration);
        }
        record::run_record(&as_if, &tally, records.all(), rules, interrupted)
    }
}

fn again(
    events: &[Arc<Event>],
    scenarios: &[Scenario],
    contract: &Arc<Contract>,
    preflight: Option<&Scenario>,
    release: Option<Version>,
) -> Result<Again, ReplayError> {
    let started = started(events)?;
    if started.dialect != contract.name() {
        let (of, other) = (started.dialect.clone(), contract.name().to_owned());
        return Err(ReplayError::Dialect { of, other });
    }
    // Logs from before there were editions are of the first.
    let first = || contract.dialect().editions().first().cloned();
    let (of, other) = (started.edition.clone().or_else(first), contract.edition().map(str::to_owned));
    if let (Some(of), Some(other)) = (of, other)
        && of != other
    {
        return Err(ReplayError::Edition { of, other });
    }
    let mut executions = executions(events)?;
    let recorded = basis(started)?;
    let mut basis = recorded;
    let mut as_if = started.clone();
    let mut parted: BTreeMap<String, bool> = BTreeMap::new();
    if let Some(version) = release {
        let Release { version: before, channel } = recorded.release.ok_or(ReplayError::NoRelease)?;
        basis = Basis::release(version, channel);
        let to_be_run = to_be_run(events, scenarios, contract.dialect(), version)?;
        parted = to_be_run.into_iter().map(|one| (one.scenario, one.is_written_alike)).collect();
        let is_asked = |name: &str| {
            let scenario = scenarios.iter().find(|scenario| scenario.name == name);
            scenario.is_none_or(|scenario| has_meaning(scenario, version, channel))
        };
        let is_comparable = |name: &str| parted.get(name).is_none_or(|is_written_alike| *is_written_alike);
        executions.retain(|one| is_comparable(&one.bindings.scenario) && is_asked(&one.bindings.scenario));
        if version != before {
            let recorded = as_if.gateway_api_version.replace(version.to_string()).unwrap_or_default();
            as_if.definitions.get_or_insert(format!("{recorded} in the {} channel", channel.word()));
        }
    }
    let interrupted = match events.last().map(|event| &event.body) {
        Some(Body::RunEnded { interrupted }) => *interrupted,
        _ => return Err(ReplayError::Open(Vec::new())),
    };
    let controller = started.controller_name.clone().unwrap_or_default();
    let mut tally = Tally::new(contract, basis, &controller, &started.timing);
    let mut slowest_settle = Duration::ZERO;
    let mut entries: Vec<Entry> = Vec::new();
    let (mut alike, mut watched) = (Alike::of(started), Watched::default());
    let mut manifests: HashMap<&str, Arc<Scenario>> = HashMap::new();
    let by_start: HashMap<u64, &Recorded<'_>> = executions.iter().map(|one| (one.started, one)).collect();
    let mut open: IndexMap<&Arc<str>, Open<'_>> = IndexMap::new();
    for event in events {
        if let Some(execution) = by_start.get(&event.seq) {
            let is_preflight = **execution.name == *PREFLIGHT;
            let unknown = || ReplayError::Unknown(execution.bindings.scenario.clone());
            let scenario =
                if is_preflight { preflight } else { scenarios.iter().find(|s| s.name == execution.bindings.scenario) };
            let scenario = scenario.ok_or_else(unknown)?;
            let bound = bind(scenario, execution.bindings)
                .map_err(|error| ReplayError::Bind { name: execution.name.to_string(), error })?;
            let context = Context {
                timing: started.timing.clone(),
                contract: Arc::clone(contract),
                basis: if parted.contains_key(&execution.bindings.scenario) { recorded } else { basis },
                controller_name: controller.clone(),
                slowest_settle,
                max_probes: DEFAULT_MAX_PROBES,
            };
            let scopes = record::shared_by(execution.bindings);
            let judge = Judge::new(Arc::new(bound), context).behind(&tally.before(&scopes));
            open.insert(execution.name, Open { judge, scopes, scenario, bindings: execution.bindings });
        }
        let Scope::Scenario(name) = &event.scope else {
            tally.observe(event);
            let sharing = open.values_mut().filter(|one| one.scopes.contains(&event.scope));
            sharing.for_each(|one| one.judge.observe(event));
            continue;
        };
        tally.observe(event);
        let Some(one) = open.get_mut(name) else { continue };
        one.judge.observe(event);
        if !matches!(event.body, Body::ScenarioEnded(_)) {
            continue;
        }
        let Some(Open { judge, scenario, bindings, .. }) = open.shift_remove(name) else { continue };
        let mut verdict = judge.verdict();
        slowest_settle = slowest_settle.max(verdict.slowest_settle);
        if let (Some(wanted), true) = (release, parted.contains_key(&bindings.scenario)) {
            let Release { version, channel } = recorded.release.ok_or(ReplayError::NoRelease)?;
            let is_failure = |one: &Finding| one.severity == Severity::Failure;
            verdict.findings.retain(|one| stands(scenario, &one.expectation, (version, channel), wanted));
            if !matches!(verdict.outcome, Outcome::Failed | Outcome::Late) || !verdict.findings.iter().any(is_failure) {
                continue;
            }
        }
        if **name == *PREFLIGHT {
            // It is no part of the record, but later holds may last by its settling.
            continue;
        }
        let scenario = manifests.entry(&scenario.name).or_insert_with(|| Arc::new(scenario.clone()));
        let (name, scenario) = (Arc::clone(name), Arc::clone(scenario));
        watched.add(std::mem::take(&mut verdict.contract_watched));
        let beyond = alike.beyond(entries.len(), &name, &verdict);
        entries.push(Entry { name, scenario, end: End::Judged(Box::new(verdict)) });
        beyond.into_iter().for_each(|beyond| entries[beyond].end = End::Alike);
    }
    Ok(Again { entries, watched, tally, as_if, basis, interrupted })
}

/// An execution that is being judged again.
struct Open<'a> {
    judge: Judge,
    /// What it shares with others.
    scopes: Vec<Scope>,
    scenario: &'a Scenario,
    bindings: &'a Bindings,
}

/// What has to be run to know how the target of a log does at another release.
pub fn to_be_run(
    events: &[Arc<Event>],
    scenarios: &[Scenario],
    dialect: &Dialect,
    release: Version,
) -> Result<Vec<Unanswered>, ReplayError> {
    let log = started(events)?;
    let recorded = basis(log)?.release.ok_or(ReplayError::NoRelease)?;
    let executions = executions(events)?;
    let written_at = log.definitions.as_deref().and_then(release_in_words).unwrap_or(recorded);
    let record = Record {
        ran: executions.iter().map(|execution| execution.bindings.scenario.as_str()).collect(),
        selected: log.selected.as_ref().map(|all| all.iter().map(String::as_str).collect()),
        otherwise: otherwise(events, dialect, written_at, release),
    };
    Ok(unanswered(scenarios, &record, (recorded.version, recorded.channel), release))
}

/// The release that a log is of, as it was annotated or chosen, and what its definitions were of, if another was chosen.
pub fn releases_of(events: &[Arc<Event>]) -> Result<(&str, Option<&str>), ReplayError> {
    let started = started(events)?;
    let release = started.gateway_api_version.as_deref().ok_or(ReplayError::NoRelease)?;
    Ok((release, started.definitions.as_deref()))
}

/// How a run began.
///
/// # Errors
/// If the log does not begin with that, or is of another format.
pub fn started(events: &[Arc<Event>]) -> Result<&RunStarted, ReplayError> {
    started_by(events.first().map(|event| &event.body))
}

/// The same of the first event of a log that is read event by event.
///
/// # Errors
/// As above.
pub fn started_by(first: Option<&Body>) -> Result<&RunStarted, ReplayError> {
    let Some(Body::RunStarted(started)) = first else { return Err(ReplayError::NoStart) };
    if started.format == record::LOG_FORMAT { Ok(started) } else { Err(ReplayError::Format(started.format)) }
}

struct Recorded<'a> {
    name: &'a Arc<str>,
    bindings: &'a Bindings,
    started: u64,
}

/// The executions of a log in the order in which they ended.
fn executions(events: &[Arc<Event>]) -> Result<Vec<Recorded<'_>>, ReplayError> {
    let mut open: IndexMap<&Arc<str>, (&Bindings, u64)> = IndexMap::new();
    let mut closed = Vec::new();
    for event in events {
        let Scope::Scenario(name) = &event.scope else { continue };
        match &event.body {
            Body::ScenarioStarted(bindings) => {
                open.insert(name, (bindings, event.seq));
            }
            Body::ScenarioEnded(_) => {
                if let Some((bindings, started)) = open.shift_remove(name) {
                    closed.push(Recorded { name, bindings, started });
                }
            }
            _ => {}
        }
    }
    if open.is_empty() { Ok(closed) } else { Err(ReplayError::Open(open.keys().map(ToString::to_string).collect())) }
}

/// What the target of a log was judged by.
fn basis(started: &RunStarted) -> Result<Basis, ReplayError> {
    let (Some(version), Some(channel)) = (&started.gateway_api_version, &started.gateway_api_channel) else {
        return Ok(Basis::default());
    };
    Ok(Basis { release: Some(release(version, channel)?) })
}

fn release(version: &str, channel: &str) -> Result<Release, ReplayError> {
    let version = version.parse().map_err(ReplayError::Bundle)?;
    let known = [Channel::Standard, Channel::Experimental].into_iter().find(|known| known.word() == channel);
    let channel = known.ok_or_else(|| ReplayError::Bundle(channel.to_owned()))?;
    Ok(Release { version, channel })
}
