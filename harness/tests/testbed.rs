//! `gateproof testbed` as a process of its own: for runs, for somebody else's controller, for kubectl.
#![allow(clippy::unwrap_used)]

mod process;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use gateproof_controllers::runtime::{Controllers, Seams};
use gateproof_controllers::settings::{CONTROLLER_NAME, Settings};
use gateproof_proxy::{Proxy, ProxyOptions};
use kube::api::{Api, DynamicObject, GroupVersionKind, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::{Client, Config};
use process::{TestbedProcess, run, skipped};
use serde_json::json;

/// A few that need the API server, the data plane and hosted backends, over HTTP and TCP.
const FEW: [&str; 4] = [
    "httproute-missing-backend",
    "httproute-missing-reference-grant",
    "tcproute-missing-backend",
    "gatewayclass-accepted",
];

#[test]
fn another_process_runs_scenarios_against_it() {
    let mut testbed = TestbedProcess::start(&[]);
    let mode = std::fs::metadata(&testbed.kubeconfig).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the kubeconfig holds a token");
    let mut arguments = testbed.arguments("gateproof");
    arguments.extend(FEW);
    let ended = run(testbed.dir.path(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("4 passed, 0 failed"), "{}", ended.out);
    assert!(testbed.interrupt().success());
    assert!(!testbed.kubeconfig.exists(), "the kubeconfig names a server that is gone");
}

#[test]
fn a_class_that_is_not_there_is_named_with_those_that_are() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    let ended = run(testbed.dir.path(), &testbed.arguments("mine"));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.said().contains("the target has no GatewayClass `mine`"), "{}", ended.said());
}

/// The controller here is the reference, but neither testbed nor run know: it comes over the network, as yours does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_of_somebody_else_is_tested() {
    let mut testbed = TestbedProcess::start(&["--no-controller"]);
    assert_eq!(testbed.dial, None);
    let kubeconfig = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let server = kubeconfig.clusters[0].cluster.clone().unwrap().server.unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();

    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "GatewayClass"));
    let classes: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let class = json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "mine"},
        "spec": {"controllerName": CONTROLLER_NAME}});
    classes.create(&PostParams::default(), &serde_json::from_value(class).unwrap()).await.unwrap();

    // The port is this testbed's alone while it runs, so the addresses are too.
    let [high, low] = server.rsplit(':').next().unwrap().trim_end_matches('/').parse::<u16>().unwrap().to_be_bytes();
    let settings = Settings { network: [127, high.max(1), low], ..Settings::default() };
    let proxy = Arc::new(Proxy::new(ProxyOptions { port_offset: Some(20_000) }));
    let controllers = Controllers::start(client, Arc::clone(&proxy), settings, Seams::default());

    testbed.dial = Some("*:*=*:+20000".to_owned());
    let (controlled, ended) = tokio::task::spawn_blocking(move || {
        let mut arguments = testbed.arguments("mine");
        arguments.extend(FEW);
        let ended = run(testbed.dir.path(), &arguments);
        (testbed, ended)
    })
    .await
    .unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("4 passed, 0 failed"), "{}", ended.out);
    controllers.shutdown().await;
    proxy.shutdown().await;
    drop(controlled);
}

const OBJECTS: &str = r"
apiVersion: v1
kind: Namespace
metadata: {name: demo}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: demo}
spec:
  gatewayClassName: gateproof
  listeners: [{name: http, port: 80, protocol: HTTP}]
";

/// Runs kubectl with its cache beside the kubeconfig.
fn kubectl(testbed: &TestbedProcess, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("kubectl");
    command.env("HOME", testbed.dir.path()).current_dir(testbed.dir.path());
    let output = command.arg("--kubeconfig").arg(&testbed.kubeconfig).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn kubectl_works_as_on_any_cluster() {
    if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        skipped("kubectl", "there is no kubectl");
        return;
    }
    let testbed = TestbedProcess::start(&[]);
    std::fs::write(testbed.dir.path().join("objects.yaml"), OBJECTS).unwrap();
    let classes = kubectl(&testbed, &["get", "gatewayclasses"]).unwrap();
    assert!(classes.contains("gateproof.dev/reference"), "{classes}");
    let applied = kubectl(&testbed, &["apply", "-f", "objects.yaml"]).unwrap();
    assert!(applied.contains("namespace/demo created") && applied.contains("/gw created"), "{applied}");
    let unchanged = kubectl(&testbed, &["apply", "-f", "objects.yaml"]).unwrap();
    assert!(unchanged.contains("namespace/demo unchanged"), "{unchanged}");
    kubectl(&testbed, &["apply", "--server-side", "--force-conflicts", "-f", "objects.yaml"]).unwrap();
    let waited =
        kubectl(&testbed, &["wait", "gateway/gw", "-n", "demo", "--for=condition=Programmed", "--timeout=60s"]);
    assert!(waited.unwrap().contains("condition met"));
    let gateway = kubectl(&testbed, &["get", "gateway", "gw", "-n", "demo", "-o", "yaml"]).unwrap();
    assert!(gateway.contains("attachedRoutes: 0") && gateway.contains("reason: Programmed"), "{gateway}");
    let patch = ["patch", "gateway", "gw", "-n", "demo", "--type=merge", "-p", r#"{"spec":{"gatewayClassName":""}}"#];
    let refused = kubectl(&testbed, &patch).unwrap_err();
    assert!(refused.contains("spec.gatewayClassName"), "{refused}");
    let described = kubectl(&testbed, &["describe", "gateway", "gw", "-n", "demo"]).unwrap();
    assert!(described.contains("Programmed"), "{described}");
    let explained = kubectl(&testbed, &["explain", "httproute.spec.rules"]).unwrap();
    assert!(explained.contains("backendRefs"), "{explained}");
    let token = kubectl(&testbed, &["create", "token", "default", "-n", "demo"]).unwrap();
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
    kubectl(&testbed, &["delete", "namespace", "demo", "--timeout=60s"]).unwrap();
    let gone = kubectl(&testbed, &["get", "gateways", "-A"]);
    assert_eq!(gone.unwrap(), "");
}
