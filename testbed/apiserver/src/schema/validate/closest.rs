//! Which of several alternatives came closest to accepting a value, as the API server counts it.
//!
//! Its validator counts the checks that a value went through well: the alternative with the highest count tells what is
//! wrong, the first one of several.

use serde_json::Value;

use super::failures;
use crate::schema::cause::Cause;
use crate::schema::node::{Kind, Node};
use crate::schema::path::Path;

/// The complaints of the alternative that came closest; nothing where there is none.
pub(crate) fn closest(branches: &[Node], value: &Value, path: &Path<'_>) -> Vec<Cause> {
    best(branches, value).map(|branch| failures(branch, value, path)).unwrap_or_default()
}

fn best<'n>(branches: &'n [Node], value: &Value) -> Option<&'n Node> {
    // `max_by_key` would take the last of several.
    branches.iter().rev().max_by_key(|branch| passed(branch, value))
}

fn accepts(branch: &Node, value: &Value) -> bool {
    failures(branch, value, &Path::ROOT).is_empty()
}

/// How many checks of a schema a value passes. Each validator that applies counts, and counts again for going through well.
fn passed(node: &Node, value: &Value) -> u64 {
    let typed = node.kind != Kind::Any || node.values.format.is_some();
    if value.is_null() {
        return u64::from(typed && node.nullable);
    }
    let of_type = if typed { 2 } else { 0 };
    // The schema itself, its enumeration, and its logical operators, which count whatever they find.
    4 + of_type + branches(node, value) + contents(node, value)
}

fn branches(node: &Node, value: &Value) -> u64 {
    let rules = &node.values;
    let first_good = |branches: &'_ [Node]| branches.iter().position(|branch| accepts(branch, value));
    let any = match first_good(&rules.any_of) {
        Some(good) => passed(&rules.any_of[good], value),
        None => best(&rules.any_of, value).map_or(0, |branch| passed(branch, value)),
    };
    let good = rules.one_of.iter().filter(|branch| accepts(branch, value)).count();
    let one = match (good, first_good(&rules.one_of)) {
        (1, Some(good)) => passed(&rules.one_of[good], value),
        (0, _) => best(&rules.one_of, value).map_or(0, |branch| passed(branch, value)),
        _ => 0,
    };
    any + one + rules.all_of.iter().map(|branch| passed(branch, value)).sum::<u64>()
}

fn contents(node: &Node, value: &Value) -> u64 {
    match value {
        Value::String(_) => 1 + u64::from(node.values.format.is_some()),
        Value::Number(_) => 2,
        Value::Array(items) => {
            2 + node.items.as_ref().map_or(0, |schema| items.iter().map(|item| passed(schema, item)).sum())
        }
        Value::Object(map) => {
            let members = map.iter().filter_map(|(name, member)| Some(passed(node.member(name)?, member)));
            1 + members.sum::<u64>()
        }
        Value::Null | Value::Bool(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use crate::schema::CompiledSchema;

    #[test]
    fn the_alternative_with_more_good_checks_tells_what_is_wrong() {
        let schema = CompiledSchema::compile(&json!({"type": "object", "properties": {"address": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "value": {"type": "string"}},
            "oneOf": [
                {"properties": {
                    "type": {"enum": ["IPAddress"]},
                    "value": {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
                }},
                {"properties": {"type": {"not": {"enum": ["IPAddress"]}}}},
            ],
        }}}))
        .unwrap();
        let causes = schema.validate(&json!({"address": {"type": "IPAddress", "value": "nonsense"}}), None);
        let found: Vec<_> = causes.iter().map(|cause| (cause.field.as_str(), cause.reason)).collect();
        let whole = ("<nil>", "FieldValueInvalid");
        assert_eq!(found, [whole, whole, ("address.value", "FieldValueTypeInvalid")]);
    }
}
