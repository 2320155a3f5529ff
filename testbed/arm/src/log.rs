//! What was asked, in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// One request to ARM, polling included. It is noted when the whole request is there and its answer is known, which may be
/// before the answer is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedRequest {
    /// Counts the requests, from 1.
    pub seq: u64,
    /// When, by RFC 3339 with microseconds.
    pub time: String,
    /// The method.
    pub method: String,
    /// The path as it came.
    pub path: String,
    /// The query as it came; empty for none.
    pub query: String,
    /// The client id that the token was given out for; empty without a good token.
    pub caller: String,
    /// The status of the answer.
    pub status: u16,
}

/// A part of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogPage {
    /// The requests, oldest first.
    pub requests: Vec<LoggedRequest>,
    /// The number that the next request gets.
    pub next: u64,
    /// How many requests the log has dropped since the start, because it was full.
    pub dropped: u64,
}

/// Whether a request is meant, by its method and path.
pub type Meant = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Makes the log tell of other requests than came, from one moment on. It changes no answer. Clones share it, and a new one is
/// plain.
#[derive(Clone, Default)]
pub struct LogTamper(Arc<Mutex<Edits>>);

#[derive(Default)]
struct Edits {
    hidden: Vec<Meant>,
    paced: Vec<(Meant, SignedDuration)>,
    added: VecDeque<(Timestamp, String, String)>,
}

impl fmt::Debug for LogTamper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Edits { hidden, paced, added } = &*self.edits();
        f.debug_struct("LogTamper")
            .field("hidden", &hidden.len())
            .field("paced", &paced.len())
            .field("added", &added.len())
            .finish()
    }
}

impl LogTamper {
    /// Does not note requests any more that are meant.
    pub fn hide(&self, meant: Meant) {
        self.edits().hidden.push(meant);
    }

    /// Notes of requests that are meant, and that others of these came before, that so much time lies between.
    pub fn pace(&self, meant: Meant, apart: SignedDuration) {
        self.edits().paced.push((meant, apart));
    }

    /// Notes a request that nobody sent.
    pub fn add(&self, method: &str, path: &str) {
        self.edits().added.push_back((Timestamp::now(), method.to_owned(), path.to_owned()));
    }

    fn edits(&self) -> MutexGuard<'_, Edits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hides(&self, method: &str, path: &str) -> bool {
        self.edits().hidden.iter().any(|meant| meant(method, path))
    }

    /// When a request came, by the log.
    fn time(&self, now: Timestamp, method: &str, path: &str, before: &VecDeque<LoggedRequest>) -> Timestamp {
        let edits = self.edits();
        let Some((meant, apart)) = edits.paced.iter().find(|(meant, _)| meant(method, path)) else { return now };
        let last = before.iter().rev().find(|one| meant(&one.method, &one.path)).and_then(|one| one.time.parse().ok());
        last.and_then(|last: Timestamp| last.checked_add(*apart).ok()).unwrap_or(now)
    }
}

#[derive(Debug)]
pub(crate) struct Log {
    capacity: usize,
    requests: VecDeque<LoggedRequest>,
    next: u64,
    tamper: LogTamper,
}

impl Log {
    /// A log that keeps so many requests, at least one.
    pub fn new(capacity: usize, tamper: LogTamper) -> Self {
        Self { capacity: capacity.max(1), requests: VecDeque::new(), next: 1, tamper }
    }

    pub fn write(&mut self, now: Timestamp, (method, path, query): (&str, &str, &str), caller: &str, status: u16) {
        self.take_in();
        if !self.tamper.hides(method, path) {
            let time = self.tamper.time(now, method, path, &self.requests);
            self.put(time, (method, path, query), caller, status);
        }
    }

    /// Notes what nobody sent.
    fn take_in(&mut self) {
        let added = std::mem::take(&mut self.tamper.edits().added);
        for (time, method, path) in added {
            self.put(time, (&method, &path, ""), "", 200);
        }
    }

    fn put(&mut self, now: Timestamp, (method, path, query): (&str, &str, &str), caller: &str, status: u16) {
        let [method, path, query, caller] = [method, path, query, caller].map(str::to_owned);
        self.requests.push_back(LoggedRequest {
            seq: self.next,
            time: format!("{now:.6}"),
            method,
            path,
            query,
            caller,
            status,
        });
        self.next += 1;
        if self.requests.len() > self.capacity {
            self.requests.pop_front();
        }
    }

    /// What is kept of the requests with greater numbers.
    pub fn after(&mut self, seq: u64) -> LogPage {
        self.take_in();
        let dropped = self.next - 1 - self.requests.len() as u64;
        let known = usize::try_from(seq.saturating_sub(dropped)).unwrap_or(usize::MAX);
        LogPage { requests: self.requests.iter().skip(known).cloned().collect(), next: self.next, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let mut log = Log::new(3, LogTamper::default());
        let now: Timestamp = "2024-05-06T07:08:09.0123456Z".parse().unwrap();
        for status in 201..=205 {
            log.write(now, ("PUT", "/a", "q=1"), "me", status);
        }
        let mut numbers = |after| log.after(after).requests.iter().map(|request| request.seq).collect::<Vec<_>>();
        assert_eq!([numbers(0), numbers(3), numbers(4)], [vec![3, 4, 5], vec![4, 5], vec![5]]);
        assert_eq!([numbers(5), numbers(u64::MAX)], [vec![], Vec::<u64>::new()]);
        let page = log.after(4);
        assert_eq!((page.next, page.dropped), (6, 2));
        let expected = LoggedRequest {
            seq: 5,
            time: "2024-05-06T07:08:09.012345Z".into(),
            method: "PUT".into(),
            path: "/a".into(),
            query: "q=1".into(),
            caller: "me".into(),
            status: 205,
        };
        assert_eq!(page.requests, [expected]);
    }

    #[test]
    fn a_log_that_is_tampered_with_tells_of_other_requests() {
        let tamper = LogTamper::default();
        let mut log = Log::new(9, tamper.clone());
        let now: Timestamp = "2024-05-06T07:08:09Z".parse().unwrap();
        let write = |log: &mut Log, path: &str| log.write(now, ("PUT", path, ""), "me", 200);
        tamper.hide(Arc::new(|method, path| method == "PUT" && path == "/hidden"));
        tamper.pace(Arc::new(|_, path| path == "/paced"), SignedDuration::from_secs(5));
        ["/hidden", "/paced", "/other", "/paced"].iter().for_each(|path| write(&mut log, path));
        tamper.add("GET", "/added");
        let mut told: Vec<_> = log.after(0).requests.into_iter().map(|one| (one.seq, one.path, one.time)).collect();
        assert_eq!(told.pop().map(|(seq, path, _)| (seq, path)), Some((4, "/added".to_owned())));
        let at = |seconds: u8| format!("2024-05-06T07:08:{seconds:02}.000000Z");
        let expected = [(1, "/paced", at(9)), (2, "/other", at(9)), (3, "/paced", at(14))];
        assert_eq!(told, expected.map(|(seq, path, time)| (seq, path.to_owned(), time)));
    }
}
