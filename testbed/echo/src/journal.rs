//! What backends were asked, by request id.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::watch;

use crate::identity::Identity;

/// One request that reached one backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Counts the records of a journal, from 0.
    pub sequence: u64,
    /// When the whole request had arrived.
    #[serde(skip)]
    pub at: Instant,
    /// The same in microseconds since the journal was made.
    pub micros: u64,
    /// The backend.
    pub backend: Identity,
    /// The id that the request carried: the header `X-Gateproof-Request`, or the first word of the first line over TCP.
    pub request_id: Option<String>,
    /// The method; `TCP` for a byte stream.
    pub method: String,
    /// The raw path and query; over TCP the first line.
    pub path: String,
    /// The version of HTTP, such as `HTTP/1.1`; nothing where it is no request.
    pub proto: &'static str,
    /// The Host header or `:authority`.
    pub host: String,
    /// The header fields in the order of arrival, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Length of the body in bytes; over TCP of the first line.
    pub body_length: u64,
    /// SHA-256 of the same bytes, in hexadecimal.
    pub body_digest: String,
    /// Who connected.
    pub peer: SocketAddr,
}

/// What a backend tells the journal; the journal adds number and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub backend: Identity,
    pub request_id: Option<String>,
    pub method: String,
    pub path: String,
    pub proto: &'static str,
    pub host: String,
    pub headers: Vec<(String, String)>,
    pub body_length: u64,
    pub body_digest: String,
    pub peer: SocketAddr,
}

/// A journal shared by any number of backends. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    start: Instant,
    capacity: usize,
    pages: Mutex<Pages>,
    written: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Pages {
    next: u64,
    forgotten: u64,
    records: VecDeque<Arc<Record>>,
    by_request: HashMap<String, Vec<Arc<Record>>>,
}

impl Journal {
    /// How many records [`Journal::default`] keeps.
    pub const DEFAULT_CAPACITY: usize = 100_000;

    /// A journal that keeps the last `capacity` records, at least one.
    pub fn new(capacity: usize) -> Self {
        let (written, _) = watch::channel(0);
        Self(Arc::new(Inner { start: Instant::now(), capacity: capacity.max(1), pages: Mutex::default(), written }))
    }

    /// The records of one request id, oldest first.
    pub fn of_request(&self, id: &str) -> Vec<Arc<Record>> {
        self.pages().by_request.get(id).cloned().unwrap_or_default()
    }

    /// All records that are kept, oldest first.
    pub fn records(&self) -> Vec<Arc<Record>> {
        self.pages().records.iter().cloned().collect()
    }

    /// How many records were ever written.
    pub fn written(&self) -> u64 {
        self.pages().next
    }

    /// How many records were dropped because the journal was full.
    pub fn dropped(&self) -> u64 {
        let pages = self.pages();
        pages.next - pages.forgotten - pages.records.len() as u64
    }

    /// Drops the records of all requests whose ids begin so, once they are judged.
    pub fn forget(&self, prefix: &str) {
        let mut pages = self.pages();
        let before = pages.records.len();
        pages.records.retain(|record| !record.request_id.as_ref().is_some_and(|id| id.starts_with(prefix)));
        pages.by_request.retain(|id, _| !id.starts_with(prefix));
        pages.forgotten += (before - pages.records.len()) as u64;
    }

    /// Waits until at least `count` records of a request id are there, and returns all of them. Waits for ever if they
    /// never come: put a deadline around it.
    pub async fn wait_for(&self, id: &str, count: usize) -> Vec<Arc<Record>> {
        self.wait_until(id, |records| records.len() >= count).await
    }

    /// Waits until `enough` holds for the records of a request id, and returns them. Waits for ever if it never does:
    /// put a deadline around it.
    pub async fn wait_until(&self, id: &str, enough: impl Fn(&[Arc<Record>]) -> bool) -> Vec<Arc<Record>> {
        let mut written = self.0.written.subscribe();
        loop {
            written.borrow_and_update();
            let records = self.of_request(id);
            // The sender lives as long as this journal, so that waiting cannot fail before `enough` holds.
            if enough(&records) || written.changed().await.is_err() {
                return records;
            }
        }
    }

    pub(crate) fn write(&self, entry: Entry) {
        let at = Instant::now();
        let mut pages = self.pages();
        let sequence = pages.next;
        let record = Arc::new(Record {
            sequence,
            at,
            micros: u64::try_from(at.duration_since(self.0.start).as_micros()).unwrap_or(u64::MAX),
            backend: entry.backend,
            request_id: entry.request_id,
            method: entry.method,
            path: entry.path,
            proto: entry.proto,
            host: entry.host,
            headers: entry.headers,
            body_length: entry.body_length,
            body_digest: entry.body_digest,
            peer: entry.peer,
        });
        pages.next += 1;
        if let Some(id) = &record.request_id {
            pages.by_request.entry(id.clone()).or_default().push(Arc::clone(&record));
        }
        pages.records.push_back(record);
        if pages.records.len() > self.0.capacity {
            pages.drop_oldest();
        }
        drop(pages);
        self.0.written.send_replace(sequence + 1);
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

impl Pages {
    fn drop_oldest(&mut self) {
        let Some(oldest) = self.records.pop_front() else { return };
        let Some(id) = &oldest.request_id else { return };
        if let Some(records) = self.by_request.get_mut(id) {
            records.retain(|record| record.sequence != oldest.sequence);
            if records.is_empty() {
                self.by_request.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn entry(id: Option<&str>) -> Entry {
        Entry {
            backend: Identity::default(),
            request_id: id.map(str::to_owned),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            proto: "HTTP/1.1",
            host: "example.com".to_owned(),
            headers: Vec::new(),
            body_length: 0,
            body_digest: String::new(),
            peer: SocketAddr::from(([127, 0, 0, 1], 1)),
        }
    }

    fn sequences(records: &[Arc<Record>]) -> Vec<u64> {
        records.iter().map(|record| record.sequence).collect()
    }

    #[test]
    fn finds_records_by_request() {
        let journal = Journal::default();
        for id in [Some("a"), None, Some("b"), Some("a")] {
            journal.write(entry(id));
        }
        assert_eq!(sequences(&journal.of_request("a")), [0, 3]);
        assert!(journal.of_request("c").is_empty());
    }

    #[test]
    fn what_was_judged_is_forgotten() {
        let journal = Journal::new(4);
        for id in ["a-1", "a-2", "aa-1", "a-1"] {
            journal.write(entry(Some(id)));
        }
        journal.write(entry(None));
        journal.forget("a-");
        assert_eq!(sequences(&journal.records()), [2, 4]);
        assert!(journal.of_request("a-1").is_empty());
        assert_eq!(sequences(&journal.of_request("aa-1")), [2]);
        assert_eq!((journal.written(), journal.dropped()), (5, 1));
    }

    #[test]
    fn drops_the_oldest_when_full() {
        let journal = Journal::new(2);
        for id in ["a", "b", "a"] {
            journal.write(entry(Some(id)));
        }
        assert_eq!(sequences(&journal.records()), [1, 2]);
        assert_eq!(sequences(&journal.of_request("a")), [2]);
        assert_eq!((journal.written(), journal.dropped()), (3, 1));
    }

    #[tokio::test]
    async fn waits_for_what_is_yet_to_come() {
        let journal = Journal::default();
        let waiting = tokio::spawn({
            let journal = journal.clone();
            async move { journal.wait_for("a", 2).await.len() }
        });
        for id in ["a", "b", "a"] {
            tokio::task::yield_now().await;
            journal.write(entry(Some(id)));
        }
        let found = tokio::time::timeout(Duration::from_secs(5), waiting).await;
        assert!(matches!(found, Ok(Ok(2))), "{found:?}");
    }
}
