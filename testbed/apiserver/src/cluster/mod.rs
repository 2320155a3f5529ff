//! What a cluster does with requests once HTTP is out of the way: admission, metadata rules, deletion, housekeeping.

mod commit;
mod companions;
mod create;
mod definitions;
mod delete;
mod ending;
mod housekeeping;
mod intake;
mod patch;
mod policies;
mod read;
mod update;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

pub use delete::{DeleteOptions, Deleted, Propagation};
pub use housekeeping::Housekeeper;
pub use intake::Draft;
pub use patch::PatchKind;
pub use read::{Continue, ListOptions, view};

use crate::error::ApiError;
use crate::kinds::network::Allocator;
use crate::kinds::validation::Addresses;
use crate::kinds::{self, Registry, crd};
use crate::meta;
use crate::resource::Resource;
use crate::store::{Event, Key, NAMESPACES, Object, Store, namespace_object};

/// The state of the server and the rules that hold for it.
pub struct Cluster {
    /// The objects.
    pub store: Arc<Store>,
    registry: RwLock<Arc<Registry>>,
    /// What of Kubernetes is not served.
    without: Vec<String>,
    /// Told whenever the kinds served change.
    reloaded: watch::Sender<()>,
    allocator: Mutex<Allocator>,
    addresses: Addresses,
}

/// How strictly unknown and duplicate fields are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped without a word.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// They refuse the request.
    Strict,
}

/// What a write is asked to do beside writing.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Do everything but keep the result.
    pub dry_run: bool,
    /// Who owns the fields written.
    pub manager: String,
    /// How unknown fields are taken.
    pub validation: FieldValidation,
    /// Who asks, as `authentication.k8s.io/v1` `UserInfo`; nothing if it is the server itself.
    pub user: Value,
    /// Take fields from other managers; server-side apply only.
    pub force: bool,
}

/// Which object a write is about.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The kind, in the version asked for.
    pub resource: &'a Arc<Resource>,
    /// The namespace, empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The name; empty at creation.
    pub name: &'a str,
    /// `status`, or empty.
    pub subresource: &'a str,
}

impl Target<'_> {
    fn key(&self) -> Key {
        Key::new(self.namespace, self.name)
    }

    fn on_status(&self) -> bool {
        self.subresource == "status"
    }
}

/// What a write came to.
#[derive(Debug)]
pub struct Written {
    /// The object in its stored form.
    pub object: Object,
    /// Whether it is new.
    pub created: bool,
    /// What to tell the client beside.
    pub warnings: Vec<String>,
}

impl Cluster {
    /// A cluster with the namespaces that every cluster has, and the given CustomResourceDefinitions served. Admission policies among
    /// them hold of what comes later. What of Kubernetes it is without is among [`kinds::OPTIONAL`].
    ///
    /// # Errors
    /// The refusal of a definition that does not stand.
    pub fn new(
        definitions: Vec<Value>,
        without: Vec<String>,
        event_capacity: usize,
        addresses: Addresses,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Arc<Event>>), ApiError> {
        let (store, changes) = Store::new(event_capacity);
        let now = meta::now();
        let cluster = Self {
            store: Arc::new(store),
            registry: RwLock::new(Arc::new(Registry::without(&without, []))),
            without,
            reloaded: watch::Sender::new(()),
            allocator: Mutex::default(),
            addresses,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let object = namespace_object(name, &Uuid::new_v4().to_string(), &now);
            let inserted = cluster.store.insert(&Arc::from(NAMESPACES), object);
            inserted.map_err(|error| ApiError::internal(error.to_string()))?;
        }
        for object in definitions {
            match kinds::policies::is_one(&object) {
                true => cluster.install_policy(object, &now)?,
                false => cluster.install(object, &now)?,
            }
        }
        cluster.reload();
        Ok((cluster, changes))
    }

    /// The kinds served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the kinds anew from the stored definitions.
    fn reload(&self) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        let definitions = self.store.all(crd::COLLECTION);
        *registry = Arc::new(Registry::without(&self.without, definitions.iter().map(|definition| &**definition)));
        drop(registry);
        self.reloaded.send_replace(());
    }

    /// Wakes whenever the kinds served change.
    pub fn reloads(&self) -> watch::Receiver<()> {
        self.reloaded.subscribe()
    }

    fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
