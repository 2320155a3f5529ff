//! Which objects of a resource are watched.

use super::api::encode;
use super::names::RUN_LABEL;

/// Which objects of a resource are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Everything with the run's label, in all namespaces.
    Run(String),
    /// The one object of this name.
    Name(String),
    /// The one of this name in this namespace.
    Within(String, String),
}

impl Selector {
    pub(super) fn query(&self) -> String {
        match self {
            Selector::Run(id) => format!("labelSelector={}", encode(&format!("{RUN_LABEL}={id}"))),
            Selector::Name(name) | Selector::Within(_, name) => {
                format!("fieldSelector={}", encode(&format!("metadata.name={name}")))
            }
        }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Selector::Within(namespace, _) => Some(namespace),
            Selector::Run(_) | Selector::Name(_) => None,
        }
    }
}
