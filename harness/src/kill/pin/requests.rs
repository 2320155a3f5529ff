//! Requests that a scripted service seems to have got, or not.

use std::sync::Arc;

use gateproof_testbed::LogTamper;
use jiff::SignedDuration;

use super::OTHER;
use crate::scenario::expectations::Requested;
use crate::scenario::pattern::matches;
use crate::scenario::{Basis, Requests, Scenario};

/// How far apart requests seem to be that are to be near each other.
const FAR: SignedDuration = SignedDuration::from_hours(1);

/// What the log of a scripted service says otherwise.
pub struct LogPin {
    method: Option<String>,
    path: Option<String>,
    wrong: Wrong,
}

enum Wrong {
    /// The requests that are asked for are not there.
    Missing,
    /// So many are there that nobody sent.
    Added(u64),
    /// They are so far apart.
    Apart(SignedDuration),
    /// Their bodies have something else at this place.
    Altered(String),
}

impl LogPin {
    /// What makes an expectation of requests fail.
    pub fn of(requests: &Requests, part: Requested) -> Option<LogPin> {
        let wrong = match part {
            Requested::Count if requests.at_least > 0 => Wrong::Missing,
            Requested::Count => Wrong::Added(requests.at_most? + 1),
            Requested::Gap if requests.gap.at_least.is_some() => Wrong::Apart(SignedDuration::ZERO),
            Requested::Gap => Wrong::Apart(FAR),
            Requested::Body(at) => Wrong::Altered(requests.body.get(at)?.pointer.clone()),
        };
        Some(LogPin { method: requests.method.clone(), path: requests.path.clone(), wrong })
    }

    /// The step from which on the log has to be wrong for the expectation of requests at a step.
    pub fn step(&self, scenario: &Scenario, index: usize, requests: &Requests) -> usize {
        match self.wrong {
            // What is told otherwise was so from the beginning, and another expectation may have looked at it before.
            Wrong::Added(_) | Wrong::Altered(_) => index,
            // Dialects with scripted services have no releases.
            Wrong::Missing | Wrong::Apart(_) => {
                scenario.counts_from(index, requests.since, |step| step.bounds.admits(Basis::default()))
            }
        }
    }

    /// Whether other scenarios' requests are none of those that are meant.
    pub fn is_own(requests: &Requests) -> bool {
        requests.path.as_ref().is_some_and(|path| path.contains("${"))
    }

    /// Makes the log wrong.
    pub fn put(self, log: &LogTamper) {
        let LogPin { method, path, wrong } = self;
        if let Wrong::Added(count) = wrong {
            let path = path.map_or_else(|| format!("/{OTHER}"), |path| path.replace('*', OTHER));
            let method = method.as_deref().unwrap_or("GET");
            (0..count).for_each(|_| log.add(method, &path));
            return;
        }
        let fits = move |of: &str, at: &str| {
            method.as_deref().is_none_or(|method| method == of) && path.as_ref().is_none_or(|path| matches(path, at))
        };
        match wrong {
            Wrong::Apart(apart) => log.pace(Arc::new(fits), apart),
            Wrong::Altered(pointer) => log.alter(Arc::new(fits), &pointer),
            Wrong::Missing | Wrong::Added(_) => log.hide(Arc::new(fits)),
        }
    }
}
