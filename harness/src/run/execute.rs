//! One execution of a scenario: a thin loop that does what the judge asks and logs what came of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::StreamExt;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use super::client;
use super::coming::{News, Told, Watch};
use super::environment::Environment;
use super::lag;
use super::locks;
use super::made;
use super::record::shared_by;
use super::rest::Rest;
use super::tidy::unscript;
use super::waits::Teller;
use crate::cluster::backends::Running;
use crate::cluster::clean::Leftover;
use crate::cluster::clock;
use crate::cluster::definitions;
use crate::cluster::lease::{Held, LeaseError};
use crate::cluster::pool;
use crate::cluster::quiesce::Quiet;
use crate::cluster::write::{PatchType, Whose};
use crate::judge::{Action, Context, Judge, Next, Verdict, WriteTarget};
use crate::log::{Bindings, Body, Elapsed, Ended, Event, ObjectKey, Role, Scope, WriteOutcome};
use crate::scenario::Scenario;
use crate::scenario::bind::{BindError, bind};
use crate::scenario::scope::DEFINITION;
use crate::scenario::{ObjectRef, PatchKind};

/// Attempts of one scenario under way at once: each has its own limit, which many more would eat up by waiting for each
/// other.
const AT_ONCE: usize = 20;

/// An execution that is about to start.
pub struct Execution {
    /// Its name in the log.
    pub name: Arc<str>,
    /// The scenario, not yet bound.
    pub scenario: Arc<Scenario>,
    /// The names to bind it to.
    pub bindings: Bindings,
    /// The lanes that it has to itself already; nothing if it shares them. It takes those of its own Gateways on the way.
    pub lanes: Option<HashSet<String>>,
    /// How it hears that everything else of the run is over; nothing where there is nothing else.
    pub rest: Option<Rest>,
    /// Who is told what others may have to know.
    pub told: Option<Told>,
}

/// What an execution leaves for the caller to remove or give back, in this order.
#[derive(Default)]
pub struct Remains {
    /// Its backends, if they were set up.
    pub running: Option<Running>,
    /// Lanes of its own Gateways.
    pub held: Vec<Held>,
    /// Services that still do what it told them.
    pub scripted: Vec<Leftover>,
}

/// Why an execution could not be set up.
#[derive(Debug, thiserror::Error)]
enum SetupError {
    #[error("cannot bind the manifest: {0}")]
    Bind(BindError),
    #[error(transparent)]
    Backend(#[from] crate::cluster::backends::BackendError),
    #[error("cannot create {object}: {outcome}")]
    Write { object: String, outcome: String },
}

/// Runs a scenario to its verdict. Its objects are left for the caller to remove, and so is the rest.
pub async fn execute(env: &Environment, execution: &Execution) -> (Verdict, Remains) {
    let scope = Scope::Scenario(Arc::clone(&execution.name));
    let shared = shared_by(&execution.bindings);
    let scopes: Vec<Scope> = shared.iter().chain([&scope]).cloned().collect();
    let (before, events) = env.log.follow(&scopes, || env.tally().before(&shared));
    let slowest_settle = env.open(&scope, &execution.bindings);
    let bound = bind(&execution.scenario, &execution.bindings).map(Arc::new);
    let judged = bound.as_ref().map_or_else(|_| Arc::clone(&execution.scenario), Arc::clone);
    let context = Context {
        timing: env.timing.clone(),
        contract: Arc::clone(&env.contract),
        basis: env.facts.basis(),
        controller_name: env.facts.controller_name().to_owned(),
        slowest_settle,
        max_probes: env.max_probes,
    };
    let mut conductor = Conductor {
        env,
        scope,
        bindings: &execution.bindings,
        gateways: Watch::new(Arc::clone(&judged.dialect)),
        told: execution.told.as_ref(),
        lingers: false,
        waits: Teller::of(&env.waits, &execution.name),
        judge: Judge::new(judged, context).behind(&before),
        events,
        running: None,
        lanes: execution.lanes.clone(),
        rest: execution.rest.as_ref(),
        held: Vec::new(),
        blind: OnceLock::new(),
        quiet: Mutex::default(),
    };
    let ended = match bound {
        Err(error) => Ended::Environment { error: SetupError::Bind(error).to_string() },
        Ok(bound) => conductor.conduct(&execution.scenario, &bound).await,
    };
    // What is removed next must not meet with what was only meant for the scenario.
    let scripted = unscript(env, &execution.bindings).await;
    let remains = Remains { running: conductor.running.take(), held: std::mem::take(&mut conductor.held), scripted };
    (conductor.end(ended), remains)
}

struct Conductor<'a> {
    env: &'a Environment,
    scope: Scope,
    bindings: &'a Bindings,
    judge: Judge,
    gateways: Watch,
    told: Option<&'a Told>,
    lingers: bool,
    waits: Teller,
    events: UnboundedReceiver<Arc<Event>>,
    /// The scenario's backends, once they are set up.
    running: Option<Running>,
    /// Lanes that it has to itself; nothing if it shares them.
    lanes: Option<HashSet<String>>,
    /// How it hears that everything else of the run is over.
    rest: Option<&'a Rest>,
    /// The Leases of those that it took itself.
    held: Vec<Held>,
    /// Why nothing can be said of the target any more, if it cannot.
    blind: OnceLock<String>,
    /// The step for which the run writes nothing.
    quiet: Mutex<Option<(usize, Arc<Quiet>)>>,
}

impl Conductor<'_> {
    async fn conduct(&mut self, scenario: &Scenario, bound: &Scenario) -> Ended {
        let env = self.env;
        if env.interrupt.is_triggered() {
            return Ended::Interrupted;
        }
        self.waits.tell_of("its namespaces and backends");
        match self.set_up(scenario).await {
            Ok(running) => self.running = Some(running),
            Err(error) => return Ended::Environment { error: error.to_string() },
        }
        self.obey(bound).await
    }

    /// Namespaces first, then what makes or publishes the backends in them.
    async fn set_up(&self, scenario: &Scenario) -> Result<Running, SetupError> {
        let env = self.env;
        let mut running = env.backends.start(&scenario.backends, self.bindings).await?;
        let namespaces = self.bindings.namespaces.iter().map(|(alias, name)| {
            let mut labels = env.namespace_labels.clone();
            if let Some(decl) = scenario.namespaces.get(alias) {
                labels.extend(decl.labels.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            pool::namespace(&self.bindings.run_id, Some(&self.bindings.token), name, &labels)
        });
        self.create(namespaces).await?;
        self.create(running.objects().iter().cloned()).await?;
        // Broken off meanwhile, nothing more is asked of them.
        tokio::select! {
            ready = running.ready(&env.view, env.timing.backends()) => ready?,
            () = env.interrupt.triggered() => {}
            () = env.is_lost() => {}
        }
        Ok(running)
    }

    async fn create(&self, objects: impl Iterator<Item = Value>) -> Result<(), SetupError> {
        let writes = objects.map(|object| async move {
            let written = self.env.writer.apply(0, 0, &object).await;
            self.env.log.append(self.scope.clone(), Body::Made(Box::new(written.clone())));
            match written.outcome {
                WriteOutcome::Admitted { .. } => Ok(()),
                outcome => {
                    let (object, outcome) = (written.key.to_string(), pool::describe(&outcome));
                    Err(SetupError::Write { object, outcome })
                }
            }
        });
        // One that is refused must not have the others forgotten while they are on their way.
        futures::future::join_all(writes).await.into_iter().collect()
    }

    /// Does what the judge asks until it has nothing more to ask, or the user breaks the run off.
    async fn obey(&mut self, bound: &Scenario) -> Ended {
        let mut step = None;
        loop {
            if self.env.interrupt.is_triggered() {
                return Ended::Interrupted;
            }
            if let Some(why) = self.env.lost() {
                return Ended::Environment { error: why.to_owned() };
            }
            self.catch_up();
            if let Some(error) = self.blind.get() {
                return Ended::Environment { error: error.clone() };
            }
            self.end_quiet();
            let lingers = self.tell_whether_it_lingers();
            self.waits.tell(&self.judge);
            if let (Some(bystander), Some(now)) = (&self.env.bystander, self.judge.step())
                && step != Some(now)
            {
                step = Some(now);
                bystander.at_step(bound, now).await;
                continue;
            }
            match self.judge.next(self.env.log.now()) {
                Next::Finished => return Ended::Completed,
                Next::Perform(actions) => match self.take_lanes(&actions).await {
                    Ok(true) => self.perform(actions).await,
                    // Time has passed, so the judge is asked again.
                    Ok(false) => {}
                    Err(LeaseError::Stopped(_)) => return Ended::Interrupted,
                    Err(error) => return Ended::Environment { error: error.to_string() },
                },
                Next::Wait { until } => {
                    let limit = async {
                        match until {
                            Some(until) => clock::until(self.env.log.instant(until)).await,
                            None => std::future::pending().await,
                        }
                    };
                    let rests = self.judge.rests();
                    let rest = async {
                        if let Some(rest) = self.rest {
                            rest.come().await;
                        }
                    };
                    tokio::select! {
                        biased;
                        event = self.events.recv() => {
                            if let Some(event) = event {
                                self.observe(&event);
                            }
                        }
                        () = rest, if rests => self.env.log.append(self.scope.clone(), Body::Rested),
                        () = limit => self.env.log.append(self.scope.clone(), Body::Tick),
                        () = clock::until(self.env.log.instant(lingers.unwrap_or_default())), if lingers.is_some() => {}
                        () = self.env.interrupt.triggered() => {}
                        () = self.env.is_lost() => {}
                    }
                }
            }
        }
    }

    /// Takes the lanes that these probes go by, if the scenario must have them to itself. `false` if it had to take one: then nothing
    /// was sent yet.
    async fn take_lanes(&mut self, actions: &[Action]) -> Result<bool, LeaseError> {
        let Some(lanes) = &mut self.lanes else { return Ok(true) };
        let wanted = actions.iter().filter_map(|action| match action {
            // To see whether there is a way to an address disturbs nobody.
            Action::Probe { request, role, .. } if *role != Role::Reach => Some(locks::lane_of(request)),
            _ => None,
        });
        let new: Vec<String> = wanted.filter(|lane| !lanes.contains(lane)).collect();
        if new.is_empty() {
            return Ok(true);
        }
        lanes.extend(new.iter().cloned());
        self.waits.tell_of("what another run has to itself");
        let before = self.env.log.now();
        let (held, _) = self.env.leases.take(new).await?;
        self.held.extend(held);
        let by = u64::try_from((self.env.log.now() - before).as_micros()).unwrap_or(u64::MAX);
        self.env.log.append(self.scope.clone(), Body::Waited { by });
        Ok(false)
    }

    /// Lets the run write again once the step is over for which it was kept from that.
    fn end_quiet(&mut self) {
        let step = self.judge.step();
        self.quiet.get_mut().unwrap_or_else(PoisonError::into_inner).take_if(|(of, _)| Some(*of) != step);
    }

    /// Lets the judge see everything that is logged by now.
    fn catch_up(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.observe(&event);
        }
    }

    fn observe(&mut self, event: &Event) {
        self.judge.observe(event);
        if let Some(lost) = self.running.as_ref().and_then(|running| running.lost(event, &self.env.view)) {
            let _ = self.blind.set(lost);
        }
        if let (Some(tell), Some(moved)) = (self.told, self.gateways.observe(event)) {
            tell(News::Moved(moved));
        }
    }

    /// Tells whether somebody else may have its place meanwhile. Gives when that may have to be told next.
    fn tell_whether_it_lingers(&mut self) -> Option<Elapsed> {
        let from = self.judge.lingers();
        let lingers = from.is_some_and(|from| from <= self.env.log.now());
        if let Some(tell) = self.told.filter(|_| lingers != self.lingers) {
            tell(News::Lingers(lingers));
        }
        self.lingers = lingers;
        from.filter(|_| !lingers && self.told.is_some())
    }

    /// Writes in order; of everything else, many at once. Broken off, a write that is under way is finished and logged, or
    /// nobody would know that its object has to be removed; the rest is dropped.
    async fn perform(&self, actions: Vec<Action>) {
        let (writes, others): (Vec<_>, Vec<_>) =
            actions.into_iter().partition(|action| matches!(action, Action::Write { .. }));
        let writing = async {
            for action in writes {
                if self.env.interrupt.is_triggered() || self.env.lost().is_some() {
                    break;
                }
                self.act(action).await;
            }
        };
        let rest = futures::stream::iter(others).for_each_concurrent(AT_ONCE, |action| self.act(action));
        let rest = async {
            tokio::select! {
                () = rest => {}
                () = self.env.interrupt.triggered() => {}
                () = self.env.is_lost() => {}
            }
        };
        futures::future::join(writing, rest).await;
    }

    async fn act(&self, action: Action) {
        let env = self.env;
        let body = match action {
            Action::Write { step, ordinal, verb: _, target } => {
                let write = self.write(step, ordinal, target).await;
                self.tell_of_shared(&write);
                Body::Wrote(Box::new(write))
            }
            Action::Probe { step, attempt, role, id, request, not_before } => {
                clock::until(env.log.instant(not_before)).await;
                let late_before = env.lateness.total();
                let client = client::of(&request, self.bindings);
                let exchange = env.prober.attempt_as(&client, id, request, env.log.now()).await;
                let late = env.lateness.total().saturating_sub(late_before);
                // An attempt takes many turns, and little delays of each make it late as much as one long one does.
                if late > lag::threshold(&env.timing) {
                    env.log.append(self.scope.clone(), lag::lagged(late));
                }
                Body::Probed { step, attempt, role, exchange: Box::new(exchange) }
            }
            Action::ReadJournal { step, ids } => {
                let Some(running) = &self.running else { return };
                match running.journal(&ids, self.bindings).await {
                    Ok(entries) => Body::Journal { step, entries },
                    Err(error) => {
                        // The first reason is as good as any.
                        let _ = self.blind.set(format!("the journals of the backends cannot be read: {error}"));
                        return;
                    }
                }
            }
            Action::Script { step, service, key, rules } => {
                let error = env.services.script(&service, &key, &rules).await.err();
                Body::Scripted { step, service, key, error }
            }
            Action::Mark { step, service } => {
                let (next, error) = match env.services.mark(&service).await {
                    Ok(next) => (next, None),
                    Err(error) => (0, Some(error)),
                };
                Body::Marked { step, service, next, error }
            }
            Action::ReadRequests { step, from, expected, not_before } => {
                clock::until(env.log.instant(not_before)).await;
                let asked = env.log.now();
                let body: Vec<_> = expected.body.iter().map(|one| (&*one.pointer, one.is_secret)).collect();
                let (mut requests, next, error) = match env.services.requests(&expected.service, from, &body).await {
                    Ok((requests, next)) => (requests, next, None),
                    Err(error) => (Vec::new(), from, Some(error)),
                };
                requests.retain(|request| expected.fits(request));
                Body::Requested { step, service: expected.service, asked, requests, next, error }
            }
            Action::ListMade { step, expected, not_before } => {
                clock::until(env.log.instant(not_before)).await;
                let object = self.keys(std::slice::from_ref(&expected.object));
                made::listed(env, step, &expected, &object).await
            }
            Action::Look { step, objects } => {
                let keys = self.keys(&objects);
                let looks = keys.iter().map(|key| env.looker.look(key));
                match futures::future::try_join_all(looks).await {
                    Ok(found) => Body::Looked { step, found, error: None },
                    Err(error) => Body::Looked { step, found: Vec::new(), error: Some(error.to_string()) },
                }
            }
            Action::Quiesce { step } => {
                let quiet = env.writer.quiescence().quiet(|| env.log.now());
                let quiet = tokio::time::timeout(env.timing.gaps, quiet).await.ok();
                let since = quiet.as_ref().map(|quiet| quiet.since());
                *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = quiet.map(|quiet| (step, quiet));
                Body::Quiesced { step, since }
            }
            Action::Renew { step, objects } => {
                let keys = self.keys(&objects);
                let renewed = tokio::time::timeout(env.timing.gaps, env.looker.renew(&keys)).await;
                let error = renewed.err().map(|_| format!("watches did not begin anew within {:?}", env.timing.gaps));
                Body::Renewed { step, error }
            }
        };
        env.log.append(self.scope.clone(), body);
    }

    fn keys(&self, objects: &[ObjectRef]) -> Vec<ObjectKey> {
        let writer = &self.env.writer;
        objects.iter().map(|object| writer.key(&object.kind, object.namespace.as_deref(), &object.name)).collect()
    }

    /// Those who share what a scenario writes must know that it was the run.
    fn tell_of_shared(&self, write: &crate::log::Write) {
        let dialect = self.env.facts.kinds.dialect();
        let name = self.bindings.gateways.values().find(|gateway| {
            dialect.is_entry(&write.key.kind)
                && write.key.namespace.as_ref() == Some(&gateway.namespace)
                && write.key.name == gateway.name
        });
        let shared = match name {
            Some(gateway) => Scope::Pool(Arc::from(gateway.name.as_str())),
            None if dialect.is_class(&write.key.kind)
                && Some(&write.key.name) == self.bindings.gateway_class.as_ref() =>
            {
                Scope::Run
            }
            None if write.key.kind == DEFINITION => Scope::Run,
            None => return,
        };
        self.env.log.append(shared, Body::Made(Box::new(write.clone())));
    }

    async fn write(&self, step: usize, ordinal: usize, target: WriteTarget) -> crate::log::Write {
        let writer = &self.env.writer;
        let key = |object: &ObjectRef| writer.key(&object.kind, object.namespace.as_deref(), &object.name);
        match target {
            WriteTarget::Object { object, at } => {
                let env = self.env;
                let write = writer.apply_at(step, ordinal, &definitions::complete(&object, &env.facts), at).await;
                definitions::begin(&write, writer.kinds(), &env.api, &env.looker, &env.timing).await;
                write
            }
            WriteTarget::Patch { target, subresource, kind, patch } => {
                let patch_type = match kind {
                    PatchKind::Merge => PatchType::Merge,
                    PatchKind::Json => PatchType::Json,
                };
                let (key, subresource) = (key(&target), subresource.as_deref());
                if let Some(second) = writer.second_slice(&key) {
                    let own = &Whose::Own;
                    let write = writer.patch(step, ordinal, second, own, patch_type, subresource, &patch).await;
                    if !matches!(write.outcome, WriteOutcome::Admitted { .. }) {
                        return write;
                    }
                    self.env.log.append(self.scope.clone(), Body::Made(Box::new(write)));
                }
                match self.env.undo.note(self.bindings, &key, patch_type, subresource, &patch).await {
                    Ok(whose) => writer.patch(step, ordinal, key, &whose, patch_type, subresource, &patch).await,
                    Err(error) => writer.not_patched(step, ordinal, key, &error.to_string()),
                }
            }
            WriteTarget::Delete(object) => writer.delete(step, ordinal, key(&object)).await,
        }
    }

    fn end(mut self, ended: Ended) -> Verdict {
        self.env.prober.release(&self.bindings.token);
        let mut slowest = self.env.slowest();
        self.env.log.append(self.scope.clone(), Body::ScenarioEnded(ended));
        // Not one event further: replay stops there too.
        while let Ok(event) = self.events.try_recv() {
            self.judge.observe(&event);
            if event.scope == self.scope && matches!(event.body, Body::ScenarioEnded(_)) {
                break;
            }
        }
        let verdict = self.judge.verdict();
        *slowest = (*slowest).max(verdict.slowest_settle);
        verdict
    }
}
