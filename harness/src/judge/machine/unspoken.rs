//! What has to be said whatever the state, and that no step may have waited for: it gets the time of a settle behind the last step.
//!
//! No step depends on it, so what comes of it is a breach of the contract or nothing, and never a finding. Where everything has
//! been said, as by all who keep to the contract, nothing is waited for.

use super::Judge;
use crate::judge::doing::Doing;
use crate::judge::env::Report;
use crate::judge::settle::Settling;
use crate::log::Elapsed;
use crate::scenario::Settle;

impl Judge {
    /// Begins to wait, if there is anything to wait for.
    pub(super) fn waits_for_the_unspoken(&mut self, now: Elapsed) -> bool {
        let theirs = |key: &_| self.components.iter().any(|(component, _)| component == key);
        let subjects = self.account.contract.unspoken(theirs);
        let Some(last) = self.scenario.steps.last().filter(|_| !subjects.is_empty()) else { return false };
        let Some(env) = self.env_of(last) else { return false };
        let settling =
            Settling::new(vec![(None, Settle { subjects: subjects.clone(), ..Settle::default() })], now, &env);
        // What is read meanwhile belongs to a step.
        self.cursor = last.index;
        self.unspoken = subjects;
        self.doing = Doing::Settling(settling);
        true
    }

    /// It was said, or its time is up. Where nothing can be known of it, nothing is said of it.
    pub(super) fn unspoken_is_over(&mut self, report: &Report) {
        if report.inconclusive.is_none() {
            for awaited in &self.unspoken {
                self.account.contract.settled(&awaited.subject, Some(awaited));
            }
        }
        self.doing = Doing::Done;
    }
}
