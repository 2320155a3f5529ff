//! Probing until the data path agrees a number of times in a row, with its controls.
//!
//! A 4xx or 5xx alone does not prove who answered and why, so after it the *contrast* is sent: the same address and
//! path under a hostname that no route claims. If that gets the same status, or no answer, nothing is proven, and the step is
//! inconclusive. There is no contrast where it could not tell anything: if a backend's echo is demanded as well, if 404
//! is among the legal codes (an unclaimed hostname gets 404 too; only a turn proves that one), or if an earlier probe
//! of the scenario got a backend's answer at the very same place (the *turn*, which proves more). Of a call the code
//! counts, and UNIMPLEMENTED is what 404 is.
//!
//! A probe that is sent *once* has one answer, which counts as it is: nothing is repeated, in a row or for a change to arrive.
//! Of *each* of several the same holds. One that is sent alone is sent again if its connection broke where others configure the Gateway.

mod mirrors;
mod place;

use std::time::Duration;

use gateproof_report::record::{ProbeRecord, Stage};

pub(super) use self::place::{Before, host, is_backends, place};
use super::action::{Action, Next};
use super::answer::{agrees, compare, in_words};
use super::contrast::{Contrasting, End, Shown};
use super::deadline::{Deadline, Phase, TOLERATED};
use super::env::{Env, Report, millis, perform, wait};
use super::grpc;
use super::miss::{Miss, plain_miss, severity};
use super::reach::{Reaching, taken_down};
use super::request::{RequestError, build, request_id};
use super::statistics::Decision;
use super::stays::{Flap, Staying};
use super::words::seconds;
use crate::log::{Elapsed, Exchange, Role};
use crate::scenario::{Answer, GrpcCode, Probe};

/// How often an answer is asked for again, once time is up, for which the harness was late.
const EXCUSED: u32 = 10;

/// A probe in progress.
#[derive(Debug, Clone)]
pub(super) struct Probing {
    probe: Probe,
    deadline: Deadline,
    asking: Asking,
    attempt: u32,
    not_before: Elapsed,
    pause: Duration,
    /// Ids of the agreeing answers in a row.
    streak: Vec<String>,
    streak_began: Elapsed,
    /// When the first streak began: from then on it is no question of being late.
    first_agreed: Option<Elapsed>,
    /// Whether an answer agreed in time, however many of the others did not.
    agreed_at_times: bool,
    /// How the last agreeing answer ended: its status, or the code of a call.
    last_end: Option<u32>,
    misses: Vec<Miss>,
    /// Since when no answer agreed, if the last one did not.
    disagrees_since: Option<Elapsed>,
    /// Those of the newest answer that disagreed in a test of staying.
    disagreed_by: Vec<Miss>,
    /// What becomes of the data path once it has agreed.
    staying: Staying,
    /// Where a backend answered before.
    before: Before,
    /// While it is asked whether there is a way to the address.
    reaching: Option<Reaching>,
    /// While requests are sent in batches: answers that the one under way still owes.
    owed: u32,
    /// While mirrors are counted: how many requests.
    counting: Option<usize>,
    /// How late the harness was during the attempts of this streak, and how many misses it was late for since time is up.
    late: Duration,
    excused: u32,
    countings: u32,
    resent: u32,
    /// Whether nobody could answer yet, as nobody is to.
    undialled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    Main,
    /// Whether it stays as it agreed.
    Staying,
    Contrast(Contrasting),
    Journal {
        reads: u32,
        /// How many copies there were, since when there are no more, and since when they are read.
        copies: usize,
        since: Elapsed,
        began: Elapsed,
    },
    /// Once more, after a pause in which what is too much would have come.
    Again,
}

impl Probing {
    /// `agreed` is when the very same was answered as it must be before, if nothing changed since.
    pub(super) fn new(probe: Probe, agreed: Option<Elapsed>, now: Elapsed, env: &Env<'_>) -> Probing {
        let timing = &env.context.timing;
        Probing {
            deadline: env.converges(probe.level, now),
            probe,
            asking: Asking::Main,
            attempt: 0,
            not_before: now,
            pause: timing.backoff_min,
            streak: Vec::new(),
            streak_began: now,
            first_agreed: None,
            agreed_at_times: false,
            last_end: None,
            misses: Vec::new(),
            disagrees_since: None,
            disagreed_by: Vec::new(),
            staying: Staying::idle(agreed),
            before: Before::Nowhere,
            reaching: None,
            owed: 0,
            late: Duration::ZERO,
            excused: 0,
            counting: None,
            countings: 0,
            resent: 0,
            undialled: false,
        }
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    /// The harness was late during an attempt.
    pub(super) fn lag(&mut self, by: Duration) {
        // Those of a batch are late for the same reason.
        self.late = if self.owed > 0 { self.late.max(by) } else { self.late + by };
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        let step = env.step.index;
        if let Some(reaching) = &self.reaching {
            return reaching.next(now, env);
        }
        let (role, attempt, other) = match self.asking {
            Asking::Journal { .. } | Asking::Again if now < self.not_before => return wait(self.not_before),
            Asking::Journal { .. } | Asking::Again => {
                return perform(Action::ReadJournal { step, ids: self.streak.clone() });
            }
            Asking::Staying if self.staying.wants_quiet(env) => return perform(Action::Quiesce { step }),
            Asking::Staying if now < self.staying.due(self.not_before, env) => {
                return wait(self.staying.due(self.not_before, env));
            }
            Asking::Staying => return self.next_batch(now, env),
            Asking::Main if self.counting.is_some() => return self.next_batch(now, env),
            Asking::Main => (Role::Main, self.attempt, None),
            Asking::Contrast(contrast) => (Role::Contrast, contrast.attempt(), Some(contrast.other(env))),
        };
        match build(&self.probe, other.as_ref(), env) {
            Ok(request) => perform(Action::Probe {
                step,
                attempt,
                role,
                id: request_id(env, role, attempt),
                request,
                not_before: self.not_before,
            }),
            Err(_) => wait(self.deadline.wake(now)),
        }
    }

    /// Ends a probe that cannot be sent; one that can is ended by its answers.
    pub(super) fn poll(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let Err(error) = build(&self.probe, None, env) else {
            // Silence that is asked for held until there was an address: its time begins with that.
            if std::mem::take(&mut self.undialled) {
                self.deadline.renew(now);
            }
            return None;
        };
        self.undialled = self.has_nothing_to_dial(env);
        if let RequestError::NoListener(why) = error {
            return Some(Report::inconclusive(format!("steps[{}]: {why}", env.step.index)));
        }
        match self.deadline.phase(now) {
            Phase::InTime | Phase::Grace => None,
            Phase::HarnessLate => Some(harness_late(env)),
            Phase::Over if matches!(error, RequestError::NotSeen(_)) => {
                Some(Report::inconclusive(format!("steps[{}]: {error}", env.step.index)))
            }
            // Nobody can be answered there.
            Phase::Over if self.has_nothing_to_dial(env) => Some(Report { checked: 1, ..Report::default() }),
            Phase::Over => {
                let expected = format!("the {} has an address to probe", self.probe.target.gateway.kind);
                let level = severity(self.probe.level);
                let miss = plain_miss(format!("{}.address", env.probe()), expected, error.to_string(), level);
                let findings = vec![env.finding(&miss, "programmed", false, now)];
                Some(Report { findings, checked: 1, ..Report::default() })
            }
        }
    }

    /// Whether nothing is to answer at a Gateway that is not meant to be programmed, and it never had an address.
    fn has_nothing_to_dial(&self, env: &Env<'_>) -> bool {
        self.probe.unprogrammed
            && self.probe.answer.is_silence()
            && env.never_had_an_address(&self.probe.target.gateway)
    }

    /// An attempt ended.
    pub(super) fn probed(&mut self, role: Role, exchange: &Exchange, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        match (role, &mut self.reaching) {
            (Role::Main, _) => {}
            (Role::Contrast, _) => return self.contrasted(exchange, now, env),
            (Role::Reach, None) => return None,
            (Role::Reach, Some(reaching)) => {
                let judged = reaching.answered(exchange)?;
                self.reaching = None;
                return judged
                    .iter()
                    .fold(None, |report, exchange| report.or_else(|| self.answered(exchange, now, env)));
            }
        }
        // Those of a batch are judged together.
        if self.reaching.as_mut().is_some_and(|reaching| reaching.add(exchange)) {
            return None;
        }
        if let Some(taken_down) = taken_down(exchange, &self.probe, env).filter(|_| self.before > Before::Nowhere) {
            return self.answered(&taken_down, now, env);
        }
        let gateway = env.history.versions(&self.probe.target.gateway).last();
        if let Some(reaching) = Reaching::after(exchange, gateway.map(|version| &*version.object)) {
            self.reaching = Some(reaching);
            return None;
        }
        self.answered(exchange, now, env)
    }

    /// An attempt counts as it ended.
    fn answered(&mut self, exchange: &Exchange, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        self.attempt += 1;
        let misses = compare(&self.probe.answer, exchange, self.probe.level, &env.probe(), env.bindings);
        let good = agrees(&misses, self.probe.level);
        self.staying.note(exchange, &misses, good, now, env.bindings);
        self.agreed_at_times |= good && self.deadline.met_by(exchange.started);
        self.disagrees_since = self.disagrees_since.or(Some(now)).filter(|_| !good);
        self.owed = self.owed.saturating_sub(1);
        if self.counting.is_some() {
            return self.counted(good, misses, exchange, now, env);
        }
        if self.asking == Asking::Staying {
            self.staying.count(good, exchange.started);
            if !good {
                self.disagreed_by = misses;
                return if self.owed > 0 { None } else { self.stayed(now, env) };
            }
            // Where it is repeated, no streak was left.
            if self.streak.len() < env.context.timing.consecutive as usize {
                self.streak.push(exchange.id.clone());
                self.last_end = end(exchange);
                self.misses = misses;
            }
            return if self.owed > 0 { None } else { self.stayed(now, env) };
        }
        self.misses = misses;
        if !good && place::is_sent_again(&self.probe, self.resent, exchange, env) {
            (self.resent, self.late, self.not_before) = (self.resent + 1, Duration::ZERO, now);
            self.deadline.renew(now);
            return None;
        }
        if !good && self.probe.once {
            return Some(if self.late > TOLERATED { harness_late(env) } else { self.over(now, env) });
        }
        if !good {
            return self.disagreed(now, env);
        }
        if self.streak.is_empty() {
            self.streak_began = exchange.started;
        }
        self.streak.push(exchange.id.clone());
        self.last_end = end(exchange);
        self.pause = env.context.timing.backoff_min;
        self.not_before = now;
        let wanted = if self.probe.once { self.probe.each } else { env.context.timing.consecutive };
        if self.streak.len() < wanted as usize {
            return None;
        }
        self.first_agreed.get_or_insert(self.streak_began);
        if self.probe.once {
            return self.streaked(now, env);
        }
        // Over a connection that is kept nothing fresh is asked.
        let fresh = self.probe.over.is_none();
        if let Some(more) = self.staying.reached(now, env).filter(|_| fresh) {
            (self.asking, self.owed) = (Asking::Staying, more);
            return None;
        }
        self.streaked(now, env)
    }

    /// The data path agrees and stays so.
    fn streaked(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        self.asking = Asking::Main;
        if mirrors::are_read(&self.probe) {
            self.read_journals(now);
            return None;
        }
        self.agreed(now, env)
    }

    /// The answers of a batch are there that tell whether it stays.
    fn stayed(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        match self.staying.decide(env) {
            Decision::MoreProbes(more) => {
                self.owed = more;
                None
            }
            Decision::Agree if !self.staying.has_reached() && !self.staying.has_but_broken() => {
                Some(self.staying.agreed_too_late(now - self.deadline.start, env))
            }
            Decision::Agree if !self.staying.has_reached() => {
                self.staying.reach();
                self.first_agreed = Some(now);
                self.streaked(now, env)
            }
            Decision::Agree => self.streaked(now, env),
            Decision::Disagree => self.flapped(now, env),
            Decision::Undecided => Some(self.staying.undecided(env)),
        }
    }

    fn flapped(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        self.asking = Asking::Main;
        if let Some(blind) = self.staying.blind() {
            return Some(Report::inconclusive(blind));
        }
        if !self.staying.has_reached() && self.staying.is_undisturbed(env) {
            self.misses = std::mem::take(&mut self.disagreed_by);
            return Some(self.over(now, env));
        }
        match self.staying.flapped(self.probe.level, now, env) {
            Flap::Fails(finding) => Some(Report { findings: vec![finding], checked: 1, ..Report::default() }),
            Flap::Unrest => {
                // There were many answers already, so the next may wait.
                self.pause = env.context.timing.calm;
                self.disagreed(now, env)
            }
        }
    }

    /// An answer disagreed. If the budget is used up, what had agreed before gets its chance at rest.
    fn disagreed(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let is_over = self.deadline.phase(now) == Phase::Over;
        if !is_over || self.probe.over.is_some() || !self.staying.had_agreed(env) {
            return self.missed(now, env);
        }
        self.streak.clear();
        let Some(more) = self.staying.repeat(now, env) else { return Some(self.staying.undecided(env)) };
        (self.asking, self.not_before, self.owed) = (Asking::Staying, now, more);
        None
    }

    /// The run writes nothing, or could not be kept from it.
    pub(super) fn quiesced(&mut self, is_quiet: bool, env: &Env<'_>) -> Option<Report> {
        (!is_quiet).then(|| self.staying.undecided(env))
    }

    /// Since when no answer agreed.
    pub(super) fn stands(&self) -> Option<Elapsed> {
        self.disagrees_since
    }

    /// What came of all attempts, for the record.
    pub(super) fn record(&self, step: usize) -> ProbeRecord {
        self.staying.record(step)
    }

    fn back_off(&mut self, now: Elapsed, env: &Env<'_>) {
        self.not_before = now + self.pause;
        self.pause = (self.pause * 2).min(env.context.timing.backoff_max);
    }

    fn missed(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        self.streak.clear();
        self.back_off(now, env);
        let late = std::mem::take(&mut self.late);
        match self.deadline.phase(now) {
            Phase::InTime | Phase::Grace => None,
            Phase::HarnessLate => Some(harness_late(env)),
            Phase::Over if late > TOLERATED => {
                self.excused += 1;
                (self.excused > EXCUSED).then(|| harness_late(env))
            }
            Phase::Over => Some(self.over(now, env)),
        }
    }

    fn over(&self, now: Elapsed, env: &Env<'_>) -> Report {
        let mut report = Report { checked: 1, ..Report::default() };
        if let Some(blind) = self.misses.iter().find(|m| m.blind) {
            report.inconclusive = Some(format!("{}: {}", blind.expectation, blind.seen));
        } else {
            report.findings = self.misses.iter().map(|m| env.finding(m, "converged", false, now)).collect();
        }
        report
    }

    fn agreed(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        if self.needs_contrast() {
            self.asking = Asking::Contrast(Contrasting::default());
            return None;
        }
        Some(self.converged(now, env))
    }

    fn needs_contrast(&self) -> bool {
        let Answer::Http(seen) = &self.probe.answer else { return false };
        self.probe.contrast
            && seen.backend.is_none()
            && seen.status.len() + seen.code.len() > 0
            && seen.status.iter().all(|&status| status >= 400 && status != 404)
            && !seen.code.iter().any(|code| [GrpcCode::OK, GrpcCode::UNIMPLEMENTED].contains(code))
    }

    /// A backend answered there before, so there was a way to the Gateway.
    pub(super) fn after(self, before: Before) -> Probing {
        Probing { before, ..self }
    }

    /// Nothing more is to be proven by contrast: the turn is.
    pub(super) fn turned(mut self) -> Probing {
        self.probe.contrast = false;
        self
    }

    fn contrasted(&mut self, exchange: &Exchange, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let Asking::Contrast(mut contrast) = self.asking else { return None };
        let shown = contrast.answered(end(exchange), self.last_end, self.probe.tls);
        self.asking = Asking::Contrast(contrast);
        let because = match shown {
            Shown::Differs => return Some(self.converged(now, env)),
            // Its hostname is served otherwise than by this error.
            Shown::Misdirected if self.before == Before::Host => return Some(self.converged(now, env)),
            Shown::Again => {
                self.back_off(now, env);
                return None;
            }
            Shown::Same => "gets the same",
            Shown::Misdirected | Shown::Nothing => "gets no answer",
        };
        let seen = in_words(exchange, env.bindings);
        Some(Report::inconclusive(format!(
            "{}: a hostname that nothing claims {because} ({seen}), so the answer does not show what the object under test does",
            env.probe()
        )))
    }

    fn converged(&self, now: Elapsed, env: &Env<'_>) -> Report {
        let start = self.deadline.start;
        let mut report = Report { checked: 1, ..Report::default() };
        let agreed = self.first_agreed.unwrap_or(self.streak_began);
        let is_late = !self.deadline.met_by(agreed);
        let broke = is_late && self.agreed_at_times && self.staying.has_but_broken();
        if is_late && self.agreed_at_times && !broke {
            return self.staying.agreed_too_late(agreed - start, env);
        }
        report.findings.extend(broke.then(|| self.staying.broke(now, env)));
        if is_late && !broke {
            let expected = format!("the data path agrees within {}", seconds(self.deadline.budget));
            let seen = format!("it agreed after {}", seconds(agreed - start));
            let miss = plain_miss(env.probe(), expected, seen, severity(self.probe.level));
            report.findings.push(env.finding(&miss, "converged", true, now));
        }
        report.findings.extend(self.staying.blips(self.probe.level, now, env));
        report.findings.extend(self.staying.woken(self.probe.level, start, now, env));
        report.findings.extend(self.misses.iter().map(|m| env.finding(m, "converged", false, now)));
        report.stages.push(Stage {
            step: env.step.index,
            stage: "converged".into(),
            reached_ms: millis(self.streak_began - start),
            settled_ms: millis(now - start),
            limit_ms: millis(self.deadline.budget),
            waited_ms: 0,
        });
        report.answered = is_backends(&self.probe).then(|| place(&self.probe, env));
        report
    }
}

pub(super) fn harness_late(env: &Env<'_>) -> Report {
    Report::inconclusive(format!("the harness itself was late while it probed in steps[{}]", env.step.index))
}

/// How an answer ended: its status, or the code of a call.
fn end(exchange: &Exchange) -> End {
    let answer = exchange.http.as_ref()?;
    if grpc::is_call(exchange) { grpc::code(answer).map(|code| code.0) } else { Some(u32::from(answer.status)) }
}
