//! Every named fault is noticed, by the expectations that are said to show it and for the clauses that it declares, and for no
//! others.
//!
//! Each is run with the scenarios of those expectations, and with another. What that complains of is looked at again with
//! little else going on, so that a busy machine is not taken for a hole; no more than a few may need that. A sample of the
//! faults, by a seed that is printed; all of them with `GATEPROOF_FULL=1` or by `gateproof faults`, and every fault with every scenario
//! by `gateproof faults --full`.

mod proof;

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt};
use gateproof::diagnosis::Measured;
use gateproof::dialects::Reference;
use gateproof::kill::{Complaint, Extent, Plan, ShownBy, drive, faults_named, record};
use gateproof_report::record::RunRecord;
use proof::{Quiet, sample, seed};
use tokio::sync::Semaphore;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One in how many faults the sample has.
const ONE_IN: usize = 5;

/// How many faults are run to ask what the run looks like.
const DIAGNOSED: usize = 10;

/// One in how many faults may be complained of at first sight only: on a busy machine a status may come after the
/// settling that it should spoil. Beyond that it would be the second look that proves, not the first. What the machine was
/// too busy to tell was no wrong answer, and is not counted.
const PASSING: usize = 50;

/// One proof at a time: each starts as many targets as the machine bears.
static TURN: Semaphore = Semaphore::const_new(1);

fn plan() -> Plan {
    let faults = faults_named(Reference::GatewayApi, &[]).expect("no name is wrong");
    Plan { faults, extent: Extent::Sample(seed()), ..proof::plan(Reference::GatewayApi, 24) }
}

fn table() -> ShownBy {
    ShownBy::builtin(Reference::GatewayApi).expect("the table is well-formed")
}

fn faults(complaints: &[Complaint]) -> BTreeSet<&str> {
    complaints.iter().map(Complaint::fault).collect()
}

#[test]
fn the_table_names_every_fault_and_what_there_is() {
    let Plan { suite, scenarios, faults, .. } = plan();
    assert_eq!(table().problems(&faults, &scenarios, &suite.contract.rule_names()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_noticed_for_what_it_declares() {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let table = table();
    let mut plan = plan();
    let size = plan.faults.len().div_ceil(ONE_IN);
    plan.faults = sample(plan.faults, size);
    let first = drive(&plan, &table, &Quiet).await;
    let doubtful = faults(&first.complaints);
    plan.faults.retain(|fault| doubtful.contains(fault.name));
    plan.extent = Extent::Again(first.complaints.clone());
    plan.targets = 8;
    let standing = drive(&plan, &table, &Quiet).await.complaints;
    let told: Vec<Complaint> =
        first.complaints.iter().filter(|one| !matches!(one, Complaint::Inconclusive { .. })).cloned().collect();
    let (wrong, still) = (faults(&told), faults(&standing));
    let passing = wrong.difference(&still).count();
    println!(
        "{} faults, {} narrow, {} signatures; complaints of {} faults at first sight, of {passing} at first sight only; {} \
         more could not be told",
        first.rows.len(),
        first.rows.iter().filter(|row| row.narrow).count(),
        first.signatures,
        wrong.len(),
        doubtful.len() - wrong.len(),
    );
    first.complaints.iter().for_each(|complaint| println!("at first sight: {complaint}"));
    standing.iter().for_each(|complaint| println!("at second sight: {complaint}"));
    assert_eq!(standing, [], "faults that are not noticed as they should be");
    assert!(passing <= first.rows.len() / PASSING, "{passing} faults were complained of at first sight only");
    assert!(first.signatures >= 50, "only {} faults can be told apart", first.signatures);
}

/// What a run is said to look like, it was under; and where that is not known, nothing is said. Some faults, each beside a legal
/// variant with what shows it and one more; `gateproof faults --diagnose` has more of both.
#[tokio::test(flavor = "multi_thread")]
async fn runs_look_like_what_they_were_under_or_like_nothing() {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let (plan, table) = (plan(), table());
    let faults = sample(plan.faults.clone(), DIAGNOSED);
    let runs = futures::stream::iter(faults.iter().map(|fault| record(&plan, fault, &table)));
    let runs = runs.buffer_unordered(plan.targets).try_filter_map(|run| std::future::ready(Ok(run)));
    let records: Vec<RunRecord> = runs.try_collect().await.expect("the embedded target can be tested");
    let found = Measured::of(&records, &plan.faults, &table, seed());
    println!("{found:#?}");
    assert_eq!(records.len(), faults.len());
    assert!(found.whole.right * 10 >= faults.len() * 7, "{:?} of {}", found.whole, faults.len());
    assert!(found.whole_unlisted.nothing * 10 >= found.whole_unlisted.asked() * 9, "{:?}", found.whole_unlisted);
}
