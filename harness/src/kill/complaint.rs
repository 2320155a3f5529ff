//! What keeps the matrix from being a proof.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Something that keeps the matrix from being a proof.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Complaint {
    /// Nothing could be run under the fault.
    NotRun {
        /// The fault.
        fault: String,
        /// Why.
        error: String,
    },
    /// No expectation is said to show the fault.
    Unlisted {
        /// The fault.
        fault: String,
    },
    /// An expectation that is said to show the fault was not among those that failed first in its scenario.
    Unshown {
        /// The fault.
        fault: String,
        /// The scenario.
        scenario: String,
        /// The expectation.
        expectation: String,
        /// What was seen of the scenario instead.
        instead: String,
    },
    /// A first failure carries none of the clauses that the fault declares.
    Undeclared {
        /// The fault.
        fault: String,
        /// The scenario.
        scenario: String,
        /// The expectation.
        expectation: String,
        /// The clauses that it carries.
        clauses: BTreeSet<String>,
    },
    /// None of the scenarios that were named notices a fault that was named.
    Unnoticed {
        /// The fault.
        fault: String,
    },
    /// A declared clause is carried by none of the expectations that are said to show the fault, and did.
    Unproven {
        /// The fault.
        fault: String,
        /// The clause.
        clause: String,
    },
    /// A scenario was inconclusive under a fault that does not say so.
    Inconclusive {
        /// The fault.
        fault: String,
        /// The scenario.
        scenario: String,
    },
}

impl Complaint {
    /// The fault that it is about.
    pub fn fault(&self) -> &str {
        match self {
            Complaint::NotRun { fault, .. }
            | Complaint::Unlisted { fault }
            | Complaint::Unshown { fault, .. }
            | Complaint::Undeclared { fault, .. }
            | Complaint::Unnoticed { fault }
            | Complaint::Unproven { fault, .. }
            | Complaint::Inconclusive { fault, .. } => fault,
        }
    }

    /// The scenario that it is about.
    pub fn scenario(&self) -> Option<&str> {
        match self {
            Complaint::Unshown { scenario, .. }
            | Complaint::Undeclared { scenario, .. }
            | Complaint::Inconclusive { scenario, .. } => Some(scenario),
            Complaint::NotRun { .. }
            | Complaint::Unlisted { .. }
            | Complaint::Unnoticed { .. }
            | Complaint::Unproven { .. } => None,
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Complaint::NotRun { fault, error } => write!(f, "{fault}: nothing could be run: {error}"),
            Complaint::Unlisted { fault } => write!(f, "{fault}: no expectation is named that shows it"),
            Complaint::Unshown { fault, scenario, expectation, instead } => {
                write!(f, "{fault}: {scenario} {expectation} should fail first: {instead}")
            }
            Complaint::Undeclared { fault, scenario, expectation, clauses } => {
                let clauses: Vec<&str> = clauses.iter().map(String::as_str).collect();
                let clauses = clauses.join(", ");
                write!(f, "{fault}: {scenario} {expectation} fails for {clauses}, which it does not declare")
            }
            Complaint::Unnoticed { fault } => write!(f, "{fault}: none of the scenarios that are named notices it"),
            Complaint::Unproven { fault, clause } => {
                write!(f, "{fault}: declares {clause}, which nothing failed for that is named to show it")
            }
            Complaint::Inconclusive { fault, scenario } => write!(f, "{fault}: {scenario} was inconclusive"),
        }
    }
}
