//! How many objects were held against the contract.

use std::collections::{BTreeMap, BTreeSet};

use crate::log::ObjectKey;

/// The objects that were held against the contract: a run has many, and each counts once. Nobody else watches what lies in a namespace of
/// one execution, so of these the number is enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// By group and kind.
    counted: BTreeMap<(String, String), u64>,
    named: BTreeSet<ObjectKey>,
}

impl Watched {
    /// All of these; `is_own` says which namespaces are of one execution alone.
    pub fn of(objects: &BTreeSet<ObjectKey>, is_own: impl Fn(&str) -> bool) -> Watched {
        let mut watched = Watched::default();
        for key in objects {
            if key.namespace.as_deref().is_some_and(&is_own) {
                *watched.counted.entry((key.group.clone(), key.kind.clone())).or_default() += 1;
            } else {
                watched.named.insert(key.clone());
            }
        }
        watched
    }

    /// Adds what somebody else has watched. Several may have watched one object.
    pub fn add(&mut self, other: Watched) {
        for (kind, count) in other.counted {
            *self.counted.entry(kind).or_default() += count;
        }
        self.named.extend(other.named);
    }

    /// How many of each group and kind there are.
    pub(super) fn totals(&self) -> BTreeMap<(&str, &str), u64> {
        let counted = self.counted.iter().map(|((group, kind), count)| ((group.as_str(), kind.as_str()), *count));
        let mut totals: BTreeMap<(&str, &str), u64> = counted.collect();
        for key in &self.named {
            *totals.entry((&key.group, &key.kind)).or_default() += 1;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, namespace: Option<&str>, name: &str) -> ObjectKey {
        let (group, namespace) = ("g".to_owned(), namespace.map(str::to_owned));
        ObjectKey { group, kind: kind.to_owned(), namespace, name: name.to_owned() }
    }

    #[test]
    fn each_object_counts_once_whoever_watched_it() {
        let of = |own: &str, keys: &[ObjectKey]| {
            Watched::of(&keys.iter().cloned().collect(), |namespace: &str| namespace == own)
        };
        let class = key("Class", None, "c");
        let shared = key("Gateway", Some("pool"), "http");
        let mut all = of("one", &[class.clone(), shared.clone(), key("Route", Some("one"), "r")]);
        let other = key("Gateway", Some("pool"), "https");
        let two =
            of("two", &[class, shared, other, key("Route", Some("two"), "r"), key("Gateway", Some("two"), "http")]);
        all.add(two);
        assert_eq!(all.totals(), BTreeMap::from([(("g", "Class"), 1), (("g", "Gateway"), 3), (("g", "Route"), 2)]));
    }
}
