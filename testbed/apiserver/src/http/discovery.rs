//! What the server serves, told in every form that clients ask for.

use http::{Response, StatusCode, header};
use serde_json::{Value, json};

use super::answers::{answer_with, json_answer};
use super::app::Call;
use super::body::Body;
use crate::digest;
use crate::error::ApiError;
use crate::kinds::Registry;
use crate::present::clauses;
use crate::resource::Resource;

fn aggregated_version(call: &Call<'_>) -> Option<&'static str> {
    let asked = clauses(call.header(header::ACCEPT));
    asked
        .iter()
        .take_while(|clause| !(clause.media == "application/json" && clause.parameter("as").is_empty()))
        .find_map(|clause| {
            let fits = clause.media == "application/json"
                && clause.parameter("g") == "apidiscovery.k8s.io"
                && clause.parameter("as") == "APIGroupDiscoveryList";
            match clause.parameter("v") {
                "v2" if fits => Some("v2"),
                "v2beta1" if fits => Some("v2beta1"),
                _ => None,
            }
        })
}

/// `/api`.
pub fn core_versions(call: &Call<'_>, registry: &Registry) -> Result<Response<Body>, ApiError> {
    if let Some(version) = aggregated_version(call) {
        return Ok(aggregated(version, &[aggregated_group(registry, "", &registry.versions(""))]));
    }
    json_answer(&json!({
        "kind": "APIVersions",
        "versions": registry.versions(""),
        "serverAddressByClientCIDRs": [],
    }))
}

/// `/apis`.
pub fn groups(call: &Call<'_>, registry: &Registry) -> Result<Response<Body>, ApiError> {
    let groups = registry.groups();
    if let Some(version) = aggregated_version(call) {
        let items: Vec<Value> =
            groups.iter().map(|(group, versions)| aggregated_group(registry, group, versions)).collect();
        return Ok(aggregated(version, &items));
    }
    let groups: Vec<Value> = groups.iter().map(|(group, versions)| group_object(group, versions, false)).collect();
    json_answer(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

/// `/apis/GROUP`.
pub fn group(registry: &Registry, group: &str) -> Result<Response<Body>, ApiError> {
    match registry.versions(group).as_slice() {
        [] => Err(ApiError::no_such_path()),
        versions => json_answer(&group_object(group, versions, true)),
    }
}

fn group_object(group: &str, versions: &[&str], typed: bool) -> Value {
    let entry = |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let entries: Vec<Value> = versions.iter().map(entry).collect();
    let mut object = if typed { json!({"kind": "APIGroup", "apiVersion": "v1"}) } else { json!({}) };
    object["name"] = group.into();
    object["preferredVersion"] = entries.first().cloned().unwrap_or(Value::Null);
    object["versions"] = entries.into();
    object
}

/// `/api/VERSION` and `/apis/GROUP/VERSION`.
pub fn resources(registry: &Registry, group: &str, version: &str) -> Result<Response<Body>, ApiError> {
    let found = registry.resources(group, version).ok_or_else(ApiError::no_such_path)?;
    let mut entries = Vec::new();
    for resource in found {
        let mut entry = json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs(),
        });
        for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
            if !list.is_empty() {
                entry[field] = json!(list);
            }
        }
        if !resource.behaviour.review {
            entry["storageVersionHash"] = storage_hash(resource).into();
        }
        entries.push(entry);
        entries.extend(subresources(resource).iter().map(|below| {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, below.name),
                "singularName": "",
                "namespaced": resource.namespaced,
            });
            if let Some((group, version, kind)) = below.foreign {
                entry["group"] = group.into();
                entry["version"] = version.into();
                entry["kind"] = kind.into();
            } else {
                entry["kind"] = resource.kind.clone().into();
            }
            entry["verbs"] = json!(below.verbs);
            entry
        }));
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    json_answer(&json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": entries,
    }))
}

/// What is served below a kind's objects.
struct Subresource {
    name: &'static str,
    verbs: &'static [&'static str],
    /// Group, version and kind, where they are not those of the objects.
    foreign: Option<(&'static str, &'static str, &'static str)>,
}

fn subresources(resource: &Resource) -> Vec<Subresource> {
    const WRITTEN: &[&str] = &["get", "patch", "update"];
    let mut all = Vec::new();
    let mut add = |name, verbs, foreign| all.push(Subresource { name, verbs, foreign });
    if &*resource.collection == crate::store::NAMESPACES {
        add("finalize", &["update"], None);
    }
    if resource.scale.is_some() {
        add("scale", WRITTEN, Some(("autoscaling", "v1", "Scale")));
    }
    if resource.status_subresource {
        add("status", WRITTEN, None);
    }
    if &*resource.collection == "serviceaccounts" {
        add("token", &["create"], Some(("authentication.k8s.io", "v1", "TokenRequest")));
    }
    all
}

fn storage_hash(resource: &Resource) -> String {
    use base64::Engine;
    let digest = digest::of(format!("{}/{}/{}", resource.group, resource.stored_as, resource.kind).as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

fn aggregated(version: &str, items: &[Value]) -> Response<Body> {
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    // Clients compare this text as it stands.
    let media = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    let mut response = answer_with(StatusCode::OK, &media, &[], list.to_string());
    response.headers_mut().insert(header::VARY, header::HeaderValue::from_static("Accept"));
    response
}

fn aggregated_group(registry: &Registry, group: &str, versions: &[&str]) -> Value {
    // The core group leaves the version out.
    let shown = |version: &str| if group.is_empty() { String::new() } else { version.to_owned() };
    let kind = |kind: &str, version: &str| json!({"group": group, "version": shown(version), "kind": kind});
    let one = |version: &&str| {
        let resources = registry.resources(group, version).into_iter().flatten().map(|resource| {
            let mut entry = json!({
                "resource": resource.plural,
                "responseKind": kind(&resource.kind, version),
                "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": resource.singular,
                "verbs": resource.verbs(),
            });
            for (field, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
                if !list.is_empty() {
                    entry[field] = json!(list);
                }
            }
            let below: Vec<Value> = subresources(resource)
                .iter()
                .map(|below| {
                    let kind = match below.foreign {
                        Some((group, version, kind)) => json!({"group": group, "version": version, "kind": kind}),
                        None => kind(&resource.kind, version),
                    };
                    json!({"subresource": below.name, "responseKind": kind, "verbs": below.verbs})
                })
                .collect();
            if !below.is_empty() {
                entry["subresources"] = below.into();
            }
            entry
        });
        json!({"version": version, "resources": resources.collect::<Vec<_>>(), "freshness": "Current"})
    };
    let versions: Vec<Value> = versions.iter().map(one).collect();
    match group {
        "" => json!({"metadata": {"creationTimestamp": null}, "versions": versions}),
        group => json!({"metadata": {"name": group, "creationTimestamp": null}, "versions": versions}),
    }
}

/// `/`: the paths that are served.
pub fn paths(registry: &Registry) -> Value {
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis"].map(str::to_owned).to_vec();
    for (group, versions) in registry.groups() {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    json!({"paths": paths})
}
