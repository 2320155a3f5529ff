//! Defaults: each must be what its part of the schema would take, without fields that it does not know.

use serde_json::Value;

use super::super::meta::add_type_and_object_meta;
use super::super::node::Node;
use super::super::path::{NO_FIELD, Path};
use super::super::{prune, unique, validate};
use super::{Checker, child, key};

/// Checks every default of a schema whose own part of the schema is well-formed.
pub(super) fn check(schema: &Value, checker: &mut Checker) {
    below(schema, "", checker);
}

fn below(schema: &Value, at: &str, checker: &mut Checker) {
    let Some(map) = schema.as_object() else { return };
    if let Some(default) = map.get("default").filter(|default| !default.is_null())
        && let Some(node) = compiled(schema)
    {
        one(&node, default, at, checker);
    }
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        below(property, &key(at, name), checker);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(schema) = map.get(name) {
            below(schema, &child(at, name), checker);
        }
    }
}

/// The part of a schema that a default is held against; nothing where that part is at fault itself.
fn compiled(schema: &Value) -> Option<Node> {
    let mut node = Node::compile(schema, "").ok()?;
    // Embedded resources have metadata that no schema declares.
    let is_resource = node.embedded_resource;
    add_type_and_object_meta(&mut node, is_resource).ok()?;
    Some(node)
}

fn one(node: &Node, default: &Value, at: &str, checker: &mut Checker) {
    let dropped = prune::prune(node, &mut default.clone());
    if !dropped.is_empty() {
        let detail = format!("must not have fields that the schema does not know: {}", dropped.join(", "));
        return checker.invalid(at, "default", default, &detail);
    }
    let mut causes = Vec::new();
    validate::check(node, default, None, &Path::ROOT, &mut causes);
    unique::check(node, default, &Path::ROOT, &mut causes);
    for mut cause in causes {
        let within = if cause.field == NO_FIELD { String::new() } else { format!(".{}", cause.field) };
        cause.field = format!("{}{within}", child(at, "default"));
        checker.violations.push(cause);
    }
}
