//! POST, PUT, PATCH and DELETE.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::answers::answer_with;
use super::app::{App, Call};
use super::body::Body;
use super::decode::Encoding;
use crate::cluster::{DeleteOptions, Deleted, Draft, PatchKind, Propagation, Target, WriteOptions, Written};
use crate::error::ApiError;
use crate::meta;
use crate::present::{self, Accepted, ListMeta};

fn draft(call: &Call<'_>) -> Result<Draft, ApiError> {
    Encoding::of(call.media())?.decode(&call.body)
}

/// The options of a write, of which `kind` is the kind, and who asks.
pub(super) fn options(call: &Call<'_>, kind: &str, apply: bool) -> Result<WriteOptions, ApiError> {
    let options = call.query.write(kind, call.user_agent(), apply)?;
    Ok(WriteOptions { user: call.user.info(), ..options })
}

fn written(target: Target<'_>, accepted: Accepted, written: &Written) -> Result<Response<Body>, ApiError> {
    let text = present::object(target.resource, accepted, &written.object, "")?;
    let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer_with(code, accepted.format.media(), &written.warnings, text))
}

/// POST to a collection.
pub fn create(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?;
    let options = options(call, "CreateOptions", false)?;
    written(target, accepted, &app.cluster.create(target, draft(call)?, &options)?)
}

/// PUT of an object, its status, or a namespace's finalizers.
pub fn update(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?;
    let options = options(call, "UpdateOptions", false)?;
    let draft = draft(call)?;
    let done = match target.subresource {
        "finalize" => app.cluster.finalize(target, draft, &options)?,
        _ => app.cluster.update(target, draft, &options)?,
    };
    written(target, accepted, &done)
}

/// PATCH of an object or its status.
pub fn patch(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?;
    let (kind, encoding) = match call.media() {
        "application/json-patch+json" => (PatchKind::Json, Encoding::Json),
        "application/merge-patch+json" => (PatchKind::Merge, Encoding::Json),
        "application/strategic-merge-patch+json" => (PatchKind::Strategic, Encoding::Json),
        "application/apply-patch+yaml" => (PatchKind::Apply, Encoding::Yaml),
        _ => {
            return Err(ApiError::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml",
            ));
        }
    };
    if target.subresource == "finalize" {
        return Err(ApiError::method_not_allowed());
    }
    let options = options(call, "PatchOptions", kind == PatchKind::Apply)?;
    let patch = encoding.decode(&call.body)?;
    written(target, accepted, &app.cluster.patch(target, kind, patch, &options)?)
}

fn delete_options(call: &Call<'_>) -> Result<DeleteOptions, ApiError> {
    let body = if call.body.is_empty() { Value::Null } else { draft(call)?.object };
    let mut options = DeleteOptions::parse(&body)?;
    options.user = call.user.info();
    options.dry_run |= call.query.dry_run("DeleteOptions")?;
    call.query.grace_period()?;
    if options.propagation.is_none() {
        options.propagation = match call.query.get("propagationPolicy") {
            "" => None,
            policy => Some(Propagation::parse(policy)?),
        };
    }
    Ok(options)
}

/// DELETE of one object.
pub fn delete(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?;
    let Deleted { object, gone } = app.cluster.delete(target, &delete_options(call)?)?;
    if !gone || target.resource.behaviour.returns_deleted {
        let text = present::object(target.resource, accepted, &object, "")?;
        return Ok(answer_with(StatusCode::OK, accepted.format.media(), &[], text));
    }
    let mut details = json!({"name": target.name, "kind": target.resource.plural, "uid": meta::uid(&object)});
    if !target.resource.group.is_empty() {
        details["group"] = target.resource.group.clone().into();
    }
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    });
    Ok(answer_with(StatusCode::OK, "application/json", &[], status.to_string()))
}

/// DELETE of all that a selection admits; the answer lists it.
pub fn delete_collection(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?;
    let options = delete_options(call)?;
    let page = app.cluster.list(target.resource, &call.query.list(target.resource, target.namespace)?)?;
    let mut deleted = Vec::new();
    for object in &page.objects {
        let one = Target { namespace: meta::namespace(object), name: meta::name(object), ..target };
        match app.cluster.delete(one, &options) {
            Ok(done) => deleted.push(done.object),
            // Gone between list and deletion: what was asked for.
            Err(error) if error.code == StatusCode::NOT_FOUND => {}
            Err(error) => return Err(error),
        }
    }
    let metadata = ListMeta { resource_version: app.cluster.store.revision().to_string(), ..ListMeta::default() };
    let text = present::list(target.resource, accepted, &deleted, &metadata, "")?;
    Ok(answer_with(StatusCode::OK, accepted.format.media(), &[], text))
}
