use serde_json::json;

use super::super::fixtures::{apply, facts, scenario};
use super::*;
use crate::scenario::Delete;

fn object(kind: &str, name: &str) -> ObjectRef {
    ObjectRef { kind: kind.to_owned(), namespace: None, name: name.to_owned(), pool: false }
}

#[test]
fn what_a_scenario_did_not_create_is_watched_by_name() {
    let mut kinds = facts().kinds;
    kinds.add("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false);
    kinds.add("gateway.networking.k8s.io", "v1", "GatewayClass", "gatewayclasses", false);
    let class =
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "own"}});
    let mut scenario = scenario("a");
    let mut delete = apply(Vec::new());
    let objects = vec![
        object("CustomResourceDefinition", "gateways.example"),
        object("GatewayClass", "own"),
        object("GatewayClass", "${class}"),
        object("Service", "echo"),
    ];
    delete.verb = Verb::Delete(Delete { objects, awaited: true });
    scenario.steps = vec![apply(vec![class]), delete];
    let found: Vec<(&str, Option<String>)> =
        watched(&scenario, &kinds).into_iter().map(|(kind, name)| (kind.kind.as_str(), name)).collect();
    let expected = [
        ("GatewayClass", None),
        ("CustomResourceDefinition", Some("gateways.example".to_owned())),
        ("GatewayClass", None),
        ("GatewayClass", None),
        ("Service", None),
    ];
    assert_eq!(found, expected);
}
