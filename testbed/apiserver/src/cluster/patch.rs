//! Patches of all four kinds.

use serde_json::{Map, Value};

use super::create::Managed;
use super::{Cluster, Draft, FieldValidation, Target, WriteOptions, Written};
use crate::error::{ApiError, StatusCause};
use crate::meta;
use crate::patch::{Conflict, PatchError, Writer, json_patch, merge_patch, server_side_apply, strategic_merge};

/// How a patch is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// By the merge keys of built-in kinds.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl Cluster {
    /// Patches an object, or its status; server-side apply creates the object where there is none.
    ///
    /// # Errors
    /// What a Kubernetes API server answers: malformed, invalid, missing, or in conflict.
    pub fn patch(
        &self,
        target: Target<'_>,
        kind: PatchKind,
        patch: Draft,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        let resource = target.resource;
        match kind {
            PatchKind::Apply => return self.apply(target, patch, options),
            PatchKind::Strategic if resource.custom => {
                return Err(ApiError::unsupported_media_type(
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                ));
            }
            _ => {}
        }
        let unreadable = |why: String| {
            ApiError::invalid(
                "",
                "",
                "",
                vec![StatusCause::new("FieldValueInvalid", "patch", format!("Invalid value: {why}"))],
            )
        };
        if kind == PatchKind::Json
            && options.validation == FieldValidation::Strict
            && let Some(name) = unknown_member(&patch.object)
        {
            return Err(unreadable(format!("json patch unknown field {name:?}")));
        }
        self.rewrite(target, options, Managed::NotYet, |live| {
            let new = match kind {
                PatchKind::Json => json_patch(live, &patch.object),
                PatchKind::Strategic => strategic_merge(live, &patch.object, &resource.schema.get()),
                PatchKind::Merge | PatchKind::Apply => merge_patch(live, &patch.object),
            };
            let object = new.map_err(|error| refusal(error, target))?;
            if meta::name(&object).is_empty() {
                return Err(ApiError::bad_request("a patch may not take the name of the object away"));
            }
            if !resource.custom && meta::api_version(&object).is_empty() {
                return Err(ApiError::bad_request("a patch may not take apiVersion away"));
            }
            if !resource.custom && meta::kind(&object) != resource.kind {
                return Err(unreadable(format!("the kind may not become {:?}", meta::kind(&object))));
            }
            if ![meta::uid(live), ""].contains(&meta::uid(&object)) {
                let cause = StatusCause::invalid("metadata.uid", &object["metadata"]["uid"], "field is immutable");
                let (group, kind) = (&resource.group, &resource.kind);
                return Err(ApiError::invalid(group, kind, target.name, vec![cause.clone(), cause]));
            }
            let draft = Draft { object, duplicates: patch.duplicates.clone() };
            if options.validation == FieldValidation::Strict {
                self.shape(resource, &mut draft.clone(), options).map_err(|error| unreadable(error.message))?;
            }
            if !resource.custom
                && let Some(why) = self.mistyped(resource, &draft.object)
            {
                return Err(unreadable(why));
            }
            Ok(draft)
        })
    }

    fn apply(&self, target: Target<'_>, mut patch: Draft, options: &WriteOptions) -> Result<Written, ApiError> {
        let resource = target.resource;
        if options.manager.is_empty() {
            let cause = StatusCause::required("fieldManager", "is required for apply patch");
            return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        if meta::api_version(&patch.object).is_empty() || meta::kind(&patch.object).is_empty() {
            return Err(ApiError::bad_request("an applied object must have apiVersion and kind"));
        }
        if patch.object.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        self.address(target, &mut patch.object)?;
        let schema = resource.schema.get();
        // What the request does not say must not be owned by its manager: pruning, yes, defaults, no.
        let mut findings = Draft { object: patch.object.clone(), duplicates: patch.duplicates.clone() };
        if !findings.duplicates.is_empty() {
            self.shape(resource, &mut findings, options)?;
        }
        // Managers own fields of the schema. A server cannot track others, and does not count that as the client's fault.
        let unknown = schema.prune(&mut findings.object).into_iter().next();
        if let Some(path) = unknown.filter(|path| !path.starts_with("metadata.")) {
            return Err(ApiError::untyped(format!(".{path}: field not declared in schema")));
        }
        if let Some(why) = self.untyped(resource, &patch.object) {
            return Err(ApiError::untyped(why));
        }
        if schema.has_duplicates(&patch.object) {
            return Err(ApiError::untyped("an item of a list stands there twice"));
        }
        if resource.custom && schema.lacks_keys(&patch.object) {
            return Err(ApiError::untyped("an item of a list has none of its keys"));
        }
        let warnings = self.shape(resource, &mut findings, options)?;
        schema.prune(&mut patch.object);
        let applied = restrict(target, patch.object);
        let (api_version, now) = (resource.api_version(), meta::now());
        let merge = |live: Option<&Value>| {
            let writer = Writer {
                manager: &options.manager,
                api_version: &api_version,
                subresource: target.subresource,
                now: &now,
            };
            server_side_apply(live, &applied, &schema, writer, options.force).map_err(|error| refusal(error, target))
        };
        let quiet = WriteOptions { validation: FieldValidation::Ignore, ..options.clone() };
        let absent = self.store.get(&resource.collection, &target.key()).is_none();
        let written = if absent && target.subresource.is_empty() {
            if !meta::uid(&applied).is_empty() {
                let why = "uid mismatch: the provided object specified a uid, and no existing object was found";
                return Err(ApiError::conflict(resource, target.name, why));
            }
            let mut new = merge(None)?;
            meta::entry(&mut new).shift_remove("resourceVersion");
            self.create_managed(target, new.into(), &quiet, Managed::Already)?
        } else {
            self.rewrite(target, &quiet, Managed::Already, |live| merge(Some(live)).map(Draft::from))?
        };
        let warnings = warnings.into_iter().chain(written.warnings).collect();
        Ok(Written { warnings, object: written.object, created: written.created })
    }
}

/// A member of an operation of a JSON patch that there is not.
fn unknown_member(patch: &Value) -> Option<&str> {
    let operations = patch.as_array().into_iter().flatten();
    let mut names = operations.filter_map(Value::as_object).flatten().map(|(name, _)| name.as_str());
    names.find(|name| !["op", "path", "from", "value"].contains(name))
}

/// Leaves out of an applied object what the path does not write: status, or all but status.
fn restrict(target: Target<'_>, applied: Value) -> Value {
    let Value::Object(mut members) = applied else { return applied };
    if target.on_status() {
        members.retain(|name, _| ["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
        if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
            metadata.retain(|name, _| ["name", "namespace", "uid", "resourceVersion"].contains(&name.as_str()));
        }
    } else if target.resource.status_subresource {
        members.shift_remove("status");
    }
    let metadata = members.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        for field in ["creationTimestamp", "generation", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"]
        {
            metadata.shift_remove(field);
        }
    }
    Value::Object(members)
}

fn refusal(error: PatchError, target: Target<'_>) -> ApiError {
    let message = error.to_string();
    match error {
        PatchError::Conflicts(conflicts) => {
            let cause = |conflict: Conflict| StatusCause::new("FieldManagerConflict", conflict.field, conflict.message);
            ApiError::apply_conflict(message, conflicts.into_iter().map(cause).collect())
        }
        PatchError::Nulls(causes) => {
            let causes = causes.into_iter().map(StatusCause::from).collect();
            ApiError::invalid(&target.resource.group, &target.resource.kind, target.name, causes)
        }
        PatchError::Json(_) => ApiError::unprocessable(message),
        PatchError::Invalid(_) => ApiError::bad_request(message),
        // Kubernetes does not count these as the client's fault.
        PatchError::Directive(_) => ApiError::failed(message),
    }
}
