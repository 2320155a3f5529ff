//! Every named fault is noticed, for the clauses that it declares and no others.
//!
//! Each is run with a few scenarios that are about little but its clauses, and two others. What that look complains of is
//! looked at again with every scenario about its clauses and ten others, and with little else going on, so that neither
//! the choice nor a busy machine is taken for a hole. `gateproof faults --full` runs every fault with every scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof::judge::contract::Contract;
use gateproof::kill::{Extent, Plan, Watcher, drive, faults_named};
use gateproof::scenario::{Vocabulary, load};

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
        targets: 24,
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
    plan.extent = Extent::Declared(SEED);
    plan.targets = 8;
    let second = drive(&plan, &Quiet).await;
    assert_eq!(second.complaints, [], "faults that are not noticed as they should be");
}
