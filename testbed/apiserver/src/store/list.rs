//! Lists: the present state, or an earlier one rolled back from it.

use std::collections::BTreeMap;

use super::{Change, Collection, Key, Object, Store, StoreError};

/// The objects of one collection, or of one namespace of it, at one revision.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The revision that the objects show.
    pub revision: u64,
    /// The objects in key order.
    pub objects: Vec<(Key, Object)>,
}

/// A part of a list.
#[derive(Debug)]
pub struct Page {
    /// The revision that the objects show.
    pub revision: u64,
    /// The objects in key order.
    pub objects: Vec<Object>,
    /// The key to go on after, where there is more.
    pub next: Option<Key>,
    /// How many objects come after this page.
    pub remaining: usize,
}

impl Store {
    /// The objects of a collection, of one namespace unless `namespace` is `None`, now or at revision `at`.
    ///
    /// # Errors
    /// [`StoreError::Compacted`] if the events since `at` are gone, [`StoreError::Future`] if `at` is yet to come.
    pub fn snapshot(&self, collection: &str, namespace: Option<&str>, at: Option<u64>) -> Result<Snapshot, StoreError> {
        let state = self.read();
        let current = state.revision;
        let at = at.unwrap_or(current);
        if at > current {
            return Err(StoreError::Future { asked: at, current });
        }
        let Some(held) = state.collections.get(collection) else {
            return Ok(Snapshot { revision: at, objects: Vec::new() });
        };
        if at < held.history.floor() {
            return Err(StoreError::Compacted { asked: at, oldest: held.history.floor() });
        }
        Ok(Snapshot { revision: at, objects: rolled_back(held, namespace, at) })
    }
}

fn present(held: &Collection, namespace: Option<&str>) -> Vec<(Key, Object)> {
    let copy = |(key, object): (&Key, &Object)| (key.clone(), object.clone());
    match namespace {
        None => held.objects.iter().map(copy).collect(),
        Some(namespace) => held
            .objects
            .range(Key::new(namespace, "")..)
            .take_while(|(key, _)| key.namespace == namespace)
            .map(copy)
            .collect(),
    }
}

fn rolled_back(held: &Collection, namespace: Option<&str>, at: u64) -> Vec<(Key, Object)> {
    let mut later = held.history.since(at).rev().peekable();
    if later.peek().is_none() {
        return present(held, namespace);
    }
    let mut objects: BTreeMap<Key, Object> = present(held, namespace).into_iter().collect();
    for event in later {
        let key = &event.address.key;
        if namespace.is_some_and(|namespace| namespace != key.namespace) {
            continue;
        }
        match (event.change, &event.previous) {
            (Change::Modified | Change::Deleted, Some(previous)) => objects.insert(key.clone(), previous.clone()),
            _ => objects.remove(key),
        };
    }
    objects.into_iter().collect()
}

impl Snapshot {
    /// Keeps what `keep` admits, skips everything up to and including `after`, and cuts after `limit` objects.
    pub fn page(self, after: Option<&Key>, limit: Option<usize>, keep: impl Fn(&Object) -> bool) -> Page {
        let mut objects = Vec::new();
        let mut next = None;
        let mut remaining = 0;
        let mut last: Option<Key> = None;
        for (key, object) in self.objects {
            if after.is_some_and(|after| key <= *after) || !keep(&object) {
                continue;
            }
            if limit.is_some_and(|limit| objects.len() >= limit) {
                remaining += 1;
                if next.is_none() {
                    next = last.take();
                }
                continue;
            }
            objects.push(object);
            last = Some(key);
        }
        Page { revision: self.revision, objects, next, remaining }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, value: u64) -> Value {
        json!({"metadata": {"name": name, "uid": name}, "value": value})
    }

    fn names(snapshot: &Snapshot) -> Vec<(String, u64)> {
        snapshot.objects.iter().map(|(key, o)| (key.name.clone(), o["value"].as_u64().unwrap())).collect()
    }

    proptest::proptest! {
        /// Whatever the writes, a list at an earlier revision is what a list at that time was.
        #[test]
        fn every_revision_can_be_listed_again(writes in proptest::collection::vec((0..4u8, 0..3u8), 1..40)) {
            let (store, _changes) = Store::new(1000);
            let things: Arc<str> = Arc::from("things");
            let mut seen = vec![(store.revision(), Vec::new())];
            for (index, (name, write)) in writes.into_iter().enumerate() {
                let key = Key::new("", format!("n{name}"));
                let new = object(&key.name, index as u64);
                match (store.get("things", &key), write) {
                    (None, _) => { store.insert(&things, new).unwrap(); }
                    (Some(live), 0) => { store.remove(&things, &live, (*live).clone()).unwrap(); }
                    (Some(live), _) => { store.replace(&things, &live, new).unwrap(); }
                }
                seen.push((store.revision(), names(&store.snapshot("things", None, None).unwrap())));
            }
            for (revision, then) in seen {
                proptest::prop_assert_eq!(names(&store.snapshot("things", None, Some(revision)).unwrap()), then);
            }
        }
    }

    #[test]
    fn pages_cover_the_list_once() {
        let (store, _changes) = Store::new(10);
        let things: Arc<str> = Arc::from("things");
        for index in 0..5 {
            store.insert(&things, object(&format!("n{index}"), index)).unwrap();
        }
        let mut after = None;
        let mut sizes = Vec::new();
        loop {
            let page = store.snapshot("things", None, None).unwrap().page(after.as_ref(), Some(2), |_| true);
            sizes.push((page.objects.len(), page.remaining));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(sizes, [(2, 3), (2, 1), (1, 0)]);
    }

    #[test]
    fn compacted_and_future_revisions_are_refused() {
        let (store, _changes) = Store::new(2);
        let things: Arc<str> = Arc::from("things");
        for index in 0..5 {
            store.insert(&things, object(&format!("n{index}"), index)).unwrap();
        }
        let oldest = store.revision() - 2;
        assert!(store.snapshot("things", None, Some(oldest)).is_ok());
        assert_eq!(
            store.snapshot("things", None, Some(oldest - 1)).unwrap_err(),
            StoreError::Compacted { asked: oldest - 1, oldest }
        );
        assert!(matches!(store.snapshot("things", None, Some(1000)), Err(StoreError::Future { .. })));
    }
}
