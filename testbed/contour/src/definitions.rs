//! The CustomResourceDefinitions.

use gateproof_apiserver::crds::expand;
use serde_json::{Value, json};

const SHARED: &str = include_str!("../crds/shared.yaml");

const KINDS: [&str; 3] = [
    include_str!("../crds/extensionservice.yaml"),
    include_str!("../crds/httpproxy.yaml"),
    include_str!("../crds/tlscertificatedelegation.yaml"),
];

/// Every definition, as v1.33 ships it. Its design has nothing in a status that these lack.
///
/// # Panics
///
/// Never with the sources that are compiled in: a test expands them.
#[must_use]
pub fn definitions() -> Vec<Value> {
    let mut definitions = expand(SHARED, &KINDS).unwrap_or_else(|error| panic!("embedded definitions: {error}"));
    for version in definitions.iter_mut().filter_map(|one| one["spec"]["versions"].as_array_mut()).flatten() {
        // What needs a spec needs metadata, which the notation has no word for, since every object has some.
        if let Some(required) = version.pointer_mut("/schema/openAPIV3Schema/required") {
            *required = json!(["metadata", "spec"]);
        }
    }
    definitions
}
