//! What a log says of another release than its own: what has to be run to be known there. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::otherwise::Otherwise;
use super::releases::{Recorded, Unanswered, release_in_words, unanswered};
use super::replay::{ReplayError, basis, is_of, started_by};
use crate::judge::contract::Contract;
use crate::log::{Body, Event, RunStarted, Scope};
use crate::scenario::{Release, Scenario, Version};

/// What of a log, event by event, decides what has to be run to know how its target does at another release.
pub struct Survey<'s> {
    contract: &'s Contract,
    wanted: Version,
    log: Option<Log<'s>>,
}

struct Log<'s> {
    started: RunStarted,
    recorded: Release,
    otherwise: Otherwise<'s>,
    /// The executions that began and did not end, each with its scenario.
    open: IndexMap<Arc<str>, String>,
    ran: BTreeSet<String>,
}

/// What it comes to.
pub struct Surveyed {
    /// The release that the run was of, as it was annotated or chosen.
    pub recorded_at: String,
    /// What its definitions were of, if another was chosen.
    pub definitions: Option<String>,
    /// What has to be run.
    pub must_be_run: Vec<Unanswered>,
}

impl<'s> Survey<'s> {
    /// Before the first event.
    pub fn new(contract: &'s Contract, wanted: Version) -> Self {
        Survey { contract, wanted, log: None }
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// If the first is not the start of a run of the dialect and of a release.
    pub fn event(&mut self, event: &Event) -> Result<(), ReplayError> {
        let mut log = match self.log.take() {
            Some(log) => log,
            None => self.begun(started_by(Some(&event.body))?)?,
        };
        log.otherwise.event(event);
        match (&event.scope, &event.body) {
            (Scope::Scenario(name), Body::ScenarioStarted(bindings)) => {
                log.open.insert(Arc::clone(name), bindings.scenario.clone());
            }
            (Scope::Scenario(name), Body::ScenarioEnded(_)) => log.ran.extend(log.open.shift_remove(name)),
            _ => {}
        }
        self.log = Some(log);
        Ok(())
    }

    fn begun(&self, started: &RunStarted) -> Result<Log<'s>, ReplayError> {
        is_of(started, self.contract)?;
        let recorded = basis(started)?.release.ok_or(ReplayError::NoRelease)?;
        let written_at = started.definitions.as_deref().and_then(release_in_words).unwrap_or(recorded);
        Ok(Log {
            started: started.clone(),
            recorded,
            otherwise: Otherwise::new(self.contract.dialect(), written_at, self.wanted),
            open: IndexMap::new(),
            ran: BTreeSet::new(),
        })
    }

    /// What all events come to, of these scenarios.
    ///
    /// # Errors
    /// If there was none, or an execution is open.
    pub fn end(self, scenarios: &[Scenario]) -> Result<Surveyed, ReplayError> {
        let Log { started, recorded: Release { version, channel }, otherwise, open, ran } =
            self.log.ok_or(ReplayError::NoStart)?;
        if !open.is_empty() {
            return Err(ReplayError::Open(open.keys().map(ToString::to_string).collect()));
        }
        let record = Recorded {
            ran: ran.iter().map(String::as_str).collect(),
            selected: started.selected.as_ref().map(|all| all.iter().map(String::as_str).collect()),
            otherwise: otherwise.found(),
        };
        let must_be_run = unanswered(scenarios, &record, (version, channel), self.wanted);
        let recorded_at = started.gateway_api_version.ok_or(ReplayError::NoRelease)?;
        Ok(Surveyed { recorded_at, definitions: started.definitions, must_be_run })
    }
}
