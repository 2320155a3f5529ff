//! Writes and their answers: what must be admitted, and what must be refused just so.

use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::Severity;
use serde_json::Value;

use super::action::{Action, Next, WriteTarget};
use super::deadline::{Deadline, Phase};
use super::doubt::{Doubt, Turn};
use super::env::{Env, Report, perform, wait};
use super::history::Latest;
use super::miss::plain_miss;
use super::settle::lost;
use crate::dialects::Settles;
use crate::log::{Elapsed, Write, WriteOutcome, WriteVerb};
use crate::scenario::expectations::id;
use crate::scenario::{Ending, ObjectRef, Refusal, Settle, Verb};

/// The finalizers that Kubernetes puts on objects and takes off again by itself.
const OF_KUBERNETES: [&str; 3] = ["customresourcecleanup.apiextensions.k8s.io", "foregroundDeletion", "orphan"];

/// Writes of a step in progress, one at a time.
#[derive(Debug, Clone)]
pub(super) struct Writing {
    /// Shared, since what is in progress is copied with every event, and a step may write a thousand objects.
    writes: Arc<[(WriteVerb, WriteTarget)]>,
    /// The one that is asked for.
    ordinal: usize,
    /// For deletions: what must be gone.
    going: Vec<ObjectRef>,
    deadline: Deadline,
    doubt: Doubt,
}

/// Until when objects may be there after their deletion. What stands for a Gateway is taken down with it by whoever has a finalizer
/// there, which takes as long as putting it up.
fn until_gone(going: &[ObjectRef], now: Elapsed, env: &Env<'_>) -> Deadline {
    let (timing, dialect) = (&env.context.timing, &env.scenario.dialect);
    let stands = |object: &ObjectRef| matches!(dialect.settles(&object.kind), Settles::Entry);
    let budget = if going.iter().any(stands) { timing.delete.max(timing.entry_gone) } else { timing.delete };
    Deadline::new(now, budget, timing.grace)
}

/// What comes after a step's writes.
pub(super) enum AfterWrites {
    /// The step is over.
    Over(Report),
    /// It was admitted, and one of these must settle.
    Settle(Vec<(Option<usize>, Settle)>),
}

impl Writing {
    /// The writes that a step asks for; `None` if it asks for none.
    pub(super) fn of(verb: &Verb, now: Elapsed, env: &Env<'_>) -> Option<Writing> {
        let (writes, going) = match verb {
            Verb::Apply(apply) => {
                let writes = apply
                    .objects
                    .iter()
                    .map(|o| (WriteVerb::Apply, WriteTarget::Object { object: o.clone(), at: apply.at }));
                (writes.collect(), Vec::new())
            }
            Verb::Patch(patch) => {
                let target = WriteTarget::Patch {
                    target: patch.target.clone(),
                    subresource: patch.subresource.clone(),
                    kind: patch.kind,
                    patch: patch.patch.clone(),
                };
                (vec![(WriteVerb::Patch, target)].into(), Vec::new())
            }
            Verb::Delete(delete) => {
                let writes = delete.objects.iter().map(|o| (WriteVerb::Delete, WriteTarget::Delete(o.clone())));
                (writes.collect(), if delete.awaited { delete.objects.clone() } else { Vec::new() })
            }
            Verb::Settle(_) | Verb::Hold(_) | Verb::Probe(_) => return None,
            Verb::Script(_) | Verb::Requests(_) | Verb::Made(_) => return None,
        };
        let deadline = until_gone(&going, now, env);
        Some(Writing { writes, ordinal: 0, going, deadline, doubt: Doubt::default() })
    }

    /// The deadline, for what moves it.
    pub(super) fn deadline(&mut self) -> &mut Deadline {
        &mut self.deadline
    }

    /// What it waits for.
    pub(super) fn objects(&self) -> impl Iterator<Item = &ObjectRef> + Clone {
        self.going.iter()
    }

    /// The doubts about what is seen, for their answers.
    pub(super) fn doubt(&mut self) -> &mut Doubt {
        &mut self.doubt
    }

    pub(super) fn next(&self, now: Elapsed, env: &Env<'_>) -> Next {
        if let Some(next) = self.doubt.next(self.objects(), env) {
            return next;
        }
        match self.writes.get(self.ordinal) {
            Some((verb, target)) => perform(Action::Write {
                step: env.step.index,
                ordinal: self.ordinal,
                verb: *verb,
                target: target.clone(),
            }),
            None => wait(self.deadline.wake(now)),
        }
    }

    /// A write was answered.
    pub(super) fn wrote(&mut self, write: &Write, now: Elapsed, env: &Env<'_>) -> Option<AfterWrites> {
        if write.ordinal != self.ordinal {
            return None;
        }
        match &write.outcome {
            WriteOutcome::Failed { error } => Some(AfterWrites::Over(Report::inconclusive(format!(
                "steps[{}]: {} could not be written: {error}",
                env.step.index, write.key
            )))),
            WriteOutcome::Refused { .. } => Some(AfterWrites::Over(refused(write, now, env))),
            WriteOutcome::Admitted { .. } => {
                self.ordinal += 1;
                if self.ordinal < self.writes.len() {
                    return None;
                }
                self.deadline = until_gone(&self.going, now, env);
                self.going.is_empty().then(|| admitted(write, now, env))
            }
        }
    }

    /// Whether all that was deleted is gone.
    pub(super) fn poll(&mut self, now: Elapsed, env: &Env<'_>) -> Option<AfterWrites> {
        if self.ordinal < self.writes.len() {
            return None;
        }
        match self.doubt.turn(now, env, |sight| env.history.has_shown(sight)) {
            Turn::Idle | Turn::Believed { .. } => {}
            Turn::Waiting => return None,
            Turn::Renewed => self.deadline.renew(now),
            Turn::Unknown(why) => return Some(AfterWrites::Over(Report::inconclusive(why))),
        }
        let left = self.going.iter().find_map(|object| match env.history.latest(object) {
            Latest::Current(version) | Latest::Behind { seen: version, .. } => Some((object, version)),
            Latest::Gone | Latest::Unknown => None,
        });
        let Some((object, version)) = left else {
            return Some(AfterWrites::Over(Report::default()));
        };
        let unseen = env.history.blind(self.objects()).map_or(Duration::ZERO, |since| now - since);
        if let Some(report) = lost(self.deadline.unseen(unseen, now), env) {
            return Some(AfterWrites::Over(report));
        }
        match self.deadline.phase(now) {
            Phase::InTime | Phase::Grace => None,
            Phase::Over if !self.doubt.believes(now, env) => {
                self.doubt.look(now);
                None
            }
            Phase::HarnessLate => Some(AfterWrites::Over(Report::inconclusive(format!(
                "the harness itself was late while steps[{}] waited for a deletion",
                env.step.index
            )))),
            Phase::Over => {
                let name = env.label(object);
                let finalizers = super::conditions::array(version.object.pointer("/metadata/finalizers"));
                if finalizers.is_empty() {
                    return Some(AfterWrites::Over(Report::inconclusive(format!(
                        "steps[{}]: the deletion of {name} was taken, but no watch has shown it",
                        env.step.index
                    ))));
                }
                if finalizers
                    .iter()
                    .all(|finalizer| finalizer.as_str().is_some_and(|name| OF_KUBERNETES.contains(&name)))
                {
                    return Some(AfterWrites::Over(Report::inconclusive(format!(
                        "steps[{}]: the deletion of {name} was taken, and Kubernetes itself is not done with it: {}",
                        env.step.index,
                        listed(finalizers)
                    ))));
                }
                let miss = plain_miss(
                    format!("steps[{}].delete.{name}", env.step.index),
                    format!("{name} is gone within {:.3} s of its deletion", self.deadline.budget.as_secs_f64()),
                    format!("it is still there, held by the finalizers {}", listed(finalizers)),
                    Severity::Failure,
                );
                let findings = vec![env.finding(&miss, "deletion", false, now)];
                Some(AfterWrites::Over(Report { findings, checked: 1, ..Report::default() }))
            }
        }
    }
}

fn listed(finalizers: &[Value]) -> String {
    finalizers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The legal ends of the step at the target's version.
fn endings<'a>(env: &Env<'a>) -> impl Iterator<Item = (usize, &'a Ending)> {
    let context = env.context;
    env.step.either.iter().enumerate().filter(move |(_, ending)| ending.bounds().admits(context.basis))
}

fn admitted(write: &Write, now: Elapsed, env: &Env<'_>) -> AfterWrites {
    let settles: Vec<(Option<usize>, Settle)> = endings(env)
        .filter_map(|(index, ending)| match ending {
            Ending::Settle(settle, _) => Some((Some(index), settle.clone())),
            Ending::Refused(..) | Ending::Admitted => None,
        })
        .collect();
    if !settles.is_empty() {
        return AfterWrites::Settle(settles);
    }
    let refusals: Vec<String> = endings(env)
        .filter_map(|(_, ending)| match ending {
            Ending::Refused(refusal, _) => Some(in_words(refusal)),
            Ending::Settle(..) | Ending::Admitted => None,
        })
        .collect();
    if refusals.is_empty() {
        return AfterWrites::Over(Report { checked: u64::from(must_be_admitted(env)), ..Report::default() });
    }
    let miss = plain_miss(
        id::refused(env.step.index),
        format!("{} is refused with {}", write.key.kind, refusals.join(", or with ")),
        "it was admitted".to_owned(),
        Severity::Failure,
    );
    let findings = vec![env.finding(&miss, "admission", false, now)];
    AfterWrites::Over(Report { findings, checked: 1, ..Report::default() })
}

fn must_be_admitted(env: &Env<'_>) -> bool {
    env.step.either.contains(&Ending::Admitted)
}

/// Whether a refusal is about what was written. Any other, such as for want of a permission, says nothing of it.
fn of_content(outcome: &WriteOutcome) -> bool {
    matches!(outcome, WriteOutcome::Refused { code: 400 | 422, .. })
}

/// A refusal passes only if it is the one that is expected. Where admission is what is tested, a refusal of the content
/// fails. Any other says nothing of what the step is about: another rule was in the way, or the API server is not what
/// the manifest was written for.
fn refused(write: &Write, now: Elapsed, env: &Env<'_>) -> Report {
    let fits = |ending: &Ending| matches!(ending, Ending::Refused(refusal, _) if fits(refusal, &write.outcome));
    if let Some((ending, _)) = endings(env).find(|(_, ending)| fits(ending)) {
        return Report { checked: 1, ending: Some(ending), ..Report::default() };
    }
    if must_be_admitted(env) && of_content(&write.outcome) {
        let miss = plain_miss(
            id::admitted(env.step.index),
            format!("{} is admitted", write.key.kind),
            format!("the API server refused it with {}", seen(&write.outcome)),
            Severity::Failure,
        );
        return Report { findings: vec![env.finding(&miss, "admission", false, now)], checked: 1, ..Report::default() };
    }
    let legal: Vec<String> = endings(env)
        .map(|(_, ending)| match ending {
            Ending::Refused(refusal, _) => format!("a refusal with {}", in_words(refusal)),
            Ending::Settle(..) | Ending::Admitted => "admission".to_owned(),
        })
        .collect();
    let legal = if legal.is_empty() { "admission".to_owned() } else { legal.join(", or ") };
    Report::inconclusive(format!(
        "steps[{}]: the API server, not the controller under test, refused {} with {}; expected was {legal}",
        env.step.index,
        write.key,
        seen(&write.outcome)
    ))
}

fn fits(expected: &Refusal, outcome: &WriteOutcome) -> bool {
    let WriteOutcome::Refused { code, reason, causes, .. } = outcome else { return false };
    let at_field = match &expected.field {
        None => true,
        Some(field) => causes.iter().any(|cause| cause.field == *field || begins_with(&cause.field, field)),
    };
    *code == expected.code && *reason == expected.reason && at_field
}

/// Whether `path` lies below `field`, on the border of a path element.
fn begins_with(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.starts_with(['.', '[']))
}

fn in_words(refusal: &Refusal) -> String {
    let at = refusal.field.as_ref().map_or_else(String::new, |field| format!(" at {field}"));
    format!("{} {}{at}", refusal.code, refusal.reason)
}

fn seen(outcome: &WriteOutcome) -> String {
    let WriteOutcome::Refused { code, reason, message, causes } = outcome else { return "nothing".to_owned() };
    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
    let at = if fields.is_empty() { String::new() } else { format!(" at {}", fields.join(", ")) };
    format!("{code} {reason}{at} ({message})")
}
