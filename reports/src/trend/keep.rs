//! Which runs of a series are kept, by the rules that the user chooses.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::Run;

/// The rules. A run is kept if one of them keeps it; without any, all are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    /// So many of the newest.
    pub newest: Option<usize>,
    /// Those that are no older than so many days.
    pub days: Option<u32>,
}

/// What became of a run, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Its place.
    pub place: String,
    /// When it began.
    pub date: String,
}

impl Keep {
    /// Whether there is any rule.
    pub fn is_given(&self) -> bool {
        self.newest.is_some() || self.days.is_some()
    }

    /// The runs that no rule keeps, of a series with the oldest first. The last one stays, and so does the last green one, which others are compared
    /// with; of one whose date cannot be read nobody knows that it is old.
    pub fn prunable(&self, runs: &[Run], now: Timestamp) -> Vec<Pruned> {
        if !self.is_given() {
            return Vec::new();
        }
        let green = runs.iter().rposition(Run::is_green);
        let is_new = |index: usize| self.newest.is_some_and(|newest| runs.len() - index <= newest.max(1));
        let is_young = |run: &Run| {
            let (Some(days), Ok(date)) = (self.days, run.date.parse::<Timestamp>()) else { return self.days.is_some() };
            now.duration_since(date) <= SignedDuration::from_hours(24 * i64::from(days))
        };
        let is_kept =
            |index: usize, run: &Run| is_new(index) || is_young(run) || index + 1 == runs.len() || green == Some(index);
        let old = runs.iter().enumerate().filter(|(index, run)| !is_kept(*index, run));
        old.map(|(_, run)| Pruned { place: run.place.clone(), date: run.date.clone() }).collect()
    }
}
