//! Backends that run in the cluster instead of this process, with no right too many.
#![allow(clippy::unwrap_used)]

mod least;
mod process;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use gateproof::cluster::api::Api;
use gateproof::cluster::connect::{Source, connect};
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::run::permissions::{Need, Permissions, Ways, kinds_of};
use gateproof::run::{Bystander, RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Verb};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Behaviour, Testbed, TestbedOptions};
use http::Method;
use least::{kubeconfig, scenarios};
use rstest::rstest;
use tempfile::tempdir;

/// Identities, journals, shares, bytes, no endpoints, and Services that go, come back and change.
const SELECTION: [&str; 13] = [
    "httproute-missing-backend",
    "httproute-h2c-beside-http",
    "httproute-headless-service",
    "httproute-late-backend",
    "httproute-mirror",
    "httproute-no-endpoints",
    "httproute-port-of-endpoints",
    "httproute-unready-endpoint",
    "httproute-unspoken-protocol",
    "httproute-uneven-weights",
    "tcproute-missing-backend",
    "tcproute-no-endpoints",
    "tcproute-simple",
];
/// They are about endpoints that only hosted backends have.
const LEFT_OUT: [&str; 2] = ["httproute-port-of-endpoints", "httproute-unready-endpoint"];

const DEPLOYED: Ways = Ways { port_forward: false, deployed: true };

async fn options(testbed: &Testbed, selection: &[&str], image: &str) -> RunOptions {
    let target = TargetChoice::Running {
        kubeconfig: kubeconfig(testbed, &scenarios(selection), DEPLOYED).await,
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "embedded".to_owned(),
    };
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    RunOptions {
        dial: vec![testbed.dial_rule().parse().unwrap()],
        backend_image: Some(image.to_owned()),
        ..RunOptions::new(target, contract)
    }
}

async fn testbed() -> Testbed {
    Testbed::start(TestbedOptions { workloads: true, ..TestbedOptions::default() }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_serve_as_well_as_hosted_ones() {
    let testbed = testbed().await;
    let options = RunOptions {
        preflight: true,
        request: Some(Arc::new(least::tried())),
        ..options(&testbed, &SELECTION, "example.com/gateproof-echo:v1").await
    };
    let output = run(options, scenarios(&SELECTION), &mut Silent).await.unwrap();
    for scenario in &output.record.scenarios {
        let expected = if LEFT_OUT.contains(&scenario.name.as_str()) { Outcome::Skipped } else { Outcome::Passed };
        assert_eq!(scenario.outcome, expected, "{scenario:#?}");
    }
    assert_eq!(output.record.scenarios.len(), SELECTION.len());
    assert!(output.leftovers.is_empty(), "{:?}", output.leftovers);
    // Nothing is asked that is not in the role, and everything in it is asked.
    let ran =
        scenarios(&SELECTION).into_iter().filter(|one| !LEFT_OUT.contains(&one.name.as_str())).chain([least::tried()]);
    let ran: Vec<_> = ran.collect();
    let needed = Permissions::of(ran.iter(), &kinds_of(ran.iter()), DEPLOYED);
    let asked: BTreeSet<String> = testbed
        .requests()
        .into_iter()
        .filter(|count| count.user_agent.starts_with("gateproof/"))
        .map(|count| format!("{} {}", count.verb, count.resource))
        .collect();
    for permission in needed.iter().filter(|one| one.need == Need::Run && one.verb != "create") {
        let dot = if permission.group.is_empty() { "" } else { "." };
        let row = format!("{} {}{dot}{}", permission.verb, permission.resource, permission.group);
        assert!(asked.contains(&row), "{row} is permitted, and not asked: {asked:?}");
    }
    assert!(asked.contains("get pods/proxy") && !asked.contains("patch endpointslices.discovery.k8s.io"), "{asked:?}");
    testbed.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_does_not_come_up_says_nothing_about_the_target() {
    let testbed = testbed().await;
    let selection = &SELECTION[..1];
    let mut options = options(&testbed, selection, "example.com/other:v1").await;
    options.timeout_scale = 0.2;
    let output = run(options, scenarios(selection), &mut Silent).await.unwrap();
    let scenario = &output.record.scenarios[0];
    assert_eq!(scenario.outcome, Outcome::Inconclusive, "{scenario:#?}");
    let told = format!("{scenario:?}");
    assert!(told.contains("backend `echo` has no ready endpoint") && told.contains("--backend-image"), "{told}");
    testbed.shutdown().await;
}

/// A node that is short of memory: before the first probe it ends every backend.
struct Evicts {
    api: Api,
    has: AtomicBool,
}

impl fmt::Debug for Evicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Evicts")
    }
}

#[async_trait]
impl Bystander for Evicts {
    async fn at_step(&self, scenario: &Scenario, step: usize) {
        if !matches!(scenario.steps[step].verb, Verb::Probe(_)) || self.has.swap(true, Ordering::SeqCst) {
            return;
        }
        let pods = self.api.get("/api/v1/pods?labelSelector=gateproof.dev/backend").await.unwrap();
        for pod in pods["items"].as_array().unwrap() {
            let (namespace, name) = (&pod["metadata"]["namespace"], &pod["metadata"]["name"]);
            let path = format!("/api/v1/namespaces/{}/pods/{}", namespace.as_str().unwrap(), name.as_str().unwrap());
            self.api.call(Method::DELETE, &path, None, Vec::new()).await.unwrap();
        }
    }
}

/// What is wrong while a backend is gone may be so because of that.
#[rstest]
#[case::they_stay(false, Outcome::Failed)]
#[case::they_are_evicted(true, Outcome::Inconclusive)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_whose_backends_are_evicted_is_not_judged(#[case] evicts: bool, #[case] outcome: Outcome) {
    let behaviour = Behaviour::of(Some("answers-404-for-missing-backends")).unwrap();
    let faulty = TestbedOptions { workloads: true, behaviour, ..TestbedOptions::default() };
    let testbed = Testbed::start(faulty).await.unwrap();
    let selection = &["httproute-missing-backend"];
    let mut options = options(&testbed, selection, "example.com/gateproof-echo:v1").await;
    let api = connect(&Source::Text(testbed.kubeconfig())).await.unwrap();
    options.preflight = false;
    options.bystander = evicts.then(|| Arc::new(Evicts { api, has: AtomicBool::new(false) }) as Arc<dyn Bystander>);
    let output = run(options, scenarios(selection), &mut Silent).await.unwrap();
    let scenario = &output.record.scenarios[0];
    assert_eq!(scenario.outcome, outcome, "{scenario:#?}");
    let told = format!("{scenario:?}");
    assert_eq!(told.contains("the Pod of backend `echo` is no longer a ready endpoint"), evicts, "{told}");
    testbed.shutdown().await;
}

#[rstest]
#[case::no_image(&["--gateway-class", "x", "--backends", "deployed"], "needs --backend-image")]
#[case::image_of_hosted_ones(&["--backend-image", "x"], "--backend-image is for deployed backends")]
#[case::address(&["--backends", "deployed", "--backend-address", "127.0.0.1"], "--backend-address is for hosted backends")]
fn what_makes_no_sense_is_refused(#[case] arguments: &[&str], #[case] told: &str) {
    let dir = tempdir().unwrap();
    let ended = process::run(dir.path(), &[&["run"], arguments].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains(told), "{}", ended.said());
}
