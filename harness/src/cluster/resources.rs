//! Which kinds a target serves, by asking it.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::api::{Api, ApiError};
use super::kinds::Kinds;
use crate::dialects::Dialect;

/// What scenarios need discovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What they are written in.
    pub dialect: Arc<Dialect>,
    /// The API groups that their objects belong to.
    pub groups: BTreeSet<String>,
    /// Kinds that they name without a group.
    pub kinds: BTreeSet<String>,
}

/// The served kinds of `groups`, of the dialect and of the groups that the run itself writes to.
pub async fn kinds(api: &Api, dialect: Arc<Dialect>, groups: &BTreeSet<String>) -> Result<Kinds, ApiError> {
    wanted_kinds(api, &Wanted { dialect, groups: groups.clone(), kinds: BTreeSet::new() }).await
}

/// Every served kind. What does not answer for its group, such as a metrics server that is down, has nothing to be known of.
///
/// # Errors
/// If the list of groups cannot be read.
pub async fn every_kind(api: &Api, dialect: Arc<Dialect>) -> Result<Kinds, ApiError> {
    let mut kinds = Kinds::new(dialect);
    add_resources(&mut kinds, "", "v1", &api.get("/api/v1").await?);
    let served = api.get("/apis").await?;
    for group in served.get("groups").and_then(Value::as_array).into_iter().flatten() {
        let name = group.get("name").and_then(Value::as_str).unwrap_or_default();
        for version in group.get("versions").and_then(Value::as_array).into_iter().flatten() {
            let version = version.get("version").and_then(Value::as_str).unwrap_or_default();
            let reply = api.call(Method::GET, &format!("/apis/{name}/{version}"), None, Vec::new()).await?;
            if reply.code < 300 {
                add_resources(&mut kinds, name, version, &reply.body);
            }
        }
    }
    Ok(kinds)
}

/// The same, and of further groups as long as a wanted kind is in none of these.
pub(super) async fn wanted_kinds(api: &Api, wanted: &Wanted) -> Result<Kinds, ApiError> {
    let mut kinds = Kinds::new(Arc::clone(&wanted.dialect));
    add_resources(&mut kinds, "", "v1", &api.get("/api/v1").await?);
    let served = api.get("/apis").await?;
    let groups = served.get("groups").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |group: &Value| group.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (first, rest): (Vec<&Value>, Vec<&Value>) = groups.iter().partition(|group| {
        let name = name(group);
        wanted.dialect.has_group(&name) || name == "discovery.k8s.io" || wanted.groups.contains(&name)
    });
    for group in first {
        add_group(api, &mut kinds, &name(group), group).await?;
    }
    for group in rest {
        if wanted.kinds.iter().all(|kind| kinds.named(kind).is_some()) {
            break;
        }
        add_group(api, &mut kinds, &name(group), group).await?;
    }
    Ok(kinds)
}

async fn add_group(api: &Api, kinds: &mut Kinds, name: &str, group: &Value) -> Result<(), ApiError> {
    for version in group.get("versions").and_then(Value::as_array).into_iter().flatten() {
        let version = version.get("version").and_then(Value::as_str).unwrap_or_default();
        add_resources(kinds, name, version, &api.get(&format!("/apis/{name}/{version}")).await?);
    }
    Ok(())
}

fn add_resources(kinds: &mut Kinds, group: &str, version: &str, list: &Value) {
    for resource in list.get("resources").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| resource.get(field).and_then(Value::as_str).unwrap_or_default();
        let plural = text("name");
        if plural.is_empty() || plural.contains('/') {
            continue;
        }
        let namespaced = resource.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
        kinds.add(group, version, text("kind"), plural, namespaced);
    }
}
