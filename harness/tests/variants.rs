//! Nothing complains of what the specification leaves open, and what is wrong is noticed beside it.
//!
//! The slow variant is run with every scenario, each other one with a sample drawn by a fixed seed. `gateproof faults
//! --variants` runs all of them with every scenario.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::sync::Arc;

use gateproof::judge::contract::Contract;
use gateproof::kill::{self, Extent, Plan, Watcher};
use gateproof::log::Timing;
use gateproof::run::{RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof_controllers::variants;
use gateproof_report::record::Outcome;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The variant that takes longest, and that a harness is most likely to blame.
const SLOW: &str = "starts-data-planes-late";

/// How many scenarios a sample has.
const SAMPLE: usize = 20;

/// What the samples are drawn by.
const SEED: u64 = 1;

struct Quiet;

impl Watcher for Quiet {
    fn ran(&self, _: &str, _: usize) {}
}

fn plan() -> Plan {
    let scenarios = load::builtin(&Vocabulary::builtin()).expect("the built-in manifests are well-formed");
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).expect("the contract is well-formed");
    Plan { scenarios, faults: Vec::new(), extent: Extent::Full, targets: 1, contract: Arc::new(contract) }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_passes_on_legal_variants() {
    let plan = plan();
    let mut draw = ChaCha8Rng::seed_from_u64(SEED);
    for variant in variants::catalogue() {
        let sample: Vec<Scenario> = plan.scenarios.choose_multiple(&mut draw, SAMPLE).cloned().collect();
        let scenarios = if variant.name == SLOW { plan.scenarios.clone() } else { sample };
        let varied = kill::vary(&plan, variant, &scenarios, &Quiet).await.expect("the embedded target can be tested");
        assert_eq!((varied.runs, varied.blamed), (scenarios.len(), Vec::new()), "{}", variant.name);
    }
}

/// How a scenario ends on a target with a budget for data paths that a late one uses up.
async fn outcome(scenario: &str, behaviour: &str) -> (Outcome, String) {
    let plan = plan();
    let mut options = RunOptions::new(TargetChoice::Embedded { fault: Some(behaviour.to_owned()) }, plan.contract);
    options.timing = Some(Timing { converge: variants::DELAY / 2, ..options.timing() });
    let scenarios = plan.scenarios.into_iter().filter(|one| one.name == scenario).collect();
    let record = run(options, scenarios, &mut Silent).await.expect("the embedded target can be tested").record;
    (record.scenarios[0].outcome, record.target.name)
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_noticed_beside_variants_and_other_faults() {
    let scenario = "httproute-missing-reference-grant";
    for (behaviour, expected) in [
        ("variant:starts-data-planes-late", Outcome::Passed),
        ("ignores-reference-grants+variant:starts-data-planes-late", Outcome::Failed),
        ("variant:adds-own-conditions+ignores-reference-grants", Outcome::Failed),
        ("answers-404-for-missing-backends+ignores-reference-grants", Outcome::Failed),
    ] {
        let (outcome, name) = outcome(scenario, behaviour).await;
        assert_eq!((outcome, name), (expected, format!("embedded:{behaviour}")));
    }
}
