//! Nothing complains of what the specification leaves open, and what is wrong is noticed beside it.
//!
//! Each variant is run with some of the scenarios that it touches, and with a sample of all; both are drawn by a fixed seed.
//! `gateproof faults --variants` runs all of them with every scenario.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod process;
mod proof;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof::dialects::Reference;
use gateproof::kill::{self, Plan, TouchedBy};
use gateproof::log::{Body, Timing};
use gateproof::run::{Silent, embedded, run};
use gateproof::scenario::Scenario;
use gateproof_apiserver::crds::parse_bundle;
use gateproof_controllers::variants::{self, DELAY};
use gateproof_report::record::{Outcome, RunRecord, Severity, executions};
use gateproof_testbed::KnownVariant;
use proof::Quiet;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The program's own: runs side by side would wait for each other in that of the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many scenarios a sample has.
const SAMPLE: usize = 2;

/// How many of those that a variant touches are tried.
const TOUCHED: usize = 4;

/// Variants at once: most of the time is waiting.
const AT_ONCE: usize = 4;

/// The definitions of the older release, and how many variants are tried with them, each with how many scenarios.
const OLDER: &str = "v1.3.0/standard.yaml";
const OLDER_VARIANTS: usize = 10;
const OLDER_SAMPLE: usize = 10;

/// What the samples are drawn by.
const SEED: u64 = 1;

fn plan() -> Plan {
    proof::plan(Reference::GatewayApi, 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_passes_on_legal_variants() {
    let plan = proof::plan(Reference::GatewayApi, AT_ONCE);
    let touched = TouchedBy::builtin().expect("the table is well-formed");
    let mut draw = ChaCha8Rng::seed_from_u64(SEED);
    let trials: Vec<(KnownVariant, Arc<[Scenario]>)> = embedded::variants(Reference::GatewayApi)
        .into_iter()
        .map(|variant| {
            let names: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
            let touches: Vec<&str> = names.iter().copied().filter(|name| touched.touches(variant.name, name)).collect();
            let sample = names.choose_multiple(&mut draw, SAMPLE);
            let tried: HashSet<&str> = sample.chain(touches.choose_multiple(&mut draw, TOUCHED)).copied().collect();
            let is_tried = |scenario: &&Scenario| tried.contains(scenario.name.as_str());
            (variant, plan.scenarios.iter().filter(is_tried).cloned().collect())
        })
        .collect();
    let varied = kill::vary(&plan, &trials, &Quiet).await.expect("the embedded target can be tested");
    let tried: usize = trials.iter().map(|(_, scenarios)| scenarios.len()).sum();
    // A few ask for what is not supported.
    assert!(varied.runs > tried * 9 / 10, "{} of {tried}", varied.runs);
    assert!(varied.blamed.is_empty(), "{:#?}", varied.blamed);
}

/// What is legal is so at every release; one that is older than most features has the least in common with the built-in one.
///
/// Some of the variants, each with some scenarios; `gateproof faults --variants --crds FILE` runs all.
#[tokio::test(flavor = "multi_thread")]
async fn scenarios_pass_on_legal_variants_of_an_older_release() {
    let data = std::env::var_os("GATEPROOF_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    let bundle = data.join("crds/gateway-api").join(OLDER);
    let Ok(text) = std::fs::read_to_string(&bundle) else {
        process::skipped("bundles", &format!("there is no {}", bundle.display()));
        return;
    };
    let crds = parse_bundle(&text).unwrap().definitions;
    let plan = Plan { crds, ..proof::plan(Reference::GatewayApi, AT_ONCE) };
    let mut draw = ChaCha8Rng::seed_from_u64(SEED);
    let all = embedded::variants(Reference::GatewayApi);
    let trials: Vec<(KnownVariant, Arc<[Scenario]>)> = all
        .choose_multiple(&mut draw.clone(), OLDER_VARIANTS)
        .map(|variant| (*variant, plan.scenarios.choose_multiple(&mut draw, OLDER_SAMPLE).cloned().collect()))
        .collect();
    let varied = kill::vary(&plan, &trials, &Quiet).await.expect("the embedded target can be tested");
    // Most of what is newer is not supported there.
    assert!(varied.runs > OLDER_VARIANTS * OLDER_SAMPLE / 2, "{}", varied.runs);
    assert!(varied.blamed.is_empty(), "{:#?}", varied.blamed);
}

/// A scenario on a target with a budget for data paths that a late one uses up.
async fn record(scenario: &str, behaviour: &str) -> RunRecord {
    let plan = plan();
    let mut options = plan.run_on(Some(behaviour.to_owned()));
    options.timing = Some(Timing { converge: DELAY / 2, ..options.timing() });
    let scenarios = plan.scenarios.into_iter().filter(|one| one.name == scenario).collect();
    run(options, scenarios, &mut Silent).await.expect("the embedded target can be tested").record
}

/// How it ends.
async fn outcome(scenario: &str, behaviour: &str) -> (Outcome, String) {
    let record = record(scenario, behaviour).await;
    (record.scenarios[0].outcome, record.target.name)
}

/// A class may be taken beside another one or refused, but not left without a word.
///
/// Holds IMPL-30.
#[tokio::test(flavor = "multi_thread")]
async fn one_class_is_as_good_as_many() {
    for (behaviour, expected) in [
        ("variant:orders-listeners-otherwise", Outcome::Passed),
        ("variant:takes-one-class", Outcome::Passed),
        ("variant:takes-one-class+leaves-refused-classes-pending", Outcome::Failed),
    ] {
        let (outcome, _) = outcome("gatewayclass-accepted", behaviour).await;
        assert_eq!(outcome, expected, "{behaviour}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_should_be_and_is_left_undone_is_warned_of() {
    let by_variant = [
        ("takes-idle-services-for-broken", "httproute-no-endpoints"),
        ("leaves-entries-behind", "httproute-reparented"),
        ("lacks-room-for-long-names", "gateway-longest-names-served"),
        ("prefers-the-older-http", "grpcroute-protocols-of-clients"),
        ("ends-streams-with-their-clients", "tcproute-half-closed"),
        ("says-nothing-of-policies-for-udp", "backendtlspolicy-udp-port"),
    ];
    let leaving: Vec<&str> =
        variants::catalogue().filter(|one| !one.leaves_undone().is_empty()).map(|one| one.name).collect();
    assert!(leaving.iter().all(|name| by_variant.iter().any(|(variant, _)| variant == name)), "{leaving:?}");
    for (name, scenario) in by_variant {
        let record = record(scenario, &format!("variant:{name}")).await;
        let left = variants::find(name).expect("it is in the catalogue").leaves_undone();
        let [scenario] = &record.scenarios[..] else { panic!("{name}: {:?}", record.scenarios) };
        let is_warning = |severity: Severity, clauses: &[String]| {
            severity == Severity::Warning && clauses.iter().any(|clause| left.contains(&clause.as_str()))
        };
        assert_eq!(scenario.outcome, Outcome::Passed, "{name}");
        let is_told = scenario.findings.iter().any(|finding| is_warning(finding.severity, &finding.clauses))
            || record.contract.iter().any(|rule| !rule.breaches.is_empty() && is_warning(rule.severity, &rule.clauses));
        assert!(is_told, "{name}: {:?}", scenario.findings);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_noticed_beside_variants_and_other_faults() {
    let grant = "httproute-missing-reference-grant";
    for (scenario, behaviour, expected) in [
        (grant, "variant:starts-data-planes-late", Outcome::Passed),
        (grant, "ignores-reference-grants+variant:starts-data-planes-late", Outcome::Failed),
        (grant, "variant:adds-own-conditions+ignores-reference-grants", Outcome::Failed),
        (grant, "answers-404-for-missing-backends+ignores-reference-grants", Outcome::Failed),
        // What must not answer is asked once there is a data path that could.
        (
            "referencegrant-gateway-grant-elsewhere",
            "serves-forbidden-certificates+variant:starts-data-planes-late",
            Outcome::Failed,
        ),
        // A copy that must not come may come as late as one that must.
        ("httproute-mirror-of-one-rule", "variant:copies-later", Outcome::Passed),
        ("httproute-mirror-of-one-rule", "mirrors-whole-routes+variant:copies-later", Outcome::Failed),
        ("grpcroute-mirror-without-grant", "variant:copies-later", Outcome::Passed),
        (
            "grpcroute-mirror-without-grant",
            "takes-grants-to-httproutes-for-mirrors-of-calls+variant:copies-later",
            Outcome::Failed,
        ),
    ] {
        let (outcome, name) = outcome(scenario, behaviour).await;
        assert_eq!((outcome, name), (expected, format!("embedded:{behaviour}")));
    }
}

/// Those that come at once are in each other's way there, so a few come at a time, however many scenarios run at once.
#[tokio::test(flavor = "multi_thread")]
async fn gateways_come_a_few_at_a_time_where_they_take_long() {
    let plan = plan();
    let repeat = 20;
    let mut options = plan.run_on(Some("variant:starts-data-planes-on-one-node".to_owned()));
    (options.jobs, options.repeat) = (32, repeat);
    let scenarios = plan.scenarios.into_iter().filter(|one| one.name == "gateway-serves").collect();
    let output = run(options, scenarios, &mut Silent).await.unwrap();
    let passed = executions(&output.record, |outcome| outcome == Outcome::Passed);
    assert_eq!(passed, usize::try_from(repeat).unwrap());
    let (mut coming, mut most) = (HashSet::new(), 0);
    for event in &output.events {
        match &event.body {
            Body::Wrote(write) if write.key.kind == "Gateway" => {
                coming.insert(write.key.clone());
            }
            Body::Observed { key, object, .. } if coming.contains(key) => {
                let conditions = object["status"]["conditions"].as_array();
                if conditions.into_iter().flatten().any(|one| one["type"] == "Programmed" && one["status"] == "True") {
                    coming.remove(key);
                }
            }
            _ => {}
        }
        most = most.max(coming.len());
    }
    // Twelve, and twice as many once these have come.
    assert!((2..=12).contains(&most), "{most}");
}
