//! Patches of every kind.

use serde_json::Value;

use crate::schema::CompiledSchema;

/// Why a patch does not apply.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The patch is not well formed, or does not fit the object.
    #[error("{0}")]
    Json(String),
    /// Other managers own the fields.
    #[error("apply conflicts")]
    Conflicts(Vec<Conflict>),
    /// The applied object is invalid.
    #[error("{0}")]
    Invalid(String),
}

/// One field that another manager owns.
#[derive(Debug, Clone)]
pub struct Conflict {
    /// The other manager.
    pub manager: String,
    /// The field.
    pub field: String,
    /// What to say about it.
    pub message: String,
}

/// Who writes.
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The apiVersion of the write.
    pub api_version: &'a str,
    /// `status`, or empty.
    pub subresource: &'a str,
    /// RFC 3339 time of the write.
    pub now: &'a str,
}

/// RFC 6902.
pub fn json_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|error| PatchError::Json(error.to_string()))?;
    let mut new = live.clone();
    json_patch::patch(&mut new, &patch).map_err(|error| PatchError::Json(error.to_string()))?;
    Ok(new)
}

/// RFC 7386.
pub fn merge_patch(live: &Value, patch: &Value) -> Result<Value, PatchError> {
    let mut new = live.clone();
    json_patch::merge(&mut new, patch);
    Ok(new)
}

/// Strategic merge patch.
pub fn strategic_merge(live: &Value, patch: &Value, _schema: &CompiledSchema) -> Result<Value, PatchError> {
    merge_patch(live, patch)
}

/// Server-side apply.
pub fn server_side_apply(
    live: Option<&Value>,
    applied: &Value,
    _schema: &CompiledSchema,
    _writer: Writer<'_>,
    _force: bool,
) -> Result<Value, PatchError> {
    match live {
        Some(live) => merge_patch(live, applied),
        None => Ok(applied.clone()),
    }
}

/// Upkeep of `metadata.managedFields`.
pub fn track_update(_live: Option<&Value>, _new: &mut Value, _schema: &CompiledSchema, _writer: Writer<'_>) {}
