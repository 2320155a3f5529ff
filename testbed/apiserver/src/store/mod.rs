//! The one ordered store behind every request.
//!
//! Objects live in collections, one per group-resource, and each write takes the next number of one global counter.
//! A collection keeps its last events, so that watches resume and so that a list as of an earlier revision can be
//! rolled back from the present one.

mod event;
mod history;
mod list;
mod subscription;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

pub use event::{Change, Event};
use history::History;
pub use list::Page;
pub use subscription::Subscription;

use crate::meta;

/// The collection that holds namespaces; the store knows it because creation in a namespace depends on it.
pub const NAMESPACES: &str = "namespaces";

/// An object as everybody shares it.
pub type Object = Arc<Value>;

/// Where an object stands within its collection. Cluster-scoped objects have an empty namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key that an object's own metadata spells.
    pub fn of(object: &Value) -> Self {
        Self::new(meta::namespace(object), meta::name(object))
    }
}

/// The place of an object in the whole store: its collection and its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The collection, as `resource.group`.
    pub collection: Arc<str>,
    /// The key within it.
    pub key: Key,
}

/// Why the store refused a write or a read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    /// An object with this key exists.
    #[error("the object exists already")]
    Exists,
    /// The object is not there, or no longer.
    #[error("the object does not exist")]
    Missing,
    /// Somebody else wrote between read and write.
    #[error("the object changed in between")]
    Raced,
    /// The namespace of the new object does not exist.
    #[error("the namespace does not exist")]
    NamespaceMissing,
    /// The namespace of the new object is being deleted.
    #[error("the namespace is being terminated")]
    NamespaceTerminating,
    /// The events since this revision are gone.
    #[error("revision {asked} is older than {oldest}, the oldest kept")]
    Compacted {
        /// What was asked for.
        asked: u64,
        /// The oldest revision that can be served.
        oldest: u64,
    },
    /// The revision lies in the future.
    #[error("revision {asked} is newer than {current}, the current one")]
    Future {
        /// What was asked for.
        asked: u64,
        /// The newest revision.
        current: u64,
    },
}

/// One group-resource: its objects, its latest events, and those who wait for more.
struct Collection {
    objects: BTreeMap<Key, Object>,
    history: History,
    wake: watch::Sender<u64>,
}

impl Collection {
    fn new() -> Self {
        Self { objects: BTreeMap::new(), history: History::new(), wake: watch::Sender::new(0) }
    }
}

struct State {
    revision: u64,
    collections: HashMap<Arc<str>, Collection>,
    /// From the uid of an owner to those that name it in `metadata.ownerReferences`.
    dependents: HashMap<String, BTreeSet<Address>>,
    /// Where an object of this uid lives.
    by_uid: HashMap<String, Address>,
}

/// The store. Every method takes the lock for a short time only and never waits for anything else.
pub struct Store {
    state: RwLock<State>,
    capacity: usize,
    changes: mpsc::UnboundedSender<Arc<Event>>,
}

impl Store {
    /// An empty store that keeps `capacity` events per collection, and the stream of all its events.
    pub fn new(capacity: usize) -> (Self, mpsc::UnboundedReceiver<Arc<Event>>) {
        let (changes, receiver) = mpsc::unbounded_channel();
        let state =
            State { revision: 1, collections: HashMap::new(), dependents: HashMap::new(), by_uid: HashMap::new() };
        (Self { state: RwLock::new(state), capacity: capacity.max(1), changes }, receiver)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.read().revision
    }

    /// The live object, if there is one.
    pub fn get(&self, collection: &str, key: &Key) -> Option<Object> {
        self.read().collections.get(collection)?.objects.get(key).cloned()
    }

    /// The object with this uid and its place, if it lives.
    pub fn by_uid(&self, uid: &str) -> Option<(Address, Object)> {
        let state = self.read();
        let address = state.by_uid.get(uid)?;
        let object = state.collections.get(&address.collection)?.objects.get(&address.key)?;
        Some((address.clone(), object.clone()))
    }

    /// The places of all objects that name this uid as an owner.
    pub fn dependents(&self, uid: &str) -> Vec<Address> {
        self.read().dependents.get(uid).map(|set| set.iter().cloned().collect()).unwrap_or_default()
    }

    /// Every live object of a namespace, whatever its collection.
    pub fn contents(&self, namespace: &str) -> Vec<Address> {
        let state = self.read();
        let from = Key::new(namespace, "");
        let mut found = Vec::new();
        for (name, collection) in &state.collections {
            let here = collection.objects.range(from.clone()..).take_while(|(key, _)| key.namespace == namespace);
            found.extend(here.map(|(key, _)| Address { collection: name.clone(), key: key.clone() }));
        }
        found.sort();
        found
    }

    /// Every live object of a collection, in key order.
    pub fn all(&self, collection: &str) -> Vec<Object> {
        self.read().collections.get(collection).map(|c| c.objects.values().cloned().collect()).unwrap_or_default()
    }

    /// Adds an object under the next revision.
    ///
    /// # Errors
    /// [`StoreError::Exists`], and for namespaced objects [`StoreError::NamespaceMissing`] or
    /// [`StoreError::NamespaceTerminating`].
    pub fn insert(&self, collection: &Arc<str>, mut object: Value) -> Result<Object, StoreError> {
        let key = Key::of(&object);
        let mut state = self.write();
        if !key.namespace.is_empty() {
            state.admits_namespace(&key.namespace)?;
        }
        if state.collections.get(collection).is_some_and(|found| found.objects.contains_key(&key)) {
            return Err(StoreError::Exists);
        }
        state.revision += 1;
        meta::set_resource_version(&mut object, state.revision);
        let object = Arc::new(object);
        state.index(collection, &key, &object);
        self.commit(&mut state, collection, key, Change::Added, object.clone(), None);
        Ok(object)
    }

    /// Puts `new` in the place of `live` under the next revision, if `live` is still what is stored.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Raced`].
    pub fn replace(&self, collection: &Arc<str>, live: &Object, mut new: Value) -> Result<Object, StoreError> {
        let key = Key::of(live);
        let mut state = self.write();
        state.holds(collection, &key, live)?;
        state.revision += 1;
        meta::set_resource_version(&mut new, state.revision);
        let new = Arc::new(new);
        state.forget(collection, &key, live);
        state.index(collection, &key, &new);
        self.commit(&mut state, collection, key, Change::Modified, new.clone(), Some(live.clone()));
        Ok(new)
    }

    /// Takes `live` away under the next revision, if it is still what is stored; `last` is the state that watchers see.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Raced`].
    pub fn remove(&self, collection: &Arc<str>, live: &Object, mut last: Value) -> Result<Object, StoreError> {
        let key = Key::of(live);
        let mut state = self.write();
        state.holds(collection, &key, live)?;
        state.revision += 1;
        meta::set_resource_version(&mut last, state.revision);
        let last = Arc::new(last);
        state.forget(collection, &key, live);
        self.commit(&mut state, collection, key, Change::Deleted, last.clone(), Some(live.clone()));
        Ok(last)
    }

    fn commit(
        &self,
        state: &mut State,
        collection: &Arc<str>,
        key: Key,
        change: Change,
        object: Object,
        previous: Option<Object>,
    ) {
        let revision = state.revision;
        let held = state.collections.entry(collection.clone()).or_insert_with(Collection::new);
        match change {
            Change::Deleted => held.objects.remove(&key),
            Change::Added | Change::Modified => held.objects.insert(key.clone(), object.clone()),
        };
        let address = Address { collection: collection.clone(), key };
        let event = Arc::new(Event { revision, address, change, object, previous });
        held.history.push(event.clone(), self.capacity);
        held.wake.send_replace(revision);
        // Nobody listens while the server shuts down.
        let _ = self.changes.send(event);
    }

    /// Drops all kept events, as a compaction of etcd does: every earlier revision is gone for watches and lists.
    pub fn compact(&self) {
        let mut state = self.write();
        let revision = state.revision;
        for collection in state.collections.values_mut() {
            collection.history.clear(revision);
        }
    }
}

impl State {
    fn admits_namespace(&self, namespace: &str) -> Result<(), StoreError> {
        let found = self.collections.get(NAMESPACES).and_then(|c| c.objects.get(&Key::new("", namespace)));
        match found {
            None => Err(StoreError::NamespaceMissing),
            Some(object) if meta::is_deleting(object) => Err(StoreError::NamespaceTerminating),
            Some(_) => Ok(()),
        }
    }

    fn holds(&self, collection: &str, key: &Key, live: &Object) -> Result<(), StoreError> {
        match self.collections.get(collection).and_then(|c| c.objects.get(key)) {
            None => Err(StoreError::Missing),
            Some(found) if !Arc::ptr_eq(found, live) => Err(StoreError::Raced),
            Some(_) => Ok(()),
        }
    }

    fn index(&mut self, collection: &Arc<str>, key: &Key, object: &Value) {
        let address = Address { collection: collection.clone(), key: key.clone() };
        for owner in meta::owner_uids(object) {
            self.dependents.entry(owner.to_owned()).or_default().insert(address.clone());
        }
        self.by_uid.insert(meta::uid(object).to_owned(), address);
    }

    fn forget(&mut self, collection: &Arc<str>, key: &Key, object: &Value) {
        let address = Address { collection: collection.clone(), key: key.clone() };
        for owner in meta::owner_uids(object) {
            if let Some(set) = self.dependents.get_mut(owner) {
                set.remove(&address);
                if set.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
        self.by_uid.remove(meta::uid(object));
    }
}

/// A namespace as it stands after its creation, for the ones that exist from the start.
pub fn namespace_object(name: &str, uid: &str, now: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": now,
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}
