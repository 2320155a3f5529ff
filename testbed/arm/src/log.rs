//! What was asked, in order.

use std::collections::VecDeque;

use jiff::Timestamp;
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

#[derive(Debug)]
pub(crate) struct Log {
    capacity: usize,
    requests: VecDeque<LoggedRequest>,
    next: u64,
}

impl Log {
    /// A log that keeps so many requests, at least one.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), requests: VecDeque::new(), next: 1 }
    }

    pub fn write(&mut self, now: Timestamp, (method, path, query): (&str, &str, &str), caller: &str, status: u16) {
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
    pub fn after(&self, seq: u64) -> LogPage {
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
        let mut log = Log::new(3);
        let now: Timestamp = "2024-05-06T07:08:09.0123456Z".parse().unwrap();
        for status in 201..=205 {
            log.write(now, ("PUT", "/a", "q=1"), "me", status);
        }
        let numbers = |after| log.after(after).requests.iter().map(|request| request.seq).collect::<Vec<_>>();
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
}
