//! The official Gateway API bundles: every schema and rule compiles, and a few objects are judged as a real server does.
//!
//! The bundles are looked for under `$GATEPROOF_DATA/crds` (default `../shared/crds` beside the workspace).
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use gateproof_apiserver::schema::CompiledSchema;
use rstest::rstest;
use serde_json::{Value, json};

/// Says outside of the capture of tests that a check was left out, for CI to count.
fn skipped(why: &str) {
    std::io::stderr().write_all(format!("skipped: bundles: {why}\n").as_bytes()).unwrap();
}

fn folder() -> Option<PathBuf> {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("GATEPROOF_DATA").map_or_else(|| workspace.join("../shared"), PathBuf::from);
    let folder = data.join("crds/gateway-api");
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&format!("there are no official bundles in {}", folder.display()));
    None
}

/// The schemas of a bundle by `Kind/version`.
fn schemas(text: &str) -> BTreeMap<String, Value> {
    let documents: Vec<Value> = serde_yaml::from_multiple(text).unwrap();
    let mut schemas = BTreeMap::new();
    for crd in documents.iter().filter(|document| document["kind"] == "CustomResourceDefinition") {
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let name =
                format!("{}/{}", crd["spec"]["names"]["kind"].as_str().unwrap(), version["name"].as_str().unwrap());
            schemas.insert(name, version["schema"]["openAPIV3Schema"].clone());
        }
    }
    schemas
}

#[test]
fn every_schema_and_rule_compiles() {
    let Some(folder) = folder() else { return };
    let mut bundles = 0;
    for release in std::fs::read_dir(folder).unwrap() {
        for channel in std::fs::read_dir(release.unwrap().path()).unwrap() {
            let path = channel.unwrap().path();
            let schemas = schemas(&std::fs::read_to_string(&path).unwrap());
            assert!(schemas.len() > 3, "{}", path.display());
            for (name, schema) in schemas {
                let compiled = CompiledSchema::compile(&schema).unwrap();
                let errors = compiled.check_rules();
                assert!(errors.is_empty(), "{name} of {}: {errors:?}", path.display());
            }
            bundles += 1;
        }
    }
    assert!(bundles > 0);
}

fn latest(kind: &str) -> Option<CompiledSchema> {
    let text = std::fs::read_to_string(folder()?.join("v1.7.0/standard.yaml")).unwrap();
    Some(CompiledSchema::compile(&schemas(&text)[&format!("{kind}/v1")]).unwrap())
}

fn route(rule: Value) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "r", "namespace": "n"},
        "spec": {"parentRefs": [{"name": "g"}], "rules": [rule]},
    })
}

fn redirect() -> Value {
    json!({"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}})
}

fn rewrite() -> Value {
    json!({"type": "URLRewrite", "urlRewrite": {"hostname": "a.example"}})
}

#[rstest]
#[case::plain(json!({"backendRefs": [{"name": "s", "port": 80}]}), &[])]
#[case::redirect_and_rewrite(json!({"filters": [redirect(), rewrite()]}), &[("spec.rules[0].filters", "FieldValueInvalid")])]
#[case::redirect_twice(json!({"filters": [redirect(), redirect()]}), &[("spec.rules[0].filters", "FieldValueInvalid")])]
#[case::redirect_with_backend(json!({"filters": [redirect()], "backendRefs": [{"name": "s", "port": 80}]}),
    &[("spec.rules[0]", "FieldValueInvalid")])]
#[case::service_without_port(json!({"backendRefs": [{"name": "s"}]}), &[("spec.rules[0].backendRefs[0]", "FieldValueInvalid")])]
#[case::relative_path(json!({"matches": [{"path": {"type": "PathPrefix", "value": "a"}}]}),
    &[("spec.rules[0].matches[0].path", "FieldValueInvalid")])]
#[case::payload_missing(json!({"filters": [{"type": "RequestMirror"}]}), &[("spec.rules[0].filters[0]", "FieldValueInvalid")])]
#[case::unknown_filter(json!({"filters": [{"type": "Nonsense"}]}), &[("spec.rules[0].filters[0].type", "FieldValueNotSupported")])]
#[case::timeouts(json!({"timeouts": {"request": "1s", "backendRequest": "2s"}}), &[("spec.rules[0].timeouts", "FieldValueInvalid")])]
#[case::timeouts_in_order(json!({"timeouts": {"request": "2s", "backendRequest": "1s"}}), &[])]
#[case::port_range(json!({"backendRefs": [{"name": "s", "port": 70000}]}),
    &[("spec.rules[0].backendRefs[0].port", "FieldValueInvalid")])]
#[case::name_missing(json!({"backendRefs": [{"port": 80}]}), &[("spec.rules[0].backendRefs[0].name", "FieldValueRequired")])]
fn http_routes(#[case] rule: Value, #[case] expected: &[(&str, &str)]) {
    let Some(schema) = latest("HTTPRoute") else { return };
    let mut object = route(rule);
    assert_eq!(schema.prune(&mut object), Vec::<String>::new());
    schema.apply_defaults(&mut object);
    let causes = schema.validate(&object, None);
    for expected in expected {
        assert!(causes.iter().any(|c| (c.field.as_str(), c.reason) == *expected), "{expected:?} not in {causes:#?}");
    }
    assert_eq!(causes.is_empty(), expected.is_empty(), "{causes:#?}");
}

#[test]
fn defaults_and_pruning_of_a_route() {
    let Some(schema) = latest("HTTPRoute") else { return };
    let mut object = route(json!({"backendRefs": [{"name": "s", "port": 80, "colour": "red"}], "sound": 1}));
    object["spec"]["hostname"] = json!("typo");
    object["metadata"]["lables"] = json!({});
    assert_eq!(
        schema.prune(&mut object),
        ["metadata.lables", "spec.hostname", "spec.rules[0].backendRefs[0].colour", "spec.rules[0].sound"]
    );
    schema.apply_defaults(&mut object);
    assert_eq!(
        object["spec"],
        json!({
            "parentRefs": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "g"}],
            "rules": [{
                "backendRefs": [{"group": "", "kind": "Service", "name": "s", "port": 80, "weight": 1}],
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
            }],
        })
    );
}

fn gateway(listeners: Value) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "g", "namespace": "n"},
        "spec": {"gatewayClassName": "c", "listeners": listeners},
    })
}

#[rstest]
#[case::plain(json!([{"name": "a", "port": 80, "protocol": "HTTP"}]), &[])]
#[case::duplicate_name(json!([{"name": "a", "port": 80, "protocol": "HTTP"}, {"name": "a", "port": 81, "protocol": "HTTP"}]),
    &[("spec.listeners[1]", "FieldValueDuplicate"), ("spec.listeners", "FieldValueInvalid")])]
#[case::duplicate_port(json!([{"name": "a", "port": 80, "protocol": "HTTP"}, {"name": "b", "port": 80, "protocol": "HTTP"}]),
    &[("spec.listeners", "FieldValueInvalid")])]
#[case::none(json!([]), &[("spec.listeners", "FieldValueInvalid")])]
#[case::tls_on_http(json!([{"name": "a", "port": 80, "protocol": "HTTP", "tls": {"certificateRefs": [{"name": "s"}]}}]),
    &[("spec.listeners", "FieldValueInvalid")])]
fn gateways(#[case] listeners: Value, #[case] expected: &[(&str, &str)]) {
    let Some(schema) = latest("Gateway") else { return };
    let mut object = gateway(listeners);
    schema.apply_defaults(&mut object);
    let causes = schema.validate(&object, None);
    for expected in expected {
        assert!(causes.iter().any(|c| (c.field.as_str(), c.reason) == *expected), "{expected:?} not in {causes:#?}");
    }
    assert_eq!(causes.is_empty(), expected.is_empty(), "{causes:#?}");
}

#[test]
fn a_controller_name_does_not_change() {
    let Some(schema) = latest("GatewayClass") else { return };
    let class = |name: &str| {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": {"name": "c"}, "spec": {"controllerName": name},
        })
    };
    let (old, new) = (class("a.example/x"), class("b.example/x"));
    assert_eq!(schema.validate(&new, None), []);
    assert_eq!(schema.validate(&old, Some(&old)), []);
    let causes = schema.validate(&new, Some(&old));
    assert_eq!(causes.len(), 1, "{causes:#?}");
    assert_eq!(causes[0].field, "spec.controllerName");
    assert_eq!(causes[0].message, "Invalid value: \"string\": field is immutable");
}

#[test]
fn conditions_of_a_status() {
    let Some(schema) = latest("Gateway") else { return };
    let mut object = gateway(json!([{"name": "a", "port": 80, "protocol": "HTTP"}]));
    schema.apply_defaults(&mut object);
    object["status"] = json!({"conditions": [
        {"type": "Accepted", "status": "", "reason": "Accepted", "message": "", "lastTransitionTime": "now"},
        {"type": "Accepted", "status": "True", "reason": "Accepted", "lastTransitionTime": "2024-01-01T00:00:00Z"},
    ]});
    let causes = schema.validate(&object, None);
    let found: Vec<(&str, &str)> = causes.iter().map(|cause| (cause.field.as_str(), cause.reason)).collect();
    for expected in [
        ("status.conditions[0].status", "FieldValueNotSupported"),
        ("status.conditions[0].lastTransitionTime", "FieldValueTypeInvalid"),
        ("status.conditions[1].message", "FieldValueRequired"),
        ("status.conditions[1]", "FieldValueDuplicate"),
    ] {
        assert!(found.contains(&expected), "{expected:?} not in {causes:#?}");
    }
}
