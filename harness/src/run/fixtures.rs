//! Scenarios and targets for the tests of the pure parts.

use serde_json::Value;

use crate::cluster::discover::{Acceptance, Bundle, Class, Facts};
use crate::cluster::kinds::Kinds;
use crate::dialects::Dialect;
use crate::scenario::{ApiVersion, Apply, Bounds, Channel, Isolation, Place, Release, Scenario, Step, Verb, Version};

/// A scenario that needs nothing and does nothing.
pub(super) fn scenario(name: &str) -> Scenario {
    Scenario {
        name: name.to_owned(),
        suite: "gateway-api".to_owned(),
        dialect: Dialect::gateway_api(),
        file: format!("{name}.yaml"),
        summary: String::new(),
        features: Vec::new(),
        without: Vec::new(),
        bounds: Bounds::default(),
        isolation: Isolation::Shared,
        namespaces: indexmap::IndexMap::default(),
        gateways: indexmap::IndexMap::default(),
        backends: Vec::new(),
        made: Vec::new(),
        steps: Vec::new(),
        digest: String::new(),
        labels: indexmap::IndexMap::default(),
    }
}

/// A step that applies objects.
pub(super) fn apply(objects: Vec<Value>) -> Step {
    Step {
        index: 0,
        verb: Verb::Apply(Apply { objects, at: ApiVersion::Newest }),
        either: Vec::new(),
        within: None,
        bounds: Bounds::default(),
        proves: Vec::new(),
        place: Place::default(),
    }
}

/// A target at v1.4.0 standard that serves Gateways and HTTPRoutes and claims both.
pub(super) fn facts() -> Facts {
    let dialect = Dialect::gateway_api();
    let group = dialect.group().to_owned();
    let mut kinds = Kinds::new(dialect);
    kinds.add(&group, "v1", "Gateway", "gateways", true);
    kinds.add(&group, "v1", "HTTPRoute", "httproutes", true);
    kinds.add("", "v1", "Service", "services", true);
    Facts {
        class: Some(Class {
            name: "class".to_owned(),
            single: None,
            address: None,
            controller_name: "example.com/controller".to_owned(),
            acceptance: Acceptance::Accepted,
        }),
        bundle: Some(Bundle {
            name: "v1.4.0".to_owned(),
            release: Release { version: Version { major: 1, minor: 4, patch: 0 }, channel: Channel::Standard },
            definitions: None,
        }),
        features: vec!["Gateway".to_owned(), "HTTPRoute".to_owned()],
        kinds,
    }
}
