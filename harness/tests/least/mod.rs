//! A user who may do what a run needs, and nothing else.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

use std::sync::Arc;

use gateproof::run::permissions::{Permissions, Ways, kinds_of};
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof::suite::Suite;
use gateproof_testbed::Testbed;
use kube::Client;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

/// The built-in scenarios of these names.
pub fn scenarios(names: &[&str]) -> Vec<Scenario> {
    let all = load::builtin(&Vocabulary::builtin()).unwrap();
    let chosen: Vec<Scenario> = all.into_iter().filter(|scenario| names.contains(&scenario.name.as_str())).collect();
    assert_eq!(chosen.len(), names.len(), "a scenario has another name now");
    chosen
}

/// What preflight asks.
pub fn tried() -> Scenario {
    Arc::unwrap_or_clone(Suite::gateway_api().unwrap().preflight.unwrap())
}

/// Applies an object, as somebody else.
pub async fn apply(client: &Client, path: &str, body: Value) {
    let request = http::Request::patch(format!("{path}?fieldManager=controller&force=true"))
        .header("content-type", "application/apply-patch+yaml")
        .body(body.to_string().into_bytes());
    // What belongs to a namespace that ends meanwhile is not missed.
    let _ = client.request::<Value>(request.unwrap()).await;
}

/// The token of a ServiceAccount that may do what the scenarios need by these ways, and nothing else.
pub async fn token(client: &Client, scenarios: &[Scenario], ways: Ways) -> String {
    let request = tried();
    let all = || scenarios.iter().chain([&request]);
    let rules = Permissions::of(all(), &kinds_of(all()), ways).rules();
    let (group, name) = ("rbac.authorization.k8s.io", "least");
    let (version, metadata) = (format!("{group}/v1"), json!({"name": name}));
    let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
    let role_ref = json!({"apiGroup": group, "kind": "ClusterRole", "name": name});
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
    apply(client, "/api/v1/namespaces/default/serviceaccounts/least", account).await;
    let role = json!({"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules});
    apply(client, &format!("/apis/{group}/v1/clusterroles/least"), role).await;
    let binding = json!({"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": role_ref,
        "subjects": subjects});
    apply(client, &format!("/apis/{group}/v1/clusterrolebindings/least"), binding).await;
    let request = http::Request::post("/api/v1/namespaces/default/serviceaccounts/least/token")
        .header("content-type", "application/json")
        .body(json!({"spec": {}}).to_string().into_bytes());
    let answer: Value = client.request(request.unwrap()).await.unwrap();
    answer["status"]["token"].as_str().unwrap().to_owned()
}

/// A kubeconfig of such a ServiceAccount.
pub async fn kubeconfig(testbed: &Testbed, scenarios: &[Scenario], ways: Ways) -> String {
    let mut kubeconfig = Kubeconfig::from_yaml(&testbed.kubeconfig()).unwrap();
    let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
    user.token = Some(token(&testbed.client(), scenarios, ways).await.into());
    serde_json::to_string(&kubeconfig).unwrap()
}
