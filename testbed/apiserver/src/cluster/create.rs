//! Creation.

use rand::Rng;
use serde_json::Value;
use uuid::Uuid;

use super::intake::{initialise, is_definition, stored_form};
use super::policies::{Asked, CREATE};
use super::{Cluster, Draft, Target, WriteOptions, Written};
use crate::error::{ApiError, StatusCause};
use crate::kinds::{self, crd};
use crate::meta;
use crate::patch::{Writer, track_creation};
use crate::store::{Key, NAMESPACES, StoreError};

/// How many generated names are tried before the client is told that all were taken.
const NAME_TRIES: usize = 8;
/// The longest prefix to which the five random characters of a generated name are put.
const LONGEST_PREFIX: usize = 63 - 5;

/// Whether the caller has seen to `metadata.managedFields` already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Managed {
    Already,
    NotYet,
}

impl Cluster {
    /// Creates an object.
    ///
    /// # Errors
    /// What a Kubernetes API server answers: malformed, invalid, existing, or in a namespace that cannot take it.
    pub fn create(&self, target: Target<'_>, draft: Draft, options: &WriteOptions) -> Result<Written, ApiError> {
        self.create_managed(target, draft, options, Managed::NotYet)
    }

    pub(super) fn create_managed(
        &self,
        target: Target<'_>,
        mut draft: Draft,
        options: &WriteOptions,
        managed: Managed,
    ) -> Result<Written, ApiError> {
        let resource = target.resource;
        self.address(target, &mut draft.object)?;
        if managed == Managed::NotYet {
            self.decodable(resource, &draft)?;
        }
        if !meta::resource_version(&draft.object).is_empty() {
            // Kubernetes does not count this as the client's fault.
            return Err(ApiError::failed("resourceVersion should not be set on objects to be created"));
        }
        self.admits_creation(target, meta::name(&draft.object))?;
        if resource.status_subresource && !resource.behaviour.status_on_create {
            // The status is checked for unknown fields with the rest before it goes.
            let warnings = self.shape(resource, &mut draft, options)?;
            meta::as_map(&mut draft.object).shift_remove("status");
            return self.create_shaped(target, draft.object, warnings, options, managed);
        }
        let warnings = self.shape(resource, &mut draft, options)?;
        self.create_shaped(target, draft.object, warnings, options, managed)
    }

    fn create_shaped(
        &self,
        target: Target<'_>,
        mut object: Value,
        mut warnings: Vec<String>,
        options: &WriteOptions,
        managed: Managed,
    ) -> Result<Written, ApiError> {
        let resource = target.resource;
        self.fill(resource, &mut object);
        // What the server decides by itself is nobody's, and so is a status that is there by default.
        let mut asked = object.clone();
        if resource.status_subresource && !resource.behaviour.status_on_create {
            meta::as_map(&mut asked).shift_remove("status");
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            meta::entry(&mut asked).shift_remove(field);
        }
        let asked = asked;
        let zero = kinds::zero(resource);
        initialise(resource, &mut object);
        self.own_metadata(target, &mut object);
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or("").to_owned();
        let generated = meta::name(&object).is_empty() && !prefix.is_empty();
        if meta::name(&object).is_empty() && !generated {
            let cause = StatusCause::required("metadata.name", "name or generateName is required");
            return Err(ApiError::invalid(&resource.group, &resource.kind, "", vec![cause]));
        }
        warnings.extend(self.oddities(resource, &object));
        for attempt in 1.. {
            let mut object = object.clone();
            if generated {
                meta::entry(&mut object).insert("name".into(), generated_name(&prefix).into());
                self.fill(resource, &mut object);
            }
            self.normalise(resource, &mut object, None)?;
            self.validate(resource, &object, None)?;
            self.allocate(resource, &mut object, None)?;
            warnings.extend(self.admit(target, &Asked::of(CREATE, Some(&object), None, options))?);
            if managed == Managed::NotYet {
                let api_version = resource.api_version();
                let now = meta::now();
                let writer =
                    Writer { manager: &options.manager, api_version: &api_version, subresource: "", now: &now };
                let mut asked = asked.clone();
                track_creation(zero.as_ref(), &mut asked, &resource.schema.get(), writer);
                if let Some(managers) = asked["metadata"].get("managedFields") {
                    meta::entry(&mut object).insert("managedFields".into(), managers.clone());
                }
            }
            let name = meta::name(&object).to_owned();
            match self.store_new(target, stored_form(resource, object), options) {
                Err(StoreError::Exists) if generated && attempt < NAME_TRIES => {}
                Err(error) => {
                    let refusal = ApiError::from_store(error, resource, target.namespace, &name);
                    return Err(ApiError { warnings, ..refusal });
                }
                Ok(object) => return Ok(Written { object, created: true, warnings }),
            }
        }
        unreachable!("the loop ends by returning")
    }

    fn store_new(
        &self,
        target: Target<'_>,
        object: Value,
        options: &WriteOptions,
    ) -> Result<crate::store::Object, StoreError> {
        let resource = target.resource;
        if options.dry_run {
            let key = Key::of(&object);
            if self.store.get(&resource.collection, &key).is_some() {
                return Err(StoreError::Exists);
            }
            return match self.store.get(NAMESPACES, &Key::new("", &*key.namespace)) {
                _ if key.namespace.is_empty() => Ok(object.into()),
                None => Err(StoreError::NamespaceMissing),
                Some(namespace) if meta::is_deleting(&namespace) => Err(StoreError::NamespaceTerminating),
                Some(_) => Ok(object.into()),
            };
        }
        let stored = self.store.insert(&resource.collection, object)?;
        if is_definition(resource) {
            self.definition_written(&stored);
        }
        Ok(stored)
    }

    /// Objects of a kind whose definition is going cannot be made any more.
    fn admits_creation(&self, target: Target<'_>, name: &str) -> Result<(), ApiError> {
        if !target.resource.custom {
            return Ok(());
        }
        match self.store.get(crd::COLLECTION, &Key::new("", &*target.resource.collection)) {
            Some(definition) if !meta::is_deleting(&definition) => Ok(()),
            Some(_) => {
                let why = "create not allowed while custom resource definition is terminating";
                Err(ApiError::forbidden(target.resource, name, why))
            }
            None => Err(ApiError::no_such_path()),
        }
    }

    fn own_metadata(&self, target: Target<'_>, object: &mut Value) {
        let metadata = meta::entry(object);
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
            metadata.shift_remove(field);
        }
        metadata.insert("uid".into(), Uuid::new_v4().to_string().into());
        metadata.insert("creationTimestamp".into(), meta::now().into());
        if target.resource.behaviour.generation {
            metadata.insert("generation".into(), 1.into());
        }
    }
}

/// A prefix and five characters that spell no word.
fn generated_name(prefix: &str) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut random = rand::rng();
    let mut name: String = prefix.chars().take(LONGEST_PREFIX).collect();
    name.extend((0..5).map(|_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())])));
    name
}
