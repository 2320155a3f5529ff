//! From the options to a run that can begin: the plan, the log, the observer, the pool, and whether the target can be tested.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateproof_report::record::Outcome;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::ask::{Asked, ask, unsafe_target};
use super::bindings::{Names, bindings};
use super::environment::Environment;
use super::execute::{Execution, execute};
use super::lag::{self, Lateness};
use super::options::RunOptions;
use super::plan::{self, Decision, Planned};
use super::preflight::{CANARY, PREFLIGHT, Preflight};
use super::prepare::{self, Failed, RunError, Target, shapes};
use super::record::{self, Alike, End, Entry};
use super::schedule::{Job, demand};
use super::session::SetUp;
use super::slots::Slots;
use super::tally::Tally;
use super::tidy::Tidy;
use super::{Progress, known, origin};
use crate::cluster::clean::Leftover;
use crate::cluster::discover::Facts;
use crate::cluster::kinds::Kind;
use crate::cluster::lease::Leases;
use crate::cluster::log_writer::LogWriter;
use crate::cluster::observe::{Observer, Selector};
use crate::cluster::pool::{self, Demand, Instance};
use crate::cluster::undo::Undo;
use crate::cluster::write::Writer;
use crate::cluster::{clock, names};
use crate::log::{Body, ObjectKey, RunStarted, Scope, Timing};
use crate::probe::Prober;
use crate::scenario::{MadeObject, ObjectRef, Scenario, bind};

/// What it is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To run the scenarios.
    Run,
    /// To know whether they could be run.
    Preflight,
}

/// A run that can begin.
pub struct Opened {
    /// What its executions share.
    pub env: Arc<Environment>,
    /// Removes what it created.
    pub tidy: Tidy,
    /// Watches.
    pub observer: Observer,
    /// Notes when this process is late.
    pub lag: AbortOnDropHandle<()>,
    /// The first event of the log.
    pub started: RunStarted,
    /// The scenarios that were not selected and could have run.
    pub left_out: Vec<Arc<Scenario>>,
    /// For the session.
    pub set_up: SetUp,
    /// The scenarios that do not run.
    pub entries: Vec<Entry>,
    /// What preflight came to.
    pub trial: Trial,
}

/// What preflight came to.
#[derive(Default)]
pub struct Trial {
    /// Its answers; none if it was left out.
    pub preflight: Preflight,
    removal: Option<JoinHandle<Vec<Leftover>>>,
}

impl Trial {
    /// Waits until what it created is gone, and says what is not.
    pub async fn removed(self) -> Vec<Leftover> {
        match self.removal {
            Some(removal) => removal.await.unwrap_or_default(),
            None => Vec::new(),
        }
    }
}

/// Opens a run. Whatever it created is gone again if it cannot begin.
///
/// # Errors
/// [`RunError::Preflight`] if the target cannot be tested, and what else stands in the way.
pub async fn open(
    target: &Target,
    options: &RunOptions,
    scenarios: &[Arc<Scenario>],
    purpose: Purpose,
    reporter: &mut dyn Progress,
) -> Result<Opened, RunError> {
    let facts = &target.facts;
    let timing = options.timing();
    let Asked { policy, plan, canary, request, preflight } = ask(target, options, scenarios, reporter).await?;
    let mut trial = Trial { preflight, removal: None };
    let run_id = names::run_id();
    let (mut slots, mut jobs) = slots(&plan, options, &timing)?;
    let entries = not_run(&plan);
    if purpose == Purpose::Preflight {
        (slots, jobs) = (Slots::of(Vec::new(), 1), Vec::new());
    }
    let mut demand = demand(&jobs, slots.times());
    if let (Purpose::Preflight, Some(request)) = (purpose, &request) {
        for (_, shape) in shapes(request)? {
            demand.entry(shape).or_insert(Demand { shared: 1, ..Demand::default() });
        }
    }
    let mut instances = pool::layout(&demand, &options.ports, options.max_gateways)?;

    let log = Arc::new(LogWriter::start(options.events_file.as_deref())?);
    let selected = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    let left_out = left_out(target, options);
    let started = RunStarted {
        selected: Some(selected),
        left_out: Some(left_out.iter().map(|scenario| scenario.name.clone()).collect()),
        listed: Some(options.listed.unwrap_or_else(|| record::listed(scenarios.len()))),
        digests: origin::digests(options, facts, scenarios, &timing),
        shard: options.part.as_ref().map(|part| origin::shard(part, &left_out)),
        ..run_started(target, options, &policy, &run_id, &timing)
    };
    let tally = Tally::new(&options.contract, facts.basis(), facts.controller_name(), &timing);
    let tally = Arc::new(Mutex::new(tally));
    let read = Arc::clone(&tally);
    log.show(move |event| read.lock().unwrap_or_else(PoisonError::into_inner).observe(event));
    log.keep(Scope::Scenario(Arc::from(PREFLIGHT)));
    log.append(Scope::Run, Body::RunStarted(Box::new(started.clone())));
    let executions = slots.executions(&run_id, vec![Arc::from(PREFLIGHT), Arc::from(CANARY)]);
    target.api.reach().watch(Arc::clone(&log), timing.write);
    let watched =
        slots.scenarios().iter().map(|scenario| &**scenario).chain(request.as_deref()).chain(canary.as_deref());
    let mut watched = resources(facts, watched, &run_id);
    let made =
        |index| made(facts, slots.scenario(index), &Names { run_id: &run_id, index, facts, ports: &options.ports });
    watched.extend((0..slots.len()).flat_map(made));
    if let Some(bystander) = &options.bystander {
        bystander.before_watches().await;
    }
    let observer =
        Observer::start(&target.api, &log, watched, executions, options.others.then_some(&**facts.kinds.dialect()))
            .await?;
    let lateness = Lateness::default();
    let lag = lag::measure(Arc::clone(&log), lateness.clone(), lag::threshold(&timing));
    let kinds = Arc::new(facts.kinds.clone());
    let writer = Writer::new(target.api.clone(), kinds, &timing, options.gateway_patch.clone());
    let writer = writer.with_backends(&target.backends);
    let tidy = Tidy {
        api: target.api.clone(),
        writer: writer.clone(),
        view: Arc::clone(observer.view()),
        // Taking Gateways down takes about as long as setting them up.
        budget: timing.gateway,
        log: Arc::clone(&log),
    };
    options.interrupt.holds(Some(&run_id));
    let patience = timing.gateway + timing.gateway_class;
    let leases = Leases::new(target.api.clone(), &run_id, patience, options.interrupt.token());
    let env = Arc::new(Environment {
        log: Arc::clone(&log),
        tally,
        leases,
        undo: Undo::new(target.api.clone(), writer.clone(), policy.cluster_changes),
        api: target.api.clone(),
        writer,
        prober: Prober::new(Arc::clone(&target.dialer), timing.request),
        view: Arc::clone(observer.view()),
        looker: observer.looker().clone(),
        backends: target.backends.clone(),
        contract: Arc::clone(&options.contract),
        timing,
        lateness,
        facts: facts.clone(),
        namespace_labels: options.namespace_labels.clone(),
        max_probes: options.max_probes,
        services: target.services.clone(),
        interrupt: options.interrupt.clone(),
        logs_from: options.logs_from.clone(),
        waits: options.waits.clone(),
        bystander: options.bystander.clone(),
        slowest_settle: Mutex::default(),
    });
    let lost = async |error: RunError| {
        let left = tidy.remove(vec![Tidy::namespace(&names::pool_namespace(&run_id))]).await;
        if left.is_empty() { error } else { RunError::Left { error: Box::new(error), left } }
    };
    let opened = async {
        pool::open(&env.writer, &log, &run_id, &options.namespace_labels).await?;
        Ok::<_, RunError>(env.leases.live().await?)
    };
    let life = match opened.await {
        Ok(life) => life,
        Err(error) => return Err(lost(error).await),
    };
    if let Some(canary) = canary {
        let names = Names { run_id: &run_id, index: slots.len() + 1, facts, ports: &options.ports };
        let mut leftovers = try_canary(&env, &tidy, &names, canary, &mut trial.preflight).await;
        // Broken off, or with the API server or a Lease gone, it has no answer, and the session says so and cleans up.
        let unanswered = env.interrupt.is_triggered() || env.lost().is_some();
        if !trial.preflight.is_good() && !unanswered {
            leftovers.extend(tidy.remove(vec![Tidy::namespace(&names::pool_namespace(&run_id))]).await);
            return Err(unsafe_target(trial.preflight, leftovers));
        }
    }
    // A canary without an answer lets nothing follow.
    if trial.preflight.is_good()
        && let Err(error) = pool::create(&env.writer, &log, &run_id, facts.class_name(), &instances).await
    {
        return Err(lost(error.into()).await);
    }
    let budget = env.timing.gateway;
    let dialect = facts.kinds.dialect();
    let (several, says) = (dialect.entries_in_words(), dialect.ready());
    let what = format!("{} {several} to say {says}=True, {} s at most for one", instances.len(), budget.as_secs());
    let ready = pool::await_programmed(observer.view(), facts.kinds.dialect(), &run_id, &mut instances, budget);
    let ready = clock::patiently(ready, || reporter.waiting(&what));
    // Broken off while it waits, the session has nothing to start and goes on to clean up.
    let pool_took = tokio::select! {
        took = ready => took,
        () = options.interrupt.triggered() => Default::default(),
        () = env.is_lost() => Default::default(),
    };
    let known = known::in_force(&started.known_failures, &started.date);
    let set_up = SetUp { run_id, slots, jobs, alike: Alike::of(&started), instances, pool_took, known, life };
    if let Some(request) = request {
        try_request(&env, &tidy, options, &set_up, request, target.dialer.advice(), &mut trial).await;
        // Broken off, or with the API server or a Lease gone, it has no answer, and the session says so and cleans up.
        let unanswered = env.interrupt.is_triggered() || env.lost().is_some();
        if !trial.preflight.is_good() && !unanswered {
            let preflight = trial.preflight.clone();
            let mut leftovers = trial.removed().await;
            leftovers.extend(tidy.remove(vec![Tidy::namespace(&names::pool_namespace(&set_up.run_id))]).await);
            return Err(RunError::Preflight(Box::new(Failed { preflight, leftovers })));
        }
    }
    if options.preflight && trial.preflight.is_good() {
        reporter.ready(&trial.preflight);
    }
    Ok(Opened { env, tidy, observer, lag, started, left_out, set_up, entries, trial })
}

/// Runs the canary and removes it. Returns what is left of it.
async fn try_canary(
    env: &Arc<Environment>,
    tidy: &Tidy,
    names: &Names<'_>,
    canary: Arc<Scenario>,
    preflight: &mut Preflight,
) -> Vec<Leftover> {
    let bindings = bindings(&canary, names, &[]);
    let namespaces: Vec<ObjectKey> = bindings.namespaces.values().map(|name| Tidy::namespace(name)).collect();
    let execution = Execution {
        name: Arc::from(CANARY),
        scenario: Arc::clone(&canary),
        bindings,
        lanes: None,
        rest: None,
        told: None,
    };
    let (verdict, remains) = execute(env, &execution).await;
    preflight.canary(&canary, &verdict);
    if let Some(running) = remains.running {
        running.stop().await;
    }
    tidy.remove(namespaces).await
}

/// Asks for the pool's addresses, and makes a request by way of one of them.
async fn try_request(
    env: &Arc<Environment>,
    tidy: &Tidy,
    options: &RunOptions,
    set_up: &SetUp,
    request: Arc<Scenario>,
    advice: &str,
    trial: &mut Trial,
) {
    let SetUp { run_id, slots, instances, .. } = set_up;
    let live: Vec<_> = instances
        .iter()
        .map(|instance| tidy.view.get(&pool::key(env.facts.kinds.dialect(), run_id, &instance.name)))
        .collect();
    trial.preflight.addresses(instances, &live, env.facts.kinds.dialect());
    if !trial.preflight.is_good() {
        return;
    }
    let (alias, wanted) = shapes(&request).unwrap_or_default().into_iter().next().unzip();
    let serves = |instance: &&Instance| {
        wanted.is_some_and(|shape| shape.protocol == instance.shape.protocol) && !instance.addresses.is_empty()
    };
    let kinds = &env.facts.kinds;
    let is_served = |key: &ObjectKey| kinds.of(&key.group, &key.kind).is_some_and(|kind| !kind.later);
    let is_served = prepare::applied(&request).all(|key| is_served(&key));
    let Some((alias, gateway)) = alias.zip(instances.iter().find(serves).filter(|_| is_served)) else {
        return trial.preflight.no_request(env.facts.kinds.dialect());
    };
    let names = Names { run_id, index: slots.len(), facts: &env.facts, ports: &options.ports };
    let bindings = bindings(&request, &names, &[(alias, gateway)]);
    let namespaces: Vec<ObjectKey> = bindings.namespaces.values().map(|name| Tidy::namespace(name)).collect();
    let name: Arc<str> = Arc::from(PREFLIGHT);
    let execution =
        Execution { name: Arc::clone(&name), scenario: request, bindings, lanes: None, rest: None, told: None };
    let (verdict, remains) = execute(env, &execution).await;
    let events = env.log.events_in(&Scope::Scenario(name));
    let dialect = env.facts.kinds.dialect();
    trial.preflight.request(&verdict, &events, dialect, [advice, env.backends.advice()]);
    let tidy = tidy.clone();
    // Scenarios need not wait until it is gone.
    trial.removal = Some(tokio::spawn(async move {
        if let Some(running) = remains.running {
            running.stop().await;
        }
        tidy.remove(namespaces).await
    }));
}

/// The executions that the plan asks for, and what the schedule has to know of each.
fn slots(plan: &[Planned], options: &RunOptions, timing: &Timing) -> Result<(Slots, Vec<Job>), RunError> {
    let (mut scenarios, mut jobs) = (Vec::new(), Vec::new());
    for Planned { scenario, .. } in plan.iter().filter(|planned| planned.decision == Decision::Run) {
        // One after the other they run in the same order every time.
        let took = options.took.get(&scenario.name).filter(|_| options.jobs > 1);
        let took = took.map(|millis| Duration::from_millis(*millis));
        jobs.push(Job::of(scenario, shapes(scenario)?, timing).took(took));
        scenarios.push(Arc::clone(scenario));
    }
    Ok((Slots::of(scenarios, options.times()), jobs))
}

/// The entries of scenarios that do not run.
fn not_run(plan: &[Planned]) -> Vec<Entry> {
    let entry = |Planned { scenario, decision }: &Planned| {
        let (outcome, reason) = match decision {
            Decision::NotSupported(reason) => (Outcome::NotSupported, reason),
            Decision::Skipped(reason) => (Outcome::Skipped, reason),
            Decision::Run => return None,
        };
        let end = End::not_run(outcome, reason.as_str());
        Some(Entry { name: Arc::from(scenario.name.as_str()), scenario: Arc::clone(scenario), end })
    };
    plan.iter().filter_map(entry).collect()
}

/// What is watched: the class by name; by the run's label Gateways, namespaces, and whatever scenarios apply or name; by
/// name what they name and did not create.
fn resources<'s>(facts: &Facts, scenarios: impl Iterator<Item = &'s Scenario>, run_id: &str) -> Vec<(Kind, Selector)> {
    let kinds = &facts.kinds;
    let class = kinds.class().zip(facts.class.as_ref()).map(|(kind, class)| (kind, Some(class.name.clone())));
    let always = [kinds.entry(), kinds.of("", "Namespace")].into_iter().flatten();
    let used = scenarios.flat_map(|scenario| prepare::watched(scenario, kinds));
    let mut watched: Vec<(Kind, Selector)> = Vec::new();
    for (kind, name) in class.into_iter().chain(always.map(|kind| (kind, None))).chain(used) {
        let selector = name.map_or_else(|| Selector::Run(run_id.to_owned()), Selector::Name);
        if !watched.iter().any(|(known, with)| known == kind && *with == selector) {
            watched.push((kind.clone(), selector));
        }
    }
    watched
}

/// What the target makes for an execution, which has no label of the run.
fn made(facts: &Facts, scenario: &Scenario, names: &Names<'_>) -> Vec<(Kind, Selector)> {
    if scenario.made.is_empty() {
        return Vec::new();
    }
    let bindings = bindings(scenario, names, &[]);
    let selected = |made: MadeObject| {
        let ObjectRef { namespace, name, .. } = made.object;
        let kind = facts.kinds.of(&made.group, &made.object.kind)?;
        Some((kind.clone(), Selector::Made { token: bindings.token.clone(), namespace, name }))
    };
    // What cannot be bound is told of when the scenario begins.
    bind::made(scenario, &bindings).unwrap_or_default().into_iter().filter_map(selected).collect()
}

/// What of the scenarios that were not selected could have run.
fn left_out(target: &Target, options: &RunOptions) -> Vec<Arc<Scenario>> {
    let policy = plan::Policy::of(options).with_services(&target.services);
    let planned = plan::plan(&options.unselected, &target.facts, &policy).into_iter();
    planned
        .filter(|planned| !matches!(planned.decision, Decision::NotSupported(_)))
        .map(|planned| planned.scenario)
        .collect()
}

fn run_started(
    target: &Target,
    options: &RunOptions,
    policy: &plan::Policy,
    run_id: &str,
    timing: &Timing,
) -> RunStarted {
    let facts = &target.facts;
    RunStarted {
        format: record::LOG_FORMAT,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: run_id.to_owned(),
        date: clock::date(),
        target: options.target.name(),
        arguments: options.arguments.clone(),
        options_file: options.options_file.clone(),
        embedded: options.target.is_embedded(),
        dialect: facts.kinds.dialect().name().to_owned(),
        edition: options.contract.edition().map(str::to_owned),
        gateway_class: facts.class.as_ref().map(|class| class.name.clone()),
        controller_name: facts.class.as_ref().map(|class| class.controller_name.clone()),
        gateway_api_version: facts.bundle.as_ref().map(|bundle| bundle.name.clone()),
        gateway_api_channel: facts.bundle.as_ref().map(|bundle| bundle.channel().to_owned()),
        definitions: facts.definitions().map(|definitions| definitions.release.clone()),
        features: policy.features(facts).into_iter().collect(),
        selected: None,
        left_out: None,
        digests: None,
        shard: None,
        listed: None,
        known_failures: options.known_failures.clone(),
        timing: timing.clone(),
    }
}
