//! What a proof is made of: a reference, scenarios and faults, and who is told how it goes along.

use std::sync::Arc;

use gateproof_testbed::KnownFault;
use serde_json::Value;

use super::complaint::Complaint;
use super::shown_by;
use crate::dialects::Reference;
use crate::run::{RunOptions, TargetChoice};
use crate::scenario::Scenario;
use crate::suite::Suite;

/// How much is run against each fault: the scenarios that are said to show it, and beside them those named here.
#[derive(Debug, Clone, PartialEq)]
pub enum Extent {
    /// Another one, drawn by this seed.
    Sample(u64),
    /// The scenarios that are about the fault's clauses, and a few others drawn by this seed.
    Declared(u64),
    /// A second look at what was complained of: the scenarios named.
    Again(Vec<Complaint>),
    /// Every scenario.
    Full,
}

/// Is told how a proof goes along.
pub trait Watcher: Send + Sync {
    /// So many runs come now; those that were told of before are over.
    fn planned(&self, runs: usize);

    /// One of them is over: of a fault, a variant, or expectations that are to fail.
    fn ran(&self, name: &str, failed: usize);
}

/// What the matrix is made of.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The dialect whose reference it is about.
    pub reference: Reference,
    /// What targets of it are judged by.
    pub suite: Arc<Suite>,
    /// The scenarios that are meant: every one that there is, unless some are named.
    pub scenarios: Vec<Scenario>,
    /// How many there are.
    pub all: usize,
    /// The faults.
    pub faults: Vec<KnownFault>,
    /// How much of the product is run.
    pub extent: Extent,
    /// Embedded targets at once.
    pub targets: usize,
    /// The definitions that these serve, which say the release; those that are built in if there are none.
    pub crds: Vec<Value>,
}

impl Plan {
    /// Of scenarios on the reference of a dialect, without a fault yet, one target at a time; nothing if there is no reference.
    pub fn new(suite: Suite, scenarios: Vec<Scenario>) -> Option<Plan> {
        let reference = suite.reference()?;
        let (suite, faults, all) = (Arc::new(suite), Vec::new(), scenarios.len());
        Some(Plan { reference, suite, scenarios, all, faults, extent: Extent::Full, targets: 1, crds: Vec::new() })
    }

    /// A run on the embedded target, with faults and variants if they are named.
    pub fn run_on(&self, names: Option<String>) -> RunOptions {
        self.run_against(TargetChoice::embedded(self.reference, names))
    }

    /// The clauses that a fault breaks, of those that hold in the edition that is meant.
    pub fn declared(&self, fault: &KnownFault) -> Vec<&'static str> {
        let edition = &self.suite.vocabulary.edition;
        let unbroken = shown_by::unbroken(self.reference.dialect(), edition.name().unwrap_or_default());
        let unbroken = unbroken.unwrap_or_default().remove(fault.name).unwrap_or_default();
        let is_broken = |clause: &&str| !edition.is_elsewhere(clause) && !unbroken.iter().any(|one| one == clause);
        fault.clauses.iter().copied().filter(is_broken).collect()
    }

    pub(super) fn run_against(&self, target: TargetChoice) -> RunOptions {
        let options = RunOptions::new(target, Arc::clone(&self.suite.contract));
        RunOptions { crds: self.crds.clone(), ..options }
    }
}
