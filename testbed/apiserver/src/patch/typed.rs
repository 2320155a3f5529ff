//! Objects under a schema: which fields they have, how two of them merge and differ.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use crate::schema::node::{ListType, Node};

/// How the members of a value are owned and merged.
pub(crate) enum Shape<'v> {
    /// As a whole: scalars, atomic maps and lists, and every list of unknown type.
    Leaf,
    /// Member by member.
    Map(&'v Map<String, Value>),
    /// Item by item, by key or value.
    List(&'v [Value]),
}

/// The shape of a value; an unknown object is merged member by member.
pub(crate) fn shape<'v>(node: Option<&Node>, value: &'v Value) -> Shape<'v> {
    match value {
        Value::Object(map) if !node.is_some_and(|node| node.atomic_map) => Shape::Map(map),
        Value::Array(items) if node.is_some_and(is_keyed) => Shape::List(items),
        _ => Shape::Leaf,
    }
}

fn is_keyed(node: &Node) -> bool {
    matches!(node.list_type, Some(ListType::Map | ListType::Set))
}

/// The element that identifies an item of a keyed list.
pub(crate) fn item_element(node: Option<&Node>, item: &Value) -> Element {
    match node {
        Some(node) if node.list_type == Some(ListType::Map) => {
            let keys = node.list_keys.iter();
            let key_of = crate::schema::key_of;
            Element::key(keys.filter_map(|key| Some((key.clone(), key_of(node, item, key)?.clone()))))
        }
        _ => Element::value(item),
    }
}

fn member<'n>(node: Option<&'n Node>, name: &str) -> Option<&'n Node> {
    node?.member(name)
}

fn items(node: Option<&Node>) -> Option<&Node> {
    node?.items.as_deref()
}

/// The schema that an element leads to.
pub(crate) fn step<'n>(node: Option<&'n Node>, element: &Element) -> Option<&'n Node> {
    match element.name() {
        Some(name) => member(node, name),
        None => items(node),
    }
}

/// The fields that an applied configuration has an opinion on.
pub(crate) fn field_set(node: Option<&Node>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    match shape(node, value) {
        Shape::Leaf => {}
        Shape::Map(map) => {
            for (name, value) in map {
                let element = Element::field(name);
                let schema = member(node, name);
                let declared = node.is_some_and(|node| node.properties.contains_key(name));
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if !declared || empty || matches!(shape(schema, value), Shape::Leaf) {
                    set.insert(element.clone());
                }
                set.insert_below(element, field_set(schema, value));
            }
        }
        Shape::List(list) => {
            for item in list {
                let element = item_element(node, item);
                set.insert(element.clone());
                set.insert_below(element, field_set(items(node), item));
            }
        }
    }
    set
}

/// Adds the declared fields that lead to members of the set.
pub(crate) fn with_named_fields(root: &Node, mut set: FieldSet) -> FieldSet {
    set.close_upwards(&mut |path| {
        let Some((last, before)) = path.split_last() else { return false };
        let Some(name) = last.name() else { return false };
        let mut node = Some(root);
        for element in before {
            node = step(node, element);
        }
        node.is_some_and(|node| node.properties.contains_key(name))
    });
    set
}

/// The live value with the applied one merged in.
pub(crate) fn merge(node: Option<&Node>, live: &Value, applied: &Value) -> Value {
    match (shape(node, live), shape(node, applied)) {
        (Shape::Map(live), Shape::Map(applied)) => {
            let mut merged = live.clone();
            for (name, value) in applied {
                let value = match live.get(name) {
                    Some(old) => merge(member(node, name), old, value),
                    None => value.clone(),
                };
                merged.insert(name.clone(), value);
            }
            Value::Object(merged)
        }
        (Shape::List(live), Shape::List(applied)) => Value::Array(merge_lists(node, live, applied)),
        _ => applied.clone(),
    }
}

/// Items in the applied order; those that only the live list has keep their place among the others.
fn merge_lists(node: Option<&Node>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let identify = |list: &[Value]| -> Vec<Element> { list.iter().map(|item| item_element(node, item)).collect() };
    let (live_ids, applied_ids) = (identify(live), identify(applied));
    let mut merged = Vec::with_capacity(live.len() + applied.len());
    let mut taken: Vec<&Element> = Vec::new();
    let (mut l, mut a) = (0, 0);
    while l < live.len() || a < applied.len() {
        if let Some(id) = live_ids.get(l)
            && (!applied_ids.contains(id) || taken.contains(&id))
        {
            if !applied_ids.contains(id) {
                merged.push(live[l].clone());
            }
            l += 1;
            continue;
        }
        let Some(id) = applied_ids.get(a) else { break };
        // The item of the live list that stands here is applied later: the applied order wins.
        let item = match live_ids.iter().position(|candidate| candidate == id) {
            Some(position) => merge(items(node), &live[position], &applied[a]),
            None => applied[a].clone(),
        };
        merged.push(item);
        taken.push(id);
        a += 1;
    }
    merged
}

/// How two versions of an object differ.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Difference {
    pub(crate) added: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Difference {
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    fn insert_below(&mut self, element: Element, below: Difference) {
        self.added.insert_below(element.clone(), below.added);
        self.modified.insert_below(element.clone(), below.modified);
        self.removed.insert_below(element, below.removed);
    }
}

/// Compares two values of one type, member by member as far as the schema lets them be owned that way.
pub(crate) fn compare(node: Option<&Node>, old: &Value, new: &Value) -> Difference {
    let mut difference = Difference::default();
    for (element, old, new) in paired(node, old, new) {
        let schema = step(node, &element);
        match (old, new) {
            (Some(old), Some(new)) => {
                let leaf = |value| matches!(shape(schema, value), Shape::Leaf);
                // A null is an empty map or list to its members.
                if old != new
                    && ((leaf(old) && !old.is_null()) || (leaf(new) && !new.is_null()) || (leaf(old) && leaf(new)))
                {
                    difference.modified.insert(element.clone());
                }
                difference.insert_below(element, compare(schema, old, new));
            }
            (None, Some(new)) => {
                difference.added.insert(element.clone());
                difference.added.insert_below(element, everything(schema, new));
            }
            (Some(old), None) => {
                difference.removed.insert(element.clone());
                difference.removed.insert_below(element, everything(schema, old));
            }
            (None, None) => {}
        }
    }
    difference
}

/// All paths of a value.
fn everything(node: Option<&Node>, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    for (element, value, _) in paired(node, value, &Value::Null) {
        let below = value.map(|value| everything(step(node, &element), value)).unwrap_or_default();
        set.insert(element.clone());
        set.insert_below(element, below);
    }
    set
}

type Pair<'v> = (Element, Option<&'v Value>, Option<&'v Value>);

/// The members of two values side by side. Duplicate items of a list count once.
fn paired<'v>(node: Option<&Node>, old: &'v Value, new: &'v Value) -> Vec<Pair<'v>> {
    let members = |value: &'v Value| -> Vec<(Element, &'v Value)> {
        match shape(node, value) {
            Shape::Leaf => Vec::new(),
            Shape::Map(map) => map.iter().map(|(name, value)| (Element::field(name), value)).collect(),
            Shape::List(list) => list.iter().map(|item| (item_element(node, item), item)).collect(),
        }
    };
    let mut pairs: std::collections::BTreeMap<Element, (Option<&'v Value>, Option<&'v Value>)> = Default::default();
    for (element, value) in members(old) {
        pairs.entry(element).or_default().0.get_or_insert(value);
    }
    for (element, value) in members(new) {
        pairs.entry(element).or_default().1.get_or_insert(value);
    }
    pairs.into_iter().map(|(element, (old, new))| (element, old, new)).collect()
}

/// Removes the members of a set from a value. Containers that this empties go with them; one that is owned as such stays and
/// is null, as kube-apiserver has it (`removingWalker` of structured-merge-diff), which most schemas then refuse.
pub(crate) fn remove(node: Option<&Node>, value: &mut Value, set: &FieldSet, owned: &FieldSet) {
    let nothing = FieldSet::default();
    let keep = |element: &Element, value: &mut Value, schema: Option<&Node>| {
        if set.has(element) {
            return false;
        }
        let Some(below) = set.below(element) else { return true };
        remove(schema, value, below, owned.below(element).unwrap_or(&nothing));
        let emptied = value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
        if emptied {
            *value = Value::Null;
        }
        !emptied || owned.has(element)
    };
    match value {
        Value::Object(map) => map.retain(|name, value| keep(&Element::field(name), value, member(node, name))),
        Value::Array(list) if node.is_some_and(is_keyed) => {
            list.retain_mut(|item| keep(&item_element(node, item), item, items(node)));
        }
        _ => {}
    }
}
