//! The latest version of every watched object, and a way to wait for it to become something.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::log::{Change, ObjectKey};

/// Live objects by key.
pub type Live = HashMap<ObjectKey, Arc<Value>>;

/// What the observer knows now.
pub struct View {
    live: Mutex<Live>,
    changed: watch::Sender<u64>,
}

impl Default for View {
    fn default() -> View {
        View { live: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl View {
    /// Takes a version in. Returns how it differs from what was known, or `None` if it was known already: two watches
    /// may deliver the same object, and a relist delivers all of them again.
    pub fn take(&self, key: &ObjectKey, object: &Arc<Value>) -> Option<Change> {
        let mut live = self.lock();
        let before = live.insert(key.clone(), Arc::clone(object));
        drop(live);
        let change = match before {
            None => Change::Added,
            Some(before) if version(&before) == version(object) => return None,
            Some(_) => Change::Modified,
        };
        self.changed.send_modify(|count| *count += 1);
        Some(change)
    }

    /// Notes that an object is gone; returns its last known version, or `None` if it was gone already.
    pub fn remove(&self, key: &ObjectKey) -> Option<Arc<Value>> {
        let last = self.lock().remove(key)?;
        self.changed.send_modify(|count| *count += 1);
        Some(last)
    }

    /// The latest version of one object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Value>> {
        self.lock().get(key).cloned()
    }

    /// Keys of the live objects for which `test` holds.
    pub fn keys(&self, test: impl Fn(&ObjectKey, &Value) -> bool) -> Vec<ObjectKey> {
        self.lock().iter().filter(|(key, object)| test(key, object)).map(|(key, _)| key.clone()).collect()
    }

    /// Waits until `test` holds for the live objects. Waits for ever if it never does: put a deadline around it.
    pub async fn until(&self, test: impl Fn(&Live) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if test(&self.lock()) {
                return;
            }
            // The sender lives as long as this view.
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/resourceVersion")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_version_is_news_once() {
        let view = View::default();
        let key = ObjectKey { group: String::new(), kind: "Service".to_owned(), namespace: None, name: "a".to_owned() };
        let object = |version: &str| Arc::new(json!({"metadata": {"resourceVersion": version}}));
        assert_eq!(view.take(&key, &object("1")), Some(Change::Added));
        assert_eq!(view.take(&key, &object("1")), None);
        assert_eq!(view.take(&key, &object("2")), Some(Change::Modified));
        assert_eq!(view.remove(&key), Some(object("2")));
        assert_eq!(view.remove(&key), None);
    }
}
