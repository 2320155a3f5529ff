//! What is asked of a target before anything is applied to it: whether it can be tested at all, and what of the scenarios runs there.

use std::sync::Arc;

use super::Progress;
use super::crowd::Crowd;
use super::options::RunOptions;
use super::permissions::{self, Permissions};
use super::plan::{self, Decision, Planned, Policy};
use super::preflight::Preflight;
use super::prepare::{Failed, RunError, Target, shapes};
use super::schedule::{Job, demand};
use crate::cluster::api::ApiError;
use crate::cluster::clean::Leftover;
use crate::cluster::discover::{Acceptance, Facts};
use crate::cluster::neighbours;
use crate::cluster::pool;
use crate::cluster::room::{self, Room};
use crate::scenario::Scenario;

/// What the answers come to.
pub struct Asked {
    /// What the target is held to.
    pub policy: Policy,
    /// What becomes of each scenario.
    pub plan: Vec<Planned>,
    /// What has to arrive before anything else is applied.
    pub canary: Option<Arc<Scenario>>,
    /// The request by which the data path is to be asked.
    pub request: Option<Arc<Scenario>>,
    /// The answers so far.
    pub preflight: Preflight,
}

/// Asks. Nothing is applied.
///
/// # Errors
/// [`RunError::Preflight`] if the target cannot be tested, [`RunError::Canary`] if nobody says where the services of the canary are, and
/// what else stands in the way.
pub async fn ask(
    target: &Target,
    options: &RunOptions,
    scenarios: &[Arc<Scenario>],
    reporter: &mut dyn Progress,
) -> Result<Asked, RunError> {
    let facts = &target.facts;
    let policy = Policy::of(options).with_services(&target.services);
    let mut preflight = Preflight::default();
    if options.preflight {
        preflight = good(Preflight::of_facts(facts))?;
    }
    let needed = scenarios.iter().any(|scenario| !scenario.features.is_empty());
    if let Some(class) = facts.class.as_ref().filter(|_| needed && policy.features(facts).is_empty()) {
        // Features are claimed in the status, which nobody has written yet.
        let silent = class.acceptance == Acceptance::Silent;
        let (kind, class) = (facts.kinds.dialect().class_in_words().to_owned(), class.name.clone());
        return Err(if silent { RunError::ClassSilent { kind, class } } else { RunError::NoFeatures { kind, class } });
    }
    let plan = plan::plan(scenarios, facts, &policy);
    for Planned { scenario, .. } in plan.iter().filter(|planned| planned.decision == Decision::Run) {
        if let Some(problem) = plan::shared_name(scenario, facts) {
            let (scenario, file) = (scenario.name.clone(), scenario.file.clone());
            return Err(RunError::Shared { scenario, file, problem });
        }
    }
    let canary = options.canary().cloned();
    if let Some(canary) = &canary {
        let missing = |name: &&str| target.services.names().all(|known| known != *name);
        let missing: Vec<&str> = canary.services().into_iter().filter(missing).collect();
        if !missing.is_empty() {
            preflight.without_services(&missing);
            return Err(unsafe_target(preflight, Vec::new()));
        }
    }
    reporter.planned(&plan, facts);
    let request = options.request.clone().filter(|_| options.preflight);
    if options.preflight {
        let runs = plan.iter().filter(|planned| planned.decision == Decision::Run).map(|planned| &*planned.scenario);
        let runs = runs.chain(request.as_deref()).chain(canary.as_deref());
        let needed = Permissions::of(runs, &facts.kinds, options.ways());
        let missing = tokio::select! {
            missing = needed.missing(&target.api) => missing,
            () = options.interrupt.triggered() => return Err(RunError::Interrupted),
        };
        preflight.permissions(needed.iter().count(), missing);
        preflight = good(preflight)?;
        match room(target, options).await? {
            Ok(Some(room)) => {
                let crowd = crowd(&plan, options, facts.class.is_some())?;
                preflight.room(room, &crowd, options.jobs);
            }
            Ok(None) => {}
            Err(error) => preflight.room_unread(&error),
        }
        if let Some(count) = served_beside(target, options).await? {
            preflight.neighbours(count, facts.kinds.dialect());
        }
    }
    Ok(Asked { policy, plan, canary, request, preflight })
}

/// For how many Pods the cluster has room, if we may look: no role that a run needs has a word on nodes.
async fn room(target: &Target, options: &RunOptions) -> Result<Result<Option<Room>, ApiError>, RunError> {
    let look = async {
        let may_look = permissions::may_list(&target.api, &[("", "nodes"), ("", "pods")]).await?;
        if may_look { room::look(&target.api).await } else { Ok(None) }
    };
    tokio::select! {
        found = look => Ok(found),
        () = options.interrupt.triggered() => Err(RunError::Interrupted),
    }
}

/// How many of others the controller serves, if we may look, and it can be read.
async fn served_beside(target: &Target, options: &RunOptions) -> Result<Option<usize>, RunError> {
    let facts = &target.facts;
    let (Some(of), Some(class), Some(entry)) = (&facts.class, facts.kinds.class(), facts.kinds.entry()) else {
        return Ok(None);
    };
    let look = async {
        let both = [class, entry].map(|kind| (kind.group.as_str(), kind.plural.as_str()));
        let may_look = permissions::may_list(&target.api, &both).await?;
        if !may_look {
            return Ok(None);
        }
        neighbours::count(&target.api, &of.controller_name, class, entry).await.map(Some)
    };
    tokio::select! {
        found = look => Ok(found.unwrap_or_else(|error: ApiError| {
            tracing::debug!("what else the controller serves cannot be read: {error}");
            None
        })),
        () = options.interrupt.triggered() => Err(RunError::Interrupted),
    }
}

/// How many Pods the run may have there at once. Backends count where they are Pods, and what traffic comes in by where it has a class:
/// elsewhere it is no machine.
fn crowd(plan: &[Planned], options: &RunOptions, has_class: bool) -> Result<Crowd, RunError> {
    let timing = options.timing();
    let (mut jobs, mut executions, times) = (Vec::new(), Vec::new(), options.times());
    for Planned { scenario, .. } in plan.iter().filter(|planned| planned.decision == Decision::Run) {
        let job = Job::of(scenario, shapes(scenario)?, &timing);
        let backends = if options.ways().deployed { scenario.backends.len() } else { 0 };
        executions.push((if has_class { job.own } else { 0 }, backends));
        jobs.push(job);
    }
    // Without a port for it there is no run, which says so itself.
    let pool = pool::layout(&demand(&jobs, times), &options.ports, options.max_gateways).map_or(0, |all| all.len());
    Ok(Crowd::of(if has_class { pool } else { 0 }, &executions, times))
}

/// These answers, unless one is bad.
fn good(preflight: Preflight) -> Result<Preflight, RunError> {
    if preflight.is_good() { Ok(preflight) } else { Err(preflight.into()) }
}

/// The target may do for real what it is asked for.
pub(super) fn unsafe_target(preflight: Preflight, leftovers: Vec<Leftover>) -> RunError {
    RunError::Canary(Box::new(Failed { preflight, leftovers }))
}

/// Tells what is waited for, and nothing else: whoever asks before a run would tell everything twice.
pub(super) struct Waiting<'r>(pub(super) &'r mut dyn Progress);

impl Progress for Waiting<'_> {
    fn waiting(&mut self, what: &str) {
        self.0.waiting(what);
    }
    fn planned(&mut self, _: &[Planned], _: &Facts) {}
    fn started(&mut self, _: &str) {}
    fn finished(&mut self, _: &gateproof_report::record::ScenarioRecord) {}
}
