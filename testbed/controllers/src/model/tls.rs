use serde::Deserialize;

use super::route::{ParentRef, TcpRule};

/// `TLSRoute.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TlsRouteSpec {
    /// What the route attaches to.
    pub parent_refs: Vec<ParentRef>,
    /// Server names that the route takes; none, which only alpha versions admit, means those of the listener.
    pub hostnames: Vec<String>,
    /// Rules; v1 admits one.
    pub rules: Vec<TcpRule>,
}
