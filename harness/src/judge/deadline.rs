//! A budget with its extension for a late harness and its grace time.

use std::time::Duration;

use crate::log::Elapsed;

/// Where a budget stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not used up.
    InTime,
    /// Used up; watched on to tell late from wrong.
    Grace,
    /// Grace is over too.
    Over,
    /// Used up twice while the harness itself was late: nothing can be said of the target.
    HarnessLate,
}

/// A budget that started at some time.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    pub(super) start: Elapsed,
    pub(super) budget: Duration,
    grace: Duration,
    end: Elapsed,
    lagged: bool,
    extended: bool,
}

impl Deadline {
    pub(super) fn new(start: Elapsed, budget: Duration, grace: Duration) -> Deadline {
        Deadline { start, budget, grace, end: start + budget, lagged: false, extended: false }
    }

    /// The harness was late by more than a fifth of a budget.
    pub(super) fn lag(&mut self) {
        self.lagged = true;
    }

    /// The API server was away. Its clients need a while to come back too, so they get the budget once more, as after a lag.
    pub(super) fn away(&mut self, by: Duration) {
        self.end = self.end + by;
        self.lagged = true;
    }

    /// The harness waited for its turn.
    pub(super) fn waited(&mut self, by: Duration) {
        self.end = self.end + by;
    }

    pub(super) fn phase(&mut self, now: Elapsed) -> Phase {
        if now >= self.end && self.lagged && !self.extended {
            self.extended = true;
            self.lagged = false;
            self.end = now + self.budget;
        }
        if now < self.end {
            Phase::InTime
        } else if self.lagged {
            Phase::HarnessLate
        } else if now < self.end + self.grace {
            Phase::Grace
        } else {
            Phase::Over
        }
    }

    /// Whether `time` lay within the budget.
    pub(super) fn met_by(&self, time: Elapsed) -> bool {
        time <= self.end
    }

    /// When watching on ends.
    pub(super) fn last(&self) -> Elapsed {
        self.end + self.grace
    }

    /// When the phase changes next, seen from `now`.
    pub(super) fn wake(&self, now: Elapsed) -> Elapsed {
        if now < self.end { self.end } else { self.end + self.grace }
    }
}
