//! Every binding asserted value is negated once; the plain reference must then fail at that very value.
//!
//! A sample drawn by a fixed seed; all of them with `GATEPROOF_FULL=1`.

#![allow(clippy::expect_used, clippy::unwrap_used)]

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

/// How many values the sample has.
const SAMPLE: usize = 96;

/// What the sample is drawn by.
const SEED: u64 = 1;

struct Quiet;

impl Watcher for Quiet {
    fn ran(&self, _: &str, _: usize) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plain_reference_fails_at_every_negated_value() {
    let scenarios = load::builtin(&Vocabulary::builtin()).expect("the built-in manifests are well-formed");
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).expect("the contract is well-formed");
    let (all, _) = kill::negated(&scenarios);
    let full = std::env::var_os("GATEPROOF_FULL").is_some();
    let chosen =
        if full { all } else { all.choose_multiple(&mut ChaCha8Rng::seed_from_u64(SEED), SAMPLE).cloned().collect() };
    let count = chosen.len();
    assert!(count >= SAMPLE, "only {count} values can be negated");
    let plan = Plan { scenarios, faults: Vec::new(), extent: Extent::Full, targets: 6, contract: Arc::new(contract) };
    let found = kill::invert_all(&plan, chosen, &Quiet).await.expect("the embedded target can be tested");
    let survivors: Vec<String> = found
        .survivors
        .iter()
        .map(|s| format!("{}: {} ({}) {}", s.scenario, s.expectation, s.outcome, s.why))
        .collect();
    assert!(
        survivors.is_empty(),
        "{} of {count} negated values did not fail:\n{}",
        survivors.len(),
        survivors.join("\n")
    );
}
