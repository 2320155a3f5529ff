//! A run: plan, schedule, execute, record.
//!
//! - [`options`], [`plan`], [`schedule`], [`bindings`]: decisions, all pure
//! - [`execute`]: one scenario's loop; [`session`]: all of them, and the clean-up
//! - [`record`]: from the closed log to the run record

pub mod bindings;
mod embedded;
pub mod execute;
#[cfg(test)]
mod fixtures;
pub mod interrupt;
mod lag;
pub mod options;
pub mod plan;
mod prepare;
pub mod record;
pub mod replay;
pub mod schedule;
mod session;
mod tidy;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord};

use crate::log::{Body, Event, RunStarted, Scope, Timing};
use crate::probe::Prober;
use crate::scenario::Scenario;
use crate::target::clean::Leftover;
use crate::target::clock;
use crate::target::discover::Facts;
use crate::target::kinds::{GATEWAY_GROUP, Kind};
use crate::target::log_writer::LogWriter;
use crate::target::names;
use crate::target::observe::{Observer, Selector};
use crate::target::pool::{self, Demand, Instance};
use crate::target::shape::Shape;
use crate::target::undo::Undo;
use crate::target::write::Writer;

pub use options::{Bystander, FeatureChoice, Keep, RunOptions, Skip, TargetChoice};
pub use plan::{Decision, Planned};
pub use prepare::RunError;
pub use record::events_of;

use execute::Environment;
use prepare::Target;
use record::{End, Entry};
use schedule::Job;
use session::{Outcomes, Slot, session};
use tidy::Tidy;

/// Is told how a run goes along. Called from one task, in order.
pub trait Progress: Send {
    /// The plan is made; scenarios that are not run are told only here.
    fn planned(&mut self, plan: &[Planned], facts: &Facts);
    /// A scenario began.
    fn started(&mut self, name: &str);
    /// A scenario has its verdict.
    fn finished(&mut self, record: &ScenarioRecord);
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
    /// The closed log.
    pub events: Vec<Arc<Event>>,
    /// The record made of it.
    pub record: RunRecord,
    /// What could not be removed, and why.
    pub leftovers: Vec<Leftover>,
    /// Namespaces that stay for the user to look at.
    pub kept: Vec<String>,
}

/// What the session is given, made from the plan.
struct SetUp {
    run_id: String,
    slots: Vec<Slot>,
    instances: Vec<Instance>,
}

/// Plans without running: what would run on the target, what not, and why.
pub async fn survey(options: &RunOptions, scenarios: Vec<Scenario>) -> Result<(Facts, Vec<Planned>), RunError> {
    let scenarios: Vec<Arc<Scenario>> = scenarios.into_iter().map(Arc::new).collect();
    let target = prepare::target(options, &scenarios).await?;
    let plan = plan::plan(&scenarios, &target.facts, &plan::Policy::of(options));
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
    let target = prepare::target(&options, &scenarios).await?;
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
    let facts = &target.facts;
    let timing = options.timing();
    let policy = plan::Policy::of(options);
    if policy.features(facts).is_some_and(|features| features.is_empty()) {
        return Err(RunError::NoFeatures { class: facts.gateway_class.clone() });
    }
    let plan = plan::plan(scenarios, facts, &policy);
    reporter.planned(&plan, facts);
    let run_id = names::run_id();
    let (slots, mut entries) = slots(&plan, options.repeat, &timing)?;
    let mut instances = pool::layout(&demand(&slots), &options.ports, options.max_gateways)?;

    let log = Arc::new(LogWriter::start(options.events_file.as_deref())?);
    let started = run_started(target, options, &policy, &run_id, &timing);
    log.append(Scope::Run, Body::RunStarted(Box::new(started.clone())));
    let tokens = slots.iter().map(|slot| (names::token(&run_id, slot.index), Arc::clone(&slot.name))).collect();
    target.api.reach().watch(Arc::clone(&log), timing.write);
    let observer = Observer::start(&target.api, &log, resources(facts, &slots, &run_id), tokens).await?;
    let lag = lag::measure(Arc::clone(&log), lag::threshold(&timing));
    let kinds = Arc::new(facts.kinds.clone());
    let writer = Writer::new(target.api.clone(), kinds, &timing, options.gateway_patch.clone());
    let tidy = Tidy {
        api: target.api.clone(),
        writer: writer.clone(),
        view: Arc::clone(observer.view()),
        // Taking Gateways down takes about as long as setting them up.
        budget: timing.gateway,
    };
    let created = pool::create(&writer, &run_id, &facts.gateway_class, &options.namespace_labels, &instances).await;
    if let Err(error) = created {
        tidy.remove(vec![Tidy::namespace(&names::pool_namespace(&run_id))]).await;
        return Err(error.into());
    }
    let ready = pool::await_programmed(observer.view(), &run_id, &mut instances, timing.gateway);
    // Broken off while it waits, the session has nothing to start and goes on to clean up.
    tokio::select! {
        () = ready => {}
        () = options.interrupt.triggered() => {}
        () = target.api.reach().lost() => {}
    }
    let env = Arc::new(Environment {
        log: Arc::clone(&log),
        undo: Undo::new(target.api.clone(), writer.clone()),
        api: target.api.clone(),
        writer,
        prober: Prober::new(Arc::clone(&target.dialer), timing.request),
        hosting: target.hosting.clone(),
        contract: Arc::clone(&options.contract),
        timing,
        facts: facts.clone(),
        namespace_labels: options.namespace_labels.clone(),
        max_probes: options.max_probes,
        interrupt: options.interrupt.clone(),
        bystander: options.bystander.clone(),
        slowest_settle: Mutex::default(),
    });
    let outcomes = session(&env, &tidy, options, SetUp { run_id, slots, instances }, reporter).await;
    drop(lag);
    observer.stop().await;
    let Outcomes { entries: ran, interrupted, leftovers, kept } = outcomes;
    entries.extend(ran);
    log.append(Scope::Run, Body::RunEnded { interrupted });
    log.close_file()?;
    let events = log.events();
    let record = close(&started, &events, &entries, options, facts, interrupted);
    Ok(RunOutput { events, record, leftovers, kept })
}

/// The executions that the plan asks for, and the entries of scenarios that do not run.
fn slots(plan: &[Planned], repeat: u32, timing: &Timing) -> Result<(Vec<Slot>, Vec<Entry>), RunError> {
    let mut slots = Vec::new();
    let mut entries = Vec::new();
    for Planned { scenario, decision } in plan {
        let (outcome, reason) = match decision {
            Decision::NotSupported(reason) => (Outcome::NotSupported, reason),
            Decision::Skipped(reason) => (Outcome::Skipped, reason),
            Decision::Run => {
                let gateways = shapes(scenario)?;
                for repetition in 1..=repeat.max(1) {
                    let suffix = if repetition == 1 { String::new() } else { format!("#{repetition}") };
                    slots.push(Slot {
                        name: Arc::from(format!("{}{suffix}", scenario.name)),
                        scenario: Arc::clone(scenario),
                        index: slots.len(),
                        job: Job::of(scenario, gateways.clone(), timing),
                    });
                }
                continue;
            }
        };
        let end = End::NotRun { outcome, reason: reason.clone() };
        let name = Arc::from(scenario.name.as_str());
        entries.push(Entry { name, scenario: Arc::clone(scenario), end });
    }
    Ok((slots, entries))
}

fn shapes(scenario: &Scenario) -> Result<Vec<(String, Shape)>, RunError> {
    let read = |(alias, shape): (&String, &String)| Ok((alias.clone(), shape.parse()?));
    let shapes: Result<_, crate::target::shape::ShapeError> = scenario.gateways.iter().map(read).collect();
    shapes.map_err(|error| RunError::Shape { scenario: scenario.name.clone(), error })
}

/// How many scenarios want which Gateways.
fn demand(slots: &[Slot]) -> BTreeMap<Shape, Demand> {
    let mut demand: BTreeMap<Shape, Demand> = BTreeMap::new();
    for slot in slots {
        for (_, shape) in &slot.job.gateways {
            let demand = demand.entry(*shape).or_default();
            if slot.job.is_exclusive() {
                demand.exclusive += 1;
            } else {
                demand.shared += 1;
            }
        }
    }
    demand
}

/// What is watched: the class by name; by the run's label Gateways, namespaces, and whatever scenarios apply or name; by
/// name what they name and did not create.
fn resources(facts: &Facts, slots: &[Slot], run_id: &str) -> Vec<(Kind, Selector)> {
    let kinds = &facts.kinds;
    let class = kinds.of(GATEWAY_GROUP, "GatewayClass").map(|kind| (kind, Some(facts.gateway_class.clone())));
    let always = [kinds.of(GATEWAY_GROUP, "Gateway"), kinds.of("", "Namespace")].into_iter().flatten();
    let used = slots.iter().flat_map(|slot| prepare::watched(&slot.scenario, kinds));
    let mut watched: Vec<(Kind, Selector)> = Vec::new();
    for (kind, name) in class.into_iter().chain(always.map(|kind| (kind, None))).chain(used) {
        let selector = name.map_or_else(|| Selector::Run(run_id.to_owned()), Selector::Name);
        if !watched.iter().any(|(known, with)| known == kind && *with == selector) {
            watched.push((kind.clone(), selector));
        }
    }
    watched
}

fn run_started(
    target: &Target,
    options: &RunOptions,
    policy: &plan::Policy,
    run_id: &str,
    timing: &Timing,
) -> RunStarted {
    let facts = &target.facts;
    let features = policy.features(facts).map_or_else(|| facts.features.clone(), |held| held.into_iter().collect());
    RunStarted {
        format: record::LOG_FORMAT,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: run_id.to_owned(),
        date: clock::date(),
        target: options.target.name(),
        arguments: options.arguments.clone(),
        embedded: options.target.is_embedded(),
        gateway_class: facts.gateway_class.clone(),
        controller_name: facts.controller_name.clone(),
        gateway_api_version: facts.bundle.clone(),
        gateway_api_channel: format!("{:?}", facts.channel).to_lowercase(),
        features,
        timing: timing.clone(),
    }
}

fn close(
    started: &RunStarted,
    events: &[Arc<Event>],
    entries: &[Entry],
    options: &RunOptions,
    facts: &Facts,
    interrupted: bool,
) -> RunRecord {
    let durations = record::durations(events);
    let scenarios = entries
        .iter()
        .map(|entry| record::scenario_record(entry, durations.get(&entry.name).copied().unwrap_or_default()))
        .collect();
    let verdicts: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.end {
            End::Judged(verdict) => Some((Arc::clone(&entry.name), &**verdict)),
            End::NotRun { .. } => None,
        })
        .collect();
    let (controller, timing) = (&facts.controller_name, &started.timing);
    let contract = record::contract_records(&options.contract, facts.version, controller, timing, events, &verdicts);
    record::run_record(started, events, scenarios, contract, interrupted)
}
