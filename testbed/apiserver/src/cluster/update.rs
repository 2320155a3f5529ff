//! Replacement of an object or of its status.

use serde_json::{Value, json};

use super::create::Managed;
use super::intake::{is_definition, stored_form};
use super::policies::{Asked, UPDATE};
use super::read::view;
use super::{Cluster, Draft, Target, WriteOptions, Written};
use crate::error::{ApiError, StatusCause};
use crate::kinds::crd;
use crate::meta;
use crate::patch::{Writer, track_update};
use crate::store::{NAMESPACES, StoreError};

/// How often a write that names no version is tried anew when others write in between.
const TRIES: usize = 64;

impl Cluster {
    /// Puts an object, or its status, in the place of the live one.
    ///
    /// # Errors
    /// What a Kubernetes API server answers: malformed, invalid, missing, or based on another version.
    pub fn update(&self, target: Target<'_>, draft: Draft, options: &WriteOptions) -> Result<Written, ApiError> {
        let resource = target.resource;
        let absent = self.store.get(&resource.collection, &target.key()).is_none();
        let numeric = meta::resource_version(&draft.object).bytes().all(|digit| digit.is_ascii_digit());
        if !numeric && (!absent || resource.behaviour.create_on_update) {
            // Kubernetes does not count this as the client's fault.
            return Err(ApiError::failed("metadata.resourceVersion is no number"));
        }
        if absent && resource.behaviour.create_on_update && target.subresource.is_empty() {
            // There is no version that the new object could be held against.
            let mut draft = draft;
            if draft.object.is_object() {
                meta::entry(&mut draft.object).shift_remove("resourceVersion");
            }
            return self.create(target, draft, options);
        }
        if meta::resource_version(&draft.object).is_empty() && !resource.behaviour.unconditional_update && !absent {
            let cause = StatusCause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            self.shape(resource, &mut draft.clone(), options)?;
            return Err(ApiError::invalid(&resource.group, &resource.plural, target.name, vec![cause]));
        }
        self.decodable(resource, &draft)?;
        self.rewrite(target, options, Managed::NotYet, |_| Ok(draft.clone()))
    }

    /// Writes what `change` makes of the live object, again and again until nobody writes in between.
    pub(super) fn rewrite(
        &self,
        target: Target<'_>,
        options: &WriteOptions,
        managed: Managed,
        change: impl Fn(&Value) -> Result<Draft, ApiError>,
    ) -> Result<Written, ApiError> {
        let resource = target.resource;
        for _ in 0..TRIES {
            let stored = self.store.get(&resource.collection, &target.key());
            let stored = stored.ok_or_else(|| ApiError::not_found(resource, target.name))?;
            let live = view(resource, &stored);
            let mut draft = change(&live)?;
            self.address(target, &mut draft.object)?;
            let mut warnings = self.shape(resource, &mut draft, options)?;
            let new = self.revise(target, &live, draft.object, options, managed)?;
            warnings.extend(self.admit(target, &Asked::of(UPDATE, Some(&new), Some(&live), options))?);
            if !target.on_status() {
                warnings.extend(self.oddities(resource, &new));
            }
            if same(&new, &live) {
                return Ok(Written { object: stored, created: false, warnings });
            }
            match self.keep(target, &stored, stored_form(resource, new), options.dry_run) {
                Ok(object) => return Ok(Written { object, created: false, warnings }),
                Err(StoreError::Raced) => {}
                Err(error) => return Err(ApiError::from_store(error, resource, target.namespace, target.name)),
            }
        }
        Err(ApiError::modified(resource, target.name))
    }

    /// The object that may be stored in the place of `live` when `new` was asked for.
    fn revise(
        &self,
        target: Target<'_>,
        live: &Value,
        mut new: Value,
        options: &WriteOptions,
        managed: Managed,
    ) -> Result<Value, ApiError> {
        let resource = target.resource;
        preconditions(target, live, &new)?;
        if target.on_status() {
            new = with_status_of(live, new);
        } else {
            if resource.status_subresource {
                take(&mut new, live, "status");
            }
            if &*resource.collection == NAMESPACES {
                // Only the finalize subresource touches these.
                meta::child(&mut new, "spec").insert("finalizers".into(), live["spec"]["finalizers"].clone());
            }
        }
        let timed = deletion_time(live, &new);
        keep_metadata(live, &mut new);
        // What the server takes along by itself is left to whom it belonged.
        let asked = new.clone();
        if !target.on_status() {
            self.normalise(resource, &mut new, Some(live))?;
        }
        if let Some(cause) = timed.or_else(|| new_finalizer(live, &new)) {
            // The API server checks an update's metadata twice.
            return Err(ApiError::invalid(&resource.group, &resource.kind, target.name, vec![cause.clone(), cause]));
        }
        if resource.behaviour.generation && !target.on_status() && !is_definition(resource) {
            bump_generation(live, &mut new, resource.status_subresource);
        } else if is_definition(resource) {
            bump_generation(live, &mut new, true);
        }
        self.validate(resource, &new, Some(live))?;
        if !target.on_status() {
            self.allocate(resource, &mut new, Some(live))?;
        }
        if managed == Managed::NotYet {
            let (api_version, now) = (resource.api_version(), meta::now());
            let writer = Writer {
                manager: &options.manager,
                api_version: &api_version,
                subresource: target.subresource,
                now: &now,
            };
            let mut asked = asked;
            track_update(Some(live), &mut asked, &resource.schema.get(), writer);
            match asked["metadata"].get("managedFields") {
                Some(managers) => drop(meta::entry(&mut new).insert("managedFields".into(), managers.clone())),
                None => drop(meta::entry(&mut new).shift_remove("managedFields")),
            }
        }
        Ok(new)
    }

    /// Removes a namespace's hold on itself, as its last step does.
    ///
    /// # Errors
    /// Not found, or malformed.
    pub fn finalize(&self, target: Target<'_>, draft: Draft, options: &WriteOptions) -> Result<Written, ApiError> {
        let resource = target.resource;
        for _ in 0..TRIES {
            let stored = self.store.get(&resource.collection, &target.key());
            let stored = stored.ok_or_else(|| ApiError::not_found(resource, target.name))?;
            let mut asked = draft.object.clone();
            self.address(target, &mut asked)?;
            preconditions(target, &stored, &asked)?;
            let mut new = (*stored).clone();
            let finalizers = asked["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
            meta::child(&mut new, "spec").insert("finalizers".into(), finalizers.into());
            match self.keep(target, &stored, new, options.dry_run) {
                Ok(object) => return Ok(Written { object, created: false, warnings: Vec::new() }),
                Err(StoreError::Raced) => {}
                Err(error) => return Err(ApiError::from_store(error, resource, target.namespace, target.name)),
            }
        }
        Err(ApiError::modified(resource, target.name))
    }
}

fn preconditions(target: Target<'_>, live: &Value, new: &Value) -> Result<(), ApiError> {
    let (uid, version) = (meta::uid(new), meta::resource_version(new));
    if !uid.is_empty() && uid != meta::uid(live) {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", meta::uid(live));
        return Err(ApiError::conflict(target.resource, target.name, &why));
    }
    if !version.is_empty() && version != meta::resource_version(live) {
        return Err(ApiError::modified(target.resource, target.name));
    }
    Ok(())
}

/// Puts a member of `live` in the place of that of `new`, also if it is absent.
fn take(new: &mut Value, live: &Value, field: &str) {
    let map = meta::as_map(new);
    match live.get(field) {
        Some(value) => drop(map.insert(field.into(), value.clone())),
        None => drop(map.shift_remove(field)),
    }
}

fn with_status_of(live: &Value, asked: Value) -> Value {
    let mut new = live.clone();
    take(&mut new, &asked, "status");
    let managed = asked.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    match managed {
        Some(managed) => drop(meta::entry(&mut new).insert("managedFields".into(), managed.clone())),
        None => drop(meta::entry(&mut new).shift_remove("managedFields")),
    }
    new
}

fn keep_metadata(live: &Value, new: &mut Value) {
    const OWN: [&str; 7] = [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "selfLink",
        "resourceVersion",
    ];
    let metadata = meta::entry(new);
    for field in OWN {
        match live["metadata"].get(field) {
            Some(value) => drop(metadata.insert(field.into(), value.clone())),
            None => drop(metadata.shift_remove(field)),
        }
    }
    if metadata.get("finalizers").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        metadata.shift_remove("finalizers");
    }
}

/// Nobody sets the time of a deletion but by deleting.
fn deletion_time(live: &Value, new: &Value) -> Option<StatusCause> {
    let given = new["metadata"].get("deletionTimestamp").filter(|given| !given.is_null())?;
    let moved = live["metadata"].get("deletionTimestamp") != Some(given);
    moved.then(|| StatusCause::invalid("metadata.deletionTimestamp", given, "field is immutable"))
}

fn new_finalizer(live: &Value, new: &Value) -> Option<StatusCause> {
    if !meta::is_deleting(live) {
        return None;
    }
    let before = meta::finalizers(live);
    let added: Vec<&str> = meta::finalizers(new).into_iter().filter(|name| !before.contains(name)).collect();
    let why = format!("no new finalizers can be added if the object is being deleted, found new finalizers {added:?}");
    (!added.is_empty()).then(|| StatusCause::forbidden("metadata.finalizers", &why))
}

fn bump_generation(live: &Value, new: &mut Value, status_apart: bool) {
    let content = |object: &Value| -> Vec<(String, Value)> {
        let members = object.as_object().into_iter().flatten();
        let mut kept: Vec<_> = members
            .filter(|(name, _)| !["metadata", "apiVersion", "kind"].contains(&name.as_str()))
            .filter(|(name, _)| !(status_apart && *name == "status"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        kept.sort_by(|a, b| a.0.cmp(&b.0));
        kept
    };
    if content(live) != content(new) {
        let next = meta::generation(live) + 1;
        meta::entry(new).insert("generation".into(), next.into());
    }
}

/// Whether a write would change nothing but the times at which managers wrote.
fn same(new: &Value, live: &Value) -> bool {
    let timeless = |object: &Value| {
        let mut object = object.clone();
        let metadata = meta::entry(&mut object);
        metadata.shift_remove("resourceVersion");
        let managers = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
        for manager in managers.into_iter().flatten().filter_map(Value::as_object_mut) {
            manager.shift_remove("time");
        }
        object
    };
    timeless(new) == timeless(live)
}

/// Whether the object is kept by nothing once its deletion has begun.
pub(super) fn may_go(object: &Value) -> bool {
    let held = object.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let is_namespace = meta::kind(object) == "Namespace" && meta::api_version(object) == "v1";
    meta::is_deleting(object) && meta::finalizers(object).is_empty() && !(is_namespace && held)
}

impl Cluster {
    /// Told after a definition was written or went.
    pub(super) fn after_write(&self, target: Target<'_>, object: &crate::store::Object, gone: bool) {
        if &*target.resource.collection == crd::COLLECTION {
            match gone {
                true => self.definition_removed(),
                false => self.definition_written(object),
            }
        }
    }
}
