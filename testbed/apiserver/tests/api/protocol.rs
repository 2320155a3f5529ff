//! The protocol around objects: tokens, discovery, tables, documents, counters, the end.
#![allow(clippy::unwrap_used)]

use gateproof_apiserver::Server;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use kube::api::PostParams;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Discovery};
use serde_json::json;

use crate::support::*;

const WIDGETS: &str = "/apis/example.dev/v1/namespaces/default/widgets";

#[tokio::test]
async fn the_socket_asks_for_the_token() {
    let server = server().await;
    let mut kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    kubeconfig.auth_infos[0].auth_info =
        Some(AuthInfo { token: Some("wrong".to_owned().into()), ..AuthInfo::default() });
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let stranger = Client::try_from(config).unwrap();
    assert_eq!(refused(widget_api(&stranger).get("a").await), (401, "Unauthorized".into()));
    assert_eq!(refused(widget_api(&outside(&server).await).get("a").await), (404, "NotFound".into()));
}

#[tokio::test]
async fn the_kubeconfig_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let server = server().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kubeconfig");
    std::fs::write(&path, "something longer, which must go".repeat(1000)).unwrap();
    server.write_kubeconfig(&path).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), server.kubeconfig());
}

#[tokio::test]
async fn discovery_in_both_forms() {
    let server = server().await;
    let client = outside(&server).await;
    for discovery in [
        Discovery::new(client.clone()).run().await.unwrap(),
        Discovery::new(client.clone()).run_aggregated().await.unwrap(),
    ] {
        let group = discovery.get("example.dev").unwrap();
        assert_eq!(group.preferred_version(), Some("v1"));
        let (widget, capabilities) = group.recommended_kind("Widget").unwrap();
        assert_eq!(widget.plural, "widgets");
        assert!(capabilities.supports_operation("watch"));
        assert!(capabilities.subresources.iter().any(|(resource, _)| resource.plural.ends_with("status")));
    }
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (_, headers, list) = raw(&server, "GET", "/apis", &[("accept", accept)], "").await;
    assert_eq!(list["kind"], "APIGroupDiscoveryList");
    assert_eq!(headers["content-type"], "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let version = client.apiserver_version().await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
    for path in ["/livez", "/readyz", "/healthz/ping"] {
        assert_eq!(raw(&server, "GET", path, &[], "").await.0, 200);
    }
}

#[tokio::test]
async fn tables_and_metadata() {
    let server = server().await;
    create(&widget_api(&inside(&server)), "a", "red").await;
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let (_, _, table) = raw(&server, "GET", WIDGETS, &accept, "").await;
    let heads: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(heads, ["Name", "Color", "Age"]);
    assert_eq!(table["rows"][0]["cells"].as_array().unwrap()[..2], [json!("a"), json!("red")]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let accept = [("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let (_, _, list) = raw(&server, "GET", WIDGETS, &accept, "").await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    assert_eq!(list["items"][0].get("spec"), None);
}

#[tokio::test]
async fn duplicate_fields_as_strictly_as_asked() {
    let server = server().await;
    let body = r#"{"metadata": {"name": "a"}, "spec": {"color": "red", "color": "blue"}}"#;
    let (code, _, status) = raw(&server, "POST", &format!("{WIDGETS}?fieldValidation=Strict"), &[], body).await;
    assert_eq!(code, 400);
    assert_eq!(status["message"], "strict decoding error: duplicate field \"spec.color\"");
    let (code, headers, _) = raw(&server, "POST", &format!("{WIDGETS}?dryRun=All"), &[], body).await;
    assert_eq!(code, 201);
    assert_eq!(headers["warning"], "299 - \"duplicate field \\\"spec.color\\\"\"");
    let (code, headers, object) = raw(&server, "POST", &format!("{WIDGETS}?fieldValidation=Ignore"), &[], body).await;
    assert_eq!((code, headers.get("warning")), (201, None));
    assert_eq!(object["spec"]["color"], "blue");
    assert_eq!(raw(&server, "POST", &format!("{WIDGETS}?fieldValidation=Loose"), &[], body).await.0, 422);
}

#[tokio::test]
async fn yaml_both_ways() {
    let server = server().await;
    let body = "metadata: {name: a}\nspec: {color: red}\n";
    let headers = [("content-type", "application/yaml"), ("accept", "application/yaml")];
    let (code, headers, _) = raw(&server, "POST", WIDGETS, &headers, body).await;
    assert_eq!((code, headers["content-type"].to_str().unwrap()), (201, "application/yaml"));
}

#[tokio::test]
async fn reviews_are_answered() {
    let server = server().await;
    let client = inside(&server);
    let reviews: Api<TokenReview> = Api::all(client.clone());
    for (token, good) in [(server.token(), true), ("wrong", false)] {
        let review = serde_json::from_value(json!({"metadata": {}, "spec": {"token": token}})).unwrap();
        let review = reviews.create(&PostParams::default(), &review).await.unwrap();
        assert_eq!(review.status.unwrap().authenticated, Some(good));
    }
    let who: Api<SelfSubjectReview> = Api::all(client);
    let me = who.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    assert!(me.status.unwrap().user_info.unwrap().groups.unwrap().contains(&"system:masters".to_owned()));
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let body = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}).to_string();
    let (code, _, review) = raw(&server, "POST", path, &[], &body).await;
    assert_eq!((code, review["status"]["allowed"].as_bool()), (201, Some(true)));
    assert_eq!(raw(&server, "GET", path, &[], "").await.0, 405);
}

#[tokio::test]
async fn documents_describe_the_kinds() {
    let server = server().await;
    let (_, _, index) = raw(&server, "GET", "/openapi/v3", &[], "").await;
    let url = index["paths"]["apis/example.dev/v1"]["serverRelativeURL"].as_str().unwrap();
    let (_, _, document) = raw(&server, "GET", url, &[], "").await;
    let schema = &document["components"]["schemas"]["dev.example.v1.Widget"];
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
    assert_eq!(schema["properties"]["spec"]["properties"]["color"]["type"], "string");
    let patch = &document["paths"]["/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|parameter| parameter["name"] == "fieldValidation"));
    let (_, _, core) = raw(&server, "GET", "/openapi/v3/api/v1", &[], "").await;
    assert!(core["components"]["schemas"]["io.k8s.api.core.v1.Service"].is_object());
}

fn count(server: &Server, verb: &str, resource: &str, agent: &str) -> u64 {
    let found =
        server.requests().into_iter().find(|r| (&*r.verb, &*r.resource, &*r.user_agent) == (verb, resource, agent));
    found.map_or(0, |request| request.count)
}

#[tokio::test]
async fn requests_are_counted() {
    let server = server().await;
    for path in [format!("{WIDGETS}/a"), format!("{WIDGETS}/b"), WIDGETS.to_owned(), format!("{WIDGETS}/a/status")] {
        raw(&server, "GET", &path, &[("user-agent", "one/1")], "").await;
    }
    raw(&server, "GET", WIDGETS, &[("user-agent", "two/1")], "").await;
    assert_eq!(count(&server, "get", "widgets.example.dev", "one/1"), 2);
    assert_eq!(count(&server, "list", "widgets.example.dev", "one/1"), 1);
    assert_eq!(count(&server, "get", "widgets.example.dev/status", "one/1"), 1);
    assert_eq!(count(&server, "list", "widgets.example.dev", "two/1"), 1);
    assert_eq!(count(&server, "watch", "widgets.example.dev", "one/1"), 0);
}

#[tokio::test]
async fn the_end_is_orderly() {
    use futures::TryStreamExt;
    let server = server().await;
    let api = widget_api(&outside(&server).await);
    let mut events = std::pin::pin!(api.watch(&Default::default(), "0").await.unwrap());
    create(&api, "a", "red").await;
    assert!(events.try_next().await.unwrap().is_some());
    server.shutdown().await;
    assert!(events.try_next().await.unwrap().is_none(), "the watch ends without an error");
    assert!(api.get("a").await.is_err());
}
