//! Every binding expectation fails, alone, when the reference goes wrong at its value and nowhere else.
//!
//! A sample drawn by a fixed seed; all of them with `GATEPROOF_FULL=1`, or by `gateproof faults --pinpoint`.

#![allow(clippy::expect_used)]

use std::sync::Arc;

use gateproof::judge::contract::Contract;
use gateproof::kill::{self, Extent, Plan, Watcher};
use gateproof::scenario::{Vocabulary, load};
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many expectations the sample has.
const SAMPLE: usize = 384;

/// What the sample is drawn by.
const SEED: u64 = 1;

struct Quiet;

impl Watcher for Quiet {
    fn ran(&self, _: &str, _: usize) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn every_expectation_fails_alone_for_what_the_target_does() {
    let scenarios = load::builtin(&Vocabulary::builtin()).expect("the built-in manifests are well-formed");
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).expect("the contract is well-formed");
    let all = kill::pinned(&scenarios);
    assert!(all.len() >= SAMPLE, "only {} expectations are binding", all.len());
    let full = std::env::var_os("GATEPROOF_FULL").is_some();
    let trials =
        if full { all } else { all.choose_multiple(&mut ChaCha8Rng::seed_from_u64(SEED), SAMPLE).cloned().collect() };
    let plan = Plan { scenarios, faults: Vec::new(), extent: Extent::Full, targets: 6, contract: Arc::new(contract) };
    let proof = kill::pin_all(&plan, trials, &Quiet).await.expect("the embedded target can be tested");
    println!("{} expectations, {} not binding at this version", proof.tried, proof.unbound);
    let holes: Vec<String> = proof
        .survivors
        .iter()
        .map(|s| format!("{}: {} ({}) {}", s.scenario, s.expectation, s.outcome, s.why))
        .collect();
    assert!(holes.is_empty(), "{} of {} expectations are holes:\n{}", holes.len(), proof.tried, holes.join("\n"));
}
