//! Who a backend is.

use serde::{Deserialize, Serialize};

/// Who a backend is, as its answers say. The field names are those of the echo server of the Gateway API conformance
/// suite.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The namespace of the Pod.
    pub namespace: String,
    /// The name of an Ingress; empty unless given by the environment.
    pub ingress: String,
    /// The name of the Service; empty unless given.
    pub service: String,
    /// The name of the Pod.
    pub pod: String,
}
