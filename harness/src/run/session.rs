//! A run from its first to its last event: the pool, the scenarios as the schedule lets them start, the clean-up.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::known::KnownFailure;
use gateproof_report::record::{Outcome, ScenarioRecord};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Progress;
use super::bindings::{Names, bindings};
use super::coming::{News, Told};
use super::environment::Environment;
use super::execute::{Execution, execute};
use super::intake::Intake;
use super::options::{Keep, RunOptions};
use super::record::{self, Alike, End, Entry};
use super::rest::Rest;
use super::schedule::{Job, Schedule, Start};
use super::slots::Slots;
use super::tidy::{Tidy, cluster_scoped, unscript};
use super::{known, locks};
use crate::cluster::clean::{CleanScope, Leftover};
use crate::cluster::clock;
use crate::cluster::lease::{Held, give_back};
use crate::cluster::names::pool_namespace;
use crate::cluster::pod_logs::{self, PodLog};
use crate::cluster::pool::{self, Instance};
use crate::cluster::undo;
use crate::judge::Verdict;
use crate::judge::contract::Watched;
use crate::log::{Bindings, Body, Ended, ObjectKey, Scope};
use crate::scenario::Scenario;

/// Of how many executions of one scenario the logs of Pods are kept, which all stay in memory to the end: by `--repeat` there may be
/// hundreds that fail alike.
const LOGS_KEPT: usize = 3;

/// How many are named of those that watch on to the end.
const NAMED: usize = 3;

/// What the session is given, made from the plan.
pub struct SetUp {
    /// Label value that marks everything of the run.
    pub run_id: String,
    /// What is to be executed.
    pub slots: Slots,
    /// What the schedule has to know of each scenario.
    pub jobs: Vec<Job>,
    /// Which executions are counted only.
    pub alike: Alike,
    /// The pool.
    pub instances: Vec<Instance>,
    /// How long the first and the last of its Gateways took that came.
    pub pool_took: (Duration, Duration),
    /// Failures that do not fail the run, of those whose time is not over.
    pub known: Vec<KnownFailure>,
    /// Says that the run is alive.
    pub life: Held,
}

/// What came of the scenarios.
pub struct Outcomes {
    /// One for each execution, but of those that never began for one reason one for each scenario.
    pub entries: Vec<Entry>,
    /// Whether the user broke the run off.
    pub interrupted: bool,
    /// What could not be removed.
    pub leftovers: Vec<Leftover>,
    /// Namespaces and objects that stay because the user wants to look at them.
    pub kept: Vec<String>,
    /// The objects of all executions that were held against the contract.
    pub watched: Watched,
    /// What the controller's Pods said, by name of the execution.
    pub logs: BTreeMap<String, Vec<PodLog>>,
}

/// What tasks tell the session.
enum Report {
    /// A verdict is there; cleaning up may still go on.
    Judged(usize, Box<Verdict>),
    /// It did not begin, for this reason; nothing of it is there.
    NotRun(usize, String),
    /// What the controller's Pods said meanwhile.
    Logs(usize, Vec<PodLog>),
    /// The execution's lanes are free.
    Released(usize),
    /// Its objects are gone, or not.
    Cleaned(Vec<Leftover>),
    /// Something of it stays, so that nobody can have its lanes.
    Stays(usize),
    /// The execution has nothing left to do but to watch on.
    Rests(usize),
    /// What others may have to know of it.
    News(usize, News),
    /// What it made goes now.
    Ends(usize),
    /// What it made is gone, or stays.
    Over(usize),
    /// Services still do what it told them.
    Scripted(Vec<Leftover>),
}

/// Executes what is to be executed. Returns once everything that is not kept is gone, or known not to go.
pub async fn session(
    env: &Arc<Environment>,
    tidy: &Tidy,
    options: &RunOptions,
    set_up: SetUp,
    reporter: &mut dyn Progress,
) -> Outcomes {
    let SetUp { run_id, slots, jobs, mut alike, instances, pool_took, known, life } = set_up;
    let intake = Intake::new(env.timing.quiet, env.timing.gateway).behind(pool_took);
    let mut schedule = Schedule::new(jobs, slots.times(), instances, options.jobs, intake);
    let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    let mut under_way: HashMap<tokio::task::Id, (usize, Bindings)> = HashMap::new();
    let mut ends: Vec<Option<End>> = (0..slots.len()).map(|_| None).collect();
    let mut watched = Watched::default();
    let mut leftovers = Vec::new();
    // Nothing in the cluster waits for these.
    let mut scripted = Vec::new();
    let mut kept: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let (mut logs, mut logs_of) = (BTreeMap::new(), HashMap::new());
    // By which they hear that everything else is over.
    let mut rests: HashMap<usize, CancellationToken> = HashMap::new();
    let mut failed_by: Option<Arc<str>> = None;
    loop {
        if env.interrupt.is_triggered() {
            let (outcome, reason): (_, Arc<str>) = match &failed_by {
                Some(name) => (Outcome::Skipped, format!("--fail-fast: {name} failed before").into()),
                None => (Outcome::Inconclusive, "interrupted before it began".into()),
            };
            for index in schedule.stop() {
                ends[index] = Some(End::not_run(outcome, Arc::clone(&reason)));
            }
        }
        if let Some(why) = env.lost() {
            for index in schedule.stop() {
                ends[index] = Some(End::not_run(Outcome::Inconclusive, why));
            }
        }
        while let Some(start) = schedule.start() {
            let (name, scenario) = (slots.name(start.job), Arc::clone(slots.scenario(start.job)));
            reporter.started(&name);
            let bindings = bind_names(env, options, &run_id, &scenario, &schedule, &start);
            kept.insert(start.job, kept_names(&bindings));
            let locks = locks_of(env, &scenario, &schedule, &start);
            let exclusive = schedule.is_exclusive(start.job);
            let alone = exclusive || schedule.answers_for_all(start.job);
            let lanes = exclusive.then(|| locks.iter().cloned().collect());
            let over = rests.entry(start.job).or_default().clone();
            let (told, index) = (sender.clone(), start.job);
            // The session outlives its tasks.
            let rest = Rest::new(over, move || drop(told.send(Report::Rests(index))));
            let told = sender.clone();
            let told: Told = Box::new(move |news| drop(told.send(Report::News(index, news))));
            let execution =
                Execution { name, scenario, bindings: bindings.clone(), lanes, rest: Some(rest), told: Some(told) };
            let task = Task { index: start.job, alone, keep: options.keep, locks };
            let handle = tasks.spawn(task.run(Arc::clone(env), tidy.clone(), execution, sender.clone()));
            under_way.insert(handle.id(), (start.job, bindings));
        }
        reporter.resting(schedule.resting());
        let rested = schedule.rested();
        if !rested.is_empty() {
            let names: Vec<Arc<str>> = rested.iter().take(NAMED).map(|index| slots.name(*index)).collect();
            reporter.waiting(&watching(&names, rested.len()));
        }
        rested.iter().filter_map(|index| rests.get(index)).for_each(CancellationToken::cancel);
        if schedule.is_done() && tasks.is_empty() && reports.is_empty() {
            break;
        }
        let gives_up = schedule.intake().next();
        tokio::select! {
            biased;
            Some(report) = reports.recv() => match report {
                Report::Judged(index, mut verdict) => {
                    watched.add(verdict.set_aside());
                    let name = slots.name(index);
                    let mut record = record_of(env, &name, slots.scenario(index), (*verdict).clone());
                    known::excuse(&known, &mut record);
                    let beyond = alike.beyond(index, &name, &verdict);
                    let end = End::Judged(verdict);
                    if !stays(options.keep, &end) {
                        kept.remove(&index);
                    }
                    ends[index] = Some(end);
                    if let Some(beyond) = beyond {
                        env.tally().forget(&slots.name(beyond));
                        ends[beyond] = Some(End::Alike);
                    }
                    if options.fail_fast && matches!(record.outcome, Outcome::Failed | Outcome::Late) && failed_by.is_none() {
                        failed_by = Some(name);
                        env.interrupt.trigger();
                    }
                    reporter.finished(&record);
                }
                Report::NotRun(index, reason) => {
                    ends[index] = Some(End::not_run(Outcome::Inconclusive, reason));
                }
                Report::Logs(index, said) => {
                    let scenario = &slots.scenario(index).name;
                    let kept = logs_of.entry(scenario.clone()).or_insert(0_usize);
                    *kept += 1;
                    let said = if *kept > LOGS_KEPT { vec![PodLog::left_out(scenario, LOGS_KEPT)] } else { said };
                    logs.insert(slots.name(index).to_string(), said);
                }
                Report::Released(index) => schedule.finished(index),
                Report::Rests(index) => {
                    schedule.rests(index);
                    schedule.intake().rests(index);
                }
                Report::News(index, News::Moved(moved)) => schedule.intake().moved(index, moved, env.log.now()),
                Report::News(index, News::Lingers(lingers)) => {
                    schedule.lingers(index, lingers);
                    schedule.intake().lingers(index, lingers);
                }
                Report::Ends(index) => schedule.intake().ends(index),
                Report::Over(index) => {
                    rests.remove(&index);
                    schedule.intake().over(index);
                }
                Report::Cleaned(more) => leftovers.extend(more),
                Report::Stays(index) => littered(&mut ends, &mut schedule, index, &slots.name(index)),
                Report::Scripted(more) => scripted.extend(more),
            },
            Some(ended) = tasks.join_next_with_id() => {
                let id = ended.as_ref().map_or_else(tokio::task::JoinError::id, |(id, ())| *id);
                let task = under_way.remove(&id);
                if let (Err(error), Some((index, bindings))) = (ended, task) {
                    // The harness' own mistake: the scenario is closed without a word about the target.
                    let error = format!("the harness broke off: {error}");
                    let name = slots.name(index);
                    let scope = Scope::Scenario(Arc::clone(&name));
                    env.log.append(scope, Body::ScenarioEnded(Ended::Environment { error: error.clone() }));
                    ends[index].get_or_insert(End::not_run(Outcome::Inconclusive, error));
                    let left = remove(env, tidy, &name, &bindings).await;
                    if !left.is_empty() {
                        littered(&mut ends, &mut schedule, index, &name);
                    }
                    leftovers.extend(left);
                    schedule.intake().over(index);
                    schedule.finished(index);
                }
            }
            () = clock::until(env.log.instant(gives_up.unwrap_or_default())), if gives_up.is_some() => {
                schedule.intake().gives_up(env.log.now());
            }
            () = env.interrupt.triggered(), if !schedule.is_stopped() => {}
            () = env.is_lost(), if !schedule.is_stopped() => {}
        }
    }
    life.end().await;
    kept.retain(|index, _| ends[*index].as_ref().is_some_and(|end| stays(options.keep, end)));
    let pool_home = pool_namespace(&run_id);
    if kept.is_empty() && leftovers.is_empty() {
        leftovers.extend(tidy.remove(vec![Tidy::namespace(&pool_home)]).await);
    } else if kept.is_empty() {
        // Its Lease says that the run is over, so that `gateproof clean` takes what is left.
        let gateway = |name: &str| pool::key(env.facts.kinds.dialect(), &run_id, name);
        leftovers
            .extend(tidy.remove(schedule.instances().iter().map(|instance| gateway(&instance.name)).collect()).await);
        let diagnosis = "it holds the Lease by which `gateproof clean` knows that the run is over".to_owned();
        leftovers.push(Leftover { object: format!("Namespace/{pool_home}"), diagnosis });
    }
    leftovers.extend(scripted);
    let entries = ends.into_iter().enumerate().map(|(index, end)| {
        let broken = || End::not_run(Outcome::Inconclusive, "the harness broke off while it ran");
        Entry { name: slots.name(index), scenario: Arc::clone(slots.scenario(index)), end: end.unwrap_or_else(broken) }
    });
    let interrupted = env.interrupt.is_triggered() && failed_by.is_none();
    let entries = record::folded(entries, |name| env.tally().has_begun(name));
    let kept = kept.into_values().flatten().collect();
    Outcomes { entries, watched, interrupted, leftovers, kept, logs }
}

/// One execution and its clean-up.
struct Task {
    index: usize,
    alone: bool,
    keep: Keep,
    locks: Vec<String>,
}

impl Task {
    async fn run(
        self,
        env: Arc<Environment>,
        tidy: Tidy,
        execution: Execution,
        reports: tokio::sync::mpsc::UnboundedSender<Report>,
    ) {
        // The session outlives its tasks, so nothing that is sent to it is lost.
        let send = |report| drop(reports.send(report));
        let (mut held, gone) = match env.leases.take(self.locks).await {
            Ok(taken) => taken,
            Err(error) => {
                send(Report::NotRun(self.index, error.to_string()));
                send(Report::Over(self.index));
                return send(Report::Released(self.index));
            }
        };
        if !gone.is_empty() {
            // Whoever had this to itself is gone, and may have left it changed.
            let scope = CleanScope::Runs(gone.into_iter().collect());
            let restored = undo::restore_all(&tidy.api, &tidy.writer, &scope).await;
            send(Report::Cleaned(restored.map(|restored| restored.leftovers).unwrap_or_default()));
        }
        let began = env.log.now();
        let (verdict, remains) = execute(&env, &execution).await;
        held.extend(remains.held);
        send(Report::Scripted(remains.scripted));
        send(Report::Ends(self.index));
        let end = End::Judged(Box::new(verdict.clone()));
        let passed = verdict.outcome == Outcome::Passed;
        send(Report::Judged(self.index, Box::new(verdict)));
        if !self.alone {
            send(Report::Released(self.index));
        }
        if let Some(source) = env.logs_from.as_ref().filter(|_| !passed && !env.interrupt.is_triggered()) {
            let said = pod_logs::last(&tidy.api, source, env.log.now() - began).await;
            send(Report::Logs(self.index, said));
        }
        if let Some(running) = remains.running {
            running.stop().await;
        }
        // What is kept to be looked at is the run's own; the rest of the cluster is put back before its notes go.
        let unrestored = env.undo.restore(&execution.bindings.token, &env.log).await;
        let mut is_clean = unrestored.is_empty() && !stays(self.keep, &end);
        send(Report::Cleaned(unrestored));
        if is_clean {
            let left = tidy.remove(keys_of(&env, &execution.name, &execution.bindings)).await;
            is_clean = left.is_empty();
            send(Report::Cleaned(left));
        }
        if !is_clean {
            send(Report::Stays(self.index));
        }
        give_back(held).await;
        send(Report::Over(self.index));
        env.log.forget(&Scope::Scenario(execution.name), passed);
        if self.alone {
            // What it left on its lanes must be gone before the next one has them.
            send(Report::Released(self.index));
        }
    }
}

/// Ends those that do not run since something of this one stays.
fn littered(ends: &mut [Option<End>], schedule: &mut Schedule, index: usize, name: &str) {
    let reason: Arc<str> = format!("what is left of {name} would be in its way; run it by itself").into();
    for hopeless in schedule.litters(index) {
        ends[hopeless] = Some(End::not_run(Outcome::Inconclusive, Arc::clone(&reason)));
    }
}

/// What is waited for when nothing else is at work: so many executions, of which some are named.
fn watching(names: &[Arc<str>], all: usize) -> String {
    let more = if all > names.len() { format!(" and {} more", all - names.len()) } else { String::new() };
    let named = names.join(", ");
    format!("what must stay out to the end of the run (in {named}{more})")
}

/// What an execution may have created.
fn keys_of(env: &Environment, name: &Arc<str>, bindings: &Bindings) -> Vec<ObjectKey> {
    let mut keys: Vec<ObjectKey> = bindings.namespaces.values().map(|name| Tidy::namespace(name)).collect();
    let events = env.log.events_in(&Scope::Scenario(Arc::clone(name)));
    keys.extend(cluster_scoped(events.iter().map(|event| &**event)));
    keys
}

/// Restores and removes what an execution left whose task broke off.
async fn remove(env: &Environment, tidy: &Tidy, name: &Arc<str>, bindings: &Bindings) -> Vec<Leftover> {
    let scripted = unscript(env, bindings).await;
    let mut left = env.undo.restore(&bindings.token, &env.log).await;
    if left.is_empty() {
        left.extend(tidy.remove(keys_of(env, name, bindings)).await);
    }
    left.extend(scripted);
    left
}

/// What an execution must have to itself before it starts.
fn locks_of(env: &Environment, scenario: &Scenario, schedule: &Schedule, start: &Start) -> Vec<String> {
    let instances = start.gateways.iter().map(|(_, index)| &schedule.instances()[*index]);
    let instances = instances.filter(|_| schedule.is_exclusive(start.job));
    locks::known_before(scenario, &env.facts, instances)
}

fn stays(keep: Keep, end: &End) -> bool {
    match keep {
        Keep::Never => false,
        Keep::Always => true,
        Keep::OnFailure => {
            matches!(end, End::Judged(verdict) if matches!(verdict.outcome, Outcome::Failed | Outcome::Late))
        }
    }
}

fn bind_names(
    env: &Environment,
    options: &RunOptions,
    run_id: &str,
    scenario: &Scenario,
    schedule: &Schedule,
    start: &Start,
) -> Bindings {
    let names = Names { run_id, index: start.job, facts: &env.facts, ports: &options.ports };
    let instances = schedule.instances();
    let gateways: Vec<_> = start.gateways.iter().map(|(alias, index)| (alias.clone(), &instances[*index])).collect();
    bindings(scenario, &names, &gateways)
}

fn kept_names(bindings: &Bindings) -> Vec<String> {
    bindings.namespaces.values().cloned().collect()
}

fn record_of(env: &Environment, name: &str, scenario: &Scenario, verdict: Verdict) -> ScenarioRecord {
    record::of_execution(name, scenario, verdict, env.tally().duration(name))
}
