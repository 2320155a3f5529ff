//! How the log names an object.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Kubernetes object, whatever version it was written or read at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ObjectKey {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, such as `HTTPRoute`.
    pub kind: String,
    /// The namespace; `None` for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The key of an object given as JSON; `None` without kind or name.
    pub fn of(object: &serde_json::Value) -> Option<ObjectKey> {
        let api_version = object.get("apiVersion")?.as_str()?;
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let metadata = object.get("metadata")?;
        Some(ObjectKey {
            group: group.to_owned(),
            kind: object.get("kind")?.as_str()?.to_owned(),
            namespace: metadata.get("namespace").and_then(|n| n.as_str()).map(str::to_owned),
            name: metadata.get("name")?.as_str()?.to_owned(),
        })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{}/{}", self.kind, namespace, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}
