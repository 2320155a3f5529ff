//! Every binding asserted value is negated once; the plain reference must then fail at that very value.
//!
//! A sample drawn by a seed that is printed; all of them with `GATEPROOF_FULL=1`.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod proof;

use gateproof::dialects::Reference;
use gateproof::kill;
use proof::Quiet;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many values the sample has.
const SAMPLE: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn the_plain_reference_fails_at_every_negated_value() {
    let plan = proof::plan(Reference::GatewayApi, 6);
    let (all, _) = kill::negated(&plan.scenarios);
    let chosen = proof::sample(all, SAMPLE);
    let count = chosen.len();
    assert!(count >= SAMPLE, "only {count} values can be negated");
    let found = kill::invert_all(&plan, chosen, &Quiet).await.expect("the embedded target can be tested");
    let survivors = proof::survivors(&found);
    assert!(
        survivors.is_empty(),
        "{} of {count} negated values did not fail:\n{}",
        survivors.len(),
        survivors.join("\n")
    );
}
