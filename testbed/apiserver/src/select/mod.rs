//! Label and field selectors.

mod fields;
mod labels;

pub use fields::FieldSelector;
pub use labels::LabelSelector;

use serde_json::Value;

/// What a list or a watch is restricted to.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// One namespace, or all.
    pub namespace: Option<String>,
    /// By labels.
    pub labels: LabelSelector,
    /// By fields.
    pub fields: FieldSelector,
}

impl Selection {
    /// Whether an object is in.
    pub fn admits(&self, object: &Value) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| crate::meta::namespace(object) == namespace)
            && self.labels.matches(object)
            && self.fields.matches(object)
    }

    /// Whether anything but the namespace restricts it.
    pub fn is_selective(&self) -> bool {
        !(self.labels.is_empty() && self.fields.is_empty())
    }
}
