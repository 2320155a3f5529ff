//! Objects of built-in kinds before anybody has said anything.

use serde_json::{Value, json};

use crate::resource::Resource;

/// What an empty object of a built-in kind says all the same, for the fields that Kubernetes never leaves out. Whoever
/// creates an object does not come to own these by themselves, only what is in them.
pub fn zero(resource: &Resource) -> Option<Value> {
    let template = || json!({"metadata": {}, "spec": {"containers": null}});
    let fields = match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace" | "Pod" | "Node") => json!({"spec": {}, "status": {}}),
        ("", "Service") => json!({"spec": {}, "status": {"loadBalancer": {}}}),
        ("", "Event") => json!({
            "involvedObject": {}, "source": {}, "reportingComponent": "", "reportingInstance": "",
            "eventTime": null, "firstTimestamp": null, "lastTimestamp": null,
        }),
        ("events.k8s.io", "Event") => json!({
            "regarding": {}, "deprecatedSource": {}, "eventTime": null,
            "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
        }),
        ("discovery.k8s.io", "EndpointSlice") => json!({"endpoints": null}),
        ("apps", "Deployment") => {
            json!({"spec": {"selector": null, "template": template(), "strategy": {}}, "status": {}})
        }
        ("apps", "DaemonSet") => {
            json!({"spec": {"selector": null, "template": template(), "updateStrategy": {}}, "status": {}})
        }
        ("apps", "ReplicaSet") => json!({"spec": {"selector": null, "template": template()}, "status": {}}),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => json!({"rules": null}),
        ("certificates.k8s.io", "ClusterTrustBundle") => json!({"spec": {"trustBundle": ""}}),
        ("coordination.k8s.io", "Lease") => json!({"spec": {}}),
        _ => return None,
    };
    Some(fields)
}
