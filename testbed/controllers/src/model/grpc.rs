use serde::Deserialize;

use super::route::{BackendRef, HttpFilter, NameMatch, ParentRef};

/// `GRPCRoute.spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrpcRouteSpec {
    /// What the route attaches to.
    pub parent_refs: Vec<ParentRef>,
    /// Hosts that the route takes; none means those of the listener.
    pub hostnames: Vec<String>,
    /// Rules, in order.
    pub rules: Vec<GrpcRule>,
}

/// One rule of a GRPCRoute.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrpcRule {
    /// Optional name; has no effect on routing.
    pub name: Option<String>,
    /// Alternatives; none means every call.
    pub matches: Vec<GrpcMatch>,
    /// Filters of the rule.
    pub filters: Vec<HttpFilter>,
    /// Backends by weight.
    pub backend_refs: Vec<BackendRef>,
    /// Session persistence (experimental channel), unsupported here.
    pub session_persistence: Option<serde_json::Value>,
}

/// One match of a rule: all of its parts have to hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrpcMatch {
    /// Service and method, any when absent.
    pub method: Option<MethodMatch>,
    /// Metadata; of several entries of one name only the first counts.
    pub headers: Vec<NameMatch>,
}

/// A match of service and method.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MethodMatch {
    /// `Exact` (default) or `RegularExpression`.
    pub r#type: Option<String>,
    /// Service with its package; absent or empty: every service.
    pub service: Option<String>,
    /// Method; absent or empty: every method.
    pub method: Option<String>,
}
