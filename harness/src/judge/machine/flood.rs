//! A target that writes without end: no step could be judged by that, and no run could keep it. It is told so once, and the scenario is over.

use std::collections::HashMap;

use gateproof_report::record::{Finding, Severity};
use serde_json::Value;

use super::Judge;
use crate::dialects::Dialect;
use crate::judge::doing::Doing;
use crate::judge::env::Report;
use crate::judge::miss::plain_miss;
use crate::judge::others::{status_writers, writers};
use crate::judge::words::seconds;
use crate::log::{Elapsed, ObjectKey, Write, WriteOutcome};

/// How many versions of its objects a judge has seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Versions {
    of: HashMap<ObjectKey, Count>,
    all: u32,
}

#[derive(Debug, Clone, Default)]
struct Count {
    seen: u32,
    /// How many of these came of the run's own writes.
    written: u32,
    /// How many were written last by who writes statuses …
    of_status: u32,
    /// … and who that was.
    by: Vec<String>,
}

impl Count {
    fn of_others(&self) -> u32 {
        self.seen.saturating_sub(self.written)
    }

    /// By most of them it is told whose they are: somebody else may have written within the same second, or just now.
    fn is_targets(&self) -> bool {
        self.of_status > self.of_others() / 2
    }
}

impl Versions {
    /// The run wrote something.
    pub(super) fn wrote(&mut self, write: &Write) {
        if let WriteOutcome::Admitted { .. } = write.outcome {
            self.of.entry(write.key.clone()).or_default().written += 1;
        }
    }

    fn saw(&mut self, key: &ObjectKey, object: &Value, dialect: &Dialect) {
        self.all += 1;
        let count = self.of.entry(key.clone()).or_default();
        count.seen += 1;
        let by: Vec<&str> = status_writers(object, dialect).collect();
        if !by.is_empty() {
            count.of_status += 1;
            if count.by != by {
                count.by = by.into_iter().map(str::to_owned).collect();
            }
        }
    }
}

impl Judge {
    /// A version of an object of the scenario was seen.
    pub(super) fn counts(&mut self, key: &ObjectKey, object: &Value, now: Elapsed) {
        self.versions.saw(key, object, &self.scenario.dialect);
        let most = self.context.timing.versions;
        let most_of_all = self.context.timing.versions_of_all();
        let is_flooded = self.versions.of.get(key).is_some_and(|count| count.of_others() > most);
        if most == 0 || !(is_flooded || self.versions.all >= most_of_all) {
            return;
        }
        if matches!(self.doing, Doing::Waiting | Doing::Doubting { .. } | Doing::Done) {
            return;
        }
        let report = if is_flooded {
            self.flooded(key, object, now)
        } else {
            let within = seconds(now - self.started);
            Report::inconclusive(format!("{most_of_all} versions of all objects of the scenario within {within}"))
        };
        if !self.unspoken.is_empty() {
            self.unspoken_is_over(&report);
        }
        let findings = self.findings.len();
        self.take(report);
        self.stop(findings, now);
    }

    /// What is to be said of an object that is written without end.
    fn flooded(&self, key: &ObjectKey, object: &Value, now: Elapsed) -> Report {
        let (Some(env), Some(count)) = (self.env(), self.versions.of.get(key)) else { return Report::default() };
        let most = self.context.timing.versions;
        let seen = format!("{} versions of {key} within {}", count.of_others(), seconds(now - self.started));
        if !count.is_targets() {
            let by: Vec<&str> = writers(object).collect();
            let by = if by.is_empty() { "nobody known".to_owned() } else { by.join(", ") };
            return Report::inconclusive(format!("{seen}, written by {by}"));
        }
        let seen = format!("{seen}, their status written by {}", count.by.join(", "));
        let expected = format!("nobody but the run writes an object of the scenario more than {most} times");
        let name = format!("steps[{}].versions", env.step.index);
        let miss = plain_miss(name, expected, seen, Severity::Failure);
        // What the step proves is not about that.
        let finding = Finding { clauses: Vec::new(), ..env.finding(&miss, "observed", false, now) };
        Report { findings: vec![finding], checked: 1, ..Report::default() }
    }
}
