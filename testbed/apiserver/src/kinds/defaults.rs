//! Defaults of built-in kinds that no schema can say.

use serde_json::{Value, json};

use super::{crd, empty, network, policies, workloads};
use crate::meta::{self, set_default};
use crate::resource::Resource;

/// Fills in the defaults of a built-in kind; custom kinds have theirs in their schemas.
pub fn apply(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => namespace(object),
        ("", "Service") => network::default_service(object),
        ("", "Endpoints") => network::default_endpoints(object),
        ("", "Secret") => secret(object),
        ("", "Pod") => workloads::default_pod(object),
        ("apps", "Deployment") => workloads::default_deployment(object),
        ("apps", "DaemonSet") => workloads::default_daemon_set(object),
        ("apps", "ReplicaSet") => workloads::default_replica_set(object),
        ("discovery.k8s.io", "EndpointSlice") => network::default_endpoint_slice(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd::default(object),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => policies::default(object),
        _ => {}
    }
    empty::leave_out(resource, object);
}

fn namespace(object: &mut Value) {
    let name = meta::name(object).to_owned();
    if !name.is_empty() {
        let labels = meta::entry(object).entry("labels").or_insert_with(|| json!({}));
        meta::as_map(labels).insert("kubernetes.io/metadata.name".into(), Value::String(name));
    }
}

/// `stringData` is written into `data`, and never read again.
fn secret(object: &mut Value) {
    use base64::Engine;
    let map = meta::as_map(object);
    set_default(map, "type", "Opaque");
    if let Some(Value::Object(texts)) = map.shift_remove("stringData") {
        let data = meta::as_map(map.entry("data").or_insert_with(|| json!({})));
        for (key, text) in texts {
            let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or(""));
            data.insert(key, Value::String(encoded));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_data_becomes_data() {
        let mut object = json!({"data": {"a": "QQ=="}, "stringData": {"b": "B"}});
        secret(&mut object);
        assert_eq!(object, json!({"data": {"a": "QQ==", "b": "Qg=="}, "type": "Opaque"}));
    }
}
