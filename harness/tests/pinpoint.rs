//! Every binding expectation fails, alone, when the reference goes wrong at its value and nowhere else.
//!
//! A sample drawn by a fixed seed; all of them with `GATEPROOF_FULL=1`, or by `gateproof faults --pinpoint`.

#![allow(clippy::expect_used)]

mod proof;

use gateproof::dialects::Reference;
use gateproof::kill;
use proof::Quiet;
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

#[tokio::test(flavor = "multi_thread")]
async fn every_expectation_fails_alone_for_what_the_target_does() {
    let plan = proof::plan(Reference::GatewayApi, 6);
    let all = kill::pinned(&plan.scenarios);
    assert!(all.len() >= SAMPLE, "only {} expectations are binding", all.len());
    let full = proof::is_full();
    let trials =
        if full { all } else { all.choose_multiple(&mut ChaCha8Rng::seed_from_u64(SEED), SAMPLE).cloned().collect() };
    let found = kill::pin_all(&plan, trials, &Quiet).await.expect("the embedded target can be tested");
    println!("{} expectations, {} not binding at this version", found.tried, found.unbound);
    let holes = proof::survivors(&found);
    assert!(holes.is_empty(), "{} of {} expectations are holes:\n{}", holes.len(), found.tried, holes.join("\n"));
}
