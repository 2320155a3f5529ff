//! What one run at a time may have: taken, waited for, taken over, given back; and what `clean` makes of a run's sign of life.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use gateproof::cluster::api::Api;
use gateproof::cluster::clean::runs;
use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::lease::{LOCKS, LeaseError, Leases, give_back};
use gateproof_apiserver::{Options, Server};
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
