//! Dialects on their embedded targets: the reference passes, every fault of it is noticed for a clause that it breaks, and what is left
//! open passes.
//!
//! A sample of the faults and variants, drawn by a fixed seed; all of them with `GATEPROOF_FULL=1`.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt, stream};
use gateproof::dialects::Other;
use gateproof::run::{self, RunOptions, Silent, TargetChoice};
use gateproof::scenario::{Scenario, load, select};
use gateproof::suite::Suite;
use gateproof_report::record::{Outcome, RunRecord, Severity};
use gateproof_testbed::{KnownFault, KnownVariant, aso, kuadrant};
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rstest::rstest;
use tokio::sync::Mutex;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many targets with a fault run at once. What fails waits for its deadline, which costs nothing.
const TARGETS: usize = 6;

/// One in how many faults and variants the sample has.
const ONE_IN: usize = 4;

/// What the sample is drawn by.
const SEED: u64 = 1;

/// One test at a time, so that no more targets run than that.
static TURN: Mutex<()> = Mutex::const_new(());

/// Faults that nothing notices for a clause of theirs, with the reason. They are holes.
const UNNOTICED: [(Other, &str, &str); 5] = [
    (Other::Aso, "canceled-operation-is-done", "the resource itself says Canceled, which the reference believes"),
    (Other::Aso, "forgets-status", "that a wiped status comes back before an edit is a SHOULD, so there is a warning"),
    (Other::Kuadrant, "hides-partial-enforcement", "that a message speaks of it is a SHOULD, so there is a warning"),
    (Other::Kuadrant, "ignores-missing-dependencies", "no definition that a run needs can be missing while it runs"),
    (Other::Aso, "takes-over", "it fights with itself over its own objects too, and these are never Ready"),
];

fn faults(other: Other) -> Vec<KnownFault> {
    match other {
        Other::Aso => aso::faults(),
        Other::Kuadrant => kuadrant::faults(),
    }
}

fn variants(other: Other) -> Vec<KnownVariant> {
    match other {
        Other::Aso => aso::variants(),
        Other::Kuadrant => kuadrant::variants(),
    }
}

/// A sample of `all`, or the whole if that is asked for.
fn sample<T: Clone>(all: Vec<T>) -> Vec<T> {
    if std::env::var_os("GATEPROOF_FULL").is_some() {
        return all;
    }
    all.choose_multiple(&mut ChaCha8Rng::seed_from_u64(SEED), all.len().div_ceil(ONE_IN)).cloned().collect()
}

fn suite(other: Other) -> (Suite, Vec<Scenario>) {
    let suite = Suite::named(other.dialect()).expect("it is built in").expect("it is well-formed");
    let scenarios =
        load::parsed(&suite.manifests().unwrap(), &suite.vocabulary).expect("its manifests are well-formed");
    (suite, scenarios)
}

async fn record(suite: &Suite, other: Other, fault: Option<String>, scenarios: Vec<Scenario>) -> RunRecord {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = RunOptions::new(TargetChoice::EmbeddedOther { other, fault }, Arc::clone(&suite.contract));
    run::run(options, scenarios, &mut Silent).await.expect("the embedded target runs").record
}

/// What fails, with the clauses that it is about.
fn failures(record: &RunRecord) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for scenario in &record.scenarios {
        let failed = scenario.findings.iter().filter(|finding| finding.severity == Severity::Failure);
        let before = all.len();
        all.extend(failed.map(|one| (format!("{} {}", scenario.name, one.expectation), one.clauses.clone())));
        if scenario.outcome != Outcome::Passed && all.len() == before {
            all.push((format!("{} {:?} {:?}", scenario.name, scenario.outcome, scenario.reason), Vec::new()));
        }
    }
    let broken = record.contract.iter().filter(|rule| rule.severity == Severity::Failure && !rule.breaches.is_empty());
    all.extend(broken.map(|rule| (rule.name.clone(), rule.clauses.clone())));
    all
}

#[rstest]
#[case::aso(Other::Aso, 60)]
#[case::kuadrant(Other::Kuadrant, 70)]
#[tokio::test(flavor = "multi_thread")]
async fn the_reference_passes(#[case] other: Other, #[case] at_least: usize) {
    let _turn = TURN.lock().await;
    let (suite, scenarios) = suite(other);
    assert!(scenarios.len() > at_least);
    assert_eq!(failures(&record(&suite, other, None, scenarios).await), []);
}

#[rstest]
#[case::aso(Other::Aso)]
#[case::kuadrant(Other::Kuadrant)]
fn every_fault_breaks_clauses_that_there_are(#[case] other: Other) {
    let (suite, _) = suite(other);
    let unknown: Vec<_> = faults(other)
        .iter()
        .flat_map(|fault| fault.clauses.iter().map(|clause| (fault.name, *clause)))
        .filter(|(_, clause)| suite.requirement(clause).is_none())
        .collect();
    assert_eq!(unknown, []);
}

/// Each with the scenarios that prove a clause of it.
#[rstest]
#[case::aso(Other::Aso, 60)]
#[case::kuadrant(Other::Kuadrant, 50)]
#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_noticed_for_a_clause_that_it_breaks(#[case] other: Other, #[case] at_least: usize) {
    let _turn = TURN.lock().await;
    let (suite, scenarios) = suite(other);
    let (suite, scenarios) = (&suite, &scenarios);
    let run = |fault: KnownFault| async move {
        let proves = |scenario: &&Scenario| {
            let clauses: BTreeSet<String> = select::clauses(scenario).into_iter().map(|it| it.to_string()).collect();
            fault.clauses.iter().any(|clause| clauses.contains(*clause))
        };
        let mut chosen: Vec<Scenario> = scenarios.iter().filter(proves).cloned().collect();
        if chosen.is_empty() {
            // Then it is for the contract, which looks at any.
            chosen = scenarios.clone();
        }
        let failed = failures(&record(suite, other, Some(fault.name.to_owned()), chosen).await);
        let own =
            |(_, clauses): &(String, Vec<String>)| fault.clauses.iter().any(|own| clauses.iter().any(|c| c == own));
        (fault.name, failed.iter().any(own), failed)
    };
    let tried = faults(other);
    assert!(tried.len() >= at_least);
    let all: Vec<_> = stream::iter(sample(tried)).map(run).buffer_unordered(TARGETS).collect().await;
    let known = |name: &str| UNNOTICED.iter().any(|(of, unnoticed, _)| (*of, *unnoticed) == (other, name));
    let wrong: Vec<_> = all.iter().filter(|(name, noticed, _)| *noticed == known(name)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[rstest]
#[case::aso(Other::Aso)]
#[case::kuadrant(Other::Kuadrant)]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_open_passes(#[case] other: Other) {
    let _turn = TURN.lock().await;
    let (suite, scenarios) = suite(other);
    let (suite, scenarios) = (&suite, &scenarios);
    let run = |variant: KnownVariant| async move {
        let fault = Some(format!("variant:{}", variant.name));
        (variant.name, failures(&record(suite, other, fault, scenarios.clone()).await))
    };
    let all: Vec<_> = stream::iter(sample(variants(other))).map(run).buffer_unordered(2).collect().await;
    assert!(!all.is_empty());
    let wrong: Vec<_> = all.iter().filter(|(_, failed)| !failed.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
