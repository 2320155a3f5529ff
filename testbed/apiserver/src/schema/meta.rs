//! The part of every resource that no CRD declares: `apiVersion`, `kind` and `metadata`.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::SchemaError;
use super::node::{Additional, Kind, Node};

/// ObjectMeta. What may be written in a field beyond its type is the business of the API server's own checks.
pub(crate) static OBJECT_META: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let time = json!({"type": "string", "format": "date-time"});
    json!({
        "type": "object",
        "properties": {
            "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
            "resourceVersion": text,
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": time,
            "deletionTimestamp": time,
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": texts,
            "annotations": texts,
            "finalizers": {
                "type": "array", "items": text,
                "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge",
            },
            "ownerReferences": {
                "type": "array",
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
                "items": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {
                        "apiVersion": text, "kind": text, "name": text, "uid": text,
                        "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
                    },
                },
            },
            "managedFields": {
                "type": "array",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            },
        },
    })
});

/// Adds the type and metadata of resources to every embedded resource, and to the root if it is one.
pub(crate) fn add_type_and_object_meta(root: &mut Node, is_resource: bool) -> Result<(), SchemaError> {
    add(root, is_resource)?;
    root.mark_rules();
    Ok(())
}

fn add(node: &mut Node, is_resource: bool) -> Result<(), SchemaError> {
    for (_, property) in &mut node.properties {
        let embedded = property.embedded_resource;
        add(property, embedded)?;
    }
    if let Some(items) = &mut node.items {
        let embedded = items.embedded_resource;
        add(items, embedded)?;
    }
    if let Additional::Schema(schema) = &mut node.additional {
        let embedded = schema.embedded_resource;
        add(schema, embedded)?;
    }
    if is_resource {
        for name in ["apiVersion", "kind"] {
            let declared = node.properties.entry(name.to_owned()).or_default();
            declared.kind = Kind::String;
        }
        let declared = node.properties.entry("metadata".to_owned()).or_default();
        let mut meta = Node::compile(&OBJECT_META, "metadata")?;
        // A CRD may restrict the name, and may state rules on the whole.
        for name in ["name", "generateName"] {
            if let Some(restricted) = declared.properties.shift_remove(name) {
                meta.properties.insert(name.to_owned(), restricted);
            }
        }
        meta.rules = std::mem::take(&mut declared.rules);
        meta.object_meta = true;
        meta.mark_rules();
        *declared = meta;
    }
    node.mark_rules();
    Ok(())
}
