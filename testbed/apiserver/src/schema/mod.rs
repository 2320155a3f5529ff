//! Structural schemas: pruning, defaulting and validation.

use serde_json::Value;

/// One compiled schema.
pub struct CompiledSchema;

/// Why a schema did not compile.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);

/// One reason why an object is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The cause's type, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// The path of the field.
    pub field: String,
    /// What is wrong, for a person.
    pub message: String,
}

impl CompiledSchema {
    /// Compiles an OpenAPI v3 schema.
    pub fn compile(_open_api_v3_schema: &Value) -> Result<CompiledSchema, SchemaError> {
        Ok(CompiledSchema)
    }

    /// Compiles all rules and returns those that fail.
    pub fn check_rules(&self) -> Vec<SchemaError> {
        Vec::new()
    }

    /// Removes unknown fields and returns their paths.
    pub fn prune(&self, _object: &mut Value) -> Vec<String> {
        Vec::new()
    }

    /// Fills defaults in.
    pub fn apply_defaults(&self, _object: &mut Value) {}

    /// Validates an object, with its old version for transition rules.
    pub fn validate(&self, _object: &Value, _old: Option<&Value>) -> Vec<Cause> {
        Vec::new()
    }
}

/// Schemas of the built-in kinds.
pub mod builtin {
    use std::sync::Arc;

    use super::CompiledSchema;

    /// The schema of a built-in kind.
    pub fn schema(_group: &str, _kind: &str) -> Option<Arc<CompiledSchema>> {
        None
    }
}
