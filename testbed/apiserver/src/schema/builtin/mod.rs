//! Structural schemas of the built-in kinds: what clients rely on of their defaults, limits, list keys and patch keys.
//!
//! Fields outside the common part of pod specs and node statuses are kept without being checked.

mod adjust;
mod notation;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::CompiledSchema;
use super::meta::OBJECT_META;

pub(crate) use adjust::adjust;

type Schemas = HashMap<(String, String), Arc<CompiledSchema>>;

static SCHEMAS: LazyLock<Result<Schemas, String>> = LazyLock::new(|| {
    let mut schemas = Schemas::new();
    for ((group, kind), schema) in notation::read(include_str!("core.schema"), &OBJECT_META)? {
        let compiled = CompiledSchema::compile(&schema).map_err(|error| format!("{kind}: {error}"))?;
        let compiled = CompiledSchema { built_in: Some((group.clone(), kind.clone())), ..compiled };
        schemas.insert((group, kind), Arc::new(compiled));
    }
    Ok(schemas)
});

/// The schema of a built-in kind; the core group is the empty string.
pub fn schema(group: &str, kind: &str) -> Option<Arc<CompiledSchema>> {
    // The embedded text is part of the program; the tests read all of it.
    let schemas = SCHEMAS.as_ref().ok()?;
    schemas.get(&(group.to_owned(), kind.to_owned())).cloned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_text_is_well_formed() {
        assert_eq!(SCHEMAS.as_ref().err(), None);
        let stated = include_str!("core.schema").lines().filter(|line| line.starts_with("kind ")).count();
        assert_eq!(SCHEMAS.as_ref().unwrap().len(), stated);
        assert!(schema("", "Unheard").is_none());
    }

    fn defaulted(group: &str, kind: &str, mut object: Value) -> Value {
        let schema = schema(group, kind).unwrap();
        assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        schema.apply_defaults(&mut object);
        let once = object.clone();
        schema.apply_defaults(&mut object);
        assert_eq!(object, once, "defaulting must be idempotent");
        assert_eq!(schema.validate(&object, None), []);
        object
    }

    #[test]
    fn service_defaults() {
        let service = defaulted("", "Service", json!({"spec": {"ports": [{"port": 80}], "type": "LoadBalancer"}}));
        assert_eq!(
            service["spec"],
            json!({
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                "type": "LoadBalancer", "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": true,
            })
        );
    }

    #[test]
    fn deployment_defaults() {
        let deployment = defaulted(
            "apps",
            "Deployment",
            json!({"spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}, "creationTimestamp": null},
                    "spec": {"containers": [{"name": "c", "image": "r.example/i:v1", "ports": [{"containerPort": 80}]}]}},
            }}),
        );
        let spec = &deployment["spec"];
        assert_eq!(spec["replicas"], 1);
        assert_eq!(
            spec["strategy"],
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
        );
        assert_eq!(spec["template"]["metadata"], json!({"labels": {"a": "b"}}));
        let pod = &spec["template"]["spec"];
        assert_eq!(pod["restartPolicy"], "Always");
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "IfNotPresent");
        assert_eq!(pod["containers"][0]["ports"], json!([{"containerPort": 80, "protocol": "TCP"}]));
    }

    #[rstest]
    #[case::secret("", "Secret", json!({"stringData": {"k": "hi"}}), "/data", json!({"k": "aGk="}))]
    #[case::secret_type("", "Secret", json!({}), "/type", json!("Opaque"))]
    #[case::namespace("", "Namespace", json!({"metadata": {"name": "n"}}), "/metadata/labels",
        json!({"kubernetes.io/metadata.name": "n"}))]
    #[case::slice("discovery.k8s.io", "EndpointSlice",
        json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 1}]}),
        "/ports", json!([{"port": 1, "name": "", "protocol": "TCP"}]))]
    #[case::slice_without_endpoints("discovery.k8s.io", "EndpointSlice", json!({"addressType": "IPv6"}),
        "/addressType", json!("IPv6"))]
    #[case::recreate("apps", "Deployment",
        json!({"spec": {"strategy": {"type": "Recreate"}, "selector": {}, "template": {"spec": {"containers": []}}}}),
        "/spec/strategy", json!({"type": "Recreate"}))]
    #[case::binding("rbac.authorization.k8s.io", "RoleBinding",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}),
        "/subjects/0/apiGroup", json!("rbac.authorization.k8s.io"))]
    fn defaults(
        #[case] group: &str,
        #[case] kind: &str,
        #[case] object: Value,
        #[case] pointer: &str,
        #[case] expected: Value,
    ) {
        assert_eq!(defaulted(group, kind, object).pointer(pointer), Some(&expected));
    }

    #[rstest]
    #[case("", "Service", json!({"spec": {"ports": [{"port": 0}]}}), "spec.ports[0].port", "FieldValueInvalid")]
    #[case("", "Service", json!({"spec": {"type": "Magic"}}), "spec.type", "FieldValueNotSupported")]
    #[case("apps", "Deployment", json!({"spec": {"template": {}}}), "spec.selector", "FieldValueRequired")]
    #[case("", "Secret", json!({"data": {"k": "%"}}), "data.k", "FieldValueTypeInvalid")]
    #[case("discovery.k8s.io", "EndpointSlice", json!({"endpoints": []}), "addressType", "FieldValueRequired")]
    #[case("", "Pod", json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}), "spec.containers[1]", "FieldValueDuplicate")]
    fn refusals(
        #[case] group: &str,
        #[case] kind: &str,
        #[case] object: Value,
        #[case] field: &str,
        #[case] reason: &str,
    ) {
        let schema = schema(group, kind).unwrap();
        let mut object = object;
        schema.apply_defaults(&mut object);
        let causes = schema.validate(&object, None);
        assert!(causes.iter().any(|cause| cause.field == field && cause.reason == reason), "{causes:#?}");
    }
}
