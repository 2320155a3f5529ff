//! The one place where the harness reads a clock or waits. Everything else takes times from the log.
#![expect(clippy::disallowed_methods, reason = "this is the place that the ban points to")]

use std::time::Duration;

use tokio::time::Instant;

/// The monotonic clock.
pub fn now() -> Instant {
    Instant::now()
}

/// The calendar, for people and reports only.
pub fn calendar() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// The same in seconds, RFC 3339.
pub fn date() -> String {
    let now = calendar();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// The same to the microsecond, as Leases have it. For people too: nobody compares it with another clock.
pub fn micro_date() -> String {
    calendar().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// From when on a wait is told to whoever looks on.
const TOLD_AFTER: Duration = Duration::from_secs(1);

/// Waits for what comes, and tells of it if that takes a while.
pub async fn patiently<T>(coming: impl Future<Output = T>, tell: impl FnOnce()) -> T {
    let mut coming = std::pin::pin!(coming);
    tokio::select! {
        biased;
        come = &mut coming => return come,
        () = until(now() + TOLD_AFTER) => tell(),
    }
    coming.await
}

/// Waits for a moment: a limit of the judge, or the back-off after a failure.
pub async fn until(moment: Instant) {
    tokio::time::sleep_until(moment).await;
}

/// A pause that doubles up to a longest one: the back-off between attempts.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Begins with `first`.
    pub fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { next: first, longest }
    }

    /// The next pause, if nobody asks for a longer one.
    pub fn peek(&self) -> Duration {
        self.next
    }

    /// The next pause, at least `asked`; the one after it is twice as long.
    pub fn step(&mut self, asked: Duration) -> Duration {
        let pause = self.next.max(asked);
        self.next = (self.next * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_long_waits_are_told() {
        let told = std::cell::Cell::new(0);
        let tell = || told.set(told.get() + 1);
        patiently(until(now() + Duration::from_millis(900)), tell).await;
        assert_eq!(told.get(), 0);
        patiently(until(now() + Duration::from_secs(60)), tell).await;
        assert_eq!(told.get(), 1);
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(18));
        let pauses: Vec<u128> = (0..4).map(|_| backoff.step(Duration::ZERO).as_millis()).collect();
        assert_eq!(pauses, [5, 10, 18, 18]);
        assert_eq!(backoff.step(Duration::from_secs(3)), Duration::from_secs(3));
    }
}
