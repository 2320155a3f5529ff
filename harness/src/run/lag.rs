//! Measures how late the harness itself runs, so that what it measured meanwhile is not held against the target.
//!
//! Two things make it late. Its tasks wait for each other: that shows in a task that is to wake up every few moments. And its
//! threads wait for a processor, which that task hardly notices: schedulers favour who sleeps most of the time, while whoever
//! has work to do gets a share of a processor. Linux tells for each thread how long it waited; elsewhere only the first is seen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::log::{Body, Scope, Timing};
use crate::target::clock;
use crate::target::log_writer::LogWriter;

/// How often lateness is measured.
const PERIOD: Duration = Duration::from_millis(25);
/// How old what the threads told may be.
const FRESH: Duration = Duration::from_millis(20);
/// Threads that wait for so many times what they run get almost nothing.
const STARVED: u32 = 4;
/// What timers are late by on a machine that has nothing else to do.
const USUAL: Duration = Duration::from_millis(2);
/// The lateness that makes a deadline doubtful: a fifth of the shortest budget.
pub fn threshold(timing: &Timing) -> Duration {
    let budgets =
        [timing.gateway_class, timing.gateway, timing.listener, timing.route, timing.converge, timing.request];
    budgets.into_iter().min().unwrap_or_default() / 5
}

/// The lateness of an attempt from which on it is logged: what is measured within an attempt is far shorter than any budget.
pub const ATTEMPT: Duration = Duration::from_millis(50);

/// How late this process has been since its measurement began.
#[derive(Debug, Clone, Default)]
pub struct Lateness(Arc<Mutex<Sum>>);

#[derive(Debug, Default)]
struct Sum {
    past: Duration,
    due: Option<Instant>,
    /// What the threads had when they were asked last.
    asked: Option<Threads>,
    /// How much of `past` they waited since the last delay was added: that delay is the same time again.
    waited: Duration,
}

impl Lateness {
    /// All delays together, the one under way included.
    pub fn total(&self) -> Duration {
        let mut sum = self.lock();
        sum.ask();
        let under_way = sum.due.map(|due| clock::now().saturating_duration_since(due)).unwrap_or_default();
        sum.past + under_way.saturating_sub(USUAL + sum.waited)
    }

    /// Adds the delay of what was due, and notes what is due next.
    fn add(&self, late: Duration, due: Instant) {
        let mut sum = self.lock();
        sum.ask();
        let waited = std::mem::take(&mut sum.waited);
        sum.past += late.saturating_sub(USUAL + waited);
        sum.due = Some(due);
    }

    fn lock(&self) -> MutexGuard<'_, Sum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sum {
    /// Adds what the threads have waited since, if they had almost nothing of what they wanted: a process that has a part of the
    /// processors is slow, and every budget leaves room for that. Many may have waited at once, but no more time than there
    /// was went by.
    fn ask(&mut self) {
        let Some(now) = threads() else { return };
        if let Some(then) = self.asked.replace(now) {
            let time = now.at.saturating_duration_since(then.at);
            let waited = now.waited.saturating_sub(then.waited);
            let ran = now.ran.saturating_sub(then.ran);
            if waited > ran * STARVED {
                self.past += waited.min(time);
                self.waited += waited.min(time);
            }
        }
    }
}

/// What the threads of this process had, all together.
#[derive(Debug, Clone, Copy)]
struct Threads {
    at: Instant,
    ran: Duration,
    waited: Duration,
}

/// As it was not long ago: it is read once for all runs of the process.
fn threads() -> Option<Threads> {
    static LAST: Mutex<Option<Threads>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = clock::now();
    if last.is_none_or(|last| now.saturating_duration_since(last.at) >= FRESH) {
        *last = Some(read(now)?);
    }
    *last
}

/// Reads it of all threads that there are now.
#[cfg(target_os = "linux")]
fn read(at: Instant) -> Option<Threads> {
    let mut all = Threads { at, ran: Duration::ZERO, waited: Duration::ZERO };
    for thread in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        // One that has just ended has no file.
        let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) else { continue };
        let mut nanos = text.split_ascii_whitespace().map_while(|number| number.parse().ok().map(Duration::from_nanos));
        all.ran += nanos.next()?;
        all.waited += nanos.next()?;
    }
    Some(all)
}

#[cfg(not(target_os = "linux"))]
fn read(_: Instant) -> Option<Threads> {
    None
}

/// Measures until the handle is dropped. Lateness is logged whenever it has come to a tenth of the `threshold`.
pub fn measure(log: Arc<LogWriter>, lateness: Lateness, threshold: Duration) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let mut due = clock::now() + PERIOD;
        lateness.add(Duration::ZERO, due);
        let mut logged = lateness.total();
        loop {
            clock::until(due).await;
            let now = clock::now();
            let late = now.saturating_duration_since(due);
            due = now + PERIOD;
            lateness.add(late, due);
            let total = lateness.total();
            if total - logged > threshold / 10 {
                log.append(Scope::Run, lagged(total - logged));
                logged = total;
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
    use std::sync::atomic::{AtomicBool, Ordering};

    use async_trait::async_trait;
    use gateproof_report::record::Outcome;

    use super::*;
    use crate::judge::contract::{Contract, GATEWAY_API};
    use crate::log::{Event, TimingProfile};
    use crate::run::{Bystander, RunOptions, Silent, TargetChoice, run};
    use crate::scenario::{Scenario, Verb, Vocabulary, load};

    /// Takes the one thread of the runtime away.
    fn occupy(time: Duration) {
        let end = clock::now() + time;
        while clock::now() < end {
            std::hint::spin_loop();
        }
    }

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
        occupy(PERIOD + Duration::from_millis(70));
        assert!(lateness.total() >= Duration::from_millis(20), "before the measurement has its turn");
        let event = tokio::time::timeout(Duration::from_secs(5), events.recv()).await.unwrap().unwrap();
        assert!(matches!(event.body, Body::Lagged { by } if by >= 20_000), "{event:?}");
        assert!(lateness.total() >= Duration::from_millis(60));
    }

    /// Sleepers have their turn in time while workers do not: what tells is how long threads wait for a processor.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_gets_a_part_of_the_processors_is_late() {
        let lateness = Lateness::default();
        let start = (clock::now(), lateness.total());
        let threads = 16 * std::thread::available_parallelism().unwrap().get();
        let done = AtomicBool::new(false);
        let late = || lateness.total() - start.1;
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            // A thread tells how long it waited when it runs again. Of those that have ended nobody tells any more.
            let mut turns = 0..200;
            while late() < Duration::from_millis(100) && turns.next().is_some() {
                occupy(2 * FRESH);
            }
            let (late, time) = (late(), clock::now() - start.0);
            done.store(true, Ordering::Relaxed);
            assert!(late >= Duration::from_millis(100) && late <= time + FRESH, "{late:?} of {time:?}");
        });
    }

    /// Occupies the runtime a little between all others' turns, from the first probe of a scenario on, until it is dropped.
    #[derive(Debug, Default)]
    struct Crowd {
        began: AtomicBool,
        turns: Mutex<Option<AbortOnDropHandle<()>>>,
    }

    /// Less than is logged by itself, but an attempt takes many turns.
    const TURN: Duration = Duration::from_millis(100);

    #[async_trait]
    impl Bystander for Crowd {
        async fn at_step(&self, scenario: &Scenario, step: usize) {
            let probes = matches!(scenario.steps[step].verb, Verb::Probe(_));
            if probes && !self.began.swap(true, Ordering::Relaxed) {
                let turns = tokio::spawn(async {
                    loop {
                        occupy(TURN);
                        tokio::task::yield_now().await;
                    }
                });
                *self.turns.lock().unwrap() = Some(AbortOnDropHandle::new(turns));
            }
        }
    }

    #[tokio::test]
    async fn little_delays_of_an_attempt_leave_a_wrong_answer_inconclusive() {
        let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
        let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
        let scenarios: Vec<_> = scenarios.into_iter().filter(|one| one.name == "httproute-missing-backend").collect();
        let target = TargetChoice::Embedded { fault: Some("answers-404-for-missing-backends".to_owned()) };
        let mut options = RunOptions::new(target, contract);
        let second = Duration::from_secs(1);
        options.timing = Some(Timing { converge: second, ..Timing::of(TimingProfile::Embedded) });
        options.bystander = Some(Arc::new(Crowd::default()));
        let output = run(options, scenarios, &mut Silent).await.unwrap();
        assert_eq!(output.record.scenarios[0].outcome, Outcome::Inconclusive, "{:#?}", output.record.scenarios[0]);
        let of_an_attempt =
            |event: &Event| matches!((&event.scope, &event.body), (Scope::Scenario(_), Body::Lagged { .. }));
        assert!(output.events.iter().any(|event| of_an_attempt(event)));
    }
}
