//! What a set of runs under faults proves. Pure.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_report::record::{Outcome, RunRecord, Severity};
use gateproof_suites::{Level, requirement};
use schemars::JsonSchema;
use serde::Serialize;

use super::trial::Proof;

/// A fault makes at most one scenario in this many fail, or it is not narrow.
const NARROW: usize = 10;

/// What one fault made of the scenarios that were run against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultRun {
    /// Name of the fault.
    pub fault: String,
    /// Clauses that it declares to break.
    pub clauses: BTreeSet<String>,
    /// Every scenario that was run.
    pub scenarios: Vec<ScenarioRun>,
    /// Contract rules that were broken, with their clauses.
    pub contract: BTreeMap<String, BTreeSet<String>>,
    /// Why nothing could be run against it.
    pub error: Option<String>,
}

/// How one scenario ended under a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioRun {
    /// Name of the scenario.
    pub scenario: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Findings that are not a consequence of an earlier one. Warnings are left out, unless the fault deserves no more.
    pub first: Vec<FirstFailure>,
}

/// A first failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FirstFailure {
    /// The expectation.
    pub expectation: String,
    /// Clauses that it carries.
    pub clauses: BTreeSet<String>,
}

impl FaultRun {
    /// What a record of a run under a fault says.
    pub fn of(fault: &str, clauses: &[&str], record: &RunRecord) -> FaultRun {
        let weakest = weakest(clauses);
        let scenarios = record
            .scenarios
            .iter()
            .filter(|s| !matches!(s.outcome, Outcome::Skipped | Outcome::NotSupported))
            .map(|s| ScenarioRun {
                scenario: s.name.clone(),
                outcome: s.outcome,
                first: s
                    .findings
                    .iter()
                    .filter(|f| !f.consequence && (f.severity == Severity::Failure || f.severity == weakest))
                    .map(|f| FirstFailure {
                        expectation: f.expectation.clone(),
                        clauses: f.clauses.iter().cloned().collect(),
                    })
                    .collect(),
            })
            .collect();
        let contract = record
            .contract
            .iter()
            .filter(|rule| {
                (rule.severity == Severity::Failure || rule.severity == weakest) && !rule.breaches.is_empty()
            })
            .map(|rule| (rule.name.clone(), rule.clauses.iter().cloned().collect()))
            .collect();
        FaultRun { scenarios, contract, ..FaultRun::before(fault, clauses) }
    }

    /// A fault that nothing was run under yet.
    pub fn before(fault: &str, clauses: &[&str]) -> FaultRun {
        FaultRun {
            fault: fault.to_owned(),
            clauses: clauses.iter().map(|c| (*c).to_owned()).collect(),
            scenarios: Vec::new(),
            contract: BTreeMap::new(),
            error: None,
        }
    }

    /// A fault under which nothing can be run.
    pub fn broken(fault: &str, clauses: &[&str], error: &dyn std::error::Error) -> FaultRun {
        FaultRun { error: Some(error.to_string()), ..FaultRun::before(fault, clauses) }
    }

    /// Whether the scenario was inconclusive.
    pub fn is_inconclusive(&self, scenario: &str) -> bool {
        self.scenarios.iter().any(|s| s.scenario == scenario && s.outcome == Outcome::Inconclusive)
    }

    /// Whether no scenario was inconclusive.
    pub fn is_conclusive(&self) -> bool {
        self.scenarios.iter().all(|s| s.outcome != Outcome::Inconclusive)
    }

    /// Puts the results of another run of some of the scenarios in place of the earlier ones.
    pub fn amend(&mut self, later: FaultRun) {
        self.scenarios.retain(|s| !later.scenarios.iter().any(|again| again.scenario == s.scenario));
        self.scenarios.extend(later.scenarios);
        self.contract.extend(later.contract);
    }

    /// The scenarios that noticed the fault.
    pub fn kills(&self) -> impl Iterator<Item = &ScenarioRun> {
        self.scenarios.iter().filter(|s| match s.outcome {
            Outcome::Failed | Outcome::Late => true,
            Outcome::Passed => !s.first.is_empty(),
            _ => false,
        })
    }

    /// The declared clauses that no first failure carries.
    pub fn unproven(&self) -> impl Iterator<Item = &String> {
        let seen = self.seen_clauses();
        self.clauses.iter().filter(move |clause| !seen.contains(clause))
    }

    /// A scenario that noticed the fault for this clause.
    pub fn shown_by(&self, clause: &str) -> Option<&str> {
        let shows = |one: &&ScenarioRun| one.first.iter().any(|first| first.clauses.contains(clause));
        self.kills().find(shows).map(|one| one.scenario.as_str())
    }

    fn seen_clauses(&self) -> BTreeSet<&String> {
        let scenarios = self.kills().flat_map(|s| &s.first).flat_map(|f| &f.clauses);
        scenarios.chain(self.contract.values().flatten()).collect()
    }
}

/// The weakest finding that a fault against these clauses must earn: who strays only from what should be is warned of.
fn weakest(clauses: &[&str]) -> Severity {
    let is_should = |clause: &&str| requirement(clause).is_some_and(|it| it.level == Level::Should);
    if clauses.iter().all(is_should) { Severity::Warning } else { Severity::Failure }
}

/// One fault in the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Name of the fault.
    pub fault: String,
    /// Scenarios that it made fail (or warn, if it strays only from what should be), with the expectations that failed first.
    pub kills: BTreeMap<String, Vec<String>>,
    /// Contract rules that it broke.
    pub contract: Vec<String>,
    /// Whether it makes at most a tenth of the scenarios fail.
    pub narrow: bool,
}

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

impl Complaint {
    /// Whether it still stands after a second look, given those of the first: only what was missed then was looked for.
    pub fn stands(&self, first: &[Complaint]) -> bool {
        match self {
            Complaint::Unnoticed { .. } | Complaint::Unproven { .. } => first.contains(self),
            Complaint::NotRun { .. } | Complaint::Undeclared { .. } | Complaint::Inconclusive { .. } => true,
        }
    }

    /// The fault that it is about.
    pub fn fault(&self) -> &str {
        match self {
            Complaint::NotRun { fault, .. }
            | Complaint::Unnoticed { fault }
            | Complaint::Undeclared { fault, .. }
            | Complaint::Unproven { fault, .. }
            | Complaint::Inconclusive { fault, .. } => fault,
        }
    }
}

/// The whole matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Matrix {
    /// One row a fault, by name.
    pub rows: Vec<Row>,
    /// Number of distinct signatures among narrow faults.
    pub signatures: usize,
    /// What keeps the matrix from being a proof, sorted.
    pub complaints: Vec<Complaint>,
    /// Expectations (`scenario: expectation`) that are the sole first failure under no narrow fault, named or pinpoint,
    /// sorted.
    pub holes: Vec<String>,
    /// How many are the sole failure under a pinpoint fault only; nothing if none of those was run.
    pub pinpointed: Option<usize>,
    /// How many expectations there are.
    pub expectations: usize,
}

impl Matrix {
    /// The matrix of `runs`; `expectations` are all binding ones of all scenarios, by scenario.
    pub fn of(runs: &[FaultRun], expectations: &BTreeMap<String, BTreeSet<String>>) -> Matrix {
        let mut complaints = BTreeSet::new();
        let mut rows = Vec::new();
        let mut signatures = BTreeSet::new();
        let mut sole = BTreeSet::new();
        for run in runs {
            complain(run, &mut complaints);
            let row = row(run, expectations.len());
            if row.narrow {
                signatures.insert((row.kills.clone(), row.contract.clone()));
                sole.extend(
                    row.kills
                        .iter()
                        .filter(|(_, first)| first.len() == 1)
                        .map(|(scenario, first)| format!("{scenario}: {}", first[0])),
                );
            }
            rows.push(row);
        }
        rows.sort_by(|a, b| a.fault.cmp(&b.fault));
        let every = expectations.iter().flat_map(|(s, ids)| ids.iter().map(move |id| format!("{s}: {id}")));
        let holes: Vec<String> = every.clone().filter(|e| !sole.contains(e)).collect();
        Matrix {
            rows,
            signatures: signatures.len(),
            complaints: complaints.into_iter().collect(),
            expectations: every.count(),
            holes,
            pinpointed: None,
        }
    }

    /// Closes the holes that pinpoint faults for all of them have closed.
    pub fn pinpointed(&mut self, proof: &Proof) {
        let before = self.holes.len();
        self.holes = proof.survivors.iter().map(|one| format!("{}: {}", one.scenario, one.expectation)).collect();
        self.pinpointed = Some(before - self.holes.len());
    }
}

fn row(run: &FaultRun, scenarios: usize) -> Row {
    let kills: BTreeMap<String, Vec<String>> =
        run.kills().map(|s| (s.scenario.clone(), s.first.iter().map(|f| f.expectation.clone()).collect())).collect();
    let narrow = kills.len() <= share_of(scenarios) && (!kills.is_empty() || !run.contract.is_empty());
    Row { fault: run.fault.clone(), kills, contract: run.contract.keys().cloned().collect(), narrow }
}

/// How many of `scenarios` a narrow fault may make fail: a tenth, but at least one.
pub fn share_of(scenarios: usize) -> usize {
    (scenarios / NARROW).max(1)
}

fn complain(run: &FaultRun, complaints: &mut BTreeSet<Complaint>) {
    let fault = || run.fault.clone();
    if let Some(error) = &run.error {
        complaints.insert(Complaint::NotRun { fault: fault(), error: error.clone() });
        return;
    }
    if run.kills().next().is_none() && run.contract.is_empty() {
        complaints.insert(Complaint::Unnoticed { fault: fault() });
    }
    for killed in run.kills() {
        for first in killed.first.iter().filter(|f| f.clauses.is_disjoint(&run.clauses)) {
            complaints.insert(Complaint::Undeclared {
                fault: fault(),
                scenario: killed.scenario.clone(),
                expectation: first.expectation.clone(),
                clauses: first.clauses.clone(),
            });
        }
    }
    for (rule, clauses) in run.contract.iter().filter(|(_, clauses)| clauses.is_disjoint(&run.clauses)) {
        complaints.insert(Complaint::Undeclared {
            fault: fault(),
            scenario: String::new(),
            expectation: rule.clone(),
            clauses: clauses.clone(),
        });
    }
    for scenario in run.scenarios.iter().filter(|s| s.outcome == Outcome::Inconclusive) {
        complaints.insert(Complaint::Inconclusive { fault: fault(), scenario: scenario.scenario.clone() });
    }
    for clause in run.unproven() {
        complaints.insert(Complaint::Unproven { fault: fault(), clause: clause.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::Survivor;
    use super::*;

    fn set(items: &[&str]) -> BTreeSet<String> {
        items.iter().map(|i| (*i).to_owned()).collect()
    }

    /// An expectation with its clauses.
    type First<'t> = (&'t str, &'t [&'t str]);

    fn run(clauses: &[&str], failing: &[(&str, &[First<'_>])]) -> FaultRun {
        FaultRun {
            fault: "f".to_owned(),
            clauses: set(clauses),
            scenarios: failing
                .iter()
                .map(|(scenario, first)| ScenarioRun {
                    scenario: (*scenario).to_owned(),
                    outcome: if first.is_empty() { Outcome::Passed } else { Outcome::Failed },
                    first: first
                        .iter()
                        .map(|(e, c)| FirstFailure { expectation: (*e).to_owned(), clauses: set(c) })
                        .collect(),
                })
                .collect(),
            contract: BTreeMap::new(),
            error: None,
        }
    }

    fn expectations() -> BTreeMap<String, BTreeSet<String>> {
        BTreeMap::from([("a".to_owned(), set(&["a.1", "a.2"])), ("b".to_owned(), set(&["b.1"]))])
    }

    #[test]
    fn a_fault_that_nobody_notices_is_a_complaint() {
        let matrix = Matrix::of(&[run(&["X"], &[("a", &[])])], &expectations());
        let unnoticed = Complaint::Unnoticed { fault: "f".to_owned() };
        let unproven = Complaint::Unproven { fault: "f".to_owned(), clause: "X".to_owned() };
        assert_eq!(matrix.complaints, [unnoticed, unproven.clone()]);
        // A second look that notices nothing at all has not proven the clause that the first missed.
        assert!(matrix.complaints.iter().any(|complaint| complaint.stands(std::slice::from_ref(&unproven))));
        assert_eq!(matrix.holes.len(), 3);
    }

    #[test]
    fn only_a_fault_against_what_should_be_is_noticed_by_a_warning() {
        assert_eq!(weakest(&["IMPL-31"]), Severity::Warning);
        assert_eq!(weakest(&["IMPL-32"]), Severity::Failure);
        assert_eq!(weakest(&["IMPL-31", "IMPL-32"]), Severity::Failure);
        assert_eq!(weakest(&["upstream:GatewayModifyListeners"]), Severity::Failure);
        let mut warned = run(&["IMPL-31"], &[("a", &[("a.1", &["IMPL-31"])])]);
        warned.scenarios[0].outcome = Outcome::Passed;
        assert_eq!(warned.kills().count(), 1);
    }

    #[test]
    fn a_failure_for_another_reason_than_declared_is_a_complaint() {
        let matrix = Matrix::of(&[run(&["X"], &[("a", &[("a.1", &["Y"])])])], &expectations());
        let undeclared = Complaint::Undeclared {
            fault: "f".to_owned(),
            scenario: "a".to_owned(),
            expectation: "a.1".to_owned(),
            clauses: set(&["Y"]),
        };
        let unproven = Complaint::Unproven { fault: "f".to_owned(), clause: "X".to_owned() };
        assert_eq!(matrix.complaints, [undeclared, unproven]);
    }

    #[test]
    fn a_second_run_replaces_what_was_inconclusive() {
        let mut first = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
        first.scenarios[1].outcome = Outcome::Inconclusive;
        assert!(first.is_inconclusive("b") && !first.is_inconclusive("a"));
        first.amend(run(&["X"], &[("b", &[("b.1", &["X"])])]));
        assert_eq!(first.kills().map(|s| s.scenario.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let matrix = Matrix::of(&[first], &expectations());
        assert_eq!(matrix.complaints, []);
    }

    #[test]
    fn only_the_sole_first_failure_of_a_narrow_fault_closes_a_hole() {
        let sole = run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])]);
        let double = run(&["X"], &[("a", &[("a.1", &["X"]), ("a.2", &["X"])]), ("b", &[])]);
        let broad = run(&["X"], &[("a", &[("a.2", &["X"])]), ("b", &[("b.1", &["X"])])]);
        let matrix = Matrix::of(&[sole, double, broad], &expectations());
        assert_eq!(matrix.complaints, []);
        assert_eq!(matrix.holes, ["a: a.2", "b: b.1"]);
        assert_eq!(matrix.signatures, 2);
    }

    #[test]
    fn a_pinpoint_fault_closes_a_hole_unless_the_expectation_survives() {
        let mut matrix = Matrix::of(&[run(&["X"], &[("a", &[("a.1", &["X"])]), ("b", &[])])], &expectations());
        let survivor = Survivor {
            scenario: "b".to_owned(),
            expectation: "b.1".to_owned(),
            outcome: "passed".to_owned(),
            why: String::new(),
        };
        matrix.pinpointed(&Proof { tried: 2, survivors: vec![survivor], ..Proof::default() });
        assert_eq!((matrix.holes, matrix.pinpointed), (vec!["b: b.1".to_owned()], Some(1)));
    }
}
