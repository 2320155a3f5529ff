//! How a run goes along: a bar on a terminal, with what is waited for, plain lines elsewhere.

mod waits;

use std::time::Duration;

use gateproof_report::record::{Outcome, ScenarioRecord};
use gateproof_report::terminal::{self, printable};
use gateproof_report::words::counted;
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use terminal_size::{Width, terminal_size_of};
use tokio::task::JoinSet;

use self::waits::Told;
use super::output::tell;
use crate::cluster::clock;
use crate::cluster::discover::Facts;
use crate::run::{Decision, Planned, Preflight, Progress, Waits};

/// How often it is looked what is waited for.
const EVERY: Duration = Duration::from_secs(1);
/// How wide a line is where that cannot be known.
const WIDTH: usize = 80;

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
    /// What the run waits for, if that is shown.
    waits: Option<Waits>,
    /// Who tells of long waits where there is no bar; they end with this.
    tellers: JoinSet<()>,
}

impl Reporter {
    /// A reporter that has not heard of anything.
    pub(crate) fn new() -> Reporter {
        Reporter {
            bar: ProgressBar::new(0),
            failed: 0,
            resting: 0,
            of: String::new(),
            told: false,
            waits: None,
            tellers: JoinSet::new(),
        }
    }

    /// One for the verb that prints what preflight came to.
    pub(crate) fn of_preflight() -> Reporter {
        Reporter { told: true, ..Reporter::new() }
    }

    /// One of several that tell of runs side by side.
    pub(crate) fn among(all: &MultiProgress, name: &str) -> Reporter {
        Reporter { bar: all.add(ProgressBar::new(0)), of: format!("{name}: "), ..Reporter::new() }
    }

    /// Shows from now on what a run waits for, and since when.
    pub(crate) fn watch(&mut self, waits: &Waits) {
        self.waits = Some(waits.clone());
        if self.bar.is_hidden() {
            self.tellers.spawn(tell_of_long(waits.clone(), self.of.clone()));
        }
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
        let text =
            format!("{runs} of {} on {}", counted(plan.len(), "scenario", "scenarios"), printable(&facts.summary()));
        self.say(&text);
        self.bar.set_prefix(self.of.clone());
        self.bar.set_length(runs as u64);
        if let Ok(style) = ProgressStyle::with_template("{prefix}{bar:30} {pos}/{len} {elapsed_precise} {msg}{waits}") {
            let waits = self.waits.clone().unwrap_or_default();
            self.bar.set_style(style.with_key("waits", move |_: &ProgressState, into: &mut dyn std::fmt::Write| {
                // What cannot be drawn is drawn the next time.
                let _ = into.write_str(&waits::under(&waits.longest(), width()));
            }));
        }
        if self.waits.is_some() && !self.bar.is_hidden() {
            self.bar.enable_steady_tick(EVERY);
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

/// How wide a line may be that is to stay one.
fn width() -> usize {
    terminal_size_of(std::io::stderr()).map_or(WIDTH, |(Width(width), _)| usize::from(width).saturating_sub(1))
}

/// Tells of each long wait once.
async fn tell_of_long(waits: Waits, of: String) {
    let mut told = Told::default();
    loop {
        clock::until(clock::now() + EVERY).await;
        told.news(&waits.longest()).iter().for_each(|line| tell!("{of}{line}"));
    }
}
