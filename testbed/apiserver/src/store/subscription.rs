//! A place in a collection's event log that moves on as events come.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Collection, Event, Object, Store, StoreError};

/// A reader of one collection's events, from some revision on.
pub struct Subscription {
    store: Arc<Store>,
    collection: Arc<str>,
    delivered: u64,
    wake: watch::Receiver<u64>,
}

impl Subscription {
    /// Follows a collection from after revision `since`.
    ///
    /// # Errors
    /// [`StoreError::Compacted`] if events after `since` are gone already.
    pub fn since(store: &Arc<Store>, collection: &Arc<str>, since: u64) -> Result<Self, StoreError> {
        let mut state = store.write();
        let held = state.collections.entry(collection.clone()).or_insert_with(Collection::new);
        if since < held.history.floor() {
            return Err(StoreError::Compacted { asked: since, oldest: held.history.floor() });
        }
        let wake = held.wake.subscribe();
        drop(state);
        Ok(Self { store: store.clone(), collection: collection.clone(), delivered: since, wake })
    }

    /// The present objects of a collection, the revision that they show, and what comes after them.
    pub fn from_now(store: &Arc<Store>, collection: &Arc<str>) -> (Vec<Object>, Self) {
        let mut state = store.write();
        let delivered = state.revision;
        let held = state.collections.entry(collection.clone()).or_insert_with(Collection::new);
        let objects = held.objects.values().cloned().collect();
        let wake = held.wake.subscribe();
        drop(state);
        (objects, Self { store: store.clone(), collection: collection.clone(), delivered, wake })
    }

    /// The revision up to which everything was delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The events since the last call, perhaps none; after it [`Subscription::delivered`] is the store's revision.
    ///
    /// # Errors
    /// [`StoreError::Compacted`] if the reader was so slow that events were dropped before it came.
    pub fn take(&mut self) -> Result<Vec<Arc<Event>>, StoreError> {
        self.wake.mark_unchanged();
        let state = self.store.read();
        let Some(held) = state.collections.get(&self.collection) else { return Ok(Vec::new()) };
        if self.delivered < held.history.floor() {
            return Err(StoreError::Compacted { asked: self.delivered, oldest: held.history.floor() });
        }
        let events = held.history.since(self.delivered).collect();
        // A reader that starts at a future revision waits until the store gets there.
        self.delivered = self.delivered.max(state.revision);
        Ok(events)
    }

    /// Waits until there may be something to take.
    pub async fn changed(&mut self) {
        if self.wake.changed().await.is_err() {
            // The sender lives in the store, which this subscription keeps alive.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn events_come_once_and_in_order() {
        let (store, _changes) = Store::new(10);
        let store = Arc::new(store);
        let things: Arc<str> = Arc::from("things");
        store.insert(&things, json!({"metadata": {"name": "a", "uid": "1"}})).unwrap();
        let (objects, mut subscription) = Subscription::from_now(&store, &things);
        assert_eq!(objects.len(), 1);
        assert!(subscription.take().unwrap().is_empty());
        store.insert(&things, json!({"metadata": {"name": "b", "uid": "2"}})).unwrap();
        subscription.changed().await;
        let events = subscription.take().unwrap();
        assert_eq!(events.iter().map(|event| event.revision).collect::<Vec<_>>(), [3]);
        assert!(subscription.take().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_is_told() {
        let (store, _changes) = Store::new(2);
        let store = Arc::new(store);
        let things: Arc<str> = Arc::from("things");
        let (_, mut subscription) = Subscription::from_now(&store, &things);
        for name in ["a", "b", "c"] {
            store.insert(&things, json!({"metadata": {"name": name, "uid": name}})).unwrap();
        }
        assert!(matches!(subscription.take(), Err(StoreError::Compacted { .. })));
        assert!(Subscription::since(&store, &things, 1).is_err());
    }
}
