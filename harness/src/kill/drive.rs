//! Runs scenarios against faults, many embedded targets at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gateproof_controllers::faults::{self, Fault};
use gateproof_controllers::settings::{EXPERIMENTAL_FEATURES, SUPPORTED_FEATURES};
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

use super::matrix::{Complaint, FaultRun, Matrix};
use crate::judge::contract::Contract;
use crate::run::{self, FeatureChoice, RunError, RunOptions, Silent, TargetChoice};
use crate::scenario::expectations::{Expectation, enumerate};
use crate::scenario::{Level, Scenario, select};

/// How many others are run beside the scenarios that are about a fault's clauses.
const OTHERS: usize = 10;
/// The same for a sample.
const FEW_OTHERS: usize = 1;
/// How many more of the scenarios about a clause are tried when the first has left it unproven.
const NEXT_LIKELIEST: usize = 4;

/// How often a fault is looked at, at most.
const LOOKS: usize = 2;
/// The same for a sample, which is widened.
const LOOKS_OF_A_SAMPLE: usize = 3;

/// Scenarios at once on each target. What fails waits for its deadline, so more targets cost little; more scenarios on
/// one of them would meet in its lanes.
const JOBS: usize = 8;

/// Names of scenarios by fault and clause. What it says wrongly or not at all costs a second look, and proves nothing.
pub type ShownBy = BTreeMap<String, BTreeMap<String, String>>;

/// How much is run against each fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Extent {
    /// For each clause of the fault one scenario, and another. Where those do not prove a clause, a few more that are about
    /// it, and then all that are about any clause of the fault.
    Sample {
        /// Draws the other.
        seed: u64,
        /// Which scenario shows a clause of a fault, where it is not the one that is about most of the fault's clauses.
        shown_by: ShownBy,
    },
    /// The scenarios that are about the fault's clauses, and a few others drawn by this seed.
    Declared(u64),
    /// A second look at what was complained of: the scenarios named, and all that are about the clauses missed.
    Again(Vec<Complaint>),
    /// Every scenario.
    Full,
}

/// Is told how the matrix goes along.
pub trait Watcher: Send + Sync {
    /// A fault, or the plain reference, has been run.
    fn ran(&self, name: &str, failed: usize);

    /// This clause of a fault was shown only when a sample had been widened: by a scenario, or by a rule of the contract.
    fn missed(&self, _fault: &str, _clause: &str, _shown_by: Option<&str>) {}
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
    let mut waiting: VecDeque<Suspect> =
        plan.faults.iter().map(|fault| Suspect::new(fault, chosen(plan, &clauses, fault))).collect();
    // The longest go first, so that none of them is left over at the end.
    waiting.make_contiguous().sort_by_key(|suspect| std::cmp::Reverse(suspect.next.len()));
    let mut under_way = FuturesUnordered::new();
    let mut runs = Vec::new();
    loop {
        while under_way.len() < plan.targets.max(1)
            && let Some(suspect) = waiting.pop_front()
        {
            under_way.push(suspect.look(plan));
        }
        let Some(mut suspect) = under_way.next().await else { break };
        suspect.next = suspect.doubts(plan, &clauses);
        if suspect.next.is_empty() {
            for clause in suspect.missed.iter().filter(|missed| suspect.run.unproven().all(|open| open != *missed)) {
                watcher.missed(suspect.fault.name, clause, suspect.run.shown_by(clause));
            }
            if suspect.run.error.is_none() {
                watcher.ran(suspect.fault.name, suspect.run.kills().count());
            }
            runs.push(suspect.run);
        } else {
            // Its turn comes when every other one had its first: the machine is less busy then.
            waiting.push_back(suspect);
        }
    }
    Matrix::of(&runs, &binding_expectations(&plan.scenarios))
}

/// A fault, and what was seen of it so far.
struct Suspect {
    fault: &'static Fault,
    run: FaultRun,
    looks: usize,
    /// The scenarios of earlier looks, as indices into those of the plan.
    tried: BTreeSet<usize>,
    /// Those of the next look.
    next: BTreeSet<usize>,
    /// What the first look left unproven, unless the machine was too busy for it.
    missed: Vec<String>,
}

impl Suspect {
    fn new(fault: &'static Fault, next: BTreeSet<usize>) -> Suspect {
        let run = FaultRun::before(fault.name, fault.clauses);
        Suspect { fault, run, looks: 0, tried: BTreeSet::new(), next, missed: Vec::new() }
    }

    async fn look(mut self, plan: &Plan) -> Suspect {
        match with(plan, self.fault, &self.next).await {
            Ok(run) => self.run.amend(run),
            Err(error) => self.run = FaultRun::broken(self.fault.name, self.fault.clauses, &error),
        }
        self.looks += 1;
        if self.looks == 1 && self.run.is_conclusive() {
            self.missed = self.run.unproven().cloned().collect();
        }
        self.tried.append(&mut self.next);
        self
    }

    /// What is to be looked at once more: what was inconclusive, as it is where the machine was too busy, and of a sample
    /// that left clauses unproven, what may prove them.
    fn doubts(&self, plan: &Plan, clauses: &[Vec<Arc<str>>]) -> BTreeSet<usize> {
        let samples = matches!(plan.extent, Extent::Sample { .. });
        let looks = if samples { LOOKS_OF_A_SAMPLE } else { LOOKS };
        if self.run.error.is_some() || self.looks == looks {
            return BTreeSet::new();
        }
        let is_open = |index: &usize| self.run.is_inconclusive(&plan.scenarios[*index].name);
        let mut doubts: BTreeSet<usize> = self.tried.iter().copied().filter(is_open).collect();
        if samples {
            let untried = |index: &usize| !self.tried.contains(index);
            for clause in self.run.unproven() {
                let about = about(clause, clauses).filter(untried);
                let width = if self.looks == 1 { NEXT_LIKELIEST } else { 0 };
                let likely: Vec<usize> = likeliest(about, clauses, self.fault.clauses).take(width).collect();
                if likely.is_empty() {
                    doubts.extend(about_any(self.fault.clauses, clauses).filter(untried));
                }
                doubts.extend(likely);
            }
        }
        doubts
    }
}

/// One run of scenarios under a fault.
async fn with(plan: &Plan, fault: &Fault, scenarios: &BTreeSet<usize>) -> Result<FaultRun, RunError> {
    let target = TargetChoice::Embedded { fault: Some(fault.name.to_owned()) };
    let mut options = RunOptions::new(target, Arc::clone(&plan.contract));
    options.jobs = JOBS;
    // A fault must not get out of being tested by claiming less than the plain reference.
    let features = SUPPORTED_FEATURES.iter().chain(EXPERIMENTAL_FEATURES);
    options.features = FeatureChoice::Only(features.map(|name| (*name).to_owned()).collect());
    let scenarios = scenarios.iter().map(|&index| plan.scenarios[index].clone()).collect();
    let record = run::run(options, scenarios, &mut Silent).await?.record;
    Ok(FaultRun::of(fault.name, fault.clauses, &record))
}

/// The scenarios that a fault is run with; `clauses` are those of each.
fn chosen(plan: &Plan, clauses: &[Vec<Arc<str>>], fault: &Fault) -> BTreeSet<usize> {
    let mut chosen = BTreeSet::new();
    let (seed, strangers) = match &plan.extent {
        Extent::Full => return (0..plan.scenarios.len()).collect(),
        Extent::Again(complaints) => return doubtful(plan, clauses, fault, complaints),
        Extent::Declared(seed) => {
            chosen.extend(about_any(fault.clauses, clauses));
            (*seed, OTHERS)
        }
        Extent::Sample { seed, shown_by } => {
            let known = shown_by.get(fault.name);
            for &clause in fault.clauses {
                let name = known.and_then(|known| known.get(clause));
                let index = name.and_then(|name| plan.scenarios.iter().position(|one| one.name == *name));
                chosen.extend(index.or_else(|| likeliest(about(clause, clauses), clauses, fault.clauses).next()));
            }
            (*seed, FEW_OTHERS)
        }
    };
    let others: Vec<usize> = (0..plan.scenarios.len()).filter(|index| !chosen.contains(index)).collect();
    chosen.extend(others.choose_multiple(&mut draw(seed, fault), strangers).copied());
    chosen
}

/// The scenarios that complaints of a fault are about.
fn doubtful(plan: &Plan, clauses: &[Vec<Arc<str>>], fault: &Fault, complaints: &[Complaint]) -> BTreeSet<usize> {
    let mut chosen = BTreeSet::new();
    for complaint in complaints.iter().filter(|complaint| complaint.fault() == fault.name) {
        let named = match complaint {
            Complaint::Undeclared { scenario, .. } | Complaint::Inconclusive { scenario, .. } => {
                plan.scenarios.iter().position(|one| one.name == *scenario)
            }
            _ => None,
        };
        match named {
            Some(index) => drop(chosen.insert(index)),
            None => chosen.extend(about_any(fault.clauses, clauses)),
        }
    }
    chosen
}

/// The scenarios that are about a clause.
fn about<'a>(clause: &'a str, clauses: &'a [Vec<Arc<str>>]) -> impl Iterator<Item = usize> + 'a {
    (0..clauses.len()).filter(move |index| clauses[*index].iter().any(|own| &**own == clause))
}

/// The scenarios that are about any of a fault's clauses. A rule of the contract that carries one of them has no scenario
/// of its own, and is broken where the others are the subject.
fn about_any<'a>(meant: &'a [&str], clauses: &'a [Vec<Arc<str>>]) -> impl Iterator<Item = usize> + 'a {
    meant.iter().flat_map(|clause| about(clause, clauses))
}

/// Other numbers for every fault, so that all of them together meet many scenarios.
fn draw(seed: u64, fault: &Fault) -> ChaCha8Rng {
    let digest = Sha256::new().chain_update(seed.to_be_bytes()).chain_update(fault.name).finalize();
    ChaCha8Rng::from_seed(digest.into())
}

/// Those first that are about the most of what is meant, and then those about the least beside it.
fn likeliest(
    about: impl Iterator<Item = usize>,
    clauses: &[Vec<Arc<str>>],
    meant: &[&str],
) -> impl Iterator<Item = usize> {
    let mut about: Vec<usize> = about.collect();
    about.sort_by_cached_key(|&index| {
        let hits = clauses[index].iter().filter(|own| meant.contains(&&***own)).count();
        (std::cmp::Reverse(hits), clauses[index].len(), index)
    });
    about.into_iter()
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
