//! Every binding expectation fails, alone, when the reference goes wrong at its value and nowhere else.
//!
//! A sample drawn by a seed that is printed; all of them with `GATEPROOF_FULL=1`, or by `gateproof faults --pinpoint`.

#![allow(clippy::expect_used)]

mod proof;

use gateproof::dialects::Reference;
use gateproof::kill;
use proof::Quiet;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many expectations the sample has.
const SAMPLE: usize = 192;

#[tokio::test(flavor = "multi_thread")]
async fn every_expectation_fails_alone_for_what_the_target_does() {
    let plan = proof::plan(Reference::GatewayApi, 6);
    let all = kill::pinned(&plan.scenarios);
    assert!(all.len() >= SAMPLE, "only {} expectations are binding", all.len());
    let found =
        kill::pin_all(&plan, proof::sample(all, SAMPLE), &Quiet).await.expect("the embedded target can be tested");
    println!("{} expectations, {} not binding at this version", found.tried, found.unbound);
    let holes = proof::survivors(&found);
    assert!(holes.is_empty(), "{} of {} expectations are holes:\n{}", holes.len(), found.tried, holes.join("\n"));
}
