//! The branches of `allOf`, `anyOf`, `oneOf` and `not`: they restrict values and shape nothing.

use serde_json::{Map, Value};

use super::super::cause::Cause;
use super::super::read::{flag, text};
use super::{Checker, child, key};

/// What shapes an object, and is therefore said outside of the branches.
const SHAPING: [&str; 11] = [
    "type",
    "additionalProperties",
    "title",
    "description",
    "default",
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// The structural schema of the place that a branch speaks of.
#[derive(Clone, Copy)]
struct Skeleton<'a> {
    map: &'a Map<String, Value>,
    at: &'a str,
    /// It has metadata, which nothing may restrict but names.
    is_resource: bool,
}

/// Where a branch stands.
#[derive(Clone, Copy, Default)]
struct Context {
    /// Every operator above it is an `allOf`, so that it may have CEL rules.
    in_all_of: bool,
    /// It may spell out the two types of an int-or-string.
    int_or_string: bool,
}

/// Checks every branch of the structural schema at `at`.
pub(super) fn check(checker: &mut Checker, map: &Map<String, Value>, at: &str) {
    let is_resource = at.is_empty() || flag(map, "x-kubernetes-embedded-resource");
    let context = Context { in_all_of: true, int_or_string: flag(map, "x-kubernetes-int-or-string") };
    operators(checker, map, at, Skeleton { map, at, is_resource }, context);
}

fn operators(checker: &mut Checker, map: &Map<String, Value>, at: &str, skeleton: Skeleton<'_>, context: Context) {
    for operator in ["allOf", "anyOf", "oneOf"] {
        let list = map.get(operator).and_then(Value::as_array);
        if operator == "anyOf" && context.int_or_string && list.is_some_and(|list| is_int_or_string(list)) {
            continue;
        }
        for (index, branch) in list.into_iter().flatten().enumerate() {
            let all = operator == "allOf";
            let context = Context {
                in_all_of: context.in_all_of && all,
                // The two types may also stand in the first branch of an allOf.
                int_or_string: context.int_or_string && all && index == 0,
            };
            nested(checker, branch, &child(at, &format!("{operator}[{index}]")), skeleton, context);
        }
    }
    if let Some(branch) = map.get("not") {
        nested(checker, branch, &child(at, "not"), skeleton, Context::default());
    }
}

fn is_int_or_string(branches: &[Value]) -> bool {
    let only_type = |branch: &Value| branch.as_object().filter(|b| b.len() == 1).and_then(|b| text(b, "type"));
    let types: Vec<_> = branches.iter().filter_map(only_type).collect();
    branches.len() == 2 && types == ["integer", "string"]
}

fn nested(checker: &mut Checker, branch: &Value, at: &str, skeleton: Skeleton<'_>, context: Context) {
    let Some(map) = branch.as_object() else {
        return checker.not_a_schema(branch, at);
    };
    checker.anywhere(map, at);
    for name in SHAPING {
        let empty = |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || value == "";
        if map.get(name).is_some_and(|value| !empty(value)) {
            checker.forbidden(at, name, "must be empty or undefined inside of a logical operator to be structural");
        }
    }
    if !context.in_all_of && map.contains_key("x-kubernetes-validations") {
        checker.forbidden(at, "x-kubernetes-validations", "must be empty to be structural");
    }
    operators(checker, map, at, skeleton, context);
    let below = Context { int_or_string: false, ..context };
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if name == "metadata" && skeleton.is_resource {
            checker.violations.push(Cause::forbidden(key(at, name), "must not be specified in a nested context"));
            continue;
        }
        let declared = skeleton.map.get("properties").and_then(|all| all.get(name));
        complete(checker, property, &key(at, name), declared, &key(skeleton.at, name), below);
    }
    if let Some(items) = map.get("items") {
        complete(checker, items, &child(at, "items"), skeleton.map.get("items"), &child(skeleton.at, "items"), below);
    }
}

/// Goes on below a branch where the structural schema declares the same place, and says so where it does not.
fn complete(checker: &mut Checker, below: &Value, at: &str, declared: Option<&Value>, there: &str, context: Context) {
    match declared.and_then(Value::as_object) {
        Some(map) => {
            let is_resource = flag(map, "x-kubernetes-embedded-resource");
            nested(checker, below, at, Skeleton { map, at: there, is_resource }, context);
        }
        None => {
            let detail = format!("because it is defined in {at}");
            checker.violations.push(Cause::required(there.to_owned(), &detail));
        }
    }
}
