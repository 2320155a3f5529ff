//! Defaults of built-in kinds that depend on other fields, so that no structural schema can state them.

use base64::Engine as _;
use serde_json::{Map, Value, json};

/// Fills in the dependent defaults of a kind. Runs before the structural defaults and again changes nothing.
pub(crate) fn adjust(group: &str, kind: &str, object: &mut Value) {
    match (group, kind) {
        ("", "Namespace") => namespace(object),
        ("", "Secret") => secret(object),
        ("", "Service") => service(object),
        ("", "Pod") => pod_spec(object.get_mut("spec")),
        ("apps", "Deployment") => {
            rolling_update(object.pointer_mut("/spec/strategy"), &json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
            pod_spec(object.pointer_mut("/spec/template/spec"));
        }
        ("apps", "DaemonSet") => {
            rolling_update(object.pointer_mut("/spec/updateStrategy"), &json!({"maxUnavailable": 1, "maxSurge": 0}));
            pod_spec(object.pointer_mut("/spec/template/spec"));
        }
        ("apps", "ReplicaSet") => pod_spec(object.pointer_mut("/spec/template/spec")),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => subjects(object),
        _ => {}
    }
}

fn set_default(map: &mut Map<String, Value>, name: &str, value: Value) {
    let slot = map.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = value;
    }
}

/// Every namespace carries its name as a label.
fn namespace(object: &mut Value) {
    let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned) else { return };
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    set_default(metadata, "labels", json!({}));
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        set_default(labels, "kubernetes.io/metadata.name", json!(name));
    }
}

/// `stringData` is for writing only: it goes into `data`.
fn secret(object: &mut Value) {
    let Some(secret) = object.as_object_mut() else { return };
    let Some(Value::Object(plain)) = secret.shift_remove("stringData") else { return };
    if plain.is_empty() {
        return;
    }
    set_default(secret, "data", json!({}));
    if let Some(data) = secret.get_mut("data").and_then(Value::as_object_mut) {
        for (name, value) in plain {
            if let Value::String(text) = value {
                data.insert(name, json!(base64::engine::general_purpose::STANDARD.encode(text)));
            }
        }
    }
}

fn service(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    if kind != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        set_default(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    if spec.get("sessionAffinity").is_some_and(|affinity| affinity == "ClientIP") {
        set_default(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10800}}));
    } else if spec.get("sessionAffinity").is_none_or(|affinity| affinity.is_null() || affinity == "None") {
        spec.shift_remove("sessionAffinityConfig");
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        let number = port.get("port").cloned().unwrap_or(Value::Null);
        if !number.is_null() && port.get("targetPort").is_none_or(|target| target == &json!(0) || target == "") {
            port.insert("targetPort".to_owned(), number);
        }
    }
}

fn rolling_update(strategy: Option<&mut Value>, default: &Value) {
    let Some(strategy) = strategy.and_then(Value::as_object_mut) else { return };
    if strategy.get("type").is_none_or(|kind| kind == "RollingUpdate" || kind.is_null()) {
        set_default(strategy, "rollingUpdate", default.clone());
    }
}

/// Images without a tag, or with `latest`, are always pulled.
fn pod_spec(spec: Option<&mut Value>) {
    let Some(spec) = spec.and_then(Value::as_object_mut) else { return };
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let name = image.rsplit('/').next().unwrap_or_default();
            let latest = !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
            set_default(container, "imagePullPolicy", json!(if latest { "Always" } else { "IfNotPresent" }));
        }
    }
    // Two names for one thing: the old one follows the new one.
    match (spec.get("serviceAccountName").cloned(), spec.get("serviceAccount").cloned()) {
        (Some(name), _) => {
            spec.insert("serviceAccount".to_owned(), name);
        }
        (None, Some(name)) => {
            spec.insert("serviceAccountName".to_owned(), name);
        }
        (None, None) => {}
    }
}

fn subjects(object: &mut Value) {
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(subject) = subject.as_object_mut() else { continue };
        if subject.get("kind").is_some_and(|kind| kind == "User" || kind == "Group") {
            set_default(subject, "apiGroup", json!("rbac.authorization.k8s.io"));
        }
    }
}
