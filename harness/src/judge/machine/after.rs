//! What comes of a step, or of a part of one, that has come out.

use std::time::Duration;

use gateproof_report::record::Severity;

use super::Judge;
use crate::judge::admission::AfterWrites;
use crate::judge::doing::Doing;
use crate::judge::env::Report;
use crate::judge::settle::Settling;
use crate::judge::verdict::CameOut;
use crate::log::{Elapsed, Ended};
use crate::scenario::{Branch, Verb};

impl Judge {
    /// All writes of a step are answered, if they are.
    pub(super) fn after_writes(&mut self, after: Option<AfterWrites>, now: Elapsed) {
        match after {
            None => {}
            Some(AfterWrites::Over(report)) => self.over(report, now),
            Some(AfterWrites::Settle(ends)) => {
                let Some(env) = self.env() else { return };
                self.doing = Doing::Settling(Settling::new(ends, now, &env));
            }
        }
    }

    /// The Gateway of a probe is programmed, or never was.
    pub(super) fn after_programming(&mut self, report: Report, now: Elapsed) {
        let findings = self.findings.len();
        if self.take(report) {
            self.stop(findings, now);
        } else if let Some(env) = self.env()
            && let Verb::Probe(probe) = &env.step.verb
        {
            let (doing, known) = (self.probing(probe, now, &env), self.known(probe, &env));
            self.doing = doing;
            self.programmed.extend(known);
        }
    }

    /// A step came out.
    pub(super) fn over(&mut self, report: Report, now: Elapsed) {
        if !self.unspoken.is_empty() {
            return self.unspoken_is_over(&report);
        }
        let (findings, ending) = (self.findings.len(), report.ending);
        if self.take(report) {
            self.stop(findings, now);
        } else {
            self.came_out.push(CameOut { step: self.cursor, ending });
            if let Doing::Probing(_) = self.doing {
                self.agreed.push((self.cursor, now));
            }
            self.cursor += 1;
            self.begin(now);
        }
    }

    /// The scenario stops: at once if nothing can be said, and a little later if something failed.
    pub(super) fn stop(&mut self, findings: usize, now: Elapsed) {
        let until = now + self.context.timing.quiet;
        self.doing = if self.inconclusive.is_some() { Doing::Done } else { Doing::Doubting { until, findings } };
    }

    /// The execution is over. What has just failed may have done so by what ended it.
    pub(super) fn end(&mut self, ended: &Ended) {
        if let (Ended::Environment { .. }, Doing::Doubting { findings, .. }) = (ended, &self.doing) {
            self.findings.truncate(*findings);
        }
        self.ended = Some(ended.clone());
    }

    /// Notes what a step, or a part of one, came to. Returns whether the scenario stops there.
    pub(super) fn take(&mut self, report: Report) -> bool {
        let stops = report.stops();
        self.checked += report.checked;
        for mut finding in report.findings {
            finding.consequence = self.findings.iter().any(|f| f.severity == Severity::Failure);
            self.findings.push(finding);
        }
        let reached = report.stages.iter().map(|stage| Duration::from_millis(stage.reached_ms)).max();
        self.longest = self.longest.max(reached.unwrap_or_default());
        self.stages.extend(report.stages);
        self.shares.extend(report.shares);
        self.probes.extend(self.doing.answers(self.cursor));
        self.taken.extend(report.ending.map(|ending| Branch { step: self.cursor, ending }));
        self.answered.extend(report.answered);
        self.slowest = self.slowest.max(report.settled_after.unwrap_or_default());
        for awaited in &report.settled {
            self.account.contract.settled(&awaited.subject, Some(awaited));
        }
        self.inconclusive = self.inconclusive.take().or(report.inconclusive);
        stops
    }
}
