//! The sources, compiled in, and their outer shape.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::{Problem, SourceError};

/// What several kinds use.
const SHARED: &str = include_str!("../../crds/shared.yaml");

/// The file of each kind.
const KINDS: [&str; 14] = [
    include_str!("../../crds/backendtlspolicy.yaml"),
    include_str!("../../crds/gateway.yaml"),
    include_str!("../../crds/gatewayclass.yaml"),
    include_str!("../../crds/grpcroute.yaml"),
    include_str!("../../crds/httproute.yaml"),
    include_str!("../../crds/listenerset.yaml"),
    include_str!("../../crds/referencegrant.yaml"),
    include_str!("../../crds/tcproute.yaml"),
    include_str!("../../crds/tlsroute.yaml"),
    include_str!("../../crds/udproute.yaml"),
    include_str!("../../crds/xbackend.yaml"),
    include_str!("../../crds/xbackendtrafficpolicy.yaml"),
    include_str!("../../crds/xmesh.yaml"),
    include_str!("../../crds/xtelemetrypolicy.yaml"),
];

/// `shared.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    pub fragments: IndexMap<String, String>,
    #[serde(rename = "$defs")]
    pub defs: Map<String, Value>,
}

/// The file of a kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Kind {
    pub kind: String,
    pub plural: String,
    #[serde(default)]
    pub short_names: Vec<String>,
    #[serde(default)]
    pub categories: Vec<String>,
    #[serde(default)]
    pub selectable: Vec<String>,
    #[serde(default)]
    pub labels: Option<Map<String, Value>>,
    #[serde(default = "default_group")]
    pub group: String,
    #[serde(default)]
    pub scope: Scope,
    #[serde(default)]
    pub channels: Option<Vec<String>>,
    pub versions: IndexMap<String, String>,
    #[serde(default)]
    pub columns: IndexMap<String, Column>,
    #[serde(default)]
    pub fragments: IndexMap<String, String>,
    #[serde(default, rename = "$defs")]
    pub defs: Map<String, Value>,
    #[serde(default, rename = "spec!")]
    pub required_spec: Option<Value>,
    #[serde(default)]
    pub spec: Option<Value>,
    #[serde(default)]
    pub status: Option<Value>,
}

/// Whether objects of a kind live in namespaces.
#[derive(Debug, Default, Deserialize, Clone, Copy)]
pub enum Scope {
    #[default]
    Namespaced,
    Cluster,
}

/// A printer column: its JSONPath alone, or with a priority.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Column {
    Path(String),
    Detailed {
        path: String,
        #[serde(default)]
        priority: Option<i64>,
        #[serde(default, rename = "type")]
        of_type: Option<String>,
    },
}

fn default_group() -> String {
    "gateway.networking.k8s.io".to_owned()
}

/// Read `shared.yaml`.
pub fn shared() -> Result<Shared, SourceError> {
    read(SHARED, "shared")
}

/// Read every kind's file.
pub fn kinds() -> Result<Vec<Kind>, SourceError> {
    KINDS.iter().map(|text| read_kind(text)).collect()
}

/// Read what several kinds of another group use. What Gateway API's kinds share is there too, unless it is named anew.
pub fn shared_with(text: &str) -> Result<Shared, SourceError> {
    let mut all = shared()?;
    let own: Shared = read(text, "shared")?;
    all.fragments.extend(own.fragments);
    all.defs.extend(own.defs);
    Ok(all)
}

/// Read the file of a kind from a text.
pub fn read_kind(text: &str) -> Result<Kind, SourceError> {
    read(text, text.lines().next().unwrap_or_default())
}

fn read<T: serde::de::DeserializeOwned>(text: &str, name: &str) -> Result<T, SourceError> {
    serde_yaml::from_str(text).map_err(|error| Problem::Yaml(error.to_string()).at(name))
}
