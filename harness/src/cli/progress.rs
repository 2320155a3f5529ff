//! How a run goes along: a bar on a terminal, plain lines elsewhere.

use gateproof_report::record::{Outcome, ScenarioRecord};
use gateproof_report::terminal::{self, printable};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::output::tell;
use crate::cluster::discover::Facts;
use crate::run::{Decision, Planned, Preflight, Progress};

/// Tells a person on standard error.
pub(crate) struct Reporter {
    bar: ProgressBar,
    failed: usize,
    /// How many scenarios only watch on.
    resting: usize,
    /// What is put before each line.
    of: String,
    /// Whether somebody else tells what preflight came to.
    told: bool,
}

impl Reporter {
    /// A reporter that has not heard of anything.
    pub(crate) fn new() -> Reporter {
        Reporter { bar: ProgressBar::new(0), failed: 0, resting: 0, of: String::new(), told: false }
    }

    /// One for the verb that prints what preflight came to.
    pub(crate) fn of_preflight() -> Reporter {
        Reporter { told: true, ..Reporter::new() }
    }

    /// One of several that tell of runs side by side.
    pub(crate) fn among(all: &MultiProgress, name: &str) -> Reporter {
        Reporter { bar: all.add(ProgressBar::new(0)), of: format!("{name}: "), ..Reporter::new() }
    }

    fn say(&self, text: &str) {
        let text = format!("{}{text}", self.of);
        if self.bar.is_hidden() { tell!("{text}") } else { self.bar.println(text) }
    }

    /// Says behind the bar what it does not.
    fn show(&self) {
        let failed = (self.failed > 0).then(|| format!("{} not passed", self.failed));
        let resting = (self.resting > 0).then(|| format!("{} watch on until the rest is over", self.resting));
        self.bar.set_message(failed.into_iter().chain(resting).collect::<Vec<_>>().join(", "));
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
        self.say(&text);
        self.bar.set_prefix(self.of.clone());
        self.bar.set_length(runs as u64);
        if let Ok(style) = ProgressStyle::with_template("{prefix}{bar:30} {pos}/{len} {elapsed_precise} {msg}") {
            self.bar.set_style(style);
        }
    }

    fn waiting(&mut self, what: &str) {
        self.say(&format!("waiting for {}", printable(what)));
    }

    fn ready(&mut self, preflight: &Preflight) {
        if self.told {
            return;
        }
        let mut text = "the target can be tested".to_owned();
        if !preflight.without.is_empty() {
            text.push_str(&printable(&format!(", without {}", preflight.without.join(", "))));
        }
        self.say(&text);
    }

    fn resting(&mut self, count: usize) {
        if self.resting != count {
            self.resting = count;
            self.show();
        }
    }

    fn started(&mut self, _: &str) {}

    fn finished(&mut self, record: &ScenarioRecord) {
        self.bar.inc(1);
        if record.outcome == Outcome::Passed {
            return;
        }
        self.failed += 1;
        self.show();
        self.say(&format!("{} {}", terminal::word(record.outcome), record.name));
    }
}
