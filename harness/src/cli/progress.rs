//! How a run goes along: a bar on a terminal, plain lines elsewhere.

use gateproof_report::record::{Outcome, ScenarioRecord};
use gateproof_report::terminal::{self, printable};
use indicatif::{ProgressBar, ProgressStyle};

use super::output::tell;
use crate::cluster::discover::Facts;
use crate::run::{Decision, Planned, Preflight, Progress};

/// Tells a person on standard error.
pub(crate) struct Reporter {
    bar: ProgressBar,
    failed: usize,
    /// Whether somebody else tells what preflight came to.
    told: bool,
}

impl Reporter {
    /// A reporter that has not heard of anything.
    pub(crate) fn new() -> Reporter {
        Reporter { bar: ProgressBar::new(0), failed: 0, told: false }
    }

    /// One for the verb that prints what preflight came to.
    pub(crate) fn of_preflight() -> Reporter {
        Reporter { told: true, ..Reporter::new() }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Reporter {
    fn planned(&mut self, plan: &[Planned], facts: &Facts) {
        let runs = plan.iter().filter(|p| matches!(p.decision, Decision::Run)).count();
        let text = format!("{runs} of {} scenarios on {}", plan.len(), printable(&facts.summary()));
        if self.bar.is_hidden() {
            tell!("{text}");
        } else {
            self.bar.println(text);
        }
        self.bar.set_length(runs as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed_precise} {msg}") {
            self.bar.set_style(style);
        }
    }

    fn waiting(&mut self, what: &str) {
        let text = format!("waiting for {}", printable(what));
        if self.bar.is_hidden() { tell!("{text}") } else { self.bar.println(text) }
    }

    fn ready(&mut self, preflight: &Preflight) {
        if self.told {
            return;
        }
        let mut text = "the target can be tested".to_owned();
        if !preflight.without.is_empty() {
            text.push_str(&printable(&format!(", without {}", preflight.without.join(", "))));
        }
        if self.bar.is_hidden() { tell!("{text}") } else { self.bar.println(text) }
    }

    fn started(&mut self, _: &str) {}

    fn finished(&mut self, record: &ScenarioRecord) {
        self.bar.inc(1);
        if record.outcome == Outcome::Passed {
            return;
        }
        self.failed += 1;
        self.bar.set_message(format!("{} not passed", self.failed));
        let line = format!("{} {}", terminal::word(record.outcome), record.name);
        if self.bar.is_hidden() {
            tell!("{line}");
        } else {
            self.bar.println(line);
        }
    }
}
