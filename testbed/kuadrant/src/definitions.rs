//! The CustomResourceDefinitions of the policies and of what they depend on.

use gateproof_apiserver::crds::expand;
use serde_json::Value;

const SHARED: &str = include_str!("../crds/shared.yaml");

const KINDS: [&str; 12] = [
    include_str!("../crds/authconfig.yaml"),
    include_str!("../crds/authorino.yaml"),
    include_str!("../crds/authpolicy.yaml"),
    include_str!("../crds/certificate.yaml"),
    include_str!("../crds/clusterissuer.yaml"),
    include_str!("../crds/dnspolicy.yaml"),
    include_str!("../crds/dnsrecord.yaml"),
    include_str!("../crds/issuer.yaml"),
    include_str!("../crds/kuadrant.yaml"),
    include_str!("../crds/limitador.yaml"),
    include_str!("../crds/ratelimitpolicy.yaml"),
    include_str!("../crds/tlspolicy.yaml"),
];

/// Every definition but those of Gateway API, which `gateproof_apiserver::crds::gateway_api` gives.
///
/// # Panics
///
/// Never with the sources that are compiled in: a test expands them.
#[must_use]
pub fn definitions() -> Vec<Value> {
    expand(SHARED, &KINDS).unwrap_or_else(|error| panic!("embedded definitions: {error}"))
}
