use std::{collections::BTreeSet, sync::Arc};

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

use crate::snapshot::{Kind, Object, ObjectKey, Snapshot};

/// One message of a watch.
pub(super) enum Change {
    /// Everything there is of a kind, after a list.
    All(Kind, Vec<DynamicObject>),
    /// An object is there, or another than before.
    Applied(Kind, Box<DynamicObject>),
    /// An object is gone.
    Gone(Kind, ObjectKey),
    /// The server does not have what came after the last change any more: until the next list, what is known is old.
    Lost(Kind),
    /// As what ClusterTrustBundles are served now; nothing if they are not.
    TrustBundles(Option<ApiResource>),
}

impl Change {
    /// What it is about.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::All(kind, _) | Self::Applied(kind, _) | Self::Gone(kind, _) | Self::Lost(kind) => *kind,
            Self::TrustBundles(_) => Kind::ClusterTrustBundle,
        }
    }
}

/// What is known of the cluster.
#[derive(Default)]
pub(super) struct Store {
    snapshot: Snapshot,
    synced: BTreeSet<Kind>,
}

impl Store {
    /// Takes a change in. An object that does not read as its kind counts as absent.
    pub(super) fn absorb(&mut self, change: Change) {
        match change {
            Change::All(kind, objects) => {
                self.snapshot.retain(kind, |_| false);
                for object in objects {
                    self.apply(kind, object);
                }
                self.synced.insert(kind);
            }
            Change::Applied(kind, object) => self.apply(kind, *object),
            Change::Gone(kind, key) => {
                self.snapshot.remove(kind, &key);
            }
            Change::Lost(kind) => {
                self.synced.remove(&kind);
            }
            Change::TrustBundles(served) => self.snapshot.lacks_trust_bundles = served.is_none(),
        }
    }

    fn apply(&mut self, kind: Kind, object: DynamicObject) {
        let key = key(&object);
        let raw = serde_json::to_value(object).unwrap_or(Value::Null);
        match Object::read(kind, raw) {
            Ok(object) => self.snapshot.insert(kind, Arc::new(object)),
            Err(error) => {
                tracing::warn!(%error, "an object cannot be read");
                self.snapshot.remove(kind, &key);
            }
        }
    }

    /// Drops everything of a kind that is no longer watched.
    pub(super) fn forget(&mut self, kind: Kind) {
        self.snapshot.retain(kind, |_| false);
        self.synced.remove(&kind);
    }

    /// Whether a kind was listed completely, and nothing was lost since.
    pub(super) fn is_synced(&self, kind: Kind) -> bool {
        self.synced.contains(&kind)
    }

    /// What is known, for reading.
    pub(super) fn known(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What is known, to keep; objects are shared.
    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }
}

/// Namespace and name of an object.
pub(super) fn key(object: &DynamicObject) -> ObjectKey {
    let metadata = &object.metadata;
    ObjectKey::new(metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}
