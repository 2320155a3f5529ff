//! Deletion, as far as a request does it; housekeeping does the rest.

use serde_json::{Value, json};

use super::policies::{Asked, DELETE};
use super::update::may_go;
use super::{Cluster, Target};
use crate::error::{ApiError, StatusCause};
use crate::kinds::crd;
use crate::meta;
use crate::store::{NAMESPACES, Object, StoreError};

/// The finalizer of an object that goes after its dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents stay.
pub(super) const ORPHAN: &str = "orphan";

/// The namespaces that no cluster can be without.
const LASTING: [&str; 3] = ["default", "kube-system", "kube-public"];

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after their owner.
    Background,
    /// They go before their owner.
    Foreground,
    /// They stay, without their owner.
    Orphan,
}

/// What a deletion is asked to do, `metav1.DeleteOptions`.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    /// Do nothing but tell what would be done.
    pub dry_run: bool,
    /// What becomes of dependents; the object's own finalizers say it where the request does not.
    pub propagation: Option<Propagation>,
    /// The object must have this uid.
    pub uid: Option<String>,
    /// The object must have this version.
    pub resource_version: Option<String>,
    /// Who asks, as `authentication.k8s.io/v1` `UserInfo`; nothing if it is the server itself.
    pub user: Value,
}

impl DeleteOptions {
    /// Reads `metav1.DeleteOptions`.
    ///
    /// # Errors
    /// 400 for a body that is something else, 422 for a policy that does not exist.
    pub fn parse(body: &Value) -> Result<Self, ApiError> {
        if body.is_null() {
            return Ok(Self::default());
        }
        if !body.is_object() || !["", "DeleteOptions"].contains(&meta::kind(body)) {
            return Err(ApiError::bad_request("the body of a deletion is a DeleteOptions object"));
        }
        let text = |pointer| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let propagation = match (text("/propagationPolicy"), body.get("orphanDependents").and_then(Value::as_bool)) {
            (Some(_), Some(_)) => {
                let cause = StatusCause::new(
                    "FieldValueInvalid",
                    "propagationPolicy",
                    "Invalid value: orphanDependents and propagationPolicy cannot be both set",
                );
                return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]));
            }
            (Some(policy), None) => Some(Propagation::parse(&policy)?),
            (None, Some(true)) => Some(Propagation::Orphan),
            (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
        };
        let asked = body.get("dryRun").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if let Some(other) = asked.iter().find(|value| *value != "All") {
            let message = format!("Unsupported value: {other}: supported values: \"All\"");
            let cause = StatusCause::new("FieldValueNotSupported", "dryRun", message);
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]));
        }
        let dry_run = !asked.is_empty();
        Ok(Self {
            dry_run,
            propagation,
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
            user: Value::Null,
        })
    }
}

impl Propagation {
    /// Reads `propagationPolicy`.
    ///
    /// # Errors
    /// 422 for anything but the three policies.
    pub fn parse(policy: &str) -> Result<Self, ApiError> {
        match policy {
            "Background" => Ok(Self::Background),
            "Foreground" => Ok(Self::Foreground),
            "Orphan" => Ok(Self::Orphan),
            _ => {
                let message = format!(
                    "Unsupported value: \"{policy}\": supported values: \"Background\", \"Foreground\", \"Orphan\""
                );
                let cause = StatusCause::new("FieldValueNotSupported", "propagationPolicy", message);
                Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", vec![cause]))
            }
        }
    }
}

/// What a deletion came to.
#[derive(Debug)]
pub struct Deleted {
    /// The object's last, or latest, state in its stored form.
    pub object: Object,
    /// Whether it is gone; otherwise finalizers hold it.
    pub gone: bool,
}

impl Cluster {
    /// Deletes an object, or marks it if something holds it. There is no grace period: no kubelet would end it.
    ///
    /// # Errors
    /// Not found, or preconditions that do not hold.
    pub fn delete(&self, target: Target<'_>, options: &DeleteOptions) -> Result<Deleted, ApiError> {
        let resource = target.resource;
        loop {
            let stored = self.store.get(&resource.collection, &target.key());
            let stored = stored.ok_or_else(|| ApiError::not_found(resource, target.name))?;
            if &*resource.collection == NAMESPACES && LASTING.contains(&target.name) {
                return Err(ApiError::forbidden(resource, target.name, "this namespace may not be deleted"));
            }
            preconditions(target, &stored, options)?;
            let (user, dry_run) = (&options.user, options.dry_run);
            self.admit(target, &Asked { operation: DELETE, new: None, old: Some(&stored), user, dry_run })?;
            let new = marked(&stored, options.propagation);
            let gone = may_go(&new);
            if options.dry_run || (!gone && new == *stored) {
                return Ok(Deleted { object: if gone { stored } else { new.into() }, gone });
            }
            let last = if gone && !meta::is_deleting(&stored) { (*stored).clone() } else { new };
            let written = match gone {
                true => self.store.remove(&resource.collection, &stored, last),
                false => self.store.replace(&resource.collection, &stored, last),
            };
            match written {
                Ok(object) => {
                    if gone {
                        self.after_write(target, &object, true);
                    }
                    return Ok(Deleted { object, gone });
                }
                Err(StoreError::Raced) => {}
                Err(error) => return Err(ApiError::from_store(error, resource, target.namespace, target.name)),
            }
        }
    }
}

fn preconditions(target: Target<'_>, live: &Value, options: &DeleteOptions) -> Result<(), ApiError> {
    let checks = [
        ("UID", options.uid.as_deref(), meta::uid(live)),
        ("ResourceVersion", options.resource_version.as_deref(), meta::resource_version(live)),
    ];
    for (what, asked, found) in checks {
        if let Some(asked) = asked.filter(|asked| *asked != found) {
            let why = format!("Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}");
            return Err(ApiError::precondition(target.resource, target.name, &why));
        }
    }
    Ok(())
}

/// The object as its deletion leaves it if anything holds it.
fn marked(live: &Value, propagation: Option<Propagation>) -> Value {
    let mut new = live.clone();
    let mut finalizers: Vec<String> = meta::finalizers(live).into_iter().map(str::to_owned).collect();
    if let Some(propagation) = propagation {
        finalizers.retain(|name| name != FOREGROUND && name != ORPHAN);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
            Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
        }
        meta::set_finalizers(&mut new, finalizers);
    }
    if !meta::is_deleting(live) {
        let generation = meta::generation(live);
        let is_namespace = meta::kind(live) == "Namespace" && meta::api_version(live) == "v1";
        let metadata = meta::entry(&mut new);
        metadata.insert("deletionTimestamp".into(), meta::now().into());
        if !is_namespace {
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        }
        if generation > 0 {
            metadata.insert("generation".into(), (generation + 1).into());
        }
        match meta::kind(&new) {
            _ if is_namespace => {
                meta::child(&mut new, "status").insert("phase".into(), "Terminating".into());
            }
            "CustomResourceDefinition" => crd_terminating(&mut new),
            _ => {}
        }
    }
    new
}

fn crd_terminating(definition: &mut Value) {
    let condition = json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": meta::now(),
        "reason": "InstanceDeletionPending",
        "message": "the objects of this definition are being deleted",
    });
    let conditions = meta::child(definition, "status").entry("conditions").or_insert_with(|| json!([]));
    if let Value::Array(conditions) = conditions {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(condition);
    }
}

/// Collections whose objects a deletion of the namespace or the definition takes along.
pub(super) fn holds_others(collection: &str) -> bool {
    [NAMESPACES, crd::COLLECTION].contains(&collection)
}
