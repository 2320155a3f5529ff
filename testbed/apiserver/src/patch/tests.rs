//! Server-side apply by cases.
#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::{Value, json};

use super::{PatchError, Writer, json_patch, merge_patch, server_side_apply, track_update};
use crate::schema::CompiledSchema;

fn schema() -> CompiledSchema {
    CompiledSchema::compile(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "paused": {"type": "boolean"},
                    "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
                    "args": {"type": "array", "items": {"type": "string"}},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                        "items": {"type": "object", "properties": {
                            "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"}, "target": {"type": "integer"},
                        }},
                    },
                },
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    }))
    .unwrap()
}

fn writer(manager: &str, second: u32) -> Writer<'_> {
    let now: &'static str = Box::leak(format!("2024-01-01T00:00:{second:02}Z").into_boxed_str());
    Writer { manager, api_version: "example.com/v1", subresource: "", now }
}

fn config(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec})
}

fn apply(live: Option<&Value>, manager: &str, second: u32, spec: Value) -> Result<Value, PatchError> {
    server_side_apply(live, &config(spec), &schema(), writer(manager, second), false)
}

fn owned<'v>(object: &'v Value, manager: &str) -> Option<&'v Value> {
    let entries = object["metadata"]["managedFields"].as_array()?;
    entries.iter().find(|entry| entry["manager"] == manager)
}

fn fields(object: &Value, manager: &str) -> Value {
    owned(object, manager).map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

#[test]
fn create_records_the_applied_fields() {
    let object = apply(
        None,
        "a",
        1,
        json!({"replicas": 1, "args": ["x"], "selector": {"k": "v"},
        "tags": ["t"], "ports": [{"port": 80, "name": "http"}]}),
    )
    .unwrap();
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([{
            "manager": "a", "operation": "Apply", "apiVersion": "example.com/v1", "time": "2024-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {
                "f:args": {},
                "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}}},
                "f:replicas": {},
                "f:selector": {},
                "f:tags": {"v:\"t\"": {}},
            }},
        }])
    );
}

#[test]
fn the_same_again_changes_nothing() {
    let object = apply(None, "a", 1, json!({"replicas": 1, "ports": [{"port": 80}]})).unwrap();
    assert_eq!(apply(Some(&object), "a", 9, json!({"replicas": 1, "ports": [{"port": 80}]})).unwrap(), object);
}

#[test]
fn agreement_is_shared_ownership() {
    let object = apply(None, "a", 1, json!({"replicas": 1})).unwrap();
    let shared = apply(Some(&object), "b", 2, json!({"replicas": 1})).unwrap();
    assert_eq!(fields(&shared, "a"), json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(fields(&shared, "b"), fields(&shared, "a"));
    assert_eq!(owned(&shared, "a").unwrap()["time"], "2024-01-01T00:00:01Z");
    // One of the two leaves: the value stays with the other.
    let left = apply(Some(&shared), "a", 3, json!({})).unwrap();
    assert_eq!(left["spec"], json!({"replicas": 1}));
    // Now the last one leaves, and the value goes.
    let gone = apply(Some(&left), "b", 4, json!({"paused": true})).unwrap();
    assert_eq!(gone["spec"], json!({"paused": true}));
}

#[test]
fn disagreement_is_a_conflict() {
    let object = apply(None, "a", 1, json!({"replicas": 1, "ports": [{"port": 80, "name": "x"}]})).unwrap();
    let error = apply(Some(&object), "b", 2, json!({"replicas": 2, "ports": [{"port": 80, "name": "y"}]})).unwrap_err();
    let PatchError::Conflicts(conflicts) = &error else { panic!("{error}") };
    let fields: Vec<&str> = conflicts.iter().map(|conflict| conflict.field.as_str()).collect();
    assert_eq!(fields, [".spec.ports[port=80,protocol=\"TCP\"].name", ".spec.replicas"]);
    assert_eq!(conflicts[0].message, "conflict with \"a\"");
    assert!(error.to_string().starts_with("Apply failed with 2 conflicts: conflict with \"a\":\n- "), "{error}");
}

#[test]
fn force_takes_the_field_over() {
    let object = apply(None, "a", 1, json!({"replicas": 1, "paused": true})).unwrap();
    let forced =
        server_side_apply(Some(&object), &config(json!({"replicas": 2})), &schema(), writer("b", 2), true).unwrap();
    assert_eq!(forced["spec"], json!({"replicas": 2, "paused": true}));
    assert_eq!(fields(&forced, "a"), json!({"f:spec": {"f:paused": {}}}));
    assert_eq!(fields(&forced, "b"), json!({"f:spec": {"f:replicas": {}}}));
    // What "a" lost it cannot remove by leaving it out.
    let after = apply(Some(&forced), "a", 3, json!({"paused": false})).unwrap();
    assert_eq!(after["spec"], json!({"replicas": 2, "paused": false}));
}

#[test]
fn omission_removes_what_was_applied_alone() {
    let object = apply(
        None,
        "a",
        1,
        json!({"replicas": 1, "paused": true, "tags": ["x", "y"],
        "ports": [{"port": 80, "name": "http"}, {"port": 81}]}),
    )
    .unwrap();
    let object = apply(Some(&object), "b", 2, json!({"tags": ["y", "z"], "ports": [{"port": 82}]})).unwrap();
    let object = apply(Some(&object), "a", 3, json!({"replicas": 1, "ports": [{"port": 80}]})).unwrap();
    assert_eq!(
        object["spec"],
        json!({"replicas": 1, "tags": ["y", "z"], "ports": [
            {"port": 80, "protocol": "TCP"}, {"port": 82, "protocol": "TCP"}
        ]})
    );
}

#[test]
fn an_update_takes_fields_and_conflicts_with_appliers() {
    let object = apply(None, "a", 1, json!({"replicas": 1, "paused": true})).unwrap();
    let mut updated = object.clone();
    updated["spec"]["replicas"] = json!(5);
    updated["metadata"]["labels"] = json!({"l": "1"});
    track_update(Some(&object), &mut updated, &schema(), writer("u", 2));
    assert_eq!(fields(&updated, "a"), json!({"f:spec": {"f:paused": {}}}));
    assert_eq!(
        fields(&updated, "u"),
        json!({"f:metadata": {"f:labels": {".": {}, "f:l": {}}}, "f:spec": {"f:replicas": {}}})
    );
    let error = apply(Some(&updated), "a", 3, json!({"replicas": 1, "paused": true})).unwrap_err();
    let PatchError::Conflicts(conflicts) = error else { panic!("{error}") };
    assert_eq!(conflicts[0].message, "conflict with \"u\" using example.com/v1");
    // An update that changes nothing moves nothing.
    let mut same = updated.clone();
    track_update(Some(&updated), &mut same, &schema(), writer("u", 9));
    assert_eq!(same, updated);
    // Removing a field by update takes it from everybody.
    let mut removed = updated.clone();
    removed["spec"].as_object_mut().unwrap().remove("paused");
    track_update(Some(&updated), &mut removed, &schema(), writer("u", 9));
    assert_eq!(fields(&removed, "a"), Value::Null);
}

#[test]
fn create_by_update_tracks_and_a_reset_forgets() {
    let mut object = config(json!({"replicas": 1}));
    object["metadata"]["uid"] = json!("1");
    track_update(None, &mut object, &schema(), writer("u", 1));
    assert_eq!(fields(&object, "u"), json!({"f:spec": {".": {}, "f:replicas": {}}}));
    let mut dropped = object.clone();
    dropped["metadata"]["managedFields"] = json!([]);
    track_update(Some(&object), &mut dropped, &schema(), writer("u", 2));
    assert_eq!(dropped, object);
    let mut reset = object.clone();
    reset["metadata"]["managedFields"] = json!([{}]);
    track_update(Some(&object), &mut reset, &schema(), writer("u", 2));
    assert_eq!(owned(&reset, "u"), None);
    // The first apply afterwards finds everything with an owner that is nobody.
    let error = apply(Some(&reset), "a", 3, json!({"replicas": 2})).unwrap_err();
    let PatchError::Conflicts(conflicts) = error else { panic!("{error}") };
    assert_eq!(conflicts[0].manager, "before-first-apply");
    let taken =
        server_side_apply(Some(&reset), &config(json!({"replicas": 2})), &schema(), writer("a", 3), true).unwrap();
    assert_eq!(fields(&taken, "a"), json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(fields(&taken, "before-first-apply"), json!({"f:spec": {}}));
}

#[test]
fn status_is_a_world_of_its_own() {
    let object = apply(None, "a", 1, json!({"replicas": 1})).unwrap();
    let status = Writer { subresource: "status", ..writer("a", 2) };
    let mut applied = config(json!({"replicas": 7}));
    applied["metadata"]["labels"] = json!({"ignored": "yes"});
    applied["status"] = json!({"ready": 1});
    let object = server_side_apply(Some(&object), &applied, &schema(), status, false).unwrap();
    assert_eq!(object["spec"], json!({"replicas": 1}));
    assert_eq!(object["status"], json!({"ready": 1}));
    assert_eq!(object["metadata"].get("labels"), None);
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["subresource"], "status");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {"f:ready": {}}}));
    // The spec's applier does not remove it.
    let again = apply(Some(&object), "a", 3, json!({"replicas": 2})).unwrap();
    assert_eq!(again["status"], json!({"ready": 1}));
}

#[test]
fn metadata_is_managed_too() {
    let mut first = config(json!({}));
    first["metadata"]["labels"] = json!({"x": "1", "y": "2"});
    first["metadata"]["finalizers"] = json!(["f/a"]);
    first["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]);
    let object = server_side_apply(None, &first, &schema(), writer("a", 1), false).unwrap();
    assert_eq!(
        fields(&object, "a")["f:metadata"],
        json!({
            "f:finalizers": {"v:\"f/a\"": {}},
            "f:labels": {"f:x": {}, "f:y": {}},
            "f:ownerReferences": {"k:{\"uid\":\"u1\"}": {}},
        })
    );
    let mut second = config(json!({}));
    second["metadata"]["labels"] = json!({"x": "1"});
    let object = server_side_apply(Some(&object), &second, &schema(), writer("a", 2), false).unwrap();
    assert_eq!(object["metadata"]["labels"], json!({"x": "1"}));
    assert_eq!(object["metadata"].get("finalizers"), None);
    assert_eq!(object["metadata"]["name"], "t");
}

#[test]
fn applied_order_wins_and_others_keep_their_place() {
    let object = apply(None, "a", 1, json!({"tags": ["1", "2", "3"]})).unwrap();
    let object = apply(Some(&object), "b", 2, json!({"tags": ["3", "4", "1"]})).unwrap();
    assert_eq!(object["spec"]["tags"], json!(["3", "4", "1", "2"]));
}

#[test]
fn managed_fields_are_not_to_be_applied() {
    let mut applied = config(json!({}));
    applied["metadata"]["managedFields"] = json!([{"manager": "x"}]);
    let error = server_side_apply(None, &applied, &schema(), writer("a", 1), false).unwrap_err();
    assert!(matches!(error, PatchError::Invalid(_)));
}

#[test]
fn plain_patches() {
    let live = json!({"a": {"b": 1, "c": [1, 2]}});
    assert_eq!(
        json_patch(&live, &json!([{"op": "remove", "path": "/a/c/0"}, {"op": "add", "path": "/d", "value": 1}]))
            .unwrap(),
        json!({"a": {"b": 1, "c": [2]}, "d": 1})
    );
    assert!(matches!(
        json_patch(&live, &json!([{"op": "test", "path": "/a/b", "value": 2}])),
        Err(PatchError::Json(_))
    ));
    assert!(matches!(json_patch(&live, &json!({"op": "add"})), Err(PatchError::Invalid(_))));
    assert_eq!(merge_patch(&live, &json!({"a": {"b": null, "c": [3]}})).unwrap(), json!({"a": {"c": [3]}}));
    assert!(merge_patch(&live, &json!([])).is_err());
}

/// What a typed client applies again and again must not move the resource version.
#[test]
fn a_typed_apply_settles() {
    let deployment = crate::schema::builtin::schema("apps", "Deployment").unwrap();
    let applied = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "creationTimestamp": null},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {},
            "template": {
                "metadata": {"labels": {"a": "b"}, "creationTimestamp": null},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {}, "ports": [{"containerPort": 80}]}],
                    "tolerations": [{"key": "k"}]},
            },
        },
        "status": {},
    });
    let mut live = server_side_apply(None, &applied, &deployment, writer("a", 1), true).unwrap();
    assert_eq!(live.get("status"), None);
    assert_eq!(live["spec"]["replicas"], 1);
    live["metadata"]["creationTimestamp"] = json!("2024-01-01T00:00:00Z");
    live["metadata"]["resourceVersion"] = json!("7");
    live["status"] = json!({"replicas": 1});
    assert_eq!(server_side_apply(Some(&live), &applied, &deployment, writer("a", 2), true).unwrap(), live);
}

#[rstest]
#[case::append(json!([{"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/missing"}]))]
#[case::an_item_over_its_list(json!([{"op": "move", "from": "/a/0", "path": "/a"}, {"op": "remove", "path": "/missing"}]))]
#[case::a_field_over_everything(json!([{"op": "move", "from": "/a", "path": ""}, {"op": "remove", "path": "/missing"}]))]
fn a_json_patch_that_fails_half_way_is_an_error(#[case] patch: Value) {
    let live = json!({"a": [1, 2]});
    assert!(matches!(json_patch(&live, &patch), Err(PatchError::Json(_))));
}
