//! What a set of runs under faults proves. Pure.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_report::record::{Finding, Outcome, RunRecord, ScenarioRecord, Severity};
use gateproof_suites::{Level, Requirement};
use schemars::JsonSchema;
use serde::Serialize;

use super::complaint::Complaint;
use super::shown_by::{Showing, ShownBy};
use super::trial::Proof;
use crate::scenario::pattern::matches;

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
    /// Contract rules that were broken.
    pub contract: BTreeMap<String, BrokenRule>,
    /// Why nothing could be run against it.
    pub error: Option<String>,
}

/// A contract rule that was broken under a fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokenRule {
    /// Clauses that it carries.
    pub clauses: BTreeSet<String>,
    /// The scenarios whose objects it was broken by; an empty name stands for the run's own.
    pub scenarios: BTreeSet<String>,
}

/// How one scenario ended under a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioRun {
    /// Name of the scenario.
    pub scenario: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Findings that are not a consequence of an earlier one. Warnings are left out, unless the fault deserves no more, or no more
    /// for the clause that they carry.
    pub first: Vec<FirstFailure>,
    /// Those, and what failed in the same step as one of them: which of these comes first may be a matter of time.
    pub beside: Vec<FirstFailure>,
}

/// A first failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FirstFailure {
    /// The expectation.
    pub expectation: String,
    /// Clauses that it carries.
    pub clauses: BTreeSet<String>,
}

impl ScenarioRun {
    fn of(record: &ScenarioRecord, clauses: &[&str], requirements: &[Requirement]) -> ScenarioRun {
        let weakest = weakest(clauses, requirements);
        let is_own = |c: &String| clauses.contains(&c.as_str()) && is_should(c, requirements);
        let is_warned_of = |f: &Finding| f.severity == Severity::Warning && f.clauses.iter().any(is_own);
        let is_grave = |f: &Finding| f.severity == Severity::Failure || f.severity == weakest || is_warned_of(f);
        let grave = record.findings.iter().filter(|f| is_grave(f));
        let firsts: Vec<&Finding> = grave.clone().filter(|f| !f.consequence).collect();
        let beside = grave.filter(|f| firsts.iter().any(|first| step(&first.expectation) == step(&f.expectation)));
        let name = |f: &Finding| FirstFailure {
            expectation: f.expectation.clone(),
            clauses: f.clauses.iter().cloned().collect(),
        };
        ScenarioRun {
            scenario: record.name.clone(),
            outcome: record.outcome,
            first: firsts.iter().map(|f| name(f)).collect(),
            beside: beside.map(name).collect(),
        }
    }
}

/// The step that an expectation belongs to, as the beginning of its name.
fn step(expectation: &str) -> &str {
    expectation.split(']').next().unwrap_or_default()
}

impl FaultRun {
    /// What a record of a run under a fault says. How binding its clauses are, `requirements` say.
    pub fn of(fault: &str, clauses: &[&str], requirements: &[Requirement], record: &RunRecord) -> FaultRun {
        let weakest = weakest(clauses, requirements);
        let scenarios = record
            .scenarios
            .iter()
            .filter(|s| !matches!(s.outcome, Outcome::Skipped | Outcome::NotSupported))
            .map(|s| ScenarioRun::of(s, clauses, requirements))
            .collect();
        let contract = record
            .contract
            .iter()
            .filter(|rule| {
                (rule.severity == Severity::Failure || rule.severity == weakest) && !rule.breaches.is_empty()
            })
            .map(|rule| {
                let clauses = rule.clauses.iter().cloned().collect();
                let scenarios = rule.breaches.iter().map(|breach| breach.scenario.clone()).collect();
                (rule.name.clone(), BrokenRule { clauses, scenarios })
            })
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

    /// Puts the results of another run of some of the scenarios in place of the earlier ones.
    pub fn amend(&mut self, later: FaultRun) {
        self.scenarios.retain(|s| !later.scenarios.iter().any(|again| again.scenario == s.scenario));
        self.scenarios.extend(later.scenarios);
        for (name, rule) in later.contract {
            let known = self.contract.entry(name).or_default();
            known.clauses.extend(rule.clauses);
            known.scenarios.extend(rule.scenarios);
        }
    }

    /// The scenarios that noticed the fault.
    pub fn kills(&self) -> impl Iterator<Item = &ScenarioRun> {
        self.scenarios.iter().filter(|s| match s.outcome {
            Outcome::Failed | Outcome::Late => true,
            Outcome::Passed => !s.first.is_empty(),
            _ => false,
        })
    }

    /// The clauses that a showing carries, if it failed: first in its scenario, or in the step of what did.
    pub fn carried(&self, showing: &Showing) -> Option<&BTreeSet<String>> {
        if let Some(rule) = self.contract.get(&showing.expectation) {
            let there = rule.scenarios.contains(&showing.scenario) || rule.scenarios.contains("");
            return there.then_some(&rule.clauses);
        }
        let killed = self.kills().find(|one| one.scenario == showing.scenario)?;
        let failed = killed.beside.iter().find(|failed| matches(&showing.expectation, &failed.expectation))?;
        Some(&failed.clauses)
    }

    /// Whatever failed first, with its clauses.
    pub(super) fn showings(&self) -> Vec<(Showing, &BTreeSet<String>)> {
        let showing = |scenario: &str, expectation: &str| Showing {
            scenario: scenario.to_owned(),
            expectation: expectation.to_owned(),
        };
        let failed = self.kills().flat_map(|killed| {
            killed.first.iter().map(|first| (showing(&killed.scenario, &first.expectation), &first.clauses))
        });
        let broken = self.contract.iter().filter_map(|(name, rule)| {
            // Of the run's own objects every scenario speaks.
            let scenario = rule.scenarios.iter().find(|name| !name.is_empty());
            let scenario = scenario.or_else(|| self.scenarios.first().map(|one| &one.scenario))?;
            Some((showing(scenario, name), &rule.clauses))
        });
        failed.chain(broken).collect()
    }

    /// The declared clauses that none of these carries.
    pub fn unproven(&self, showings: &[Showing]) -> impl Iterator<Item = &String> {
        let proven: BTreeSet<&String> = showings.iter().filter_map(|showing| self.carried(showing)).flatten().collect();
        self.clauses.iter().filter(move |clause| !proven.contains(clause))
    }

    /// What became of a scenario, in a few words.
    fn came_to(&self, scenario: &str) -> String {
        let Some(run) = self.scenarios.iter().find(|run| run.scenario == scenario) else {
            return "it was not run".to_owned();
        };
        let failed: Vec<&str> = run.beside.iter().map(|failed| failed.expectation.as_str()).collect();
        if failed.is_empty() { format!("it ended {:?}", run.outcome) } else { format!("{} failed", failed.join(", ")) }
    }
}

/// The weakest finding that a fault against these clauses must earn: who strays only from what should be is warned of.
pub(super) fn weakest(clauses: &[&str], requirements: &[Requirement]) -> Severity {
    if clauses.iter().all(|clause| is_should(clause, requirements)) { Severity::Warning } else { Severity::Failure }
}

fn is_should(clause: &str, requirements: &[Requirement]) -> bool {
    requirements.iter().any(|it| it.id == clause && it.level == Level::Should)
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
    /// What shows it, each a scenario and an expectation: of what is listed all that failed, and what else carries its clauses.
    pub shown_by: Vec<String>,
    /// Clauses that it declares and none of these carries.
    #[serde(skip)]
    pub unproven: BTreeSet<String>,
    /// Whether it makes at most a tenth of the scenarios fail.
    pub narrow: bool,
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
    /// The matrix of `runs`; `expectations` are all binding ones of the scenarios that are meant, by scenario, and `all` is how
    /// many scenarios there are.
    pub fn of(
        runs: &[FaultRun],
        expectations: &BTreeMap<String, BTreeSet<String>>,
        listed: &ShownBy,
        all: usize,
    ) -> Matrix {
        let mut complaints = BTreeSet::new();
        let mut rows = Vec::new();
        let mut signatures = BTreeSet::new();
        let mut sole = BTreeSet::new();
        for run in runs {
            complain(run, listed, &mut complaints);
            let listed = listed.of(&run.fault);
            let row = row(run, all, listed);
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

    /// Leaves what can be said where only some scenarios were run: the faults that these notice, without asking what shows them
    /// elsewhere. One that was named is complained of if they do not.
    pub fn of_some(&mut self, ran: &BTreeSet<String>, named: &[String]) {
        self.complaints.retain(|complaint| match complaint {
            Complaint::Unlisted { .. } | Complaint::Unproven { .. } => false,
            Complaint::Unshown { scenario, .. } => ran.contains(scenario),
            Complaint::NotRun { .. }
            | Complaint::Undeclared { .. }
            | Complaint::Unnoticed { .. }
            | Complaint::Inconclusive { .. } => true,
        });
        self.rows.retain(|row| !row.kills.is_empty() || !row.contract.is_empty());
        let is_noticed = |fault: &&String| self.rows.iter().any(|row| row.fault == **fault);
        let unnoticed = named.iter().filter(|fault| !is_noticed(fault));
        self.complaints.extend(unnoticed.map(|fault| Complaint::Unnoticed { fault: fault.clone() }));
    }

    /// Closes the holes that pinpoint faults for all of them have closed.
    pub fn pinpointed(&mut self, proof: &Proof) {
        let before = self.holes.len();
        self.holes = proof.survivors.iter().map(|one| format!("{}: {}", one.scenario, one.expectation)).collect();
        self.pinpointed = Some(before - self.holes.len());
    }
}

/// What shows a fault according to a run: of what is listed all that did, and for each clause that this leaves open what carries
/// the most of the open ones, and the fewest others.
fn found(run: &FaultRun, listed: &[Showing]) -> Vec<Showing> {
    let mut found: Vec<Showing> = listed.iter().filter(|showing| run.carried(showing).is_some()).cloned().collect();
    let mut open: BTreeSet<&String> = run.unproven(&found).collect();
    let candidates = run.showings();
    loop {
        let best = candidates.iter().rev().max_by_key(|(_, clauses)| {
            let hits = clauses.iter().filter(|clause| open.contains(clause)).count();
            let others = clauses.iter().filter(|clause| !run.clauses.contains(*clause)).count();
            (hits, std::cmp::Reverse(others))
        });
        let Some((showing, clauses)) = best else { break };
        let before = open.len();
        open.retain(|clause| !clauses.contains(*clause));
        if open.len() == before {
            break;
        }
        found.push(showing.clone());
    }
    found
}

fn row(run: &FaultRun, scenarios: usize, listed: &[Showing]) -> Row {
    let kills: BTreeMap<String, Vec<String>> =
        run.kills().map(|s| (s.scenario.clone(), s.first.iter().map(|f| f.expectation.clone()).collect())).collect();
    let narrow = kills.len() <= share_of(scenarios) && (!kills.is_empty() || !run.contract.is_empty());
    let shown_by = found(run, listed);
    let unproven = run.unproven(&shown_by).cloned().collect();
    let shown_by = shown_by.iter().map(Showing::to_string).collect();
    Row {
        fault: run.fault.clone(),
        kills,
        contract: run.contract.keys().cloned().collect(),
        shown_by,
        unproven,
        narrow,
    }
}

/// How many of `scenarios` a narrow fault may make fail: a tenth, but at least one.
pub fn share_of(scenarios: usize) -> usize {
    (scenarios / NARROW).max(1)
}

fn complain(run: &FaultRun, table: &ShownBy, complaints: &mut BTreeSet<Complaint>) {
    let fault = || run.fault.clone();
    let listed = table.of(&run.fault);
    if let Some(error) = &run.error {
        complaints.insert(Complaint::NotRun { fault: fault(), error: error.clone() });
        return;
    }
    if listed.is_empty() {
        complaints.insert(Complaint::Unlisted { fault: fault() });
    }
    // What could not be told is a complaint of its own.
    let told: Vec<&Showing> = listed.iter().filter(|showing| !run.is_inconclusive(&showing.scenario)).collect();
    for showing in told.iter().filter(|showing| run.carried(showing).is_none()) {
        complaints.insert(Complaint::Unshown {
            fault: fault(),
            scenario: showing.scenario.clone(),
            expectation: showing.expectation.clone(),
            instead: run.came_to(&showing.scenario),
        });
    }
    for killed in run.kills() {
        let is_known = |f: &FirstFailure| table.is_beside(&run.fault, &killed.scenario, &f.expectation);
        for first in killed.first.iter().filter(|f| f.clauses.is_disjoint(&run.clauses) && !is_known(f)) {
            complaints.insert(Complaint::Undeclared {
                fault: fault(),
                scenario: killed.scenario.clone(),
                expectation: first.expectation.clone(),
                clauses: first.clauses.clone(),
            });
        }
    }
    let is_new = |(name, rule): &(&String, &BrokenRule)| {
        rule.clauses.is_disjoint(&run.clauses) && !table.is_broken_beside(&run.fault, name)
    };
    for (name, rule) in run.contract.iter().filter(is_new) {
        complaints.insert(Complaint::Undeclared {
            fault: fault(),
            scenario: String::new(),
            expectation: name.clone(),
            clauses: rule.clauses.clone(),
        });
    }
    let is_open = |s: &&ScenarioRun| s.outcome == Outcome::Inconclusive && !table.is_open(&run.fault, &s.scenario);
    for scenario in run.scenarios.iter().filter(is_open) {
        complaints.insert(Complaint::Inconclusive { fault: fault(), scenario: scenario.scenario.clone() });
    }
    for clause in run.unproven(listed).filter(|_| told.len() == listed.len()) {
        complaints.insert(Complaint::Unproven { fault: fault(), clause: clause.clone() });
    }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
