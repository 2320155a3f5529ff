//! Waiting until a Gateway is programmed, before the first probe through it.
//!
//! A data path that is not there yet says nothing of what it will do, and where each Gateway gets machines of its own that
//! takes far longer than it takes a data path that is there to agree. So the Gateway's own word is waited for, with the
//! Gateway's budget, and only then does the budget of the probe begin.

use gateproof_report::record::{Finding, Severity, Stage};

use super::action::Next;
use super::conditions::{find, generation, list, uid};
use super::deadline::{Deadline, Phase};
use super::doubt::{Doubt, Turn};
use super::env::{Env, Report, millis, wait};
use super::history::Latest;
use super::miss::plain_miss;
use super::words::seconds;
use crate::dialects::Implied;
use crate::log::Elapsed;
use crate::scenario::{ObjectRef, Probe};

/// A Gateway as it was when its `Programmed=True` was seen: its uid and generation.
pub(super) type Known = (String, i64);

/// How a Gateway stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// There is nothing to wait for: it is programmed, or it is gone and asked for what it left behind.
    Ready(Option<Known>),
    /// It is not programmed, and this is what is seen of it, with what it would break if it stayed so.
    Waiting(String, Implied),
    /// The watch has not shown it, or not as it was last written.
    Unseen,
}

/// How the Gateway of a probe stands. What is `known` of it already counts until its spec changes.
pub(super) fn standing(gateway: &ObjectRef, known: Option<&Known>, env: &Env<'_>) -> Standing {
    let is_known = |uid: &str, generation: i64| known.is_some_and(|known| known.0 == uid && known.1 == generation);
    let object = match env.history.latest(gateway) {
        Latest::Gone => return Standing::Ready(None),
        Latest::Unknown => return Standing::Unseen,
        Latest::Behind { written, seen } if is_known(uid(&seen.object), written) => return Standing::Ready(None),
        Latest::Behind { .. } => return Standing::Unseen,
        Latest::Current(version) => &version.object,
    };
    let (uid, current) = (uid(object), generation(object));
    if is_known(uid, current) {
        return Standing::Ready(None);
    }
    let ready = env.scenario.dialect.ready();
    match find(&list(object.pointer("/status/conditions")), ready) {
        None => Standing::Waiting(format!("no condition {ready}"), Implied::SaysProgrammed),
        Some(condition) if condition.observed_generation != Some(current) => {
            Standing::Waiting(format!("{condition}, where the generation is {current}"), Implied::Fresh)
        }
        Some(condition) if condition.status == "True" => Standing::Ready(Some((uid.to_owned(), current))),
        Some(condition) => Standing::Waiting(condition.to_string(), Implied::Programmed),
    }
}

/// A wait in progress.
#[derive(Debug, Clone)]
pub(super) struct Programming {
    gateway: ObjectRef,
    deadline: Deadline,
    known: Option<Known>,
    met: Option<Elapsed>,
    /// How it stands, and since when.
    stands: (Standing, Elapsed),
    doubt: Doubt,
}

impl Programming {
    /// Waits from `now` on, if the Gateway of the probe has to be waited for.
    pub(super) fn of(probe: &Probe, known: Option<&Known>, now: Elapsed, env: &Env<'_>) -> Option<Programming> {
        let timing = &env.context.timing;
        let gateway = &probe.target.gateway;
        let stands = standing(gateway, known, env);
        let is_waited_for = !probe.unprogrammed && !matches!(stands, Standing::Ready(_));
        is_waited_for.then(|| Programming {
            gateway: gateway.clone(),
            deadline: Deadline::new(now, timing.gateway, timing.grace),
            known: known.cloned(),
            met: None,
            stands: (stands, now),
            doubt: Doubt::default(),
        })
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    /// The doubts about what is seen, for their answers.
    pub(super) fn doubt(&mut self) -> &mut Doubt {
        &mut self.doubt
    }

    /// Something may have changed.
    pub(super) fn changed(&mut self, now: Elapsed, env: &Env<'_>) {
        let stands = standing(&self.gateway, self.known.as_ref(), env);
        let is_ready = matches!(stands, Standing::Ready(_));
        if stands != self.stands.0 {
            self.stands = (stands, now);
        }
        self.met = if is_ready { self.met.or(Some(now)) } else { None };
    }

    /// Since when it says of itself that it is not programmed, and nothing else.
    pub(super) fn stands(&self) -> Option<Elapsed> {
        matches!(self.stands.0, Standing::Waiting(_, Implied::Programmed)).then_some(self.stands.1)
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        if let Some(next) = self.doubt.next(std::iter::once(&self.gateway), env) {
            return next;
        }
        wait(self.met.unwrap_or_else(|| self.deadline.wake(now)))
    }

    /// What is to be said at `now`, if anything.
    pub(super) fn poll(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        let was_asked = match self.doubt.turn(now, env, |sight| env.history.has_shown(sight)) {
            Turn::Idle => false,
            Turn::Waiting => return None,
            Turn::Believed { asked } => {
                // What came while it was read may have been there before.
                if self.met > Some(asked) {
                    self.deadline.renew(now);
                }
                true
            }
            Turn::Renewed => {
                self.deadline.renew(now);
                false
            }
            Turn::Unknown(why) => return Some(Report::inconclusive(why)),
        };
        if let Some(met) = self.met {
            return Some(self.ready(met, now, env));
        }
        let believed = was_asked || self.doubt.believes(now, env);
        match self.deadline.phase(now) {
            Phase::InTime | Phase::Grace => None,
            Phase::Over if !believed => {
                self.doubt.look(now);
                None
            }
            Phase::HarnessLate => Some(Report::inconclusive(format!(
                "the harness itself was late while it waited for the {} of steps[{}] to say {}=True",
                env.scenario.dialect.entry_in_words(),
                env.step.index,
                env.scenario.dialect.ready()
            ))),
            Phase::Over => Some(self.missed(now, env)),
        }
    }

    fn ready(&self, met: Elapsed, now: Elapsed, env: &Env<'_>) -> Report {
        let start = self.deadline.start;
        let reached = millis(met - start);
        let mut report = Report::default();
        if !self.deadline.met_by(met) {
            let seen = format!("it was after {}", seconds(met - start));
            report.findings.push(self.finding(seen, Implied::Programmed, true, now, env));
        }
        report.stages.push(Stage {
            step: env.step.index,
            stage: "programmed".into(),
            reached_ms: reached,
            settled_ms: reached,
            limit_ms: millis(self.deadline.budget),
            waited_ms: 0,
        });
        // What comes after it waits in the same turn, as ports do that are opened later.
        report.settled_after = (env.context.timing.openings > 0).then_some(met - start);
        report
    }

    fn missed(&self, now: Elapsed, env: &Env<'_>) -> Report {
        match standing(&self.gateway, self.known.as_ref(), env) {
            Standing::Waiting(seen, implied) => {
                let findings = vec![self.finding(seen, implied, false, now, env)];
                Report { findings, checked: 1, ..Report::default() }
            }
            Standing::Ready(_) | Standing::Unseen => Report::inconclusive(format!(
                "{}: the watch has not shown {} as it was written",
                env.probe(),
                env.label(&self.gateway)
            )),
        }
    }

    /// What the step proves is about the data path, and nothing was asked of that.
    fn finding(&self, seen: String, implied: Implied, late: bool, now: Elapsed, env: &Env<'_>) -> Finding {
        let name = env.label(&self.gateway);
        let expected = format!("{name} is Programmed within {}, before it is probed", seconds(self.deadline.budget));
        let miss = plain_miss(format!("{}.programmed", env.probe()), expected, seen, Severity::Failure);
        let clauses = env.scenario.dialect.implied(implied).iter().map(ToString::to_string).collect();
        Finding { clauses, ..env.finding(&miss, "programmed", late, now) }
    }
}
