//! Measures how late the harness itself runs, so that a deadline missed meanwhile is not held against the target.

use std::sync::Arc;
use std::time::Duration;

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

/// Measures until the handle is dropped.
pub fn measure(log: Arc<LogWriter>, threshold: Duration) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let due = clock::now() + PERIOD;
            clock::until(due).await;
            let late = clock::now().saturating_duration_since(due);
            if late > threshold {
                let by = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
                log.append(Scope::Run, Body::Lagged { by });
            }
        }
    }))
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
        let _measuring = measure(Arc::clone(&log), Duration::from_millis(20));
        tokio::task::yield_now().await;
        // The one thread of this runtime is taken away from the measurement.
        let end = clock::now() + PERIOD + Duration::from_millis(60);
        while clock::now() < end {
            std::hint::spin_loop();
        }
        let event = tokio::time::timeout(Duration::from_secs(5), events.recv()).await.unwrap().unwrap();
        assert!(matches!(event.body, Body::Lagged { by } if by >= 20_000), "{event:?}");
    }
}
