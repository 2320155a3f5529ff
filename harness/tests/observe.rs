//! The observer and the writer against the embedded API server.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gateproof::cluster::api::Api;
use gateproof::cluster::clean::{CleanScope, clean};
use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::executions::Executions;
use gateproof::cluster::kinds::Kinds;
use gateproof::cluster::log_writer::LogWriter;
use gateproof::cluster::names;
use gateproof::cluster::observe::{Observer, Selector};
use gateproof::cluster::pool::namespace;
use gateproof::cluster::write::{PatchType, Whose, Writer};
use gateproof::dialects::Dialect;
use gateproof::log::{Body, Change, ObjectKey, Scope, Timing, TimingProfile, WriteOutcome};
use gateproof_apiserver::{Disturbance, Options, Server};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const RUN: &str = "abcdef";

struct Bench {
    server: Server,
    api: Api,
    writer: Writer,
    log: Arc<LogWriter>,
    observer: Observer,
}

async fn bench(options: Options) -> Bench {
    let server = Server::start(options).await.unwrap();
    let api = connect(&Source::Text(server.kubeconfig())).await.unwrap();
    let mut kinds = Kinds::new(Dialect::gateway_api());
    kinds.add("", "v1", "Namespace", "namespaces", false);
    kinds.add("", "v1", "Service", "services", true);
    kinds.add("", "v1", "Secret", "secrets", true);
    let kinds = Arc::new(kinds);
    let writer = Writer::new(api.clone(), Arc::clone(&kinds), &Timing::of(TimingProfile::Embedded), None);
    let log = Arc::new(LogWriter::start(None).unwrap());
    let resources = kinds.iter().map(|kind| (kind.clone(), Selector::Run(RUN.to_owned()))).collect();
    let executions = Executions::of(RUN, vec![Arc::from("scenario-a")], 1, Vec::new());
    let observer = Observer::start(&api, &log, resources, executions, Some(&Dialect::gateway_api())).await.unwrap();
    Bench { server, api, writer, log, observer }
}

fn object(kind: &str, namespace: &str, name: &str, token: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": names::labels(RUN, token)},
    })
}

fn key(kind: &str, namespace: Option<&str>, name: &str) -> ObjectKey {
    let namespace = namespace.map(str::to_owned);
    ObjectKey { group: String::new(), kind: kind.to_owned(), namespace, name: name.to_owned() }
}

async fn seen(bench: &Bench, test: impl Fn(&HashMap<ObjectKey, Arc<Value>>) -> bool) {
    tokio::time::timeout(Duration::from_secs(10), bench.observer.view().until(test)).await.unwrap();
}

/// Nobody asks for a look here: that happens only before a target is blamed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fresh_objects_are_never_read_again() {
    let bench = bench(Options::default()).await;
    let counts = reads(&bench);
    bench.writer.apply(0, 0, &namespace(RUN, Some("abcdef-0"), "one", &[])).await;
    for index in 0..20 {
        let mut service = object("Service", "one", &format!("s-{index}"), Some("abcdef-0"));
        service["spec"] = json!({"ports": [{"port": 80}]});
        let written = bench.writer.apply(0, 0, &service).await;
        assert!(matches!(written.outcome, WriteOutcome::Admitted { .. }), "{written:?}");
        let patch = json!({"metadata": {"annotations": {"a": "b"}}});
        bench.writer.patch(0, 0, written.key, &Whose::Own, PatchType::Merge, None, &patch).await;
    }
    let last = key("Service", Some("one"), "s-19");
    seen(&bench, |live| live.get(&last).is_some_and(|s| s.pointer("/metadata/annotations/a").is_some())).await;
    assert_eq!(reads(&bench), counts);

    let events = bench.log.events();
    let of_last: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Observed { key, change, .. } if *key == last => Some((*change, event.scope.clone())),
            _ => None,
        })
        .collect();
    let scope = Scope::Scenario(Arc::from("scenario-a"));
    assert_eq!(of_last, [(Change::Added, scope.clone()), (Change::Modified, scope)]);
    bench.server.shutdown().await;
}

/// The one read beside the first list: somebody doubts what a watch has shown, because a target is to be blamed for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doubts_are_one_list_an_object_and_a_renewal_is_one_a_watch() {
    let bench = bench(Options::default()).await;
    let looker = bench.observer.looker();
    bench.writer.apply(0, 0, &namespace(RUN, None, "one", &[])).await;
    seen(&bench, |live| live.contains_key(&key("Namespace", None, "one"))).await;
    // From here on the watches are open, and show nothing.
    bench.server.trouble().disturb(Disturbance::Silent, "gateproof/", 1);
    let mut service = object("Service", "one", "s", Some("abcdef-0"));
    service["spec"] = json!({"ports": [{"port": 80}]});
    bench.writer.apply(0, 0, &service).await;
    let lists = |resource: &str| reads(&bench).get(&("list".to_owned(), resource.to_owned())).copied().unwrap_or(0);
    let before = reads(&bench);
    let service = key("Service", Some("one"), "s");
    let found = looker.look(&service).await.unwrap();
    assert_eq!((found.key.clone(), found.object.is_some()), (service.clone(), true));
    assert!(looker.look(&key("Service", Some("one"), "t")).await.unwrap().object.is_none());
    assert_eq!(lists("services"), before[&("list".to_owned(), "services".to_owned())] + 2);
    assert!(bench.observer.view().get(&service).is_none());

    looker.renew(std::slice::from_ref(&service)).await;
    assert_eq!(bench.observer.view().get(&service), found.object);
    assert_eq!(lists("services"), before[&("list".to_owned(), "services".to_owned())] + 3);
    assert_eq!(reads(&bench).values().sum::<u64>(), before.values().sum::<u64>() + 3);
    let events = bench.log.events();
    let at = |test: &dyn Fn(&Body) -> bool| events.iter().position(|event| test(&event.body)).unwrap();
    let blind = at(&|body| matches!(body, Body::Blind { resource, doubted: true, .. } if resource == "services"));
    let gap = at(&|body| matches!(body, Body::Gap { resource, .. } if resource == "services"));
    let shown = at(&|body| matches!(body, Body::Observed { key, .. } if *key == service));
    assert!(blind < gap && gap < shown);
    assert!(bench.server.trouble().disturbed() > 0);
    bench.server.shutdown().await;
}

/// GETs and LISTs that the server counted.
fn reads(bench: &Bench) -> HashMap<(String, String), u64> {
    let counts = bench.server.requests().into_iter();
    counts
        .filter(|count| matches!(count.verb.as_str(), "get" | "list"))
        .map(|count| ((count.verb, count.resource), count.count))
        .collect()
}

fn event(namespace: &str, about: &Value, name: &str, message: &str) -> Vec<u8> {
    let about = json!({
        "apiVersion": "v1",
        "kind": about["kind"],
        "namespace": about["metadata"]["namespace"],
        "name": about["metadata"]["name"],
    });
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Tried",
        "message": message,
        "source": {"component": "controller"},
    });
    serde_json::to_vec(&event).unwrap()
}

/// Events name no run; whom they concern follows from what they are about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubernetes_events_are_logged_with_the_scenario_of_their_object() {
    let bench = bench(Options::default()).await;
    for (token, name) in [(Some("abcdef-0"), "gp-abcdef-0-ns"), (None, "elsewhere")] {
        bench.writer.apply(0, 0, &namespace(RUN, token, name, &[])).await;
        let mut service = object("Service", name, "s", token);
        service["spec"] = json!({"ports": [{"port": 80}]});
        bench.writer.apply(0, 0, &service).await;
    }
    seen(&bench, |live| live.contains_key(&key("Service", Some("elsewhere"), "s"))).await;
    let tell = async |namespace: &str, name: &str, about: &Value, message: &str| {
        let path = format!("/api/v1/namespaces/{namespace}/events");
        let body = event(namespace, about, name, message);
        let reply = bench.api.call(http::Method::POST, &path, Some("application/json"), body).await.unwrap();
        assert_eq!(reply.code, 201, "{}", reply.body);
    };
    let own = object("Service", "gp-abcdef-0-ns", "s", None);
    tell("gp-abcdef-0-ns", "e-0", &own, "own").await;
    tell("elsewhere", "e-0", &object("Service", "elsewhere", "unknown", None), "of nobody").await;
    for index in 1..40 {
        tell("gp-abcdef-0-ns", &format!("e-{index}"), &own, &"x".repeat(1000)).await;
    }
    // The last one: whatever was told before it has been seen by then.
    let ((), mut of_run) = bench.log.follow(&[Scope::Run], || ());
    tell("elsewhere", "e-1", &object("Service", "elsewhere", "s", None), "of the run").await;
    let mut last = None;
    tokio::time::timeout(Duration::from_secs(10), async {
        while let Some(event) = of_run.recv().await {
            if let Body::KubernetesEvent(told) = &event.body {
                last = Some(told.message.clone());
                break;
            }
        }
    })
    .await
    .unwrap();
    assert_eq!(last.as_deref(), Some("of the run"));

    let scenario = bench.log.events_in(&Scope::Scenario(Arc::from("scenario-a")));
    let told: Vec<_> = scenario
        .iter()
        .filter_map(|event| match &event.body {
            Body::KubernetesEvent(told) => Some(told),
            _ => None,
        })
        .collect();
    assert_eq!(
        (told[0].message.as_str(), told[0].from.as_str(), told[0].class.as_str()),
        ("own", "controller", "Warning")
    );
    assert_eq!(told[0].about, key("Service", Some("gp-abcdef-0-ns"), "s"));
    let size: usize = told.iter().map(|told| told.message.len()).sum();
    assert!((8 * 1024..=16 * 1024).contains(&size), "{size} bytes of one scenario's Events are in the log");
    bench.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_logged_as_digests_and_without_the_fields_of_managers() {
    let bench = bench(Options::default()).await;
    bench.writer.apply(0, 0, &namespace(RUN, None, "one", &[])).await;
    let mut secret = object("Secret", "one", "s", None);
    secret["stringData"] = json!({"password": "very-secret"});
    let written = bench.writer.apply(0, 0, &secret).await;
    let logged = serde_json::to_string(&written).unwrap();
    assert!(logged.contains("sha256:") && !logged.contains("very-secret"), "{logged}");
    seen(&bench, |live| live.contains_key(&key("Secret", Some("one"), "s"))).await;
    let events = serde_json::to_string(&bench.log.events()).unwrap();
    assert!(!events.contains("fieldsV1") && !events.contains("very-secret") && !events.contains("dmVyeS1zZWNyZXQ"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_answers_and_not_retried() {
    let bench = bench(Options::default()).await;
    let mut service = object("Service", "no-such-namespace", "s", None);
    service["spec"] = json!({"ports": [{"port": 80}]});
    let written = bench.writer.apply(3, 1, &service).await;
    assert!(matches!(written.outcome, WriteOutcome::Refused { code: 404, .. }), "{written:?}");
    assert_eq!((written.step, written.ordinal), (3, 1));
    let mut service = object("Service", "default", "s", None);
    service["spec"] = json!({"ports": [{"port": 0}]});
    let written = bench.writer.apply(0, 0, &service).await;
    assert!(matches!(written.outcome, WriteOutcome::Refused { code: 422, .. }), "{written:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cleaning_removes_what_is_labelled_and_waits_for_it() {
    let bench = bench(Options::default()).await;
    for (run, name) in [(RUN, "gp-abcdef-0-ns"), ("other", "gp-other-0-ns"), (RUN, "precious")] {
        bench.writer.apply(0, 0, &namespace(run, None, name, &[])).await;
    }
    let scope = CleanScope::run(RUN);
    let cleaned = clean(&bench.api, &bench.writer, &scope, Duration::from_secs(10)).await.unwrap();
    assert_eq!((cleaned.removed, cleaned.leftovers), (vec!["Namespace/gp-abcdef-0-ns".to_owned()], vec![]));
    assert_eq!(cleaned.others, ["Namespace/precious"], "it has the label, and no name of the run");
    for name in ["gp-other-0-ns", "precious"] {
        assert!(bench.api.get(&format!("/api/v1/namespaces/{name}")).await.is_ok());
    }
    assert!(bench.api.get("/api/v1/namespaces/gp-abcdef-0-ns").await.unwrap_err().is_not_found());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finalizer_that_holds_is_named() {
    let bench = bench(Options::default()).await;
    bench.writer.apply(0, 0, &namespace(RUN, None, "gp-abcdef-0-ns", &[])).await;
    let mut service = object("Service", "gp-abcdef-0-ns", "s", None);
    service["metadata"]["finalizers"] = json!(["example.com/hold"]);
    service["spec"] = json!({"ports": [{"port": 80}]});
    bench.writer.apply(0, 0, &service).await;
    let cleaned = clean(&bench.api, &bench.writer, &CleanScope::All, Duration::from_millis(300)).await.unwrap();
    assert_eq!(cleaned.leftovers.len(), 1, "{cleaned:?}");
    assert_eq!(cleaned.leftovers[0].object, "Namespace/gp-abcdef-0-ns");
}

/// An API server that leaves so many writes without an answer, and counts them all.
async fn hanging(without: u32) -> (Api, Arc<AtomicU32>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let writes = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&writes);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let mut asked = vec![0; 64 * 1024];
                let read = stream.read(&mut asked).await.unwrap();
                let is_write = asked[..read].starts_with(b"POST");
                if is_write && counted.fetch_add(1, Ordering::SeqCst) < without {
                    return std::future::pending().await;
                }
                let (status, body) = match is_write {
                    true => ("201 Created", r#"{"metadata": {"uid": "u", "resourceVersion": "1"}}"#),
                    false => ("200 OK", r#"{"gitVersion": "v1.34.0"}"#),
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}");
                stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n{body}").as_bytes()).await.unwrap();
            });
        }
    });
    let cluster = json!({"name": "c", "cluster": {"server": format!("http://{address}")}});
    let context = json!({"name": "x", "context": {"cluster": "c", "user": "u"}});
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [cluster],
        "users": [{"name": "u", "user": {}}], "contexts": [context]});
    (connect(&Source::Text(kubeconfig.to_string())).await.unwrap(), writes)
}

#[rstest]
#[case::once(1, true)]
#[case::always(u32::MAX, false)]
#[tokio::test]
async fn a_write_without_an_answer_is_sent_again(#[case] without: u32, #[case] admitted: bool) {
    let (api, writes) = hanging(without).await;
    let mut kinds = Kinds::new(Dialect::gateway_api());
    kinds.add("", "v1", "Secret", "secrets", true);
    let timing = Timing { write: Duration::from_secs(2), ..Timing::of(TimingProfile::Embedded) };
    let writer = Writer::new(api, Arc::new(kinds), &timing, None);
    let written = writer.apply(0, 0, &object("Secret", "ns", "a", None)).await;
    assert_eq!(matches!(written.outcome, WriteOutcome::Admitted { .. }), admitted, "{written:?}");
    assert!(writes.load(Ordering::SeqCst) >= 2, "{written:?}");
}
