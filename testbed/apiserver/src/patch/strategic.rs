//! Strategic merge patch: a merge patch whose lists merge by key, and which carries directives.

use serde_json::{Map, Value};

use super::PatchError;
use crate::schema::CompiledSchema;
use crate::schema::node::{ListType, Node};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList/";

/// Applies a strategic merge patch.
///
/// Lists merge where the schema has a patch strategy `merge`, or is a list-type map or set; by the patch merge key, else the
/// first list-map key, else by value.
///
/// # Errors
/// [`PatchError::Invalid`] when the patch is no object, [`PatchError::Directive`] when a directive is malformed or an item
/// lacks its merge key.
pub fn strategic_merge(live: &Value, patch: &Value, schema: &CompiledSchema) -> Result<Value, PatchError> {
    let (Some(live), Some(patch)) = (live.as_object(), patch.as_object()) else {
        return Err(PatchError::Invalid("a strategic merge patch is an object for an object".to_owned()));
    };
    Ok(Value::Object(merge_maps(Some(schema.root()), live.clone(), patch)?))
}

fn invalid(what: impl Into<String>) -> PatchError {
    PatchError::Directive(what.into())
}

/// What `$patch` asks for.
#[derive(Clone, Copy, PartialEq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(patch: &Map<String, Value>) -> Result<Directive, PatchError> {
    match patch.get(DIRECTIVE).map(Value::as_str) {
        None | Some(Some("merge")) => Ok(Directive::Merge),
        Some(Some("replace")) => Ok(Directive::Replace),
        Some(Some("delete")) => Ok(Directive::Delete),
        _ => Err(invalid(format!("unknown $patch type: {}", patch[DIRECTIVE]))),
    }
}

fn is_directive(name: &str) -> bool {
    name == DIRECTIVE || name == RETAIN_KEYS || name.starts_with(ORDER) || name.starts_with(DELETE_VALUES)
}

/// A patch as the value of a field that was not there: without directives and nulls.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let keep = map.iter().filter(|(name, value)| !is_directive(name) && !value.is_null());
            Value::Object(keep.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Value::Array(items) => {
            let is_deletion = |item: &&Value| item.get(DIRECTIVE).is_some_and(|directive| directive != "merge");
            Value::Array(items.iter().filter(|item| !is_deletion(item)).map(plain).collect())
        }
        scalar => scalar.clone(),
    }
}

fn merge_maps(
    node: Option<&Node>,
    mut live: Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, PatchError> {
    match directive(patch)? {
        Directive::Delete => return Ok(Map::new()),
        Directive::Replace => {
            let fields = patch.iter().filter(|(name, _)| *name != DIRECTIVE);
            return Ok(fields.map(|(name, value)| (name.clone(), value.clone())).collect());
        }
        Directive::Merge => {}
    }
    retain_keys(&mut live, patch)?;
    for (name, change) in patch {
        if let Some(field) = name.strip_prefix(DELETE_VALUES) {
            delete_values(&mut live, field, change)?;
            continue;
        }
        if is_directive(name) {
            continue;
        }
        let schema = node.and_then(|node| node.member(name));
        let order = patch.get(&format!("{ORDER}{name}"));
        let merged = match (live.get(name), change) {
            (_, Value::Null) => {
                live.shift_remove(name);
                continue;
            }
            (Some(Value::Object(old)), Value::Object(change)) => {
                Value::Object(merge_maps(schema, old.clone(), change)?)
            }
            (Some(Value::Array(old)), Value::Array(change)) if merges(schema) => {
                Value::Array(merge_lists(schema, old, change, order)?)
            }
            (_, change) => plain(change),
        };
        live.insert(name.clone(), merged);
    }
    for (name, order) in patch {
        let Some(field) = name.strip_prefix(ORDER) else { continue };
        if patch.contains_key(field) {
            continue;
        }
        let schema = node.and_then(|node| node.member(field));
        if let Some(Value::Array(items)) = live.get(field) {
            let sorted = in_order(merge_key(schema), items.clone(), items, order)?;
            live.insert(field.to_owned(), Value::Array(sorted));
        }
    }
    Ok(live)
}

fn retain_keys(live: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), PatchError> {
    let Some(list) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let keys = list.as_array().ok_or_else(|| invalid("$retainKeys must be a list"))?;
    let listed = |name: &str| keys.iter().any(|key| key == name);
    if let Some(name) = patch.iter().find(|(name, value)| !is_directive(name) && !value.is_null() && !listed(name)) {
        return Err(invalid(format!("{} is in the patch but not in its $retainKeys", name.0)));
    }
    live.retain(|name, _| listed(name));
    Ok(())
}

fn delete_values(live: &mut Map<String, Value>, field: &str, values: &Value) -> Result<(), PatchError> {
    let values = values.as_array().ok_or_else(|| invalid(format!("{DELETE_VALUES}{field} must be a list")))?;
    if let Some(items) = live.get_mut(field).and_then(Value::as_array_mut) {
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

fn merges(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.patch_strategy.merge || matches!(node.list_type, Some(ListType::Map | ListType::Set)))
}

/// The key by which items are told apart; none for lists of scalars.
fn merge_key(node: Option<&Node>) -> Option<&str> {
    let node = node?;
    node.patch_merge_key.as_deref().or_else(|| node.list_keys.first().map(String::as_str))
}

fn identity<'v>(key: Option<&str>, item: &'v Value) -> Result<&'v Value, PatchError> {
    match key {
        None => Ok(item),
        Some(key) => match item.get(key) {
            None => Err(invalid(format!("{item} does not contain declared merge key: {key}"))),
            Some(Value::Null | Value::Object(_) | Value::Array(_)) => {
                Err(invalid(format!("the merge key {key} of {item} is no scalar")))
            }
            Some(id) => Ok(id),
        },
    }
}

fn merge_lists(
    node: Option<&Node>,
    live: &[Value],
    patch: &[Value],
    order: Option<&Value>,
) -> Result<Vec<Value>, PatchError> {
    let key = merge_key(node);
    let schema = node.and_then(|node| node.items.as_deref());
    let mut merged = live.to_vec();
    let mut changes = Vec::new();
    let mut replace = false;
    for change in patch {
        match change.as_object().map(directive).transpose()? {
            Some(Directive::Replace) => {
                replace = true;
                // A bare `{$patch: replace}` is a marker; with fields it is also an item.
                if change.as_object().is_some_and(|map| map.len() > 1) {
                    changes.push(change);
                }
            }
            Some(Directive::Delete) => {
                let id = identity(key, change)?;
                merged.retain(|item| identity(key, item).ok() != Some(id));
            }
            _ => changes.push(change),
        }
    }
    if replace {
        return Ok(changes.into_iter().map(plain).collect());
    }
    for &change in &changes {
        if key.is_none() && change.is_object() {
            return Err(invalid(format!("{change} is an object in a list whose items have no merge key")));
        }
        let id = identity(key, change)?;
        let position = merged.iter().position(|item| identity(key, item).ok() == Some(id));
        match (position, change) {
            (Some(position), Value::Object(change)) => {
                if let Value::Object(old) = merged[position].clone() {
                    merged[position] = Value::Object(merge_maps(schema, old, change)?);
                }
            }
            (Some(_), _) => {}
            (None, change) => merged.push(plain(change)),
        }
    }
    match order {
        Some(order) => in_order(key, merged, live, order),
        None => in_order(key, merged, live, &changes.into_iter().cloned().collect()),
    }
}

/// Brings items into the order that `$setElementOrder` asks for, or that of the patch. Others keep their place relative to
/// the live list, behind those that are new.
fn in_order(key: Option<&str>, items: Vec<Value>, live: &[Value], order: &Value) -> Result<Vec<Value>, PatchError> {
    let order = order.as_array().ok_or_else(|| invalid("$setElementOrder must be a list"))?;
    // For objects the order lists either the keys or objects that carry them.
    let wanted: Vec<&Value> = order.iter().map(|entry| key.and_then(|key| entry.get(key)).unwrap_or(entry)).collect();
    let id = |item: &Value| identity(key, item).ok().cloned();
    let rank = |item: &Value| id(item).and_then(|id| wanted.iter().position(|wanted| **wanted == id));
    let (mut ordered, others): (Vec<Value>, Vec<Value>) = items.into_iter().partition(|item| rank(item).is_some());
    ordered.sort_by_key(|item| rank(item));
    let place = |item: &Value| live.iter().position(|candidate| id(candidate) == id(item));
    let mut result: Vec<Value> = Vec::with_capacity(ordered.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in ordered {
        let before = |other: &Value| place(&item).is_some_and(|item| place(other).is_some_and(|other| other < item));
        while let Some(other) = others.next_if(before) {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others);
    Ok(result)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::schema::builtin::schema;

    #[rstest]
    #[case::maps(json!({"a": "1", "b": "2"}), json!({"b": null, "c": "3"}), json!({"a": "1", "c": "3"}))]
    #[case::replace(json!({"a": "1"}), json!({"$patch": "replace", "b": "2"}), json!({"b": "2"}))]
    #[case::delete(json!({"a": "1"}), json!({"$patch": "delete"}), json!({}))]
    #[case::retain(json!({"a": "1", "b": "2"}), json!({"$retainKeys": ["b", "c"], "c": "3"}), json!({"b": "2", "c": "3"}))]
    fn objects(#[case] live: Value, #[case] patch: Value, #[case] expected: Value) {
        let merged =
            strategic_merge(&json!({"data": live}), &json!({"data": patch}), &schema("", "ConfigMap").unwrap())
                .unwrap();
        assert_eq!(merged, json!({"data": expected}));
    }

    #[rstest]
    #[case::by_key(json!([{"port": 80, "name": "a"}, {"port": 81}]), json!({"ports": [{"port": 81, "name": "b"}]}),
        json!([{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]))]
    #[case::new_item(json!([{"port": 80}]), json!({"ports": [{"port": 81, "name": null}]}), json!([{"port": 81}, {"port": 80}]))]
    #[case::between(json!([{"port": 80}, {"port": 81}]), json!({"ports": [{"port": 81}, {"port": 82}]}),
        json!([{"port": 80}, {"port": 81}, {"port": 82}]))]
    #[case::delete(json!([{"port": 80}, {"port": 81}]), json!({"ports": [{"port": 80, "$patch": "delete"}]}), json!([{"port": 81}]))]
    #[case::replace(json!([{"port": 80}, {"port": 81}]), json!({"ports": [{"port": 9}, {"$patch": "replace"}]}), json!([{"port": 9}]))]
    #[case::order(json!([{"port": 1}, {"port": 2}, {"port": 3}]),
        json!({"$setElementOrder/ports": [{"port": 4}, {"port": 1}], "ports": [{"port": 4}]}),
        json!([{"port": 4}, {"port": 1}, {"port": 2}, {"port": 3}]))]
    #[case::order_alone(json!([{"port": 1}, {"port": 2}]), json!({"$setElementOrder/ports": [{"port": 2}, {"port": 1}]}),
        json!([{"port": 2}, {"port": 1}]))]
    #[case::null(json!([{"port": 1}]), json!({"ports": null}), Value::Null)]
    fn keyed_lists(#[case] live: Value, #[case] patch: Value, #[case] expected: Value) {
        let service = schema("", "Service").unwrap();
        let merged = strategic_merge(&json!({"spec": {"ports": live}}), &json!({"spec": patch}), &service).unwrap();
        assert_eq!(merged["spec"].get("ports").cloned().unwrap_or(Value::Null), expected);
    }

    #[test]
    fn other_lists() {
        let service = schema("", "Service").unwrap();
        let live = json!({"metadata": {"finalizers": ["a", "b"]}, "spec": {"externalIPs": ["1.1.1.1"]}});
        let patch = json!({
            "metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]},
            "spec": {"externalIPs": ["2.2.2.2"]},
        });
        let merged = strategic_merge(&live, &patch, &service).unwrap();
        assert_eq!(merged["metadata"]["finalizers"], json!(["c", "b"]));
        assert_eq!(merged["spec"]["externalIPs"], json!(["2.2.2.2"]));
    }

    #[rstest]
    #[case(json!({"spec": {"ports": [{"name": "x"}]}}))]
    #[case(json!({"spec": {"$patch": "explode"}}))]
    #[case(json!({"spec": {"$retainKeys": ["type"], "ports": []}}))]
    #[case(json!({"metadata": {"finalizers": [{"a": 1}]}}))]
    #[case(json!({"spec": {"ports": [{"port": {"a": null}}]}}))]
    #[case(json!({"spec": {"ports": [{"port": null}]}}))]
    fn refusals(#[case] patch: Value) {
        let service = schema("", "Service").unwrap();
        let live = json!({"metadata": {"finalizers": ["a"]}, "spec": {"ports": [{"port": 1}]}});
        assert!(matches!(strategic_merge(&live, &patch, &service), Err(PatchError::Directive(_))));
    }
}
