//! The CustomResourceDefinitions of the policies and of what they depend on.

use gateproof_apiserver::crds::expand;
use serde_json::Value;

use crate::settings::Edition;

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

/// What RFC 0004 has in the status of policies and nobody serves, as a kind of its own for want of a better place.
const ANCESTORS: &str = "kind: Design\nplural: designs\ngroup: kuadrant.io\nversions: {v1: served storage}\nspec: {}\nstatus: {ancestors: ancestors}";

/// Every definition but those of Gateway API, which `gateproof_apiserver::crds::gateway_api` gives, as they are shipped.
///
/// # Panics
///
/// Never with the sources that are compiled in: a test expands them.
#[must_use]
pub fn definitions() -> Vec<Value> {
    expand(SHARED, &KINDS).unwrap_or_else(|error| panic!("embedded definitions: {error}"))
}

/// The same as an edition has them.
///
/// # Panics
///
/// Never with the sources that are compiled in: a test expands them.
#[must_use]
pub fn definitions_of(edition: Edition) -> Vec<Value> {
    let mut definitions = definitions();
    if edition == Edition::Design {
        let design = expand(SHARED, &[ANCESTORS]).unwrap_or_else(|error| panic!("embedded definitions: {error}"));
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
        let ancestors = design.first().and_then(|one| one.pointer(status)).map(|fields| &fields["ancestors"]);
        let policies =
            |one: &&mut Value| one["spec"]["names"]["kind"].as_str().is_some_and(|kind| kind.ends_with("Policy"));
        for definition in definitions.iter_mut().filter(policies) {
            if let (Some(fields), Some(ancestors)) = (definition.pointer_mut(status), ancestors) {
                fields["ancestors"] = ancestors.clone();
            }
        }
    }
    definitions
}

/// Takes away what the definitions of policies ask of conditions.
pub(crate) fn ask_nothing_of_conditions(definitions: &mut [Value]) {
    for definition in definitions.iter_mut().filter(|one| one["spec"]["group"] == "kuadrant.io") {
        for version in definition["spec"]["versions"].as_array_mut().into_iter().flatten() {
            let conditions = "/schema/openAPIV3Schema/properties/status/properties/conditions/items";
            let Some(condition) = version.pointer_mut(conditions).and_then(Value::as_object_mut) else { continue };
            condition.insert("required".to_owned(), serde_json::json!(["type"]));
            for field in ["status", "reason"] {
                condition["properties"][field] = serde_json::json!({"type": "string"});
            }
        }
    }
}
