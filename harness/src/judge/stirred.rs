//! What may explain that a data path does not stay as it was: nobody promises that changes come without a hitch.

use std::time::Duration;

use super::deadline::TOLERATED;
use crate::dialects::Dialect;
use crate::log::{Body, Change, Elapsed, Event, Scope, Timing};

/// When something last happened that the data path of a scenario may be busy with.
#[derive(Debug, Clone, Default)]
pub(super) struct Stirred {
    /// A change of the scenario's own.
    own: Option<Elapsed>,
    /// Something at a Gateway that others use too, whose routes show there when they come and go, or anywhere by somebody else; or the
    /// harness was late.
    others: Option<Elapsed>,
    /// Since when the run writes nothing, if it does not for the step that is under way.
    quiet: Option<Elapsed>,
}

impl Stirred {
    /// Takes in an event.
    pub(super) fn observe(&mut self, event: &Event, dialect: &Dialect) {
        match (&event.body, &event.scope) {
            (Body::Wrote(_) | Body::Made(_), Scope::Scenario(_)) => self.own = Some(event.at),
            // What has a status of the dialect changes by that too; Services, slices and Secrets change on their own.
            (Body::Observed { key, change, .. }, Scope::Scenario(_))
                if *change == Change::Deleted || !dialect.has_group(&key.group) =>
            {
                self.own = Some(event.at);
            }
            (Body::Observed { .. } | Body::Made(_), Scope::Pool(_)) | (Body::Stirred { .. }, _) => {
                self.others = Some(event.at)
            }
            // What was late may be so because of that.
            (Body::Lagged { by }, _) if Duration::from_micros(*by) > TOLERATED => self.others = Some(event.at),
            _ => {}
        }
    }

    /// Takes in what happened elsewhere.
    pub(super) fn join(&mut self, other: &Stirred) {
        self.own = self.own.max(other.own);
        self.others = self.others.max(other.others);
    }

    /// A step begins, and the run may write.
    pub(super) fn step(&mut self) {
        self.quiet = None;
    }

    /// The run writes nothing since this time.
    pub(super) fn quiesced(&mut self, since: Elapsed) {
        self.quiet = Some(since);
    }

    /// Whether the run writes nothing.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.is_some()
    }

    /// Whether nothing of the scenario's own changed since.
    pub(super) fn is_unchanged(&self, since: Elapsed) -> bool {
        self.own.is_none_or(|own| own <= since)
    }

    /// Whether the scenario's own last change is older than the data path may take to converge.
    pub(super) fn is_converged(&self, at: Elapsed, timing: &Timing) -> bool {
        self.own.is_none_or(|own| own + timing.converge <= at)
    }

    /// Whether nothing else that the data path may be busy with was seen for a while before.
    pub(super) fn is_calm(&self, at: Elapsed, timing: &Timing) -> bool {
        self.others.is_none_or(|others| others + timing.calm <= at)
    }

    /// From when on the data path is at rest, if nothing else happens: a change of its own it may take up as long as it may take
    /// to converge.
    pub(super) fn rest(&self, timing: &Timing) -> Elapsed {
        let own = self.own.map(|at| at + timing.converge);
        let others = self.others.max(self.quiet).map(|at| at + timing.calm);
        own.max(others).unwrap_or(Elapsed(0))
    }
}
