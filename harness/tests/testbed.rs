//! `gateproof testbed` as a process of its own: for runs, for somebody else's controller, for kubectl.
#![allow(clippy::unwrap_used)]

mod process;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
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
use rstest::rstest;
use serde_json::{Value, json};

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

/// Who has no Gateproof does what a failed scenario did, with the script beside its evidence.
#[rstest]
#[case::of_the_pool("httproute-missing-reference-grant", "ignores-reference-grants", "httproutes")]
#[case::with_a_status_that_is_written("gateway-foreign-condition", "drops-foreign-conditions", "gateways")]
fn what_failed_is_done_again_by_kubectl_alone(#[case] scenario: &str, #[case] fault: &str, #[case] kind: &str) {
    if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        skipped("kubectl", "there is no kubectl");
        return;
    }
    let testbed = TestbedProcess::start(&[]);
    let dir = testbed.dir.path();
    let target = format!("embedded:{fault}");
    let ended = run(dir, &["run", scenario, "--target", &target, "--report-dir", "reports"]);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    let script = dir.join("reports/failures").join(scenario).join("kubectl.sh");
    let done =
        Command::new("sh").arg(&script).env("KUBECONFIG", &testbed.kubeconfig).env("HOME", dir).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let made = kubectl(&testbed, &["get", kind, "-A", "--no-headers"]).unwrap();
    assert!(made.lines().any(|line| line.starts_with("gp-")), "{made}");
}

/// Another process tests it, with its services; what tells of them is for its owner alone and goes with it.
#[rstest]
#[case::aso("aso", "aso-deletion-refused", "arm")]
#[case::kuadrant("kuadrant", "kuadrant-auth-stopped", "components")]
fn the_testbed_of_another_dialect_is_tested(#[case] dialect: &str, #[case] scenario: &str, #[case] service: &str) {
    let mut testbed = TestbedProcess::start(&["--dialect", dialect]);
    let of = |field: &str| testbed.served["services"][0][field].as_str().unwrap().to_owned();
    assert_eq!(of("name"), service);
    let token = PathBuf::from(of("token"));
    assert_eq!(std::fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    let (kubeconfig, url) = (testbed.kubeconfig.to_str().unwrap().to_owned(), format!("{service}={}", of("url")));
    let named = format!("{service}={}", token.display());
    let mut arguments = vec!["run", scenario, "--dialect", dialect, "--kubeconfig", &kubeconfig];
    arguments.extend(["--service", &url, "--service-token", &named, "--allow-cluster-changes"]);
    let dial = testbed.dial.clone();
    if let Some(dial) = &dial {
        arguments.extend(["--gateway-class", "gateproof", "--backend-address", "127.0.0.1", "--dial", dial]);
    }
    let ended = run(testbed.dir.path(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("1 passed"), "{ended:?}");
    assert!(testbed.interrupt().success());
    assert!(!token.exists() && !testbed.kubeconfig.exists());
}

/// Whoever brings an implementation gets its environment, and the service speaks TLS with it and with the run.
#[test]
fn somebody_elses_operator_finds_its_azure() {
    let mut testbed = TestbedProcess::start(&["--dialect", "aso", "--no-controller"]);
    let text = |field: &Value| field.as_str().unwrap().to_owned();
    let environment = PathBuf::from(text(&testbed.served["environment"]));
    assert_eq!(std::fs::metadata(&environment).unwrap().permissions().mode() & 0o777, 0o600);
    let variables = std::fs::read_to_string(&environment).unwrap();
    let service = testbed.served["services"][0].clone();
    let url = text(&service["url"]);
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    for line in
        [format!("AZURE_RESOURCE_MANAGER_ENDPOINT={url}"), "SSL_CERT_FILE=/".to_owned(), "KUBECONFIG=/".to_owned()]
    {
        assert!(variables.lines().any(|one| one.starts_with(&line)), "no {line} in {variables}");
    }
    let (kubeconfig, url) = (testbed.kubeconfig.to_str().unwrap().to_owned(), format!("arm={url}"));
    let (token, ca) = (format!("arm={}", text(&service["token"])), format!("arm={}", text(&service["authority"])));
    let mut arguments = vec!["run", "aso-deletion-refused", "--dialect", "aso", "--kubeconfig", &kubeconfig];
    arguments.extend(["--timeout-scale", "0.2", "--service", &url, "--service-token", &token]);
    // Nobody reconciles, and nothing is said of the service's certificate.
    let untrusted = run(testbed.dir.path(), &arguments);
    assert_eq!(untrusted.code, Some(2), "{untrusted:?}");
    assert!(untrusted.said().contains("certificate"), "{untrusted:?}");
    arguments.extend(["--service-ca", &ca]);
    let ended = run(testbed.dir.path(), &arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.said().contains("does not reach arm"), "{ended:?}");
    assert!(!ended.said().contains("certificate"), "{ended:?}");
    assert!(testbed.interrupt().success());
    assert!(!environment.exists());
}

/// An operator that speaks with an Azure of its own is left alone: nothing but the canary was applied.
#[rstest]
#[case::elsewhere(true, "does not reach arm")]
#[case::not_said(false, "nothing says where arm is")]
fn an_operator_of_a_real_azure_is_left_alone(
    #[case] is_named: bool,
    #[case] told: &str,
    #[values(false, true)] skip: bool,
) {
    let (tested, other) = (TestbedProcess::start(&["--dialect", "aso"]), TestbedProcess::start(&["--dialect", "aso"]));
    let kubeconfig = tested.kubeconfig.to_str().unwrap();
    let text = |field: &str| other.served["services"][0][field].as_str().unwrap().to_owned();
    let (url, token) = (format!("arm={}", text("url")), format!("arm={}", text("token")));
    let mut arguments = vec!["run", "--dialect", "aso", "--kubeconfig", kubeconfig, "--timeout-scale", "0.1"];
    if is_named {
        arguments.extend(["--service", &url, "--service-token", &token]);
    }
    if skip {
        arguments.push("--skip-preflight");
    }
    let ended = run(tested.dir.path(), &arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.said().contains(told), "{ended:?}");
    assert!(!ended.said().contains("left behind") && !ended.said().contains("--skip-preflight"), "{ended:?}");
}

/// A kubeconfig of the user's stays as it is, though a testbed's context was merged into it and chosen.
#[test]
fn a_kubeconfig_of_the_users_stays() {
    let testbed = TestbedProcess::start(&[]);
    let file = testbed.dir.path().join("config");
    let mut merged = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let mut own = merged.contexts[0].clone();
    own.name = "mine".to_owned();
    merged.contexts.push(own);
    let text = serde_json::to_string(&merged).unwrap();
    std::fs::write(&file, &text).unwrap();
    let ended = run(testbed.dir.path(), &["testbed", "--kubeconfig", "config"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.said().contains("not a testbed's kubeconfig"), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

/// What stands beside the kubeconfig of a testbed gives way with it to the next one, whose files the end of the first leaves alone.
#[test]
fn a_testbed_gives_way_to_the_next_with_all_its_files() {
    let mut first = TestbedProcess::start(&["--dialect", "kuadrant"]);
    let second = first.beside(&["--dialect", "kuadrant"]);
    let (kubeconfig, token) =
        (&second.kubeconfig, PathBuf::from(second.served["services"][0]["token"].as_str().unwrap()));
    assert!(first.interrupt().success());
    assert!(kubeconfig.exists() && token.exists());
}
