//! The Pod that a request goes on to.

use std::net::IpAddr;

use http::header;
use http::request::Parts;
use serde_json::Value;

use super::app::App;
use super::route::ObjectPath;
use crate::auth::User;
use crate::cluster::Target;
use crate::error::ApiError;

/// Counts a request, asks whether the user may, and gives the Pod.
pub(super) fn pod(
    app: &App,
    user: &User,
    parts: &Parts,
    verb: &str,
    path: &ObjectPath,
) -> Result<crate::store::Object, ApiError> {
    let user_agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    app.counters.count(verb, &path.counted_as(), user_agent);
    app.permit_object(user, verb, path)?;
    object(app, "pods", &path.namespace, &path.name)
}

/// An object of the core group.
pub(super) fn object(app: &App, plural: &str, namespace: &str, name: &str) -> Result<crate::store::Object, ApiError> {
    let registry = app.cluster.registry();
    let resource = registry.resource("", "v1", plural).ok_or_else(ApiError::no_such_path)?;
    app.cluster.get(Target { resource, namespace, name, subresource: "" })
}

/// Where a Pod listens.
pub(super) fn address(pod: &Value) -> Result<IpAddr, ApiError> {
    let ip = pod.pointer("/status/podIP").and_then(Value::as_str).and_then(|ip| ip.parse().ok());
    ip.ok_or_else(|| ApiError::internal(format!("pod {} is not running: it has no address", pod["metadata"]["name"])))
}
