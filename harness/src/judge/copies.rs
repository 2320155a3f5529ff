//! Counting copies: which requests of a batch reached a mirror.

use std::time::Duration;

use crate::log::{Elapsed, Exchange, JournalEntry, Timing};
use crate::scenario::Share;

/// How often the journals are read at most, unless copies come late. They are read until they hold the same twice, because a copy may
/// be under way while the answer to its original is there.
const READS: u32 = 5;
/// How often at least: two that are the same may both have come before the first copy.
const FEWEST_READS: u32 = 3;

/// How many times as long as the last copy took more of them are waited for.
const AS_LONG: u32 = 2;

/// Of the time that it has been asked for, such a part is waited for a first copy: who sends copies late is waited for in the end, and
/// who does not yet copy at all is asked again soon.
const PATIENCE: u32 = 2;

/// How long a first copy is waited for by somebody who has asked since then.
pub(super) fn patience(since: Elapsed, now: Elapsed, timing: &Timing) -> Duration {
    timing.copies.min((now - since) / PATIENCE)
}

/// The requests of a batch, and what the journal of the mirror holds of them.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    mirror: String,
    ids: Vec<String>,
    reads: u32,
    noted: Option<usize>,
    /// Since when the journals are read.
    reading: Option<Elapsed>,
    /// How long after the answers of a batch its last copy came at the most so far.
    lag: Duration,
}

impl Copies {
    /// Nothing if no copies are counted.
    pub(super) fn of(parts: &[(Share, u32)]) -> Option<Copies> {
        let mirror = parts.iter().find_map(|(share, _)| match share {
            Share::Copied(mirror) => Some(mirror.clone()),
            _ => None,
        })?;
        Some(Copies { mirror, ids: Vec::new(), reads: 0, noted: None, reading: None, lag: Duration::ZERO })
    }

    /// An answer came. Whether it tells of a request that may have been copied.
    pub(super) fn answered(&mut self, exchange: &Exchange) -> bool {
        let is_good = exchange.http.as_ref().is_some_and(|answer| answer.status < 400);
        if is_good {
            self.ids.push(exchange.id.clone());
        }
        is_good
    }

    /// The batch is answered. Whether the journals are to be read for it.
    pub(super) fn read(&mut self, now: Elapsed) -> bool {
        self.reading = (!self.ids.is_empty()).then_some(now);
        self.reading.is_some()
    }

    /// The requests that the journals are to be read for.
    pub(super) fn reading(&self) -> Option<&[String]> {
        self.reading.map(|_| self.ids.as_slice())
    }

    /// Whether no request of the batch was answered yet.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The journals were read, by somebody who has asked since then. How many of the requests were copied once, not at all, and more
    /// often, once that is clear.
    pub(super) fn noted(
        &mut self,
        entries: &[JournalEntry],
        since: Elapsed,
        now: Elapsed,
        timing: &Timing,
    ) -> Option<[u32; 3]> {
        let of_mirror = || entries.iter().filter(|entry| entry.backend == self.mirror);
        let total = of_mirror().count();
        self.reads += 1;
        let took = now - self.reading?;
        let known = self.noted.replace(total);
        if total > known.unwrap_or_default() {
            self.lag = self.lag.max(took);
        }
        let enough = if total == 0 { patience(since, now, timing) } else { Duration::ZERO };
        let is_long = took >= enough.max(self.lag * AS_LONG).min(timing.copies);
        let stands = known == Some(total) && self.reads >= FEWEST_READS;
        if !is_long || !stands && self.reads < READS {
            return None;
        }
        let mut counts = [0; 3];
        for id in &self.ids {
            counts[match of_mirror().filter(|entry| entry.id == *id).count() {
                1 => 0,
                0 => 1,
                _ => 2,
            }] += 1;
        }
        self.clear();
        Some(counts)
    }

    /// The batch is over, or starts over.
    pub(super) fn clear(&mut self) {
        (self.reads, self.noted, self.reading) = (0, None, None);
        self.ids.clear();
    }
}
