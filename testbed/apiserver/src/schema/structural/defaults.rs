//! Defaults: each must be what the schema would take, without fields that it does not know.

use serde_json::Value;

use super::super::CompiledSchema;
use super::super::node::{Additional, Node};
use super::super::path::{NO_FIELD, Path};
use super::super::{prune, unique, validate};
use super::{Checker, child, key};

/// Checks every default of a schema that has no other violation.
pub(super) fn check(schema: &Value, checker: &mut Checker) {
    // What does not compile is reported where it is compiled.
    let Ok(compiled) = CompiledSchema::compile(schema) else { return };
    below(compiled.root(), "", checker);
}

fn below(node: &Node, at: &str, checker: &mut Checker) {
    if let Some(default) = &node.default {
        one(node, default, at, checker);
    }
    for (name, property) in &node.properties {
        below(property, &key(at, name), checker);
    }
    if let Some(items) = &node.items {
        below(items, &child(at, "items"), checker);
    }
    if let Additional::Schema(schema) = &node.additional {
        below(schema, &child(at, "additionalProperties"), checker);
    }
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
