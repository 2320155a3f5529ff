//! The references of the dialects beside Gateway API: the proofs of the kill matrix, of legal variants, of inversion and of pinpoint
//! faults, by the machinery that proves those of Gateway API.
//!
//! Samples drawn by a fixed seed; everything with `GATEPROOF_FULL=1`, or by `gateproof faults --dialect NAME`.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod proof;

use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof::dialects::Reference;
use gateproof::kill::{self, Complaint, Extent, Plan, ShownBy, Trial};
use gateproof::run::{Silent, embedded, run};
use gateproof::scenario::Scenario;
use gateproof::scenario::select::clauses;
use gateproof_report::record::{Outcome, Severity};
use proof::{Quiet, sample, seed};
use rstest::rstest;
use tokio::sync::Semaphore;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Targets at once. What fails waits for its deadline, which costs nothing.
const TARGETS: usize = 6;

/// One in how many faults the sample has.
const ONE_IN: usize = 12;

/// One in how many variants, each with how many scenarios.
const VARIANT_IN: usize = 12;
const VARIED: usize = 20;

/// How many expectations are negated, and how many pinned.
const SAMPLE: usize = 8;

/// Two tests at a time, so that no more targets run than twice that.
static TURN: Semaphore = Semaphore::const_new(2);

#[rstest]
#[case::aso(Reference::Aso, None, 60)]
#[case::aso_as_designed(Reference::Aso, Some("design"), 40)]
#[case::kuadrant(Reference::Kuadrant, None, 70)]
#[case::kuadrant_as_designed(Reference::Kuadrant, Some("design"), 75)]
#[case::contour(Reference::Contour, None, 80)]
#[case::contour_as_designed(Reference::Contour, Some("design"), 15)]
#[tokio::test(flavor = "multi_thread")]
async fn the_reference_passes(#[case] reference: Reference, #[case] edition: Option<&str>, #[case] at_least: usize) {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let plan = proof::plan_in(reference, edition, TARGETS);
    assert!(plan.scenarios.len() > at_least);
    let record = run(plan.run_on(None), plan.scenarios, &mut Silent).await.expect("the embedded target runs").record;
    let wrong: Vec<_> = record.scenarios.iter().filter(|one| one.outcome != Outcome::Passed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let broken = |rule: &&gateproof_report::record::ContractRecord| {
        rule.severity == Severity::Failure && !rule.breaches.is_empty()
    };
    let broken: Vec<_> = record.contract.iter().filter(broken).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[rstest]
#[case::aso(Reference::Aso, None, 60)]
#[case::kuadrant(Reference::Kuadrant, None, 50)]
#[case::aso_as_designed(Reference::Aso, Some("design"), 45)]
#[case::kuadrant_as_designed(Reference::Kuadrant, Some("design"), 60)]
#[case::contour(Reference::Contour, None, 90)]
#[case::contour_as_designed(Reference::Contour, Some("design"), 60)]
fn the_table_names_every_fault_and_what_there_is(
    #[case] reference: Reference,
    #[case] edition: Option<&str>,
    #[case] at_least: usize,
) {
    let plan = proof::plan_in(reference, edition, 1);
    let faults = ShownBy::faults(reference, edition).expect("the tables are well-formed");
    assert!(faults.len() >= at_least);
    let table = ShownBy::in_edition(reference, edition).expect("the table is well-formed");
    let problems = table.problems(&faults, &plan.scenarios, &plan.suite.contract.rule_names());
    assert_eq!(problems, Vec::<String>::new());
}

/// Faults that break a clause of an edition where nothing can show them, with the reason.
const UNSEEN: &[(Reference, &str, &[&str])] = &[
    // References to other resources, policies and codes of which the document says nothing.
    (
        Reference::Aso,
        "design",
        &["empty-reason", "hears-edits-alone", "looks-up-once", "missing-group-as-error", "watches-for-ever"],
    ),
    // Nothing is sent again there.
    (Reference::Aso, "design", &["observes-backwards", "renews-time-when-resending"]),
    // What ships serves hosts that are wildcards.
    (Reference::Contour, "current", &["accepts-wildcards"]),
    // It has no word on finalizers, nor on annotations of operations.
    (Reference::Aso, "design", &["claims-before-owner", "keeps-operation"]),
    // What ships merges such policies, so that none of them conflict.
    (
        Reference::Kuadrant,
        "current",
        &[
            "accepts-second-auth-policies",
            "accepts-second-rate-limit-policies",
            "acts-by-conflicted-policies",
            "refuses-both-in-conflict",
        ],
    ),
    // RFC 0004 allows Enforced=False beside a refusal, leaves open what a message says of a service, and has such policies conflict.
    (
        Reference::Kuadrant,
        "design",
        &["keeps-enforced-beside-refusals", "hides-the-stopped-service", "calls-younger-policies-conflicted"],
    ),
    // The definition of entries for ancestors lets no such conditions through.
    (Reference::Kuadrant, "design", &["says-it-twice", "writes-empty-statuses"]),
    // What ships stops at a Secret, and has no such reason.
    (Reference::Contour, "current", &["accepts-services-that-are-not-found", "stops-telling-at-secrets"]),
    // The document has other families for these headers, other names for the older fields, no orphans, and no warning that is final.
    (
        Reference::Contour,
        "design",
        &["accepts-odd-headers-of-services", "keeps-the-old-fields", "takes-warnings-for-errors", "turns-by-itself"],
    ),
    // It has no tokens, no authorization and no lists of revoked certificates.
    (Reference::Contour, "design", &["stops-in-clear-text-alone"]),
];

/// An edition is no excuse for not noticing what breaks a clause that holds in it.
#[rstest]
#[case::aso(Reference::Aso, "current")]
#[case::aso_as_designed(Reference::Aso, "design")]
#[case::kuadrant(Reference::Kuadrant, "current")]
#[case::kuadrant_as_designed(Reference::Kuadrant, "design")]
#[case::contour(Reference::Contour, "current")]
#[case::contour_as_designed(Reference::Contour, "design")]
fn what_breaks_a_clause_of_an_edition_is_noticed_there(#[case] reference: Reference, #[case] edition: &str) {
    let plan = proof::plan_in(reference, Some(edition), 1);
    let table = ShownBy::in_edition(reference, plan.suite.other_edition()).expect("the table is well-formed");
    let unseen: BTreeSet<&str> = UNSEEN
        .iter()
        .filter(|(of, there, _)| *of == reference && *there == edition)
        .flat_map(|(_, _, faults)| faults.iter().copied())
        .collect();
    let wrong: Vec<_> = embedded::faults(reference)
        .iter()
        .filter(|fault| {
            let is_to_be_shown = !plan.declared(fault).is_empty() && !unseen.contains(fault.name);
            is_to_be_shown == table.of(fault.name).is_empty()
        })
        .map(|fault| fault.name)
        .collect();
    assert_eq!(wrong, Vec::<&str>::new());
}

#[rstest]
#[case::aso(Reference::Aso)]
#[case::kuadrant(Reference::Kuadrant)]
#[case::contour(Reference::Contour)]
fn every_fault_breaks_clauses_that_there_are(#[case] reference: Reference) {
    let suite = proof::plan(reference, 1).suite;
    let unknown: Vec<_> = embedded::faults(reference)
        .iter()
        .flat_map(|fault| fault.clauses.iter().map(|clause| (fault.name, *clause)))
        .filter(|(_, clause)| suite.requirement(clause).is_none())
        .collect();
    assert_eq!(unknown, []);
}

/// What is asked of a target has a mistake of the reference against it.
#[rstest]
#[case::aso(Reference::Aso, None)]
#[case::kuadrant(Reference::Kuadrant, None)]
#[case::contour(Reference::Contour, None)]
#[case::contour_as_designed(Reference::Contour, Some("design"))]
fn every_clause_that_a_scenario_names_is_broken_by_a_fault(
    #[case] reference: Reference,
    #[case] edition: Option<&str>,
) {
    let plan = proof::plan_in(reference, edition, 1);
    let broken: BTreeSet<&str> =
        embedded::faults(reference).iter().flat_map(|fault| fault.clauses.iter().copied()).collect();
    let named: BTreeSet<_> = plan.scenarios.iter().flat_map(clauses).collect();
    let whole: Vec<&str> = plan
        .suite
        .requirements
        .iter()
        .filter(|one| one.in_scope() && named.contains(one.id.as_str()) && !broken.contains(one.id.as_str()))
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(whole, Vec::<&str>::new());
}

/// Each with the scenarios that are named to show it, and another. What that complains of is looked at again.
#[rstest]
#[case::aso(Reference::Aso, None)]
#[case::aso_as_designed(Reference::Aso, Some("design"))]
#[case::kuadrant(Reference::Kuadrant, None)]
#[case::kuadrant_as_designed(Reference::Kuadrant, Some("design"))]
#[case::contour(Reference::Contour, None)]
#[case::contour_as_designed(Reference::Contour, Some("design"))]
#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_noticed_for_what_it_declares(#[case] reference: Reference, #[case] edition: Option<&str>) {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let table = ShownBy::in_edition(reference, edition).expect("the table is well-formed");
    let all = ShownBy::faults(reference, edition).expect("the tables are well-formed");
    let size = all.len().div_ceil(ONE_IN);
    let faults = sample(all, size);
    let mut plan = Plan { faults, extent: Extent::Sample(seed()), ..proof::plan_in(reference, edition, TARGETS) };
    let first = kill::drive(&plan, &table, &Quiet).await;
    assert_eq!(first.rows.len(), plan.faults.len());
    let doubtful: BTreeSet<&str> = first.complaints.iter().map(Complaint::fault).collect();
    plan.faults.retain(|fault| doubtful.contains(fault.name));
    plan.extent = Extent::Again(first.complaints.clone());
    assert_eq!(
        kill::drive(&plan, &table, &Quiet).await.complaints,
        [],
        "faults that are not noticed as they should be"
    );
}

#[rstest]
#[case::aso(Reference::Aso, None)]
#[case::aso_as_designed(Reference::Aso, Some("design"))]
#[case::kuadrant(Reference::Kuadrant, None)]
#[case::kuadrant_as_designed(Reference::Kuadrant, Some("design"))]
#[case::contour(Reference::Contour, None)]
#[case::contour_as_designed(Reference::Contour, Some("design"))]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_open_passes(#[case] reference: Reference, #[case] edition: Option<&str>) {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let plan = proof::plan_in(reference, edition, TARGETS);
    let all = embedded::variants(reference);
    let size = all.len().div_ceil(VARIANT_IN);
    let scenarios: Arc<[Scenario]> = sample(plan.scenarios.clone(), VARIED).into();
    let trials: Vec<_> = sample(all, size).into_iter().map(|variant| (variant, Arc::clone(&scenarios))).collect();
    let varied = kill::vary(&plan, &trials, &Quiet).await.expect("the embedded target runs");
    assert_eq!(varied.runs, trials.len() * scenarios.len());
    assert!(varied.blamed.is_empty(), "{:#?}", varied.blamed);
}

#[rstest]
#[case::aso(Reference::Aso, None)]
#[case::aso_as_designed(Reference::Aso, Some("design"))]
#[case::kuadrant(Reference::Kuadrant, None)]
#[case::kuadrant_as_designed(Reference::Kuadrant, Some("design"))]
#[case::contour(Reference::Contour, None)]
#[case::contour_as_designed(Reference::Contour, Some("design"))]
#[tokio::test(flavor = "multi_thread")]
async fn the_plain_reference_fails_at_every_negated_value(#[case] reference: Reference, #[case] edition: Option<&str>) {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let plan = proof::plan_in(reference, edition, TARGETS);
    let (all, _) = kill::negated(&plan.scenarios);
    let chosen: Vec<Trial> = sample(all, SAMPLE);
    assert!(chosen.len() >= SAMPLE);
    let found = kill::invert_all(&plan, chosen, &Quiet).await.expect("the embedded target runs");
    assert_eq!(proof::survivors(&found), Vec::<String>::new());
}

#[rstest]
#[case::aso(Reference::Aso, None)]
#[case::aso_as_designed(Reference::Aso, Some("design"))]
#[case::kuadrant(Reference::Kuadrant, None)]
#[case::kuadrant_as_designed(Reference::Kuadrant, Some("design"))]
#[case::contour(Reference::Contour, None)]
#[case::contour_as_designed(Reference::Contour, Some("design"))]
#[tokio::test(flavor = "multi_thread")]
async fn every_expectation_fails_alone_for_what_the_target_does(
    #[case] reference: Reference,
    #[case] edition: Option<&str>,
) {
    let _turn = TURN.acquire().await.expect("nobody closes it");
    let plan = proof::plan_in(reference, edition, TARGETS);
    let chosen: Vec<Trial> = sample(kill::pinned(&plan.scenarios), SAMPLE);
    assert!(chosen.len() >= SAMPLE);
    let found = kill::pin_all(&plan, chosen, &Quiet).await.expect("the embedded target runs");
    assert_eq!(proof::survivors(&found), Vec::<String>::new());
}
