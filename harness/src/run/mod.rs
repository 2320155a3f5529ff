//! A run: plan, schedule, execute, record.
//!
//! - [`options`], [`plan`], [`schedule`], [`bindings`]: decisions, all pure
//! - [`ask`], [`preflight`]: whether the target can be tested, [`permissions`] among it
//! - [`execute`]: one scenario's loop; [`session`]: all of them, and the clean-up
//! - `tally`: what a log comes to, event by event; [`record`]: from that and the verdicts to the run record; [`known`]: what of it the user expects
//! - [`replay`]: a recorded run, judged again; [`looks`]: what it says of each clause; [`origin`]: what it is of

pub mod admission;
mod ask;
pub mod bindings;
mod client;
mod coming;
mod crowd;
mod definitions;
pub mod embedded;
mod endpoints;
pub mod environment;
pub mod execute;
#[cfg(test)]
mod fixtures;
mod intake;
pub mod interrupt;
pub mod known;
mod lag;
mod locks;
pub mod looks;
mod made;
mod open;
pub mod options;
pub mod origin;
mod otherwise;
pub mod permissions;
pub mod plan;
pub mod preflight;
mod prepare;
pub mod record;
pub mod releases;
pub mod replay;
mod rest;
pub mod schedule;
mod session;
mod slots;
pub mod survey;
mod tally;
mod tidy;
pub mod waits;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use gateproof_report::record::{RunRecord, ScenarioRecord};

use crate::cluster::clean::{CleanScope, Cleaned, Leftover, clean};
use crate::cluster::discover::Facts;
use crate::cluster::names;
use crate::cluster::pod_logs::PodLog;
use crate::log::{Body, Event, NotRun, Scope};
use crate::scenario::Scenario;

pub use options::{Bystander, Conduct, FeatureChoice, Keep, Part, RunOptions, Skip, TargetChoice, Unsaid};
pub use plan::{Decision, Planned};
pub use preflight::Preflight;
pub use prepare::RunError;
pub use record::shared_by;
pub use waits::{Wait, Waits};

use ask::{Waiting, ask};
use open::{Opened, Purpose, open};
use prepare::Target;
use record::{End, Entry};
use session::{Outcomes, session};
use tidy::Tidy;

/// Is told how a run goes along. Called from one task, in order.
pub trait Progress: Send {
    /// It waits for something that may take a while.
    fn waiting(&mut self, _: &str) {}
    /// The plan is made; scenarios that are not run are told only here.
    fn planned(&mut self, plan: &[Planned], facts: &Facts);
    /// So many scenarios have nothing left to do but to watch, until everything else of the run has come to its end.
    fn resting(&mut self, _: usize) {}
    /// A scenario began.
    fn started(&mut self, name: &str);
    /// A scenario has its verdict.
    fn finished(&mut self, record: &ScenarioRecord);
    /// The target can be tested; told only if that was asked.
    fn ready(&mut self, _: &Preflight) {}
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn planned(&mut self, _: &[Planned], _: &Facts) {}
    fn started(&mut self, _: &str) {}
    fn finished(&mut self, _: &ScenarioRecord) {}
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct RunOutput {
    /// The closed log, as far as no file has it that can be read again; of one that went through a pipe, what did not pass.
    pub events: Vec<Arc<Event>>,
    /// The record made of it.
    pub record: RunRecord,
    /// Scenarios that the target could have run, had they been selected.
    pub left_out: Vec<Arc<Scenario>>,
    /// What could not be removed, and why.
    pub leftovers: Vec<Leftover>,
    /// Namespaces that stay for the user to look at.
    pub kept: Vec<String>,
    /// What the controller's Pods said while scenarios ran that did not pass, by name of the execution.
    pub logs: BTreeMap<String, Vec<PodLog>>,
}

/// Plans without running: what would run on the target, what not, and why.
pub async fn survey(options: &RunOptions, scenarios: Vec<Scenario>) -> Result<(Facts, Vec<Planned>), RunError> {
    let scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().map(Arc::new).collect();
    let target = prepare::target(options, &scenarios, &mut Silent).await?;
    let policy = plan::Policy::of(options).with_services(&target.services);
    let plan = plan::plan(&scenarios, &target.facts, &policy);
    let facts = target.facts.clone();
    target.stop().await;
    Ok((facts, plan))
}

/// Runs scenarios against a target. Returns once everything is judged and cleaned up, interrupted or not.
pub async fn run(
    options: RunOptions,
    scenarios: Vec<Scenario>,
    reporter: &mut dyn Progress,
) -> Result<RunOutput, RunError> {
    let scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().map(Arc::new).collect();
    let target = prepare::target(&options, &scenarios, reporter).await?;
    let outcome = run_on(&target, &options, &scenarios, reporter).await;
    target.stop().await;
    outcome
}

async fn run_on(
    target: &Target,
    options: &RunOptions,
    scenarios: &[Arc<Scenario>],
    reporter: &mut dyn Progress,
) -> Result<RunOutput, RunError> {
    let Opened { env, tidy, observer, lag, started, left_out, set_up, entries, trial } =
        open(target, options, scenarios, Purpose::Run, reporter).await?;
    let run_id = set_up.run_id.clone();
    let outcomes = AssertUnwindSafe(session(&env, &tidy, options, set_up, reporter)).catch_unwind().await;
    let Ok(outcomes) = outcomes else {
        // Nobody is left who knows what was made, but for the labels on it.
        let cleaned = clean(&target.api, &env.writer, &CleanScope::run(&run_id), env.timing.gateway).await;
        let error = Box::new(RunError::Internal("the run broke off".to_owned()));
        return Err(match cleaned {
            Ok(Cleaned { leftovers: left, .. }) if !left.is_empty() => RunError::Left { error, left },
            Ok(_) => *error,
            Err(failed) => {
                let object = format!("everything of run {run_id}");
                RunError::Left { error, left: vec![Leftover { object, diagnosis: failed.to_string() }] }
            }
        });
    };
    let Outcomes { entries: ran, watched, interrupted, mut leftovers, kept, logs } = outcomes;
    leftovers.extend(trial.removed().await);
    if leftovers.is_empty() && kept.is_empty() {
        options.interrupt.holds(None);
    }
    drop(lag);
    observer.stop().await;
    let entries: Vec<Entry> = entries.into_iter().chain(ran).collect();
    let log = &env.log;
    for Leftover { object, diagnosis } in &leftovers {
        let (object, diagnosis) = (object.clone(), diagnosis.clone());
        log.append(Scope::Run, Body::LeftBehind { object, diagnosis });
    }
    let scenarios: Vec<NotRun> = entries.iter().filter_map(not_run).collect();
    if !scenarios.is_empty() {
        log.append(Scope::Run, Body::NotRun { scenarios });
    }
    log.append(Scope::Run, Body::RunEnded { interrupted });
    log.close_file()?;
    let events = log.events();
    let tally = env.tally();
    let contract = record::contract_records(&options.contract, target.facts.basis(), tally.shared(), watched, &entries);
    let mut records = record::Records::default();
    for entry in entries {
        let duration = tally.duration(&entry.name);
        records.add(entry, duration);
    }
    let record = record::run_record(&started, &tally, records.all(), contract, interrupted);
    drop(tally);
    Ok(RunOutput { events, record, left_out, leftovers, kept, logs })
}

/// Asks whether a target can be tested with these scenarios, and removes whatever that took.
///
/// # Errors
/// [`RunError::Preflight`] if it cannot, and others as for [`run`].
pub async fn preflight(
    options: RunOptions,
    scenarios: Vec<Scenario>,
    reporter: &mut dyn Progress,
) -> Result<Preflight, RunError> {
    let options = RunOptions { preflight: true, ..options };
    let scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().map(Arc::new).collect();
    let target = prepare::target(&options, &scenarios, reporter).await?;
    let outcome = preflight_on(&target, &options, &scenarios, reporter).await;
    target.stop().await;
    outcome
}

/// Asks of a target what can be asked without applying anything to it, as [`run`] does before it begins.
///
/// # Errors
/// What [`run`] would end with before it applies anything.
pub async fn inquire(
    options: &RunOptions,
    scenarios: Vec<Scenario>,
    reporter: &mut dyn Progress,
) -> Result<(), RunError> {
    let scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().map(Arc::new).collect();
    let mut reporter = Waiting(reporter);
    let target = prepare::target(options, &scenarios, &mut reporter).await?;
    let asked = ask(&target, options, &scenarios, &mut reporter).await;
    target.stop().await;
    asked.map(|_| ())
}

/// Runs the canary alone, if the target is one that has to pass it, and removes it.
///
/// # Errors
/// [`RunError::Canary`] if it does not arrive where it has to, and others as for [`run`].
pub async fn try_canary(options: &RunOptions, reporter: &mut dyn Progress) -> Result<(), RunError> {
    if options.canary().is_none() {
        return Ok(());
    }
    let options = RunOptions { preflight: false, request: None, events_file: None, ..options.clone() };
    let mut reporter = Waiting(reporter);
    let target = prepare::target(&options, &[], &mut reporter).await?;
    let outcome = preflight_on(&target, &options, &[], &mut reporter).await;
    target.stop().await;
    outcome.map(|_| ())
}

async fn preflight_on(
    target: &Target,
    options: &RunOptions,
    scenarios: &[Arc<Scenario>],
    reporter: &mut dyn Progress,
) -> Result<Preflight, RunError> {
    let Opened { tidy, observer, lag, set_up, trial, .. } =
        open(target, options, scenarios, Purpose::Preflight, reporter).await?;
    let preflight = trial.preflight.clone();
    let mut leftovers = trial.removed().await;
    set_up.life.end().await;
    leftovers.extend(tidy.remove(vec![Tidy::namespace(&names::pool_namespace(&set_up.run_id))]).await);
    if leftovers.is_empty() {
        options.interrupt.holds(None);
    }
    drop(lag);
    observer.stop().await;
    if options.interrupt.is_triggered() {
        return Err(RunError::Interrupted);
    }
    if !preflight.is_good() {
        return Err(preflight.into());
    }
    if !leftovers.is_empty() {
        return Err(RunError::Leftovers(leftovers));
    }
    Ok(preflight)
}

fn not_run(entry: &Entry) -> Option<NotRun> {
    let End::NotRun { outcome, reason, alike } = &entry.end else { return None };
    Some(NotRun { name: entry.name.to_string(), outcome: *outcome, reason: reason.to_string(), alike: *alike })
}
