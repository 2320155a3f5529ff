//! What schemas do to requests, and who owns which field.
#![allow(clippy::unwrap_used)]

use gateproof_apiserver::{Options, Server};
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::*;

const WIDGETS: &str = "/apis/example.dev/v1/namespaces/default/widgets";

#[tokio::test]
async fn unknown_fields_as_strictly_as_asked() {
    let server = server().await;
    let body = json!({"metadata": {"name": "a"}, "spec": {"color": "red", "colour": "red"}}).to_string();
    let (code, _, status) = raw(&server, "POST", &format!("{WIDGETS}?fieldValidation=Strict"), &[], &body).await;
    assert_eq!((code, status["reason"].as_str()), (400, Some("BadRequest")));
    assert_eq!(status["message"], "strict decoding error: unknown field \"spec.colour\"");
    let (code, headers, object) = raw(&server, "POST", WIDGETS, &[], &body).await;
    assert_eq!((code, headers["warning"].to_str().unwrap()), (201, "299 - \"unknown field \\\"spec.colour\\\"\""));
    assert_eq!(object["spec"], json!({"color": "red", "size": 1}), "pruned and defaulted");
}

#[tokio::test]
async fn invalid_objects_are_refused_field_by_field() {
    let server = server().await;
    let body = json!({"metadata": {"name": "a"}, "spec": {"color": "ultramarine", "size": -1}}).to_string();
    let (code, _, status) = raw(&server, "POST", WIDGETS, &[], &body).await;
    assert_eq!((code, status["reason"].as_str()), (422, Some("Invalid")));
    assert_eq!(status["details"]["kind"], "Widget");
    let mut fields: Vec<&str> =
        status["details"]["causes"].as_array().unwrap().iter().map(|cause| cause["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["spec.color", "spec.size"]);
    assert!(status["message"].as_str().unwrap().starts_with("Widget.example.dev \"a\" is invalid: ["));
}

#[tokio::test]
async fn definitions_whose_schema_is_not_structural_are_refused_at_the_field() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let server = Server::start(Options::default()).await.unwrap();
    let schema = "openAPIV3Schema.properties[spec].properties[size].type";
    // One schema for all versions is reported where the API server keeps it, different ones where they stand.
    for (versions, field) in
        [(2, format!("spec.validation.{schema}")), (1, format!("spec.versions[0].schema.{schema}"))]
    {
        let mut definition = widgets();
        for version in 0..versions {
            let schema = &mut definition["spec"]["versions"][version]["schema"]["openAPIV3Schema"];
            schema["properties"]["spec"]["properties"]["size"] = json!({"type": "objekt"});
        }
        let (code, _, status) = raw(&server, "POST", DEFINITIONS, &[], &definition.to_string()).await;
        assert_eq!((code, status["reason"].as_str()), (422, Some("Invalid")));
        let causes = status["details"]["causes"].as_array().unwrap();
        assert_eq!(causes.len(), 1, "{status}");
        assert_eq!((&causes[0]["field"], &causes[0]["reason"]), (&json!(field), &json!("FieldValueNotSupported")));
    }
}

fn applied(color: &str) -> Patch<Value> {
    Patch::Apply(json!({"apiVersion": "example.dev/v1", "kind": "Widget", "spec": {"color": color}}))
}

#[tokio::test]
async fn managers_own_what_they_apply() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let first = api.patch("a", &PatchParams::apply("one"), &applied("red")).await.unwrap();
    let managers = first.metadata.managed_fields.as_ref().unwrap();
    assert_eq!((managers.len(), managers[0].manager.as_deref()), (1, Some("one")));
    assert_eq!(managers[0].operation.as_deref(), Some("Apply"));
    let owned = &managers[0].fields_v1.as_ref().unwrap().0;
    assert_eq!(*owned, json!({"f:spec": {"f:color": {}}}), "defaults are nobody's");
    let again = api.patch("a", &PatchParams::apply("one"), &applied("red")).await.unwrap();
    assert_eq!(again.metadata.resource_version, first.metadata.resource_version);
    let (code, _, status) = raw(
        &server,
        "PATCH",
        &format!("{WIDGETS}/a?fieldManager=two"),
        &[("content-type", "application/apply-patch+yaml")],
        "{apiVersion: example.dev/v1, kind: Widget, spec: {color: blue}}",
    )
    .await;
    assert_eq!((code, status["reason"].as_str()), (409, Some("Conflict")));
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldManagerConflict");
    assert_eq!(status["details"]["causes"][0]["field"], ".spec.color");
    let forced = api.patch("a", &PatchParams::apply("two").force(), &applied("blue")).await.unwrap();
    assert_eq!(forced.data["spec"]["color"], "blue");
}

#[tokio::test]
async fn statuses_are_applied_apart() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    api.patch("a", &PatchParams::apply("user"), &applied("red")).await.unwrap();
    let status = json!({
        "apiVersion": "example.dev/v1", "kind": "Widget", "status": {"ready": true}, "spec": {"color": "blue"},
    });
    let written = api.patch_status("a", &PatchParams::apply("controller"), &Patch::Apply(&status)).await.unwrap();
    assert_eq!(written.data["status"], json!({"ready": true}));
    assert_eq!(written.data["spec"]["color"], "red");
    let managers = written.metadata.managed_fields.unwrap();
    let controller = managers.iter().find(|manager| manager.manager.as_deref() == Some("controller")).unwrap();
    assert_eq!(controller.subresource.as_deref(), Some("status"));
}

#[tokio::test]
async fn strategic_patches_merge_lists_by_their_keys() {
    let server = server().await;
    let services: Api<Service> = Api::default_namespaced(inside(&server));
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
    let service = serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": {"ports": ports}})).unwrap();
    services.create(&PostParams::default(), &service).await.unwrap();
    let patch = Patch::Strategic(json!({"spec": {"ports": [{"port": 81, "targetPort": 8081}]}}));
    let patched = services.patch("s", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.spec.unwrap().ports.unwrap().len(), 2);
    let custom = widget_api(&inside(&server));
    create(&custom, "a", "red").await;
    let patch = Patch::Strategic(json!({"spec": {"color": "blue"}}));
    let patched = custom.patch("a", &PatchParams::default(), &patch).await;
    assert_eq!(refused(patched), (415, "UnsupportedMediaType".into()));
}
