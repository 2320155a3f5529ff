//! Where a step begins.

use std::sync::Arc;

use super::Judge;
use crate::judge::admission::Writing;
use crate::judge::doing::Doing;
use crate::judge::env::{Env, Report};
use crate::judge::hold::Holding;
use crate::judge::made::Listing;
use crate::judge::probe::{Before, Probing, host, is_backends, place};
use crate::judge::programmed::{Known, Programming, Standing, standing};
use crate::judge::service::{Counting, Marking, Scripting, unanswered};
use crate::judge::settle::Settling;
use crate::judge::shares::Sharing;
use crate::log::Elapsed;
use crate::scenario::{Answer, MadeFor, ObjectRef, Probe, Requests, Step, Verb};

impl Judge {
    /// Starts the step at the cursor, past those that have no meaning at the target's version, or belong to another end of a write
    /// than it came to.
    pub(super) fn begin(&mut self, now: Elapsed) {
        let scenario = Arc::clone(&self.scenario);
        while scenario.steps.get(self.cursor).is_some_and(|step| !self.is_done(step)) {
            self.cursor += 1;
        }
        if self.cursor >= scenario.steps.len() && self.waits_for_the_unspoken(now) {
            return;
        }
        self.account.stirred.step();
        match self.env().as_ref().and_then(Marking::of) {
            Some(marking) => self.doing = Doing::Marking(marking),
            None => self.begin_step(now),
        }
    }

    /// Whether a step is one of those that are done, as far as the writes have come to their ends.
    fn is_done(&self, step: &Step) -> bool {
        step.bounds.admits(self.context.basis) && step.within.is_none_or(|branch| self.taken.contains(&branch))
    }

    /// Starts the step at the cursor itself.
    pub(super) fn begin_step(&mut self, now: Elapsed) {
        let mut known = None;
        let doing = match self.env() {
            None => Doing::Done,
            Some(env) => match &env.step.verb {
                Verb::Settle(settle) => Doing::Settling(Settling::new(vec![(None, settle.clone())], now, &env)),
                Verb::Hold(hold) => Doing::Holding(Holding::new(hold.clone(), now, &env)),
                Verb::Probe(probe) => {
                    known = self.known(probe, &env);
                    let before = self.programmed.get(&probe.target.gateway);
                    match Programming::of(probe, before, now, &env) {
                        Some(programming) => Doing::Programming(programming),
                        None => self.probing(probe, now, &env),
                    }
                }
                Verb::Script(script) => Doing::Scripting(Scripting::new(script.clone())),
                Verb::Requests(requests) => {
                    let from = env.scenario.counts_from(env.step.index, requests.since, |step| self.is_done(step));
                    let from = self.marks.get(&(from, requests.service.clone())).copied().unwrap_or(1);
                    Doing::Counting(Box::new(Counting::new(Requests::clone(requests), from, now, &env)))
                }
                Verb::Made(made) => Doing::Listing(Box::new(Listing::new(MadeFor::clone(made), now, &env))),
                verb => Writing::of(verb, now, &env).map_or(Doing::Done, Doing::Writing),
            },
        };
        self.doing = doing;
        self.programmed.extend(known);
    }

    /// A service said where its log stands before the step at the cursor.
    pub(super) fn marked(&mut self, service: &str, next: u64, error: Option<&str>, now: Elapsed) {
        let Doing::Marking(marking) = &mut self.doing else { return };
        let all = marking.marked(service);
        if let Some(error) = error {
            let why = self.env().map(|env| unanswered(service, error, &env)).unwrap_or_default();
            return self.over(Report::inconclusive(why), now);
        }
        self.marks.insert((self.cursor, service.to_owned()), next);
        if all {
            self.begin_step(now);
        }
    }

    /// When the very same was answered as it must be, if nothing changed since.
    fn agreed_before(&self, probe: &Probe) -> Option<Elapsed> {
        let is_same =
            |step: usize| matches!(&self.scenario.steps[step].verb, Verb::Probe(before) if **before == *probe);
        let (_, at) = self.agreed.iter().rev().find(|(step, _)| is_same(*step))?;
        self.account.stirred.is_unchanged(*at).then_some(*at)
    }

    /// Where a backend answered before a probe.
    fn before(&self, probe: &Probe, env: &Env<'_>) -> Before {
        let answered = |step: usize| match &self.scenario.steps[step].verb {
            Verb::Probe(before) => Some(&**before).filter(|before| self.answered.contains(&place(before, env))),
            _ => None,
        };
        let last = env.step.index.checked_sub(1).and_then(answered);
        if last.is_some_and(|last| is_backends(last) && host(last, env) == host(probe, env)) {
            return Before::Host;
        }
        let is_there = |before: &Probe| before.target.gateway == probe.target.gateway;
        let there = self.agreed.iter().any(|(step, _)| answered(*step).is_some_and(is_there));
        if there { Before::Gateway } else { Before::Nowhere }
    }

    pub(super) fn probing(&self, probe: &Probe, now: Elapsed, env: &Env<'_>) -> Doing {
        match &probe.answer {
            Answer::Shares { parts, margin } => {
                Doing::Sharing(Box::new(Sharing::new(Probe::clone(probe), parts.clone(), *margin, now, env)))
            }
            _ => {
                let probing = Probing::new(Probe::clone(probe), self.agreed_before(probe), now, env);
                let turned = self.answered.contains(&place(probe, env));
                let probing = if turned { probing.turned() } else { probing };
                Doing::Probing(Box::new(probing.after(self.before(probe, env))))
            }
        }
    }

    /// The Gateway of a probe, if it is seen to be programmed.
    pub(super) fn known(&self, probe: &Probe, env: &Env<'_>) -> Option<(ObjectRef, Known)> {
        let gateway = &probe.target.gateway;
        match standing(gateway, self.programmed.get(gateway), env) {
            Standing::Ready(known) => Some((gateway.clone(), known?)),
            Standing::Waiting(..) | Standing::Unseen => None,
        }
    }
}
