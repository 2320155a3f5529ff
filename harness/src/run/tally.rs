//! What a log comes to beside the verdicts, taken in event by event, as it is written or as it is read. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use gateproof_report::record::LeftoverRecord;

use crate::judge::contract::{Contract, ContractState};
use crate::judge::{Account, Checkpoints};
use crate::log::{Body, Event, Scope, Timing};
use crate::scenario::Basis;

/// What a log came to so far.
#[derive(Debug)]
pub struct Tally {
    checkpoints: Checkpoints,
    /// The objects that belong to nobody alone, which are the GatewayClass and the pool, held against the contract.
    shared: ContractState,
    timing: Timing,
    /// When the first event of each execution was, and the last one, in microseconds.
    spans: HashMap<Arc<str>, (u64, u64)>,
    leftovers: Vec<LeftoverRecord>,
    last: u64,
}

impl Tally {
    /// Of a log that has not begun. Only entries of `controller` are judged; `timing` says when what is shared is settled.
    pub fn new(contract: &Arc<Contract>, basis: Basis, controller: &str, timing: &Timing) -> Tally {
        let shared = ContractState::new(Arc::clone(contract), basis, controller.to_owned()).limits(timing);
        Tally {
            checkpoints: Checkpoints::new(contract, controller),
            shared,
            timing: timing.clone(),
            spans: HashMap::new(),
            leftovers: Vec::new(),
            last: 0,
        }
    }

    /// Takes in an event: every one, in the order of the log.
    pub fn observe(&mut self, event: &Event) {
        let at = event.at.0;
        self.last = at;
        if let Scope::Scenario(name) = &event.scope {
            match self.spans.get_mut(name) {
                Some(span) => span.1 = at,
                None => drop(self.spans.insert(Arc::clone(name), (at, at))),
            }
            return;
        }
        self.checkpoints.observe(event);
        self.shared.observe_shared(event, &self.timing);
        if let Body::LeftBehind { object, diagnosis } = &event.body {
            self.leftovers.push(LeftoverRecord { object: object.clone(), diagnosis: diagnosis.clone() });
        }
    }

    /// How it stands with scopes that an execution shares.
    pub fn before(&self, scopes: &[Scope]) -> Account {
        self.checkpoints.of(scopes)
    }

    /// What is shared, held against the contract.
    pub fn shared(&self) -> &ContractState {
        &self.shared
    }

    /// Milliseconds from the first to the last event of an execution.
    pub fn duration(&self, name: &str) -> u64 {
        self.spans.get(name).map_or(0, |(first, last)| (last - first) / 1000)
    }

    /// Whether there was any event of an execution.
    pub fn has_begun(&self, name: &str) -> bool {
        self.spans.contains_key(name)
    }

    /// Nobody will ask how long an execution took that is over.
    pub fn forget(&mut self, name: &str) {
        self.spans.remove(name);
    }

    /// Milliseconds from the start of the run to the last event.
    pub fn whole(&self) -> u64 {
        self.last / 1000
    }

    /// What could not be removed.
    pub fn leftovers(&self) -> &[LeftoverRecord] {
        &self.leftovers
    }
}
