//! Trouble of the API server is not the target's: it changes no verdict of a target that behaves.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::log::{Body, Timing, TimingProfile};
use gateproof::run::{RunOptions, RunOutput, Silent, TargetChoice, run};
use gateproof::scenario::select::select;
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof::target::clock;
use gateproof_apiserver::Refusal;
use gateproof_report::record::Outcome;
use gateproof_testbed::{Testbed, TestbedOptions};
use rstest::rstest;

/// Classes, Gateways, routes of both kinds, grants; waits, holds, patches, deletions.
const SELECTION: [&str; 6] = [
    "gatewayclass-accepted",
    "gateway-attached-*",
    "gateway-deleted",
    "httproute-missing-*",
    "TCPRoute",
    "httproute-status-*",
];

fn scenarios() -> Vec<Scenario> {
    let vocabulary = Vocabulary::builtin();
    let all = load::builtin(&vocabulary).unwrap();
    let chosen = select(&all, &SELECTION.map(str::to_owned), &vocabulary).unwrap();
    chosen.into_iter().map(|index| all[index].clone()).collect()
}

/// The testbed as a cluster that is reached by a kubeconfig, over sockets.
fn options(testbed: &Testbed, timing: TimingProfile) -> RunOptions {
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: testbed.gateway_class().to_owned(),
        name: "in trouble".to_owned(),
    };
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    options.dial = vec![testbed.dial_rule().parse().unwrap()];
    options.single_gateway_class = Some(testbed.single_gateway_class().to_owned());
    options.timing = Some(Timing::of(timing));
    options
}

fn assert_all_passed(output: &RunOutput) {
    let others: Vec<_> = output.record.scenarios.iter().filter(|s| s.outcome != Outcome::Passed).collect();
    assert!(others.is_empty(), "{others:#?}");
    let broken: Vec<_> = output.record.contract.iter().filter(|rule| !rule.breaches.is_empty()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(output.leftovers, []);
    assert!(output.record.scenarios.len() > 20);
}

#[rstest]
#[case::too_many_requests(Refusal::TooManyRequests { retry_after: 1 }, 0.05)]
#[case::conflicts(Refusal::Conflict, 0.2)]
#[case::internal_errors(Refusal::Internal, 0.1)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_change_no_verdict(#[case] refusal: Refusal, #[case] share: f64) {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    testbed.server().trouble().refuse(refusal, share, 7);
    // A controller that is told to wait for a second needs more than the 5 s of a target in no trouble.
    let mut options = options(&testbed, TimingProfile::Embedded);
    options.timeout_scale = 4.0;
    let output = run(options, scenarios(), &mut Silent).await.unwrap();
    assert_all_passed(&output);
    testbed.shutdown().await;
}

/// Every watch ends, twice; with `compact`, what they missed is gone too, so they have to begin anew.
#[rstest]
#[case::dropped(false)]
#[case::expired(true)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_watches_change_no_verdict(#[case] compact: bool) {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    // Controllers that have to begin anew wait before they do, and longer the second time.
    let mut options = options(&testbed, TimingProfile::Embedded);
    options.timeout_scale = 4.0;
    let cut = async {
        for requests in [150, 300] {
            await_requests(&testbed, requests).await;
            if compact {
                testbed.server().compact();
            }
            testbed.server().trouble().cut_watches();
        }
    };
    let mut progress = Silent;
    let (output, ()) = tokio::join!(run(options, scenarios(), &mut progress), cut);
    let output = output.unwrap();
    let gaps = output.events.iter().filter(|event| matches!(event.body, Body::Gap { .. })).count();
    assert_eq!(gaps > 0, compact, "{gaps} gaps");
    assert_all_passed(&output);
    testbed.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_ten_seconds_changes_no_verdict() {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let options = options(&testbed, TimingProfile::Real);
    let outage = async {
        await_requests(&testbed, 150).await;
        testbed.server().trouble().go_away();
        clock::until(clock::now() + Duration::from_secs(10)).await;
        testbed.server().trouble().come_back();
    };
    let mut progress = Silent;
    let (output, ()) = tokio::join!(run(options, scenarios(), &mut progress), outage);
    let output = output.unwrap();
    let away: u64 = output.events.iter().filter_map(|event| unreachable(&event.body)).sum();
    assert!(away > 8_000_000, "{away} us");
    assert_all_passed(&output);
    testbed.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_comes_back_leaves_everything_open() {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&testbed, TimingProfile::Embedded);
    let file = folder.path().join("events.jsonl");
    options.events_file = Some(file.clone());
    let outage = async {
        await_requests(&testbed, 150).await;
        testbed.server().trouble().go_away();
    };
    let mut progress = Silent;
    let (output, ()) = tokio::join!(run(options, scenarios(), &mut progress), outage);
    let output = output.unwrap();
    let outcomes = |outcome| output.record.scenarios.iter().filter(|s| s.outcome == outcome).count();
    assert!(outcomes(Outcome::Inconclusive) > 10);
    assert_eq!(outcomes(Outcome::Inconclusive) + outcomes(Outcome::Passed), output.record.scenarios.len());
    assert!(!output.leftovers.is_empty(), "what could not be removed is told");
    let logged = gateproof::log::codec::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(matches!(logged.last().unwrap().body, Body::RunEnded { interrupted: false }));
    testbed.shutdown().await;
}

fn unreachable(body: &Body) -> Option<u64> {
    match body {
        Body::Unreachable { by } => Some(*by),
        _ => None,
    }
}

/// Returns once the run is in full swing.
async fn await_requests(testbed: &Testbed, count: u64) {
    while testbed.requests().iter().map(|counted| counted.count).sum::<u64>() < count {
        clock::until(clock::now() + Duration::from_millis(20)).await;
    }
}
