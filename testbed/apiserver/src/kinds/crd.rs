//! CustomResourceDefinitions: what they serve, their defaults and their checks.

use std::sync::Arc;

use serde_json::{Value, json};

use super::schemas::{SchemaSource, compile};
use super::{Behaviour, Column, ColumnKind, NameRule, Resource, ScalePaths};
use crate::error::StatusCause;
use crate::jsonpath::JsonPath;
use crate::meta;
use crate::schema::structural;

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
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        names.entry("singular").or_insert_with(|| Value::String(kind.to_lowercase()));
        names.entry("listKind").or_insert_with(|| Value::String(format!("{kind}List")));
    }
}

/// What is wrong with a definition: names, versions and schemas.
pub fn validate(definition: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    for field in ["spec.group", "spec.scope", "spec.names.plural", "spec.names.kind"] {
        if str_at(definition, &format!("/{}", field.replace('.', "/"))).is_empty() {
            causes.push(StatusCause::required(field, ""));
        }
    }
    let scope = &definition["spec"]["scope"];
    if !["Namespaced", "Cluster", ""].contains(&scope.as_str().unwrap_or("")) {
        let message = format!("Unsupported value: {scope}: supported values: \"Cluster\", \"Namespaced\"");
        causes.push(StatusCause::new("FieldValueNotSupported", "spec.scope", message));
    }
    if causes.is_empty() && meta::name(definition) != objects_of(definition) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(StatusCause::invalid("metadata.name", &definition["metadata"]["name"], why));
    }
    if definition.pointer("/spec/conversion/strategy").is_some_and(|strategy| strategy != "None") {
        let why = "this server converts between versions of identical structure only";
        causes.push(StatusCause::invalid(
            "spec.conversion.strategy",
            &definition["spec"]["conversion"]["strategy"],
            why,
        ));
    }
    causes.extend(validate_versions(definition));
    if let Some(old) = old {
        for field in ["group", "scope"] {
            if old["spec"][field] != definition["spec"][field] {
                let path = format!("spec.{field}");
                causes.push(StatusCause::invalid(path, &definition["spec"][field], "field is immutable"));
            }
        }
    }
    causes
}

fn validate_versions(definition: &Value) -> Vec<StatusCause> {
    let Some(versions) = definition.pointer("/spec/versions").and_then(Value::as_array) else {
        return vec![StatusCause::required("spec.versions", "must have at least one version")];
    };
    let mut causes = Vec::new();
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let names = versions.iter().map(|version| version["name"].clone()).collect();
        let why = "must have exactly one version marked as storage version";
        causes.push(StatusCause::invalid("spec.versions", &names, why));
    }
    let texts: Vec<_> = versions.iter().map(|version| version.pointer("/schema/openAPIV3Schema")).collect();
    // Schemas that are the same in all versions are reported once, where the API server keeps them.
    let shared = texts.iter().all(|text| *text == texts[0]);
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        match texts[index] {
            None => {
                causes.push(StatusCause::required(format!("{path}.schema.openAPIV3Schema"), "schemas are required"))
            }
            Some(_) if shared && index > 0 => {}
            Some(schema) if shared => validate_schema(schema, "spec.validation.openAPIV3Schema", &mut causes),
            Some(schema) => validate_schema(schema, &format!("{path}.schema.openAPIV3Schema"), &mut causes),
        }
        let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
        for (at, column) in columns.into_iter().flatten().enumerate() {
            if let Err(error) = JsonPath::parse(str_at(column, "/jsonPath")) {
                let field = format!("{path}.additionalPrinterColumns[{at}].jsonPath");
                causes.push(StatusCause::invalid(field, &column["jsonPath"], &error.to_string()));
            }
        }
    }
    causes
}

fn validate_schema(schema: &Value, at: &str, causes: &mut Vec<StatusCause>) {
    let violations = structural::check(schema);
    if !violations.is_empty() {
        causes.extend(violations.into_iter().map(|violation| {
            let field = if violation.field.is_empty() { at.to_owned() } else { format!("{at}.{}", violation.field) };
            StatusCause::new(violation.reason, field, violation.message)
        }));
        return;
    }
    let wrong = |error: &str| StatusCause::new("FieldValueInvalid", at, format!("Invalid value: {error}"));
    match compile(schema) {
        Err(error) => causes.push(wrong(&error.to_string())),
        Ok(schema) => causes.extend(schema.check_rules().iter().map(|error| wrong(&error.to_string()))),
    }
}

/// The definition with the status of one that is served: names accepted, established, versions told.
pub fn establish(definition: &mut Value, now: &str) {
    let spec = &definition["spec"];
    let names = spec["names"].clone();
    let storage = spec["versions"].as_array().into_iter().flatten().find(|version| version["storage"] == true);
    let storage = storage.map_or(Value::Null, |version| version["name"].clone());
    let old = definition.get("status").cloned().unwrap_or(Value::Null);
    let since = |kind: &str| {
        let conditions = old["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|c| c["type"] == kind && c["status"] == "True");
        found.and_then(|c| c["lastTransitionTime"].as_str()).unwrap_or(now).to_owned()
    };
    let mut versions = old["storedVersions"].as_array().cloned().unwrap_or_default();
    if !versions.contains(&storage) {
        versions.push(storage);
    }
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": since(kind), "reason": reason, "message": message});
    definition["status"] = json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": names,
        "storedVersions": versions,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
        establish(&mut definition, "2026-01-01T00:00:00Z");
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

    #[test]
    fn tells_what_is_wrong() {
        let mut wrong = definition();
        wrong["metadata"]["name"] = "other".into();
        wrong["spec"]["versions"][1]["storage"] = true.into();
        wrong["spec"]["versions"][2]["schema"] = Value::Null;
        let fields: Vec<String> = validate(&wrong, None).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, ["metadata.name", "spec.versions", "spec.versions[2].schema.openAPIV3Schema"]);
        assert!(validate(&definition(), None).is_empty());
    }
}
