//! The writer refuses every object that the run did not create: every verb, every kind of such an object.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use gateproof::cluster::api::Api;
use gateproof::cluster::clean::{CleanScope, clean};
use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::definitions;
use gateproof::cluster::names;
use gateproof::cluster::pool::namespace;
use gateproof::cluster::resources::every_kind;
use gateproof::cluster::write::{PatchType, Whose, Writer};
use gateproof::dialects::Dialect;
use gateproof::log::{ObjectKey, Timing, TimingProfile, WriteOutcome};
use gateproof::scenario::{Channel, Release};
use gateproof_apiserver::crds::BUNDLE_VERSION;
use gateproof_testbed::{Testbed, TestbedOptions};
use http::Method;
use rstest::rstest;
use serde_json::{Value, json};

const RUN: &str = "abcdef";
const OWN: &str = "gp-abcdef-0-ns";

struct Bench {
    testbed: Testbed,
    api: Api,
    writer: Writer,
}

async fn bench() -> Bench {
    bench_on(TestbedOptions::default()).await
}

async fn bench_on(options: TestbedOptions) -> Bench {
    let testbed = Testbed::start(options).await.unwrap();
    let api = connect(&Source::Text(testbed.kubeconfig())).await.unwrap();
    let kinds = Arc::new(every_kind(&api, Dialect::gateway_api()).await.unwrap());
    let writer = Writer::new(api.clone(), kinds, &Timing::of(TimingProfile::Embedded), None);
    let made = writer.apply(0, 0, &namespace(RUN, Some("abcdef-0"), OWN, &[])).await;
    assert!(is_admitted(&made.outcome), "{made:?}");
    Bench { testbed, api, writer }
}

fn is_admitted(outcome: &WriteOutcome) -> bool {
    matches!(outcome, WriteOutcome::Admitted { .. })
}

/// An object as somebody else has it; with `labelled`, with the labels of our run.
fn theirs(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, labelled: bool) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    if labelled {
        object["metadata"]["labels"] = names::labels(RUN, Some("abcdef-0")).into();
    }
    match kind {
        "ClusterRole" => object["rules"] = json!([]),
        "GatewayClass" => object["spec"] = json!({"controllerName": "example.com/theirs"}),
        "HTTPRoute" => object["spec"] = json!({"parentRefs": [{"name": "theirs"}]}),
        "TCPRoute" => object["spec"] = json!({"rules": [{"backendRefs": [{"name": "theirs", "port": 80}]}]}),
        _ => {}
    }
    object
}

/// Somebody else writes.
async fn create(bench: &Bench, object: &Value) -> Value {
    let key = ObjectKey::of(object).unwrap();
    let kind = bench.writer.kinds().of(&key.group, &key.kind).unwrap();
    let path = format!("{}?fieldManager=somebody", kind.collection(key.namespace.as_deref()));
    let body = object.to_string().into_bytes();
    let reply = bench.api.call(Method::POST, &path, Some("application/json"), body).await.unwrap();
    assert!(reply.code < 300, "{}", reply.body);
    reply.body
}

async fn live(bench: &Bench, key: &ObjectKey) -> Value {
    let kind = bench.writer.kinds().of(&key.group, &key.kind).unwrap();
    bench.api.get(&kind.object(key)).await.unwrap()
}

async fn remove(bench: &Bench, key: &ObjectKey) {
    let kind = bench.writer.kinds().of(&key.group, &key.kind).unwrap();
    bench.api.call(Method::DELETE, &kind.object(key), None, Vec::new()).await.unwrap();
}

/// Every verb, with what would change the object.
async fn try_all(bench: &Bench, key: &ObjectKey, object: &Value) -> Vec<(String, WriteOutcome)> {
    let mut tried = Vec::new();
    let mut changed = object.clone();
    changed["metadata"]["annotations"] = json!({"gateproof.dev/was": "here"});
    tried.push(("apply".to_owned(), bench.writer.apply(0, 0, &changed).await.outcome));
    let merge = json!({"metadata": {"annotations": {"gateproof.dev/was": "here"}}});
    let json = json!([{"op": "add", "path": "/metadata/annotations", "value": {"gateproof.dev/was": "here"}}]);
    for (what, patch_type, patch) in [("merge", PatchType::Merge, merge), ("json", PatchType::Json, json)] {
        for subresource in [None, Some("status")] {
            let name = format!("{what} of {}", subresource.unwrap_or("the object"));
            let patched = bench.writer.patch(0, 0, key.clone(), &Whose::Own, patch_type, subresource, &patch).await;
            tried.push((name, patched.outcome));
        }
    }
    tried.push(("delete".to_owned(), bench.writer.delete(0, 0, key.clone()).await.outcome));
    tried
}

#[rstest]
#[case::in_their_namespace("v1", "ConfigMap", Some("default"), "precious", false)]
#[case::in_our_namespace("v1", "ConfigMap", Some(OWN), "kube-root", false)]
#[case::in_our_namespace_with_our_labels("v1", "ConfigMap", Some(OWN), "copied", true)]
#[case::a_namespace("v1", "Namespace", None, "precious", false)]
#[case::a_namespace_with_our_labels_and_name("v1", "Namespace", None, "gp-abcdef-1-ns", true)]
#[case::a_cluster_role("rbac.authorization.k8s.io/v1", "ClusterRole", None, "precious", false)]
#[case::a_class("gateway.networking.k8s.io/v1", "GatewayClass", None, "precious", true)]
#[case::a_route("gateway.networking.k8s.io/v1", "HTTPRoute", Some("default"), "precious", false)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_made_stays_as_it_is(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] namespace: Option<&str>,
    #[case] name: &str,
    #[case] labelled: bool,
) {
    let bench = bench().await;
    let object = theirs(api_version, kind, namespace, name, labelled);
    let key = ObjectKey::of(&object).unwrap();
    let uid = create(&bench, &object).await["metadata"]["uid"].clone();
    for (verb, outcome) in try_all(&bench, &key, &object).await {
        assert!(!is_admitted(&outcome), "{verb}: {outcome:?}");
    }
    // Its controller may write its status meanwhile.
    let after = live(&bench, &key).await;
    assert_eq!(after["metadata"]["uid"], uid);
    assert_eq!(after["metadata"].get("annotations"), None, "{after}");
    assert_eq!(after["metadata"].get("deletionTimestamp"), None);
    bench.testbed.shutdown().await;
}

/// The class under test, and a definition of Gateway API.
#[rstest]
#[case("GatewayClass", "gateproof")]
#[case("CustomResourceDefinition", "tcproutes.gateway.networking.k8s.io")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_there_stays_as_it_is(#[case] kind: &str, #[case] name: &str) {
    let bench = bench().await;
    let key = bench.writer.key(kind, None, name);
    let before = live(&bench, &key).await;
    for (verb, outcome) in try_all(&bench, &key, &before).await {
        assert!(!is_admitted(&outcome), "{verb}: {outcome:?}");
    }
    let after = live(&bench, &key).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["metadata"].get("annotations"), before["metadata"].get("annotations"));
    bench.testbed.shutdown().await;
}

/// A definition that the run created takes nothing of others along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_stays_with_what_others_made_of_its_kind() {
    const TCP: &str = "tcproutes.gateway.networking.k8s.io";
    let without = vec![TCP.to_owned()];
    let mut bench = bench_on(TestbedOptions { without, ..TestbedOptions::default() }).await;
    let built_in =
        definitions::built_in(TCP, Release { version: BUNDLE_VERSION.parse().unwrap(), channel: Channel::Standard })
            .unwrap();
    let mut definition = built_in.clone();
    definition["metadata"]["labels"] = names::labels(RUN, Some("abcdef-0")).into();
    let key = ObjectKey::of(&definition).unwrap();
    // The writer is told what will be served, as that of a run is.
    let mut kinds = bench.writer.kinds().clone();
    definitions::expect(&mut kinds, built_in);
    bench.writer = Writer::new(bench.api.clone(), Arc::new(kinds), &Timing::of(TimingProfile::Embedded), None);
    assert!(is_admitted(&bench.writer.apply(0, 0, &definition).await.outcome));
    let route = theirs("gateway.networking.k8s.io/v1", "TCPRoute", Some("default"), "precious", false);
    create(&bench, &route).await;
    let ours = theirs("gateway.networking.k8s.io/v1", "TCPRoute", Some(OWN), "ours", true);
    assert!(is_admitted(&bench.writer.apply(0, 0, &ours).await.outcome));
    let refused = bench.writer.delete(0, 0, key.clone()).await.outcome;
    let WriteOutcome::Failed { error } = &refused else { panic!("{refused:?}") };
    assert!(error.contains("TCPRoute/default/precious would go with it"), "{error}");
    let scope = CleanScope::run(RUN);
    let budget = Timing::of(TimingProfile::Embedded).gateway;
    let cleaned = clean(&bench.api, &bench.writer, &scope, budget).await.unwrap();
    assert!(cleaned.leftovers.iter().any(|left| left.diagnosis.contains("would go with it")), "{cleaned:?}");
    assert_eq!(live(&bench, &key).await["metadata"].get("deletionTimestamp"), None);
    remove(&bench, &ObjectKey::of(&route).unwrap()).await;
    let cleaned = clean(&bench.api, &bench.writer, &scope, budget).await.unwrap();
    assert_eq!(cleaned.removed, [key.to_string()], "{cleaned:?}");
    bench.testbed.shutdown().await;
}

/// A definition of others is nobody's to clean up, whatever its labels and whoever wrote these.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_labelled_definition_of_others_is_not_cleaned() {
    let bench = bench().await;
    let key = bench.writer.key("CustomResourceDefinition", None, "tcproutes.gateway.networking.k8s.io");
    let kind = bench.writer.kinds().of(&key.group, &key.kind).unwrap();
    // As a scenario patches one, which is no creation.
    let labels = json!({"metadata": {"labels": names::labels(RUN, Some("abcdef-0"))}});
    let path = format!("{}?fieldManager=gateproof", kind.object(&key));
    let body = labels.to_string().into_bytes();
    let patched = bench.api.call(Method::PATCH, &path, Some("application/merge-patch+json"), body).await.unwrap();
    assert_eq!(patched.code, 200, "{}", patched.body);
    let budget = Timing::of(TimingProfile::Embedded).gateway;
    let cleaned = clean(&bench.api, &bench.writer, &CleanScope::run(RUN), budget).await.unwrap();
    assert!(cleaned.others.contains(&key.to_string()), "{cleaned:?}");
    assert_eq!(live(&bench, &key).await["metadata"].get("deletionTimestamp"), None);
    bench.testbed.shutdown().await;
}

/// The name is the run's, the object is not any longer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_made_anew_stays_as_it_is() {
    let bench = bench().await;
    let object = theirs("v1", "ConfigMap", Some(OWN), "ours", true);
    let key = ObjectKey::of(&object).unwrap();
    assert!(is_admitted(&bench.writer.apply(0, 0, &object).await.outcome));
    remove(&bench, &key).await;
    let uid = create(&bench, &object).await["metadata"]["uid"].clone();
    for (verb, outcome) in try_all(&bench, &key, &object).await {
        assert!(!is_admitted(&outcome), "{verb}: {outcome:?}");
    }
    let after = live(&bench, &key).await;
    assert_eq!((&after["metadata"]["uid"], after["metadata"].get("annotations")), (&uid, None));
    bench.testbed.shutdown().await;
}

/// What was deleted and is deleted once more may have gone meanwhile; what the run deleted nothing of may not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_is_deleted() {
    let bench = bench().await;
    let of = |name: &str| theirs("v1", "ConfigMap", Some(OWN), name, true);
    let (ours, gone) = (ObjectKey::of(&of("ours")).unwrap(), ObjectKey::of(&of("gone")).unwrap());
    for name in ["ours", "gone"] {
        assert!(is_admitted(&bench.writer.apply(0, 0, &of(name)).await.outcome));
    }
    for _ in 0..2 {
        assert!(is_admitted(&bench.writer.delete(0, 0, ours.clone()).await.outcome));
    }
    remove(&bench, &gone).await;
    assert!(!is_admitted(&bench.writer.delete(0, 0, gone).await.outcome));
    bench.testbed.shutdown().await;
}

/// What the run made it changes, takes away what it no longer says, deletes, and makes once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_run_made_is_its_own() {
    let bench = bench().await;
    let with = |data: Value| {
        let mut object = theirs("v1", "ConfigMap", Some(OWN), "ours", true);
        object["data"] = data;
        object
    };
    let key = ObjectKey::of(&with(json!({}))).unwrap();
    assert!(is_admitted(&bench.writer.apply(0, 0, &with(json!({"a": "1", "b": "2"}))).await.outcome));
    let patch = json!({"data": {"theirs": "3"}});
    let patched = bench.writer.patch(0, 0, key.clone(), &Whose::Own, PatchType::Merge, None, &patch).await;
    assert!(is_admitted(&patched.outcome), "{patched:?}");
    assert!(is_admitted(&bench.writer.apply(0, 0, &with(json!({"b": "4"}))).await.outcome));
    assert_eq!(live(&bench, &key).await["data"], json!({"b": "4", "theirs": "3"}));
    let json = json!([{"op": "remove", "path": "/data/theirs"}]);
    let patched = bench.writer.patch(0, 0, key.clone(), &Whose::Own, PatchType::Json, None, &json).await;
    assert!(is_admitted(&patched.outcome), "{patched:?}");
    assert!(is_admitted(&bench.writer.delete(0, 0, key.clone()).await.outcome));
    assert!(is_admitted(&bench.writer.apply(0, 0, &with(json!({"c": "5"}))).await.outcome));
    assert_eq!(live(&bench, &key).await["data"], json!({"c": "5"}));
    bench.testbed.shutdown().await;
}
