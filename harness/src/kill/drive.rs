//! Runs scenarios against faults, many embedded targets at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use gateproof_controllers::faults::{self, Fault};
use gateproof_controllers::settings::{EXPERIMENTAL_FEATURES, SUPPORTED_FEATURES};
use gateproof_report::record::RunRecord;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::matrix::{FaultRun, Matrix};
use crate::judge::contract::Contract;
use crate::run::{self, FeatureChoice, RunError, RunOptions, Silent, TargetChoice};
use crate::scenario::expectations::{Expectation, enumerate};
use crate::scenario::{Level, Scenario, select};

/// How many others are run beside the scenarios that are about a fault's clauses.
const OTHERS: usize = 10;
/// The same for a sample.
const FEW_OTHERS: usize = 2;
/// How many of the scenarios about a clause are in a sample.
const LIKELIEST: usize = 2;

/// Scenarios at once on each target. What fails waits for its deadline, so more targets cost little; more scenarios on
/// one of them would meet in its lanes.
const JOBS: usize = 4;

/// How much is run against each fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// For each clause of the fault the scenarios that are about little else, and a few others drawn by this seed.
    Sample(u64),
    /// The scenarios that are about the fault's clauses, and a few others drawn by this seed.
    Declared(u64),
    /// Every scenario.
    Full,
}

/// Is told how the matrix goes along.
pub trait Watcher: Send + Sync {
    /// A fault, or the plain reference, has been run.
    fn ran(&self, name: &str, failed: usize);
}

/// What the matrix is made of.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Every scenario that there is.
    pub scenarios: Vec<Scenario>,
    /// The faults.
    pub faults: Vec<&'static Fault>,
    /// How much of the product is run.
    pub extent: Extent,
    /// Embedded targets at once.
    pub targets: usize,
    /// The status contract.
    pub contract: Arc<Contract>,
}

/// Runs every fault of the plan and makes the matrix.
pub async fn drive(plan: &Plan, watcher: &dyn Watcher) -> Matrix {
    let clauses: Vec<Vec<Arc<str>>> = plan.scenarios.iter().map(select::clauses).collect();
    let mut trials: Vec<(&Fault, Vec<Scenario>)> =
        plan.faults.iter().map(|fault| (*fault, chosen(plan, &clauses, fault))).collect();
    // The longest go first, so that none of them is left over at the end.
    trials.sort_by_key(|(_, scenarios)| std::cmp::Reverse(scenarios.len()));
    let runs = futures::stream::iter(trials.into_iter().map(|(fault, scenarios)| async move {
        match under(plan, fault, scenarios).await {
            Ok(run) => {
                watcher.ran(fault.name, run.kills().count());
                run
            }
            Err(error) => FaultRun::broken(fault.name, fault.clauses, &error),
        }
    }))
    .buffer_unordered(plan.targets.max(1))
    .collect::<Vec<_>>()
    .await;
    Matrix::of(&runs, &binding_expectations(&plan.scenarios))
}

/// Runs one fault. What was inconclusive, as it is where the machine was too busy, gets a second chance.
async fn under(plan: &Plan, fault: &Fault, scenarios: Vec<Scenario>) -> Result<FaultRun, RunError> {
    let first = record(plan, Some(fault.name), scenarios.clone()).await?;
    let mut run = FaultRun::of(fault.name, fault.clauses, &first);
    let undecided: Vec<Scenario> = scenarios.into_iter().filter(|one| run.is_inconclusive(&one.name)).collect();
    if !undecided.is_empty() {
        let second = record(plan, Some(fault.name), undecided).await?;
        run.amend(FaultRun::of(fault.name, fault.clauses, &second));
    }
    Ok(run)
}

async fn record(plan: &Plan, fault: Option<&str>, scenarios: Vec<Scenario>) -> Result<RunRecord, RunError> {
    let target = TargetChoice::Embedded { fault: fault.map(str::to_owned) };
    let mut options = RunOptions::new(target, Arc::clone(&plan.contract));
    options.jobs = JOBS;
    // A fault must not get out of being tested by claiming less than the plain reference.
    let features = SUPPORTED_FEATURES.iter().chain(EXPERIMENTAL_FEATURES);
    options.features = FeatureChoice::Only(features.map(|name| (*name).to_owned()).collect());
    Ok(run::run(options, scenarios, &mut Silent).await?.record)
}

/// The scenarios that a fault is run with; `clauses` are those of each.
fn chosen(plan: &Plan, clauses: &[Vec<Arc<str>>], fault: &Fault) -> Vec<Scenario> {
    let (seed, per_clause, strangers) = match plan.extent {
        Extent::Full => return plan.scenarios.clone(),
        Extent::Declared(seed) => (seed, usize::MAX, OTHERS),
        Extent::Sample(seed) => (seed, LIKELIEST, FEW_OTHERS),
    };
    let mut chosen = BTreeSet::new();
    for clause in fault.clauses {
        let about = (0..plan.scenarios.len()).filter(|&index| clauses[index].iter().any(|own| &**own == *clause));
        chosen.extend(likeliest(about, clauses, fault.clauses).take(per_clause));
    }
    let others: Vec<usize> = (0..plan.scenarios.len()).filter(|index| !chosen.contains(index)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    chosen.extend(others.choose_multiple(&mut rng, strangers).copied());
    chosen.into_iter().map(|index| plan.scenarios[index].clone()).collect()
}

/// Those first of whose own clauses the largest share is meant.
fn likeliest(
    about: impl Iterator<Item = usize>,
    clauses: &[Vec<Arc<str>>],
    meant: &[&str],
) -> impl Iterator<Item = usize> {
    let mut about: Vec<(usize, usize)> = about
        .map(|index| {
            let hits = clauses[index].iter().filter(|own| meant.contains(&&***own)).count();
            (clauses[index].len() * 1000 / hits.max(1), index)
        })
        .collect();
    about.sort_unstable();
    about.into_iter().map(|(_, index)| index)
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

/// The faults of these names, or all of them.
///
/// # Errors
/// The first name that is no fault's.
pub fn faults_named(names: &[String]) -> Result<Vec<&'static Fault>, String> {
    if names.is_empty() {
        return Ok(faults::catalogue().iter().collect());
    }
    names.iter().map(|name| faults::find(name).ok_or_else(|| name.clone())).collect()
}
