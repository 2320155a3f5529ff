//! Whether a data path stays as it agreed.
//!
//! To converge (disagree, then agree) and to stay (agree, then disagree) are two things. Behind the first streak of agreeing
//! answers comes a sequential test over further fresh connections; what disagrees from there on did not stay. That counts while
//! the data path is at rest. Before, it has not converged yet, and begins anew; once the budget for that is used up, the run writes
//! nothing, the test waits for rest and is repeated, and if others do not let it rest for long, nothing can be said. Data paths may be
//! one for all Gateways, so nobody fails but by a test for which the run wrote nothing.

use std::time::Duration;

use gateproof_report::record::{Finding, ProbeRecord, Severity};

use super::answer::answered_by;
use super::env::{Env, Report};
use super::grpc;
use super::miss::{Miss, plain_miss, severity};
use super::statistics::{Decision, SLOW_STAY_BATCH, STAY_BATCH, StayPlan, stays};
use super::words::seconds;
use crate::dialects::Implied;
use crate::log::{Bindings, Elapsed, Exchange, ProbeError, TcpEnd, UdpEnd};
use crate::scenario::Level;

/// An answer that takes longer is waited for, more than it is worked on.
const SLOW: Duration = Duration::from_millis(50);

/// What the answers to a probe came to so far, and the test in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Staying {
    record: ProbeRecord,
    /// Since when nobody asked, if the very same was answered as it must be in an earlier step and nothing changed since.
    idle: Option<Elapsed>,
    /// How many answers disagreed before the first streak.
    woke: u32,
    /// Whether the first streak came.
    reached: bool,
    /// Whether the test came out well, and nothing disagreed since.
    passed: bool,
    /// Since when it is repeated, for the data path to be at rest.
    repeated: Option<Elapsed>,
    began: Elapsed,
    n: u32,
    disagreed: u32,
    /// When the first and the newest of all answers began that disagreed behind the first streak.
    strayed: Option<(Elapsed, Elapsed)>,
    /// How long the newest answer that agreed took.
    takes: Duration,
    /// The newest answer that disagreed.
    miss: Option<Miss>,
}

/// What is next when a data path did not stay.
pub(super) enum Flap {
    /// It is the target's doing.
    Fails(Finding),
    /// It may be converging.
    Unrest,
}

impl Staying {
    /// Of a probe that was answered as it must be before, at this time, and nothing changed since.
    pub(super) fn idle(since: Option<Elapsed>) -> Staying {
        Staying { idle: since, ..Staying::default() }
    }

    /// An answer came to the probe itself.
    pub(super) fn note(&mut self, exchange: &Exchange, misses: &[Miss], good: bool, now: Elapsed, bindings: &Bindings) {
        self.record.n += 1;
        if good {
            self.takes = now - exchange.started;
            return;
        }
        self.miss = misses.iter().max_by_key(|miss| (miss.blind, miss.severity)).cloned();
        let (end, broken) = end(exchange, bindings);
        if self.reached {
            let first = self.strayed.map_or(exchange.started, |(first, _)| first);
            self.strayed = Some((first, exchange.started));
        }
        self.woke += u32::from(!self.reached);
        let is_staying = self.reached || self.idle.is_some();
        *(if is_staying { &mut self.record.staying } else { &mut self.record.converging }) += 1;
        self.record.broken += u64::from(broken);
        *self.record.codes.entry(end).or_default() += 1;
    }

    /// What came so far, for the record.
    pub(super) fn record(&self, step: usize) -> ProbeRecord {
        ProbeRecord { step, ..self.record.clone() }
    }

    /// Whether the first streak came.
    pub(super) fn has_reached(&self) -> bool {
        self.reached
    }

    /// The streak came. Returns how many answers the test takes next, if it has not come out well already.
    pub(super) fn reached(&mut self, now: Elapsed, env: &Env<'_>) -> Option<u32> {
        self.reached = true;
        (!self.passed && env.context.timing.flaps > 0).then(|| self.begin(now, env))
    }

    fn begin(&mut self, now: Elapsed, env: &Env<'_>) -> u32 {
        (self.began, self.n, self.disagreed) = (now, 0, 0);
        match stays(&self.plan(env), 0, 0) {
            Decision::MoreProbes(more) => more,
            _ => 0,
        }
    }

    /// An answer of the test came.
    pub(super) fn count(&mut self, good: bool, started: Elapsed) {
        if self.n == 0 {
            self.began = started;
        }
        self.n += 1;
        self.disagreed += u32::from(!good);
    }

    /// What the answers of the test came to.
    pub(super) fn decide(&mut self, env: &Env<'_>) -> Decision {
        let decision = stays(&self.plan(env), self.n, self.disagreed);
        self.passed = decision == Decision::Agree;
        decision
    }

    /// It did not stay. Answers that follow upon each other are not independent: what happened once, however much went wrong by
    /// it, is asked for once more a while later.
    pub(super) fn flapped(&mut self, level: Level, now: Elapsed, env: &Env<'_>) -> Flap {
        self.passed = false;
        let is_again = self.strayed.is_some_and(|(first, last)| last - first >= env.context.timing.quiet);
        if is_again && self.is_undisturbed(env) {
            return Flap::Fails(self.finding(severity(level), now, env));
        }
        Flap::Unrest
    }

    /// Whether the data path had agreed at times, so that what disagreed may have been done to it.
    pub(super) fn had_agreed(&self, env: &Env<'_>) -> bool {
        let agreed = self.record.n > self.record.converging + self.record.staying;
        (self.reached || agreed) && env.context.timing.flaps > 0
    }

    /// Whether the run is to write nothing next.
    pub(super) fn wants_quiet(&self, env: &Env<'_>) -> bool {
        self.repeated.is_some() && !env.stirred.is_quiet()
    }

    /// Repeats the test once the data path is at rest, as long as a step may be kept waiting for others. Returns how many answers it
    /// takes first.
    pub(super) fn repeat(&mut self, now: Elapsed, env: &Env<'_>) -> Option<u32> {
        let since = *self.repeated.get_or_insert(now);
        (now < since + env.context.timing.gaps).then(|| self.begin(now, env))
    }

    /// When the next batch is due. A test that is repeated waits for rest, within the same limit.
    pub(super) fn due(&self, not_before: Elapsed, env: &Env<'_>) -> Elapsed {
        let timing = &env.context.timing;
        match self.repeated {
            Some(since) if self.n == 0 => not_before.max(env.stirred.rest(timing).min(since + timing.gaps)),
            _ => not_before,
        }
    }

    /// What is to be said of answers that disagreed, fewer than a data path fails for, or while others may have been why.
    pub(super) fn blips(&self, level: Level, now: Elapsed, env: &Env<'_>) -> Option<Finding> {
        let (_, last) = self.strayed.filter(|_| self.passed)?;
        let most = match self.disagreed > 0 && self.is_at_rest(env) {
            true => Severity::Warning,
            false if env.stirred.is_converged(last, &env.context.timing) => Severity::Note,
            false => return None,
        };
        Some(self.finding(severity(level).min(most), now, env))
    }

    /// What is to be said if it had to be asked more than once although nothing had changed: nobody promises that every request goes
    /// well, so it is a warning. `began` is when it was asked first.
    pub(super) fn woken(&self, level: Level, began: Elapsed, now: Elapsed, env: &Env<'_>) -> Option<Finding> {
        let since = self.idle.filter(|_| self.woke > 0 && env.stirred.is_calm(began, &env.context.timing))?;
        let expected = "the data path answers at once as it did before, since nothing has changed".to_owned();
        let last = self.miss.as_ref().map_or_else(String::new, |miss| format!("; the last: {}", miss.seen));
        let times = if self.woke == 1 { "once".to_owned() } else { format!("{} times", self.woke) };
        let seen = format!("after {} without a request it disagreed {times}{last}", seconds(began - since));
        let severity = severity(level).min(Severity::Warning);
        let miss = plain_miss(format!("{}.again", env.probe()), expected, seen, severity);
        Some(env.finding(&Miss { implied: Some(Implied::Again), ..miss }, "staying", false, now))
    }

    /// Whether a test may be held against the target: the run wrote nothing, and nobody else did either.
    pub(super) fn is_undisturbed(&self, env: &Env<'_>) -> bool {
        env.stirred.is_quiet() && self.is_at_rest(env)
    }

    /// It agreed for long enough, if late.
    pub(super) fn reach(&mut self) {
        self.reached = true;
    }

    /// Whether nothing ever disagreed but connections that broke or were refused, as they do when a data path takes up a change: what
    /// has not converged yet gives wrong answers.
    pub(super) fn has_but_broken(&self) -> bool {
        let disagreed = self.record.converging + self.record.staying;
        disagreed > 0 && self.record.broken == disagreed
    }

    /// What is to be said if it agreed in time but for connections that broke, and then for long enough.
    pub(super) fn broke(&self, now: Elapsed, env: &Env<'_>) -> Finding {
        self.finding(Severity::Note, now, env)
    }

    /// It agreed in time, but not for long enough until now: what the run did elsewhere may have disturbed it.
    pub(super) fn agreed_too_late(&self, after: Duration, env: &Env<'_>) -> Report {
        let all = self.record.codes.iter().map(|(code, count)| format!("{code}: {count}")).collect::<Vec<_>>();
        Report::inconclusive(format!(
            "{}: it agreed at times, and for long enough after {} only; whether it was late or disturbed by what the run did \
             elsewhere cannot be told (what disagreed: {})",
            env.probe(),
            seconds(after),
            all.join(", ")
        ))
    }

    /// It cannot be told.
    pub(super) fn undecided(&self, env: &Env<'_>) -> Report {
        let words = self.in_words();
        Report::inconclusive(format!("{}: whether it stays cannot be told: {words}", env.probe()))
    }

    /// Why nothing can be said, if the harness had no way to the address.
    pub(super) fn blind(&self) -> Option<String> {
        let miss = self.miss.as_ref().filter(|miss| miss.blind)?;
        Some(format!("{}: {}", miss.expectation, miss.seen))
    }

    fn plan(&self, env: &Env<'_>) -> StayPlan {
        let batch = if self.takes > SLOW { SLOW_STAY_BATCH } else { STAY_BATCH };
        StayPlan { flaps: f64::from(env.context.timing.flaps) / 100.0, max_probes: env.context.max_probes, batch }
    }

    fn is_at_rest(&self, env: &Env<'_>) -> bool {
        self.began >= env.stirred.rest(&env.context.timing)
    }

    fn finding(&self, severity: Severity, now: Elapsed, env: &Env<'_>) -> Finding {
        let expected = "the data path stays as it agreed, over fresh connections and with no change under way";
        let miss = plain_miss(format!("{}.stays", env.probe()), expected.to_owned(), self.in_words(), severity);
        env.finding(&Miss { implied: Some(Implied::Stays), ..miss }, "staying", false, now)
    }

    fn in_words(&self) -> String {
        let codes: Vec<String> = self.record.codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
        let last = self.miss.as_ref().map_or_else(String::new, |miss| format!("; the last: {}", miss.seen));
        format!(
            "{} of {} answers disagreed after it had agreed, {} of them among the last {}; in all {}{last}",
            self.record.staying,
            self.record.n,
            self.disagreed,
            self.n,
            codes.join(", ")
        )
    }
}

/// How an exchange ended, in a word or two, and whether that is without a whole answer. Who answered is named: the code of a
/// backend is its own.
fn end(exchange: &Exchange, bindings: &Bindings) -> (String, bool) {
    let from = answered_by(exchange, bindings).map_or_else(String::new, |name| format!(" from backend {name}"));
    if let Some(answer) = &exchange.http {
        return match grpc::code(answer).filter(|_| grpc::is_call(exchange)) {
            Some(code) => (format!("{code}{from}"), false),
            None => (format!("status {}{from}", answer.status), false),
        };
    }
    match &exchange.udp {
        Some(UdpEnd::Answered { .. }) => return (format!("datagrams{from}"), false),
        Some(UdpEnd::TooFew { .. }) => return ("too few datagrams".to_owned(), true),
        Some(UdpEnd::Silent) => return ("no datagram".to_owned(), true),
        Some(UdpEnd::Refused) => return ("refused".to_owned(), true),
        None => {}
    }
    let words = match (&exchange.tcp, &exchange.error) {
        (Some(TcpEnd::Answered { .. }), _) => return (format!("a line{from}"), false),
        (Some(TcpEnd::ClosedBeforeAnyByte), _) => "closed before any byte",
        (Some(TcpEnd::Alert(_)), _) => "ended by an alert",
        (Some(TcpEnd::Hung), _) | (None, Some(ProbeError::TimedOut | ProbeError::ConnectTimedOut)) => "not in time",
        (None, Some(ProbeError::ConnectRefused(_))) => "refused",
        (None, Some(ProbeError::Handshake(_))) => "no handshake",
        (None, Some(ProbeError::Broken(_))) => "broken off",
        (None, Some(ProbeError::Malformed(_))) => "malformed",
        (None, Some(ProbeError::Unreachable(_) | ProbeError::Hindered(_) | ProbeError::NoRoute { .. })) => {
            "no way to the address"
        }
        (None, None) => "no answer",
    };
    (words.to_owned(), true)
}
