//! What makes a target untestable is told in one screen with the next step, as inconclusive, before any scenario runs.
#![allow(clippy::unwrap_used)]

mod process;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Config};
use process::{Ended, TestbedProcess, run};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A screen.
const LINES: usize = 40;

async fn client(testbed: &TestbedProcess) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{group}/v1"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

async fn classes(testbed: &TestbedProcess) -> Api<DynamicObject> {
    let resource = resource("gateway.networking.k8s.io", "GatewayClass", "gatewayclasses");
    Api::all_with(client(testbed).await, &resource)
}

async fn crds(testbed: &TestbedProcess) -> Api<DynamicObject> {
    let resource = resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
    Api::all_with(client(testbed).await, &resource)
}

async fn create_class(testbed: &TestbedProcess, name: &str) {
    let class = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": name},
        "spec": {"controllerName": "example.com/nobody"}});
    classes(testbed).await.create(&PostParams::default(), &serde_json::from_value(class).unwrap()).await.unwrap();
}

/// Says of a class what a controller would.
async fn condition(testbed: &TestbedProcess, name: &str, status: &str) {
    let condition = json!({"type": "Accepted", "status": status, "reason": "InvalidParameters", "message": "no such map",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let features = json!([{"name": "Gateway"}, {"name": "HTTPRoute"}]);
    let status = json!({"status": {"conditions": [condition], "supportedFeatures": features}});
    classes(testbed).await.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

/// Runs one scenario against it, with short limits.
async fn tested(testbed: TestbedProcess, class: &str, more: &[&str]) -> (TestbedProcess, Ended) {
    let (class, more) = (class.to_owned(), more.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    tokio::task::spawn_blocking(move || {
        // The first rule that fits wins, so those of the test come first.
        let mut arguments: Vec<&str> =
            vec!["run", "httproute-missing-backend", "--timing", "embedded", "--timeout-scale", "0.4"];
        arguments.extend(more.iter().map(String::as_str));
        arguments.extend(&testbed.arguments(&class)[1..]);
        let ended = run(testbed.dir.path(), &arguments);
        (testbed, ended)
    })
    .await
    .unwrap()
}

/// Inconclusive, told in one screen with these parts, with nothing of the run left behind.
async fn expect(testbed: &TestbedProcess, ended: &Ended, parts: &[&str]) {
    let said = ended.said();
    assert_eq!(ended.code, Some(3), "{said}");
    for part in parts {
        assert!(said.contains(part), "no `{part}` in: {said}");
    }
    assert!(ended.err.lines().count() + ended.out.lines().count() < LINES, "{}{}", ended.out, ended.err);
    assert!(!said.contains("FAILED") && !said.contains("panicked"), "{said}");
    assert!(!testbed.dir.path().join("gateproof-report/record.json").exists(), "there is a verdict");
    let namespaces: Api<DynamicObject> = Api::all_with(
        client(testbed).await,
        &ApiResource { api_version: "v1".to_owned(), ..resource("", "Namespace", "namespaces") },
    );
    let left: Vec<String> =
        namespaces.list(&Default::default()).await.unwrap().items.into_iter().filter_map(|n| n.metadata.name).collect();
    assert!(left.iter().all(|name| !name.starts_with("gp-")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_crds() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    let crds = crds(&testbed).await;
    for crd in crds.list(&Default::default()).await.unwrap().items {
        crds.delete(&crd.metadata.name.unwrap(), &Default::default()).await.unwrap();
    }
    let (testbed, ended) = tested(testbed, "any", &[]).await;
    let parts = ["✗ definitions", "serves no gateway.networking.k8s.io", "install the Gateway API CRDs"];
    expect(&testbed, &ended, &parts).await;
}

#[rstest]
#[case::release("gateway.networking.k8s.io/bundle-version", "main")]
#[case::channel("gateway.networking.k8s.io/channel", "nightly")]
#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_of_no_release(#[case] annotation: &str, #[case] value: &str) {
    let testbed = TestbedProcess::start(&[]);
    let patch = json!({"metadata": {"annotations": {annotation: value}}});
    let name = "gateways.gateway.networking.k8s.io";
    // The policy that comes with the definitions lets nobody take them to another channel, as long as it is bound.
    let kind = ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding");
    let bindings = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(kind.0, kind.1, kind.2));
    let definitions = crds(&testbed).await;
    let bindings: Api<DynamicObject> = Api::all_with(definitions.clone().into_client(), &bindings);
    bindings.delete("safe-upgrades.gateway.networking.k8s.io", &Default::default()).await.unwrap();
    definitions.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let (testbed, ended) = tested(testbed, "gateproof", &[]).await;
    // Long words are broken at dashes.
    let what = format!("is `{value}`, which names no release or channel");
    expect(&testbed, &ended, &["✗ definitions", &what, "install the CRDs of a release"]).await;
    let given = ["--gateway-api-version", "1.6.1", "--gateway-api-channel", "standard"];
    let (_testbed, ended) = tested(testbed, "gateproof", &given).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_that_is_not_there() {
    let (testbed, ended) = tested(TestbedProcess::start(&[]), "mine", &[]).await;
    let parts = ["✗ class", "the target has no GatewayClass `mine`; it has: gateproof, gateproof-single"];
    expect(&testbed, &ended, &parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_that_belongs_to_nobody() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    create_class(&testbed, "orphan").await;
    let (testbed, ended) = tested(testbed, "orphan", &[]).await;
    expect(&testbed, &ended, &["✗ class", "no controller answers for `example.com/nobody`", "start the controller"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_that_its_controller_refuses() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    create_class(&testbed, "bad").await;
    condition(&testbed, "bad", "False").await;
    let (testbed, ended) = tested(testbed, "bad", &[]).await;
    expect(&testbed, &ended, &["✗ class", "InvalidParameters (\"no such map\")"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_never_assigned() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    create_class(&testbed, "idle").await;
    condition(&testbed, "idle", "True").await;
    let (testbed, ended) = tested(testbed, "idle", &[]).await;
    expect(&testbed, &ended, &["✗ address", "no Gateway says Programmed=True and has an address", "--gateway-patch"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialer_that_cannot_connect() {
    let (testbed, ended) = tested(TestbedProcess::start(&[]), "gateproof", &["--dial", "*:*=127.0.0.1:1"]).await;
    expect(&testbed, &ended, &["✗ data path", "no connection to", "refused", "--dial HOST:PORT=ADDR:PORT"]).await;
}

/// Plays a controller: every Gateway is programmed at once, at an address where whoever asks is answered 503.
async fn play_controller(testbed: &TestbedProcess) -> (String, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dial = format!("*:*={}", listener.local_addr().unwrap());
    let client = client(testbed).await;
    let task = tokio::spawn(async move {
        let resource = resource("gateway.networking.k8s.io", "Gateway", "gateways");
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let mut seen = std::pin::pin!(watcher(all, watcher::Config::default()).touched_objects());
        loop {
            tokio::select! {
                Ok((mut stream, _)) = listener.accept() => {
                    let mut request = [0; 1024];
                    let _ = stream.read(&mut request).await;
                    let _ = stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n").await;
                }
                Some(Ok(gateway)) = seen.next() => {
                    if gateway.data.pointer("/status/addresses").is_some() {
                        continue;
                    }
                    let condition = json!({"type": "Programmed", "status": "True", "reason": "Programmed", "message": "",
                        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
                    let status = json!({"status": {"conditions": [condition], "addresses": [{"value": "192.0.2.7"}]}});
                    let metadata = gateway.metadata;
                    let own: Api<DynamicObject> =
                        Api::namespaced_with(client.clone(), &metadata.namespace.unwrap(), &resource);
                    // One that is on its way out is not missed.
                    let _ = own.patch_status(&metadata.name.unwrap(), &PatchParams::default(), &Patch::Merge(status)).await;
                }
            }
        }
    });
    (dial, task)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_the_data_plane_does_not_reach() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    create_class(&testbed, "lame").await;
    condition(&testbed, "lame", "True").await;
    let (dial, controller) = play_controller(&testbed).await;
    let (testbed, ended) = tested(testbed, "lame", &["--dial", &dial]).await;
    controller.abort();
    let parts =
        ["✓ address", "at 192.0.2.7", "✓ data path", "✗ backend", "a request got code 503", "--backend-address"];
    expect(&testbed, &ended, &parts).await;
}

/// Left out, it keeps nobody from being tested, and a good target needs no more than one line of it.
#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_left_out() {
    let without = ["--skip-preflight", "--dial", "*:*=127.0.0.1:1"];
    let (testbed, ended) = tested(TestbedProcess::start(&[]), "gateproof", &without).await;
    assert_ne!(ended.code, Some(0), "{}", ended.said());
    assert!(testbed.dir.path().join("gateproof-report/record.json").exists(), "{}", ended.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_can_be_tested_is() {
    let (testbed, ended) = tested(TestbedProcess::start(&[]), "gateproof", &[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.err.contains("the target can be tested"), "{}", ended.err);
    let again = run(testbed.dir.path(), &["replay", "gateproof-report"]);
    assert_eq!(again.code, Some(0), "{}", again.said());
    let record: Value = serde_json::from_str(
        &std::fs::read_to_string(testbed.dir.path().join("gateproof-report/record.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(record["scenarios"].as_array().unwrap().len(), 1, "preflight is no scenario");
    let mut arguments = testbed.arguments("gateproof");
    arguments[0] = "preflight";
    let asked = run(testbed.dir.path(), &arguments);
    assert_eq!(asked.code, Some(0), "{}", asked.said());
    assert_eq!(asked.said().matches("the target can be tested").count(), 1, "{}", asked.said());
    for part in ["✓ permissions", "✓ address", "✓ data path", "✓ backend", "the target can be tested"] {
        assert!(asked.out.contains(part), "no `{part}` in {}", asked.out);
    }
}

/// Nobody's role has a word on nodes, so this is told to whoever may list them all the same.
#[tokio::test(flavor = "multi_thread")]
async fn room_is_told_to_who_may_see_it() {
    let testbed = TestbedProcess::start(&[]);
    let of = |kind, plural| ApiResource { api_version: "v1".to_owned(), ..resource("", kind, plural) };
    let client = client(&testbed).await;
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &of("Node", "nodes"));
    let pods: Api<DynamicObject> = Api::namespaced_with(client, "default", &of("Pod", "pods"));
    for (api, object) in [
        (
            &nodes,
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "status": {"allocatable": {"pods": "12"}}}),
        ),
        (
            &pods,
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "there"}, "spec": {"nodeName": "one", "containers": [{"name": "c", "image": "i"}]}}),
        ),
    ] {
        api.create(&Default::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    // The node of the testbed does not say how many it takes, which leaves nothing to count, but cordoned it is none that counts.
    let mut arguments: Vec<&str> = vec!["preflight"];
    arguments.extend(&testbed.arguments("gateproof")[1..]);
    let unknown = run(testbed.dir.path(), &arguments);
    assert!(unknown.code == Some(0) && !unknown.out.contains("room"), "{}", unknown.said());
    let cordon = json!({"spec": {"unschedulable": true}});
    nodes.patch("gateproof-workloads", &Default::default(), &Patch::Merge(&cordon)).await.unwrap();
    let asked = run(testbed.dir.path(), &arguments);
    let told = "✓ room         for 11 Pods more on 1 node: 1 of 12 are there; where each Gateway costs a Pod, this run may have ";
    assert_eq!(asked.code, Some(0), "{}", asked.said());
    let most = asked.out.split_once(told).map(|(_, rest)| rest.split_once(' ').unwrap().0.parse::<usize>().unwrap());
    assert!(most.is_some_and(|most| most > 32), "{}", asked.said());
    // One Gateway, which is of the pool, has room.
    arguments.push("httproute-simple");
    let asked = run(testbed.dir.path(), &arguments);
    assert!(asked.out.contains("✓ room         for 11 Pods more on 1 node: 1 of 12 are there\n"), "{}", asked.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_else_the_controller_serves_is_told() {
    let testbed = TestbedProcess::start(&[]);
    let client = client(&testbed).await;
    let gateway = resource("gateway.networking.k8s.io", "Gateway", "gateways");
    let gateways: Api<DynamicObject> = Api::namespaced_with(client, "default", &gateway);
    let mut arguments: Vec<&str> = vec!["preflight"];
    arguments.extend(&testbed.arguments("gateproof")[1..]);
    let alone = run(testbed.dir.path(), &arguments);
    assert!(alone.code == Some(0) && !alone.out.contains("neighbours"), "{}", alone.said());
    let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
    let web = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "web"},
        "spec": {"gatewayClassName": "gateproof", "listeners": listeners}});
    gateways.create(&Default::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
    let asked = run(testbed.dir.path(), &arguments);
    assert_eq!(asked.code, Some(0), "{}", asked.said());
    assert!(
        asked.out.contains("✓ neighbours   1 Gateway of somebody else is served by this controller, too"),
        "{}",
        asked.said()
    );
}
