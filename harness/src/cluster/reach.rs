//! Whether the API server answers at all. What goes undone while it does not is nobody's failure.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::clock::{self, Backoff};
use super::log_writer::LogWriter;
use crate::log::{Body, Scope};

/// The first pause between two questions whether it is back, and the longest. Far below every budget, which grow by what is
/// logged between them.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How long a question goes without an answer until the next is asked beside it. A server that is only slow would begin anew with each.
const PATIENCE: Duration = Duration::from_secs(2);

/// What all callers of one API server know of its absence.
#[derive(Default)]
pub struct Reach {
    watched: OnceLock<Watched>,
    /// When it was last seen to be there. Held by the one who asks: all others wait for what comes of it.
    present: Mutex<Option<Instant>>,
    lost: CancellationToken,
}

struct Watched {
    log: Arc<LogWriter>,
    limit: Duration,
}

impl Reach {
    /// From now on outages are logged, and waited for up to `limit`. Before, nobody waits for a server that is not there.
    pub fn watch(&self, log: Arc<LogWriter>, limit: Duration) {
        // The first run is the only one that a client is made for.
        let _ = self.watched.set(Watched { log, limit });
    }

    /// Called after a request without an answer: returns once `answers` says that the server is there. Gives the time that
    /// this took, or `None` if it is not to be waited for any longer.
    pub async fn back<Answering: Future<Output = bool>>(&self, answers: impl Fn() -> Answering) -> Option<Duration> {
        let watched = self.watched.get()?;
        let asked = clock::now();
        let mut present = tokio::select! {
            present = self.present.lock() => present,
            () = self.lost.cancelled() => return None,
        };
        let mut logged = asked;
        let mut pause = Backoff::new(PAUSES.0, PAUSES.1);
        let mut questions = FuturesUnordered::new();
        while present.is_none_or(|present| present < asked) {
            if self.is_lost() {
                return None;
            }
            questions.push(answers());
            let answered = tokio::time::timeout(PATIENCE, questions.next()).await;
            if answered == Ok(Some(true)) {
                *present = Some(clock::now());
                break;
            }
            let now = clock::now();
            let by = u64::try_from((now - logged).as_micros()).unwrap_or(u64::MAX);
            watched.log.append(Scope::Run, Body::Unreachable { by });
            logged = now;
            if now - asked >= watched.limit {
                self.lost.cancel();
                return None;
            }
            if answered.is_ok() {
                clock::until(now + pause.step(Duration::ZERO)).await;
            }
        }
        Some(clock::now() - asked)
    }

    /// Whether it was away for so long that the run is given up.
    pub fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Returns once the run is given up.
    pub async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn unreachable(log: &LogWriter) -> Vec<u64> {
        let by = |event: &Arc<crate::log::Event>| match event.body {
            Body::Unreachable { by } => Some(by),
            _ => None,
        };
        log.events().iter().filter_map(by).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_asks_and_all_hear_of_it() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let reach = Reach::default();
        reach.watch(Arc::clone(&log), Duration::from_secs(60));
        let questions = AtomicU32::new(0);
        let answers = || {
            let question = questions.fetch_add(1, Ordering::SeqCst);
            std::future::ready(question == 9)
        };
        let waited = futures::future::join_all((0..50).map(|_| reach.back(answers))).await;
        assert!(waited.iter().all(Option::is_some));
        assert_eq!(questions.load(Ordering::SeqCst), 10);
        let logged = unreachable(&log);
        assert_eq!(logged.len(), 9);
        assert!(logged.iter().all(|by| *by <= 501_000), "{logged:?}");
        assert!(!reach.is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_limit_nobody_waits_any_more() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let reach = Reach::default();
        reach.watch(Arc::clone(&log), Duration::from_secs(10));
        let never = || std::future::pending();
        assert_eq!(futures::future::join_all((0..5).map(|_| reach.back(never))).await, [None; 5]);
        assert!(reach.is_lost());
        let away: u64 = unreachable(&log).iter().sum();
        assert!((10_000_000..13_000_000).contains(&away), "{away}");
    }

    /// Whoever is asked anew before there is an answer never has one.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_only_slow_is_not_lost() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let reach = Reach::default();
        reach.watch(Arc::clone(&log), Duration::from_secs(60));
        let slowly = || async {
            clock::until(clock::now() + Duration::from_secs(7)).await;
            true
        };
        let waited = reach.back(slowly).await.unwrap();
        assert_eq!(waited.as_secs(), 7);
        assert!(!reach.is_lost());
        // Budgets grow while it is asked.
        let logged = unreachable(&log);
        assert!(logged.len() == 3 && logged.iter().all(|by| *by <= 2_100_000), "{logged:?}");
    }

    #[tokio::test]
    async fn before_a_run_a_missing_server_is_told_at_once() {
        assert_eq!(Reach::default().back(|| std::future::ready(false)).await, None);
    }
}
