//! Laws that patches keep for every object.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{PatchError, Writer, merge_patch, server_side_apply, track_update};
use crate::schema::CompiledSchema;

fn schema() -> CompiledSchema {
    CompiledSchema::compile(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
    }}}}))
    .unwrap()
}

fn writer(manager: &'static str, now: &'static str) -> Writer<'static> {
    Writer { manager, api_version: "a/v1", subresource: "", now }
}

/// Configurations in which lists have no duplicates and nothing is empty.
fn config() -> impl Strategy<Value = Value> {
    let word = || "[a-d]";
    let map = move || prop::option::of(prop::collection::btree_map(word(), word(), 1..4));
    let set = move || prop::option::of(prop::collection::btree_set(word(), 1..4));
    let items = prop::option::of(prop::collection::btree_map(word(), prop::option::of(0..3i64), 1..4));
    (prop::option::of(0..3i64), map(), map(), set(), set(), items).prop_map(|(n, map, atomic, set, list, items)| {
        let items = items.map(|items| {
            let item = |(k, v): (String, Option<i64>)| match v {
                Some(v) => json!({"k": k, "v": v}),
                None => json!({"k": k}),
            };
            items.into_iter().map(item).collect::<Vec<Value>>()
        });
        let all = json!({"n": n, "map": map, "atomic": atomic, "set": set, "list": list, "items": items});
        let stated = all.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        let spec: Value = stated.map(|(name, value)| (name.clone(), value.clone())).collect();
        json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec})
    })
}

/// The object, unless the apply took every member from a container that is owned as such.
fn apply(
    live: Option<&Value>,
    config: &Value,
    manager: &'static str,
    now: &'static str,
) -> Result<Value, TestCaseError> {
    match server_side_apply(live, config, &schema(), writer(manager, now), true) {
        Err(PatchError::Nulls(_)) => Err(TestCaseError::reject("a container is left without members")),
        applied => Ok(applied.unwrap()),
    }
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

/// Everything that the configuration states is in the object.
fn contains(object: &Value, config: &Value) -> bool {
    match (object, config) {
        (Value::Object(object), Value::Object(config)) => {
            config.iter().all(|(name, value)| object.get(name).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(object), Value::Array(config)) => {
            config.iter().all(|item| object.iter().any(|found| contains(found, item)))
        }
        _ => object == config,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn applying_again_changes_nothing(first in config(), second in config()) {
        let object = apply(None, &first, "a", "1")?;
        prop_assert_eq!(without_managers(&object), first.clone());
        let object = apply(Some(&object), &second, "b", "2")?;
        prop_assert_eq!(&apply(Some(&object), &second, "b", "3")?, &object);
    }

    #[test]
    fn an_applier_alone_gets_what_it_states(first in config(), second in config()) {
        let object = apply(Some(&apply(None, &first, "a", "1")?), &second, "a", "2")?;
        prop_assert!(contains(&object, &second) && contains(&second, &without_managers(&object)), "{object}");
    }

    #[test]
    fn a_forced_apply_is_seen_and_leaving_restores_nothing_of_others(first in config(), second in config()) {
        let object = apply(None, &first, "a", "1")?;
        let both = apply(Some(&object), &second, "b", "2")?;
        prop_assert!(contains(&both, &second), "{both}");
        let nothing = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}});
        let left = apply(Some(&both), &nothing, "b", "3")?;
        let managers = left["metadata"].get("managedFields").cloned().unwrap_or(json!([]));
        prop_assert!(managers.as_array().unwrap().iter().all(|entry| entry["manager"] == "a"), "{left}");
        // Only what "b" brought or took is gone: what is left was in the object of both.
        prop_assert!(contains(&both, &without_managers(&left)), "{left}");
    }

    #[test]
    fn an_update_owns_exactly_what_it_changed(first in config(), second in config()) {
        let object = apply(None, &first, "a", "1")?;
        let mut new = second.clone();
        track_update(Some(&object), &mut new, &schema(), writer("u", "2"));
        prop_assert_eq!(without_managers(&new), second.clone());
        let mut again = second;
        track_update(Some(&new), &mut again, &schema(), writer("u", "3"));
        prop_assert_eq!(again, new);
    }

    #[test]
    fn merge_patches_settle(first in config(), second in config()) {
        let merged = merge_patch(&first, &second).unwrap();
        prop_assert_eq!(&merge_patch(&merged, &second).unwrap(), &merged);
        prop_assert_eq!(&merge_patch(&first, &json!({})).unwrap(), &first);
        prop_assert_eq!(&merge_patch(&first, &first).unwrap(), &first);
    }
}
