//! Structural schemas of the built-in kinds.

use std::sync::Arc;

use super::CompiledSchema;

/// The schema of a built-in kind; the core group is the empty string.
pub fn schema(group: &str, kind: &str) -> Option<Arc<CompiledSchema>> {
    let _ = (group, kind);
    None
}
