//! Sets of field paths: the algebra of FieldsV1.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::Element;

/// A set of field paths, as a tree. A path can be a member without its descendants being members, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    entries: BTreeMap<Element, Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    member: bool,
    below: FieldSet,
}

impl Entry {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a direct member.
    pub(crate) fn insert(&mut self, element: Element) {
        self.entries.entry(element).or_default().member = true;
    }

    /// Adds a set of paths below an element.
    pub(crate) fn insert_below(&mut self, element: Element, below: FieldSet) {
        if !below.is_empty() {
            let entry = self.entries.entry(element).or_default();
            entry.below = entry.below.union(&below);
        }
    }

    /// Whether an element is a direct member.
    pub(crate) fn has(&self, element: &Element) -> bool {
        self.entries.get(element).is_some_and(|entry| entry.member)
    }

    /// The paths below an element.
    pub(crate) fn below(&self, element: &Element) -> Option<&FieldSet> {
        self.entries.get(element).map(|entry| &entry.below).filter(|below| !below.is_empty())
    }

    pub(crate) fn union(&self, other: &FieldSet) -> FieldSet {
        let mut result = self.clone();
        for (element, entry) in &other.entries {
            let own = result.entries.entry(element.clone()).or_default();
            own.member |= entry.member;
            own.below = own.below.union(&entry.below);
        }
        result
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        self.filtered(
            other,
            |own, theirs| Entry { member: own.member && theirs.member, below: own.below.intersection(&theirs.below) },
            false,
        )
    }

    /// The members of this set that are no members of the other.
    pub(crate) fn difference(&self, other: &FieldSet) -> FieldSet {
        self.filtered(
            other,
            |own, theirs| Entry { member: own.member && !theirs.member, below: own.below.difference(&theirs.below) },
            true,
        )
    }

    fn filtered(&self, other: &FieldSet, both: impl Fn(&Entry, &Entry) -> Entry, keep_alone: bool) -> FieldSet {
        let mut entries = BTreeMap::new();
        for (element, own) in &self.entries {
            let entry = match other.entries.get(element) {
                Some(theirs) => both(own, theirs),
                None if keep_alone => own.clone(),
                None => continue,
            };
            if !entry.is_empty() {
                entries.insert(element.clone(), entry);
            }
        }
        FieldSet { entries }
    }

    /// Adds the elements on the way to members for which `named` says so; it gets the path so far.
    pub(crate) fn close_upwards(&mut self, named: &mut dyn FnMut(&[Element]) -> bool) {
        self.close(&mut Vec::new(), named);
    }

    fn close(&mut self, path: &mut Vec<Element>, named: &mut dyn FnMut(&[Element]) -> bool) {
        for (element, entry) in &mut self.entries {
            path.push(element.clone());
            if !entry.below.is_empty() && named(path) {
                entry.member = true;
            }
            entry.below.close(path, named);
            path.pop();
        }
    }

    /// All member paths, as conflicts spell them.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect(&mut String::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut String, paths: &mut Vec<String>) {
        for (element, entry) in &self.entries {
            let length = prefix.len();
            prefix.push_str(&element.to_string());
            if entry.member {
                paths.push(prefix.clone());
            }
            entry.below.collect(prefix, paths);
            prefix.truncate(length);
        }
    }

    /// FieldsV1: `{"f:a": {}}` for a leaf, `{"f:a": {".": {}, "f:b": {}}}` for a member with members below.
    pub(crate) fn encode(&self) -> Value {
        let mut map = Map::new();
        for (element, entry) in &self.entries {
            let mut below = match entry.below.encode() {
                Value::Object(below) => below,
                _ => Map::new(),
            };
            if entry.member && !below.is_empty() {
                below.shift_insert(0, ".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(element.encoded().to_owned(), Value::Object(below));
        }
        Value::Object(map)
    }

    /// Reads FieldsV1; nothing if it is malformed.
    pub(crate) fn decode(fields: &Value) -> Option<FieldSet> {
        let mut entries = BTreeMap::new();
        for (encoded, below) in fields.as_object()? {
            if encoded == "." {
                continue;
            }
            let member = below.as_object()?.is_empty() || below.get(".").is_some();
            entries.insert(Element::decode(encoded)?, Entry { member, below: FieldSet::decode(below)? });
        }
        Some(FieldSet { entries })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn set(value: Value) -> FieldSet {
        FieldSet::decode(&value).unwrap()
    }

    #[test]
    fn round_trip_and_spelling() {
        let encoded = json!({
            "f:metadata": {"f:finalizers": {".": {}, "v:\"a/b\"": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}}},
        });
        assert_eq!(set(encoded.clone()).encode(), encoded);
        let unsorted =
            json!({"f:spec": {"f:ports": {"k:{\"protocol\":\"TCP\",\"port\":80}": {".": {}, "f:name": {}}}}});
        assert_eq!(
            set(unsorted).paths(),
            [".spec.ports[port=80,protocol=\"TCP\"]", ".spec.ports[port=80,protocol=\"TCP\"].name"]
        );
        assert_eq!(FieldSet::decode(&json!({"x": {}})), None);
    }

    #[test]
    fn algebra() {
        let a = set(json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        let b = set(json!({"f:a": {"f:b": {}}, "f:d": {}}));
        assert_eq!(a.union(&b), set(json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}, "f:d": {}})));
        assert_eq!(a.intersection(&b), set(json!({"f:a": {"f:b": {}}})));
        assert_eq!(a.difference(&b), set(json!({"f:a": {}, "f:c": {}})));
        assert!(a.difference(&a).is_empty());
    }
}
