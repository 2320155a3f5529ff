//! The patches that a Kubernetes API server takes: JSON patch, merge patch, strategic merge patch and server-side apply.
//!
//! All are pure functions of the live object, the patch and the schema.

mod apply;
mod element;
#[cfg(test)]
mod laws;
mod managed;
mod set;
mod strategic;
#[cfg(test)]
mod tests;
mod typed;

use serde_json::Value;

use crate::schema::Cause;

pub use apply::{Writer, server_side_apply, track_creation, track_update};
pub use strategic::strategic_merge;

/// Why a patch was not applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// A JSON patch is malformed, names a place that is not there, or one of its tests failed.
    #[error("json patch failed: {0}")]
    Json(String),
    /// Server-side apply would take fields from other managers.
    #[error("{}", conflicts_message(.0))]
    Conflicts(Vec<Conflict>),
    /// Server-side apply took every member from a container that somebody owns as such. What is left of it is null, which the
    /// schema does not allow: what is wrong with the object then.
    #[error("a container is left without members")]
    Nulls(Vec<Cause>),
    /// The patch itself makes no sense.
    #[error("invalid patch: {0}")]
    Invalid(String),
    /// A strategic merge patch lacks a merge key, or has a directive that does not exist.
    #[error("invalid patch: {0}")]
    Directive(String),
}

/// A field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns the field.
    pub manager: String,
    /// The field: `.spec.rules`, `.spec.ports[port=80,protocol="TCP"].name`.
    pub field: String,
    /// `conflict with "manager" using v1`.
    pub message: String,
}

/// The message of the 409 answer.
fn conflicts_message(conflicts: &[Conflict]) -> String {
    match conflicts {
        [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
        many => {
            let mut text = format!("Apply failed with {} conflicts:", many.len());
            let mut last = "";
            for conflict in many {
                if conflict.message != last {
                    text.push_str(&format!(" {}:", conflict.message));
                    last = &conflict.message;
                }
                text.push_str(&format!("\n- {}", conflict.field));
            }
            text
        }
    }
}

/// Applies a JSON patch (RFC 6902), with two liberties that the API server takes: what `replace` does not find it adds,
/// and an `add` without a value adds null.
///
/// # Errors
/// [`PatchError::Json`] when the patch is malformed or an operation fails.
pub fn json_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !patch.is_array() {
        return Err(PatchError::Invalid("a JSON patch must be an array".to_owned()));
    }
    let failed = |error: &dyn std::fmt::Display| PatchError::Json(error.to_string());
    let mut result = live.clone();
    for operation in patch.as_array().into_iter().flatten() {
        let operation = liberal(&result, operation.clone());
        let operation: json_patch::PatchOperation =
            serde_json::from_value(operation).map_err(|error| failed(&error))?;
        // The variant that reverts what it did panics where it cannot; a copy need not be reverted.
        json_patch::patch_unsafe(&mut result, &[operation]).map_err(|error| failed(&error))?;
    }
    Ok(result)
}

fn liberal(object: &Value, mut operation: Value) -> Value {
    let Some(members) = operation.as_object_mut() else { return operation };
    let path = members.get("path").and_then(Value::as_str).unwrap_or_default();
    let parent = path.rsplit_once('/').and_then(|(parent, _)| object.pointer(parent));
    let absent = parent.is_some_and(Value::is_object) && object.pointer(path).is_none();
    if absent && members.get("op").is_some_and(|op| op == "replace") {
        members.insert("op".to_owned(), "add".into());
    }
    if members.get("op").is_some_and(|op| op == "add") {
        members.entry("value").or_insert(Value::Null);
    }
    operation
}

/// Applies a JSON merge patch (RFC 7386).
///
/// # Errors
/// [`PatchError::Invalid`] when the patch is no object: it would replace the whole resource.
pub fn merge_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    if !patch.is_object() {
        return Err(PatchError::Invalid("a merge patch must be an object".to_owned()));
    }
    let mut result = live.clone();
    json_patch::merge(&mut result, patch);
    Ok(result)
}
