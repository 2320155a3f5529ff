//! The CustomResourceDefinitions of the kinds: our own, expanded from the compact sources in `crds/`.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::kinds::Kind;

const SHARED: &str = include_str!("../crds/shared.yaml");

/// The file of each kind.
const KINDS: [&str; 7] = [
    include_str!("../crds/resourcegroup.yaml"),
    include_str!("../crds/storageaccount.yaml"),
    include_str!("../crds/storageaccountsblobservice.yaml"),
    include_str!("../crds/virtualnetwork.yaml"),
    include_str!("../crds/virtualnetworkssubnet.yaml"),
    include_str!("../crds/flexibleserver.yaml"),
    include_str!("../crds/roleassignment.yaml"),
];

static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    // The sources are compiled in and a test expands them, so that nothing is left out here.
    gateproof_apiserver::crds::expand(SHARED, &KINDS).unwrap_or_else(|error| {
        tracing::error!(%error, "the definitions do not expand");
        Vec::new()
    })
});

/// The CustomResourceDefinitions of all kinds, complete: what they do not name is pruned by the API server.
pub fn definitions() -> Vec<Value> {
    DEFINITIONS.clone()
}

/// What of a status has a place in the definition of its kind; the API server would drop the rest.
pub fn fit(kind: &Kind, status: &Value) -> Value {
    let name = format!("{}.{}", kind.plural, kind.group);
    let definition = DEFINITIONS.iter().find(|one| one["metadata"]["name"] == name.as_str());
    let schema = definition
        .and_then(|one| one.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/status"))
        .unwrap_or(&Value::Null);
    prune(schema, status).unwrap_or_else(|| Value::Object(Map::new()))
}

/// The part of a value that the schema takes; nothing where the type is another.
fn prune(schema: &Value, value: &Value) -> Option<Value> {
    match (schema["type"].as_str()?, value) {
        ("object", Value::Object(fields)) => {
            let fields = fields.iter().filter_map(|(name, value)| {
                let of = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"))?;
                Some((name.clone(), prune(of, value)?))
            });
            Some(Value::Object(fields.collect()))
        }
        ("array", Value::Array(items)) => {
            Some(items.iter().filter_map(|item| prune(&schema["items"], item)).collect::<Vec<_>>().into())
        }
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("integer", Value::Number(number)) if number.is_i64() => Some(value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::kinds;

    #[test]
    fn every_kind_has_a_definition_and_the_other_way_round() {
        gateproof_apiserver::crds::expand(SHARED, &KINDS).unwrap();
        let defined: Vec<Value> = definitions();
        let known = kinds::ALL.iter().map(|kind| (kind.group, kind.kind, kind.plural, kind.version));
        let said = defined.iter().map(|one| {
            let (spec, names) = (&one["spec"], &one["spec"]["names"]);
            let text = |value: &'static str, of: &'_ Value| of[value].as_str().unwrap().to_owned();
            (
                text("group", spec),
                text("kind", names),
                text("plural", names),
                spec["versions"][0]["name"].as_str().unwrap().to_owned(),
            )
        });
        let known: Vec<_> =
            known.map(|(a, b, c, d)| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned())).collect();
        assert_eq!(said.collect::<Vec<_>>(), known);
    }

    #[test]
    fn definitions_are_complete_and_have_status_and_columns() {
        for one in definitions() {
            assert!(!one.to_string().contains("preserve-unknown"), "{}", one["metadata"]["name"]);
            let version = &one["spec"]["versions"][0];
            assert_eq!(version["subresources"], json!({"status": {}}));
            let columns: Vec<_> =
                version["additionalPrinterColumns"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
            assert_eq!(columns, ["Ready", "Severity", "Reason", "Message"]);
            let condition =
                version.pointer("/schema/openAPIV3Schema/properties/status/properties/conditions/items").unwrap();
            assert_eq!(condition["required"], json!(["lastTransitionTime", "reason", "status", "type"]));
        }
    }

    #[test]
    fn a_status_loses_what_has_no_place() {
        let kind = kinds::find("resources.azure.com", "ResourceGroup").unwrap();
        let status = json!({"id": "/a", "location": 7, "tags": {"a": "b"}, "etag": "x", "properties": {"provisioningState": "Succeeded", "y": 1}});
        let expected = json!({"id": "/a", "tags": {"a": "b"}, "properties": {"provisioningState": "Succeeded"}});
        assert_eq!(fit(kind, &status), expected);
    }
}
