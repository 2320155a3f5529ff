//! What `gateproof faults --format json` prints. Everything is taken apart field by field, so that nothing new in the matrix
//! goes untold.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::kill::{Complaint, Inversion, Matrix, Row, Survivor};

/// The kill matrix.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MatrixDocument {
    /// One row a fault, by name.
    rows: Vec<RowDocument>,
    /// Number of distinct signatures among narrow faults.
    signatures: usize,
    /// What keeps the matrix from being a proof, sorted.
    complaints: Vec<ComplaintDocument>,
    /// Expectations (`scenario: expectation`) that are the sole first failure under no narrow fault, sorted.
    holes: Vec<String>,
    /// How many expectations there are.
    expectations: usize,
}

/// One fault in the matrix.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RowDocument {
    /// Name of the fault.
    fault: String,
    /// Scenarios that it made fail, with the expectations that failed first.
    kills: BTreeMap<String, Vec<String>>,
    /// Contract rules that it broke.
    contract: Vec<String>,
    /// Whether it makes at most a tenth of the scenarios fail.
    narrow: bool,
}

/// Something that keeps the matrix from being a proof.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ComplaintDocument {
    /// Nothing could be run under the fault.
    NotRun {
        /// The fault.
        fault: String,
        /// Why.
        error: String,
    },
    /// No scenario and no contract rule noticed the fault.
    Unnoticed {
        /// The fault.
        fault: String,
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
    /// A declared clause was no first failure anywhere.
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

/// What inversion came to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InversionDocument {
    /// Values that were negated.
    inverted: usize,
    /// Values whose opposite cannot be said in a manifest.
    without_opposite: usize,
    /// Values that do not bind at this version.
    unbound: usize,
    /// Negated values that did not fail.
    survivors: Vec<SurvivorDocument>,
}

/// A negated value that did not fail.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SurvivorDocument {
    /// The scenario.
    scenario: String,
    /// The expectation.
    expectation: String,
    /// How the scenario ended.
    outcome: String,
    /// Why, as far as it is known.
    why: String,
}

impl From<&Matrix> for MatrixDocument {
    fn from(matrix: &Matrix) -> MatrixDocument {
        let Matrix { rows, signatures, complaints, holes, expectations } = matrix.clone();
        MatrixDocument {
            rows: rows.into_iter().map(RowDocument::from).collect(),
            signatures,
            complaints: complaints.into_iter().map(ComplaintDocument::from).collect(),
            holes,
            expectations,
        }
    }
}

impl From<Row> for RowDocument {
    fn from(Row { fault, kills, contract, narrow }: Row) -> RowDocument {
        RowDocument { fault, kills, contract, narrow }
    }
}

impl From<Complaint> for ComplaintDocument {
    fn from(complaint: Complaint) -> ComplaintDocument {
        match complaint {
            Complaint::NotRun { fault, error } => ComplaintDocument::NotRun { fault, error },
            Complaint::Unnoticed { fault } => ComplaintDocument::Unnoticed { fault },
            Complaint::Undeclared { fault, scenario, expectation, clauses } => {
                ComplaintDocument::Undeclared { fault, scenario, expectation, clauses }
            }
            Complaint::Unproven { fault, clause } => ComplaintDocument::Unproven { fault, clause },
            Complaint::Inconclusive { fault, scenario } => ComplaintDocument::Inconclusive { fault, scenario },
        }
    }
}

impl From<&Inversion> for InversionDocument {
    fn from(inversion: &Inversion) -> InversionDocument {
        let Inversion { inverted, without_opposite, unbound, survivors } = inversion.clone();
        let survivor =
            |Survivor { scenario, expectation, outcome, why }| SurvivorDocument { scenario, expectation, outcome, why };
        InversionDocument {
            inverted,
            without_opposite,
            unbound,
            survivors: survivors.into_iter().map(survivor).collect(),
        }
    }
}
