//! What controllers of a real cluster put into every namespace: the ServiceAccount `default` and the ConfigMap
//! `kube-root-ca.crt`.

use serde_json::{Value, json};

use super::{Cluster, Target, WriteOptions};
use crate::meta;
use crate::store::{Change, Event, Key, NAMESPACES};

/// The collections and names of what each namespace has.
const COMPANIONS: [(&str, &str); 2] = [("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")];

impl Cluster {
    /// Gives all namespaces that there are what each of them has.
    pub(super) fn accompany_all(&self, ca_pem: &str) {
        for namespace in self.store.all(NAMESPACES) {
            self.accompany(meta::name(&namespace), ca_pem);
        }
    }

    /// Does so for a new namespace, and for one that has lost something.
    pub(super) fn keep_company(&self, event: &Event, ca_pem: &str) {
        let (collection, key) = (&*event.address.collection, &event.address.key);
        match event.change {
            Change::Added if collection == NAMESPACES => self.accompany(&key.name, ca_pem),
            Change::Deleted if COMPANIONS.contains(&(collection, &*key.name)) => self.accompany(&key.namespace, ca_pem),
            _ => {}
        }
    }

    fn accompany(&self, namespace: &str, ca_pem: &str) {
        let live = self.store.get(NAMESPACES, &Key::new("", namespace));
        if live.is_none_or(|live| meta::is_deleting(&live)) {
            return;
        }
        let options = WriteOptions { manager: "kube-controller-manager".to_owned(), ..WriteOptions::default() };
        for (collection, name) in COMPANIONS {
            let Some(resource) = self.registry().stored(collection).cloned() else { continue };
            let target = Target { resource: &resource, namespace, name: "", subresource: "" };
            if self.store.get(collection, &Key::new(namespace, name)).is_some() {
                continue;
            }
            if let Err(error) = self.create(target, companion(collection, name, ca_pem).into(), &options) {
                // Somebody was quicker, or the namespace goes.
                tracing::debug!(%error, namespace, name, "a namespace goes without");
            }
        }
    }
}

fn companion(collection: &str, name: &str, ca_pem: &str) -> Value {
    match collection {
        "configmaps" => json!({"metadata": {"name": name}, "data": {"ca.crt": ca_pem}}),
        _ => json!({"metadata": {"name": name}}),
    }
}
