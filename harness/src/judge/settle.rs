//! Settling: a state is reached, and then what was asked about stays unchanged for the quiet window.

use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::{Severity, Stage};
use serde_json::Value;

use super::action::Next;
use super::deadline::{Deadline, Phase};
use super::doubt::{Doubt, Turn};
use super::env::{Env, Report, millis, wait};
use super::expect::{Evaluation, evaluate};
use super::history::{Latest, Version, names};
use super::miss::{Miss, plain_miss};
use super::words::seconds;
use crate::dialects::{Dialect, Implied, Settles};
use crate::log::{Elapsed, Sight, Timing};
use crate::scenario::{ObjectRef, Settle, SubjectExpectation};

/// How many quiet windows a state stands still that is as it must be and not yet as it should be, or that was there already and
/// went again. Many a controller comes to its word in steps, and the word of a step before must not be taken for its last; and what
/// comes and goes must not pass by chance.
pub(super) const OPTIONAL_WINDOWS: u32 = 8;

/// A wrong status that has stood still for this part of its budget is judged by those who are impatient …
const IMPATIENT: u32 = 6;
/// … and for so many times as long as the slowest settle took.
const SLOWER: u32 = 2;

/// How often what is asked for comes and goes until that is what is wrong.
const FLAPS: u32 = 2;

/// A settle in progress. With several legal ends, the first that settles counts.
#[derive(Debug, Clone)]
pub(super) struct Settling {
    ends: Vec<End>,
    deadline: Deadline,
    breaks: u32,
    doubt: Doubt,
    /// Whether a read has shown that it did not come in time.
    missed: bool,
    /// Whether it was spared that once.
    spared: bool,
}

#[derive(Debug, Clone)]
struct End {
    settle: Settle,
    part: String,
    /// Which of the legal ends of a write it is.
    ending: Option<usize>,
    seen: Vec<Evaluation>,
    view: Vec<Value>,
    observed: Option<Elapsed>,
    /// When the view changed last.
    moved: Elapsed,
    /// Since when everything binding has been met with this very view.
    met: Option<Elapsed>,
    /// When that was so first, with whatever view.
    first_met: Option<Elapsed>,
    /// How often it was met, and then not.
    lost: u32,
    /// Whether conditions that follow from configuration alone had to do with that.
    flapped: bool,
}

impl Settling {
    /// Starts at `now`. Each end comes with its position among the legal ends of the write, if it is one. The budget
    /// is the largest of the subjects', because they may depend on one another.
    pub(super) fn new(ends: Vec<(Option<usize>, Settle)>, now: Elapsed, env: &Env<'_>) -> Settling {
        let timing = &env.context.timing;
        let subjects = ends.iter().flat_map(|(_, settle)| &settle.subjects);
        let budget = subjects.map(|subject| budget(subject, env)).max().unwrap_or(timing.route);
        let ends = ends
            .into_iter()
            .map(|(ending, settle)| End {
                settle,
                part: ending.map_or_else(|| "settle".to_owned(), |ending| format!("either[{ending}].settle")),
                ending,
                seen: Vec::new(),
                view: Vec::new(),
                observed: None,
                moved: now,
                met: None,
                first_met: None,
                lost: 0,
                flapped: false,
            })
            .collect();
        let deadline = Deadline::new(now, budget, timing.grace);
        let mut settling =
            Settling { ends, deadline, breaks: 0, doubt: Doubt::default(), missed: false, spared: false };
        settling.breaks = env.history.breaks(settling.objects());
        settling.changed(now, env);
        settling
    }

    /// What it is about.
    pub(super) fn objects(&self) -> impl Iterator<Item = &ObjectRef> + Clone {
        self.ends.iter().flat_map(|end| &end.settle.subjects).map(|subject| &subject.subject)
    }

    /// The doubts about what is seen, for their answers.
    pub(super) fn doubt(&mut self) -> &mut Doubt {
        &mut self.doubt
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    /// Something may have changed.
    pub(super) fn changed(&mut self, now: Elapsed, env: &Env<'_>) {
        let breaks = env.history.breaks(self.objects());
        let gap = breaks != self.breaks;
        self.breaks = breaks;
        for end in &mut self.ends {
            let rules = env.rules(&end.part);
            end.seen =
                end.settle.subjects.iter().map(|s| evaluate(s, env.history.latest(&s.subject), &rules)).collect();
            let view: Vec<Value> = end.seen.iter().map(|e| e.view.clone()).collect();
            let still = view == end.view && !gap;
            if !still {
                end.moved = now;
            }
            let observed = end.seen.iter().all(Evaluation::observed);
            end.observed = if observed { end.observed.or(Some(now)) } else { None };
            if end.met.is_some() && !end.seen.iter().all(Evaluation::met) {
                end.lost += 1;
                end.flapped |= end.turned(env);
            }
            end.met = match (end.seen.iter().all(Evaluation::met) && end.is_of_age(env), still) {
                (true, true) => end.met.or(Some(now)),
                (true, false) => Some(now),
                (false, _) => None,
            };
            end.first_met = end.first_met.or(end.met);
            end.view = view;
        }
    }

    /// What is to be said at `now`, if anything.
    pub(super) fn poll(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let shown =
            |sight: &Sight| env.history.has_shown(sight) || self.ends.iter().all(|end| end.shows(sight, now, env));
        match self.doubt.turn(now, env, shown) {
            Turn::Idle => {}
            Turn::Waiting => return None,
            // What came while it was read, or with what woke the harness up to ask, may have been there before.
            Turn::Believed { asked } if !self.spared && self.ends.iter().any(|end| end.came_after(asked)) => {
                self.spared = true;
                self.deadline.renew(now);
            }
            Turn::Believed { .. } => self.missed |= !self.deadline.met_by(now),
            Turn::Renewed => {
                self.deadline.renew(now);
                self.missed = false;
            }
            Turn::Unknown(why) => return Some(Report::inconclusive(why)),
        }
        let unseen = env.history.blind(self.objects()).map_or(Duration::ZERO, |since| now - since);
        let lost = lost(self.deadline.unseen(unseen, now), env);
        let believed = self.doubt.believes(now, env);
        // What only should be so may be said of an earlier generation for as long as a status may take.
        let in_time = self.deadline.phase(now) == Phase::InTime;
        let is_over = |end: &End, met: Elapsed| {
            now >= met + end.window(env) && (end.observed.is_some() || !in_time || self.is_too_long(met, now, env))
        };
        let settled = self.ends.iter().find_map(|end| end.met.filter(|met| is_over(end, *met)).map(|met| (end, met)));
        if let Some((end, met)) = settled {
            if believed || !self.doubt.is_due(self.objects(), env) {
                return Some(self.settled(end, met, now, env));
            }
            self.doubt.look(now);
            return None;
        }
        if lost.is_some() {
            return lost;
        }
        let phase = self.deadline.phase(now);
        // What was reached in time may still be in its quiet window.
        let last = self.deadline.last();
        if self.ends.iter().any(|end| end.met.is_some_and(|met| met <= last)) && phase != Phase::HarnessLate {
            return None;
        }
        match phase {
            Phase::InTime | Phase::Grace if self.is_impatient(now, env) && believed => Some(self.missed(now, env)),
            Phase::InTime if self.is_impatient(now, env) => {
                self.doubt.look(now);
                None
            }
            Phase::InTime => None,
            Phase::Grace if self.missed || believed => None,
            Phase::Over if believed => Some(self.missed(now, env)),
            Phase::Grace | Phase::Over => {
                self.doubt.look(now);
                None
            }
            Phase::HarnessLate => Some(Report::inconclusive(format!(
                "the harness itself was late while it waited for steps[{}] to settle",
                env.step.index
            ))),
        }
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        if let Some(next) = self.doubt.next(self.objects(), env) {
            return next;
        }
        let settles = |end: &End| {
            let settled = end.met? + end.window(env);
            if end.observed.is_some() {
                return Some(settled);
            }
            let (wake, too_long) = (self.deadline.wake(now), self.optional(end.met?, env));
            Some(settled.max(too_long.map_or(wake, |too_long| too_long.min(wake))))
        };
        match self.ends.iter().filter_map(settles).min() {
            Some(settled) => wait(settled),
            None => {
                let wake = self.deadline.wake(now);
                wait(self.impatient(env).filter(|until| *until > now).map_or(wake, |until| until.min(wake)))
            }
        }
    }

    /// Since when all that is asked about has been said, is not as it must be, and has not changed.
    pub(super) fn stands(&self) -> Option<Elapsed> {
        let is_wrong =
            self.ends.iter().all(|end| end.met.is_none()) && self.ends.iter().any(|end| end.observed.is_some());
        self.ends.iter().map(|end| end.moved).max().filter(|_| is_wrong)
    }

    /// When somebody impatient judges what stands, if the run is such.
    fn impatient(&self, env: &Env<'_>) -> Option<Elapsed> {
        let timing = &env.context.timing;
        let stands = self.stands().filter(|_| timing.impatient)?;
        let known = timing.quiet * OPTIONAL_WINDOWS;
        Some(stands + known.max(env.slowest_settle * SLOWER).max(self.deadline.budget / IMPATIENT))
    }

    fn is_impatient(&self, now: Elapsed, env: &Env<'_>) -> bool {
        self.impatient(env).is_some_and(|until| now >= until)
    }

    /// Until when it is waited for that what only should be so is said of this generation, everything else having been met then.
    fn optional(&self, met: Elapsed, env: &Env<'_>) -> Option<Elapsed> {
        env.optional().map(|optional| met + optional.max(met - self.deadline.start) + self.deadline.extension())
    }

    fn is_too_long(&self, met: Elapsed, now: Elapsed, env: &Env<'_>) -> bool {
        self.optional(met, env).is_some_and(|until| now >= until)
    }

    fn settled(&self, end: &End, met: Elapsed, now: Elapsed, env: &Env<'_>) -> Report {
        let start = self.deadline.start;
        let late = !self.deadline.met_by(met);
        let mut report = self.report(end);
        if late {
            let expected = format!("settles within {}", seconds(self.deadline.budget));
            let seen = format!("it came after {}", seconds(met - start));
            for miss in whole_misses(end, &expected, &seen, env) {
                report.findings.push(env.finding(&miss, "programmed", true, now));
            }
        }
        // What only should be so is judged once everything else stands still.
        for miss in end.seen.iter().flat_map(|e| &e.misses) {
            report.findings.push(env.finding(miss, stage_of(miss), false, now));
        }
        let observed = end.observed.unwrap_or(met).min(met);
        report.stages = [("observed", observed), ("programmed", met)]
            .map(|(stage, reached)| Stage {
                step: env.step.index,
                stage: stage.into(),
                reached_ms: millis(reached - start),
                settled_ms: millis(now - start),
                limit_ms: millis(self.deadline.budget),
                waited_ms: millis(end.window(env)),
            })
            .to_vec();
        report.settled_after = Some(met - start);
        report.settled = end.settle.subjects.clone();
        report.ending = end.ending;
        report
    }

    fn missed(&self, now: Elapsed, env: &Env<'_>) -> Report {
        // The end that came nearest tells most: the one of which the smallest part is missing, not the one that asks least.
        let missing = |end: &&End| {
            let misses: u64 = end.seen.iter().flat_map(|e| &e.misses).map(|_| 1).sum();
            let checked: u64 = end.seen.iter().map(|e| e.checked).sum();
            misses * 100 / checked.max(1)
        };
        // Of what has another age, an end of one age tells nothing, unless there is no other.
        let nearest = self.ends.iter().min_by_key(|end| (!end.is_of_age(env), missing(end)));
        let Some(end) = nearest else {
            return Report::inconclusive(format!("steps[{}] has no legal end at this version", env.step.index));
        };
        let mut report = self.report(end);
        if !end.is_of_age(env) {
            let why = format!("steps[{}] has no end for objects of the ages that these have", env.step.index);
            return Report::inconclusive(why);
        }
        let misses: Vec<&Miss> = end.seen.iter().flat_map(|e| &e.misses).collect();
        if let Some(blind) = misses.iter().find(|m| m.blind) {
            report.inconclusive = Some(format!("{}: {}", blind.expectation, blind.seen));
            return report;
        }
        // At what moment time is up decides nothing.
        if end.lost >= FLAPS {
            let expected = format!("stays unchanged for {} once it is as asked", seconds(end.window(env)));
            let seen = format!("it was as asked {} times, and each time not for long", end.lost);
            for mut miss in whole_misses(end, &expected, &seen, env) {
                miss.clauses.clear();
                miss.implied = end.flapped.then_some(Implied::DoNotFlap);
                report.findings.push(env.finding(&miss, "programmed", false, now));
            }
            return report;
        }
        for miss in misses {
            report.findings.push(env.finding(miss, stage_of(miss), false, now));
        }
        if end.met.is_some() {
            let expected = format!("stays unchanged for {} once it is as asked", seconds(env.context.timing.quiet));
            for miss in whole_misses(end, &expected, "it is as asked, but has kept changing", env) {
                report.findings.push(env.finding(&miss, "programmed", false, now));
            }
        }
        report
    }

    fn report(&self, end: &End) -> Report {
        Report { checked: end.seen.iter().map(|e| e.checked).sum(), ..Report::default() }
    }
}

impl End {
    /// Whether it was met only behind that moment, or at it and never before.
    fn came_after(&self, asked: Elapsed) -> bool {
        self.met > Some(asked) || (self.met == Some(asked) && self.first_met == Some(asked))
    }

    /// Whether the API server gave what it is about one time of creation, or several, where it is an end of such objects only.
    fn is_of_age(&self, env: &Env<'_>) -> bool {
        let age = |subject: &SubjectExpectation| match env.history.latest(&subject.subject) {
            Latest::Current(version) => version.object.pointer("/metadata/creationTimestamp").cloned(),
            _ => None,
        };
        let Some(same) = self.settle.same_age else { return true };
        let ages: Vec<_> = self.settle.subjects.iter().map(age).collect();
        ages.iter().all(Option::is_some) && ages.iter().all(|age| *age == ages[0]) == same
    }

    /// How long the state that is met has to stand still.
    fn window(&self, env: &Env<'_>) -> Duration {
        let quiet = env.context.timing.quiet;
        match self.lost == 0 && self.seen.iter().all(|e| e.misses.is_empty()) {
            true if self.settle.at_once => Duration::ZERO,
            true => quiet,
            false => quiet * OPTIONAL_WINDOWS,
        }
    }

    /// Whether what is not as asked follows from configuration alone.
    fn turned(&self, env: &Env<'_>) -> bool {
        let contract = &env.context.contract;
        let subjects = self.settle.subjects.iter().zip(&self.seen);
        subjects.into_iter().any(|(subject, seen)| {
            let mut parts = seen.misses.iter().flat_map(|miss| miss.expectation.split('.'));
            parts.any(|part| contract.is_configured(&subject.subject.kind, part))
        })
    }

    /// Whether what a read found is, in all that is asked, what was seen.
    fn shows(&self, sight: &Sight, now: Elapsed, env: &Env<'_>) -> bool {
        let Some(object) = &sight.object else { return false };
        let found = Version { seq: 0, at: now, object: Arc::clone(object) };
        let rules = env.rules(&self.part);
        let subjects = self.settle.subjects.iter().zip(&self.seen).filter(|(s, _)| names(&s.subject, &sight.key));
        subjects.into_iter().all(|(subject, seen)| evaluate(subject, Latest::Current(&found), &rules) == *seen)
    }
}

/// What is to be said if lost watches cost more time than they may.
pub(super) fn lost(blind: Duration, env: &Env<'_>) -> Option<Report> {
    let limit = env.context.timing.gaps;
    (blind > limit).then(|| {
        Report::inconclusive(format!(
            "steps[{}]: the watch was lost for {}, of {} that it may be",
            env.step.index,
            seconds(blind),
            seconds(limit)
        ))
    })
}

/// A miss of each subject as a whole.
fn whole_misses(end: &End, expected: &str, seen: &str, env: &Env<'_>) -> Vec<Miss> {
    let prefix = env.rules(&end.part).prefix;
    let subjects = end.settle.subjects.iter().map(|subject| {
        let name = env.label(&subject.subject);
        let (expectation, expected) = (format!("{prefix}.{name}"), format!("what is asked of {name} {expected}"));
        let miss = plain_miss(expectation, expected, seen.to_owned(), Severity::Failure);
        Miss { line: subject.place.line, ..miss }
    });
    subjects.collect()
}

fn stage_of(miss: &Miss) -> &'static str {
    if miss.stale { "observed" } else { "programmed" }
}

/// The budget of a subject by its kind. Listeners have one of their own, unless what they are of is asked about too, or has only been made and
/// may wait for machines (zero in logs of before that was so).
fn budget(subject: &SubjectExpectation, env: &Env<'_>) -> Duration {
    let (dialect, timing) = (&env.scenario.dialect, &env.context.timing);
    match dialect.settles(&subject.subject.kind) {
        Settles::Entry if subject.conditions.is_empty() && !subject.listeners.is_empty() => {
            let is_new = timing.openings > 0 && env.is_new(&subject.subject);
            let made = if is_new { timing.gateway.min(timing.opened) } else { Duration::ZERO };
            timing.listener.max(made)
        }
        _ => budget_of(&subject.subject.kind, dialect, timing),
    }
}

/// How long a status of a kind may take.
pub(super) fn budget_of(kind: &str, dialect: &Dialect, timing: &Timing) -> Duration {
    match dialect.settles(kind) {
        Settles::Class => timing.gateway_class,
        Settles::Entry => timing.gateway,
        Settles::Listener => timing.listener,
        Settles::Attached => timing.route,
    }
}
