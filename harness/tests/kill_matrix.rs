//! Every named fault is noticed, for the clauses that it declares and no others.
//!
//! Each is run with one scenario for each of its clauses, and with another; where those do not prove a clause, with more
//! that are about it. What that complains of is looked at again with little else going on, so that a busy machine is not
//! taken for a hole. `gateproof faults --full` runs every fault with every scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof::judge::contract::Contract;
use gateproof::kill::{Extent, Plan, ShownBy, Watcher, drive, faults_named};
use gateproof::scenario::{Vocabulary, load};

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Draws the other.
const SEED: u64 = 1;

/// A [`ShownBy`].
const SHOWN_BY: &str = include_str!("kill_matrix/shown_by.yaml");

/// Prints what the table of scenarios does not know.
struct Missed;

impl Watcher for Missed {
    fn ran(&self, _: &str, _: usize) {}

    fn missed(&self, fault: &str, clause: &str, shown_by: Option<&str>) {
        println!("{fault}: the first look did not show {clause}, {} did", shown_by.unwrap_or("a rule of the contract"));
    }
}

#[test]
fn the_table_of_scenarios_names_what_there_is() {
    let scenarios = load::builtin(&Vocabulary::builtin()).expect("the manifests are well-formed");
    for (fault, shown_by) in table() {
        let known = faults_named(std::slice::from_ref(&fault)).expect("it is a fault")[0];
        for (clause, scenario) in shown_by {
            assert!(known.clauses.contains(&clause.as_str()), "{fault} does not declare {clause}");
            assert!(scenarios.iter().any(|one| one.name == scenario), "there is no scenario {scenario}");
        }
    }
}

fn table() -> ShownBy {
    serde_yaml::from_str(SHOWN_BY).expect("the table is well-formed")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_noticed_for_what_it_declares() {
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).expect("the contract is well-formed");
    let mut plan = Plan {
        scenarios: load::builtin(&Vocabulary::builtin()).expect("the manifests are well-formed"),
        faults: faults_named(&[]).expect("no name is wrong"),
        extent: Extent::Sample { seed: SEED, shown_by: table() },
        targets: 64,
        contract: Arc::new(contract),
    };
    let first = drive(&plan, &Missed).await;
    println!(
        "{} faults, {} narrow, {} signatures, {} complaints at first sight",
        first.rows.len(),
        first.rows.iter().filter(|row| row.narrow).count(),
        first.signatures,
        first.complaints.len()
    );
    first.complaints.iter().for_each(|complaint| println!("at first sight: {complaint:?}"));
    assert!(first.signatures >= 50, "only {} faults can be told apart", first.signatures);
    let doubtful: BTreeSet<&str> = first.complaints.iter().map(|complaint| complaint.fault()).collect();
    plan.faults.retain(|fault| doubtful.contains(fault.name));
    plan.extent = Extent::Again(first.complaints.clone());
    plan.targets = 24;
    let second = drive(&plan, &Missed).await.complaints;
    let standing: Vec<_> = second.into_iter().filter(|complaint| complaint.stands(&first.complaints)).collect();
    assert_eq!(standing, [], "faults that are not noticed as they should be");
}
