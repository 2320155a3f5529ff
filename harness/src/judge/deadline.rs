//! A budget with its extension for a late harness and its grace time.

use std::time::Duration;

use crate::log::Elapsed;

/// How late the harness may be during what is held against the target. Data paths measure times of a few hundred
/// milliseconds, and backends within the harness are late as well.
pub(super) const TOLERATED: Duration = Duration::from_millis(50);

/// How many budgets a harness may lose in little pieces until nothing can be said of the target.
const STARVED: u32 = 2;

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
    /// How late the harness was in little pieces.
    lag: Duration,
    lagged: bool,
    extended: bool,
    /// For how long changes were not seen, and up to when that is counted.
    blind: Duration,
    counted: Elapsed,
}

impl Deadline {
    pub(super) fn new(start: Elapsed, budget: Duration, grace: Duration) -> Deadline {
        Deadline {
            start,
            budget,
            grace,
            end: start + budget,
            lag: Duration::ZERO,
            lagged: false,
            extended: false,
            blind: Duration::ZERO,
            counted: start,
        }
    }

    /// The harness was late by so much in one piece, or during one attempt. More than a fifth of the budget, and a target that is
    /// late as well cannot be told from one that is not.
    pub(super) fn lag(&mut self, by: Duration) {
        self.lagged |= by > self.budget / 5;
    }

    /// The harness was late for a while, in however little pieces: that time does not count, up to a limit.
    pub(super) fn starved(&mut self, by: Duration) {
        if by <= self.budget / 5 {
            self.lag += by;
            self.end = self.end + by;
        }
        self.lag(by);
    }

    /// Changes were not seen for a while, until `now`. Whatever came meanwhile came no later than it could be seen. Gives for how
    /// long that was so all in all.
    pub(super) fn unseen(&mut self, by: Duration, now: Elapsed) -> Duration {
        let unseen = by.min(now - self.counted);
        self.counted = now;
        self.blind += unseen;
        self.end = self.end + unseen;
        self.blind
    }

    /// What is seen now may have been there long ago: the budget counts once more.
    pub(super) fn renew(&mut self, now: Elapsed) {
        self.end = self.end.max(now + self.budget);
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
        if self.lag > self.budget * STARVED && now >= self.start + self.budget {
            Phase::HarnessLate
        } else if now < self.end {
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

    /// For how much longer it runs than its budget, whatever that is for.
    pub(super) fn extension(&self) -> Duration {
        self.end - (self.start + self.budget)
    }

    /// When the phase changes next, seen from `now`.
    pub(super) fn wake(&self, now: Elapsed) -> Elapsed {
        if now < self.end { self.end } else { self.end + self.grace }
    }
}
