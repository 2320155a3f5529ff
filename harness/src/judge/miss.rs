//! What was not as expected, and how much that weighs.

use gateproof_report::record::Severity;

use crate::dialects::Implied;
use crate::scenario::{Clause, Level};

/// Something that was not as expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    /// Name of the expectation.
    pub expectation: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was seen, in words.
    pub seen: String,
    /// How binding.
    pub severity: Severity,
    /// Clauses beside the step's.
    pub clauses: Vec<Clause>,
    /// What is demanded that no manifest says, if it is that; its clauses come in, too.
    pub implied: Option<Implied>,
    /// Line of the manifest; 0 for the step's.
    pub line: usize,
    /// Whether the controller has not spoken of this generation yet.
    pub stale: bool,
    /// Whether the harness has not seen enough: not the target's fault.
    pub blind: bool,
}

/// A miss of a step, with no clauses but its own.
pub(super) fn plain_miss(expectation: String, expected: String, seen: String, severity: Severity) -> Miss {
    let clauses = Vec::new();
    Miss { expectation, expected, seen, severity, clauses, implied: None, line: 0, stale: false, blind: false }
}

/// How much it weighs to miss what is so binding.
pub(super) fn severity(level: Level) -> Severity {
    match level {
        Level::Must => Severity::Failure,
        Level::Should => Severity::Warning,
        Level::May => Severity::Note,
    }
}
