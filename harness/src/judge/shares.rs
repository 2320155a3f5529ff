//! Probing for shares: batches of requests until the sequential test decides.

use std::time::Duration;

use gateproof_report::record::{ProbeRecord, Stage};

use super::action::{Action, Next};
use super::answer::{in_words, share_of};
use super::copies::Copies;
use super::deadline::{Deadline, Phase};
use super::env::{Env, Report, millis, perform, wait};
use super::miss::{plain_miss, severity};
use super::probe::harness_late;
use super::request::{RequestError, build, request_id};
use super::statistics::{Decision, SharePlan, next, probability};
use super::stays::Staying;
use super::verdict::ShareRecord;
use crate::log::{Elapsed, Exchange, JournalEntry, ProbeError, Role};
use crate::scenario::{Probe, Share};

/// A test that disagrees is repeated after this part of the time that has passed, since each takes hundreds of requests.
const PATIENCE: u32 = 5;

/// A test of shares in progress. A test that disagrees within the budget starts over with fresh counts, because the
/// data path may not have converged yet; the last one counts.
#[derive(Debug, Clone)]
pub(super) struct Sharing {
    probe: Probe,
    parts: Vec<(Share, u32)>,
    plan: SharePlan,
    deadline: Deadline,
    attempt: u32,
    /// Answers that the batch under way still owes.
    owed: u32,
    not_before: Elapsed,
    pause: Duration,
    /// Since when it was counted anew.
    disagrees_since: Option<Elapsed>,
    began: Elapsed,
    counts: Vec<u32>,
    others: u32,
    other: Option<String>,
    /// While copies are counted: those of the batch under way.
    copies: Option<Copies>,
    unreachable: Option<String>,
    /// All answers, those of tests that started over too.
    answers: Staying,
    /// Whether a test in time disagreed by a few answers of nobody who should answer, as by connections that break.
    disturbed: bool,
    /// Whether the budget was given once more for a test that outlasted it.
    renewed: bool,
    /// Whether the last test began in time and disagreed, and the budget was over before the next could begin: the data path may have
    /// converged in time all the same.
    straddled: bool,
    /// Since when the run is to write nothing: a test that would fail is repeated so.
    quiet: Option<Elapsed>,
}

impl Sharing {
    pub(super) fn new(probe: Probe, parts: Vec<(Share, u32)>, margin: f64, now: Elapsed, env: &Env<'_>) -> Sharing {
        let timing = &env.context.timing;
        let weights: Vec<u32> = parts.iter().map(|(_, weight)| *weight).collect();
        let plan = SharePlan::new(&weights, margin, env.context.max_probes);
        let counts = vec![0; parts.len()];
        let owed = batch(&plan, &counts, 0);
        Sharing {
            deadline: env.converges(probe.level, now),
            probe,
            copies: Copies::of(&parts),
            parts,
            plan,
            attempt: 0,
            owed,
            not_before: now,
            pause: timing.backoff_min,
            disagrees_since: None,
            began: now,
            counts,
            others: 0,
            other: None,
            unreachable: None,
            answers: Staying::default(),
            disturbed: false,
            renewed: false,
            straddled: false,
            quiet: None,
        }
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        if self.quiet.is_some() && !env.stirred.is_quiet() {
            return perform(Action::Quiesce { step: env.step.index });
        }
        if now < self.due(env) {
            return wait(self.due(env));
        }
        if let Some(ids) = self.copies.as_ref().and_then(Copies::reading) {
            return perform(Action::ReadJournal { step: env.step.index, ids });
        }
        match build(&self.probe, None, env) {
            Ok(request) => Next::Perform(
                (self.attempt..self.attempt + self.owed)
                    .map(|attempt| Action::Probe {
                        step: env.step.index,
                        attempt,
                        role: Role::Main,
                        id: request_id(env, Role::Main, attempt),
                        request: request.clone(),
                        not_before: self.not_before,
                    })
                    .collect(),
            ),
            Err(_) => wait(self.deadline.wake(now)),
        }
    }

    /// Ends a test whose probes cannot be sent.
    pub(super) fn poll(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let error = build(&self.probe, None, env).err()?;
        match self.deadline.phase(now) {
            _ if matches!(error, RequestError::NoListener(_)) => {
                Some(Report::inconclusive(format!("{}: {error}", env.probe())))
            }
            Phase::InTime | Phase::Grace => None,
            Phase::HarnessLate => Some(harness_late(env)),
            Phase::Over => Some(Report::inconclusive(format!("{}: {error}", env.probe()))),
        }
    }

    pub(super) fn probed(&mut self, exchange: &Exchange, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        if self.total() == 0 && self.copies.as_ref().is_none_or(|copies| copies.last_answer().is_none()) {
            self.began = exchange.started;
        }
        self.attempt += 1;
        self.owed = self.owed.saturating_sub(1);
        if let Some(why) = exchange.error.as_ref().and_then(ProbeError::no_way) {
            self.unreachable = Some(why.to_owned());
        }
        let part = share_of(exchange, &self.parts, env.bindings);
        let may_be_copied = self.copies.as_mut().is_some_and(|copies| copies.answered(exchange, now));
        self.answers.note(exchange, &[], part.is_some() || may_be_copied, now, env.bindings);
        match part {
            Some(part) => self.counts[part] += 1,
            None if may_be_copied => {}
            None => {
                self.others += 1;
                self.other = Some(in_words(exchange, env.bindings));
            }
        }
        if self.owed > 0 || self.copies.as_mut().is_some_and(Copies::read) {
            return None;
        }
        self.decide(now, env)
    }

    /// The journals were read.
    pub(super) fn journal(&mut self, entries: &[JournalEntry], now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let Some(counted) = self.copies.as_mut()?.noted(entries, now, &env.context.timing) else {
            self.not_before = now + env.context.timing.backoff_max;
            return None;
        };
        for ((share, _), count) in self.parts.iter().zip(&mut self.counts) {
            match share {
                Share::Copied(_) => *count += counted.once,
                Share::NotCopied => *count = counted.none,
                _ => {}
            }
        }
        self.others += counted.repeated;
        if counted.repeated > 0 {
            self.other = Some("a request that was copied more than once".to_owned());
        }
        self.decide(now, env)
    }

    fn decide(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let decision = next(&self.plan, &self.counts, self.others);
        let too_few = self.others == 0 && self.has_too_few_copies();
        let (since, timing) = (self.deadline.start, &env.context.timing);
        if self.copies.as_mut().is_some_and(|copies| copies.may_change(&decision, too_few, since, now, timing)) {
            self.not_before = now + timing.backoff_max;
            return None;
        }
        match decision {
            Decision::MoreProbes(more) => {
                self.owed = more;
                None
            }
            Decision::Agree => Some(self.agreed(now, env)),
            Decision::Disagree => self.disagreed(now, env),
            Decision::Undecided => Some(Report {
                shares: Some(self.record(env)),
                checked: 1,
                ..Report::inconclusive(format!(
                    "{}: {} answers do not decide ({})",
                    env.probe(),
                    self.total(),
                    self.in_words()
                ))
            }),
        }
    }

    fn agreed(&self, now: Elapsed, env: &Env<'_>) -> Report {
        let start = self.deadline.start;
        let is_late = !self.deadline.met_by(self.began) && (self.disturbed || !self.straddled);
        let broke = is_late && self.disturbed && self.answers.has_but_broken();
        if is_late && self.disturbed && !broke {
            let report = self.answers.agreed_too_late(self.began - start, env);
            return Report { shares: Some(self.record(env)), checked: 1, ..report };
        }
        let mut report = Report { checked: 1, shares: Some(self.record(env)), ..Report::default() };
        report.findings.extend(broke.then(|| self.answers.broke(now, env)));
        if is_late && !broke {
            let seen = format!("they came after {:.3} s", (self.began - start).as_secs_f64());
            let miss = plain_miss(env.probe(), self.expected(), seen, severity(self.probe.level));
            report.findings.push(env.finding(&miss, "converged", true, now));
        }
        report.stages.push(Stage {
            step: env.step.index,
            stage: "converged".into(),
            reached_ms: millis(self.began - start),
            settled_ms: millis(now - start),
            limit_ms: millis(self.deadline.budget),
            waited_ms: 0,
        });
        report
    }

    fn disagreed(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let is_in_time = self.deadline.met_by(self.began);
        // One that fills the rest of the budget may have begun before the data path had converged, so it is not the last.
        let ended = self.copies.as_ref().and_then(Copies::last_answer).unwrap_or(now);
        let is_long = ended - self.began > self.deadline.budget / 5;
        if is_in_time && is_long && !self.renewed && self.deadline.phase(now) != Phase::InTime {
            self.renewed = true;
            self.deadline.renew(now);
        }
        self.straddled = is_in_time && !self.deadline.met_by(now + self.pause);
        let phase = self.deadline.phase(now);
        self.disturbed |= is_in_time && 0 < self.others && self.others < self.total();
        // One that would begin too late is no test of whether it is late.
        let is_last = phase == Phase::Over || now + self.pause > self.deadline.last();
        match phase {
            Phase::InTime | Phase::Grace | Phase::Over
                if is_last && self.disturbed && self.quiet.is_none() && env.context.timing.flaps > 0 =>
            {
                self.quiet = Some(now);
                self.start_over(now, env);
                None
            }
            Phase::InTime | Phase::Grace => {
                self.start_over(now, env);
                None
            }
            Phase::HarnessLate => Some(harness_late(env)),
            Phase::Over if self.straddled && !self.disturbed => {
                self.start_over(now, env);
                None
            }
            Phase::Over => {
                let mut report = Report { checked: 1, shares: Some(self.record(env)), ..Report::default() };
                if let Some(why) = &self.unreachable {
                    report.inconclusive = Some(format!("{}: no way to the address: {why}", env.probe()));
                    return Some(report);
                }
                if self.quiet.is_some() && self.began < env.stirred.rest(&env.context.timing) {
                    let why = "the data path was not left alone for long enough to count again";
                    report.inconclusive = Some(format!("{}: {why}", env.probe()));
                    return Some(report);
                }
                let seen = format!("{}, p = {:.1e}", self.in_words(), self.probability());
                let level = severity(self.probe.level);
                let miss = plain_miss(format!("{}.shares", env.probe()), self.expected(), seen, level);
                report.findings.push(env.finding(&miss, "converged", false, now));
                Some(report)
            }
        }
    }

    fn start_over(&mut self, now: Elapsed, env: &Env<'_>) {
        self.disagrees_since.get_or_insert(now);
        let patiently = now + self.pause.max((now - self.deadline.start) / PATIENCE);
        // The last one begins a pause before its time is up, so that nobody has to be on the dot.
        self.not_before = patiently.min(self.deadline.wake(now).before(self.pause)).max(now + self.pause);
        self.began = self.not_before;
        self.pause = (self.pause * 2).min(env.context.timing.backoff_max);
        self.counts.fill(0);
        self.copies.iter_mut().for_each(Copies::clear);
        self.others = 0;
        self.other = None;
        self.unreachable = None;
        self.owed = batch(&self.plan, &self.counts, 0);
    }

    /// Since when what is counted disagrees.
    pub(super) fn stands(&self) -> Option<Elapsed> {
        self.disagrees_since
    }

    /// When the next batch is due. What is repeated begins once the data path is at rest, but waits for that no longer than a step
    /// may be kept waiting.
    fn due(&self, env: &Env<'_>) -> Elapsed {
        let timing = &env.context.timing;
        match self.quiet {
            Some(since) if self.total() == 0 => self.not_before.max(env.stirred.rest(timing).min(since + timing.gaps)),
            _ => self.not_before,
        }
    }

    /// The run writes nothing, or could not be kept from it.
    pub(super) fn quiesced(&self, is_quiet: bool, env: &Env<'_>) -> Option<Report> {
        let why = "the run could not be kept from writing while the answers were to be counted again";
        (!is_quiet).then(|| Report::inconclusive(format!("{}: {why}", env.probe())))
    }

    /// What came of all attempts, for the record.
    pub(super) fn answers(&self, step: usize) -> ProbeRecord {
        self.answers.record(step)
    }

    fn has_too_few_copies(&self) -> bool {
        let due = |expected: f64| f64::from(self.total()) * expected;
        let mut parts = self.parts.iter().zip(&self.plan.expected).zip(&self.counts);
        parts.any(|(((share, _), expected), count)| {
            matches!(share, Share::Copied(_)) && f64::from(*count) < due(*expected)
        })
    }

    fn total(&self) -> u32 {
        self.counts.iter().sum::<u32>() + self.others
    }

    fn expected(&self) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .zip(&self.plan.expected)
            .map(|((share, _), expected)| format!("{share} {:.0} %", expected * 100.0))
            .collect();
        format!("shares {} within {:.0} points", parts.join(", "), self.plan.margin * 100.0)
    }

    fn in_words(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().zip(&self.counts).map(|((share, _), n)| format!("{share} {n}")).collect();
        let other = self.other.as_ref().map_or_else(String::new, |o| format!(", others {} (such as {o})", self.others));
        format!("of {} answers {}{other}", self.total(), parts.join(", "))
    }

    fn record(&self, env: &Env<'_>) -> ShareRecord {
        let counts = self.parts.iter().zip(&self.plan.expected).zip(&self.counts);
        ShareRecord {
            step: env.step.index,
            n: self.total(),
            counts: counts.map(|(((share, _), expected), count)| (share.to_string(), *expected, *count)).collect(),
            p: self.probability(),
        }
    }

    fn probability(&self) -> f64 {
        probability(&self.plan, &self.counts, self.others)
    }
}

fn batch(plan: &SharePlan, counts: &[u32], others: u32) -> u32 {
    match next(plan, counts, others) {
        Decision::MoreProbes(n) => n,
        _ => 0,
    }
}
