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
    /// The one of this name that the target makes for the scenario of this token, perhaps in a namespace.
    Made {
        /// Whose it is.
        token: String,
        /// Where it is, unless there are no namespaces.
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
}

impl Selector {
    pub(super) fn query(&self) -> String {
        match self {
            Selector::Run(id) => format!("labelSelector={}", encode(&format!("{RUN_LABEL}={id}"))),
            Selector::Name(name) | Selector::Made { name, .. } => {
                format!("fieldSelector={}", encode(&format!("metadata.name={name}")))
            }
        }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Selector::Made { namespace, .. } => namespace.as_deref(),
            Selector::Run(_) | Selector::Name(_) => None,
        }
    }

    /// The token of the scenario that it concerns, whatever its labels and its namespace.
    pub(super) fn token(&self) -> Option<&str> {
        match self {
            Selector::Made { token, .. } => Some(token),
            Selector::Run(_) | Selector::Name(_) => None,
        }
    }
}
