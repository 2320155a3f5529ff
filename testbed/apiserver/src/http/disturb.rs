//! What goes wrong with the watches of one client, on demand, and a count of how often it did.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::watch;

/// A way in which watches go wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbance {
    /// They stay open, and not a byte comes any more, as behind a proxy that lost its other side.
    Silent,
    /// Each event is lost with this probability.
    Swallows(f64),
    /// They are answered with 410 `Expired`, those under way too.
    Expired,
    /// They end as soon as they are open, those under way too.
    Ends,
}

/// The disturbance in force; clones are handles to the same one.
#[derive(Clone)]
pub struct Disturbances(Arc<Inner>);

struct Inner {
    /// The way, and the beginning of the User-Agent of those whose watches it is about.
    now: watch::Sender<Option<(Disturbance, String)>>,
    random: Mutex<StdRng>,
    met: AtomicU64,
}

impl Default for Disturbances {
    fn default() -> Self {
        let random = Mutex::new(StdRng::seed_from_u64(0));
        Self(Arc::new(Inner { now: watch::Sender::new(None), random, met: AtomicU64::new(0) }))
    }
}

impl Disturbances {
    pub(super) fn begin(&self, disturbance: Disturbance, agent: &str, seed: u64) {
        *self.0.random.lock().unwrap_or_else(PoisonError::into_inner) = StdRng::seed_from_u64(seed);
        self.0.now.send_replace(Some((disturbance, agent.to_owned())));
    }

    pub(super) fn end(&self) {
        self.0.now.send_replace(None);
    }

    pub(super) fn met(&self) -> u64 {
        self.0.met.load(Ordering::Relaxed)
    }

    /// What becomes of the watch of a client.
    pub(super) fn of(&self, agent: &str) -> Disturbed {
        Disturbed { all: self.clone(), agent: agent.to_owned(), changes: self.0.now.subscribe() }
    }
}

/// One watch, and how it is disturbed.
pub(super) struct Disturbed {
    all: Disturbances,
    agent: String,
    changes: watch::Receiver<Option<(Disturbance, String)>>,
}

impl Disturbed {
    /// The way in which it goes wrong now.
    pub(super) fn now(&self) -> Option<Disturbance> {
        let now = self.changes.borrow();
        now.as_ref().filter(|(_, agent)| self.agent.starts_with(agent)).map(|(disturbance, _)| *disturbance)
    }

    /// Whether what was to be sent is lost; if so, that counts.
    pub(super) fn loses(&self) -> bool {
        let share = match self.now() {
            Some(Disturbance::Silent) => 1.0,
            Some(Disturbance::Swallows(share)) => share.clamp(0.0, 1.0),
            Some(Disturbance::Expired | Disturbance::Ends) | None => return false,
        };
        let lost = self.all.0.random.lock().unwrap_or_else(PoisonError::into_inner).random_bool(share);
        if lost {
            self.met();
        }
        lost
    }

    /// Counts that a watch met it.
    pub(super) fn met(&self) {
        self.all.0.met.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns when the way changes.
    pub(super) async fn changed(&mut self) {
        // Without a sender there is no server either.
        drop(self.changes.changed().await);
    }
}
