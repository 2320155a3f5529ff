//! What a judge is doing at a step.

use gateproof_report::record::ProbeRecord;

use super::admission::Writing;
use super::hold::Holding;
use super::made::Listing;
use super::probe::Probing;
use super::programmed::Programming;
use super::service::{Counting, Marking, Scripting};
use super::settle::Settling;
use super::shares::Sharing;
use crate::dialects::Dialect;
use crate::log::Elapsed;

#[derive(Debug, Clone)]
pub(super) enum Doing {
    /// `ScenarioStarted` has not been seen.
    Waiting,
    Writing(Writing),
    Settling(Settling),
    Holding(Holding),
    /// The Gateway of a probe is waited for.
    Programming(Programming),
    Probing(Box<Probing>),
    Sharing(Box<Sharing>),
    /// Before a step begins, it is noted where the logs of services stand.
    Marking(Marking),
    Scripting(Scripting),
    Counting(Box<Counting>),
    /// It is asked what is carried by the objects that a target made.
    Listing(Box<Listing>),
    /// Something failed. What others did may be seen later than what came of it, so they get a quiet window.
    Doubting {
        until: Elapsed,
        /// How many findings there were before.
        findings: usize,
    },
    Done,
}

impl Doing {
    /// Whether it waits for changes of objects of this kind.
    pub(super) fn waits_for(&self, kind: &str, dialect: &Dialect) -> bool {
        match self {
            Doing::Writing(writing) => writing.objects().any(|object| object.kind == kind),
            Doing::Settling(settling) => settling.objects().any(|object| object.kind == kind),
            Doing::Programming(_) => dialect.is_entry(kind),
            Doing::Waiting
            | Doing::Holding(_)
            | Doing::Probing(_)
            | Doing::Sharing(_)
            | Doing::Marking(_)
            | Doing::Scripting(_)
            | Doing::Counting(_)
            | Doing::Listing(_)
            | Doing::Doubting { .. }
            | Doing::Done => false,
        }
    }

    /// Whether it only watches on until everything else of the run has come to its end.
    pub(super) fn rests(&self) -> bool {
        match self {
            Doing::Holding(holding) => holding.rests(),
            Doing::Counting(counting) => counting.rests(),
            _ => false,
        }
    }

    /// Since when it waits for nothing but that a wrong status or a wrong answer changes after all, and that has not.
    pub(super) fn stands(&self) -> Option<Elapsed> {
        match self {
            Doing::Settling(settling) => settling.stands(),
            Doing::Programming(programming) => programming.stands(),
            Doing::Probing(probing) => probing.stands(),
            Doing::Sharing(sharing) => sharing.stands(),
            _ => None,
        }
    }

    /// What came of the attempts of a probe.
    pub(super) fn answers(&self, step: usize) -> Option<ProbeRecord> {
        match self {
            Doing::Probing(probing) => Some(probing.record(step)),
            Doing::Sharing(sharing) => Some(sharing.answers(step)),
            _ => None,
        }
    }
}
