//! What a run has created: the only objects that its writer changes or deletes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::log::ObjectKey;

/// The objects of a run, by key. Clones are the same ledger.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<HashMap<ObjectKey, Entry>>>);

/// What is known of an object that the run wrote.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// The answer to its creation was lost.
    Perhaps {
        /// What was sent.
        sent: Arc<Value>,
    },
    /// It was created.
    Created {
        /// Its uid.
        uid: String,
        /// What was sent last.
        sent: Arc<Value>,
        /// How it stood after the last write of the run that was answered.
        stands: Stands,
    },
    /// Its deletion was taken.
    Deleted {
        /// Its uid.
        uid: String,
    },
}

/// How an object stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stands {
    /// Its `metadata.resourceVersion`.
    pub version: String,
    /// Its `metadata.generation`, or 0 for kinds that have none.
    pub generation: i64,
}

impl Stands {
    /// Of an object.
    pub fn of(object: &Value) -> Stands {
        let version =
            object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        Stands {
            version,
            generation: object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default(),
        }
    }
}

impl Ledger {
    /// What is known of an object; nothing if the run did not write it.
    pub fn get(&self, key: &ObjectKey) -> Option<Entry> {
        self.lock().get(key).cloned()
    }

    /// Notes what came of a write.
    pub fn put(&self, key: ObjectKey, entry: Entry) {
        self.lock().insert(key, entry);
    }

    /// Notes how an object of the run stands after another write of it.
    pub fn stands(&self, key: &ObjectKey, after: Stands) {
        if let Some(Entry::Created { stands, .. }) = self.lock().get_mut(key) {
            *stands = after;
        }
    }

    /// Forgets what is gone, with whatever lay in a namespace that is.
    pub fn forget(&self, gone: &[ObjectKey]) {
        let lies_in = |key: &ObjectKey, gone: &ObjectKey| {
            gone.kind == "Namespace" && gone.group.is_empty() && key.namespace.as_ref() == Some(&gone.name)
        };
        self.lock().retain(|key, _| !gone.iter().any(|gone| gone == key || lies_in(key, gone)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The merge patch that makes an object what `next` says, where the run last sent `before`: fields that `next` no longer has are
/// taken away, and what others set beside them stays.
pub fn replacing(before: &Value, next: &Value) -> Value {
    let (Value::Object(before), Value::Object(next)) = (before, next) else { return next.clone() };
    let mut patch: Map<String, Value> = next
        .iter()
        .map(|(name, value)| {
            (name.clone(), before.get(name).map_or_else(|| value.clone(), |old| replacing(old, value)))
        })
        .collect();
    for name in before.keys().filter(|name| !next.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// A merge patch that only the object with this uid takes.
pub fn only(uid: &str, mut patch: Value) -> Value {
    if !patch.get("metadata").is_some_and(Value::is_object) {
        patch["metadata"] = json!({});
    }
    patch["metadata"]["uid"] = json!(uid);
    patch
}

/// A JSON patch that only the object with this uid takes.
pub fn only_tested(uid: &str, patch: &Value) -> Value {
    let test = json!({"op": "test", "path": "/metadata/uid", "value": uid});
    std::iter::once(test).chain(patch.as_array().into_iter().flatten().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::same(json!({"a": 1}), json!({"a": 1}), json!({"a": 1}))]
    #[case::changed(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1, "c": 3}}), json!({"a": {"b": 1, "c": 3}}))]
    #[case::taken_away(json!({"a": 1, "b": {"c": 2}}), json!({"b": {}}), json!({"a": null, "b": {"c": null}}))]
    #[case::added(json!({}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}))]
    #[case::lists_are_whole(json!({"a": [1, 2]}), json!({"a": [2]}), json!({"a": [2]}))]
    fn what_is_no_longer_sent_is_taken_away(#[case] before: Value, #[case] next: Value, #[case] patch: Value) {
        assert_eq!(replacing(&before, &next), patch);
    }

    #[test]
    fn what_lay_in_a_namespace_is_forgotten_with_it() {
        let key = |kind: &str, namespace: Option<&str>, name: &str| ObjectKey {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        let ledger = Ledger::default();
        let keys = [
            key("Namespace", None, "a"),
            key("Secret", Some("a"), "s"),
            key("Secret", Some("b"), "a"),
            key("Node", None, "n"),
            key("Node", None, "m"),
        ];
        keys.iter().for_each(|key| ledger.put(key.clone(), Entry::Deleted { uid: "u".to_owned() }));
        ledger.forget(&[keys[0].clone(), keys[3].clone()]);
        let known: Vec<bool> = keys.iter().map(|key| ledger.get(key).is_some()).collect();
        assert_eq!(known, [false, false, true, false, true]);
    }

    #[test]
    fn patches_name_the_one_object_that_takes_them() {
        assert_eq!(only("u", json!({"spec": 1})), json!({"spec": 1, "metadata": {"uid": "u"}}));
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        assert_eq!(only("u", labels), json!({"metadata": {"labels": {"a": "b"}, "uid": "u"}}));
        let test = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
        assert_eq!(
            only_tested("u", &json!([{"op": "remove", "path": "/a"}])),
            json!([test, {"op": "remove", "path": "/a"}])
        );
    }
}
