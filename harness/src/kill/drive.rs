//! Runs scenarios against faults, many embedded targets at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gateproof_testbed::KnownFault;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

use super::matrix::{FaultRun, Matrix};
use super::plan::{Extent, Plan, Watcher};
use super::shown_by::{Showing, ShownBy};
use crate::dialects::Reference;
use crate::run::{self, RunError, Silent, embedded};
use crate::scenario::expectations::{Expectation, enumerate};
use crate::scenario::scope::by_lacking;
use crate::scenario::{Level, Scenario, select};

/// How many others are run beside the scenarios that are about a fault's clauses.
const OTHERS: usize = 10;
/// The same for a sample.
const FEW_OTHERS: usize = 1;
/// How often a fault is looked at, at most.
pub(super) const LOOKS: usize = 3;

/// Scenarios at once on each target. What fails waits for its deadline, so more targets cost little; more scenarios on
/// one of them would meet in its lanes.
pub(super) const JOBS: usize = 8;

/// Runs every fault of the plan and makes the matrix.
pub async fn drive(plan: &Plan, shown_by: &ShownBy, watcher: &dyn Watcher) -> Matrix {
    let clauses: Vec<Vec<Arc<str>>> = plan.scenarios.iter().map(select::clauses).collect();
    let suspect = |fault: &KnownFault| {
        let next = chosen(plan, &clauses, fault, shown_by.of(fault.name));
        Suspect::new(*fault, plan.declared(fault), next)
    };
    let mut waiting: VecDeque<Suspect> = plan.faults.iter().map(suspect).collect();
    // The longest go first, so that none of them is left over at the end.
    waiting.make_contiguous().sort_by_key(|suspect| std::cmp::Reverse(suspect.next.len()));
    watcher.planned(waiting.len());
    let mut under_way = FuturesUnordered::new();
    let mut runs = Vec::new();
    loop {
        while under_way.len() < plan.targets.max(1)
            && let Some(suspect) = waiting.pop_front()
        {
            under_way.push(suspect.look(plan));
        }
        let Some(mut suspect) = under_way.next().await else { break };
        suspect.next = suspect.doubts(plan);
        if suspect.next.is_empty() {
            let name = suspect.fault.name;
            match suspect.run.error {
                None => watcher.ran(name, suspect.run.kills().count()),
                Some(_) => watcher.ran(&format!("{name}, which could not be run"), 0),
            }
            runs.push(suspect.run);
        } else {
            // Its turn comes when every other one had its first: the machine is less busy then.
            waiting.push_back(suspect);
        }
    }
    Matrix::of(&runs, &binding_expectations(&plan.scenarios), shown_by, plan.all)
}

/// A fault, and what was seen of it so far.
struct Suspect {
    fault: KnownFault,
    /// Those that it declares, and that hold in the edition that is meant.
    clauses: Vec<&'static str>,
    run: FaultRun,
    looks: usize,
    /// The scenarios of earlier looks, as indices into those of the plan.
    tried: BTreeSet<usize>,
    /// Those of the next look.
    next: BTreeSet<usize>,
}

impl Suspect {
    fn new(fault: KnownFault, clauses: Vec<&'static str>, next: BTreeSet<usize>) -> Suspect {
        let run = FaultRun::before(fault.name, &clauses);
        Suspect { fault, clauses, run, looks: 0, tried: BTreeSet::new(), next }
    }

    async fn look(mut self, plan: &Plan) -> Suspect {
        match with(plan, &self.fault, &self.clauses, &self.next).await {
            Ok(run) => self.run.amend(run),
            Err(error) => self.run = FaultRun::broken(self.fault.name, &self.clauses, &error),
        }
        self.looks += 1;
        self.tried.append(&mut self.next);
        self
    }

    /// What is to be looked at once more: what was inconclusive, as it is where the machine was too busy.
    fn doubts(&self, plan: &Plan) -> BTreeSet<usize> {
        if self.run.error.is_some() || self.looks == LOOKS {
            return BTreeSet::new();
        }
        let is_open = |index: &usize| self.run.is_inconclusive(&plan.scenarios[*index].name);
        self.tried.iter().copied().filter(is_open).collect()
    }
}

/// One run of scenarios under a fault.
async fn with(
    plan: &Plan,
    fault: &KnownFault,
    clauses: &[&str],
    scenarios: &BTreeSet<usize>,
) -> Result<FaultRun, RunError> {
    let mut options = plan.run_on(Some(fault.name.to_owned()));
    options.jobs = JOBS;
    options.features = embedded::held_to(plan.reference);
    let mut found = FaultRun::before(fault.name, clauses);
    // A fault has a target for each group of scenarios that no other one is right for.
    for (lacking, scenarios) in by_lacking(scenarios.iter().map(|&index| plan.scenarios[index].clone())) {
        let options = options.clone().lacking(lacking);
        let record = run::run(options, scenarios, &mut Silent).await?.record;
        found.amend(FaultRun::of(fault.name, clauses, &plan.suite.requirements, &record));
    }
    Ok(found)
}

/// The scenarios that a fault is run with; `clauses` are those of each.
pub(super) fn chosen(
    plan: &Plan,
    clauses: &[Vec<Arc<str>>],
    fault: &KnownFault,
    listed: &[Showing],
) -> BTreeSet<usize> {
    let position = |name: &str| plan.scenarios.iter().position(|one| one.name == name);
    let mut chosen: BTreeSet<usize> = listed.iter().filter_map(|showing| position(&showing.scenario)).collect();
    let (seed, strangers) = match &plan.extent {
        Extent::Full => return (0..plan.scenarios.len()).collect(),
        Extent::Again(complaints) => {
            let of_it = complaints.iter().filter(|complaint| complaint.fault() == fault.name);
            chosen.extend(of_it.filter_map(|complaint| position(complaint.scenario()?)));
            return chosen;
        }
        Extent::Declared(seed) => {
            chosen.extend(about_any(fault.clauses, clauses));
            (*seed, OTHERS)
        }
        Extent::Sample(seed) => (*seed, FEW_OTHERS),
    };
    let others: Vec<usize> = (0..plan.scenarios.len()).filter(|index| !chosen.contains(index)).collect();
    chosen.extend(others.choose_multiple(&mut draw(seed, fault), strangers).copied());
    chosen
}

/// The scenarios that are about any of a fault's clauses. A rule of the contract that carries one of them has no scenario
/// of its own, and is broken where the others are the subject.
fn about_any<'a>(meant: &'a [&str], clauses: &'a [Vec<Arc<str>>]) -> impl Iterator<Item = usize> + 'a {
    (0..clauses.len()).filter(move |index| clauses[*index].iter().any(|own| meant.contains(&&**own)))
}

/// Other numbers for every fault, so that all of them together meet many scenarios.
pub(super) fn draw(seed: u64, fault: &KnownFault) -> ChaCha8Rng {
    let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(fault.name).finalize();
    ChaCha8Rng::from_seed(digest.into())
}

/// The expectations of a scenario that a fault has to be able to fail: binding, and not one of several legal ends.
pub(super) fn binding(scenario: &Scenario) -> impl Iterator<Item = Expectation> {
    enumerate(scenario).into_iter().filter(|e| e.level == Level::Must && !e.alternative)
}

/// Every expectation that a fault has to be able to fail, by scenario.
pub fn binding_expectations(scenarios: &[Scenario]) -> BTreeMap<String, BTreeSet<String>> {
    let ids = |scenario: &Scenario| binding(scenario).map(|expectation| expectation.id).collect();
    scenarios.iter().map(|scenario| (scenario.name.clone(), ids(scenario))).collect()
}

/// The faults of a reference that have these names, or all that are to be seen in the edition that is meant first.
///
/// # Errors
/// The first name that is no fault's.
pub fn faults_named(reference: Reference, names: &[String]) -> Result<Vec<KnownFault>, String> {
    if names.is_empty() {
        return ShownBy::faults(reference, None).map_err(|error| error.to_string());
    }
    let all = embedded::faults(reference);
    let named = |name: &String| all.iter().find(|fault| fault.name == name).copied();
    names.iter().map(|name| named(name).ok_or_else(|| name.clone())).collect()
}
