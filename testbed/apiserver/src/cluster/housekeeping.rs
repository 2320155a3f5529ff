//! What controllers of a real cluster do after a write: owner references, namespaces, definitions.
//!
//! One task reads every event of the store in order and draws the consequences, which are further writes.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::delete::{FOREGROUND, ORPHAN, holds_others};
use super::update::may_go;
use super::{Cluster, DeleteOptions, Propagation, Target};
use crate::kinds::crd;
use crate::meta;
use crate::resource::Resource;
use crate::store::{Address, Change, Event, Key, NAMESPACES, Object};

/// The task's state: the cluster and the events that it has not looked at.
pub struct Housekeeper {
    cluster: Arc<Cluster>,
    changes: mpsc::UnboundedReceiver<Arc<Event>>,
    /// The authority's certificate for `kube-root-ca.crt`, where namespaces get it and a ServiceAccount.
    companions: Option<String>,
}

impl Housekeeper {
    /// Over a cluster and the stream of its store's events. With `companions`, a certificate, every namespace gets a
    /// ServiceAccount and a ConfigMap with it.
    pub fn new(
        cluster: Arc<Cluster>,
        changes: mpsc::UnboundedReceiver<Arc<Event>>,
        companions: Option<String>,
    ) -> Self {
        if let Some(ca_pem) = &companions {
            cluster.accompany_all(ca_pem);
        }
        Self { cluster, changes, companions }
    }

    /// Works until the store is gone or the task is dropped.
    pub async fn run(mut self) {
        while let Some(event) = self.changes.recv().await {
            self.cluster.consequences(&event);
            if let Some(ca_pem) = &self.companions {
                self.cluster.keep_company(&event, ca_pem);
            }
        }
    }
}

impl Cluster {
    fn consequences(&self, event: &Event) {
        let object = &event.object;
        let collection = &*event.address.collection;
        match event.change {
            Change::Deleted => {
                for dependent in self.store.dependents(meta::uid(object)) {
                    self.collect(&dependent);
                }
                for owner in meta::owner_uids(object) {
                    self.finish_foreground(owner);
                }
                self.finish_holders(&event.address);
            }
            Change::Added | Change::Modified => {
                if meta::is_deleting(object) {
                    self.continue_deletion(&event.address, object);
                }
                let before = event.previous.as_ref().map(|previous| meta::owners(previous)).unwrap_or_default();
                if meta::owners(object) != before {
                    self.collect(&event.address);
                    for owner in before.iter().filter_map(|owner| owner["uid"].as_str()) {
                        self.finish_foreground(owner);
                    }
                }
                if holds_others(collection) && meta::is_deleting(object) {
                    self.empty(collection, object);
                }
            }
        }
    }

    fn stored_resource(&self, collection: &str) -> Option<Arc<Resource>> {
        self.registry().stored(collection).cloned()
    }

    fn delete_at(&self, address: &Address, uid: &str, propagation: Option<Propagation>) {
        let Some(resource) = self.stored_resource(&address.collection) else { return };
        let Key { namespace, name } = &address.key;
        let target = Target { resource: &resource, namespace, name, subresource: "" };
        let options = DeleteOptions { propagation, uid: Some(uid.to_owned()), ..DeleteOptions::default() };
        if let Err(error) = self.delete(target, &options) {
            // Somebody else was quicker, and their write has its own consequences.
            tracing::debug!(%error, collection = %address.collection, name, "nothing left to delete");
        }
    }

    /// Changes a live object until nobody interferes; `change` answers whether there is anything to write.
    pub(super) fn amend(&self, address: &Address, change: impl Fn(&mut Value) -> bool) {
        let Some(resource) = self.stored_resource(&address.collection) else { return };
        let Key { namespace, name } = &address.key;
        let target = Target { resource: &resource, namespace, name, subresource: "" };
        while let Some(live) = self.store.get(&address.collection, &address.key) {
            let mut new = (*live).clone();
            if !change(&mut new) || self.keep(target, &live, new, false).is_ok() {
                return;
            }
        }
    }

    /// Deletes an object all of whose owners are gone, and takes owners that are gone off one that has others.
    fn collect(&self, address: &Address) {
        let Some(object) = self.store.get(&address.collection, &address.key) else { return };
        let (alive, gone): (Vec<&Value>, Vec<&Value>) =
            meta::owners(&object).iter().partition(|owner| self.owner_of(&object, owner).is_some());
        let waiting = |owner: &&&Value| self.owner_of(&object, owner).is_some_and(|owner| waits_for_dependents(&owner));
        let going = alive.iter().filter(waiting).count();
        if alive.is_empty() && !gone.is_empty() {
            self.delete_at(address, meta::uid(&object), own_policy(&object).or(Some(Propagation::Background)));
        } else if going > 0 && going == alive.len() {
            let policy = if self.store.dependents(meta::uid(&object)).is_empty() {
                Propagation::Background
            } else {
                Propagation::Foreground
            };
            self.delete_at(address, meta::uid(&object), own_policy(&object).or(Some(policy)));
        } else if !gone.is_empty() || going > 0 {
            let dropped: Vec<Value> =
                gone.into_iter().chain(alive.into_iter().filter(|o| waiting(&o))).cloned().collect();
            self.amend(address, |object| drop_owners(object, |owner| dropped.iter().any(|d| d["uid"] == owner["uid"])));
        }
    }

    /// The live object behind an owner reference: same uid, and in a place from which it may own.
    fn owner_of(&self, dependent: &Value, owner: &Value) -> Option<Object> {
        let (address, object) = self.store.by_uid(owner["uid"].as_str()?)?;
        let reachable = address.key.namespace.is_empty() || address.key.namespace == meta::namespace(dependent);
        (reachable && address.key.name == owner["name"].as_str().unwrap_or("")).then_some(object)
    }

    fn continue_deletion(&self, address: &Address, object: &Object) {
        let finalizers = meta::finalizers(object);
        if finalizers.contains(&ORPHAN) {
            for dependent in self.store.dependents(meta::uid(object)) {
                self.amend(&dependent, |d| drop_owners(d, |owner| owner["uid"] == meta::uid(object)));
            }
            self.amend(address, |object| drop_finalizer(object, ORPHAN));
        } else if finalizers.contains(&FOREGROUND) {
            for dependent in self.store.dependents(meta::uid(object)) {
                self.collect(&dependent);
            }
            self.finish_foreground(meta::uid(object));
        }
    }

    /// Lets an owner go that waited for its dependents, if none is left that blocks it.
    fn finish_foreground(&self, uid: &str) {
        let Some((address, owner)) = self.store.by_uid(uid) else { return };
        if !waits_for_dependents(&owner) {
            return;
        }
        let blocks = |dependent: &Address| {
            let dependent = self.store.get(&dependent.collection, &dependent.key);
            dependent.is_some_and(|object| {
                meta::owners(&object).iter().any(|o| o["uid"] == uid && o["blockOwnerDeletion"] == true)
            })
        };
        if !self.store.dependents(uid).iter().any(blocks) {
            self.amend(&address, |object| drop_finalizer(object, FOREGROUND));
        }
    }

    /// Deletes what a namespace or a definition holds, and lets it go once that is nothing.
    fn empty(&self, collection: &str, holder: &Value) {
        let contents = self.contents_of(collection, holder);
        for address in &contents {
            if let Some(object) = self.store.get(&address.collection, &address.key) {
                let policy = own_policy(&object).or(Some(Propagation::Background));
                self.delete_at(address, meta::uid(&object), policy);
            }
        }
        self.release(collection, holder);
    }

    fn contents_of(&self, collection: &str, holder: &Value) -> Vec<Address> {
        if collection == NAMESPACES {
            return self.store.contents(meta::name(holder));
        }
        let held: Arc<str> = Arc::from(crd::objects_of(holder));
        let objects = self.store.all(&held);
        objects.iter().map(|object| Address { collection: held.clone(), key: Key::of(object) }).collect()
    }

    fn release(&self, collection: &str, holder: &Value) {
        let address = Address { collection: Arc::from(collection), key: Key::of(holder) };
        let contents = self.contents_of(collection, holder);
        if !contents.is_empty() {
            if collection == NAMESPACES {
                self.tell_what_remains(&address, &contents);
            }
            return;
        }
        self.amend(&address, |object| match collection {
            _ if !meta::is_deleting(object) || may_go(object) => false,
            NAMESPACES => {
                let spec = meta::child(object, "spec");
                spec.shift_remove("finalizers").is_some_and(|list| list.as_array().is_some_and(|l| !l.is_empty()))
            }
            _ => drop_finalizer(object, crd::CLEANUP),
        });
    }

    /// Looks whether the object that went was the last that a namespace or a definition waited for.
    fn finish_holders(&self, gone: &Address) {
        let holders = [(NAMESPACES, &*gone.key.namespace), (crd::COLLECTION, &*gone.collection)];
        for (collection, name) in holders {
            if let Some(holder) = self.store.get(collection, &Key::new("", name))
                && meta::is_deleting(&holder)
            {
                self.release(collection, &holder);
            }
        }
    }
}

fn waits_for_dependents(object: &Value) -> bool {
    meta::is_deleting(object) && meta::finalizers(object).contains(&FOREGROUND)
}

/// The policy that an object's own finalizers stand for.
fn own_policy(object: &Value) -> Option<Propagation> {
    let finalizers = meta::finalizers(object);
    if finalizers.contains(&ORPHAN) {
        Some(Propagation::Orphan)
    } else {
        finalizers.contains(&FOREGROUND).then_some(Propagation::Foreground)
    }
}

fn drop_finalizer(object: &mut Value, name: &str) -> bool {
    let before = meta::finalizers(object);
    if !before.contains(&name) {
        return false;
    }
    let left = before.into_iter().filter(|finalizer| *finalizer != name).map(str::to_owned).collect();
    meta::set_finalizers(object, left);
    true
}

fn drop_owners(object: &mut Value, unwanted: impl Fn(&Value) -> bool) -> bool {
    let metadata = meta::entry(object);
    let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") else { return false };
    let before = owners.len();
    owners.retain(|owner| !unwanted(owner));
    let changed = owners.len() != before;
    if owners.is_empty() {
        metadata.shift_remove("ownerReferences");
    }
    changed
}
