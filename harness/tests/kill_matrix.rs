//! Every named fault is noticed, for the clauses that it declares and no others.
//!
//! Each is run with the scenario that is about most of its clauses, for each clause, and with another one; where those do
//! not prove a clause, with more that are about them. What that complains of is looked at again with little else going on,
//! so that a busy machine is not taken for a hole. `gateproof faults --full` runs every fault with every scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof::judge::contract::Contract;
use gateproof::kill::{Extent, Plan, Watcher, drive, faults_named};
use gateproof::scenario::{Vocabulary, load};

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Draws the others.
const SEED: u64 = 1;

struct Quiet;

impl Watcher for Quiet {
    fn ran(&self, _: &str, _: usize) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_noticed_for_what_it_declares() {
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).expect("the contract is well-formed");
    let mut plan = Plan {
        scenarios: load::builtin(&Vocabulary::builtin()).expect("the manifests are well-formed"),
        faults: faults_named(&[]).expect("no name is wrong"),
        extent: Extent::Sample(SEED),
        targets: 64,
        contract: Arc::new(contract),
    };
    let first = drive(&plan, &Quiet).await;
    println!(
        "{} faults, {} narrow, {} signatures, {} complaints at first sight",
        first.rows.len(),
        first.rows.iter().filter(|row| row.narrow).count(),
        first.signatures,
        first.complaints.len()
    );
    assert!(first.signatures >= 50, "only {} faults can be told apart", first.signatures);
    let doubtful: BTreeSet<&str> = first.complaints.iter().map(|complaint| complaint.fault()).collect();
    plan.faults.retain(|fault| doubtful.contains(fault.name));
    plan.extent = Extent::Again(first.complaints.clone());
    plan.targets = 24;
    let second = drive(&plan, &Quiet).await.complaints;
    let standing: Vec<_> = second.into_iter().filter(|complaint| complaint.stands(&first.complaints)).collect();
    assert_eq!(standing, [], "faults that are not noticed as they should be");
}
