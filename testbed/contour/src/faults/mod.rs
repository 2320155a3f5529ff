//! Named misbehaviours, by what they get wrong.

mod access;
mod design;
mod graph;
mod history;
mod included;
mod matching;
mod serving;
mod silence;
mod upstream;
mod words;

use serde_json::Value;

use crate::reconcile::{Host, HostRoute, Outcome};
use crate::seam::Fault;
use crate::status::{Sub, Verdict};

/// Every fault, by the file that it stands in.
pub const FAULTS: &[&[Fault]] = &[
    silence::FAULTS,
    words::FAULTS,
    graph::FAULTS,
    included::FAULTS,
    matching::FAULTS,
    serving::FAULTS,
    upstream::FAULTS,
    access::FAULTS,
    history::FAULTS,
    design::FAULTS,
];

/// A fault in what should be.
macro_rules! edit {
    ($name:literal, $summary:literal, [$($clause:literal),*], $edit:expr) => {
        crate::seam::Fault {
            name: $name,
            summary: $summary,
            clauses: &[$($clause),*],
            seam: crate::seam::Seam::Outcome(|| Box::new($edit)),
        }
    };
}

/// A fault in how a status reads when it is written.
macro_rules! write_status {
    ($name:literal, $summary:literal, [$($clause:literal),*], $write:expr) => {
        crate::seam::Fault {
            name: $name,
            summary: $summary,
            clauses: &[$($clause),*],
            seam: crate::seam::Seam::Write(|| Box::new($write)),
        }
    };
}

/// A fault in what the reconciler gets to see.
macro_rules! view {
    ($name:literal, $summary:literal, [$($clause:literal),*], $view:expr) => {
        crate::seam::Fault {
            name: $name,
            summary: $summary,
            clauses: &[$($clause),*],
            seam: crate::seam::Seam::Snapshot(|| Box::new($view)),
        }
    };
}

pub(crate) use {edit, view, write_status};

/// Tells nothing of some errors.
fn forget(outcome: &mut Outcome, is_meant: impl Fn(&Sub) -> bool) {
    outcome.verdicts.values_mut().for_each(|verdict| verdict.errors.retain(|error| !is_meant(error)));
}

/// The same of a reason.
fn forget_reason(outcome: &mut Outcome, reason: &str) {
    forget(outcome, |error| error.reason == reason);
}

/// Every verdict of an HTTPProxy.
fn verdicts(outcome: &mut Outcome) -> impl Iterator<Item = &mut Verdict> {
    outcome.verdicts.values_mut().filter(|verdict| verdict.served.is_some())
}

/// Every route that is served.
fn routes(outcome: &mut Outcome) -> impl Iterator<Item = &mut HostRoute> {
    outcome.hosts.iter_mut().flat_map(|host: &mut Host| &mut host.routes)
}

/// The condition Valid of a status.
pub(crate) fn valid(status: &mut Value) -> Option<&mut Value> {
    status["conditions"].as_array_mut()?.iter_mut().find(|condition| condition["type"] == "Valid")
}
