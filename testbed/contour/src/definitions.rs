//! The CustomResourceDefinitions.

use serde_json::Value;

/// Every definition.
#[must_use]
pub fn definitions() -> Vec<Value> {
    Vec::new()
}
