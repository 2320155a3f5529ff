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
    /// Takes a version in. `log` is told how it differs from what was known, unless it was known already: two watches
    /// may deliver the same object, and a relist delivers all of them again. Nobody sees the version here before `log`
    /// has returned, so whoever acts on what is seen writes behind it in the log.
    pub fn take(&self, key: &ObjectKey, object: &Arc<Value>, log: impl FnOnce(Change)) {
        let mut live = self.lock();
        let change = match live.insert(key.clone(), Arc::clone(object)) {
            None => Change::Added,
            Some(before) if version(&before) == version(object) => return,
            Some(_) => Change::Modified,
        };
        log(change);
        drop(live);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Notes that an object is gone; `log` gets its last known version, unless it was gone already. As with
    /// [`View::take`], nobody sees it gone before `log` has returned.
    pub fn remove(&self, key: &ObjectKey, log: impl FnOnce(Arc<Value>)) {
        let mut live = self.lock();
        let Some(last) = live.remove(key) else { return };
        log(last);
        drop(live);
        self.changed.send_modify(|count| *count += 1);
    }

    /// The latest version of one object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Value>> {
        self.lock().get(key).cloned()
    }

    /// Keys of the live objects for which `test` holds.
    pub fn keys(&self, test: impl Fn(&ObjectKey, &Value) -> bool) -> Vec<ObjectKey> {
        self.lock().iter().filter(|(key, object)| test(key, object)).map(|(key, _)| key.clone()).collect()
    }

    /// Looks at all live objects at one moment.
    pub fn look(&self, see: impl FnOnce(&Live)) {
        see(&self.lock());
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
        let take = |version: &str| {
            let mut news = None;
            view.take(&key, &object(version), |change| news = Some(change));
            news
        };
        let remove = || {
            let mut last = None;
            view.remove(&key, |object| last = Some(object));
            last
        };
        assert_eq!(take("1"), Some(Change::Added));
        assert_eq!(take("1"), None);
        assert_eq!(take("2"), Some(Change::Modified));
        assert_eq!(remove(), Some(object("2")));
        assert_eq!(remove(), None);
    }

    #[test]
    fn nothing_is_seen_before_it_is_logged() {
        let view = View::default();
        let key = ObjectKey { group: String::new(), kind: "Service".to_owned(), namespace: None, name: "a".to_owned() };
        let unseen = |view: &View| view.live.try_lock().is_err();
        view.take(&key, &Arc::new(json!({})), |_| assert!(unseen(&view), "seen before it is logged"));
        assert!(view.get(&key).is_some());
        view.remove(&key, |_| assert!(unseen(&view), "seen gone before it is logged"));
        assert!(view.get(&key).is_none());
    }
}
