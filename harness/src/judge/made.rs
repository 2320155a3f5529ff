//! What the objects carry that a target made for one of the scenario's.

use std::time::Duration;

use gateproof_report::record::{Severity, Stage};
use serde_json::Value;

use super::action::{Action, Next};
use super::deadline::{Deadline, Phase};
use super::env::{Env, Report, millis, perform};
use super::expect::field::{holds, in_words, words};
use super::miss::{plain_miss, severity};
use super::settle::budget_of;
use crate::log::{Carrier, Elapsed};
use crate::scenario::expectations::id;
use crate::scenario::{Carried, FieldTest, MadeFor};

/// How many objects a finding names.
const NAMED: usize = 6;

/// Objects are listed until they carry what they must, and go on doing so.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    expected: MadeFor,
    deadline: Deadline,
    /// For how long it has to stay so.
    window: Duration,
    /// Since when every list had each part that is asked for as it must be, in their order.
    met: Vec<Option<Elapsed>>,
    /// Not to be listed earlier.
    not_before: Elapsed,
}

/// What is wrong with one thing that is asked for, and what is there.
struct Wrong {
    part: Carried,
    expected: String,
    seen: String,
}

impl Listing {
    pub(super) fn new(expected: MadeFor, now: Elapsed, env: &Env<'_>) -> Listing {
        let timing = &env.context.timing;
        let budget = budget_of(&expected.object.kind, &env.scenario.dialect, timing);
        // What must stay out may come late.
        let may_be_late = expected.parts().any(|(_, test)| holds(test, None, 0));
        let window = if may_be_late { env.quiet_hold() } else { timing.quiet };
        let deadline = Deadline::new(now, budget, timing.grace);
        let met = vec![None; expected.parts().count()];
        Listing { expected, deadline, window, met, not_before: now }
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    pub(super) fn next(&self, env: &Env<'_>) -> Next {
        let expected = Box::new(self.expected.clone());
        perform(Action::ListMade { step: env.step.index, expected, not_before: self.not_before })
    }

    /// They were listed; `asked` is when that began.
    pub(super) fn listed(
        &mut self,
        asked: Elapsed,
        found: &[Carrier],
        error: Option<&str>,
        now: Elapsed,
        env: &Env<'_>,
    ) -> Option<Report> {
        if let Some(error) = error {
            let what = env.label(&self.expected.object);
            return Some(Report::inconclusive(format!(
                "steps[{}]: what is made for {what} cannot be listed: {error}",
                env.step.index
            )));
        }
        let wrong = self.wrong(found, env);
        for (met, (part, _)) in self.met.iter_mut().zip(self.expected.parts()) {
            let is_right = !found.is_empty() && wrong.iter().all(|wrong| wrong.part != part);
            *met = is_right.then(|| met.unwrap_or(asked));
        }
        // Asked for whatever came of it: that is when the budget grows by what the harness was late.
        let phase = self.deadline.phase(now);
        let timing = &env.context.timing;
        if found.is_empty() || !wrong.is_empty() {
            match phase {
                // What came in time was there when this list was asked for.
                Phase::Over if !self.deadline.met_by(asked) => {
                    return Some(if found.is_empty() { self.nothing(env) } else { self.missed(wrong, now, env) });
                }
                Phase::HarnessLate => return Some(harness_late(env)),
                Phase::InTime | Phase::Grace | Phase::Over => {}
            }
            self.not_before = now + timing.backoff_max;
            return None;
        }
        let met = self.met.iter().flatten().copied().max().unwrap_or(asked);
        if asked >= met + self.window {
            let is_open = phase == Phase::HarnessLate && !self.deadline.met_by(met);
            return Some(if is_open { harness_late(env) } else { self.passed(met, now, env) });
        }
        self.not_before = (met + self.window).min(now + timing.backoff_max).max(now);
        None
    }

    fn wrong(&self, found: &[Carrier], env: &Env<'_>) -> Vec<Wrong> {
        let of = |(part, test): (Carried, &FieldTest)| {
            let value = |one: &Carrier| {
                let there = match &part {
                    Carried::Label(key) => one.labels.get(key),
                    Carried::Annotation(key) => one.annotations.get(key),
                };
                there.map(|text| Value::from(text.as_str()))
            };
            let is_right = |one: &Carrier| holds(test, value(one).as_ref(), 0);
            let is_spared = |one: &Carrier| {
                self.expected.some_of_each && found.iter().any(|other| other.kind == one.kind && is_right(other))
            };
            let bad: Vec<&Carrier> = found.iter().filter(|one| !is_right(one) && !is_spared(one)).collect();
            if bad.is_empty() {
                return None;
            }
            let named = bad.iter().take(NAMED);
            let mut seen: Vec<String> =
                named.map(|one| format!("{}/{}: {}", one.kind, one.name, in_words(value(one).as_ref()))).collect();
            if bad.len() > NAMED {
                seen.push(format!("and {} more", bad.len() - NAMED));
            }
            let (what, key) = match &part {
                Carried::Label(key) => ("label", key),
                Carried::Annotation(key) => ("annotation", key),
            };
            let whose = if self.expected.some_of_each { "one object of each kind" } else { "every object" };
            let path = format!("the {what} {key} of {whose} that is made for {}", env.label(&self.expected.object));
            let seen = format!("{} of {}: {}", bad.len(), found.len(), seen.join(", "));
            let expected = words(test, &path, 0);
            Some(Wrong { part, expected, seen })
        };
        self.expected.parts().filter_map(of).collect()
    }

    /// Nothing is there that could carry anything: who makes objects elsewhere, or none in the cluster, may do so.
    fn nothing(&self, env: &Env<'_>) -> Report {
        let kinds: Vec<&str> = self.expected.kinds.iter().map(|kind| kind.kind.as_str()).collect();
        Report::inconclusive(format!(
            "steps[{}]: no {} in the namespace of {} names it by the label {}, so nothing can be said of what is made for it",
            env.step.index,
            kinds.join(", "),
            env.label(&self.expected.object),
            self.expected.label,
        ))
    }

    fn missed(&self, wrong: Vec<Wrong>, now: Elapsed, env: &Env<'_>) -> Report {
        let mut report = Report { checked: self.checked(), ..Report::default() };
        for Wrong { part, expected, seen } in wrong {
            let miss = plain_miss(id::made(env.step.index, &part), expected, seen, severity(self.expected.level));
            report.findings.push(env.finding(&miss, "made", false, now));
        }
        report
    }

    fn passed(&self, met: Elapsed, now: Elapsed, env: &Env<'_>) -> Report {
        let mut report = Report { checked: self.checked(), ..Report::default() };
        let start = self.deadline.start;
        let after = met.max(start) - start;
        if !self.deadline.met_by(met) {
            let what = env.label(&self.expected.object);
            let budget = self.deadline.budget.as_secs_f64();
            let late = self.expected.parts().zip(self.met.iter().flatten());
            for ((part, _), came) in late.filter(|(_, came)| !self.deadline.met_by(**came)) {
                let expected = format!("what is made for {what} carries it within {budget:.3} s");
                let seen = format!("it came after {:.3} s", ((*came).max(start) - start).as_secs_f64());
                let miss = plain_miss(id::made(env.step.index, &part), expected, seen, severity(self.expected.level));
                report.findings.push(env.finding(&miss, "made", miss.severity == Severity::Failure, now));
            }
        }
        report.stages.push(Stage {
            step: env.step.index,
            stage: "made".into(),
            reached_ms: millis(after),
            settled_ms: millis(now - start),
            limit_ms: millis(self.deadline.budget),
            waited_ms: millis(self.window),
        });
        report
    }

    fn checked(&self) -> u64 {
        self.expected.parts().map(|_| 1).sum()
    }
}

fn harness_late(env: &Env<'_>) -> Report {
    Report::inconclusive(format!("the harness itself was late while it listed objects for steps[{}]", env.step.index))
}
