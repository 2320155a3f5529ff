//! What backends noted of the requests of a probe, against what they must have noted.

use std::collections::HashMap;
use std::time::Duration;

use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use super::answer::test_header;
use super::miss::{Miss, plain_miss, severity};
use crate::log::JournalEntry;
use crate::scenario::{Level, Noted, Times};

/// Holds the entries of these requests against what is expected of each backend.
pub(super) fn compare(
    expected: &IndexMap<String, Noted>,
    ids: &[String],
    entries: &[JournalEntry],
    level: Level,
    prefix: &str,
) -> Vec<Miss> {
    let mut misses = Vec::new();
    for (backend, noted) in expected {
        let of = |id: &String| {
            entries.iter().filter(|entry| entry.id == *id && entry.backend == *backend).collect::<Vec<_>>()
        };
        let requests: Vec<Vec<&JournalEntry>> = ids.iter().map(of).collect();
        let mut miss = |part: &str, expected: String, seen: String| {
            let expectation = format!("{prefix}.noted.{backend}.{part}");
            misses.push(plain_miss(expectation, expected, seen, severity(level)));
        };
        if let Some(times) = noted.times
            && let Some(other) = requests.iter().map(Vec::len).find(|&count| !times.holds(count))
        {
            let expected = format!("each request reaches backend {backend} {times}");
            let other = Times::exactly(u32::try_from(other).unwrap_or(u32::MAX));
            miss("times", expected, format!("one of them reached it {other}"));
            // How those looked that should not be there, or are not there, says nothing.
            continue;
        }
        if noted.times.is_some_and(|times| times.at_least == 0) && requests.iter().all(Vec::is_empty) {
            continue;
        }
        if let Some(apart) = noted.apart
            && let Some(gap) = requests.iter().flat_map(|of| gaps(of)).min().filter(|gap| *gap < apart * 1000)
        {
            let expected = format!("backend {backend} gets them {apart} ms apart at least");
            miss("apart", expected, format!("two came {} ms apart", gap / 1000));
        }
        for (part, expected, seen) in different(noted, &requests.concat(), backend) {
            miss(&part, expected, seen);
        }
    }
    misses
}

/// How long the longest of these requests went on at a backend, from the first time that this got it to the last. What went on so
/// long behind an answer that came meanwhile is over, or shows when as much time has passed again. Each backend has a clock of its
/// own.
pub(super) fn went_on(ids: &[String], entries: &[JournalEntry]) -> Duration {
    let mut spans: HashMap<(&str, &str), (u64, u64)> = HashMap::new();
    for entry in entries.iter().filter(|entry| ids.contains(&entry.id)) {
        let span = spans.entry((&entry.id, &entry.backend)).or_insert((entry.micros, entry.micros));
        *span = (span.0.min(entry.micros), span.1.max(entry.micros));
    }
    Duration::from_micros(spans.values().map(|(first, last)| last - first).max().unwrap_or_default())
}

/// Microseconds between the entries of one request.
fn gaps(of: &[&JournalEntry]) -> Vec<u64> {
    of.windows(2).map(|pair| pair[1].micros.saturating_sub(pair[0].micros)).collect()
}

/// The values that are not as they must be: part, what is expected, what was noted. None can be so if nothing was noted.
fn different(noted: &Noted, all: &[&JournalEntry], backend: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut text = |part: &str, wanted: Option<&String>, of: fn(&JournalEntry) -> &str, shown: Option<&str>| {
        let Some(wanted) = wanted else { return };
        let expected = format!("backend {backend} gets the {part} {:?}", shown.unwrap_or(wanted));
        match all.iter().map(|entry| of(entry)).find(|seen| seen != wanted) {
            Some(seen) => found.push((part.to_owned(), expected, format!("it got {seen:?}"))),
            None if all.is_empty() => found.push((part.to_owned(), expected, "it got nothing".to_owned())),
            None => {}
        }
    };
    text("method", noted.method.as_ref(), |entry| &entry.method, None);
    text("path", noted.path.as_ref(), |entry| &entry.path, None);
    text("proto", noted.proto.as_ref(), |entry| &entry.proto, None);
    let digest = noted.body.as_ref().map(|body| format!("{:x}", Sha256::digest(body.as_bytes())));
    text("body", digest.as_ref(), |entry| &entry.body_sha256, noted.body.as_deref());
    for (name, test) in &noted.headers {
        let part = format!("headers.{name}");
        let what = format!("request header {name} at backend {backend}");
        let failed = all.iter().find_map(|entry| {
            let lines = entry.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
            let values: Vec<&str> = lines.map(|(_, value)| value.as_str()).collect();
            let (good, words) = test_header(test, &what, &values);
            (!good).then(|| (words, format!("it is {:?}", values.join(","))))
        });
        match failed {
            Some((words, seen)) => found.push((part, words, seen)),
            None if all.is_empty() => found.push((part, what, "it got nothing".to_owned())),
            None => {}
        }
    }
    found
}

/// What is missing if each of these requests must be noted once by each of these backends, its mirrors.
pub(super) fn mirrored(
    backends: &[String],
    ids: &[String],
    entries: &[JournalEntry],
    level: Level,
    prefix: &str,
) -> Vec<Miss> {
    let of_backend = |backend: &String| {
        let counts = ids.iter().map(|id| entries.iter().filter(|e| e.id == *id && e.backend == *backend).count());
        let wrong = counts.clone().filter(|&count| count != 1).count();
        let most = counts.max().unwrap_or(0);
        (wrong > 0).then(|| {
            let seen = if most > 1 {
                format!("backend {backend} noted one of them {most} times")
            } else {
                format!("backend {backend} noted {wrong} of {} not at all", ids.len())
            };
            let expected = format!("backend {backend} notes each request once, as its mirror");
            plain_miss(format!("{prefix}.mirrored.{backend}"), expected, seen, severity(level))
        })
    };
    backends.iter().filter_map(of_backend).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::scenario::{HeaderTest, Times};

    fn entry(id: &str, backend: &str, micros: u64) -> JournalEntry {
        JournalEntry {
            backend: backend.to_owned(),
            id: id.to_owned(),
            method: "POST".to_owned(),
            path: "/a".to_owned(),
            proto: "HTTP/1.1".to_owned(),
            host: "h.test".to_owned(),
            headers: vec![("x-a".to_owned(), "one".to_owned())],
            body_sha256: format!("{:x}", Sha256::digest(b"hello")),
            micros,
        }
    }

    fn with(change: impl FnOnce(&mut Noted)) -> Noted {
        let mut noted = Noted::default();
        change(&mut noted);
        noted
    }

    fn header(test: HeaderTest) -> Noted {
        with(|noted| noted.headers = IndexMap::from([("X-A".to_owned(), test)]))
    }

    #[rstest]
    #[case::as_often(with(|n| n.times = Some(Times::exactly(2))), None)]
    #[case::more_often(with(|n| n.times = Some(Times::exactly(1))), Some("times"))]
    #[case::never(with(|n| n.times = Some(Times::exactly(0))), Some("times"))]
    #[case::often_enough(with(|n| n.times = Some(Times { at_least: 2, at_most: None })), None)]
    #[case::not_too_often(with(|n| n.times = Some(Times { at_least: 0, at_most: Some(2) })), None)]
    #[case::too_often(with(|n| n.times = Some(Times { at_least: 0, at_most: Some(1) })), Some("times"))]
    #[case::too_rarely(with(|n| n.times = Some(Times { at_least: 3, at_most: None })), Some("times"))]
    #[case::far_apart(with(|n| n.apart = Some(100)), None)]
    #[case::close(with(|n| n.apart = Some(101)), Some("apart"))]
    #[case::method(with(|n| n.method = Some("POST".into())), None)]
    #[case::other_method(with(|n| n.method = Some("GET".into())), Some("method"))]
    #[case::other_path(with(|n| n.path = Some("/b".into())), Some("path"))]
    #[case::body(with(|n| n.body = Some("hello".into())), None)]
    #[case::other_body(with(|n| n.body = Some(String::new())), Some("body"))]
    #[case::header(header(HeaderTest::Equals("one".into())), None)]
    #[case::other_header(header(HeaderTest::Absent), Some("headers.X-A"))]
    fn each_part_is_compared(#[case] noted: Noted, #[case] missed: Option<&str>) {
        let entries = [entry("1", "echo", 0), entry("1", "echo", 100_000), entry("1", "other", 100_001)];
        let expected = IndexMap::from([("echo".to_owned(), noted)]);
        let misses = compare(&expected, &["1".to_owned()], &entries, Level::Must, "p");
        let found: Vec<String> = misses.into_iter().map(|miss| miss.expectation).collect();
        let wanted: Vec<String> = missed.map(|part| format!("p.noted.echo.{part}")).into_iter().collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_request_goes_on_from_its_first_time_to_its_last() {
        let of_echo = [entry("1", "echo", 5), entry("2", "echo", 1_000), entry("1", "echo", 7_005)];
        let others = [entry("1", "other", 90_000_000), entry("3", "echo", 0)];
        let entries = [&of_echo[..], &others].concat();
        let ids = ["1".to_owned(), "2".to_owned()];
        assert_eq!(went_on(&ids, &entries), Duration::from_micros(7_000));
        assert_eq!(went_on(&[], &entries), Duration::ZERO);
    }

    #[rstest]
    #[case::never(with(|n| n.times = Some(Times::exactly(0))), 0)]
    #[case::method(with(|n| n.method = Some("GET".into())), 1)]
    #[case::header(header(HeaderTest::Absent), 1)]
    #[case::what_need_not_come(Noted { times: Some(Times { at_least: 0, at_most: Some(1) }), ..header(HeaderTest::Present) }, 0)]
    #[case::what_has_to_come(Noted { times: Some(Times { at_least: 1, at_most: None }), ..header(HeaderTest::Present) }, 1)]
    fn nothing_noted_passes_for_never_and_perhaps(#[case] noted: Noted, #[case] misses: usize) {
        let expected = IndexMap::from([("echo".to_owned(), noted)]);
        assert_eq!(compare(&expected, &["1".to_owned()], &[], Level::Must, "p").len(), misses);
    }
}
