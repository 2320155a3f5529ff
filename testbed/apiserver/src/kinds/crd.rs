//! CustomResourceDefinitions: what they serve, and their defaults.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::jsonpath::JsonPath;
use crate::meta;
use crate::resource::{Behaviour, Column, ColumnKind, NameRule, Resource, ScalePaths, SchemaSource};

/// The collection that holds the definitions.
pub const COLLECTION: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The finalizer under which all objects of a definition go before the definition does.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn str_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn texts(value: &Value, pointer: &str) -> Vec<String> {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect()).unwrap_or_default()
}

/// The collection that holds the objects of a definition.
pub fn objects_of(definition: &Value) -> String {
    format!("{}.{}", str_at(definition, "/spec/names/plural"), str_at(definition, "/spec/group"))
}

/// Whether the definition's kinds are served.
pub fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Established" && c["status"] == "True"))
}

/// The kinds that an established definition serves, one per served version.
pub fn resources(definition: &Value) -> Vec<Resource> {
    if !is_established(definition) {
        return Vec::new();
    }
    let shared = Arc::new(definition.clone());
    let group = str_at(definition, "/spec/group");
    let versions =
        definition.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let stored = versions.iter().find(|version| version["storage"] == true).map_or("", |v| str_at(v, "/name"));
    let collection: Arc<str> = Arc::from(objects_of(definition));
    let served = versions.iter().enumerate().filter(|(_, version)| version["served"] == true);
    served
        .map(|(index, version)| Resource {
            group: group.to_owned(),
            version: str_at(version, "/name").to_owned(),
            kind: str_at(definition, "/spec/names/kind").to_owned(),
            list_kind: str_at(definition, "/spec/names/listKind").to_owned(),
            plural: str_at(definition, "/spec/names/plural").to_owned(),
            singular: str_at(definition, "/spec/names/singular").to_owned(),
            short_names: texts(definition, "/spec/names/shortNames"),
            categories: texts(definition, "/spec/names/categories"),
            namespaced: str_at(definition, "/spec/scope") == "Namespaced",
            collection: collection.clone(),
            stored_as: format!("{group}/{stored}"),
            status_subresource: version.pointer("/subresources/status").is_some(),
            scale: scale(version),
            behaviour: Behaviour {
                generation: true,
                unconditional_update: false,
                create_on_update: false,
                status_on_create: false,
                returns_deleted: false,
                review: false,
                name: NameRule::Subdomain,
            },
            custom: true,
            columns: columns(version),
            selectable: selectable(version),
            deprecation: deprecation(definition, version),
            schema: SchemaSource::custom(shared.clone(), index),
        })
        .collect()
}

fn scale(version: &Value) -> Option<ScalePaths> {
    let scale = version.pointer("/subresources/scale").filter(|scale| scale.is_object())?;
    let path = |field: &str| scale[field].as_str().unwrap_or("").to_owned();
    let (spec, status) = (path("specReplicasPath"), path("statusReplicasPath"));
    Some(ScalePaths { spec, status, selector: path("labelSelectorPath") })
}

fn columns(version: &Value) -> Vec<Column> {
    let mut columns = vec![Column::object_name()];
    let Some(own) = version.get("additionalPrinterColumns").and_then(Value::as_array) else {
        columns.push(Column::age());
        return columns;
    };
    columns.extend(own.iter().filter_map(|column| {
        let path = JsonPath::parse(str_at(column, "/jsonPath")).ok()?;
        let kind = str_at(column, "/type");
        let cell = if kind == "date" { ColumnKind::Age(path) } else { ColumnKind::Path(path) };
        Some(Column {
            format: str_at(column, "/format").to_owned(),
            description: str_at(column, "/description").to_owned(),
            priority: column["priority"].as_i64().unwrap_or(0),
            ..Column::new(str_at(column, "/name"), kind, cell)
        })
    }));
    columns
}

fn deprecation(definition: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    let own = version["deprecationWarning"].as_str().map(str::to_owned);
    let (group, kind) = (str_at(definition, "/spec/group"), str_at(definition, "/spec/names/kind"));
    Some(own.unwrap_or_else(|| format!("{group}/{} {kind} is deprecated", str_at(version, "/name"))))
}

fn selectable(version: &Value) -> Vec<String> {
    let fields = version.get("selectableFields").and_then(Value::as_array);
    let paths = fields.into_iter().flatten().map(|field| str_at(field, "/jsonPath").to_owned());
    paths.filter(|path| !path.is_empty()).collect()
}

/// Fills in what the author of a definition may leave out.
pub fn default(definition: &mut Value) {
    let kind = str_at(definition, "/spec/names/kind").to_owned();
    let spec = meta::child(definition, "spec");
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if let Some(Value::Object(names)) = spec.get_mut("names").filter(|_| !kind.is_empty()) {
        names.entry("singular").or_insert_with(|| Value::String(kind.to_lowercase()));
        names.entry("listKind").or_insert_with(|| Value::String(format!("{kind}List")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::naming;

    fn definition() -> Value {
        json!({
            "metadata": {"name": "tests.example.dev"},
            "spec": {
                "group": "example.dev",
                "scope": "Namespaced",
                "names": {"plural": "tests", "kind": "Test"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
                     "subresources": {"status": {}}},
                    {"name": "v1beta1", "served": true, "storage": false,
                     "schema": {"openAPIV3Schema": {"type": "object"}}},
                    {"name": "v1alpha1", "served": false, "storage": false,
                     "schema": {"openAPIV3Schema": {"type": "object"}}},
                ],
            },
        })
    }

    #[test]
    fn serves_each_served_version_from_one_collection() {
        let mut definition = definition();
        default(&mut definition);
        assert!(resources(&definition).is_empty(), "nothing is served before it is established");
        naming::establish(&mut definition, [], "2026-01-01T00:00:00Z");
        let found = resources(&definition);
        let versions: Vec<_> =
            found.iter().map(|r| (r.api_version(), r.stored_as.as_str(), r.status_subresource)).collect();
        let expected = [
            ("example.dev/v1".to_owned(), "example.dev/v1", true),
            ("example.dev/v1beta1".to_owned(), "example.dev/v1", false),
        ];
        assert_eq!(versions, expected);
        assert_eq!(found[0].list_kind, "TestList");
        assert_eq!(found[0].singular, "test");
    }
}
