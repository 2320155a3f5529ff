//! Watches: where they begin, what passes a selector, bookmarks, and how they end.
#![allow(clippy::unwrap_used)]

use std::pin::pin;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use gateproof_apiserver::{Options, Refusal, Server};
use http_body_util::BodyExt;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Event, InitialListStrategy};
use rstest::rstest;
use serde_json::{Value, json};
use tower::Service;

use crate::support::*;

/// A watch's lines as they come.
struct Lines {
    body: gateproof_apiserver::Body,
    text: Vec<u8>,
}

impl Lines {
    async fn open(server: &Server, query: &str, accept: &str) -> Self {
        let path = format!("/apis/example.dev/v1/namespaces/default/widgets?watch=true&{query}");
        let request = http::Request::get(path).header("accept", accept).body(String::new()).unwrap();
        let response = server.service().call(request).await.unwrap();
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), text: Vec::new() }
    }

    /// The next event, or nothing at the end of the watch.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    /// Type and name of the next event.
    async fn brief(&mut self) -> (String, String) {
        let event = self.next().await.unwrap();
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("").to_owned();
        (event["type"].as_str().unwrap().to_owned(), name)
    }
}

fn brief(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn from_a_version_over_tls() {
    let server = server().await;
    let client = outside(&server).await;
    let api = widget_api(&client);
    let start = create(&api, "a", "red").await.resource_version().unwrap();
    let mut events = pin!(api.watch(&WatchParams::default().timeout(10), &start).await.unwrap());
    create(&api, "b", "red").await;
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"spec": {"color": "blue"}}))).await.unwrap();
    api.delete("b", &DeleteParams::default()).await.unwrap();
    let mut versions = Vec::new();
    for expected in ["added b", "modified a", "deleted b"] {
        let (seen, object) = match events.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(object) => ("added", object),
            WatchEvent::Modified(object) => ("modified", object),
            WatchEvent::Deleted(object) => ("deleted", object),
            other => unreachable!("{other:?}"),
        };
        assert_eq!(format!("{seen} {}", object.name_any()), expected);
        versions.push(object.resource_version().unwrap().parse::<u64>().unwrap());
    }
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
}

#[tokio::test]
async fn from_the_present() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    create(&api, "a", "red").await;
    for query in ["", "resourceVersion=0"] {
        let mut lines = Lines::open(&server, query, "").await;
        assert_eq!(lines.brief().await, brief("ADDED", "a"));
    }
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    create(&api, "a", "red").await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = Lines::open(&server, query, "").await;
    assert_eq!(lines.brief().await, brief("ADDED", "a"));
    let end = lines.next().await.unwrap();
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(end["object"]["kind"], "Widget");
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    create(&api, "b", "red").await;
    assert_eq!(lines.brief().await, brief("ADDED", "b"));
    let without = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut lines = Lines::open(&server, without, "").await;
    create(&api, "c", "red").await;
    assert_eq!(lines.brief().await, brief("ADDED", "c"), "nothing of before");
}

#[rstest]
#[case("sendInitialEvents=true", 422)]
#[case("resourceVersionMatch=NotOlderThan", 422)]
#[case("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999", 504)]
#[case("fieldSelector=spec.size%3D1", 400)]
#[tokio::test]
async fn refused(#[case] query: &str, #[case] code: u16) {
    let server = server().await;
    create(&widget_api(&inside(&server)), "a", "red").await;
    server.compact();
    let path = format!("/apis/example.dev/v1/widgets?watch=true&{query}");
    let (found, _, status) = raw(&server, "GET", &path, &[], "").await;
    assert_eq!((found, status["kind"].as_str()), (code, Some("Status")));
}

/// As an answer, kube-rs would ask for the same version for ever.
#[tokio::test]
async fn a_version_that_is_gone_is_told_by_an_event() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    create(&api, "a", "red").await;
    server.compact();
    let mut lines = Lines::open(&server, "resourceVersion=1", "").await;
    let event = lines.next().await.unwrap();
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert_eq!(lines.next().await, None);
}

/// The client's watcher begins anew, and misses nothing.
#[tokio::test(start_paused = true)]
async fn watchers_outlast_cuts_and_compaction() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let mut events = pin!(watcher::watcher(api.clone(), watcher::Config::default()));
    while !matches!(events.next().await, Some(Ok(Event::InitDone))) {}
    for (name, compact) in [("a", false), ("b", true), ("c", true)] {
        server.trouble().cut_watches();
        create(&api, name, "red").await;
        if compact {
            server.compact();
        }
        let seen = async {
            loop {
                match events.next().await {
                    Some(Ok(Event::Apply(object) | Event::InitApply(object))) if object.name_any() == name => break,
                    _ => {}
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), seen).await.unwrap();
    }
}

#[rstest]
#[case(Refusal::TooManyRequests { retry_after: 3 }, "GET", 429)]
#[case(Refusal::Internal, "GET", 500)]
#[case(Refusal::Conflict, "POST", 409)]
#[case(Refusal::Conflict, "GET", 200)]
#[tokio::test]
async fn trouble_is_what_it_was_told_to_be(#[case] refusal: Refusal, #[case] method: &str, #[case] code: u16) {
    let server = server().await;
    let body = json!({"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}}).to_string();
    let path = "/apis/example.dev/v1/namespaces/default/widgets";
    server.trouble().refuse(refusal, 1.0, 1);
    let (found, headers, _) = raw(&server, method, path, &[("content-type", "application/json")], &body).await;
    assert_eq!((found, server.trouble().refused()), (code, u64::from(code != 200)));
    let asked = headers.get("retry-after").map(|value| value.to_str().unwrap());
    assert_eq!(asked, (code == 429).then_some("3"));
    server.trouble().refuse(refusal, 0.0, 1);
    let (found, ..) = raw(&server, method, path, &[("content-type", "application/json")], &body).await;
    assert!(found < 300);
}

#[tokio::test]
async fn what_is_lost_is_done_all_the_same() {
    let server = server().await;
    let body = json!({"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "a"}}).to_string();
    let path = "/apis/example.dev/v1/namespaces/default/widgets";
    let content = [("content-type", "application/json")];
    server.trouble().refuse(Refusal::Lost, 1.0, 1);
    assert_eq!(raw(&server, "POST", path, &content, &body).await.0, 500);
    // Reads are answered.
    assert_eq!(raw(&server, "GET", &format!("{path}/a"), &[], "").await.0, 200);
    assert_eq!(raw(&server, "DELETE", &format!("{path}/a"), &[], "").await.0, 500);
    assert_eq!(raw(&server, "GET", &format!("{path}/a"), &[], "").await.0, 404);
    assert_eq!(server.trouble().refused(), 2);
}

#[tokio::test]
async fn an_outage_breaks_connections_until_it_ends() {
    let server = server().await;
    for client in [inside(&server), outside(&server).await] {
        let api = widget_api(&client);
        api.list(&Default::default()).await.unwrap();
        server.trouble().go_away();
        assert!(!matches!(api.list(&Default::default()).await, Ok(_) | Err(kube::Error::Api(_))));
        server.trouble().come_back();
        api.list(&Default::default()).await.unwrap();
    }
}

#[tokio::test]
async fn what_crosses_a_selector_comes_and_goes() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let mut lines = Lines::open(&server, "fieldSelector=spec.color%3Dred", "").await;
    create(&api, "a", "blue").await;
    let paint = async |color: &str| {
        let patch = Patch::Merge(json!({"spec": {"color": color}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap()
    };
    paint("red").await;
    assert_eq!(lines.brief().await, brief("ADDED", "a"));
    let after = paint("green").await;
    let event = lines.next().await.unwrap();
    assert_eq!(event["type"], "DELETED");
    assert_eq!(event["object"]["spec"]["color"], "red", "the last state that passed");
    assert_eq!(event["object"]["metadata"]["resourceVersion"], after.resource_version().unwrap());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    create(&api, "b", "red").await;
    assert_eq!(lines.brief().await, brief("ADDED", "b"));
}

#[tokio::test]
async fn a_watch_that_is_too_slow_is_told() {
    let server =
        Server::start(Options { crds: vec![widgets()], event_capacity: 2, ..Options::default() }).await.unwrap();
    let api = widget_api(&inside(&server));
    let mut lines = Lines::open(&server, "", "").await;
    for name in ["a", "b", "c", "d"] {
        create(&api, name, "red").await;
    }
    let event = lines.next().await.unwrap();
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert_eq!(event["object"]["reason"], "Expired");
    assert_eq!(lines.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn quiet_watches_get_bookmarks_and_end_in_time() {
    let server = server().await;
    let mut lines = Lines::open(&server, "allowWatchBookmarks=true&timeoutSeconds=45", "").await;
    create(&widget_api(&inside(&server)), "a", "red").await;
    assert_eq!(lines.brief().await, brief("ADDED", "a"));
    for _ in 0..2 {
        let event = lines.next().await.unwrap();
        assert_eq!(event["type"], "BOOKMARK");
        assert_eq!(event["object"]["metadata"].get("annotations"), None);
    }
    assert_eq!(lines.next().await, None);
}

#[tokio::test]
async fn a_watch_ends_with_its_kind() {
    let server = server().await;
    let client = inside(&server);
    create(&widget_api(&client), "a", "red").await;
    let mut lines = Lines::open(&server, "", "").await;
    assert_eq!(lines.brief().await, brief("ADDED", "a"));
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.dev";
    assert_eq!(raw(&server, "DELETE", path, &[], "").await.0, 200);
    assert_eq!(lines.brief().await, brief("DELETED", "a"));
    assert_eq!(lines.next().await, None);
}

#[tokio::test]
async fn metadata_and_tables_are_watched_too() {
    let server = server().await;
    create(&widget_api(&inside(&server)), "a", "red").await;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let event = Lines::open(&server, "", accept).await.next().await.unwrap();
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(event["object"].get("spec"), None);
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let event = Lines::open(&server, "", accept).await.next().await.unwrap();
    assert_eq!(event["object"]["kind"], "Table");
    assert_eq!(event["object"]["rows"][0]["cells"][1], "red");
}

#[rstest]
#[case(InitialListStrategy::ListWatch)]
#[case(InitialListStrategy::StreamingList)]
#[tokio::test]
async fn the_watcher_of_kube(#[case] strategy: InitialListStrategy) {
    let server = server().await;
    let api = widget_api(&outside(&server).await);
    create(&api, "a", "red").await;
    let config = watcher::Config { initial_list_strategy: strategy, ..Default::default() };
    let mut events = pin!(watcher::watcher(api.clone(), config));
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        match event.unwrap() {
            Event::Init => {}
            Event::InitApply(object) => seen.push(format!("init {}", object.name_any())),
            Event::InitDone => {
                create(&api, "b", "red").await;
            }
            Event::Apply(object) => {
                seen.push(format!("apply {}", object.name_any()));
                api.delete("b", &DeleteParams::default()).await.unwrap();
            }
            Event::Delete(object) => {
                seen.push(format!("delete {}", object.name_any()));
                break;
            }
        }
    }
    assert_eq!(seen, ["init a", "apply b", "delete b"]);
}
