//! Judges a recorded run again: the same path, the same verdicts, with no target. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::{Finding, Outcome, RunRecord, Severity, repeat_of};
use indexmap::IndexMap;

use super::options::DEFAULT_MAX_PROBES;
use super::preflight::PREFLIGHT;
use super::record::{self, Alike, End, Entry, Records};
use super::releases::{Unanswered, has_meaning, stands};
use super::tally::Tally;
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

/// Judges a log in memory again ([`Replay`]). Scenarios that did not run then do not appear.
///
/// # Errors
/// Where the log was not closed, is of something else, or does not fit the scenarios.
pub fn replay(
    events: &[Arc<Event>],
    scenarios: &[Scenario],
    contract: &Arc<Contract>,
    preflight: Option<&Scenario>,
) -> Result<RunRecord, ReplayError> {
    let mut replay = Replay::new(scenarios, contract, preflight);
    events.iter().try_for_each(|event| replay.event(event))?;
    replay.record()
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

/// Judges every execution of a log again, that of `preflight` too, as its events are read: of these stays what a run
/// keeps of them.
pub struct Replay<'s> {
    scenarios: &'s [Scenario],
    contract: &'s Arc<Contract>,
    preflight: Option<&'s Scenario>,
    at: Option<At>,
    run: Option<Run<'s>>,
}

/// As of which release, if not its own.
struct At {
    release: Version,
    /// Of the scenarios that have to be run to be known there: whether what each wrote is taken alike.
    parted: BTreeMap<String, bool>,
}

impl At {
    /// Whether a scenario that ran tells something about that release.
    fn tells(&self, name: &str, scenarios: &[Scenario], channel: Channel) -> bool {
        let scenario = scenarios.iter().find(|scenario| scenario.name == name);
        let is_asked = scenario.is_none_or(|scenario| has_meaning(scenario, self.release, channel));
        is_asked && self.parted.get(name).is_none_or(|is_written_alike| *is_written_alike)
    }
}

/// What the events so far come to.
struct Run<'s> {
    as_if: RunStarted,
    /// What the target was judged by, and what it is judged by now.
    recorded: Basis,
    basis: Basis,
    tally: Tally,
    slowest_settle: Duration,
    entries: Vec<Entry>,
    alike: Alike,
    watched: Watched,
    not_run: Vec<NotRun>,
    manifests: HashMap<&'s str, Arc<Scenario>>,
    /// The executions that began and did not end, and their judges, if what they come to is asked for.
    open: IndexMap<Arc<str>, Option<Open<'s>>>,
    /// Whether the last event ended the run, and whether it was broken off.
    ended: Option<bool>,
    /// Why the first execution that does not fit the scenarios does not. What is wrong with the log comes before that.
    unfit: Option<ReplayError>,
}

/// An execution that is being judged again.
struct Open<'s> {
    judge: Judge,
    /// What it shares with others.
    scopes: Vec<Scope>,
    scenario: &'s Scenario,
}

impl<'s> Replay<'s> {
    /// Before the first event.
    pub fn new(scenarios: &'s [Scenario], contract: &'s Arc<Contract>, preflight: Option<&'s Scenario>) -> Self {
        Replay { scenarios, contract, preflight, at: None, run: None }
    }

    /// Judges as if at another release. What has no meaning there does not appear, nor does what has to be run to be known
    /// ([`Survey`](super::survey::Survey)), unless it failed at something that is asked at both.
    #[must_use]
    pub fn at(self, release: Version, to_be_run: &[Unanswered]) -> Self {
        let parted = to_be_run.iter().map(|one| (one.scenario.clone(), one.is_written_alike)).collect();
        Replay { at: Some(At { release, parted }), ..self }
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// As soon as it is known that the log is none, or is of something else.
    pub fn event(&mut self, event: &Event) -> Result<(), ReplayError> {
        let mut run = match self.run.take() {
            Some(run) => run,
            None => self.begun(started_by(Some(&event.body))?)?,
        };
        if let (Body::ScenarioStarted(bindings), Scope::Scenario(name)) = (&event.body, &event.scope) {
            let open = if run.unfit.is_some() { Ok(None) } else { self.open(&run, name, bindings) };
            let open = open.unwrap_or_else(|error| {
                run.unfit = Some(error);
                None
            });
            run.open.insert(Arc::clone(name), open);
        }
        run.observe(event);
        if let (Body::ScenarioEnded(_), Scope::Scenario(name)) = (&event.body, &event.scope)
            && let Some(Some(open)) = run.open.shift_remove(name)
        {
            run.judged(name, open, self.at.as_ref())?;
        }
        self.run = Some(run);
        Ok(())
    }

    fn begun(&self, started: &RunStarted) -> Result<Run<'s>, ReplayError> {
        is_of(started, self.contract)?;
        let recorded = basis(started)?;
        let (mut basis, mut as_if) = (recorded, started.clone());
        if let Some(At { release, .. }) = self.at {
            let Release { version: before, channel } = recorded.release.ok_or(ReplayError::NoRelease)?;
            basis = Basis::release(release, channel);
            if release != before {
                let recorded = as_if.gateway_api_version.replace(release.to_string()).unwrap_or_default();
                as_if.definitions.get_or_insert(format!("{recorded} in the {} channel", channel.word()));
            }
        }
        let controller = started.controller_name.clone().unwrap_or_default();
        Ok(Run {
            recorded,
            basis,
            tally: Tally::new(self.contract, basis, &controller, &started.timing),
            slowest_settle: Duration::ZERO,
            entries: Vec::new(),
            alike: Alike::of(started),
            watched: Watched::default(),
            not_run: Vec::new(),
            manifests: HashMap::new(),
            open: IndexMap::new(),
            ended: None,
            unfit: None,
            as_if,
        })
    }

    /// An execution that begins, if it is to be judged.
    fn open(&self, run: &Run<'s>, name: &str, bindings: &Bindings) -> Result<Option<Open<'s>>, ReplayError> {
        if let (Some(at), Some(release)) = (&self.at, run.recorded.release)
            && !at.tells(&bindings.scenario, self.scenarios, release.channel)
        {
            return Ok(None);
        }
        let named = || self.scenarios.iter().find(|scenario| scenario.name == bindings.scenario);
        let scenario = if *name == *PREFLIGHT { self.preflight } else { named() };
        let scenario = scenario.ok_or_else(|| ReplayError::Unknown(bindings.scenario.clone()))?;
        let bound = bind(scenario, bindings).map_err(|error| ReplayError::Bind { name: name.to_string(), error })?;
        let is_parted = self.at.as_ref().is_some_and(|at| at.parted.contains_key(&bindings.scenario));
        let context = Context {
            timing: run.as_if.timing.clone(),
            contract: Arc::clone(self.contract),
            basis: if is_parted { run.recorded } else { run.basis },
            controller_name: run.as_if.controller_name.clone().unwrap_or_default(),
            slowest_settle: run.slowest_settle,
            max_probes: DEFAULT_MAX_PROBES,
        };
        let scopes = record::shared_by(bindings);
        let judge = Judge::new(Arc::new(bound), context).behind(&run.tally.before(&scopes));
        Ok(Some(Open { judge, scopes, scenario }))
    }

    /// What all events come to, without the scenarios that did not run.
    ///
    /// # Errors
    /// If there was none, the log was not closed, or it does not fit the scenarios.
    pub fn record(self) -> Result<RunRecord, ReplayError> {
        let contract = self.contract;
        let (run, interrupted) = self.closed()?;
        Ok(run.record(contract, interrupted))
    }

    /// Derives the whole of the run, as the run itself did.
    ///
    /// # Errors
    /// As above, and if a scenario that did not run is not known.
    pub fn whole(self) -> Result<Rederived, ReplayError> {
        let (scenarios, contract) = (self.scenarios, self.contract);
        let (mut run, interrupted) = self.closed()?;
        let mut all = Vec::new();
        // Of one there may be hundreds.
        let mut known: HashMap<String, Arc<Scenario>> = HashMap::new();
        for NotRun { name, outcome, reason, alike } in std::mem::take(&mut run.not_run) {
            let of = repeat_of(&name).0;
            let scenario = match known.get(of) {
                Some(scenario) => Arc::clone(scenario),
                None => {
                    let scenario = scenarios.iter().find(|scenario| scenario.name == of);
                    let scenario = Arc::new(scenario.ok_or_else(|| ReplayError::Unknown(name.clone()))?.clone());
                    Arc::clone(known.entry(of.to_owned()).or_insert(scenario))
                }
            };
            let end = End::NotRun { outcome, reason: Arc::from(reason), alike };
            all.push(Entry { name: Arc::from(name), scenario, end });
        }
        all.append(&mut run.entries);
        // The order of the run decides whose a breach is that several saw.
        all.sort_by(|a, b| {
            let place = |entry: &Entry| !matches!(entry.end, End::NotRun { .. });
            (place(a), repeat_of(&a.name)).cmp(&(place(b), repeat_of(&b.name)))
        });
        let judged = |entry: &Entry| {
            let verdict = entry.verdict()?.clone();
            Some(Judged { name: Arc::clone(&entry.name), scenario: Arc::clone(&entry.scenario), verdict })
        };
        let judged = all.iter().filter_map(judged).collect();
        let (basis, left_out) = (run.basis, run.as_if.left_out.clone());
        run.entries = all;
        Ok(Rederived { judged, record: run.record(contract, interrupted), basis, left_out })
    }

    /// The run, if it ended, and whether it was broken off.
    fn closed(self) -> Result<(Run<'s>, bool), ReplayError> {
        let mut run = self.run.ok_or(ReplayError::NoStart)?;
        let Some(interrupted) = run.ended.filter(|_| run.open.is_empty()) else {
            return Err(ReplayError::Open(run.open.keys().map(ToString::to_string).collect()));
        };
        match run.unfit.take() {
            Some(error) => Err(error),
            None => Ok((run, interrupted)),
        }
    }
}

impl<'s> Run<'s> {
    fn observe(&mut self, event: &Event) {
        self.ended = match &event.body {
            Body::RunEnded { interrupted } => Some(*interrupted),
            _ => None,
        };
        if let Body::NotRun { scenarios } = &event.body {
            self.not_run.extend(scenarios.iter().cloned());
        }
        self.tally.observe(event);
        match &event.scope {
            Scope::Scenario(name) => {
                if let Some(Some(one)) = self.open.get_mut(name) {
                    one.judge.observe(event);
                }
            }
            shared => {
                let sharing = self.open.values_mut().flatten().filter(|one| one.scopes.contains(shared));
                sharing.for_each(|one| one.judge.observe(event));
            }
        }
    }

    /// An execution ended.
    fn judged(&mut self, name: &Arc<str>, open: Open<'s>, at: Option<&At>) -> Result<(), ReplayError> {
        let Open { judge, scenario, .. } = open;
        let mut verdict = judge.verdict();
        self.slowest_settle = self.slowest_settle.max(verdict.slowest_settle);
        if let Some(At { release, .. }) = at.filter(|at| at.parted.contains_key(&scenario.name)) {
            let Release { version, channel } = self.recorded.release.ok_or(ReplayError::NoRelease)?;
            let is_failure = |one: &Finding| one.severity == Severity::Failure;
            verdict.findings.retain(|one| stands(scenario, &one.expectation, (version, channel), *release));
            if !matches!(verdict.outcome, Outcome::Failed | Outcome::Late) || !verdict.findings.iter().any(is_failure) {
                return Ok(());
            }
        }
        if **name == *PREFLIGHT {
            // It is no part of the record, but later holds may last by its settling.
            return Ok(());
        }
        let scenario = self.manifests.entry(&scenario.name).or_insert_with(|| Arc::new(scenario.clone()));
        let (name, scenario) = (Arc::clone(name), Arc::clone(scenario));
        self.watched.add(std::mem::take(&mut verdict.contract_watched));
        let beyond = self.alike.beyond(self.entries.len(), &name, &verdict);
        self.entries.push(Entry { name, scenario, end: End::Judged(Box::new(verdict)) });
        if let Some(beyond) = beyond {
            self.tally.forget(&self.entries[beyond].name);
            self.entries[beyond].end = End::Alike;
        }
        Ok(())
    }

    /// The record of what was judged.
    fn record(self, contract: &Contract, interrupted: bool) -> RunRecord {
        let Run { entries, watched, tally, as_if, basis, .. } = self;
        let rules = record::contract_records(contract, basis, tally.shared(), watched, &entries);
        let mut records = Records::default();
        for entry in entries {
            let duration = tally.duration(&entry.name);
            records.add(entry, duration);
        }
        record::run_record(&as_if, &tally, records.all(), rules, interrupted)
    }
}

/// Whether a log is of the dialect and the edition that it is held against.
pub(super) fn is_of(started: &RunStarted, contract: &Contract) -> Result<(), ReplayError> {
    if started.dialect != contract.name() {
        let (of, other) = (started.dialect.clone(), contract.name().to_owned());
        return Err(ReplayError::Dialect { of, other });
    }
    // Logs from before there were editions are of the first.
    let first = || contract.dialect().editions().first().cloned();
    match (started.edition.clone().or_else(first), contract.edition().map(str::to_owned)) {
        (Some(of), Some(other)) if of != other => Err(ReplayError::Edition { of, other }),
        _ => Ok(()),
    }
}

/// How a run began, by the first event of its log.
///
/// # Errors
/// If that is something else, or the log is of another format.
pub fn started_by(first: Option<&Body>) -> Result<&RunStarted, ReplayError> {
    let Some(Body::RunStarted(started)) = first else { return Err(ReplayError::NoStart) };
    if started.format == record::LOG_FORMAT { Ok(started) } else { Err(ReplayError::Format(started.format)) }
}

/// What the target of a log was judged by.
pub(super) fn basis(started: &RunStarted) -> Result<Basis, ReplayError> {
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
