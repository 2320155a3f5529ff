//! Counting copies: which requests of a batch reached a mirror.

use crate::log::{Exchange, JournalEntry};
use crate::scenario::Share;

/// How often the journals are read at most. They are read until they hold the same twice, because a copy may be under way
/// while the answer to its original is there.
const READS: u32 = 5;
/// How often at least: two that are the same may both have come before the first copy.
const FEWEST_READS: u32 = 3;

/// The requests of a batch, and what the journal of the mirror holds of them.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    mirror: String,
    ids: Vec<String>,
    reads: u32,
    noted: Option<usize>,
    is_reading: bool,
}

impl Copies {
    /// Nothing if no copies are counted.
    pub(super) fn of(parts: &[(Share, u32)]) -> Option<Copies> {
        let mirror = parts.iter().find_map(|(share, _)| match share {
            Share::Copied(mirror) => Some(mirror.clone()),
            _ => None,
        })?;
        Some(Copies { mirror, ids: Vec::new(), reads: 0, noted: None, is_reading: false })
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
    pub(super) fn read(&mut self) -> bool {
        self.is_reading = !self.ids.is_empty();
        self.is_reading
    }

    /// The requests that the journals are to be read for.
    pub(super) fn reading(&self) -> Option<&[String]> {
        self.is_reading.then_some(self.ids.as_slice())
    }

    /// Whether no request of the batch was answered yet.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The journals were read. How many of the requests were copied once, not at all, and more often, once that is clear.
    pub(super) fn noted(&mut self, entries: &[JournalEntry]) -> Option<[u32; 3]> {
        let of_mirror = || entries.iter().filter(|entry| entry.backend == self.mirror);
        let total = of_mirror().count();
        self.reads += 1;
        let stands = self.noted.replace(total) == Some(total) && self.reads >= FEWEST_READS;
        if !stands && self.reads < READS {
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
        (self.reads, self.noted, self.is_reading) = (0, None, false);
        self.ids.clear();
    }
}
