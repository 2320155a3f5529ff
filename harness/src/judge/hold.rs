//! Holding: for a while, every version seen must, or must not, be so.

use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::{Severity, Stage};
use serde_json::Value;

use super::action::Next;
use super::conditions::{conditions_in, uid};
use super::doubt::{Doubt, Turn};
use super::env::{Env, Lasts, Report, millis, wait};
use super::expect::{Evaluation, conditions_in_words, evaluate};
use super::history::Latest;
use super::miss::{Miss, severity};
use super::settle::lost;
use crate::log::Elapsed;
use crate::scenario::{Hold, ObjectRef, SubjectExpectation};

/// A hold in progress.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    hold: Hold,
    start: Elapsed,
    until: Elapsed,
    lasts: Lasts,
    breaks: u32,
    /// How much time it took that it began anew because versions may have been missed.
    lost: Duration,
    doubt: Doubt,
    /// What was seen by watches that were found wrong then.
    doubted: Option<String>,
    /// The versions of the `unchanged` objects at the start.
    before: Vec<Option<Arc<Value>>>,
    breaches: Vec<Miss>,
    /// What could not be seen yet: the hold has not really begun.
    blind: Option<Miss>,
    /// How long the watch may take to show what was written.
    patience: Elapsed,
    checked: u64,
}

impl Holding {
    pub(super) fn new(hold: Hold, now: Elapsed, env: &Env<'_>) -> Holding {
        let timing = &env.context.timing;
        let lasts = env.lasts(hold.duration);
        let before = hold.unchanged.iter().map(|o| current(env, o).cloned()).collect();
        let mut holding = Holding {
            hold,
            start: now,
            until: now + lasts.least,
            lasts,
            breaks: 0,
            lost: Duration::ZERO,
            doubt: Doubt::default(),
            doubted: None,
            before,
            breaches: Vec::new(),
            blind: None,
            patience: now + timing.write,
            checked: 0,
        };
        holding.breaks = env.history.breaks(holding.objects());
        holding.changed(now, env);
        holding
    }

    /// What it is about.
    pub(super) fn objects(&self) -> impl Iterator<Item = &ObjectRef> + Clone {
        let subjects = self.hold.never.iter().chain(&self.hold.always).map(|subject| &subject.subject);
        subjects.chain(&self.hold.unchanged)
    }

    /// The doubts about what is seen, for their answers.
    pub(super) fn doubt(&mut self) -> &mut Doubt {
        &mut self.doubt
    }

    /// Something may have changed: every version counts, so this is called for each.
    pub(super) fn changed(&mut self, now: Elapsed, env: &Env<'_>) {
        let breaks = env.history.breaks(self.objects());
        if breaks != self.breaks {
            self.breaks = breaks;
            self.again(now);
        }
        let (mut breaches, mut blind) = (Vec::new(), None);
        for subject in &self.hold.never {
            self.checked += 1;
            let mut rules = env.rules("hold.never");
            rules.strict_freshness = false;
            rules.implies = false;
            let seen = evaluate(subject, env.history.latest(&subject.subject), &rules);
            if seen.misses.is_empty() && seen.checked > 0 {
                breaches.push(never(subject, env, rules.prefix));
            }
            // Of an object that nobody could write nothing can be seen, and nothing is expected.
            if awaited(subject, env) {
                blind = blind.or(seen.misses.into_iter().find(|miss| miss.blind));
            }
        }
        for subject in &self.hold.always {
            let rules = env.rules("hold.always");
            let Evaluation { misses, checked, .. } = evaluate(subject, env.history.latest(&subject.subject), &rules);
            self.checked += checked;
            let (unseen, seen): (Vec<Miss>, Vec<Miss>) = misses.into_iter().partition(|m| m.blind);
            blind = blind.or(unseen.into_iter().next());
            breaches.extend(seen);
        }
        if self.blind.is_some() && blind.is_none() {
            self.until = now + self.lasts.least;
        }
        self.blind = blind;
        for (index, object) in self.hold.unchanged.iter().enumerate() {
            self.checked += 1;
            let Some(now) = current(env, object) else { continue };
            let Some(before) = self.before[index].replace(now.clone()) else { continue };
            let may_be = self.hold.other_messages && differ_by_messages(&before, now);
            if uid(&before) == uid(now) && status_was_written(&before, now) && !may_be {
                let severity = severity(self.hold.unchanged_level);
                breaches.push(Miss { severity, ..written(&before, now, env.label(object), env.step.index) });
            }
        }
        for breach in breaches {
            if !self.breaches.iter().any(|known| known.expectation == breach.expectation) {
                self.breaches.push(breach);
            }
        }
    }

    /// The API server was away until `now`: what it has to show comes later, so the hold lasts from here on.
    pub(super) fn away(&mut self, now: Elapsed) {
        self.until = self.anew(now);
        self.patience = self.patience.max(self.until);
    }

    /// The harness stood still for so long: what was to be seen meanwhile may be seen only now, so that time does not count.
    pub(super) fn starved(&mut self, by: Duration) {
        self.until = self.until + by;
        self.patience = self.patience + by;
    }

    /// It begins anew, because versions may have been missed.
    fn again(&mut self, now: Elapsed) {
        // What goes on until everything else is over loses nothing as long as that is not.
        let planned = if self.lasts.most.is_some() { self.until.max(now) } else { self.until };
        let until = self.anew(now);
        self.lost += until - planned;
        self.until = until;
    }

    /// When it is over at the earliest if versions were missed until now.
    fn anew(&self, now: Elapsed) -> Elapsed {
        let until = now + self.lasts.anew;
        if self.lasts.most.is_some() { until.max(self.until) } else { until }
    }

    pub(super) fn poll(&mut self, now: Elapsed, env: &Env<'_>) -> Option<Report> {
        match self.doubt.turn(now, env, |sight| env.history.has_shown(sight)) {
            Turn::Idle | Turn::Believed { .. } => {}
            Turn::Waiting => return None,
            Turn::Renewed => {
                if let Some(breach) = self.breaches.drain(..).next() {
                    self.doubted = Some(format!("{}: {}, by a watch that was behind", breach.expectation, breach.seen));
                }
                self.again(now);
                self.changed(now, env);
            }
            Turn::Unknown(why) => return Some(Report::inconclusive(why)),
        }
        let failed = self.breaches.iter().any(|b| b.severity == Severity::Failure);
        if let Some(report) = lost(self.lost, env).filter(|_| !failed) {
            return Some(report);
        }
        if !failed && now < self.end(env) {
            return None;
        }
        if !self.doubt.believes(now, env) && (failed || self.doubt.is_due(self.objects(), env)) {
            self.doubt.look(now);
            return None;
        }
        if let (Some(doubted), false) = (&self.doubted, failed) {
            return Some(Report::inconclusive(doubted.clone()));
        }
        let mut report = Report { checked: self.checked, ..Report::default() };
        if let (Some(blind), false) = (&self.blind, failed) {
            report.inconclusive = Some(format!("{}: {}", blind.expectation, blind.seen));
            return Some(report);
        }
        report.findings = self.breaches.iter().map(|b| env.finding(b, "hold", false, now)).collect();
        if !failed {
            report.stages.push(Stage {
                step: env.step.index,
                stage: "hold".into(),
                reached_ms: 0,
                settled_ms: millis(now - self.start),
                limit_ms: millis(self.lasts.least),
                waited_ms: millis(self.lasts.end(self.start, env.rested) - self.start),
            });
        }
        Some(report)
    }

    pub(super) fn next(&self, env: &Env<'_>) -> Next {
        self.doubt.next(self.objects(), env).unwrap_or_else(|| wait(self.end(env)))
    }

    /// Whether it goes on until everything else of the run has come to its end.
    pub(super) fn rests(&self) -> bool {
        self.lasts.most.is_some()
    }

    /// When it is over if nothing happens.
    fn end(&self, env: &Env<'_>) -> Elapsed {
        let until = self.until.max(self.lasts.end(self.start, env.rested));
        if self.blind.is_some() { until.max(self.patience) } else { until }
    }
}

/// Whether the object was written, and the watch has yet to show it as it was.
fn awaited(subject: &SubjectExpectation, env: &Env<'_>) -> bool {
    match env.history.latest(&subject.subject) {
        Latest::Behind { .. } => true,
        Latest::Unknown => env.history.key(&subject.subject).is_some(),
        Latest::Current(_) | Latest::Gone => false,
    }
}

fn current<'a>(env: &Env<'a>, object: &ObjectRef) -> Option<&'a Arc<Value>> {
    match env.history.latest(object) {
        Latest::Current(version) | Latest::Behind { seen: version, .. } => Some(&version.object),
        Latest::Gone | Latest::Unknown => None,
    }
}

fn never(subject: &SubjectExpectation, env: &Env<'_>, prefix: String) -> Miss {
    let name = env.label(&subject.subject);
    let seen = current(env, &subject.subject).map_or_else(
        || "the object is gone".to_owned(),
        |object| {
            conditions_in(object, &env.scenario.dialect)
                .into_iter()
                .map(|(path, conditions)| format!("{path}: {}", conditions_in_words(&conditions)))
                .collect::<Vec<_>>()
                .join("; ")
        },
    );
    let state: Vec<String> = subject
        .conditions
        .iter()
        .map(|(type_, c)| {
            let further: Vec<&str> = c.fields.keys().chain(c.below.keys()).map(String::as_str).collect();
            let with = if further.is_empty() { String::new() } else { format!(" with such {}", further.join(", ")) };
            format!("{type_}={}{with}", c.status.iter().chain(&c.reason).cloned().collect::<Vec<_>>().join("/"))
        })
        .chain(subject.listeners.keys().map(|l| format!("what is listed for listener {l}")))
        .collect();
    let type_ = subject.conditions.keys().next().map_or_else(String::new, |type_| format!(".{type_}"));
    Miss {
        expectation: format!("{prefix}.{name}{type_}"),
        expected: format!("{name} is never {}", state.join(" with ")),
        seen,
        // Only all parts together are the state.
        severity: severity(subject.most_binding(|bounds| bounds.admits(env.context.basis))),
        clauses: subject.conditions.values().flat_map(|c| c.proves.clone()).collect(),
        implied: None,
        line: subject.place.line,
        stale: false,
        blind: false,
    }
}

/// Whether the newer version comes from a write of the status, even one that changed nothing.
fn status_was_written(before: &Value, after: &Value) -> bool {
    if before.get("status") != after.get("status") {
        return true;
    }
    let without_version = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        object
    };
    before.pointer("/metadata/resourceVersion") != after.pointer("/metadata/resourceVersion")
        && without_version(before) == without_version(after)
}

/// Whether the statuses differ, and by what conditions say in words alone.
fn differ_by_messages(before: &Value, after: &Value) -> bool {
    let wordless = |object: &Value| {
        let mut status = object.get("status").cloned().unwrap_or_default();
        forget_messages(&mut status);
        status
    };
    before.get("status") != after.get("status") && wordless(before) == wordless(after)
}

/// Takes the messages of all conditions away.
fn forget_messages(status: &mut Value) {
    match status {
        Value::Array(entries) => entries.iter_mut().for_each(forget_messages),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::Array(conditions) if name == "conditions" => {
                        let conditions = conditions.iter_mut().filter_map(Value::as_object_mut);
                        conditions.for_each(|condition| drop(condition.remove("message")));
                    }
                    other => forget_messages(other),
                }
            }
        }
        _ => {}
    }
}

fn written(before: &Value, after: &Value, name: String, step: usize) -> Miss {
    let status = |object: &Value| super::expect::shortened(object.get("status").unwrap_or(&Value::Null));
    let seen = if before.get("status") == after.get("status") {
        "it was written again without any change".to_owned()
    } else {
        format!("from {} to {}", status(before), status(after))
    };
    Miss {
        expectation: format!("steps[{step}].hold.unchanged.{name}"),
        expected: format!("the status of {name} is not written"),
        seen,
        severity: Severity::Failure,
        clauses: Vec::new(),
        implied: None,
        line: 0,
        stale: false,
        blind: false,
    }
}
