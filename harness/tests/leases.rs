//! What one run at a time may have: taken, waited for, taken over, given back; and what `clean` makes of a run's sign of life.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gateproof::cluster::api::Api;
use gateproof::cluster::clean::runs;
use gateproof::cluster::clock;
use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::lease::{LOCKS, LeaseError, Leases, give_back};
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::log::{Timing, TimingProfile};
use gateproof::run::{Bystander, RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof_apiserver::{Options, Server};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Testbed, TestbedOptions};
use http::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

async fn server() -> (Server, Api) {
    let server = Server::start(Options::default()).await.unwrap();
    let api = connect(&Source::Text(server.kubeconfig())).await.unwrap();
    (server, api)
}

fn of(api: &Api, run: &str) -> Leases {
    Leases::new(api.clone(), run, Duration::ZERO, CancellationToken::new())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn held(api: &Api) -> Vec<(String, String)> {
    let list = api.get(&format!("/apis/coordination.k8s.io/v1/namespaces/{LOCKS}/leases")).await.unwrap();
    let text = |lease: &Value, at: &str| lease.pointer(at).unwrap().as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|lease| (text(lease, "/metadata/name"), text(lease, "/spec/holderIdentity"))).collect()
}

async fn post(api: &Api, path: &str, object: Value) {
    let body = object.to_string().into_bytes();
    let reply = api.call(Method::POST, path, Some("application/json"), body).await.unwrap();
    assert!(reply.code < 300, "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_has_another_waits_for() {
    let (_server, api) = server().await;
    let (first, gone) = of(&api, "aaaaaa").take(names(&["lane-b", "cluster", "cluster"])).await.unwrap();
    assert_eq!(gone, names(&[]));
    let by = |holder: &str| [("cluster", holder), ("lane-b", holder)].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(held(&api).await, by("aaaaaa"));
    let second = of(&api, "bbbbbb");
    let waiting = tokio::spawn(async move { second.take(names(&["cluster", "lane-b"])).await });
    // Nothing of it is had while the other one has it.
    while !waiting.is_finished() && held(&api).await != by("aaaaaa") {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished());
    give_back(first).await;
    let (second, gone) = waiting.await.unwrap().unwrap();
    assert_eq!((held(&api).await, gone), (by("bbbbbb").to_vec(), names(&[])));
    give_back(second).await;
    assert_eq!(held(&api).await, []);
}

/// Within a run, too, one at a time has what only one may have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_execution_has_another_one_of_the_run_waits_for() {
    let (_server, api) = server().await;
    let run = of(&api, "aaaaaa");
    let (first, _) = run.take(names(&["lane"])).await.unwrap();
    let taking = run.clone();
    let waiting = tokio::spawn(async move { taking.take(names(&["lane", "other"])).await });
    // Others come and go meanwhile.
    for _ in 0..10 {
        give_back(run.take(names(&["another"])).await.unwrap().0).await;
    }
    assert!(!waiting.is_finished());
    give_back(first).await;
    let (second, gone) = waiting.await.unwrap().unwrap();
    assert_eq!((second.len(), gone), (2, names(&[])));
    // What is given back late takes nothing from who has it now.
    give_back(second).await;
    assert_eq!(held(&api).await, []);
    assert!(run.take(names(&["lane"])).await.is_ok() && run.lost().is_none());
}

/// At its first step somebody removes every Lease of a run, and lets it go on once the run has asked for one.
struct Remover {
    testbed: Arc<Testbed>,
    api: Api,
    has_begun: AtomicBool,
}

impl std::fmt::Debug for Remover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remover")
    }
}

impl Remover {
    fn renewals(&self) -> u64 {
        let counted = self.testbed.requests().into_iter();
        counted.filter(|one| one.verb == "patch" && one.resource.starts_with("leases")).map(|one| one.count).sum()
    }
}

#[async_trait]
impl Bystander for Remover {
    async fn at_step(&self, _: &Scenario, _: usize) {
        if self.has_begun.swap(true, Ordering::SeqCst) {
            return;
        }
        let all = self.api.get("/apis/coordination.k8s.io/v1/leases?labelSelector=gateproof.dev/run").await.unwrap();
        for lease in all["items"].as_array().unwrap() {
            let (namespace, name) = (&lease["metadata"]["namespace"], &lease["metadata"]["name"]);
            let (namespace, name) = (namespace.as_str().unwrap(), name.as_str().unwrap());
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
            self.api.call(Method::DELETE, &path, None, Vec::new()).await.unwrap();
        }
        let before = self.renewals();
        let renewed = async {
            while self.renewals() == before {
                clock::until(clock::now() + Duration::from_millis(20)).await;
            }
        };
        // One that came before that was counted is the last.
        let _ = tokio::time::timeout(Duration::from_secs(15), renewed).await;
    }
}

/// Whoever took it may be at work where the run is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_lease_is_taken_says_nothing_of_the_target() {
    let testbed = Arc::new(Testbed::start(TestbedOptions::default()).await.unwrap());
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "of another".to_owned(),
    };
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    options.dial = vec![testbed.dial_rule().parse().unwrap()];
    options.timing = Some(Timing::of(TimingProfile::Embedded));
    (options.jobs, options.preflight) = (1, false);
    let api = connect(&Source::Text(testbed.kubeconfig())).await.unwrap();
    let has_begun = AtomicBool::new(false);
    options.bystander = Some(Arc::new(Remover { testbed: Arc::clone(&testbed), api, has_begun }));
    let chosen = ["httproute-missing-backend", "httproute-unknown-backend-kind"];
    let mut scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    scenarios.retain(|scenario| chosen.contains(&&*scenario.name));
    assert_eq!(scenarios.len(), 2);
    let output = run(options, scenarios, &mut Silent).await.unwrap();
    let reason = "the Lease run of this run is gone: somebody removed it, or `gateproof clean` took the run for one that is over; \
                  what others do now may show in what it sees";
    for scenario in &output.record.scenarios {
        assert_eq!(
            (scenario.outcome, scenario.reason.as_deref()),
            (Outcome::Inconclusive, Some(reason)),
            "{scenario:#?}"
        );
    }
    assert_eq!(output.leftovers, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_broken_off_waits_no_longer() {
    let (_server, api) = server().await;
    let (_first, _) = of(&api, "aaaaaa").take(names(&["cluster"])).await.unwrap();
    let stop = CancellationToken::new();
    let second = Leases::new(api.clone(), "bbbbbb", Duration::ZERO, stop.clone());
    let waiting = tokio::spawn(async move { second.take(names(&["a", "cluster"])).await.map(|_| ()) });
    while held(&api).await.len() < 2 {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    assert!(matches!(waiting.await.unwrap(), Err(LeaseError::Stopped(name)) if name == "cluster"));
    assert_eq!(held(&api).await, [("cluster".to_owned(), "aaaaaa".to_owned())], "what it had is given back");
}

fn lease(namespace: &str, name: &str, run: &str, seconds: u64) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": namespace, "labels": {"gateproof.dev/run": run}},
        // A clock that is years ahead: nobody compares it with his own.
        "spec": {"holderIdentity": run, "leaseDurationSeconds": seconds, "renewTime": "2099-01-01T00:00:00.000000Z"},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_renews_is_taken_over() {
    let (_server, api) = server().await;
    let (first, _) = of(&api, "aaaaaa").take(names(&["other"])).await.unwrap();
    give_back(first).await;
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{LOCKS}/leases");
    post(&api, &path, lease(LOCKS, "cluster", "zzzzzz", 1)).await;
    let (_held, gone) = of(&api, "bbbbbb").take(names(&["cluster"])).await.unwrap();
    assert_eq!(gone, names(&["zzzzzz"]), "whoever takes it over knows whose changes may be left");
    assert_eq!(held(&api).await, [("cluster".to_owned(), "bbbbbb".to_owned())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_told_apart_by_their_sign_of_life() {
    let (_server, api) = server().await;
    let namespace = |run: &str| {
        json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": format!("gp-{run}-pool"), "labels": {"gateproof.dev/run": run}}})
    };
    for run in ["aaaaaa", "dddddd", "eeeeee", "uuuuuu"] {
        post(&api, "/api/v1/namespaces?fieldManager=gateproof", namespace(run)).await;
    }
    // Said that it ended; renewed by nobody; renewed while it is looked at; without a Lease.
    of(&api, "eeeeee").live().await.unwrap().end().await;
    post(
        &api,
        "/apis/coordination.k8s.io/v1/namespaces/gp-dddddd-pool/leases",
        lease("gp-dddddd-pool", "run", "dddddd", 1),
    )
    .await;
    post(
        &api,
        "/apis/coordination.k8s.io/v1/namespaces/gp-aaaaaa-pool/leases",
        lease("gp-aaaaaa-pool", "run", "aaaaaa", 1),
    )
    .await;
    let (told, looked) = tokio::sync::oneshot::channel();
    let renewal = {
        let api = api.clone();
        async move {
            looked.await.unwrap();
            let path = "/apis/coordination.k8s.io/v1/namespaces/gp-aaaaaa-pool/leases/run";
            let patch = json!({"spec": {"renewTime": "2001-01-01T00:00:00.000000Z"}}).to_string().into_bytes();
            api.call(Method::PATCH, path, Some("application/merge-patch+json"), patch).await.unwrap();
        }
    };
    let wait = |maybe: &std::collections::BTreeSet<String>, _: Duration| {
        assert_eq!(maybe.iter().collect::<Vec<_>>(), ["aaaaaa", "dddddd"]);
        told.send(()).unwrap();
    };
    let (found, ()) = tokio::join!(runs(&api, wait), renewal);
    let found = found.unwrap();
    assert_eq!(found.over.into_iter().collect::<Vec<_>>(), ["dddddd", "eeeeee"]);
    assert_eq!(found.alive.into_iter().collect::<Vec<_>>(), ["aaaaaa"]);
    assert_eq!(found.unknown.into_iter().collect::<Vec<_>>(), ["uuuuuu"]);
}
