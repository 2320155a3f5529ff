//! Who asks: tokens of ServiceAccounts, roles, and somebody else's part.
#![allow(clippy::unwrap_used)]

use gateproof_apiserver::Server;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::*;

const DEFAULT: &str = "/api/v1/namespaces/default";

async fn post(server: &Server, path: &str, body: Value) -> (u16, Value) {
    let (code, _, answer) = raw(server, "POST", path, &[], &body.to_string()).await;
    (code, answer)
}

/// A token of a ServiceAccount, made if need be.
async fn token(server: &Server, spec: Value) -> String {
    post(server, &format!("{DEFAULT}/serviceaccounts"), json!({"metadata": {"name": "bot"}})).await;
    let (code, answer) = post(server, &format!("{DEFAULT}/serviceaccounts/bot/token"), json!({"spec": spec})).await;
    assert_eq!(code, 201, "{answer}");
    answer["status"]["token"].as_str().unwrap().to_owned()
}

/// A client over TLS that shows a token, and perhaps plays somebody.
async fn bearer(server: &Server, token: &str, playing: Option<&str>) -> Client {
    let mut kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    kubeconfig.auth_infos[0].auth_info = Some(AuthInfo {
        token: Some(token.to_owned().into()),
        impersonate: playing.map(str::to_owned),
        ..AuthInfo::default()
    });
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn code(client: &Client, path: &str) -> u16 {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(other) => unreachable!("no answer: {other}"),
    }
}

async fn bind(server: &Server) {
    bind_verbs(server, &["list", "watch"]).await;
}

async fn bind_verbs(server: &Server, verbs: &[&str]) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({"metadata": {"name": "r"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
    ]});
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "bot", "namespace": "default"}],
    });
    assert_eq!(post(server, &format!("{rbac}/roles"), role).await.0, 201);
    assert_eq!(post(server, &format!("{rbac}/rolebindings"), binding).await.0, 201);
}

#[tokio::test]
async fn roles_hold_for_tokens_of_service_accounts() {
    let server = server().await;
    let token = token(&server, json!({})).await;
    let bot = bearer(&server, &token, None).await;
    let maps = format!("{DEFAULT}/configmaps");
    assert_eq!(code(&bot, "/version").await, 200);
    assert_eq!(code(&bot, "/metrics").await, 403);
    assert_eq!(code(&bot, &maps).await, 403);
    bind(&server).await;
    assert_eq!(code(&bot, &maps).await, 200);
    assert_eq!(code(&bot, &format!("{maps}?watch=true&timeoutSeconds=1")).await, 200);
    for path in ["/api/v1/configmaps", "/api/v1/namespaces/kube-system/configmaps"] {
        assert_eq!(code(&bot, path).await, 403);
    }
    assert_eq!(code(&bot, &format!("{maps}/a")).await, 403);
    assert_eq!(code(&bot, &format!("{DEFAULT}/pods/a/log")).await, 403);
    raw(&server, "DELETE", &format!("{DEFAULT}/serviceaccounts/bot"), &[], "").await;
    assert_eq!(code(&bot, &maps).await, 401, "the account is gone");
}

/// Without the verb `create`, what is there can be patched, and nothing else can be applied.
#[tokio::test]
async fn applying_what_is_not_there_is_creating_it() {
    let server = server().await;
    let token = token(&server, json!({})).await;
    let bot = bearer(&server, &token, None).await;
    let apply = async |name: &str| {
        let path = format!("{DEFAULT}/configmaps/{name}?fieldManager=bot");
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
        let request = http::Request::patch(path).header("content-type", "application/apply-patch+yaml");
        match bot.request_text(request.body(body.to_string().into_bytes()).unwrap()).await {
            Ok(_) => (200, String::new()),
            Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
            Err(other) => unreachable!("no answer: {other}"),
        }
    };
    post(&server, &format!("{DEFAULT}/configmaps"), json!({"metadata": {"name": "there"}})).await;
    bind_verbs(&server, &["patch"]).await;
    assert_eq!(apply("there").await.0, 200);
    let (code, message) = apply("new").await;
    assert_eq!(code, 403);
    assert!(message.contains("create configmaps"), "{message}");
    let role = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r";
    let merge = [("content-type", "application/merge-patch+json")];
    let rules = json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "create"]}]});
    raw(&server, "PATCH", role, &merge, &rules.to_string()).await;
    assert_eq!(apply("new").await.0, 200);
}

#[tokio::test]
async fn an_administrator_may_play_somebody() {
    let server = server().await;
    let token = token(&server, json!({})).await;
    bind(&server).await;
    let maps = format!("{DEFAULT}/configmaps");
    let played = bearer(&server, server.token(), Some("system:serviceaccount:default:bot")).await;
    assert_eq!(code(&played, &maps).await, 200);
    assert_eq!(code(&played, &format!("{DEFAULT}/secrets")).await, 403);
    let bold = bearer(&server, &token, Some("gateproof:admin")).await;
    assert_eq!(code(&bold, &maps).await, 403, "the bot may play nobody");
}

#[tokio::test]
async fn a_token_is_good_for_its_audience() {
    let server = server().await;
    let token = token(&server, json!({"audiences": ["proxy"]})).await;
    assert_eq!(code(&bearer(&server, &token, None).await, "/version").await, 401);
    let review = async |audiences: Value| {
        let body = json!({"spec": {"token": token, "audiences": audiences}});
        post(&server, "/apis/authentication.k8s.io/v1/tokenreviews", body).await.1["status"].clone()
    };
    assert_eq!(review(json!(["proxy", "x"])).await["audiences"], json!(["proxy"]));
    assert_eq!(review(json!(["x"])).await["authenticated"], false);
    assert_eq!(review(json!(null)).await["authenticated"], false);
}

#[rstest]
#[case(json!({"expirationSeconds": 1}), 422)]
#[case(json!({"expirationSeconds": 1i64 << 33}), 422)]
#[case(json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}), 404)]
#[case(json!({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "a"}}), 400)]
#[tokio::test]
async fn a_request_for_a_token_is_refused(#[case] spec: Value, #[case] code: u16) {
    let server = server().await;
    token(&server, json!({})).await;
    let path = format!("{DEFAULT}/serviceaccounts/bot/token");
    assert_eq!(post(&server, &path, json!({"spec": spec})).await.0, code);
    let unknown = format!("{DEFAULT}/serviceaccounts/nobody/token");
    assert_eq!(post(&server, &unknown, json!({})).await.0, 404);
}

#[tokio::test]
async fn a_token_ends_with_what_it_is_bound_to() {
    let server = server().await;
    post(&server, &format!("{DEFAULT}/secrets"), json!({"metadata": {"name": "s"}})).await;
    let reference = json!({"kind": "Secret", "apiVersion": "v1", "name": "s"});
    let token = token(&server, json!({"boundObjectRef": reference})).await;
    let bot = bearer(&server, &token, None).await;
    assert_eq!(code(&bot, "/version").await, 200);
    raw(&server, "DELETE", &format!("{DEFAULT}/secrets/s"), &[], "").await;
    assert_eq!(code(&bot, "/version").await, 401);
}

#[tokio::test]
async fn access_reviews_answer_by_roles() {
    let server = server().await;
    token(&server, json!({})).await;
    bind(&server).await;
    let ask = async |spec: Value| {
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        post(&server, path, json!({"spec": spec})).await
    };
    let asked = |user: &str, resource: &str| {
        let attributes = json!({"verb": "list", "resource": resource, "namespace": "default"});
        json!({"user": user, "resourceAttributes": attributes})
    };
    let bot = "system:serviceaccount:default:bot";
    for (user, resource, allowed) in [(bot, "configmaps", true), (bot, "secrets", false), ("jane", "configmaps", false)]
    {
        assert_eq!(ask(asked(user, resource)).await.1["status"]["allowed"], allowed, "{user} {resource}");
    }
    assert_eq!(ask(json!({"user": bot})).await.0, 400);
    assert_eq!(ask(json!({"resourceAttributes": {"verb": "list"}})).await.0, 400);
}

#[tokio::test]
async fn scale_reads_and_writes_replicas() {
    let server = server().await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({"app": "a"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template});
    let (code, made) = post(&server, deployments, json!({"metadata": {"name": "d"}, "spec": spec})).await;
    assert_eq!(code, 201, "{made}");
    let path = format!("{deployments}/d/scale");
    let (_, _, mut scale) = raw(&server, "GET", &path, &[], "").await;
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(2)));
    assert_eq!(scale["status"]["selector"], "app=a");
    scale["spec"]["replicas"] = 4.into();
    assert_eq!(raw(&server, "PUT", &path, &[], &scale.to_string()).await.0, 200);
    assert_eq!(raw(&server, "PUT", &path, &[], &scale.to_string()).await.0, 409, "the version is an old one");
    let merge = [("content-type", "application/merge-patch+json")];
    let (_, _, patched) = raw(&server, "PATCH", &path, &merge, r#"{"spec": {"replicas": 5}}"#).await;
    assert_eq!(patched["spec"]["replicas"], 5);
    assert_eq!(raw(&server, "PATCH", &path, &merge, r#"{"spec": {"replicas": -1}}"#).await.0, 422);
    let (_, _, deployment) = raw(&server, "GET", &format!("{deployments}/d"), &[], "").await;
    assert_eq!((&deployment["spec"]["replicas"], &deployment["metadata"]["generation"]), (&json!(5), &json!(3)));
    assert_eq!(raw(&server, "GET", &format!("{DEFAULT}/services/d/scale"), &[], "").await.0, 404);
}
