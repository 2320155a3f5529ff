//! What a scenario must have to itself on a cluster that other runs use too, as names of Leases. Pure.

use sha2::{Digest, Sha256};

use crate::cluster::discover::Facts;
use crate::cluster::pool::Instance;
use crate::cluster::shape::Shape;
use crate::log::ProbeRequest;
use crate::scenario::bind::needs;
use crate::scenario::scope::cluster_change;
use crate::scenario::{Isolation, Scenario};

/// What is not any one object of the cluster: definitions, the class under test.
const CLUSTER: &str = "cluster";

/// Whether a scenario needs any: it changes what the cluster shares, or its hostnames do not set it apart.
pub fn needs_any<'s>(scenario: &Scenario, mut shapes: impl Iterator<Item = &'s Shape>) -> bool {
    scenario.isolation != Isolation::Shared
        || needs(scenario).single_class
        || needs(scenario).address
        || shapes.any(|shape| shape.protocol.is_layer_4())
}

/// Those that are known before a scenario starts: the cluster, the class that takes one Gateway only, the address that
/// Gateways may ask for, and the lanes of its pool Gateways. Nothing for a scenario that shares.
pub fn known_before<'i>(
    scenario: &Scenario,
    facts: &Facts,
    instances: impl Iterator<Item = &'i Instance>,
) -> Vec<String> {
    let namespaced = |group: &str, kind: &str| facts.kinds.of(group, kind).is_none_or(|kind| kind.namespaced);
    let cluster = cluster_change(scenario, namespaced).map(|_| CLUSTER.to_owned());
    let needs = needs(scenario);
    let class = facts.single_class().filter(|_| needs.single_class).map(|class| named("class", class));
    let address = facts.usable_address().filter(|_| needs.address).map(|address| named("address", address));
    let lanes = instances.flat_map(|instance| instance.addresses.iter().map(|address| lane(address, instance.port)));
    cluster.into_iter().chain(class).chain(address).chain(lanes).collect()
}

/// The lane that a probe goes by.
pub fn lane_of(request: &ProbeRequest) -> String {
    match request {
        ProbeRequest::Http(request) => lane(&request.host, request.port),
        ProbeRequest::Tcp { host, port, .. } | ProbeRequest::Udp { host, port, .. } => lane(host, *port),
    }
}

fn lane(address: &str, port: u16) -> String {
    named("lane", &format!("{address} {port}"))
}

/// A legal name of an object, whatever the text is.
fn named(what: &str, text: &str) -> String {
    let digest = format!("{:x}", Sha256::digest(text.as_bytes()));
    format!("{what}-{}", &digest[..16])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::super::fixtures::{facts, scenario};
    use super::*;

    fn instance(address: &str, port: u16) -> Instance {
        let shape: Shape = "tcp".parse().unwrap();
        Instance { name: Arc::from("tcp"), shape, port, exclusive: true, addresses: vec![address.to_owned()] }
    }

    #[test]
    fn lanes_are_addresses_with_ports() {
        let of =
            |address: &str, port: u16| known_before(&scenario("a"), &facts(), [&instance(address, port)].into_iter());
        assert_eq!(of("10.0.0.1", 80), of("10.0.0.1", 80));
        assert_ne!(of("10.0.0.1", 80), of("10.0.0.1", 81));
        assert_ne!(of("10.0.0.1", 80), of("10.0.0.2", 80));
        let request = ProbeRequest::tcp("10.0.0.1", 80, "");
        assert_eq!(of("10.0.0.1", 80), [lane_of(&request)]);
    }

    #[test]
    fn whoever_changes_the_cluster_has_it_alone() {
        let mut changing = scenario("a");
        let of = |scenario: &Scenario| known_before(scenario, &facts(), std::iter::empty());
        assert_eq!(of(&changing), Vec::<String>::new());
        assert!(!needs_any(&changing, std::iter::empty()));
        changing.isolation = Isolation::Cluster;
        assert_eq!(of(&changing), ["cluster"]);
        assert!(needs_any(&changing, std::iter::empty()));
    }
}
