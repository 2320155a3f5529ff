//! What was asked, in order.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How many bytes of bodies the log keeps, of the newest requests.
const MOST_BODIES: usize = 16 << 20;

/// How many bytes of JSON are told of one place in a body. Of more there is a digest alone.
const LONGEST_VALUE: usize = 1024;

/// What an altered body has at a place.
const OTHER: &str = "altered";

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
    /// What its body, in JSON, has at the places that were asked for; null for nothing. Left out where none was asked for, and
    /// where the log has no body: of who carries no good token it keeps none, nor one that cannot be read, nor those that are too old.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<BTreeMap<String, Value>>,
}

/// What is asked for of bodies: nothing else of them is ever told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// JSON pointers to values.
    pub values: Vec<String>,
    /// JSON pointers to values of which the digest alone is asked for.
    pub digests: Vec<String>,
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
    altered: Vec<(Meant, String)>,
    added: VecDeque<(Timestamp, String, String)>,
}

impl fmt::Debug for LogTamper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Edits { hidden, paced, altered, added } = &*self.edits();
        f.debug_struct("LogTamper")
            .field("hidden", &hidden.len())
            .field("paced", &paced.len())
            .field("altered", &altered.len())
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

    /// Tells of requests that are meant, of those that came before too, another value at a place in their bodies: a JSON pointer.
    pub fn alter(&self, meant: Meant, pointer: &str) {
        self.edits().altered.push((meant, pointer.to_owned()));
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

    /// The places at which the body of a request is told otherwise.
    fn altered(&self, method: &str, path: &str) -> Vec<String> {
        let edits = self.edits();
        edits.altered.iter().filter(|(meant, _)| meant(method, path)).map(|(_, pointer)| pointer.clone()).collect()
    }

    /// When a request came, by the log.
    fn time(&self, now: Timestamp, method: &str, path: &str, before: &VecDeque<Entry>) -> Timestamp {
        let edits = self.edits();
        let Some((meant, apart)) = edits.paced.iter().find(|(meant, _)| meant(method, path)) else { return now };
        let mut requests = before.iter().rev().map(|entry| &entry.request);
        let last = requests.find(|one| meant(&one.method, &one.path)).and_then(|one| one.time.parse().ok());
        last.and_then(|last: Timestamp| last.checked_add(*apart).ok()).unwrap_or(now)
    }
}

/// A request with its body, of which nobody is told more than what is asked for.
#[derive(Debug)]
struct Entry {
    request: LoggedRequest,
    /// Nothing if it was not kept, and once it is dropped.
    body: Option<Vec<u8>>,
}

impl Entry {
    fn told(&self, wanted: &Wanted, tamper: &LogTamper) -> LoggedRequest {
        let mut request = self.request.clone();
        if let Some(body) = self.body.as_deref().filter(|_| *wanted != Wanted::default()) {
            // What is no JSON has nothing anywhere.
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            let altered = tamper.altered(&request.method, &request.path);
            let at = |pointer: &String| match altered.contains(pointer) {
                true => Value::from(OTHER),
                false => body.pointer(pointer).cloned().unwrap_or_default(),
            };
            let values = wanted.values.iter().map(|pointer| (pointer.clone(), bounded(at(pointer))));
            let digests = wanted.digests.iter().map(|pointer| (pointer.clone(), digest(&at(pointer))));
            request.body = Some(values.chain(digests).collect());
        }
        request
    }
}

fn bounded(value: Value) -> Value {
    if value.to_string().len() > LONGEST_VALUE { digest(&value) } else { value }
}

/// `sha256:` and the digest in hexadecimal of a text, or of the JSON of another value; null for null.
fn digest(value: &Value) -> Value {
    let text = match value {
        Value::Null => return Value::Null,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("sha256:{:x}", Sha256::digest(text)).into()
}

#[derive(Debug)]
pub(crate) struct Log {
    capacity: usize,
    entries: VecDeque<Entry>,
    /// How many bytes the bodies have that are kept.
    bytes: usize,
    next: u64,
    tamper: LogTamper,
}

impl Log {
    /// A log that keeps so many requests, at least one.
    pub fn new(capacity: usize, tamper: LogTamper) -> Self {
        Self { capacity: capacity.max(1), entries: VecDeque::new(), bytes: 0, next: 1, tamper }
    }

    /// Notes a request: its method, path and query, whose it is, its body if that is to be kept, and the status of its answer.
    pub fn write(&mut self, now: Timestamp, line: (&str, &str, &str), caller: &str, body: Option<&[u8]>, status: u16) {
        self.take_in();
        let (method, path, _) = line;
        if !self.tamper.hides(method, path) {
            let time = self.tamper.time(now, method, path, &self.entries);
            self.put(time, line, caller, body, status);
        }
    }

    /// Notes what nobody sent.
    fn take_in(&mut self) {
        let added = std::mem::take(&mut self.tamper.edits().added);
        for (time, method, path) in added {
            self.put(time, (&method, &path, ""), "", Some(&[]), 200);
        }
    }

    fn put(&mut self, now: Timestamp, line: (&str, &str, &str), caller: &str, body: Option<&[u8]>, status: u16) {
        let (method, path, query) = line;
        let [method, path, query, caller] = [method, path, query, caller].map(str::to_owned);
        let (seq, time) = (self.next, format!("{now:.6}"));
        let request = LoggedRequest { seq, time, method, path, query, caller, status, body: None };
        self.bytes += body.map_or(0, <[u8]>::len);
        self.entries.push_back(Entry { request, body: body.map(<[u8]>::to_vec) });
        self.next += 1;
        if self.entries.len() > self.capacity
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.body.map_or(0, |body| body.len());
        }
        if self.bytes > MOST_BODIES {
            // Half of the room at once, so that not every request has to look for the oldest.
            for entry in &mut self.entries {
                if self.bytes <= MOST_BODIES / 2 {
                    break;
                }
                self.bytes -= entry.body.take().map_or(0, |body| body.len());
            }
        }
    }

    /// What is kept of the requests with greater numbers, and of their bodies what is wanted.
    pub fn after(&mut self, seq: u64, wanted: &Wanted) -> LogPage {
        self.take_in();
        let dropped = self.next - 1 - self.entries.len() as u64;
        let known = usize::try_from(seq.saturating_sub(dropped)).unwrap_or(usize::MAX);
        let requests = self.entries.iter().skip(known).map(|entry| entry.told(wanted, &self.tamper)).collect();
        LogPage { requests, next: self.next, dropped }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The digest of `kettle`.
    const KETTLE: &str = "sha256:20cd4732ae60507a2e2e01ae3ca7a75cc3c0d5a4e98f9a69689e1f31df74493e";

    #[test]
    fn of_bodies_no_more_is_told_than_is_asked_for() {
        let tamper = LogTamper::default();
        let mut log = Log::new(9, tamper.clone());
        let write = |log: &mut Log, path, body: &str| {
            log.write(Timestamp::UNIX_EPOCH, ("PUT", path, ""), "me", Some(body.as_bytes()), 200);
        };
        let long = "x".repeat(LONGEST_VALUE);
        write(&mut log, "/a", &json!({"a": 1, "b": {"password": "kettle"}, "long": long}).to_string());
        write(&mut log, "/b", "no JSON");
        write(&mut log, "/c", r#"{"a": 1, "b": {"password": "kettle"}}"#);
        tamper.alter(Arc::new(|_, path| path == "/c"), "/a");
        assert!(log.after(0, &Wanted::default()).requests.iter().all(|one| one.body.is_none()));
        let [values, digests] =
            [vec!["/a", "/long"], vec!["/b/password"]].map(|all| all.iter().map(|one| (*one).to_owned()).collect());
        let told: Vec<_> =
            log.after(0, &Wanted { values, digests }).requests.into_iter().map(|one| json!(one.body)).collect();
        assert_eq!(told[0]["a"], Value::Null);
        assert_eq!((&told[0]["/a"], &told[0]["/b/password"]), (&json!(1), &json!(KETTLE)));
        assert!(told[0]["/long"].as_str().is_some_and(|text| text.starts_with("sha256:")), "{told:?}");
        assert_eq!(told[1], json!({"/a": null, "/long": null, "/b/password": null}));
        assert_eq!(told[2], json!({"/a": OTHER, "/long": null, "/b/password": KETTLE}));
        assert!(!format!("{told:?}").contains("kettle"));
    }

    #[test]
    fn the_oldest_bodies_are_dropped_before_the_requests() {
        let mut log = Log::new(99, LogTamper::default());
        let body = vec![b' '; MOST_BODIES / 4];
        (0..5).for_each(|_| log.write(Timestamp::UNIX_EPOCH, ("PUT", "/", ""), "", Some(&body), 200));
        let wanted = Wanted { values: vec!["/a".to_owned()], digests: Vec::new() };
        let kept: Vec<bool> = log.after(0, &wanted).requests.iter().map(|one| one.body.is_some()).collect();
        assert_eq!(kept, [false, false, false, true, true]);
    }

    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let mut log = Log::new(3, LogTamper::default());
        let now: Timestamp = "2024-05-06T07:08:09.0123456Z".parse().unwrap();
        for status in 201..=205 {
            log.write(now, ("PUT", "/a", "q=1"), "me", Some(b"{}"), status);
        }
        let mut numbers =
            |after| log.after(after, &Wanted::default()).requests.iter().map(|request| request.seq).collect::<Vec<_>>();
        assert_eq!([numbers(0), numbers(3), numbers(4)], [vec![3, 4, 5], vec![4, 5], vec![5]]);
        assert_eq!([numbers(5), numbers(u64::MAX)], [vec![], Vec::<u64>::new()]);
        let page = log.after(4, &Wanted::default());
        assert_eq!((page.next, page.dropped), (6, 2));
        let expected = LoggedRequest {
            seq: 5,
            time: "2024-05-06T07:08:09.012345Z".into(),
            method: "PUT".into(),
            path: "/a".into(),
            query: "q=1".into(),
            caller: "me".into(),
            status: 205,
            body: None,
        };
        assert_eq!(page.requests, [expected]);
    }

    #[test]
    fn a_log_that_is_tampered_with_tells_of_other_requests() {
        let tamper = LogTamper::default();
        let mut log = Log::new(9, tamper.clone());
        let now: Timestamp = "2024-05-06T07:08:09Z".parse().unwrap();
        let write = |log: &mut Log, path: &str| log.write(now, ("PUT", path, ""), "me", Some(b""), 200);
        tamper.hide(Arc::new(|method, path| method == "PUT" && path == "/hidden"));
        tamper.pace(Arc::new(|_, path| path == "/paced"), SignedDuration::from_secs(5));
        for path in ["/hidden", "/paced", "/other", "/paced"] {
            write(&mut log, path);
        }
        tamper.add("GET", "/added");
        let mut told: Vec<_> =
            log.after(0, &Wanted::default()).requests.into_iter().map(|one| (one.seq, one.path, one.time)).collect();
        assert_eq!(told.pop().map(|(seq, path, _)| (seq, path)), Some((4, "/added".to_owned())));
        let at = |seconds: u8| format!("2024-05-06T07:08:{seconds:02}.000000Z");
        let expected = [(1, "/paced", at(9)), (2, "/other", at(9)), (3, "/paced", at(14))];
        assert_eq!(told, expected.map(|(seq, path, time)| (seq, path.to_owned(), time)));
    }
}
