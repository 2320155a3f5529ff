//! What is made in the cluster for a Gateway.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    reconcile::infrastructure::{GATEWAY_NAME, Made, objects},
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate},
};

fn gateway(name: &str, infrastructure: Value) -> Value {
    let mut gateway = json!({
        "metadata": {"namespace": "demo", "name": name, "uid": "1234-5678-90", "generation": 1},
        "spec": {"gatewayClassName": "ours", "listeners": [
            {"name": "a", "port": 80, "protocol": "HTTP"},
            {"name": "b", "port": 80, "protocol": "HTTP", "hostname": "b.test"},
            {"name": "c", "port": 80, "protocol": "UDP"},
        ]},
    });
    if !infrastructure.is_null() {
        gateway["spec"]["infrastructure"] = infrastructure;
    }
    gateway
}

fn made(gateway: Value, programmed: bool, provided: &mut BTreeSet<String>) -> Vec<Made> {
    let mut snapshot = Snapshot::default();
    let name = gateway["metadata"]["name"].as_str().unwrap().to_owned();
    snapshot.put(Kind::Gateway, gateway).unwrap();
    let status = DesiredStatus::Gateway {
        conditions: vec![Condition::new("Programmed", programmed, "Programmed", "")],
        addresses: Vec::new(),
        listeners: Vec::new(),
        attached_listener_sets: None,
    };
    let update = StatusUpdate {
        kind: Kind::Gateway,
        key: ObjectKey::new("demo", name),
        generation: 1,
        controller_name: String::new(),
        status,
    };
    objects(&snapshot, &[update], provided)
}

#[rstest]
#[case::asks_for_nothing(Value::Null, true, 0)]
#[case::asks_for_nothing_in_it(json!({}), true, 0)]
#[case::asks_for_a_label(json!({"labels": {"a": "b"}}), true, 3)]
#[case::asks_for_an_annotation(json!({"annotations": {"a": "b"}}), true, 3)]
#[case::is_not_programmed(json!({"labels": {"a": "b"}}), false, 0)]
fn objects_are_made_for_programmed_gateways_that_ask(
    #[case] infrastructure: Value,
    #[case] programmed: bool,
    #[case] count: usize,
) {
    assert_eq!(made(gateway("gw", infrastructure), programmed, &mut BTreeSet::new()).len(), count);
}

#[test]
fn they_carry_what_is_asked_and_whose_they_are() {
    let infrastructure = json!({"labels": {"a": "b", GATEWAY_NAME: "other"}, "annotations": {"c": "d"}});
    for Made { gateway: of, object } in made(gateway("gw", infrastructure), true, &mut BTreeSet::new()) {
        assert_eq!(of, ObjectKey::new("demo", "gw"));
        let metadata = &object["metadata"];
        assert_eq!(metadata["name"], "gw-ours");
        assert_eq!(metadata["labels"], json!({"a": "b", GATEWAY_NAME: "gw"}));
        assert_eq!(metadata["annotations"], json!({"c": "d"}));
        assert_eq!(metadata["ownerReferences"][0]["uid"], "1234-5678-90");
        if object["kind"] == "Service" {
            let ports = object["spec"]["ports"].as_array().unwrap();
            assert_eq!(ports.iter().map(|port| &port["name"]).collect::<Vec<_>>(), ["tcp-80", "udp-80"]);
        }
    }
}

#[test]
fn they_stay_when_nothing_is_asked_for_any_more() {
    let mut provided = BTreeSet::new();
    made(gateway("gw", json!({"labels": {"a": "b"}})), true, &mut provided);
    let after = made(gateway("gw", Value::Null), false, &mut provided);
    assert_eq!(after.len(), 3);
    assert!(after.iter().all(|made| made.object["metadata"]["labels"] == json!({GATEWAY_NAME: "gw"})));
}

#[rstest]
#[case::dots("a.b", Some("gateway-a-b-12345678"))]
#[case::digit("1a", Some("gateway-1a-12345678"))]
#[case::no_label(&"a".repeat(64), None)]
fn names_are_legal(#[case] name: &str, #[case] expected: Option<&str>) {
    let made = made(gateway(name, json!({"labels": {"a": "b"}})), true, &mut BTreeSet::new());
    assert_eq!(made.first().and_then(|made| made.object["metadata"]["name"].as_str()), expected);
}
