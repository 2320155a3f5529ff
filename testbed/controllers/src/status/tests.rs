#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::{Value, json};

use super::{Condition, DesiredStatus, ListenerStatus, ParentStatus, StatusUpdate, merge, same};
use crate::{
    model::ParentRef,
    snapshot::{Kind, ObjectKey},
};

const NOW: &str = "2026-05-05T05:05:05Z";
const THEN: &str = "2026-01-01T00:00:00Z";
const OURS: &str = "gateproof.dev/reference";

fn update(kind: Kind, status: DesiredStatus) -> StatusUpdate {
    let key = ObjectKey::new("demo", "it");
    StatusUpdate { kind, key, generation: 4, controller_name: OURS.into(), status }.stamped()
}

fn class(conditions: Vec<Condition>) -> StatusUpdate {
    let supported_features = vec!["Gateway".into()];
    update(Kind::GatewayClass, DesiredStatus::GatewayClass { conditions, supported_features, as_names: false })
}

fn route(parents: &[(&str, Option<&str>)]) -> StatusUpdate {
    let parent = |(name, section): &(&str, Option<&str>)| ParentStatus {
        parent_ref: ParentRef {
            name: (*name).into(),
            section_name: section.map(str::to_owned),
            ..ParentRef::default()
        },
        controller_name: OURS.into(),
        conditions: vec![Condition::new("Accepted", true, "Accepted", "fine")],
    };
    update(Kind::HttpRoute, DesiredStatus::Route { parents: parents.iter().map(parent).collect() })
}

fn condition(r#type: &str, status: &str, generation: i64) -> Value {
    json!({"type": r#type, "status": status, "reason": "Old", "message": "old", "lastTransitionTime": THEN,
        "observedGeneration": generation})
}

fn live(conditions: Value) -> Value {
    json!({"status": {"conditions": conditions}})
}

#[rstest]
#[case::status_stays("True", THEN)]
#[case::status_flips("False", NOW)]
#[case::status_becomes_known("Unknown", NOW)]
fn the_transition_time_moves_with_the_status_alone(#[case] before: &str, #[case] expected: &str) {
    let desired = class(vec![Condition::new("Accepted", true, "Accepted", "new")]);
    let status = merge(&live(json!([condition("Accepted", before, 3)])), &desired, NOW);
    let expected = json!([{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "new",
        "lastTransitionTime": expected, "observedGeneration": 4}]);
    assert_eq!(status["conditions"], expected);
}

#[test]
fn conditions_of_others_stay_where_they_are() {
    let before = live(json!([
        condition("example.com/First", "True", 9),
        condition("Accepted", "True", 4),
        condition("Healthy", "False", 9),
    ]));
    let desired = class(vec![
        Condition::new("SupportedVersion", true, "SupportedVersion", ""),
        Condition::new("Accepted", true, "Accepted", "fine"),
    ]);
    let status = merge(&before, &desired, NOW);
    let types: Vec<&str> =
        status["conditions"].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["example.com/First", "Accepted", "Healthy", "SupportedVersion"]);
    assert_eq!(status["conditions"][0], before["status"]["conditions"][0]);
}

#[test]
fn own_conditions_that_no_longer_hold_go() {
    let before = live(json!([condition("Accepted", "True", 4), condition("Conflicted", "True", 4)]));
    let status = merge(&before, &class(vec![Condition::new("Accepted", true, "Accepted", "")]), NOW);
    assert_eq!(status["conditions"].as_array().unwrap().len(), 1);
}

#[test]
fn what_was_worked_out_from_a_newer_generation_is_left_alone() {
    let before = live(json!([condition("Accepted", "False", 5)]));
    let status = merge(&before, &class(vec![Condition::new("Accepted", true, "Accepted", "")]), NOW);
    assert_eq!(status["conditions"], before["status"]["conditions"]);
}

#[test]
fn entries_of_other_controllers_stay_where_they_are() {
    let theirs = json!({"controllerName": "example.com/other", "parentRef": {"name": "gw"}, "conditions": []});
    let own = |name: &str| json!({"controllerName": OURS, "parentRef": {"name": name}, "conditions": []});
    let before = json!({"status": {"parents": [own("gone"), theirs, own("gw")]}});
    let status = merge(&before, &route(&[("gw", Some("new")), ("gw", None)]), NOW);
    let parents = status["parents"].as_array().unwrap();
    assert_eq!(parents[0], theirs);
    assert_eq!(parents[1]["parentRef"], json!({"name": "gw"}));
    assert_eq!(parents[2]["parentRef"], json!({"name": "gw", "sectionName": "new"}));
    assert_eq!(parents.len(), 3);
}

#[test]
fn an_entry_is_recognised_with_its_defaults_spelled_out() {
    let parent = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "demo", "name": "gw"});
    let marker = condition("example.com/Marker", "True", 1);
    let entry = json!({"controllerName": OURS, "parentRef": parent, "conditions": [marker]});
    let status = merge(&json!({"status": {"parents": [entry]}}), &route(&[("gw", None)]), NOW);
    assert_eq!(status["parents"].as_array().unwrap().len(), 1);
    assert_eq!(status["parents"][0]["conditions"][0], marker);
}

#[test]
fn entries_for_which_others_leave_no_room_are_left_out() {
    let theirs = |at: usize| json!({"controllerName": "example.com/theirs", "parentRef": {"name": at.to_string()}, "conditions": []});
    let own = json!({"controllerName": OURS, "parentRef": {"name": "gw"}, "conditions": []});
    let full: Vec<Value> = (0..30).map(theirs).chain([own]).collect();
    let wanted = route(&[("gw", None), ("gw", Some("one")), ("gw", Some("two"))]);
    let status = merge(&json!({"status": {"parents": full}}), &wanted, NOW);
    let parents = status["parents"].as_array().unwrap();
    assert_eq!(parents.len(), 32);
    assert_eq!(parents[..30], full[..30]);
    assert_eq!(parents[30]["conditions"][0]["observedGeneration"], 4);
    assert_eq!(parents[31]["parentRef"]["sectionName"], "one");
    let (live, shrunk) = (json!({"status": status}), route(&[("gw", Some("two")), ("gw", Some("three"))]));
    let sections: Vec<Value> = merge(&live, &shrunk, NOW)["parents"].as_array().unwrap()[30..]
        .iter()
        .map(|entry| entry["parentRef"]["sectionName"].clone())
        .collect();
    assert_eq!(sections, ["two", "three"], "what goes makes room");
}

#[test]
fn listeners_follow_the_spec_and_other_fields_stay() {
    let before = json!({"status": {"attachedListenerSets": 2, "listeners": [
        {"name": "gone", "attachedRoutes": 1, "conditions": []},
        {"name": "http", "attachedRoutes": 1, "conditions": [condition("example.com/Marker", "True", 1)]},
    ]}});
    let listener =
        ListenerStatus { name: "http".into(), supported_kinds: vec![], attached_routes: 3, conditions: vec![] };
    let desired = DesiredStatus::Gateway {
        conditions: vec![],
        addresses: vec![],
        listeners: vec![listener],
        attached_listener_sets: None,
    };
    let status = merge(&before, &update(Kind::Gateway, desired), NOW);
    let marker = condition("example.com/Marker", "True", 1);
    let expected = json!([{"name": "http", "attachedRoutes": 3, "conditions": [marker], "supportedKinds": []}]);
    assert_eq!(status["listeners"], expected);
    assert_eq!(status["attachedListenerSets"], 2);
}

#[test]
fn merging_twice_changes_nothing() {
    let desired = route(&[("gw", None), ("gw", Some("a"))]);
    let first = merge(&json!({}), &desired, NOW);
    assert!(!same(&json!({}), &first));
    let live = json!({"status": first});
    let second = merge(&live, &desired, "2027-01-01T00:00:00Z");
    assert!(same(&live, &second), "{second:#}");
}

#[test]
fn empty_and_absent_are_the_same() {
    assert!(same(&json!({}), &json!({"parents": []})));
    assert!(same(&json!({"status": {"parents": []}}), &json!({})));
    assert!(!same(&json!({"status": {"parents": [1]}}), &json!({"parents": []})));
}
