//! Value validation: types, required fields, limits and the logical operators.

mod closest;

use std::cmp::Ordering;

use serde_json::{Map, Number, Value, json};

use super::cause::Cause;
use super::correlate::{old_item, old_member};
use super::embedded;
use super::formats::{has_format, regex};
use super::node::{Kind, Node};
use super::path::{NO_FIELD, Path};
use closest::closest;

/// Checks a value; what is unchanged from its old value is not held against a schema that became stricter since.
pub(crate) fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    if old == Some(value) {
        return;
    }
    if value.is_null() && node.nullable {
        return;
    }
    // A number of the wrong sort is still held against the limits of its field.
    let limited = node.kind == Kind::Integer && value.is_number();
    if !check_type(node, value, path, causes) && !limited {
        return;
    }
    check_logic(node, value, path, causes);
    check_enumeration(node, value, path, causes);
    match value {
        Value::String(text) => check_string(node, text, value, path, causes),
        Value::Number(number) => check_number(node, number, value, path, causes),
        Value::Array(items) => check_array(node, items, value, old, path, causes),
        Value::Object(map) => {
            if node.embedded_resource {
                embedded::check(map, path, causes);
            }
            check_object(node, map, old, path, causes);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn in_body(path: &Path<'_>, rest: &str) -> String {
    let name = path.dotted();
    format!("{name} in body {rest}")
}

/// The type name of a value, integers told from other numbers.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a number is whole, and within 64 bits with sign; `1.0` counts as far as such numbers are exact.
pub(crate) fn is_integer(number: &Number) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    number.is_i64() || number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() <= EXACT)
}

fn check_type(node: &Node, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) -> bool {
    let actual = type_name(value);
    let fits = match node.kind {
        Kind::Any => true,
        Kind::IntOrString => matches!(actual, "integer" | "string"),
        Kind::Number => matches!(actual, "integer" | "number"),
        kind => kind.name() == actual,
    };
    if !fits {
        let expected = node.kind.name();
        let detail = in_body(path, &format!("must be of type {expected}: \"{actual}\""));
        causes.push(Cause::type_invalid(path.bracketed(), &json!(actual), &detail));
        return false;
    }
    true
}

fn check_enumeration(node: &Node, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let Some(allowed) = &node.values.enumeration else { return };
    if !allowed.iter().any(|candidate| equal(candidate, value)) {
        causes.push(Cause::not_supported(path.bracketed(), value, allowed));
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        _ => left == right,
    }
}

fn check_string(node: &Node, text: &str, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let rules = &node.values;
    let length = text.chars().count() as u64;
    if let Some(max) = rules.max_length
        && length > max
    {
        causes.push(Cause::too_long(path.bracketed(), max));
    }
    if let Some(min) = rules.min_length
        && length < min
    {
        let detail = in_body(path, &format!("should be at least {min} chars long"));
        causes.push(Cause::invalid(path.bracketed(), value, &detail));
    }
    if let Some(pattern) = &rules.pattern
        && !regex(pattern).is_ok_and(|regex| regex.is_match(text))
    {
        let detail = in_body(path, &format!("should match '{pattern}'"));
        causes.push(Cause::invalid(path.bracketed(), value, &detail));
    }
    if let Some(format) = &rules.format
        && node.kind != Kind::IntOrString
        && !has_format(format, text)
    {
        let detail = in_body(path, &format!("must be of type {format}: {value}"));
        causes.push(Cause::type_invalid(path.bracketed(), value, &detail));
    }
}

/// Compares two JSON numbers, exactly where both are whole.
pub(crate) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn check_number(node: &Node, number: &Number, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let rules = &node.values;
    let mut fail = |rest: String| causes.push(Cause::invalid(path.bracketed(), value, &in_body(path, &rest)));
    if let Some(max) = &rules.maximum {
        let order = compare(number, max);
        if order == Some(Ordering::Greater) || (rules.exclusive_maximum && order == Some(Ordering::Equal)) {
            let or_equal = if rules.exclusive_maximum { "" } else { " or equal to" };
            fail(format!("should be less than{or_equal} {max}"));
        }
    }
    if let Some(min) = &rules.minimum {
        let order = compare(number, min);
        if order == Some(Ordering::Less) || (rules.exclusive_minimum && order == Some(Ordering::Equal)) {
            let or_equal = if rules.exclusive_minimum { "" } else { " or equal to" };
            fail(format!("should be greater than{or_equal} {min}"));
        }
    }
    if let (Some(factor), Some(float)) = (rules.multiple_of, number.as_f64())
        && (float / factor).fract() != 0.0
    {
        fail(format!("should be a multiple of {factor}"));
    }
    if node.kind == Kind::Integer {
        let (low, high, format) = match rules.format.as_deref() {
            Some("int32") => (i128::from(i32::MIN), i128::from(i32::MAX), "int32"),
            _ => (i128::from(i64::MIN), i128::from(i64::MAX), "int64"),
        };
        let float = || number.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as i128);
        if !number.as_i128().or_else(float).is_some_and(|integer| (low..=high).contains(&integer)) {
            // The API server does not say which field this is about.
            let text = format!("Checked value must be of type integer with format {format} in {}", path.dotted());
            causes.push(Cause::invalid(NO_FIELD.to_owned(), &json!(""), &text));
        }
    }
}

fn check_array(
    node: &Node,
    items: &[Value],
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    causes: &mut Vec<Cause>,
) {
    let rules = &node.values;
    let length = items.len() as u64;
    if let Some(schema) = &node.items {
        for (index, item) in items.iter().enumerate() {
            check(schema, item, old_item(node, old, item), &path.index(index), causes);
        }
    }
    if let Some(min) = rules.min_items
        && length < min
    {
        let detail = in_body(path, &format!("should have at least {min} items"));
        causes.push(Cause::invalid(path.bracketed(), &json!(length), &detail));
    }
    if let Some(max) = rules.max_items
        && length > max
    {
        causes.push(Cause::too_many(path.bracketed(), items.len(), max));
    }
    if rules.unique_items && items.iter().enumerate().any(|(index, item)| items[..index].contains(item)) {
        causes.push(Cause::invalid(path.bracketed(), value, &in_body(path, "shouldn't contain duplicates")));
    }
}

fn check_object(node: &Node, map: &Map<String, Value>, old: Option<&Value>, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let rules = &node.values;
    let length = map.len() as u64;
    if let Some(min) = rules.min_properties
        && length < min
    {
        let detail = in_body(path, &format!("should have at least {min} properties"));
        causes.push(Cause::invalid(path.bracketed(), &json!(length), &detail));
    }
    if let Some(max) = rules.max_properties
        && length > max
    {
        causes.push(Cause::too_many(path.bracketed(), map.len(), max));
    }
    for name in &rules.required {
        if !map.contains_key(name) {
            causes.push(Cause::required(path.field(name).bracketed(), ""));
        }
    }
    for (name, member) in map {
        // Value validation spells map keys like fields.
        if let Some(schema) = node.member(name) {
            check(schema, member, old_member(node, old, name), &path.field(name), causes);
        }
    }
}

/// What is wrong with a value that has no past.
pub(crate) fn failures(node: &Node, value: &Value, path: &Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(node, value, None, path, &mut causes);
    causes
}

fn check_logic(node: &Node, value: &Value, path: &Path<'_>, causes: &mut Vec<Cause>) {
    let rules = &node.values;
    let whole = |text: String| Cause::invalid(NO_FIELD.to_owned(), &json!(""), &text);
    let name = path.dotted();
    let refuses = |branch: &Node| !failures(branch, value, path).is_empty();
    if !rules.any_of.is_empty() && rules.any_of.iter().all(refuses) {
        causes.push(whole(format!("\"{name}\" must validate at least one schema (anyOf)")));
        causes.extend(closest(&rules.any_of, value, path));
    }
    if !rules.one_of.is_empty() {
        match rules.one_of.iter().filter(|branch| failures(branch, value, path).is_empty()).count() {
            1 => {}
            0 => {
                causes
                    .push(whole(format!("\"{name}\" must validate one and only one schema (oneOf). Found none valid")));
                causes.extend(closest(&rules.one_of, value, path));
            }
            many => causes.push(whole(format!(
                "\"{name}\" must validate one and only one schema (oneOf). Found {many} valid alternatives"
            ))),
        }
    }
    if !rules.all_of.is_empty() {
        let refused: Vec<Vec<Cause>> = rules.all_of.iter().map(|branch| failures(branch, value, path)).collect();
        let valid = refused.iter().filter(|causes| causes.is_empty()).count();
        causes.extend(refused.into_iter().flatten());
        if valid < rules.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            causes.push(whole(format!("\"{name}\" must validate all the schemas (allOf){none}")));
        }
    }
    if let Some(branch) = &rules.not
        && failures(branch, value, path).is_empty()
    {
        causes.push(whole(format!("\"{name}\" must not validate the schema (not)")));
    }
}
