//! How a query asks the backend to behave beside echoing: to fail, or to be slow.
//!
//! What is to happen to the first requests only is counted by request id, so that each probe starts anew:
//! `fail=2&code=503` fails the first two requests of an id, `code=break` breaks their connections off; `late=1` delays
//! only the first by `delay`, and `of=NAME` those to one backend alone; `pause=1s` sends the second half of the body so
//! much later. `leave=1` lets the backend answer and take no connections from then on, and `bytes=1000` makes the answer so
//! much longer, without saying beforehand how long it is if `chunked=1` stands beside it; with `trailer=name:value` there too, trailers
//! follow it. `hints=1` sends hints before the answer, over HTTP/1.1, and `close=1` leaves it there to the end of the connection to say
//! where the answer ends. `greets=1` sends a text with the answer that opens a WebSocket.

use std::time::Duration;

use http::{HeaderName, HeaderValue, StatusCode};

use crate::delay;

/// About how long it takes until a request that failed is made again.
const AGAIN: Duration = Duration::from_millis(100);

/// How long requests are made again about, at most.
const PATIENCE: Duration = Duration::from_secs(1);

/// No answer is made longer than by so many bytes.
const MOST_FILLER: usize = 16 * 1024 * 1024;

/// About how long it takes to get the whole answer to this query from behind a proxy that tries again.
pub fn takes(query: &str) -> Duration {
    let again = count(query, "fail=").and_then(|count| u32::try_from(count).ok()).unwrap_or_default();
    let failing = AGAIN.saturating_mul(again).min(PATIENCE);
    // Who waits for the answer of another backend waits for nothing.
    let delay = delay::requested(query).filter(|_| value(query, "of=").is_none());
    [delay, pause(query)].into_iter().flatten().fold(failing, Duration::saturating_add)
}

/// What a path below `/retry/` asks for in the words of the Gateway API conformance suite: `uuid` counts attempts, `succeedAfter` says
/// how many of them fail, after `delayRetry` and with `responseCode`, or else with a connection that breaks off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rehearsal<'q> {
    /// Under which attempts are counted.
    pub id: &'q str,
    failures: usize,
    failure: Failure,
    delay: Option<Duration>,
}

impl<'q> Rehearsal<'q> {
    /// Reads a request; none if it does not say both who it is and how often it is to fail.
    pub fn of(path: &str, query: &'q str) -> Option<Self> {
        let failure = match value(query, "responseCode=").and_then(|code| code.parse().ok()) {
            Some(code) => Failure::Status(code),
            None => Failure::Break,
        };
        let id = value(query, "uuid=").filter(|id| path.starts_with("/retry/") && !id.is_empty())?;
        let delay = value(query, "delayRetry=").and_then(delay::parse);
        Some(Self { id, failures: count(query, "succeedAfter=")?, failure, delay })
    }

    /// How an attempt fails that comes after so many others, and how much later.
    pub fn failure(&self, before: usize) -> Option<(Failure, Option<Duration>)> {
        (before < self.failures).then_some((self.failure, self.delay))
    }
}

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// With this status code.
    Status(StatusCode),
    /// The connection breaks off without an answer.
    Break,
}

/// Whether a request fails that comes after so many others of its id.
pub(crate) fn failure(query: &str, before: usize) -> Option<Failure> {
    if before >= count(query, "fail=")? {
        return None;
    }
    match value(query, "code=") {
        Some("break") => Some(Failure::Break),
        Some(code) => Some(Failure::Status(code.parse().ok()?)),
        None => Some(Failure::Status(StatusCode::INTERNAL_SERVER_ERROR)),
    }
}

/// Whether the delay that a query asks for is for a request that comes after so many others of its id.
pub(crate) fn is_late(query: &str, before: usize) -> bool {
    count(query, "late=").is_none_or(|first| before < first)
}

/// Whether the delay that a query asks for is for the backend of this Pod: its own name, or one that begins with it and a dash.
pub(crate) fn is_for(query: &str, pod: &str) -> bool {
    value(query, "of=")
        .is_none_or(|name| pod.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

/// Whether the backend takes no connections any more once this request is answered.
pub(crate) fn leaves(query: &str) -> bool {
    value(query, "leave=") == Some("1")
}

/// How many bytes the answer has beside what it says anyway.
pub(crate) fn filler(query: &str) -> usize {
    count(query, "bytes=").unwrap_or_default().min(MOST_FILLER)
}

/// Whether the answer does not say beforehand how long it is.
pub(crate) fn is_chunked(query: &str) -> bool {
    value(query, "chunked=") == Some("1")
}

/// What follows an answer that does not say beforehand how long it is.
pub(crate) fn trailers(query: &str) -> Vec<(HeaderName, HeaderValue)> {
    let asked = query.split('&').filter_map(|pair| pair.strip_prefix("trailer=")?.split_once(':'));
    asked.filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?))).collect()
}

/// Whether hints go before the answer.
pub(crate) fn hints(query: &str) -> bool {
    value(query, "hints=") == Some("1")
}

/// Whether nothing says how long the answer is but that the connection ends behind it.
pub(crate) fn ends_with_connection(query: &str) -> bool {
    value(query, "close=") == Some("1")
}

/// Whether a WebSocket opens with a text of the backend.
pub fn greets(query: &str) -> bool {
    value(query, "greets=") == Some("1")
}

/// The pause in the middle of the body.
pub(crate) fn pause(query: &str) -> Option<Duration> {
    value(query, "pause=").and_then(delay::parse)
}

fn count(query: &str, name: &str) -> Option<usize> {
    value(query, name)?.parse().ok()
}

fn value<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const BUSY: Failure = Failure::Status(StatusCode::SERVICE_UNAVAILABLE);

    #[rstest]
    #[case("fail=2&code=503", 1, Some(BUSY))]
    #[case("fail=2&code=503", 2, None)]
    #[case("fail=1", 0, Some(Failure::Status(StatusCode::INTERNAL_SERVER_ERROR)))]
    #[case("a=b&fail=1&code=break", 0, Some(Failure::Break))]
    #[case("fail=0&code=503", 0, None)]
    #[case("fail=x&code=503", 0, None)]
    #[case("fail=1&code=99999", 0, None)]
    #[case("code=503", 0, None)]
    fn failures(#[case] query: &str, #[case] before: usize, #[case] expected: Option<Failure>) {
        assert_eq!(failure(query, before), expected);
    }

    #[rstest]
    #[case::breaks("/retry/a", "uuid=7&succeedAfter=2", 1, Some((Failure::Break, None)))]
    #[case::with_a_code("/retry/a", "uuid=7&succeedAfter=1&responseCode=503", 0, Some((BUSY, None)))]
    #[case::late("/retry/a", "uuid=7&succeedAfter=1&delayRetry=2s", 0, Some((Failure::Break, Some(Duration::from_secs(2)))))]
    #[case::over("/retry/a", "uuid=7&succeedAfter=1", 1, None)]
    #[case::elsewhere("/a/retry/", "uuid=7&succeedAfter=1", 0, None)]
    #[case::nobody("/retry/a", "uuid=&succeedAfter=1", 0, None)]
    #[case::never("/retry/a", "uuid=7", 0, None)]
    fn rehearsals(
        #[case] path: &str,
        #[case] query: &str,
        #[case] before: usize,
        #[case] expected: Option<(Failure, Option<Duration>)>,
    ) {
        let rehearsal = Rehearsal::of(path, query);
        assert_eq!(rehearsal.and_then(|one| one.failure(before)), expected);
    }

    #[rstest]
    #[case("delay=1s", 5, true)]
    #[case("delay=1s&late=1", 0, true)]
    #[case("delay=1s&late=1", 1, false)]
    fn delays_of_the_first(#[case] query: &str, #[case] before: usize, #[case] late: bool) {
        assert_eq!(is_late(query, before), late);
    }

    #[rstest]
    #[case("delay=1s", "echo-1", true)]
    #[case("delay=1s&of=echo", "echo", true)]
    #[case("delay=1s&of=echo", "echo-1", true)]
    #[case("delay=1s&of=echo", "echoes-1", false)]
    #[case("delay=1s&of=second", "echo-1", false)]
    fn delays_of_one_backend(#[case] query: &str, #[case] pod: &str, #[case] is_meant: bool) {
        assert_eq!(is_for(query, pod), is_meant);
    }

    #[rstest]
    #[case("", 0)]
    #[case("delay=1s&of=second", 0)]
    #[case("delay=1s&pause=500ms", 1500)]
    #[case("fail=2&code=503", 200)]
    #[case("fail=1000&code=503&delay=1s", 2000)]
    #[case("fail=99999999999&delay=x", 0)]
    fn whole_answers(#[case] query: &str, #[case] millis: u64) {
        assert_eq!(takes(query), Duration::from_millis(millis));
    }

    #[rstest]
    #[case("", false, 0, false)]
    #[case("leave=1", true, 0, false)]
    #[case("leave=0&bytes=x", false, 0, false)]
    #[case("a=b&bytes=1048576&chunked=1", false, 1_048_576, true)]
    #[case("bytes=99999999999", false, MOST_FILLER, false)]
    fn leaving_and_length(#[case] query: &str, #[case] leaving: bool, #[case] bytes: usize, #[case] chunked: bool) {
        assert_eq!((leaves(query), filler(query), is_chunked(query)), (leaving, bytes, chunked));
    }

    #[rstest]
    #[case("trailer=x-a:1&chunked=1&trailer=X-B:2:3", "x-a=1 x-b=2:3")]
    #[case("trailer=&trailer=x&trailer=a/b:1&trailers=x:1", "")]
    fn trailers_have_a_name_and_a_value(#[case] query: &str, #[case] expected: &str) {
        let texts = |(name, value): (HeaderName, HeaderValue)| format!("{name}={}", value.to_str().unwrap_or_default());
        assert_eq!(trailers(query).into_iter().map(texts).collect::<Vec<_>>().join(" "), expected);
    }

    #[rstest]
    #[case("hints=1", true)]
    #[case("hints=0&hint=1", false)]
    fn hints_are_asked_for(#[case] query: &str, #[case] expected: bool) {
        assert_eq!(hints(query), expected);
    }

    #[rstest]
    #[case("close=1&greets=1", true)]
    #[case("close=0&greets=0&closes=1&greet=1", false)]
    fn ends_and_greetings_are_asked_for(#[case] query: &str, #[case] expected: bool) {
        assert_eq!((ends_with_connection(query), greets(query)), (expected, expected));
    }

    #[test]
    fn pauses_are_durations() {
        assert_eq!(pause("pause=250ms"), Some(Duration::from_millis(250)));
        assert_eq!(pause("pause=x"), None);
    }
}
