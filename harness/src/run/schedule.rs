//! Which scenario starts next. Pure: it is told what ends and answers what may start.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::coming;
use super::intake::{FIRST, Intake};
use crate::cluster::pool::{Demand, Instance};
use crate::cluster::shape::Shape;
use crate::log::Timing;
use crate::scenario::bind::needs;
use crate::scenario::hosts::takes_any_host;
use crate::scenario::{Answer, HoldFor, Isolation, Probe, Scenario, Verb};

/// What is done without waiting.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The hundreds of requests that a test of shares takes.
const MANY_REQUESTS: Duration = Duration::from_secs(2);

/// How many quiet windows a Gateway of its own takes where each costs a machine. They are let in a few at a time, and whoever begins
/// late with a wrong one has the rest of the run wait for it.
const OWN_GATEWAY: u32 = 11;

/// How many that linger and have no Gateways of their own are spared for each slot.
pub const BESIDE: usize = 3;

/// Of so many slots one is for those who make no Gateways, as long as somebody who does is pending and as many of these may come at once
/// as at first; of more slots where fewer may. All together they would take from each Gateway what it needs to come, and in the end only
/// Gateways would be left to come, a few at a time.
const ASIDE: usize = 4;

/// What every execution of a scenario needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Pool Gateways by alias.
    pub gateways: Arc<[(String, Shape)]>,
    /// How many Gateways it makes.
    pub own: usize,
    /// What it must not share.
    pub isolation: Isolation,
    /// Whether it fills the class that takes one Gateway only, as one job at a time can.
    pub fills: bool,
    /// Whether it serves whatever host is asked for: where Gateways are merged, for everybody.
    pub takes_any_host: bool,
    /// How long it took, or will wait at least; the longest go first.
    pub estimate: Duration,
}

/// An address and port: what data path state is shared by.
type Lane = (String, u16);

/// The start of a job: which one, and on which instances of the pool, by alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Its number.
    pub job: usize,
    /// Alias and index of the instance.
    pub gateways: Vec<(String, usize)>,
}

/// The schedule of a run.
pub struct Schedule {
    jobs: Vec<Job>,
    /// How often each of them is done. They are numbered one after the other, all times of the first before the second.
    times: usize,
    pending: Vec<usize>,
    running: HashMap<usize, Vec<usize>>,
    /// Those of the running that only watch on until nothing else is at work, and whether they were told that it is so.
    resting: BTreeMap<usize, bool>,
    /// Those of the running that wait for nothing but that something wrong changes after all.
    lingering: BTreeSet<usize>,
    instances: Vec<Instance>,
    /// Lanes on which something stays of whoever had them to itself.
    littered: BTreeSet<Lane>,
    slots: usize,
    /// How many Gateways of jobs come or go at once.
    intake: Intake,
    /// Whether a job waits for nothing but that.
    held: bool,
    merged: bool,
    stopped: bool,
}

impl Job {
    /// What a scenario needs.
    pub fn of(scenario: &Scenario, gateways: Vec<(String, Shape)>, timing: &Timing) -> Job {
        let declared = scenario.steps.iter().map(|step| match &step.verb {
            Verb::Settle(_) => timing.quiet,
            Verb::Hold(hold) => match hold.duration {
                HoldFor::Quiet => timing.hold_min,
                HoldFor::Rest => timing.rest_max,
                HoldFor::Millis(millis) => Duration::from_millis(millis),
            },
            Verb::Probe(probe) => probing(probe, timing),
            // Many small waits rather than one: enough to put the busier scenario first.
            Verb::Requests(requests) => match requests.within {
                HoldFor::Millis(millis) => Duration::from_millis(millis),
                HoldFor::Rest => timing.rest_max,
                HoldFor::Quiet if requests.is_bounded_above() => timing.hold_min,
                HoldFor::Quiet => AT_ONCE,
            },
            Verb::Made(_) => timing.quiet,
            Verb::Apply(_) | Verb::Patch(_) | Verb::Delete(_) | Verb::Script(_) => AT_ONCE,
        });
        let needed = needs(scenario);
        let fills = needed.single_class || needed.address;
        let has_hosts = gateways.is_empty() || gateways.iter().any(|(_, shape)| !shape.protocol.is_layer_4());
        let takes_any_host = has_hosts && takes_any_host(scenario);
        let own = coming::own(scenario);
        let coming = if own > 0 { timing.quiet * OWN_GATEWAY } else { Duration::ZERO };
        Job {
            gateways: gateways.into(),
            own,
            isolation: scenario.isolation,
            fills,
            takes_any_host,
            estimate: declared.sum::<Duration>() + coming,
        }
    }

    /// The same, where it is known how long it took the last time. That counts for more than what it declares.
    #[must_use]
    pub fn took(self, last: Option<Duration>) -> Job {
        Job { estimate: last.unwrap_or(self.estimate), ..self }
    }

    /// Whether it has the lanes of its Gateways, or the class that it fills, for itself.
    pub fn is_exclusive(&self) -> bool {
        self.fills
            || self.isolation != Isolation::Shared
            || self.gateways.iter().any(|(_, shape)| shape.protocol.is_layer_4())
    }
}

/// How many want which Gateways of the pool, where each of these jobs is done so many times.
pub fn demand(jobs: &[Job], times: usize) -> BTreeMap<Shape, Demand> {
    let mut demand: BTreeMap<Shape, Demand> = BTreeMap::new();
    for job in jobs {
        for (_, shape) in &*job.gateways {
            let demand = demand.entry(*shape).or_default();
            if job.is_exclusive() {
                // Who has the whole cluster takes one that others had.
                demand.exclusive += if job.isolation == Isolation::Cluster { 0 } else { times };
                demand.at_once = demand.at_once.max(job.gateways.iter().filter(|(_, other)| other == shape).count());
            } else {
                demand.shared += times;
            }
        }
    }
    demand
}

/// How many that linger and have Gateways of their own are spared beside so many slots. Where there is one slot the order is the same
/// every time.
pub fn spared(slots: usize) -> usize {
    if slots > 1 { slots } else { 0 }
}

/// How long a probe takes about: as long as the backend is asked to keep it waiting, for every answer that has to agree.
fn probing(probe: &Probe, timing: &Timing) -> Duration {
    if matches!(probe.answer, Answer::Shares { .. }) {
        return MANY_REQUESTS;
    }
    let answer = probe.path.split_once('?').map(|(_, query)| gateproof_echo::conduct::takes(query));
    let times = if probe.once { probe.each } else { timing.consecutive + 1 };
    answer.unwrap_or_default().saturating_mul(times) + AT_ONCE
}

/// Whether Gateways have addresses of their own, as far as the pool shows: one Gateway alone shows nothing.
fn are_apart(instances: &[Instance]) -> bool {
    let mut known = BTreeSet::new();
    let is_apart = |instance: &Instance| {
        !instance.addresses.is_empty() && instance.addresses.iter().all(|address| known.insert(address.clone()))
    };
    instances.len() > 1 && instances.iter().all(is_apart)
}

impl Schedule {
    /// All jobs pending, each so many times. At most `slots` run at once, with as many Gateways of their own as may come at once; with one
    /// slot they run in a fixed order.
    pub fn new(jobs: Vec<Job>, times: usize, instances: Vec<Instance>, slots: usize, intake: Intake) -> Schedule {
        let merged = !are_apart(&instances);
        let times = times.max(1);
        let mut pending: Vec<usize> = (0..jobs.len() * times).collect();
        // Those that run alone come last, when nothing else is left to wait for them. Everything else is done once before anything is again:
        // what a scenario takes of a target, or of this process, it would take many times at once.
        pending.sort_by_key(|index| {
            let Job { isolation, takes_any_host, estimate, .. } = &jobs[index / times];
            let is_last = (*isolation == Isolation::Cluster, merged && *takes_any_host);
            (is_last, index % times, std::cmp::Reverse(*estimate), *index)
        });
        Schedule {
            jobs,
            times,
            pending,
            running: HashMap::new(),
            resting: BTreeMap::new(),
            lingering: BTreeSet::new(),
            instances,
            littered: BTreeSet::new(),
            slots: slots.max(1),
            intake,
            held: false,
            merged,
            stopped: false,
        }
    }

    fn job(&self, index: usize) -> &Job {
        &self.jobs[index / self.times]
    }

    /// The next job that may start now, if any; it counts as running from here on.
    pub fn start(&mut self) -> Option<Start> {
        self.held = false;
        if self.at_work() >= self.slots {
            return None;
        }
        let aside = self.beside().is_some_and(|most| self.without_own() >= most);
        // Where it is not the intake that keeps Gateways from coming, nobody has to step aside for them.
        self.first(aside).or_else(|| if aside && !self.held { self.first(false) } else { None })
    }

    /// The first of the pending jobs that may start. Without those that make no Gateways, if they are to step aside.
    fn first(&mut self, aside: bool) -> Option<Start> {
        // Lanes that a job further ahead waits for: nobody behind it may keep them busy.
        let mut reserved: BTreeSet<Lane> = BTreeSet::new();
        let mut is_full = false;
        for position in 0..self.pending.len() {
            let index = self.pending[position];
            if self.job(index).isolation == Isolation::Cluster && !(self.running.is_empty() && position == 0) {
                return None;
            }
            // Of those that make Gateways nobody overtakes another, or one with many would never begin.
            let own = self.job(index).own;
            if aside && own == 0 {
                continue;
            }
            is_full |= own > 0 && self.is_counted(index) && !self.intake.admits(own);
            if own > 0 && is_full {
                self.held = true;
                continue;
            }
            if let Some(gateways) = self.place(index, &reserved) {
                self.pending.remove(position);
                self.intake.begins(index, own);
                self.running.insert(index, gateways.iter().map(|(_, instance)| *instance).collect());
                return Some(Start { job: index, gateways });
            }
            reserved.extend(self.wanted(index));
        }
        None
    }

    /// How many Gateways of jobs come or go at once.
    pub fn intake(&mut self) -> &mut Intake {
        &mut self.intake
    }

    /// A job is over and its lanes are clean.
    pub fn finished(&mut self, job: usize) {
        self.running.remove(&job);
        self.resting.remove(&job);
        self.lingering.remove(&job);
    }

    /// Something of a job stays, as the user wants to look at it or as it does not go: nobody has its lanes to himself any more. Takes the
    /// pending jobs away in whose way it is.
    pub fn litters(&mut self, job: usize) -> Vec<usize> {
        if self.job(job).is_exclusive() {
            let instances = self.running.get(&job).cloned().unwrap_or_default();
            let lanes: Vec<Lane> = instances.iter().flat_map(|instance| self.lanes(*instance)).collect();
            self.littered.extend(lanes);
        }
        let brings = |index: usize| self.job(index).is_exclusive() && self.job(index).gateways.is_empty();
        let is_in_the_way = |index: &usize| {
            self.answers_for_all(job)
                || self.job(job).fills && self.job(*index).fills
                || self.merged && brings(job) && brings(*index)
                || !self.has_room(*index)
        };
        let (hopeless, pending) = self.pending.iter().copied().partition(is_in_the_way);
        self.pending = pending;
        hopeless
    }

    /// A job has nothing left to do but to watch until nothing else is at work: it gives up its slot, though not its lanes.
    pub fn rests(&mut self, job: usize) {
        if self.running.contains_key(&job) {
            self.resting.entry(job).or_insert(false);
        }
    }

    /// A job waits for nothing but that something wrong changes after all, or does so no more: it gives up its slot, or has it again,
    /// whoever has it meanwhile. It may wait for its whole budget.
    pub fn lingers(&mut self, job: usize, lingers: bool) {
        if lingers && self.running.contains_key(&job) {
            self.lingering.insert(job);
        } else {
            self.lingering.remove(&job);
        }
    }

    /// How many who make no Gateways may be at work beside those who do; nothing if they need not step aside.
    fn beside(&self) -> Option<usize> {
        let limit = self.intake.limit().filter(|limit| *limit <= FIRST)?;
        let makes_some = |index: &usize| self.job(*index).own > 0 && self.is_counted(*index);
        self.pending.iter().any(makes_some).then(|| (self.slots * limit / (FIRST * ASIDE)).max(1))
    }

    /// How many are at work who make no Gateways.
    fn without_own(&self) -> usize {
        let at_work = |job: &&usize| {
            self.job(**job).own == 0 && !self.resting.contains_key(*job) && !self.lingering.contains(*job)
        };
        self.running.keys().filter(at_work).count()
    }

    /// How many slots are taken. Who only watches on takes nobody's. Who lingers leaves its own to another: of those whose Gateways
    /// stand meanwhile as many as there are slots, and several times as many of the others, for whom nothing stands.
    fn at_work(&self) -> usize {
        let lingering = self.lingering.iter().filter(|job| !self.resting.contains_key(job));
        let burdens: Vec<bool> = lingering.map(|job| self.job(*job).own > 0).collect();
        let with_own = burdens.iter().filter(|burden| **burden).count();
        let others = burdens.len() - with_own;
        let spared = spared(self.slots);
        self.running.len() - self.resting.len() - with_own.min(spared) - others.min(spared * BESIDE)
    }

    /// The jobs that are to be told that nothing else is at work. To be asked when nothing more may start: what waits for their lanes
    /// waits for them alone then.
    pub fn rested(&mut self) -> Vec<usize> {
        if self.running.len() > self.resting.len() || self.held {
            return Vec::new();
        }
        let untold = self.resting.iter_mut().filter(|(_, told)| !**told);
        let tell = |(job, told): (&usize, &mut bool)| {
            *told = true;
            *job
        };
        untold.map(tell).collect()
    }

    /// How many jobs only watch on, and were not told yet that nothing else is at work.
    pub fn resting(&self) -> usize {
        self.resting.values().map(|told| usize::from(!told)).sum()
    }

    /// Takes every pending job away; nothing more will start.
    pub fn stop(&mut self) -> Vec<usize> {
        self.stopped = true;
        std::mem::take(&mut self.pending)
    }

    /// Whether nothing runs and nothing is pending.
    pub fn is_done(&self) -> bool {
        self.running.is_empty() && self.pending.is_empty()
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The pool.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Whether the Gateways of a job may be too many: where jobs run one after the other, or alone, none are in each other's way.
    fn is_counted(&self, index: usize) -> bool {
        self.slots > 1 && self.job(index).isolation != Isolation::Cluster
    }

    /// Free instances for every Gateway of a job, if there are.
    fn place(&self, index: usize, reserved: &BTreeSet<Lane>) -> Option<Vec<(String, usize)>> {
        let job = self.job(index);
        let exclusive = job.is_exclusive();
        if exclusive && job.gateways.is_empty() && self.merged && self.is_own_gateway_running() {
            return None;
        }
        if self.answers_for_all(index) && !self.running.is_empty()
            || self.running.keys().any(|running| self.answers_for_all(*running))
        {
            return None;
        }
        if job.fills && self.running.keys().any(|running| self.job(*running).fills) {
            return None;
        }
        let mut placed: Vec<(String, usize)> = Vec::new();
        for (alias, shape) in &*job.gateways {
            let free = self.instances.iter().enumerate().find(|(candidate, instance)| {
                let lanes = self.lanes(*candidate);
                instance.shape == *shape
                    && instance.exclusive == exclusive
                    && (!exclusive || placed.iter().all(|(_, taken)| taken != candidate))
                    && lanes.iter().all(|lane| !reserved.contains(lane) && self.is_free(lane, exclusive))
            });
            placed.push((alias.clone(), free?.0));
        }
        Some(placed)
    }

    /// Whether a job has instances for its Gateways once nothing else runs.
    fn has_room(&self, index: usize) -> bool {
        let job = self.job(index);
        let exclusive = job.is_exclusive();
        let is_left = |(candidate, instance): &(usize, &Instance), shape: &Shape| {
            instance.shape == *shape
                && instance.exclusive == exclusive
                && self.lanes(*candidate).iter().all(|lane| self.is_clean(lane, exclusive))
        };
        job.gateways.iter().all(|(_, shape)| {
            let left = self.instances.iter().enumerate().filter(|one| is_left(one, shape)).count();
            let wanted = job.gateways.iter().filter(|(_, other)| other == shape).count();
            left >= if exclusive { wanted } else { 1 }
        })
    }

    /// Whether a lane can be had: by one job alone, or together with others who share.
    fn is_free(&self, lane: &Lane, exclusive: bool) -> bool {
        self.is_clean(lane, exclusive)
            && self.running.iter().all(|(running, instances)| {
                let shares = !exclusive && !self.job(*running).is_exclusive();
                shares || instances.iter().all(|instance| !self.lanes(*instance).contains(lane))
            })
    }

    /// Whether nothing on a lane is in the way. Who shares one with others asks for hosts of his own.
    fn is_clean(&self, lane: &Lane, exclusive: bool) -> bool {
        !exclusive || !self.littered.contains(lane)
    }

    /// On targets that merge Gateways, those that scenarios bring themselves share lanes nobody can foresee.
    fn is_own_gateway_running(&self) -> bool {
        self.running.keys().any(|running| self.job(*running).is_exclusive() && self.job(*running).gateways.is_empty())
    }

    /// Whether a job has the lanes of its Gateways, or the class that it fills, for itself.
    pub fn is_exclusive(&self, index: usize) -> bool {
        self.job(index).is_exclusive()
    }

    /// Whether what a job serves answers for the hosts of all others too.
    pub fn answers_for_all(&self, index: usize) -> bool {
        self.merged && self.job(index).takes_any_host
    }

    /// Every lane that a job could use.
    fn wanted(&self, index: usize) -> Vec<Lane> {
        let job = self.job(index);
        let wanted = |instance: &Instance| {
            instance.exclusive == job.is_exclusive() && job.gateways.iter().any(|(_, shape)| *shape == instance.shape)
        };
        let candidates = self.instances.iter().enumerate().filter(|(_, instance)| wanted(instance));
        candidates.flat_map(|(candidate, _)| self.lanes(candidate)).collect()
    }

    /// The lanes of an instance. One whose address is unknown has a lane of its own, named after it.
    fn lanes(&self, index: usize) -> Vec<Lane> {
        let instance = &self.instances[index];
        if instance.addresses.is_empty() {
            return vec![(instance.name.to_string(), instance.port)];
        }
        instance.addresses.iter().map(|address| (address.clone(), instance.port)).collect()
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
