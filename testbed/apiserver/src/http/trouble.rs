//! What goes wrong between clients and real API servers, on demand: refusals under load, lost watches, outages.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::Method;
use http::request::Parts;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::watch;

use super::disturb::{Disturbance, Disturbances, Disturbed};
use crate::error::ApiError;

/// A refusal that says nothing of the request: the same one may be taken the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// 429 with `Retry-After`, as priority and fairness answers under load. Any request.
    TooManyRequests {
        /// Seconds that the client is asked to wait.
        retry_after: u32,
    },
    /// 409 with reason `Conflict`, as when somebody else wrote meanwhile. Writes only.
    Conflict,
    /// 500 with reason `InternalError`, as when etcd does not answer. Any request.
    Internal,
    /// The same answer, though what was asked is done, as when etcd answers too late. Writes only.
    Lost,
}

/// What becomes of a request.
pub enum Met {
    /// It is refused.
    Refused(ApiError),
    /// It is carried out, and this is the answer all the same.
    Lost(ApiError),
}

/// What goes wrong, from one moment to the next.
pub struct Trouble {
    refusals: Mutex<Option<Refusals>>,
    refused: AtomicU64,
    /// Counts up each time that all watches end.
    cuts: watch::Sender<u64>,
    away: watch::Sender<bool>,
    disturbances: Disturbances,
}

struct Refusals {
    refusal: Refusal,
    share: f64,
    random: StdRng,
}

impl Default for Trouble {
    fn default() -> Self {
        Self {
            refusals: Mutex::default(),
            refused: AtomicU64::new(0),
            cuts: watch::Sender::new(0),
            away: watch::Sender::new(false),
            disturbances: Disturbances::default(),
        }
    }
}

impl Trouble {
    /// Refuses a share of requests from now on, drawn by the seed; a share of 0 ends it.
    pub fn refuse(&self, refusal: Refusal, share: f64, seed: u64) {
        let share = share.clamp(0.0, 1.0);
        *self.lock() = (share > 0.0).then(|| Refusals { refusal, share, random: StdRng::seed_from_u64(seed) });
    }

    /// How many requests were refused so far.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Ends every watch, as a server does that restarts.
    pub fn cut_watches(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Lets the watches of one client go wrong from now on: of those whose User-Agent begins with `agent`. Chances are drawn by
    /// the seed.
    pub fn disturb(&self, disturbance: Disturbance, agent: &str, seed: u64) {
        self.disturbances.begin(disturbance, agent, seed);
    }

    /// Ends that. A watch that has missed events is not given them again.
    pub fn calm(&self) {
        self.disturbances.end();
    }

    /// How often a disturbance was met so far: watches ended or answered with 410, pieces of them lost.
    pub fn disturbed(&self) -> u64 {
        self.disturbances.met()
    }

    /// What becomes of a watch of this client.
    pub(super) fn watch_of(&self, agent: &str) -> Disturbed {
        self.disturbances.of(agent)
    }

    /// Breaks every connection, and every new one, until [`Trouble::come_back`].
    pub fn go_away(&self) {
        self.away.send_replace(true);
        self.cut_watches();
    }

    /// Ends an outage.
    pub fn come_back(&self) {
        self.away.send_replace(false);
    }

    /// What this request meets, if it meets anything.
    pub fn meets(&self, parts: &Parts) -> Option<Met> {
        let mut refusals = self.lock();
        let refusals = refusals.as_mut()?;
        let reads = [Method::GET, Method::HEAD].contains(&parts.method);
        let is_of_writes = matches!(refusals.refusal, Refusal::Conflict | Refusal::Lost);
        if (reads && is_of_writes) || !refusals.random.random_bool(refusals.share) {
            return None;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let late = || ApiError::internal("the store did not answer in time");
        Some(match refusals.refusal {
            Refusal::TooManyRequests { retry_after } => Met::Refused(ApiError::too_many_requests(retry_after)),
            Refusal::Conflict => Met::Refused(ApiError::overtaken(parts.uri.path())),
            Refusal::Internal => Met::Refused(late()),
            Refusal::Lost => Met::Lost(late()),
        })
    }

    /// A receiver that changes when all watches end.
    pub fn cuts(&self) -> watch::Receiver<u64> {
        self.cuts.subscribe()
    }

    /// Whether there is an outage now.
    pub fn is_away(&self) -> bool {
        *self.away.borrow()
    }

    /// Returns once there is an outage.
    pub fn goes_away(&self) -> impl Future<Output = ()> + use<> {
        let mut away = self.away.subscribe();
        // Without a sender there is no server either.
        async move { drop(away.wait_for(|away| *away).await) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Refusals>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
