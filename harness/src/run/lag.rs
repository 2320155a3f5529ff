//! Measures how late the harness itself runs, so that a deadline missed meanwhile is not held against the target.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::cluster::clock;
use crate::cluster::log_writer::LogWriter;
use crate::log::{Body, Scope, Timing};

/// How often lateness is measured.
const PERIOD: Duration = Duration::from_millis(25);

/// Over which delays are added up that are too short to count alone.
const WINDOW: Duration = Duration::from_millis(500);
/// A process that was late for so many tenths of a window got next to nothing of the processors. One that gets a part of them is
/// slow, and every budget leaves room for that.
const STARVED: u32 = 9;

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
    /// How much of the delay under way was logged.
    told: Duration,
}

impl Lateness {
    /// All delays together, the one under way included.
    pub fn total(&self) -> Duration {
        let sum = self.lock();
        let under_way = sum.due.map(|due| clock::now().saturating_duration_since(due));
        sum.past + under_way.unwrap_or_default()
    }

    /// Adds the delay of what was due, and notes what is due next. Gives how much of it was logged.
    fn add(&self, late: Duration, due: Instant) -> Duration {
        let mut sum = self.lock();
        sum.past += late;
        sum.due = Some(due);
        std::mem::take(&mut sum.told)
    }

    /// What has to be logged of the delay under way, beyond `threshold` and what was. Other threads may have their turn meanwhile, and
    /// what they log must not be judged without it.
    fn untold(&self, threshold: Duration) -> Option<Duration> {
        let mut sum = self.lock();
        let under_way = clock::now().saturating_duration_since(sum.due?);
        let late = under_way.saturating_sub(sum.told);
        (late > threshold).then(|| {
            sum.told = under_way;
            late
        })
    }

    fn lock(&self) -> MutexGuard<'_, Sum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures until the handle is dropped. One delay beyond `threshold` is logged, and so are shorter ones that leave next to nothing
/// of the time between them: nothing in the run was in time then.
pub fn measure(log: Arc<LogWriter>, lateness: Lateness, threshold: Duration) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let mut due = clock::now() + PERIOD;
        let mut window = Window { began: clock::now(), late: Duration::ZERO };
        lateness.add(Duration::ZERO, due);
        let under_way = lateness.clone();
        log.ahead(move || under_way.untold(threshold).map(|late| (Scope::Run, lagged(late))));
        loop {
            clock::until(due).await;
            let now = clock::now();
            let late = now.saturating_duration_since(due);
            due = now + PERIOD;
            let untold = late.saturating_sub(lateness.add(late, due));
            if late > threshold {
                if !untold.is_zero() {
                    log.append(Scope::Run, lagged(untold));
                }
                window = Window { began: now, late: Duration::ZERO };
            } else if let Some(late) = window.add(late, now) {
                log.append(Scope::Run, lagged(late));
            }
        }
    }))
}

/// Short delays, one after the other.
struct Window {
    began: Instant,
    late: Duration,
}

impl Window {
    /// Adds a delay. At the end of a window: how late the process was in it, if it was starved.
    fn add(&mut self, late: Duration, now: Instant) -> Option<Duration> {
        self.late += late;
        let time = now.saturating_duration_since(self.began);
        if time < WINDOW {
            return None;
        }
        let late = std::mem::take(&mut self.late);
        self.began = now;
        (late * 10 > time * STARVED).then_some(late)
    }
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
    use crate::dialects::Reference;
    use crate::judge::contract::{Contract, GATEWAY_API};
    use crate::log::{Event, TimingProfile};
    use crate::run::{Bystander, RunOptions, Silent, TargetChoice, run};
    use crate::scenario::{Scenario, Verb, load};

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

    /// Delays in milliseconds of ticks that follow each other; what is told at the end.
    #[rstest::rstest]
    #[case::in_time(&[0; 20], &[])]
    #[case::slow(&[75; 5], &[])]
    #[case::starved(&[260, 260], &[520])]
    #[case::starved_again(&[260, 260, 0, 260, 260], &[520, 520])]
    #[case::starved_for_a_moment(&[240, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[])]
    fn short_delays_are_told_if_nothing_is_left(#[case] delays: &[u64], #[case] told: &[u64]) {
        let mut now = clock::now();
        let mut window = Window { began: now, late: Duration::ZERO };
        let mut found = Vec::new();
        for late in delays {
            let late = Duration::from_millis(*late);
            now += if late.is_zero() { PERIOD } else { late + Duration::from_millis(10) };
            found.extend(window.add(late, now));
        }
        assert_eq!(found, told.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_blocked_runtime_is_logged() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let ((), mut events) = log.follow(&[Scope::Run], || ());
        let lateness = Lateness::default();
        let _measuring = measure(Arc::clone(&log), lateness.clone(), Duration::from_millis(20));
        tokio::task::yield_now().await;
        occupy(PERIOD + Duration::from_millis(60));
        assert!(lateness.total() >= Duration::from_millis(20), "before the measurement has its turn");
        let event = tokio::time::timeout(Duration::from_secs(5), events.recv()).await.unwrap().unwrap();
        assert!(matches!(event.body, Body::Lagged { by } if by >= 20_000), "{event:?}");
        assert!(lateness.total() >= Duration::from_millis(60));
    }

    /// A thread that measures may be kept waiting while others work.
    #[tokio::test]
    async fn a_delay_under_way_is_logged_ahead_of_what_comes_meanwhile() {
        let log = Arc::new(LogWriter::start(None).unwrap());
        let _measuring = measure(Arc::clone(&log), Lateness::default(), Duration::from_millis(20));
        tokio::task::yield_now().await;
        occupy(PERIOD + Duration::from_millis(60));
        log.append(Scope::Run, Body::Tick);
        log.append(Scope::Run, Body::Tick);
        let bodies: Vec<Body> = log.events().iter().map(|event| event.body.clone()).collect();
        assert!(
            matches!(bodies.as_slice(), [Body::Lagged { by }, Body::Tick, Body::Tick] if *by >= 60_000),
            "{bodies:?}"
        );
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
        let is_meant = |one: &&Scenario| one.name == "httproute-missing-backend";
        let scenarios: Vec<_> = load::builtin_once().iter().filter(is_meant).cloned().collect();
        let target = TargetChoice::embedded(Reference::GatewayApi, Some("answers-404-for-missing-backends".to_owned()));
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
