//! Measures how late the harness itself runs, so that a deadline missed meanwhile is not held against the target.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::log::{Body, Scope, Timing};
use crate::target::clock;
use crate::target::log_writer::LogWriter;

/// How often lateness is measured.
const PERIOD: Duration = Duration::from_millis(25);

/// The lateness from which on it is logged: a fifth of the shortest budget.
pub fn threshold(timing: &Timing) -> Duration {
    let budgets =
        [timing.gateway_class, timing.gateway, timing.listener, timing.route, timing.converge, timing.request];
    budgets.into_iter().min().unwrap_or_default() / 5
}

/// How late this process has been since its measurement began.
#[derive(Debug, Clone, Default)]
pub struct Lateness(Arc<Mutex<Sum>>);

#[derive(Debug, Default)]
struct Sum {
    past: Duration,
    due: Option<Instant>,
}

impl Lateness {
    /// All delays together, the one under way included.
    pub fn total(&self) -> Duration {
        let sum = self.lock();
        let under_way = sum.due.map(|due| clock::now().saturating_duration_since(due));
        sum.past + under_way.unwrap_or_default()
    }

    /// Adds the delay of what was due, and notes what is due next.
    fn add(&self, late: Duration, due: Instant) {
        let mut sum = self.lock();
        sum.past += late;
        sum.due = Some(due);
    }

    fn lock(&self) -> MutexGuard<'_, Sum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures until the handle is dropped. One delay beyond `threshold` is logged: nothing in the run was in time then.
pub fn measure(log: Arc<LogWriter>, lateness: Lateness, threshold: Duration) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let mut due = clock::now() + PERIOD;
        lateness.add(Duration::ZERO, due);
        loop {
            clock::until(due).await;
            let now = clock::now();
            let late = now.saturating_duration_since(due);
            due = now + PERIOD;
            lateness.add(late, due);
            if late > threshold {
                log.append(Scope::Run, lagged(late));
            }
        }
    }))
}

/// What is logged of a delay.
pub fn lagged(late: Duration) -> Body {
    Body::Lagged { by: u64::try_from(late.as_micros()).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::log::TimingProfile;

    #[test]
    fn a_fifth_of_the_shortest_budget_counts() {
        assert_eq!(threshold(&Timing::of(TimingProfile::Embedded)), Duration::from_secs(1));
        assert_eq!(threshold(&Timing::of(TimingProfile::Real)), Duration::from_secs(2));
    }

    #[tokio::test]
    async fn a_blocked_runtime_is_logged() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let mut events = log.subscribe(&[Scope::Run]);
        let lateness = Lateness::default();
        let _measuring = measure(Arc::clone(&log), lateness.clone(), Duration::from_millis(20));
        tokio::task::yield_now().await;
        // The one thread of this runtime is taken away from the measurement.
        let end = clock::now() + PERIOD + Duration::from_millis(60);
        while clock::now() < end {
            std::hint::spin_loop();
        }
        assert!(lateness.total() >= Duration::from_millis(20), "before the measurement has its turn");
        let event = tokio::time::timeout(Duration::from_secs(5), events.recv()).await.unwrap().unwrap();
        assert!(matches!(event.body, Body::Lagged { by } if by >= 20_000), "{event:?}");
        assert!(lateness.total() >= Duration::from_millis(60));
    }
}
