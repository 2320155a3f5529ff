//! The last events of a collection.
//!
//! Trees of JSON take several times the room of their text, and hardly anybody reads what is long past. So only the
//! newest events stay as they are.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::{Address, Change, Event, Object};

/// How many events stay as they are: more than a reader who keeps up is behind. In tests few, so that text is read.
const FRESH: usize = if cfg!(test) { 4 } else { 128 };

/// Events in the order of their revisions, none missing since the floor.
pub(super) struct History {
    old: VecDeque<Archived>,
    fresh: VecDeque<Arc<Event>>,
    /// Revision of the newest event that was dropped.
    floor: u64,
}

/// An event whose objects are text.
struct Archived {
    revision: u64,
    address: Address,
    change: Change,
    object: Box<str>,
    previous: Option<Box<str>>,
}

impl History {
    pub(super) fn new() -> Self {
        Self { old: VecDeque::new(), fresh: VecDeque::new(), floor: 0 }
    }

    /// The oldest revision after which every event is here.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Adds the newest event and drops the oldest beyond `capacity`.
    pub(super) fn push(&mut self, event: Arc<Event>, capacity: usize) {
        self.fresh.push_back(event);
        if self.fresh.len() > FRESH
            && let Some(event) = self.fresh.pop_front()
        {
            self.old.push_back(Archived::of(&event));
        }
        while self.old.len() + self.fresh.len() > capacity {
            let archived = self.old.pop_front().map(|event| event.revision);
            let dropped = archived.or_else(|| self.fresh.pop_front().map(|event| event.revision));
            self.floor = dropped.unwrap_or(self.floor);
        }
    }

    /// Drops everything; what comes next has a revision after this one.
    pub(super) fn clear(&mut self, revision: u64) {
        *self = Self { floor: revision, ..Self::new() };
    }

    /// The events after a revision, oldest first.
    pub(super) fn since(&self, revision: u64) -> impl DoubleEndedIterator<Item = Arc<Event>> {
        let old = self.old.partition_point(|event| event.revision <= revision);
        let fresh = self.fresh.partition_point(|event| event.revision <= revision);
        self.old.range(old..).map(Archived::event).chain(self.fresh.range(fresh..).cloned())
    }
}

impl Archived {
    fn of(event: &Event) -> Self {
        let text = |object: &Object| object.to_string().into_boxed_str();
        Self {
            revision: event.revision,
            address: event.address.clone(),
            change: event.change,
            object: text(&event.object),
            previous: event.previous.as_ref().map(text),
        }
    }

    fn event(&self) -> Arc<Event> {
        // It is our own text, so it can be read.
        let object = |text: &str| Arc::new(serde_json::from_str(text).unwrap_or(Value::Null));
        Arc::new(Event {
            revision: self.revision,
            address: self.address.clone(),
            change: self.change,
            object: object(&self.object),
            previous: self.previous.as_deref().map(object),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Key;
    use super::*;

    fn event(revision: u64) -> Arc<Event> {
        let object = |revision: u64| Arc::new(json!({"metadata": {"resourceVersion": revision.to_string()}, "x": 0.1}));
        let address = Address { collection: Arc::from("things"), key: Key::new("ns", "a") };
        let previous = (revision > 1).then(|| object(revision - 1));
        Arc::new(Event { revision, address, change: Change::Modified, object: object(revision), previous })
    }

    #[test]
    fn what_is_old_reads_as_it_was() {
        let mut history = History::new();
        let count = 3 * FRESH as u64;
        (1..=count).for_each(|revision| history.push(event(revision), usize::MAX));
        assert_eq!((history.old.len(), history.fresh.len()), (2 * FRESH, FRESH));
        for since in [0, 1, FRESH as u64, count - 1, count, count + 1] {
            let expected: Vec<String> = (since + 1..=count).map(|revision| format!("{:?}", event(revision))).collect();
            let found: Vec<String> = history.since(since).map(|event| format!("{event:?}")).collect();
            assert_eq!(found, expected, "since {since}");
        }
    }

    #[test]
    fn the_oldest_go_first() {
        for (capacity, kept) in [(2, 2), (FRESH + 3, FRESH as u64 + 3)] {
            let mut history = History::new();
            let count = 2 * FRESH as u64;
            (1..=count).for_each(|revision| history.push(event(revision), capacity));
            assert_eq!(history.floor(), count - kept);
            assert_eq!(history.since(history.floor()).count() as u64, kept);
        }
    }
}
