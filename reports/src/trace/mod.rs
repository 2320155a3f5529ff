//! A run as a trace for Perfetto and Chrome: lanes of scenarios that ran one after the other, and in each of them steps, stages,
//! waits, writes, what objects did, and probes.
//!
//! The log says when things ended; how long a stage took stands in the record. So a stage begins where its step had written what it
//! writes, and is as long as the record says.

mod events;
mod lanes;

use std::collections::BTreeMap;

use crate::record::Stage;

pub use events::json;

/// Microseconds since the run began.
pub type Micros = u64;

/// What happened at one time or over one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A write was answered.
    Wrote,
    /// An object changed.
    Changed,
    /// An attempt on the data path, from its begin on.
    Probed,
    /// The scenario waited for another run.
    Waited,
    /// The harness was late, the API server out of reach, or a watch closed.
    Hindered,
    /// Anything else that belongs to a step.
    Other,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// What.
    pub what: What,
    /// The step, from 0, if it belongs to one.
    pub step: Option<usize>,
    /// In a few words.
    pub name: String,
    /// When it began; the same as the end for what has no length.
    pub from: Micros,
    /// When it ended.
    pub to: Micros,
    /// More about it, in order of name.
    pub more: BTreeMap<&'static str, String>,
}

impl Happening {
    /// The same by a clock that began so much earlier.
    #[must_use]
    pub fn later(self, by: Micros) -> Happening {
        Happening { from: self.from.saturating_add(by), to: self.to.saturating_add(by), ..self }
    }

    /// Whether it is shown beside the steps, with its length.
    fn is_beside(&self) -> bool {
        matches!(self.what, What::Probed | What::Waited | What::Hindered)
    }
}

/// An execution of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Execution {
    /// Its name, with `#2` and up for repeats.
    pub name: String,
    /// How it ended.
    pub outcome: String,
    /// Its first event.
    pub from: Micros,
    /// Its last.
    pub to: Micros,
    /// How long its stages took, in their order.
    pub stages: Vec<Stage>,
    /// What happened, in order of the log.
    pub happenings: Vec<Happening>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// What was tested.
    pub target: String,
    /// When it began, RFC 3339.
    pub date: String,
    /// Who tested.
    pub producer: String,
    /// Executions, in order of their begin.
    pub executions: Vec<Execution>,
    /// What concerns no scenario alone, in order of the log.
    pub happenings: Vec<Happening>,
}
