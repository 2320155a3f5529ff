//! Empty maps and lists of built-in kinds, which Kubernetes leaves out of objects as if nobody had said them.

use serde_json::{Map, Value, json};

use crate::resource::Resource;
use crate::schema::node::{Additional, Node};

/// Fields that are never left out, and what they say where nobody has said anything.
fn kept(resource: &Resource) -> Value {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => json!({"rules": null}),
        ("discovery.k8s.io", "EndpointSlice") => json!({"endpoints": null}),
        ("", "Event") => json!({"eventTime": null, "firstTimestamp": null, "lastTimestamp": null, "source": {}}),
        ("events.k8s.io", "Event") => json!({
            "eventTime": null, "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null, "deprecatedSource": {},
        }),
        ("apps", "Deployment") => json!({"status": {}}),
        ("apps", "DaemonSet") => json!({"status": {
            "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
        }}),
        ("apps", "ReplicaSet") => json!({"status": {"replicas": 0}}),
        _ => Value::Null,
    }
}

/// Leaves out what is empty.
pub fn leave_out(resource: &Resource, object: &mut Value) {
    let schema = resource.schema.get();
    let Value::Object(map) = object else { return };
    thin(schema.root(), map);
    let Value::Object(kept) = kept(resource) else { return };
    for (name, value) in kept {
        match map.get_mut(&name) {
            Some(Value::Object(there)) if value.is_object() => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    there.entry(name).or_insert_with(|| value.clone());
                }
            }
            Some(there) if !there.is_null() => {}
            _ => drop(map.insert(name, value)),
        }
    }
}

/// Leaves out what is empty of the metadata of a custom resource; the rest stays as its author wrote it.
pub fn leave_out_of_metadata(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|_, member| match member {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
    }
}

/// Leaves out members that are empty; those that are required stay.
fn thin(node: &Node, map: &mut Map<String, Value>) {
    map.retain(|name, member| {
        let gone = node.member(name).is_some_and(|node| emptied(node, member));
        !gone || node.values.required.contains(name)
    });
}

/// Leaves out what is empty below a value, and tells whether it is itself a map or list without content.
fn emptied(node: &Node, value: &mut Value) -> bool {
    match value {
        Value::Object(map) => {
            thin(node, map);
            map.is_empty() && node.properties.is_empty() && matches!(node.additional, Additional::Schema(_))
        }
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for item in items.iter_mut() {
                    emptied(schema, item);
                }
            }
            items.is_empty()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::kinds::Registry;

    #[rstest]
    #[case("", "configmaps", json!({"data": {}, "binaryData": {"a": "QQ=="}}), json!({"binaryData": {"a": "QQ=="}}))]
    #[case("", "configmaps", json!({"metadata": {"labels": {}, "finalizers": []}}), json!({"metadata": {}}))]
    #[case("", "services", json!({"spec": {"selector": {}, "ports": []}, "status": {"loadBalancer": {}}}),
        json!({"spec": {}, "status": {"loadBalancer": {}}}))]
    #[case("rbac.authorization.k8s.io", "roles", json!({"rules": []}), json!({"rules": null}))]
    #[case("rbac.authorization.k8s.io", "roles", json!({}), json!({"rules": null}))]
    fn only_maps_and_lists_go(
        #[case] group: &str,
        #[case] plural: &str,
        #[case] mut object: Value,
        #[case] left: Value,
    ) {
        let registry = Registry::new([]);
        leave_out(registry.resource(group, "v1", plural).unwrap(), &mut object);
        assert_eq!(object, left);
    }
}
