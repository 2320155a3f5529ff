//! The policy of `gateproof rbac --admission-policy` on a real API server, which GATEPROOF_REAL_APISERVER names by its kubeconfig:
//! `scripts/interop/real-apiserver` runs one. The server is filled with test objects.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof::cluster::names::run_id;
use gateproof_apiserver::crds::{Channel, gateway_api};
use gateproof_controllers::runtime::{Controllers, Seams};
use gateproof_controllers::settings::{CONTROLLER_NAME, Settings};
use gateproof_proxy::{Proxy, ProxyOptions};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

/// Where bound ports are beside declared ones.
const OFFSET: u16 = 20_000;
/// How often something is asked for that is to come about by itself.
const TRIES: usize = 5000;
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CLASSES: &str = "/apis/gateway.networking.k8s.io/v1/gatewayclasses";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/gateproof-locks/leases";

/// Somebody who asks a server.
struct User(Client);

impl User {
    async fn of(kubeconfig: &Kubeconfig, token: Option<&str>) -> User {
        let mut kubeconfig = kubeconfig.clone();
        if let Some(token) = token {
            let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
            user.token = Some(token.to_owned().into());
        }
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        User(Client::try_from(config).unwrap())
    }

    async fn ask(&self, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let request = http::Request::builder().method(method).uri(path).header("content-type", media);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = self.0.send(request.body(Body::from(body)).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Applies an object, which must be taken.
    async fn apply(&self, path: &str, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{path}/{name}?fieldManager=somebody&force=true");
        let (code, answer) = self.ask("PATCH", &path, "application/apply-patch+yaml", object).await;
        assert!(code < 300, "{path}: {answer}");
    }

    /// A token of a ServiceAccount in the default namespace.
    async fn token(&self, account: &str) -> String {
        let path = format!("/api/v1/namespaces/default/serviceaccounts/{account}/token");
        let (code, answer) = self.ask("POST", &path, "application/json", &json!({"spec": {}})).await;
        assert!(code < 300, "{answer}");
        answer["status"]["token"].as_str().unwrap().to_owned()
    }
}

/// What `gateproof rbac` prints.
fn printed(dir: &Path, words: &[&str]) -> Vec<Value> {
    let ended = process::run(dir, &[&["rbac"], words].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    serde_yaml::from_multiple(&ended.out).unwrap()
}

fn collection(kind: &str) -> String {
    match kind {
        "ServiceAccount" => "/api/v1/namespaces/default/serviceaccounts".to_owned(),
        "ClusterRole" => format!("{RBAC}/clusterroles"),
        "ClusterRoleBinding" => format!("{RBAC}/clusterrolebindings"),
        "ValidatingAdmissionPolicy" => format!("{POLICIES}/validatingadmissionpolicies"),
        "ValidatingAdmissionPolicyBinding" => format!("{POLICIES}/validatingadmissionpolicybindings"),
        other => panic!("{other} is printed"),
    }
}

/// Whether a refusal is the policy's.
fn is_by_policy(code: u16, answer: &Value) -> bool {
    let message = answer["message"].as_str().unwrap_or_default();
    code == 403 && message.contains("what belongs to a run of Gateproof")
}

/// Until the policy is in force for a user who may create ConfigMaps. An earlier policy of that user would be taken for it.
async fn in_force(user: &User) {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "namespace": "default"}});
    for _ in 0..TRIES {
        let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
        let (code, answer) = user.ask("POST", path, "application/json", &object).await;
        if is_by_policy(code, &answer) {
            return;
        }
    }
    panic!("the policy is not in force after {TRIES} requests");
}

/// A server with Gateway API, and an implementation on it.
struct Bench {
    dir: tempfile::TempDir,
    kubeconfig: Kubeconfig,
    admin: User,
    controllers: Controllers,
    proxy: Arc<Proxy>,
}

async fn bench(file: &Path) -> Bench {
    let kubeconfig = Kubeconfig::read_from(file).unwrap();
    let admin = User::of(&kubeconfig, None).await;
    for definition in gateway_api(Channel::Standard) {
        admin.apply(CRDS, &definition).await;
        let path = format!("{CRDS}/{}", definition["metadata"]["name"].as_str().unwrap());
        let mut tries = 0;
        loop {
            let (_, live) = admin.ask("GET", &path, "application/json", &Value::Null).await;
            let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
            if conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True") {
                break;
            }
            tries += 1;
            assert!(tries < TRIES, "{live}");
        }
    }
    let class = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "gateproof"},
        "spec": {"controllerName": CONTROLLER_NAME},
    });
    admin.apply(CLASSES, &class).await;
    let proxy = Arc::new(Proxy::new(ProxyOptions { port_offset: Some(OFFSET) }));
    let settings = Settings::default();
    let controllers = Controllers::start(admin.0.clone(), Arc::clone(&proxy), settings, Seams::default());
    Bench { dir: tempfile::tempdir().unwrap(), kubeconfig, admin, controllers, proxy }
}

impl Bench {
    /// Applies what is printed for an account that nobody has had before, and returns the account.
    async fn account(&self, words: &[&str], all: bool) -> (User, String) {
        let name = &format!("confined-{}", run_id());
        for mut object in printed(self.dir.path(), &[&["--admission-policy", "--name", name], words].concat()) {
            let kind = object["kind"].as_str().unwrap().to_owned();
            if all && kind == "ClusterRole" {
                // Nothing but the policy stands in the way.
                object["rules"] = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
            }
            self.admin.apply(&collection(&kind), &object).await;
        }
        let token = self.admin.token(name).await;
        (User::of(&self.kubeconfig, Some(&token)).await, token)
    }
}

fn server() -> Option<PathBuf> {
    let file = std::env::var_os("GATEPROOF_REAL_APISERVER").map(PathBuf::from);
    if file.is_none() {
        process::skipped("real-apiserver", "GATEPROOF_REAL_APISERVER names no kubeconfig");
    }
    file
}

/// What is changed of objects of others, what has no namespace, what is locked, Secrets, grants, and patches of all sorts.
const SELECTION: [&str; 9] = [
    "gateway-allows-selected-namespaces",
    "gatewayclass-accepted",
    "gatewayclass-unsupported-version",
    "gateway-foreign-*",
    "httproute-*namespace*",
    "httproute-missing-backend",
    "httproute-missing-reference-grant",
    "httproute-status-*",
    "tcproute-simple",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_has_all_that_it_needs_and_others_keep_what_is_theirs() {
    let Some(file) = server() else { return };
    let bench = bench(&file).await;
    refusals(&bench).await;
    whole_run(&bench).await;
    bench.controllers.shutdown().await;
    bench.proxy.shutdown().await;
}

/// A run with the role that is printed for it, under its policy.
async fn whole_run(bench: &Bench) {
    let words = [&SELECTION[..], &["--allow-cluster-changes", "--gateway-class", "gateproof"]].concat();
    let (user, token) = bench.account(&words, false).await;
    in_force(&user).await;
    let mut kubeconfig = bench.kubeconfig.clone();
    kubeconfig.auth_infos[0].auth_info.as_mut().unwrap().token = Some(token.into());
    let file = bench.dir.path().join("runs.kubeconfig");
    std::fs::write(&file, serde_json::to_string(&kubeconfig).unwrap()).unwrap();
    let rule = format!("*:*=*:+{OFFSET}");
    let file = file.to_str().unwrap().to_owned();
    let words = [&["run"], &words[..], &["--kubeconfig", &file, "--dial", &rule, "--timing", "embedded"]].concat();
    let words: Vec<String> = [&words[..], &["--timeout-scale", "4"]].concat().iter().map(|w| (*w).to_owned()).collect();
    let dir = bench.dir.path().to_owned();
    let run = move || process::run(&dir, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let ended = tokio::task::spawn_blocking(run).await.unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(!ended.said().contains("left behind"), "{}", ended.said());
    assert!(!ended.said().contains("skipped"), "{}", ended.said());
}

/// An object of somebody else's, and where it lies.
fn foreign() -> Vec<(String, Value)> {
    let run = json!({"gateproof.dev/run": "abcdef", "app.kubernetes.io/managed-by": "gateproof"});
    let namespace = |name: &str, labels: &Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let map = |name: &str, labels: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}});
    let class = |name: &str, labels: &Value| {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": name, "labels": labels},
            "spec": {"controllerName": "example.com/theirs"},
        })
    };
    let role = |name: &str, labels: &Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "rules": []});
    let lease =
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "theirs"}, "spec": {}});
    let none = json!({});
    let maps = |place: &str| format!("/api/v1/namespaces/{place}/configmaps");
    let namespaces = || "/api/v1/namespaces".to_owned();
    vec![
        (namespaces(), namespace("precious", &none)),
        (namespaces(), namespace("labelled", &run)),
        (namespaces(), namespace("gp-abcdef-7-ns", &none)),
        (namespaces(), namespace("gp-abcdeg-7-ns", &run)),
        (namespaces(), namespace("gateproof-locks", &none)),
        (maps("default"), map("precious", &none)),
        (maps("default"), map("gp-abcdef-0-own", &run)),
        (maps("labelled"), map("precious", &run)),
        (maps("gp-abcdef-7-ns"), map("precious", &run)),
        (maps("gateproof-locks"), map("precious", &run)),
        (LEASES.to_owned(), lease),
        (CLASSES.to_owned(), class("precious", &run)),
        (CLASSES.to_owned(), class("gp-abcdef-8-own", &none)),
        (format!("{RBAC}/clusterroles"), role("precious", &run)),
        (format!("{RBAC}/clusterroles"), role("gp-abcdef-8-own", &none)),
    ]
}

/// Every verb, on every sort of object that is not a run's.
async fn refusals(bench: &Bench) {
    let (user, _) = bench.account(&["--allow-cluster-changes"], true).await;
    in_force(&user).await;
    let merge = "application/merge-patch+json";
    // Of an earlier test there may be some, with other labels.
    let unlabelled = json!({"metadata": {"labels": {"gateproof.dev/run": null, "gateproof.dev/locks": null}}});
    for (path, object) in foreign() {
        let one = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
        bench.admin.ask("PATCH", &one, merge, &unlabelled).await;
        bench.admin.apply(&path, &object).await;
    }
    let labelled = json!({"metadata": {"labels": {"gateproof.dev/run": "abcdef"}}});
    let mut tried = 0;
    let mut definitions: Vec<(String, Value)> =
        gateway_api(Channel::Standard).into_iter().map(|object| (CRDS.to_owned(), object)).collect();
    // Of this one runs change an annotation.
    let patched = "gatewayclasses.gateway.networking.k8s.io";
    definitions.retain(|(_, object)| object["metadata"]["name"] != patched);
    for (path, object) in foreign().into_iter().chain(definitions) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let one = format!("{path}/{name}");
        let (_, live) = bench.admin.ask("GET", &one, merge, &Value::Null).await;
        let mut adopted = live.clone();
        adopted["metadata"]["labels"]["gateproof.dev/run"] = json!("abcdef");
        let apply = format!("{one}?fieldManager=a&force=true");
        let status = format!("{one}/status");
        let mut asked = vec![
            ("PATCH", one.clone(), merge, labelled.clone()),
            ("PATCH", apply, "application/apply-patch+yaml", object.clone()),
            ("PUT", one.clone(), "application/json", adopted),
            ("DELETE", one.clone(), "application/json", Value::Null),
        ];
        if live.get("status").is_some() {
            asked.push(("PATCH", status, merge, json!({"status": {"conditions": []}})));
        }
        for (method, path, media, body) in asked {
            let (code, answer) = user.ask(method, &path, media, &body).await;
            assert!(is_by_policy(code, &answer), "{method} {path} {body}: {code} {answer}");
            tried += 1;
        }
        // What would come beside it; a definition has no other name.
        if object["kind"] != "CustomResourceDefinition" {
            let mut other = object.clone();
            other["metadata"]["name"] = json!(format!("{name}x"));
            let (code, answer) = user.ask("POST", &path, "application/json", &other).await;
            assert!(is_by_policy(code, &answer), "POST {path} {other}: {code} {answer}");
            tried += 1;
        }
        let (code, still) = bench.admin.ask("GET", &one, merge, &Value::Null).await;
        assert_eq!((code, &still["metadata"]["uid"]), (200, &live["metadata"]["uid"]), "{one}");
    }
    assert!(tried > 80, "{tried}");
    allowed(bench, &user, &format!("{CRDS}/{patched}")).await;
    let pod = "/api/v1/namespaces/default/pods/theirs";
    let (proxy, forward) = (format!("{pod}/proxy/journal"), format!("{pod}/portforward"));
    for (method, path) in [("DELETE", &format!("{CRDS}/{patched}")), ("GET", &proxy), ("POST", &forward)] {
        let (code, answer) = user.ask(method, path, merge, &Value::Null).await;
        assert!(is_by_policy(code, &answer), "{method} {path}: {code} {answer}");
    }
    for (path, object) in foreign().into_iter().rev() {
        let name = object["metadata"]["name"].as_str().unwrap();
        bench.admin.ask("DELETE", &format!("{path}/{name}"), merge, &Value::Null).await;
    }
}

/// What runs do.
async fn allowed(bench: &Bench, user: &User, patched: &str) {
    let run = run_id();
    let (labels, place, own) = (json!({"gateproof.dev/run": run}), format!("gp-{run}-0-ns"), format!("gp-{run}-0-own"));
    let (merge, json_media) = ("application/merge-patch+json", "application/json");
    let note = json!({"metadata": {"annotations": {"a": "b"}}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place, "labels": labels}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a", "labels": labels}, "spec": {}});
    let class = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": own, "labels": labels},
        "spec": {"controllerName": "example.com/theirs"},
    });
    let home = format!("/api/v1/namespaces/{place}");
    let (maps, own) = (format!("{home}/configmaps"), format!("{CLASSES}/{own}"));
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let asked = [
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json_media, &review),
        ("POST", "/api/v1/namespaces", json_media, &namespace),
        ("PATCH", &home, merge, &note),
        ("POST", &maps, json_media, &map),
        ("PATCH", &format!("{maps}/a"), merge, &note),
        ("DELETE", &format!("{maps}/a"), json_media, &Value::Null),
        ("POST", LEASES, json_media, &lease),
        ("PATCH", &format!("{LEASES}/a"), merge, &note),
        ("DELETE", &format!("{LEASES}/a"), json_media, &Value::Null),
        ("POST", CLASSES, json_media, &class),
        ("PATCH", &own, merge, &note),
        ("PATCH", &format!("{own}/status"), merge, &json!({"status": {"conditions": []}})),
        ("DELETE", &own, json_media, &Value::Null),
        ("PATCH", patched, merge, &note),
        ("DELETE", &home, json_media, &Value::Null),
    ];
    for (method, path, media, body) in asked {
        if method == "DELETE" && path == home {
            // There is no such Pod, but it may be reached.
            let proxy = format!("{home}/pods/echo/proxy/journal");
            assert_eq!(user.ask("GET", &proxy, json_media, &Value::Null).await.0, 404);
        }
        let (code, answer) = user.ask(method, path, media, body).await;
        assert!(code < 300, "{method} {path}: {code} {answer}");
    }
    let (code, _) = bench.admin.ask("GET", &own, merge, &Value::Null).await;
    assert_eq!(code, 404);
}
