//! What every kind of step is given, and what it hands back.

use std::time::Duration;

use gateproof_report::record::{Finding, Severity, Stage};
use serde_json::Value;

use super::action::{Action, Context, Next};
use super::deadline::Deadline;
use super::expect::Rules;
use super::history::History;
use super::miss::Miss;
use super::stirred::Stirred;
use super::verdict::ShareRecord;
use crate::dialects::Settles;
use crate::log::{Bindings, Elapsed};
use crate::scenario::expectations::id;
use crate::scenario::{ExpectationId, HoldFor, Level, ObjectRef, Scenario, Step, SubjectExpectation, Verb};

/// The surroundings of a step, all of it read-only.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) context: &'a Context,
    pub(super) scenario: &'a Scenario,
    pub(super) bindings: &'a Bindings,
    pub(super) history: &'a History,
    pub(super) stirred: &'a Stirred,
    pub(super) step: &'a Step,
    /// When the scenario began.
    pub(super) started: Elapsed,
    /// When everything else of the run had come to its end, if it has.
    pub(super) rested: Option<Elapsed>,
    /// Longest settle so far, of the run or of this scenario.
    pub(super) slowest_settle: Duration,
    /// The longest that a step of this scenario waited for what came.
    pub(super) longest: Duration,
}

impl<'a> Env<'a> {
    pub(super) fn label(&self, object: &ObjectRef) -> String {
        self.scenario.label(object).to_string()
    }

    /// What the evaluation of a subject has to know, with expectation names below `part` of this step.
    pub(super) fn rules(&self, part: &str) -> Rules<'a> {
        Rules {
            prefix: format!("steps[{}].{part}", self.step.index),
            context: self.context,
            scenario: self.scenario,
            strict_freshness: true,
            implies: true,
        }
    }

    /// The name of what the probe of this step expects as a whole.
    pub(super) fn probe(&self) -> ExpectationId {
        id::probe(self.step.index)
    }

    /// Whether no version of what traffic comes in by had an address.
    pub(super) fn never_had_an_address(&self, gateway: &ObjectRef) -> bool {
        let entries = self.scenario.dialect.entries();
        let has_none = |object| entries.is_none_or(|entries| entries.addresses.list(object).is_empty());
        self.history.versions(gateway).iter().all(|version| has_none(&version.object))
    }

    /// The steps before this one.
    fn before(&self) -> impl DoubleEndedIterator<Item = &'a Step> {
        let at = self.step.index;
        self.scenario.steps.iter().filter(move |step| step.index < at)
    }

    /// Whether the scenario has made an object and not waited for its status yet.
    pub(super) fn is_new(&self, object: &ObjectRef) -> bool {
        let is_it = |manifest: &Value| {
            let metadata = &manifest["metadata"];
            manifest["kind"] == *object.kind
                && metadata["name"] == *object.name
                && metadata["namespace"].as_str() == object.namespace.as_deref()
        };
        let is_made = |step: &Step| matches!(&step.verb, Verb::Apply(apply) if apply.objects.iter().any(is_it));
        let is_waited_for = |step: &Step| matches!(&step.verb, Verb::Settle(settle) if settle.subjects.iter().any(|one| one.subject == *object));
        self.before().any(is_made) && !self.before().any(is_waited_for)
    }

    /// How long a hold lasts that says no time of its own.
    pub(super) fn quiet_hold(&self) -> Duration {
        let timing = &self.context.timing;
        let most = if self.holds_entries() { timing.hold_entries.min(self.slowest_settle) } else { Duration::ZERO };
        (self.slowest_settle * timing.hold_factor).min(timing.hold_max).max(timing.hold_min).max(most)
    }

    /// Whether this step holds something by which traffic comes in, or what adds listeners to one.
    fn holds_entries(&self) -> bool {
        let Verb::Hold(hold) = &self.step.verb else { return false };
        let subjects = hold.never.iter().chain(&hold.always).map(|subject| &subject.subject);
        subjects.chain(&hold.unchanged).any(|object| self.listens(&object.kind))
    }

    /// Whether traffic comes in by things of a kind, or they add listeners to those.
    fn listens(&self, kind: &str) -> bool {
        let dialect = &self.scenario.dialect;
        dialect.is_entry(kind) || matches!(dialect.settles(kind), Settles::Listener)
    }

    /// How long is waited for what only should be so, where that is another time than for what must: no longer than what stands around it
    /// took, or a target that does not do it holds up the run for nothing.
    pub(super) fn optional(&self) -> Option<Duration> {
        let optional = self.context.timing.optional;
        (!optional.is_zero()).then(|| optional.max(self.slowest_settle).max(self.longest))
    }

    /// The deadline of a data path that begins to be asked now.
    pub(super) fn converges(&self, level: Level, now: Elapsed) -> Deadline {
        let timing = &self.context.timing;
        match self.optional() {
            Some(optional) if level < Level::Must => Deadline::new(now, timing.converge.min(optional), Duration::ZERO),
            _ if self.opens() || self.is_first_answer() => {
                let opened = timing.converge.max((self.slowest_settle * timing.openings.max(1)).min(timing.opened));
                Deadline::new(now, opened, timing.grace)
            }
            _ => Deadline::new(now, timing.converge, timing.grace),
        }
    }

    /// Whether a Gateway, or what adds listeners to one, was written since the last probe. Its ports come in turn with those of all other
    /// Gateways of the run, and a status that says so already does not wait for them.
    fn opens(&self) -> bool {
        let listens = |kind: &str| self.listens(kind);
        let since = self.before().rev().take_while(|step| !matches!(step.verb, Verb::Probe(_)));
        since.into_iter().any(|step| match &step.verb {
            Verb::Apply(apply) => apply.objects.iter().any(|object| object["kind"].as_str().is_some_and(listens)),
            Verb::Patch(patch) => listens(&patch.target.kind),
            _ => false,
        })
    }

    /// Whether an answer is asked of a listener of a Gateway of the scenario's own which no probe before was to have, or not the last one: its
    /// port may be opened by whatever it has lacked, such as a certificate, in turn with those of all other Gateways.
    fn is_first_answer(&self) -> bool {
        let Verb::Probe(probe) = &self.step.verb else { return false };
        let mut there = self.before().rev().filter_map(|step| match &step.verb {
            Verb::Probe(other) if other.target == probe.target => Some(other),
            _ => None,
        });
        let is_asked = !probe.target.gateway.pool && !probe.answer.is_silence();
        is_asked && there.next().is_none_or(|last| last.answer.is_silence())
    }

    /// How long a watch lasts.
    pub(super) fn lasts(&self, watch: HoldFor) -> Lasts {
        let timing = &self.context.timing;
        let quiet = self.quiet_hold();
        match watch {
            HoldFor::Millis(millis) => Lasts::of(Duration::from_millis(millis)),
            HoldFor::Quiet => Lasts::of(quiet),
            // A step before it has waited for that.
            HoldFor::Rest if self.rested.is_some() => Lasts::of(Duration::ZERO),
            // Logs of before there was such a rest.
            HoldFor::Rest if timing.rest_max.is_zero() => Lasts::of(quiet),
            HoldFor::Rest => {
                let least = quiet.max(timing.rest_min);
                Lasts { least, anew: quiet, most: Some(least.max(timing.rest_max)) }
            }
        }
    }

    /// A finding of this step.
    pub(super) fn finding(&self, miss: &Miss, stage: &str, late: bool, now: Elapsed) -> Finding {
        Finding {
            expectation: miss.expectation.clone(),
            severity: miss.severity,
            clauses: self.clauses(miss),
            line: if miss.line == 0 { self.step.place.line } else { miss.line },
            stage: stage.to_owned(),
            expected: miss.expected.clone(),
            seen: miss.seen.clone(),
            late,
            consequence: false,
            at_ms: millis(now - self.started),
        }
    }

    fn clauses(&self, miss: &Miss) -> Vec<String> {
        let implied = miss.implied.map_or(&[][..], |implied| self.scenario.dialect.implied(implied));
        let mut all: Vec<String> = Vec::new();
        for clause in self.step.proves.iter().chain(&miss.clauses).chain(implied) {
            if !all.iter().any(|known| **known == **clause) {
                all.push(clause.to_string());
            }
        }
        all
    }
}

/// How long a watch lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lasts {
    /// At least so long.
    pub(super) least: Duration,
    /// At least so long after something was missed.
    pub(super) anew: Duration,
    /// If it goes on until everything else of the run has come to its end: at most so long.
    pub(super) most: Option<Duration>,
}

impl Lasts {
    fn of(time: Duration) -> Lasts {
        Lasts { least: time, anew: time, most: None }
    }

    /// When it is over that began at a time, as far as is known: at the latest, unless everything else has come to its end.
    pub(super) fn end(&self, start: Elapsed, rested: Option<Elapsed>) -> Elapsed {
        let least = start + self.least;
        match self.most {
            None => least,
            Some(most) => rested.unwrap_or(start + most).min(start + most).max(least),
        }
    }
}

/// How a step came out.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    pub(super) stages: Vec<Stage>,
    /// Expectations that were held against something.
    pub(super) checked: u64,
    /// Why nothing can be said, if so; the scenario stops.
    pub(super) inconclusive: Option<String>,
    /// How long a settle took.
    pub(super) settled_after: Option<Duration>,
    /// What was waited for and stood still for a quiet window.
    pub(super) settled: Vec<SubjectExpectation>,
    /// An address that is now known to answer from a backend.
    pub(super) answered: Option<String>,
    pub(super) shares: Option<ShareRecord>,
    /// Which of its legal ends a write came to.
    pub(super) ending: Option<usize>,
}

impl Report {
    pub(super) fn inconclusive(reason: impl Into<String>) -> Report {
        Report { inconclusive: Some(reason.into()), ..Report::default() }
    }

    /// Whether the scenario cannot usefully go on: something binding is wrong for good, or nothing can be said.
    pub(super) fn stops(&self) -> bool {
        self.inconclusive.is_some() || self.findings.iter().any(|f| f.severity == Severity::Failure && !f.late)
    }
}

/// What a step needs next.
pub(super) fn wait(until: Elapsed) -> Next {
    Next::Wait { until: Some(until) }
}

pub(super) fn perform(action: Action) -> Next {
    Next::Perform(vec![action])
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
