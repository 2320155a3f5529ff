//! Checks of built-in kinds that no schema can say, and of metadata for all kinds.

use serde_json::Value;

use super::names::{bad_name, is_label_value, is_qualified_name};
use super::{certificates, definitions, events, network, policies, roles, services};
use crate::error::StatusCause;
use crate::meta;
use crate::resource::Resource;

/// Which addresses a cluster takes beside those that every one does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Addresses {
    /// Loopback addresses in Endpoints and EndpointSlices.
    pub loopback_endpoints: bool,
    /// Services of IPv6, beside those of IPv4, and of both.
    pub dual_stack: bool,
}

/// What is wrong with an object of a built-in kind.
pub fn check(resource: &Resource, object: &Value, old: Option<&Value>, addresses: Addresses) -> Vec<StatusCause> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Service") => services::validate(object, old),
        ("", "Endpoints") => network::validate_endpoints(object, addresses.loopback_endpoints),
        ("", "Secret") => secret(object, old),
        ("", "ConfigMap") => config_map(object, old),
        ("certificates.k8s.io", "ClusterTrustBundle") => certificates::validate_trust_bundle(object, old),
        ("discovery.k8s.io", "EndpointSlice") => {
            network::validate_endpoint_slice(object, old, addresses.loopback_endpoints)
        }
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => workload(object, old),
        ("" | "events.k8s.io", "Event") => events::validate(resource, object, old),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => roles::validate_role(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => roles::validate_binding(object, old),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::validate(object, old),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => policies::validate(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => policies::validate_binding(object),
        _ => Vec::new(),
    }
}

fn secret(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    use base64::Engine;
    let mut causes = immutable_data(object, old, &["data"]);
    causes.extend(bad_keys(object, "data"));
    if old.is_some_and(|old| old["type"] != object["type"]) {
        causes.push(StatusCause::invalid("type", &object["type"], "field is immutable"));
    }
    if object["type"] == "kubernetes.io/tls" {
        for key in ["tls.crt", "tls.key"] {
            if object["data"].get(key).is_none() {
                causes.push(StatusCause::required(format!("data[{key}]"), ""));
            }
        }
    }
    for (key, value) in object["data"].as_object().into_iter().flatten() {
        let text = value.as_str().unwrap_or("");
        if base64::engine::general_purpose::STANDARD.decode(text).is_err() {
            causes.push(StatusCause::invalid(
                format!("data[{key}]"),
                &Value::String("<redacted>".into()),
                "must be base64",
            ));
        }
    }
    causes
}

fn config_map(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut causes = immutable_data(object, old, &["data", "binaryData"]);
    for field in ["data", "binaryData"] {
        causes.extend(bad_keys(object, field));
    }
    let (data, binary) = (object["data"].as_object(), object["binaryData"].as_object());
    for key in data.into_iter().flatten().map(|(key, _)| key) {
        if binary.is_some_and(|binary| binary.contains_key(key)) {
            causes.push(StatusCause::invalid(format!("data[{key}]"), &key.as_str().into(), "is in binaryData too"));
        }
    }
    causes
}

/// Keys of data that could not be names of files.
fn bad_keys(object: &Value, field: &'static str) -> impl Iterator<Item = StatusCause> {
    let bad = |key: &&String| {
        let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        key.is_empty() || key.len() > 253 || !key.bytes().all(good) || *key == "." || key.starts_with("..")
    };
    let keys = object[field].as_object().into_iter().flatten().map(|(key, _)| key).filter(bad);
    let why = "a key has up to 253 letters, digits, '-', '_' and '.', and does not begin with '..'";
    keys.map(move |key| StatusCause::invalid(format!("{field}[{key}]"), &key.as_str().into(), why))
        .collect::<Vec<_>>()
        .into_iter()
}

fn immutable_data(object: &Value, old: Option<&Value>, fields: &[&str]) -> Vec<StatusCause> {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return Vec::new() };
    let changed = fields.iter().chain(&["immutable"]).filter(|&&field| old[field] != object[field]);
    changed.map(|&field| StatusCause::forbidden(field, "field is immutable when `immutable` is set")).collect()
}

fn workload(object: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    if spec["selector"].as_object().is_none_or(|selector| selector.is_empty()) {
        causes.push(StatusCause::required("spec.selector", ""));
    }
    // A selector that is not there selects nothing.
    let labels = &spec["template"]["metadata"]["labels"];
    let wanted = spec["selector"]["matchLabels"].as_object();
    if spec["selector"].is_null() || wanted.into_iter().flatten().any(|(key, value)| labels.get(key) != Some(value)) {
        let why = "`selector` does not match template `labels`";
        causes.push(StatusCause::invalid("spec.template.metadata.labels", labels, why));
    }
    if spec["template"]["spec"]["containers"].as_array().is_none_or(Vec::is_empty) {
        causes.push(StatusCause::required("spec.template.spec.containers", ""));
    }
    if old.is_some_and(|old| old["spec"]["selector"] != spec["selector"]) {
        causes.push(StatusCause::invalid("spec.selector", &spec["selector"], "field is immutable"));
    }
    causes
}

/// What is wrong with `metadata`.
pub fn metadata(resource: &Resource, object: &Value) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    let prefix = object["metadata"]["generateName"].as_str().unwrap_or("");
    // What follows the prefix of a generated name may follow a hyphen or dot too.
    if !prefix.is_empty()
        && let Some(why) = bad_name(resource.behaviour.name, &format!("{prefix}a"))
    {
        causes.push(StatusCause::invalid("metadata.generateName", &prefix.into(), why));
    }
    if let Some(why) = bad_name(resource.behaviour.name, meta::name(object)) {
        causes.push(StatusCause::invalid("metadata.name", &object["metadata"]["name"], why));
    }
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if !is_qualified_name(key) {
            let why = "a label key is a name of up to 63 characters, perhaps after a DNS subdomain and a slash";
            causes.push(StatusCause::invalid("metadata.labels", &Value::String(key.clone()), why));
        }
        if !is_label_value(value.as_str().unwrap_or("")) {
            let why = "a label value has up to 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit";
            causes.push(StatusCause::invalid("metadata.labels", value, why));
        }
    }
    for key in object["metadata"]["annotations"].as_object().into_iter().flatten().map(|(key, _)| key) {
        if !is_qualified_name(&key.to_lowercase()) {
            let why = "an annotation key is a name of up to 63 characters, perhaps after a DNS subdomain and a slash";
            causes.push(StatusCause::invalid("metadata.annotations", &Value::String(key.clone()), why));
        }
    }
    for (index, finalizer) in meta::finalizers(object).into_iter().enumerate() {
        let standard = ["kubernetes", "orphan", "foregroundDeletion"].contains(&finalizer);
        let core = !resource.custom && resource.group != "apiextensions.k8s.io";
        if core && !standard && is_qualified_name(finalizer) && !finalizer.contains('/') {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            let field = format!("metadata.finalizers[{index}]");
            causes.push(StatusCause::invalid(field, &Value::String(finalizer.into()), why));
        }
        if !is_qualified_name(finalizer) {
            let why = "a finalizer is a name of up to 63 characters, perhaps after a DNS subdomain and a slash";
            causes.push(StatusCause::invalid("metadata.finalizers", &Value::String(finalizer.into()), why));
        }
    }
    for owner in meta::owners(object) {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().is_none_or(str::is_empty) {
                let path = format!("metadata.ownerReferences.{field}");
                causes.push(StatusCause::invalid(path, &owner[field], "must not be empty"));
            }
        }
    }
    if meta::owners(object).iter().filter(|owner| owner["controller"] == true).count() > 1 {
        let why = "only one reference can have controller set to true";
        causes.push(StatusCause::invalid("metadata.ownerReferences", &object["metadata"]["ownerReferences"], why));
    }
    causes
}
