//! Authorities of certificates that are made for an execution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who signs certificates of backends. The key is not written down.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Authority {
    /// Its certificate in PEM.
    pub certificate: String,
    /// Its key in PEM; empty in a log.
    #[serde(skip)]
    pub key: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}
