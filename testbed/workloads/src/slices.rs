//! EndpointSlices for Services that select Pods of ours.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;
use sha2::{Digest, Sha256};

/// The label that says who keeps an EndpointSlice.
pub(crate) const MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";
/// Its value for ours.
pub(crate) const MANAGED_BY: &str = "workloads.gateproof.dev";

/// A Pod that runs, and where.
pub(crate) struct Backing<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) address: IpAddr,
    /// What was bound for each port that is served.
    pub(crate) bound: &'a BTreeMap<u16, u16>,
}

impl Backing<'_> {
    /// The port at which a port of a Service is served. One that nobody serves is published as it stands.
    fn port(&self, of: &ServicePort) -> Option<i32> {
        let declared = match of.target_port.as_ref() {
            None => of.port,
            Some(IntOrString::Int(number)) => *number,
            Some(IntOrString::String(name)) => self.named(name)?,
        };
        let bound = u16::try_from(declared).ok().and_then(|port| self.bound.get(&port));
        Some(bound.map_or(declared, |port| i32::from(*port)))
    }

    fn named(&self, name: &str) -> Option<i32> {
        let containers = self.pod.spec.iter().flat_map(|spec| &spec.containers);
        let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
        ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port)
    }

    fn ports(&self, service: &Service) -> Vec<(String, String, Option<String>, i32)> {
        let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        let published = ports.filter_map(|port| {
            let name = port.name.clone().unwrap_or_default();
            let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
            Some((name, protocol, port.app_protocol.clone(), self.port(port)?))
        });
        published.collect()
    }

    fn endpoint(&self) -> Endpoint {
        let meta = &self.pod.metadata;
        Endpoint {
            addresses: vec![self.address.to_string()],
            conditions: Some(EndpointConditions { ready: Some(true), serving: Some(true), terminating: Some(false) }),
            node_name: Some(crate::NODE.to_owned()),
            target_ref: serde_json::from_value(json!({
                "kind": "Pod", "name": meta.name, "namespace": meta.namespace, "uid": meta.uid,
            }))
            .ok(),
            ..Endpoint::default()
        }
    }
}

/// The EndpointSlices of a Service: one for all Pods that serve at the same ports.
pub(crate) fn slices(service: &Service, backings: &[Backing<'_>]) -> Vec<EndpointSlice> {
    let (Some(name), Some(uid)) = (&service.metadata.name, &service.metadata.uid) else { return Vec::new() };
    let mut by_ports: BTreeMap<_, Vec<&Backing<'_>>> = BTreeMap::new();
    for backing in backings.iter().filter(|backing| selects(service, backing.pod)) {
        by_ports.entry((backing.address.is_ipv6(), backing.ports(service))).or_default().push(backing);
    }
    let slice = |((is_ipv6, ports), backings): ((bool, Vec<_>), Vec<&Backing<'_>>)| {
        let digest = format!("{:x}", Sha256::digest(format!("{uid}{is_ipv6}{ports:?}")));
        EndpointSlice {
            metadata: ObjectMeta {
                name: Some(format!("{name}-{}", &digest[..10])),
                namespace: service.metadata.namespace.clone(),
                labels: Some(labels(service, name)),
                owner_references: Some(vec![OwnerReference {
                    api_version: "v1".to_owned(),
                    kind: "Service".to_owned(),
                    name: name.clone(),
                    uid: uid.clone(),
                    controller: Some(true),
                    block_owner_deletion: Some(true),
                }]),
                ..ObjectMeta::default()
            },
            address_type: if is_ipv6 { "IPv6" } else { "IPv4" }.to_owned(),
            endpoints: Some(backings.iter().map(|backing| backing.endpoint()).collect()),
            ports: Some(ports.into_iter().map(port).collect()),
        }
    };
    by_ports.into_iter().map(slice).collect()
}

/// Those of the Service, as in any cluster, and whose it is.
fn labels(service: &Service, name: &str) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.insert("kubernetes.io/service-name".to_owned(), name.to_owned());
    labels.insert(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned());
    labels
}

fn port((name, protocol, app_protocol, port): (String, String, Option<String>, i32)) -> EndpointPort {
    EndpointPort { name: Some(name), protocol: Some(protocol), app_protocol, port: Some(port) }
}

/// Whether a Service selects a Pod. One without a selector is somebody else's to fill.
fn selects(service: &Service, pod: &Pod) -> bool {
    let Some(selector) = service.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else { return false };
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    !selector.is_empty()
        && service.metadata.namespace == pod.metadata.namespace
        && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn service(selector: Value, ports: Value) -> Service {
        let spec = json!({"selector": selector, "ports": ports});
        serde_json::from_value(json!({"metadata": {"name": "svc", "namespace": "ns", "uid": "s"}, "spec": spec}))
            .unwrap()
    }

    fn pod(name: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "echo", "more": "1"}},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "web", "containerPort": 3000}]}]},
        }))
        .unwrap()
    }

    fn published(slice: &EndpointSlice) -> Vec<i32> {
        slice.ports.iter().flatten().filter_map(|port| port.port).collect()
    }

    #[rstest]
    #[case::number(json!({"port": 80, "targetPort": 3000}), 4000)]
    #[case::name(json!({"port": 80, "targetPort": "web"}), 4000)]
    #[case::default(json!({"port": 3000}), 4000)]
    #[case::nobody_serves(json!({"port": 80, "targetPort": 8443}), 8443)]
    fn target_ports_become_bound_ones(#[case] port: Value, #[case] expected: i32) {
        let (pod, bound) = (pod("one"), BTreeMap::from([(3000, 4000)]));
        let backing = Backing { pod: &pod, address: "127.0.0.9".parse().unwrap(), bound: &bound };
        let slices = slices(&service(json!({"app": "echo"}), json!([port])), &[backing]);
        assert_eq!(published(&slices[0]), [expected]);
        assert_eq!(slices[0].endpoints.as_ref().unwrap()[0].addresses, ["127.0.0.9"]);
    }

    #[test]
    fn pods_at_the_same_ports_share_a_slice() {
        let pods = [pod("one"), pod("two"), pod("three")];
        let bound = [3000, 3000, 4000].map(|port| BTreeMap::from([(3000, port)]));
        let address: IpAddr = "127.0.0.9".parse().unwrap();
        let backings: Vec<Backing<'_>> =
            pods.iter().zip(&bound).map(|(pod, bound)| Backing { pod, address, bound }).collect();
        let slices = slices(&service(json!({"app": "echo"}), json!([{"port": 3000}])), &backings);
        assert_eq!(slices.iter().map(|slice| slice.endpoints.iter().flatten().count()).collect::<Vec<_>>(), [2, 1]);
        assert_ne!(slices[0].metadata.name, slices[1].metadata.name);
    }

    #[rstest]
    #[case::all_labels(json!({"app": "echo", "more": "1"}), true)]
    #[case::another_value(json!({"app": "other"}), false)]
    #[case::one_too_many(json!({"app": "echo", "less": "1"}), false)]
    #[case::no_selector(json!({}), false)]
    fn selectors(#[case] selector: Value, #[case] expected: bool) {
        let (pod, bound) = (pod("one"), BTreeMap::new());
        let backing = Backing { pod: &pod, address: "127.0.0.9".parse().unwrap(), bound: &bound };
        let slices = slices(&service(selector, json!([{"port": 80}])), &[backing]);
        assert_eq!(!slices.is_empty(), expected);
    }
}
