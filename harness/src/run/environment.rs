//! What all executions of a run share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::interrupt::Interrupt;
use super::lag::Lateness;
use super::options::Bystander;
use super::tally::Tally;
use super::waits::Waits;
use crate::cluster::api::Api;
use crate::cluster::backends::Backends;
use crate::cluster::control::Services;
use crate::cluster::discover::Facts;
use crate::cluster::lease::Leases;
use crate::cluster::log_writer::LogWriter;
use crate::cluster::observe::Looker;
use crate::cluster::pod_logs::LogSource;
use crate::cluster::undo::Undo;
use crate::cluster::view::View;
use crate::cluster::write::Writer;
use crate::judge::contract::Contract;
use crate::log::{Bindings, Body, Scope, Timing};
use crate::probe::Prober;

/// What is said of everything that a run could not do because the API server did not come back.
pub const LOST: &str = "the API server went away and did not come back";

/// What all executions of a run share.
pub struct Environment {
    /// The log.
    pub log: Arc<LogWriter>,
    /// What the log came to so far. Whoever holds it waits for nothing, least of all for the log.
    pub tally: Arc<Mutex<Tally>>,
    /// The target's API server.
    pub api: Api,
    /// Writes to the target.
    pub writer: Writer,
    /// Restores what patches changed of objects that are not the run's own.
    pub undo: Undo,
    /// What one run at a time may have.
    pub leases: Leases,
    /// Attempts on its data path.
    pub prober: Prober,
    /// What is observed now.
    pub view: Arc<View>,
    /// Reads what the observer should have shown.
    pub looker: Looker,
    /// Backends.
    pub backends: Backends,
    /// The status contract.
    pub contract: Arc<Contract>,
    /// Limits.
    pub timing: Timing,
    /// How late this process runs.
    pub lateness: Lateness,
    /// The target.
    pub facts: Facts,
    /// Labels for every namespace.
    pub namespace_labels: Vec<(String, String)>,
    /// Most probes of one test of shares.
    pub max_probes: u32,
    /// Scripted services of the target.
    pub services: Services,
    /// Breaks executions off.
    pub interrupt: Interrupt,
    /// Whose logs are evidence of failures.
    pub logs_from: Option<LogSource>,
    /// What executions wait for.
    pub waits: Waits,
    /// Who is told of every step.
    pub bystander: Option<Arc<dyn Bystander>>,
    /// The slowest settle of all executions that have ended. Held while an execution is opened or closed in the log, so
    /// that the log alone tells what each one was given.
    pub slowest_settle: Mutex<Duration>,
}

impl Environment {
    /// What the log came to so far.
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing can be said of the target any more, if so.
    pub(super) fn lost(&self) -> Option<&str> {
        if self.api.reach().is_lost() { Some(LOST) } else { self.leases.lost() }
    }

    /// Returns once that is so.
    pub(super) async fn is_lost(&self) {
        tokio::select! {
            () = self.api.reach().lost() => {}
            () = self.leases.are_lost() => {}
        }
    }

    /// Opens an execution in the log; returns the slowest settle of those that ended before.
    pub(super) fn open(&self, scope: &Scope, bindings: &Bindings) -> Duration {
        let slowest = self.slowest();
        self.log.append(scope.clone(), Body::ScenarioStarted(Box::new(bindings.clone())));
        *slowest
    }

    /// The slowest settle so far; until it is dropped no execution is opened or closed.
    pub(super) fn slowest(&self) -> MutexGuard<'_, Duration> {
        self.slowest_settle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
