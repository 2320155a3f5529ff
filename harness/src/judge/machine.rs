//! The cursor over a scenario's steps.
//!
//! A scenario stops at its first binding miss: what comes after it would be asked of a state that is not the one that
//! the manifest describes. A miss that only came late does not stop it, since the state is the right one. Whatever
//! else is found after the first failure (other misses of the same step) is marked as its consequence.

mod after;
pub mod awaits;
mod begin;
mod flood;
mod unspoken;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::{Breach, Finding, ProbeRecord, Stage};

use flood::Versions;

use super::account::Account;
use super::action::{Context, Next};
use super::contract::{ContractState, Watched};
use super::deadline::Deadline;
use super::doing::Doing;
use super::doubt::Doubt;
use super::env::{Env, Report, millis, wait};
use super::others::Foreign;
use super::programmed::Known;
use super::service::unanswered;
use super::settle::OPTIONAL_WINDOWS;
use super::verdict::{CameOut, Evidence, ShareRecord, Verdict, outcome};
use crate::log::{Bindings, Body, Elapsed, Ended, Event, ObjectKey, Scope, Write};
use crate::scenario::{Branch, ObjectRef, Scenario, Step, SubjectExpectation, Verb};

/// The judge of one execution of a scenario: a state machine that events alone move.
#[derive(Debug, Clone)]
pub struct Judge {
    scenario: Arc<Scenario>,
    context: Context,
    bindings: Bindings,
    account: Account,
    started: Elapsed,
    ended: Option<Ended>,
    cursor: usize,
    doing: Doing,
    findings: Vec<Finding>,
    stages: Vec<Stage>,
    shares: Vec<ShareRecord>,
    probes: Vec<ProbeRecord>,
    came_out: Vec<CameOut>,
    checked: u64,
    inconclusive: Option<String>,
    slowest: Duration,
    /// The longest that a step waited for what came.
    longest: Duration,
    answered: HashSet<String>,
    /// Probes that were answered as they must be: the step, and when.
    agreed: Vec<(usize, Elapsed)>,
    /// The Gateways that are known to be programmed.
    programmed: HashMap<ObjectRef, Known>,
    /// Objects whose status is another component's, and from where in the log on.
    components: Vec<(ObjectKey, u64)>,
    /// Where the logs of services stood when steps began.
    marks: HashMap<(usize, String), u64>,
    /// The ends that writes came to.
    taken: Vec<Branch>,
    /// What is waited for behind the last step: conditions that have to be there whatever the state, and are not yet.
    unspoken: Vec<SubjectExpectation>,
    /// When everything else of the run had come to its end, if that was told.
    rested: Option<Elapsed>,
    /// How many versions of its objects were seen.
    versions: Versions,
}

impl Judge {
    /// A judge for one execution of a bound scenario.
    pub fn new(scenario: Arc<Scenario>, context: Context) -> Judge {
        let contract = ContractState::new(context.contract.clone(), context.basis, context.controller_name.clone())
            .limits(&context.timing);
        let mut account = Account::new(&scenario.dialect, contract);
        account.others.beside(&scenario.made);
        Judge {
            scenario,
            context,
            bindings: Bindings::default(),
            account,
            started: Elapsed(0),
            ended: None,
            cursor: 0,
            doing: Doing::Waiting,
            findings: Vec::new(),
            stages: Vec::new(),
            shares: Vec::new(),
            probes: Vec::new(),
            came_out: Vec::new(),
            checked: 0,
            inconclusive: None,
            slowest: Duration::ZERO,
            longest: Duration::ZERO,
            answered: HashSet::new(),
            agreed: Vec::new(),
            programmed: HashMap::new(),
            components: Vec::new(),
            marks: HashMap::new(),
            taken: Vec::new(),
            unspoken: Vec::new(),
            rested: None,
            versions: Versions::default(),
        }
    }

    /// It begins where that stands which it shares with others.
    #[must_use]
    pub fn behind(mut self, before: &Account) -> Judge {
        self.account.join(before);
        self
    }

    /// Takes in an event: every one of the scenario's scope, of the run's and of the pool Gateways that it is bound to, in the order
    /// of the log, from where it began.
    pub fn observe(&mut self, event: &Event) {
        let now = event.at;
        match event.body {
            Body::Lagged { by } => {
                let by = Duration::from_micros(by);
                // Of an attempt, it is part of what the whole run knows of.
                let of_attempt = matches!(event.scope, Scope::Scenario(_));
                if let Some(deadline) = self.deadline() {
                    if of_attempt { deadline.lag(by) } else { deadline.starved(by) }
                }
                match &mut self.doing {
                    Doing::Probing(probing) if of_attempt => probing.lag(by),
                    Doing::Holding(holding) if !of_attempt => holding.starved(by),
                    _ => {}
                }
            }
            Body::Sighted { ref kind, by, .. } if self.doing.waits_for(kind, &self.scenario.dialect) => {
                if let Some(deadline) = self.deadline() {
                    deadline.unseen(Duration::from_micros(by), now);
                }
            }
            Body::Waited { by } => {
                if let Some(deadline) = self.deadline() {
                    deadline.waited(Duration::from_micros(by));
                }
            }
            Body::Unreachable { by } => {
                if let Some(deadline) = self.deadline() {
                    deadline.away(Duration::from_micros(by));
                }
                if let Doing::Holding(holding) = &mut self.doing {
                    holding.away(now);
                }
            }
            _ => {}
        }
        // Limits that passed before the event count before it.
        self.poll(now);
        self.account.observe(event);
        let own = matches!(event.scope, Scope::Scenario(_));
        match &event.body {
            Body::ScenarioStarted(bindings) => {
                self.bindings = (**bindings).clone();
                self.started = now;
                self.account.others.begin(bindings);
                self.begin(now);
            }
            Body::ScenarioEnded(ended) => self.end(ended),
            Body::Rested if own => self.rested = self.rested.or(Some(now)),
            Body::Observed { .. } | Body::Gap { .. } | Body::Sighted { .. } => self.changed(now),
            Body::Looked { step, found, error } if own && *step == self.cursor => {
                self.answer(|doubt, env| doubt.looked(found, error.as_deref(), now, env));
            }
            Body::Renewed { step, error } if own && *step == self.cursor => {
                self.answer(|doubt, _| doubt.renewed(error.as_deref()));
            }
            Body::Quiesced { step, since } if own && *step == self.cursor => {
                if let Some(since) = since {
                    self.account.stirred.quiesced(*since);
                }
                self.drive(now, |doing, env| match doing {
                    Doing::Probing(probing) => probing.quiesced(since.is_some(), env),
                    Doing::Sharing(sharing) => sharing.quiesced(since.is_some(), env),
                    _ => None,
                });
            }
            Body::Marked { step, service, next, error } if own && *step == self.cursor => {
                self.marked(service, *next, error.as_deref(), now);
            }
            Body::Scripted { step, error, .. } if own && *step == self.cursor => {
                self.drive(now, |doing, env| match doing {
                    Doing::Scripting(scripting) => Some(scripting.scripted(error.as_deref(), env)),
                    _ => None,
                });
            }
            Body::Requested { step, service, asked, requests, next, error } if own && *step == self.cursor => {
                self.drive(now, |doing, env| match (doing, error) {
                    (Doing::Counting(_), Some(error)) => Some(Report::inconclusive(unanswered(service, error, env))),
                    (Doing::Counting(counting), None) => counting.read(*asked, requests, *next, now, env),
                    _ => None,
                });
            }
            Body::Listed { step, asked, found, error } if own && *step == self.cursor => {
                self.drive(now, |doing, env| match doing {
                    Doing::Listing(listing) => listing.listed(*asked, found, error.as_deref(), now, env),
                    _ => None,
                });
            }
            Body::Wrote(write) if own && write.step == self.cursor => {
                self.played(write, event.seq);
                if let Some((mut doing, env)) = self.split() {
                    let after = match &mut doing {
                        Doing::Writing(writing) => writing.wrote(write, now, &env),
                        _ => None,
                    };
                    self.doing = doing;
                    self.after_writes(after, now);
                }
            }
            Body::Probed { step, role, exchange, .. } if own && *step == self.cursor => {
                self.drive(now, |doing, env| match doing {
                    Doing::Probing(probing) => probing.probed(*role, exchange, now, env),
                    Doing::Sharing(sharing) => sharing.probed(exchange, now, env),
                    _ => None,
                });
            }
            Body::Journal { step, entries } if own && *step == self.cursor => {
                self.drive(now, |doing, env| match doing {
                    Doing::Probing(probing) => probing.journal(entries, now, env),
                    Doing::Sharing(sharing) => sharing.journal(entries, now, env),
                    _ => None,
                });
            }
            _ => {}
        }
        match &event.body {
            Body::Observed { key, object, .. } if own => self.counts(key, object, now),
            Body::Wrote(write) | Body::Made(write) if own => self.versions.wrote(write),
            _ => {}
        }
        // A step may be over at once, and the next one too.
        let mut before = None;
        while before != Some(self.cursor) {
            before = Some(self.cursor);
            self.poll(now);
        }
        // What a write under way explains is known when it is answered.
        if !matches!(self.doing, Doing::Waiting | Doing::Writing(_) | Doing::Done) {
            for foreign in self.account.others.interference() {
                self.interfered(&foreign);
            }
        }
    }

    /// Somebody did something to an object that only the run should change: if it was the target, that is a breach of its own,
    /// and otherwise nothing can be said of what depends on it.
    fn interfered(&mut self, foreign: &Foreign) {
        if self.account.others.is_targets(foreign)
            && self.account.contract.touched(&foreign.key, &foreign.what, foreign.seq, &self.bindings.scenario)
        {
            return;
        }
        if self.account.contract.steps_back(&foreign.key) {
            return;
        }
        if let Doing::Doubting { findings, .. } = self.doing {
            self.findings.truncate(findings);
        }
        self.account.contract.disturbed(foreign.seq);
        if !self.unspoken.is_empty() {
            // The steps are over, and what comes of this concerns none of them.
            self.doing = Doing::Done;
            return;
        }
        let after = millis(foreign.at.max(self.started) - self.started);
        let by = if foreign.by.is_empty() { "nobody known".to_owned() } else { foreign.by.join(", ") };
        self.inconclusive = Some(format!("{} was {} by {by}, seen after {after} ms", foreign.key, foreign.what));
        self.doing = Doing::Done;
    }

    /// What the run has to do. The same question gets the same answer until an event was observed, so it is to be
    /// asked again only after every action's event was.
    pub fn next(&self, now: Elapsed) -> Next {
        let Some(env) = self.env() else {
            return match self.doing {
                Doing::Waiting => Next::Wait { until: None },
                _ => Next::Finished,
            };
        };
        match &self.doing {
            Doing::Waiting => Next::Wait { until: None },
            Doing::Writing(writing) => writing.next(now, &env),
            Doing::Settling(settling) => settling.next(now, &env),
            Doing::Holding(holding) => holding.next(&env),
            Doing::Programming(programming) => programming.next(now, &env),
            Doing::Probing(probing) => probing.next(now, &env),
            Doing::Sharing(sharing) => sharing.next(now, &env),
            Doing::Marking(marking) => marking.next(&env),
            Doing::Scripting(scripting) => scripting.next(&env),
            Doing::Counting(counting) => counting.next(now, &env),
            Doing::Listing(listing) => listing.next(&env),
            Doing::Doubting { until, .. } => wait(*until),
            Doing::Done => Next::Finished,
        }
    }

    /// The verdict, once `ScenarioEnded` was observed. Before, it is inconclusive unless something failed already.
    pub fn verdict(&self) -> Verdict {
        let open_step = match self.doing {
            Doing::Waiting => Some(self.cursor),
            _ => self.step(),
        };
        let (outcome, reason) = outcome(&Evidence {
            findings: &self.findings,
            ended: self.ended.as_ref(),
            inconclusive: self.inconclusive.as_deref(),
            open_step,
            checked: self.checked,
        });
        Verdict {
            outcome,
            reason,
            findings: self.findings.clone(),
            stages: self.stages.clone(),
            shares: self.shares.clone(),
            probes: self.probes.clone(),
            came_out: self.came_out.clone(),
            checked: self.checked,
            contract: self.breaches(),
            contract_watched: self.watched(),
            slowest_settle: self.slowest,
        }
    }

    fn watched(&self) -> Watched {
        let namespaces = &self.bindings.namespaces;
        Watched::of(self.account.contract.watched(), |of| namespaces.values().any(|own| own == of))
    }

    /// The scenario wrote a status in the name of another component.
    fn played(&mut self, write: &Write, seq: u64) {
        let plays = |step: &Step| matches!(&step.verb, Verb::Patch(patch) if patch.component);
        if self.scenario.steps.get(write.step).is_some_and(plays) {
            self.components.push((write.key.clone(), seq));
        }
    }

    /// What breaks the contract, but for statuses that are not the target's.
    fn breaches(&self) -> Vec<(String, Breach)> {
        let mut breaches = self.account.contract.breaches();
        breaches.retain(|(_, breach)| {
            let is_of = |key: &ObjectKey| key.to_string() == breach.object;
            !self.components.iter().any(|(key, since)| breach.seq >= *since && breach.path != "spec" && is_of(key))
        });
        breaches
    }

    /// The step that it is at; none before the start and after the end.
    pub fn step(&self) -> Option<usize> {
        match self.doing {
            Doing::Waiting | Doing::Doubting { .. } | Doing::Done => None,
            _ if !self.unspoken.is_empty() => None,
            _ => Some(self.cursor),
        }
    }

    /// Whether it only watches on until everything else of the run has come to its end, which it has yet to be told.
    pub fn rests(&self) -> bool {
        self.rested.is_none() && self.doing.rests()
    }

    /// From when on, as far as is known, it waits for nothing but that something wrong changes after all. Of a target that takes long
    /// what stands still for less than that may be on its way; for half the budget of a route nothing is.
    pub fn lingers(&self) -> Option<Elapsed> {
        let timing = &self.context.timing;
        let slowest = self.slowest.max(self.context.slowest_settle).min(timing.route / 2);
        Some(self.doing.stands()? + slowest.max(timing.quiet * OPTIONAL_WINDOWS))
    }

    fn deadline(&mut self) -> Option<&mut Deadline> {
        match &mut self.doing {
            Doing::Writing(writing) => Some(writing.deadline()),
            Doing::Settling(settling) => Some(settling.deadline()),
            Doing::Programming(programming) => Some(programming.deadline()),
            Doing::Probing(probing) => Some(probing.deadline()),
            Doing::Sharing(sharing) => Some(sharing.deadline()),
            Doing::Counting(counting) => Some(counting.deadline()),
            Doing::Listing(listing) => Some(listing.deadline()),
            Doing::Marking(_) | Doing::Scripting(_) => None,
            Doing::Waiting | Doing::Holding(_) | Doing::Doubting { .. } | Doing::Done => None,
        }
    }

    fn env(&self) -> Option<Env<'_>> {
        self.env_of(self.scenario.steps.get(self.cursor)?)
    }

    fn env_of<'a>(&'a self, step: &'a Step) -> Option<Env<'a>> {
        if matches!(self.doing, Doing::Done) {
            return None;
        }
        Some(Env {
            context: &self.context,
            scenario: &self.scenario,
            bindings: &self.bindings,
            history: &self.account.history,
            stirred: &self.account.stirred,
            step,
            started: self.started,
            rested: self.rested,
            slowest_settle: self.slowest.max(self.context.slowest_settle),
            longest: self.longest,
        })
    }

    /// What is being done, to be changed and put back, beside all else, to be read.
    fn split(&mut self) -> Option<(Doing, Env<'_>)> {
        self.env()?;
        let doing = std::mem::replace(&mut self.doing, Doing::Waiting);
        Some((doing, self.env()?))
    }

    fn drive(&mut self, now: Elapsed, ask: impl FnOnce(&mut Doing, &Env<'_>) -> Option<Report>) {
        let Some((mut doing, env)) = self.split() else { return };
        let report = ask(&mut doing, &env);
        self.doing = doing;
        if let Some(report) = report {
            self.over(report, now);
        }
    }

    fn answer(&mut self, tell: impl FnOnce(&mut Doubt, &Env<'_>)) {
        let Some((mut doing, env)) = self.split() else { return };
        match &mut doing {
            Doing::Writing(writing) => tell(writing.doubt(), &env),
            Doing::Settling(settling) => tell(settling.doubt(), &env),
            Doing::Holding(holding) => tell(holding.doubt(), &env),
            Doing::Programming(programming) => tell(programming.doubt(), &env),
            _ => {}
        }
        self.doing = doing;
    }

    fn changed(&mut self, now: Elapsed) {
        self.drive(now, |doing, env| {
            match doing {
                Doing::Settling(settling) => settling.changed(now, env),
                Doing::Holding(holding) => holding.changed(now, env),
                Doing::Programming(programming) => programming.changed(now, env),
                _ => {}
            }
            None
        });
    }

    fn poll(&mut self, now: Elapsed) {
        if let Doing::Doubting { until, .. } = self.doing {
            if now >= until {
                self.doing = Doing::Done;
            }
            return;
        }
        if let Doing::Writing(_) = self.doing {
            let Some((mut doing, env)) = self.split() else { return };
            let after = match &mut doing {
                Doing::Writing(writing) => writing.poll(now, &env),
                _ => None,
            };
            self.doing = doing;
            self.after_writes(after, now);
            return;
        }
        if let Doing::Programming(_) = self.doing {
            let Some((mut doing, env)) = self.split() else { return };
            let report = match &mut doing {
                Doing::Programming(programming) => programming.poll(now, &env),
                _ => None,
            };
            self.doing = doing;
            match report {
                Some(report) => self.after_programming(report, now),
                None => return,
            }
        }
        self.drive(now, |doing, env| match doing {
            Doing::Settling(settling) => settling.poll(now, env),
            Doing::Holding(holding) => holding.poll(now, env),
            Doing::Probing(probing) => probing.poll(now, env),
            Doing::Sharing(sharing) => sharing.poll(now, env),
            Doing::Marking(_) | Doing::Scripting(_) | Doing::Counting(_) | Doing::Listing(_) => None,
            Doing::Waiting | Doing::Writing(_) | Doing::Programming(_) | Doing::Doubting { .. } | Doing::Done => None,
        });
    }
}
