//! A target that writes without end: no step could be judged by that, and no run could keep it. It is told so once, and the scenario is over.

use gateproof_report::record::{Finding, Severity};
use serde_json::Value;

use super::Judge;
use crate::judge::answer::plain_miss;
use crate::judge::doing::Doing;
use crate::judge::env::Report;
use crate::judge::others::writers;
use crate::judge::settle::seconds;
use crate::log::{Elapsed, MOST_VERSIONS, ObjectKey};

impl Judge {
    /// A version of an object of the scenario was seen.
    pub(super) fn counts(&mut self, key: &ObjectKey, object: &Value, now: Elapsed) {
        *self.versions.entry(key.clone()).or_default() += 1;
        if self.versions.values().sum::<u32>() < MOST_VERSIONS {
            return;
        }
        let is_under_way = !matches!(self.doing, Doing::Waiting | Doing::Doubting { .. } | Doing::Done);
        if is_under_way && self.unspoken.is_empty() {
            let report = self.flooded(object, now);
            self.take(report);
        }
        // What comes from here on is not even logged.
        self.doing = Doing::Done;
    }

    /// What is to be said of it: it is the target's doing if those who wrote last write statuses.
    fn flooded(&self, object: &Value, now: Elapsed) -> Report {
        let most = self.versions.iter().max_by_key(|(key, count)| (**count, *key));
        let (Some(env), Some((most, count))) = (self.env(), most) else { return Report::default() };
        let expected = format!("objects of the scenario are written less than {MOST_VERSIONS} times");
        let seen =
            format!("{MOST_VERSIONS} versions within {}, {count} of them of {most}", seconds(now - self.started));
        let by: Vec<&str> = writers(object).collect();
        let is_targets = !by.is_empty() && by.iter().all(|name| self.account.others.is_writer_of_statuses(name));
        if !is_targets {
            let by = if by.is_empty() { "nobody known".to_owned() } else { by.join(", ") };
            return Report::inconclusive(format!("{seen}, written by {by}"));
        }
        let seen = format!("{seen}, written by {}", by.join(", "));
        let name = format!("steps[{}].versions", env.step.index);
        let miss = plain_miss(name, expected, seen, Severity::Failure);
        // What the step proves is not about that.
        let finding = Finding { clauses: Vec::new(), ..env.finding(&miss, "observed", false, now) };
        Report { findings: vec![finding], checked: 1, ..Report::default() }
    }
}
