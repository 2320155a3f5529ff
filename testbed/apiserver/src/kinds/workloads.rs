//! Defaults of Pods and of what makes Pods.

use serde_json::{Map, Value, json};

use crate::meta::{self, set_default};

/// Fills in a Pod's defaults.
pub fn default_pod(object: &mut Value) {
    let spec = meta::child(object, "spec");
    pod_spec(spec);
    set_default(spec, "enableServiceLinks", true);
    let status = meta::child(object, "status");
    set_default(status, "phase", "Pending");
    set_default(status, "qosClass", "BestEffort");
}

fn template(spec: &mut Map<String, Value>) {
    let template = spec.entry("template").or_insert_with(|| json!({}));
    pod_spec(meta::child(template, "spec"));
}

/// Fills in a Deployment's defaults.
pub fn default_deployment(object: &mut Value) {
    let spec = meta::child(object, "spec");
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    rolling(spec, "strategy", json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
    template(spec);
}

/// Fills in a DaemonSet's defaults.
pub fn default_daemon_set(object: &mut Value) {
    let spec = meta::child(object, "spec");
    set_default(spec, "revisionHistoryLimit", 10);
    rolling(spec, "updateStrategy", json!({"maxUnavailable": 1, "maxSurge": 0}));
    template(spec);
}

/// Fills in a ReplicaSet's defaults.
pub fn default_replica_set(object: &mut Value) {
    let spec = meta::child(object, "spec");
    set_default(spec, "replicas", 1);
    template(spec);
}

fn rolling(spec: &mut Map<String, Value>, field: &str, limits: Value) {
    let strategy = meta::as_map(spec.entry(field).or_insert_with(|| json!({})));
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let update = meta::as_map(strategy.entry("rollingUpdate").or_insert_with(|| json!({})));
        for (name, value) in limits.as_object().into_iter().flatten() {
            set_default(update, name, value.clone());
        }
    }
}

fn pod_spec(spec: &mut Map<String, Value>) {
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "securityContext", json!({}));
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            self::container(container);
        }
    }
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten().filter_map(Value::as_object_mut) {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if let Some(Value::Object(source)) = volume.get_mut(source) {
                set_default(source, "defaultMode", 420);
            }
        }
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or("");
    let tag = image.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let latest = matches!(tag, None | Some("latest")) && !image.contains('@');
    set_default(container, "imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    set_default(container, "resources", json!({}));
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        set_default(port, "protocol", "TCP");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(Value::Object(probe)) = container.get_mut(probe) {
            for (field, value) in
                [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
            {
                set_default(probe, field, value);
            }
            if let Some(Value::Object(get)) = probe.get_mut("httpGet") {
                set_default(get, "scheme", "HTTP");
                set_default(get, "path", "/");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_gets_what_the_api_server_gives_it() {
        let mut object = json!({"spec": {"template": {"spec": {"containers": [{"image": "a.b:5000/c:v1"}]}}}});
        default_deployment(&mut object);
        assert_eq!(object["spec"]["replicas"], 1);
        assert_eq!(object["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "25%");
        let container = &object["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
        assert_eq!(object["spec"]["template"]["spec"]["restartPolicy"], "Always");
    }
}
