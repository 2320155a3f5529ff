//! Structural defaulting.

use serde_json::Value;

use super::node::{Additional, Node};

/// Fills in defaults, parents before children, then drops the nulls that the schema neither allows nor replaces.
pub(crate) fn apply(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                match map.get_mut(name) {
                    None => {
                        map.insert(name.clone(), default.clone());
                    }
                    Some(slot) if slot.is_null() && !property.nullable => *slot = default.clone(),
                    Some(_) => {}
                }
            }
            map.retain(|name, slot| {
                let declared = node.properties.get(name);
                let schema = match (&node.additional, declared) {
                    (_, Some(property)) => property,
                    (Additional::Schema(schema), None) => schema,
                    _ => return true,
                };
                if slot.is_null() && !schema.nullable {
                    match &schema.default {
                        Some(default) => *slot = default.clone(),
                        None => return false,
                    }
                }
                apply(schema, slot);
                true
            });
        }
        Value::Array(items) => {
            let Some(schema) = &node.items else { return };
            for item in items {
                if item.is_null()
                    && !schema.nullable
                    && let Some(default) = &schema.default
                {
                    *item = default.clone();
                }
                apply(schema, item);
            }
        }
        _ => {}
    }
}
