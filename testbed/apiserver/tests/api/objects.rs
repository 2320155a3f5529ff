//! Objects: creation, reading, writing, deletion, and how refusals look.
#![allow(clippy::unwrap_used)]

use crate::support::*;
use gateproof_apiserver::{Options, Server};
use k8s_openapi::api::core::v1::{Namespace, Secret, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

#[tokio::test]
async fn life_of_an_object_over_both_ways_in() {
    let server = server().await;
    for (name, client) in [("inside", inside(&server)), ("outside", outside(&server).await)] {
        let api = widget_api(&client);
        let created = create(&api, name, "red").await;
        assert!(!created.uid().unwrap().is_empty());
        assert_eq!(created.metadata.generation, Some(1));
        let mut read = api.get(name).await.unwrap();
        assert_eq!(read, created);
        read.data["spec"]["color"] = "blue".into();
        let updated = api.replace(name, &PostParams::default(), &read).await.unwrap();
        assert_eq!(updated.metadata.generation, Some(2));
        assert_eq!(updated.uid(), created.uid());
        assert_eq!(refused(api.replace(name, &PostParams::default(), &read).await), (409, "Conflict".into()));
        let same = api.replace(name, &PostParams::default(), &updated).await.unwrap();
        assert_eq!(same.resource_version(), updated.resource_version(), "nothing changed");
        api.delete(name, &DeleteParams::default()).await.unwrap();
        assert_eq!(refused(api.get(name).await), (404, "NotFound".into()));
    }
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let mut widget = widget("a", json!({"color": "red"}));
    widget.data["status"] = json!({"ready": true});
    let created = api.create(&PostParams::default(), &widget).await.unwrap();
    assert_eq!(created.data.get("status"), None, "status is not taken at creation");
    let patch = json!({"status": {"ready": true}, "spec": {"color": "blue"}, "metadata": {"labels": {"a": "b"}}});
    let status = api.patch_status("a", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(status.data["status"], json!({"ready": true}));
    assert_eq!(status.data["spec"]["color"], "red");
    assert_eq!(status.metadata.generation, Some(1));
    assert!(status.labels().is_empty());
    let patch = json!({"status": {"ready": false}, "spec": {"color": "blue"}});
    let main = api.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(main.data["status"], json!({"ready": true}));
    assert_eq!(main.metadata.generation, Some(2));
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    let labelled = api.patch("a", &PatchParams::default(), &Patch::Merge(&labelled)).await.unwrap();
    assert_eq!(labelled.metadata.generation, Some(2));
}

#[tokio::test]
async fn versions_show_one_object() {
    let server = server().await;
    let client = inside(&server);
    create(&widget_api(&client), "a", "red").await;
    let beta: Api<kube::api::DynamicObject> = Api::namespaced_with(client, "default", &widget_kind("v1beta1"));
    let object = beta.get("a").await.unwrap();
    assert_eq!(object.types.as_ref().unwrap().api_version, "example.dev/v1beta1");
    let listed = beta.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items[0].types.as_ref().unwrap().api_version, "example.dev/v1beta1");
}

#[tokio::test]
async fn generated_names_and_dry_runs() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let mut widget = widget("", json!({}));
    widget.metadata.name = None;
    widget.metadata.generate_name = Some("w-".into());
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    assert!(api.create(&dry, &widget).await.unwrap().name_any().starts_with("w-"));
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    for _ in 0..3 {
        api.create(&PostParams::default(), &widget).await.unwrap();
    }
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 3);
    let created = create(&api, "a", "red").await;
    let patch = Patch::Merge(json!({"spec": {"color": "blue"}}));
    let dry = api.patch("a", &PatchParams { dry_run: true, ..PatchParams::default() }, &patch).await.unwrap();
    assert_eq!(dry.data["spec"]["color"], "blue");
    assert_eq!(api.get("a").await.unwrap(), created);
    api.delete("a", &DeleteParams { dry_run: true, ..DeleteParams::default() }).await.unwrap();
    assert_eq!(api.get("a").await.unwrap(), created);
}

#[tokio::test]
async fn refusals_say_why() {
    let server = server().await;
    let client = inside(&server);
    let api = widget_api(&client);
    create(&api, "a", "red").await;
    let again = api.create(&PostParams::default(), &widget("a", json!({}))).await;
    assert_eq!(refused(again), (409, "AlreadyExists".into()));
    let nowhere: Api<kube::api::DynamicObject> = Api::namespaced_with(client.clone(), "nowhere", &widget_kind("v1"));
    let missing = nowhere.create(&PostParams::default(), &widget("a", json!({}))).await;
    assert_eq!(refused(missing), (404, "NotFound".into()));
    let nameless = api.create(&PostParams::default(), &widget("Not-A-Name", json!({}))).await;
    assert_eq!(refused(nameless), (422, "Invalid".into()));
    let path = "/apis/example.dev/v1/namespaces/default/widgets";
    let (code, _, status) = raw(&server, "GET", &format!("{path}/b"), &[], "").await;
    assert_eq!(code, 404);
    assert_eq!(status["message"], "widgets.example.dev \"b\" not found");
    assert_eq!(status["details"], json!({"name": "b", "group": "example.dev", "kind": "widgets"}));
    for (method, path, headers, body, expected) in [
        ("POST", path, [("content-type", "text/plain")], "{}", 415),
        ("GET", path, [("accept", "text/html")], "", 406),
        ("PUT", path, [("content-type", "application/json")], "{}", 405),
        ("POST", path, [("content-type", "application/json")], "{", 400),
        ("POST", path, [("content-type", "application/json")], r#"{"kind": "Gadget", "apiVersion": "v1"}"#, 400),
        ("GET", "/api/v1/gadgets", [("accept", "*/*")], "", 404),
    ] {
        let (code, _, status) = raw(&server, method, path, &headers, body).await;
        assert_eq!((code, status["kind"].as_str()), (expected, Some("Status")), "{method} {path} {body}");
    }
    for path in ["/apis/example.dev/v1/gadgets", "/nowhere"] {
        let (code, _, text) = raw(&server, "GET", path, &[], "").await;
        assert_eq!((code, text["kind"].as_str()), (404, None), "no definition, no Status");
    }
}

#[tokio::test]
async fn patches_of_a_missing_object() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let patch = json!({"apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"color": "red"}});
    let merged = api.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await;
    assert_eq!(refused(merged), (404, "NotFound".into()));
    let applied = api.patch("a", &PatchParams::apply("test"), &Patch::Apply(&patch)).await.unwrap();
    assert_eq!(applied.data["spec"]["color"], "red");
    let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"color": "blue"}});
    let stale = api.patch("a", &PatchParams::default(), &Patch::Merge(&stale)).await;
    assert_eq!(refused(stale), (409, "Conflict".into()));
    let json_patch: json_patch::Patch =
        serde_json::from_value(json!([{"op": "replace", "path": "/spec/color", "value": "green"}])).unwrap();
    let patched = api.patch("a", &PatchParams::default(), &Patch::Json::<()>(json_patch)).await.unwrap();
    assert_eq!(patched.data["spec"]["color"], "green");
}

#[tokio::test]
async fn built_in_kinds_get_their_defaults() {
    let server = server().await;
    let client = inside(&server);
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let service =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})).unwrap();
    let service = services.create(&PostParams::default(), &service).await.unwrap();
    let spec = service.spec.unwrap();
    assert!(spec.cluster_ip.unwrap().starts_with("10."));
    assert_eq!(spec.type_.as_deref(), Some("ClusterIP"));
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret = serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})).unwrap();
    let secret = secrets.create(&PostParams::default(), &secret).await.unwrap();
    assert_eq!(secret.data.unwrap()["a"].0, b"b");
    let namespaces: Api<Namespace> = Api::all(client);
    let names: Vec<String> =
        namespaces.list(&ListParams::default()).await.unwrap().iter().map(|n| n.name_any()).collect();
    assert!(names.contains(&"default".to_owned()) && names.contains(&"kube-system".to_owned()));
}

#[tokio::test]
async fn loopback_endpoints_only_where_admitted() {
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "s"},
        "addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]}],
    })
    .to_string();
    let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let strict = server().await;
    let (code, _, status) = raw(&strict, "POST", path, &[], &slice).await;
    assert_eq!(code, 422);
    assert_eq!(status["details"]["causes"][0]["field"], "endpoints[0].addresses[0]");
    let lenient = Server::start(Options { admit_loopback_endpoints: true, ..Options::default() }).await.unwrap();
    assert_eq!(raw(&lenient, "POST", path, &[], &slice).await.0, 201);
}

#[tokio::test]
async fn one_event_two_groups() {
    let server = server().await;
    let event = json!({
        "metadata": {"name": "e"}, "reason": "Because", "type": "Normal", "action": "x", "note": "hello",
        "regarding": {"kind": "Widget", "name": "a", "namespace": "default"},
        "reportingController": "c", "reportingInstance": "i", "eventTime": "2026-01-01T00:00:00.000000Z",
    })
    .to_string();
    let grouped = "/apis/events.k8s.io/v1/namespaces/default/events";
    assert_eq!(raw(&server, "POST", grouped, &[], &event).await.0, 201);
    let selected = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da,reason%3DBecause";
    let (_, _, list) = raw(&server, "GET", selected, &[], "").await;
    assert_eq!(list["items"][0]["message"], "hello");
    let (_, _, list) = raw(&server, "GET", grouped, &[], "").await;
    assert_eq!(list["items"][0]["note"], "hello");
}
