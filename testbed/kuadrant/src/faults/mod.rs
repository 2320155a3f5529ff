//! Named ways to misbehave, each in one seam.

use std::sync::LazyLock;

use crate::object::{Kind, Snapshot};
use crate::reconcile::{Outcome, reconcile};
use crate::seam::Fault;
use crate::settings::Settings;
use crate::status::{Change, Condition};

/// Changes the conditions of every policy of the kinds.
fn conditions(outcome: &mut Outcome, mut change: impl FnMut(Kind, &mut Vec<Condition>)) {
    for update in &mut outcome.statuses {
        if Kind::POLICIES.contains(&update.key.0)
            && let Change::Own { conditions, .. } = &mut update.change
        {
            change(update.key.0, conditions);
        }
    }
}

/// Changes one condition of every policy that has it.
fn each(outcome: &mut Outcome, r#type: &str, change: impl Fn(Kind, &mut Condition)) {
    conditions(outcome, |kind, all| {
        all.iter_mut().filter(|one| one.r#type == r#type).for_each(|one| change(kind, one));
    });
}

/// Says that a condition is good whatever it was, if it had that reason.
fn good(outcome: &mut Outcome, r#type: &str, reason: &str, only: Option<Kind>) {
    each(outcome, r#type, |kind, one| {
        if one.status == "False" && one.reason == reason && only.is_none_or(|only| only == kind) {
            *one = Condition::new(r#type, true, r#type, "in order");
        }
    });
}

/// Takes the statuses of another view of the cluster, and leaves the rest.
fn statuses_of(snapshot: &Snapshot, settings: &Settings, outcome: &mut Outcome, change: impl FnOnce(&mut Snapshot)) {
    let mut other = snapshot.clone();
    change(&mut other);
    outcome.statuses = reconcile(&other, settings).statuses;
}

/// Gives conditions another reason.
fn rename(outcome: &mut Outcome, r#type: &str, from: &'static str, to: &'static str) {
    each(outcome, r#type, |_, one| {
        if one.reason == from {
            one.reason = to.to_owned();
        }
    });
}

macro_rules! edit {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault {
            name: $name,
            summary: $summary,
            clauses: &$clauses,
            seam: Seam::Outcome(|| {
                let body: fn(&Snapshot, &Settings, &mut Outcome) = $body;
                Box::new(body) as Edit
            }),
        }
    };
}

macro_rules! view {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault {
            name: $name,
            summary: $summary,
            clauses: &$clauses,
            seam: Seam::Snapshot(|| {
                let body: fn(&mut Snapshot) = $body;
                Box::new(body) as View
            }),
        }
    };
}

macro_rules! write {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault {
            name: $name,
            summary: $summary,
            clauses: &$clauses,
            seam: Seam::Write(|| {
                let body: fn(&Value, &mut Value) = $body;
                Box::new(body)
            }),
        }
    };
}

macro_rules! alter {
    ($name:literal, $summary:literal, $clauses:expr, $body:expr) => {
        Fault { name: $name, summary: $summary, clauses: &$clauses, seam: Seam::Exchange(|| Arc::new($body)) }
    };
}

#[cfg(test)]
mod cases;
mod design;
#[cfg(test)]
mod design_tests;
mod gate;
mod history;
mod operator;
mod precedence;
mod statuses;
mod targets;
#[cfg(test)]
mod tests;
mod waits;
mod writes;

/// Every fault.
pub static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let statuses = [statuses::FAULTS, waits::FAULTS, precedence::FAULTS, targets::FAULTS, design::FAULTS];
    [
        statuses.concat(),
        gate::FAULTS.to_vec(),
        writes::FAULTS.to_vec(),
        history::FAULTS.to_vec(),
        operator::FAULTS.to_vec(),
    ]
    .concat()
});
