//! What a change of a CustomResourceDefinition brings about.

use std::sync::Arc;

use serde_json::{Value, json};
use uuid::Uuid;

use super::Cluster;
use crate::error::{ApiError, StatusCause};
use crate::kinds::{self, crd, naming};
use crate::meta;
use crate::patch::{Writer, track_creation};
use crate::store::{Key, Object, StoreError};

impl Cluster {
    /// Stores a definition that is there from the start. Its schemas are compiled when they are first needed, so that
    /// a server starts in no time.
    pub(super) fn install(&self, mut definition: Value, now: &str) -> Result<(), ApiError> {
        let api_version = meta::api_version(&definition);
        if api_version != "apiextensions.k8s.io/v1" || meta::kind(&definition) != "CustomResourceDefinition" {
            let what = format!("{api_version} {}", meta::kind(&definition));
            return Err(ApiError::bad_request(format!("not a CustomResourceDefinition of v1: {what}")));
        }
        crd::default(&mut definition);
        let name = meta::name(&definition).to_owned();
        if name != crd::objects_of(&definition) {
            let cause =
                StatusCause::invalid("metadata.name", &json!(name), "must be spec.names.plural+\".\"+spec.group");
            return Err(ApiError::invalid("apiextensions.k8s.io", "CustomResourceDefinition", &name, vec![cause]));
        }
        if let Value::Object(map) = &mut definition {
            map.shift_remove("status");
        }
        self.own(&mut definition, now);
        let metadata = meta::entry(&mut definition);
        metadata.insert("uid".into(), Uuid::new_v4().to_string().into());
        metadata.insert("creationTimestamp".into(), now.into());
        metadata.insert("generation".into(), 1.into());
        meta::set_finalizers(&mut definition, vec![crd::CLEANUP.to_owned()]);
        naming::establish(&mut definition, [], now);
        self.store.insert(&Arc::from(crd::COLLECTION), definition).map(drop).map_err(|error| match error {
            StoreError::Exists => ApiError::bad_request(format!("customresourcedefinition {name:?} is given twice")),
            other => ApiError::internal(other.to_string()),
        })
    }

    /// Makes what is there from the start belong to whoever put it there, as with `kubectl create`: of what belongs to nobody no change is
    /// noted.
    pub(super) fn own(&self, object: &mut Value, now: &str) {
        let registry = self.registry();
        if let Some(resource) = registry.by_kind(meta::api_version(object), meta::kind(object)) {
            let api_version = resource.api_version();
            let writer = Writer { manager: "kubectl-create", api_version: &api_version, subresource: "", now };
            track_creation(kinds::zero(resource).as_ref(), object, &resource.schema.get(), writer);
        }
    }

    /// Brings a definition's status up to date after a write to it, and serves what it says.
    pub(super) fn definition_written(&self, written: &Object) {
        let collection = Arc::from(crd::COLLECTION);
        let mut live = Some(written.clone());
        while let Some(definition) = live {
            let mut new = (*definition).clone();
            if meta::is_deleting(&new) {
                break;
            }
            let mut finalizers: Vec<String> = meta::finalizers(&new).into_iter().map(str::to_owned).collect();
            if !finalizers.iter().any(|finalizer| finalizer == crd::CLEANUP) {
                finalizers.push(crd::CLEANUP.to_owned());
                meta::set_finalizers(&mut new, finalizers);
            }
            let others = self.store.all(crd::COLLECTION);
            naming::establish(&mut new, others.iter().map(|other| &**other), &meta::now());
            if new == *definition || self.store.replace(&collection, &definition, new).is_ok() {
                break;
            }
            live = self.store.get(crd::COLLECTION, &Key::of(&definition));
        }
        self.reload();
    }

    /// Stops to serve what a definition that is gone defined, and looks whether another one waited for its names.
    pub(super) fn definition_removed(&self) {
        self.reload();
        for other in self.store.all(crd::COLLECTION).iter().filter(|other| naming::is_in_conflict(other)) {
            self.definition_written(other);
        }
    }
}
