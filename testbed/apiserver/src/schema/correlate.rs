//! Finding the old value that belongs to a new one.

use serde_json::Value;

use super::node::{ListType, Node};

/// The old member of the same name; members of atomic maps have no history of their own.
pub(crate) fn old_member<'v>(node: &Node, old: Option<&'v Value>, name: &str) -> Option<&'v Value> {
    if node.atomic_map { None } else { old?.as_object()?.get(name) }
}

/// The old item with the same keys, for lists that are maps; no other list has items with an identity.
pub(crate) fn old_item<'v>(node: &Node, old: Option<&'v Value>, item: &Value) -> Option<&'v Value> {
    if node.list_type != Some(ListType::Map) {
        return None;
    }
    let same =
        |candidate: &&Value| node.list_keys.iter().all(|key| key_of(node, candidate, key) == key_of(node, item, key));
    old?.as_array()?.iter().find(same)
}

/// The value of one list-map key in an item, defaulted by the schema.
pub(crate) fn key_of<'v>(node: &'v Node, item: &'v Value, key: &str) -> Option<&'v Value> {
    item.get(key).or_else(|| node.items.as_ref()?.properties.get(key)?.default.as_ref())
}
