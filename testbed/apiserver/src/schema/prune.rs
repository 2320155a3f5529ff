//! Dropping the fields that a structural schema does not know.

use serde_json::{Map, Value};

use super::node::{Additional, Node};
use super::path::Path;

/// Removes unknown fields from a whole resource; returns their paths, sorted.
pub(crate) fn prune(root: &Node, object: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    prune_value(root, object, &Path::ROOT, &mut dropped);
    dropped.sort();
    dropped
}

fn prune_value(node: &Node, value: &mut Value, path: &Path<'_>, dropped: &mut Vec<String>) {
    match value {
        Value::Object(map) => prune_object(node, map, path, dropped),
        Value::Array(items) => {
            let Some(schema) = &node.items else { return };
            for (index, item) in items.iter_mut().enumerate() {
                prune_value(schema, item, &path.index(index), dropped);
            }
        }
        _ => {}
    }
}

fn prune_object(node: &Node, map: &mut Map<String, Value>, path: &Path<'_>, dropped: &mut Vec<String>) {
    let keep_unknown = node.preserve_unknown || matches!(node.additional, Additional::Any);
    map.retain(|name, value| {
        let child = path.field(name);
        if let Some(schema) = node.member(name) {
            prune_value(schema, value, &child, dropped);
            true
        } else if keep_unknown {
            true
        } else {
            dropped.push(child.dotted());
            false
        }
    });
}
