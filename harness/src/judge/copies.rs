//! Counting copies: which requests of a test reached a mirror.

use std::time::Duration;

use super::statistics::Decision;
use crate::log::{Elapsed, Exchange, JournalEntry, Timing};
use crate::scenario::Share;

/// How often the journals are read at most before what they hold counts for now. They are read until they hold the same twice,
/// because a copy may be under way while the answer to its original is there.
const READS: u32 = 5;
/// How often at least: two that are the same may both have come before the first copy.
const FEWEST_READS: u32 = 3;

/// How many times as long as any copy took others are waited for.
const AS_LONG: u32 = 2;

/// Of the time that it has been asked for, such a part is waited for copies that do not come: who sends them late is waited for in
/// the end, and who does not yet copy at all is asked again soon.
const PATIENCE: u32 = 2;

/// How long copies that do not come are waited for by somebody who has asked since then.
pub(super) fn patience(since: Elapsed, now: Elapsed, timing: &Timing) -> Duration {
    timing.copies.min((now - since) / PATIENCE)
}

/// What has come of the requests of a test since they were counted the last time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// How many were copied once, and more often.
    pub(super) once: u32,
    pub(super) repeated: u32,
    /// How many of all have no copy.
    pub(super) none: u32,
}

/// The requests of a test, and what the journal of the mirror holds of them. A request counts as not copied until a copy of it is
/// there, however many batches later, for as long as copies are waited for.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    mirror: String,
    open: Vec<Request>,
    /// How many had no copy for as long as copies are waited for.
    closed: u32,
    reads: u32,
    noted: Option<usize>,
    is_reading: bool,
    /// When the last request was answered, and whether that is one of the batch under way.
    answered: Option<Elapsed>,
    is_fresh: bool,
    /// How long after the answer any copy came at the most so far.
    lag: Duration,
}

/// One that is not known to be copied yet.
#[derive(Debug, Clone)]
struct Request {
    id: String,
    answered: Elapsed,
    is_seen: bool,
}

impl Copies {
    /// Nothing if no copies are counted.
    pub(super) fn of(parts: &[(Share, u32)]) -> Option<Copies> {
        let mirror = parts.iter().find_map(|(share, _)| match share {
            Share::Copied(mirror) => Some(mirror.clone()),
            _ => None,
        })?;
        Some(Copies::new(mirror, Duration::ZERO))
    }

    fn new(mirror: String, lag: Duration) -> Copies {
        Copies {
            mirror,
            open: Vec::new(),
            closed: 0,
            reads: 0,
            noted: None,
            is_reading: false,
            answered: None,
            is_fresh: false,
            lag,
        }
    }

    /// An answer came. Whether it tells of a request that may have been copied.
    pub(super) fn answered(&mut self, exchange: &Exchange, now: Elapsed) -> bool {
        let is_good = exchange.http.as_ref().is_some_and(|answer| answer.status < 400);
        if is_good {
            self.open.push(Request { id: exchange.id.clone(), answered: now, is_seen: false });
            (self.answered, self.is_fresh) = (Some(now), true);
        }
        is_good
    }

    /// The batch is answered. Whether the journals are to be read for it.
    pub(super) fn read(&mut self) -> bool {
        self.is_reading = std::mem::take(&mut self.is_fresh);
        self.is_reading
    }

    /// The requests that the journals are to be read for.
    pub(super) fn reading(&self) -> Option<Vec<String>> {
        self.is_reading.then(|| self.open.iter().map(|request| request.id.clone()).collect())
    }

    /// When the last request was answered.
    pub(super) fn last_answer(&self) -> Option<Elapsed> {
        self.answered
    }

    /// The journals were read. What came of the requests, once that is clear for now.
    pub(super) fn noted(&mut self, entries: &[JournalEntry], now: Elapsed, timing: &Timing) -> Option<Counted> {
        let of_mirror = || entries.iter().filter(|entry| entry.backend == self.mirror);
        let total = of_mirror().count();
        let copies = |request: &Request| of_mirror().filter(|entry| entry.id == request.id).count();
        for request in self.open.iter_mut().filter(|request| !request.is_seen) {
            if copies(request) > 0 {
                request.is_seen = true;
                self.lag = self.lag.max(now - request.answered);
            }
        }
        self.reads += 1;
        let stands = self.noted.replace(total) == Some(total) && self.reads >= FEWEST_READS;
        if !stands && self.reads < READS {
            return None;
        }
        let mut counted = Counted::default();
        let mirror = &self.mirror;
        self.open.retain(|request| {
            let of_request = |entry: &&JournalEntry| entry.backend == *mirror && entry.id == request.id;
            match entries.iter().filter(of_request).count() {
                0 if now - request.answered >= timing.copies => self.closed += 1,
                0 => return true,
                1 => counted.once += 1,
                _ => counted.repeated += 1,
            }
            false
        });
        counted.none = self.closed + u32::try_from(self.open.len()).unwrap_or(u32::MAX - self.closed);
        (self.reads, self.noted) = (0, None);
        Some(counted)
    }

    /// Whether the journals are read on before a decision stands, by somebody who has asked since then; `too_few` copies may become
    /// more.
    pub(super) fn may_change(
        &mut self,
        decision: &Decision,
        too_few: bool,
        since: Elapsed,
        now: Elapsed,
        timing: &Timing,
    ) -> bool {
        let enough = match decision {
            Decision::Disagree if too_few => patience(since, now, timing).max(self.lag * AS_LONG),
            Decision::Agree | Decision::Undecided => self.lag * AS_LONG,
            // More copies would not mend that.
            Decision::Disagree | Decision::MoreProbes(_) => Duration::ZERO,
        };
        let waited = self.answered.map_or(Duration::MAX, |answered| now - answered);
        self.is_reading &= !self.open.is_empty() && waited < enough.min(timing.copies);
        self.is_reading
    }

    /// The test starts over. How late copies came is known from now on.
    pub(super) fn clear(&mut self) {
        *self = Copies::new(std::mem::take(&mut self.mirror), self.lag);
    }
}
