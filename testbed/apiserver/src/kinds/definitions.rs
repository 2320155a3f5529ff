//! Checks of CustomResourceDefinitions.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::crd::{is_established, objects_of};
use super::names::bad_name;
use crate::error::StatusCause;
use crate::jsonpath::JsonPath;
use crate::meta;
use crate::resource::{NameRule, compile};
use crate::schema::{SchemaError, structural};

/// The annotation by which the groups of Kubernetes itself say that somebody has approved of the API.
const APPROVED: &str = "api-approved.kubernetes.io";

fn text<'v>(definition: &'v Value, pointer: &str) -> &'v str {
    definition.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn versions(definition: &Value) -> &[Value] {
    definition["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with a definition: names, versions and schemas.
pub fn validate(definition: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    if old.is_none() && meta::name(definition) != objects_of(definition) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(StatusCause::invalid("metadata.name", &definition["metadata"]["name"], why));
    }
    group_and_scope(definition, &mut causes);
    if definition.pointer("/spec/conversion/strategy").is_some_and(|strategy| strategy != "None") {
        let strategy = &definition["spec"]["conversion"]["strategy"];
        let why = "this server converts between versions of identical structure only";
        causes.push(StatusCause::invalid("spec.conversion.strategy", strategy, why));
    }
    validate_versions(definition, &mut causes);
    stored_versions(definition, old, &mut causes);
    names(definition, &mut causes);
    approval(definition, old, &mut causes);
    let preserves = |definition: &Value| definition["spec"]["preserveUnknownFields"] == true;
    if preserves(definition) && !old.is_some_and(preserves) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in the schema instead";
        causes.push(StatusCause::invalid("spec.preserveUnknownFields", &true.into(), why));
    }
    if let Some(old) = old {
        immutable(definition, old, &mut causes);
    }
    causes
}

fn group_and_scope(definition: &Value, causes: &mut Vec<StatusCause>) {
    let group = text(definition, "/spec/group");
    if group.is_empty() {
        causes.push(StatusCause::required("spec.group", ""));
    } else if let Some(why) = bad_name(NameRule::Subdomain, group) {
        causes.push(StatusCause::invalid("spec.group", &group.into(), why));
    } else if !group.contains('.') {
        causes.push(StatusCause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    let scope = &definition["spec"]["scope"];
    match scope.as_str().unwrap_or("") {
        "Namespaced" | "Cluster" => {}
        "" => causes.push(StatusCause::required("spec.scope", "")),
        _ => {
            let message = format!("Unsupported value: {scope}: supported values: \"Cluster\", \"Namespaced\"");
            causes.push(StatusCause::new("FieldValueNotSupported", "spec.scope", message));
        }
    }
}

/// Whether a text begins with a letter and is a label otherwise, as names of kinds in lower case are.
fn is_word(text: &str) -> bool {
    bad_name(NameRule::Label, text).is_none() && text.starts_with(|first: char| first.is_ascii_lowercase())
}

fn names(definition: &Value, causes: &mut Vec<StatusCause>) {
    const WORD: &str = "must be lower case letters, digits and hyphens, and begin with a letter";
    let names = &definition["spec"]["names"];
    for field in ["plural", "singular", "kind", "listKind"] {
        let name = names[field].as_str().unwrap_or("");
        let path = format!("spec.names.{field}");
        if name.is_empty() {
            causes.push(StatusCause::required(path, ""));
            continue;
        }
        let compared = if field.ends_with("ind") { name.to_lowercase() } else { name.to_owned() };
        if !is_word(&compared) {
            causes.push(StatusCause::invalid(path, &name.into(), WORD));
        }
    }
    if names["kind"].as_str().is_some_and(|kind| !kind.is_empty()) && names["kind"] == names["listKind"] {
        let why = "kind and listKind may not be the same";
        causes.push(StatusCause::invalid("spec.names.listKind", &names["listKind"], why));
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in names[field].as_array().into_iter().flatten().enumerate() {
            if !name.as_str().is_some_and(is_word) {
                causes.push(StatusCause::invalid(format!("spec.names.{field}[{index}]"), name, WORD));
            }
        }
    }
}

fn validate_versions(definition: &Value, causes: &mut Vec<StatusCause>) {
    let versions = versions(definition);
    let listed: Value = versions.iter().map(|version| version["name"].clone()).collect();
    let mut seen = HashSet::new();
    let mut unique = true;
    for (index, version) in versions.iter().enumerate() {
        let name = version["name"].as_str().unwrap_or("");
        unique &= seen.insert(name);
        if !is_word(name) {
            let why = "must be lower case letters, digits and hyphens, and begin with a letter";
            causes.push(StatusCause::invalid(format!("spec.versions[{index}].name"), &version["name"], why));
            if index == 0 {
                // The first version has a second name in the form in which definitions are checked.
                causes.push(StatusCause::invalid("spec.version", &version["name"], why));
            }
        }
    }
    if !unique {
        causes.push(StatusCause::invalid("spec.versions", &listed, "must contain unique version names"));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(StatusCause::invalid("spec.versions", &listed, why));
    }
    let texts: Vec<_> = versions.iter().map(|version| version.pointer("/schema/openAPIV3Schema")).collect();
    // Schemas that are the same in all versions are reported once, where the API server keeps them.
    let shared = texts.iter().all(|text| *text == texts[0]);
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        match texts[index] {
            None => {
                causes.push(StatusCause::required(format!("{path}.schema.openAPIV3Schema"), "schemas are required"));
            }
            Some(_) if shared && index > 0 => {}
            Some(schema) if shared => validate_schema(schema, "spec.validation.openAPIV3Schema", causes),
            Some(schema) => validate_schema(schema, &format!("{path}.schema.openAPIV3Schema"), causes),
        }
        let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
        for (at, column) in columns.into_iter().flatten().enumerate() {
            if let Err(error) = JsonPath::parse(text(column, "/jsonPath")) {
                let field = format!("{path}.additionalPrinterColumns[{at}].jsonPath");
                causes.push(StatusCause::invalid(field, &column["jsonPath"], &error.to_string()));
            }
        }
    }
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
    let wrong = |error: &SchemaError| {
        let field = match error {
            SchemaError::Rule { at: below, .. } if !below.is_empty() => format!("{at}.{below}"),
            _ => at.to_owned(),
        };
        StatusCause::new("FieldValueInvalid", field, format!("Invalid value: {error}"))
    };
    match compile(schema) {
        Err(error) => causes.push(wrong(&error)),
        Ok(schema) => causes.extend(schema.check_rules().iter().map(wrong)),
    }
}

/// Versions in which objects may be stored still must stay.
fn stored_versions(definition: &Value, old: Option<&Value>, causes: &mut Vec<StatusCause>) {
    let before = old.and_then(|old| old["status"]["storedVersions"].as_array());
    let mut stored: Vec<&str> = before.into_iter().flatten().filter_map(Value::as_str).collect();
    let storage = versions(definition).iter().filter(|version| version["storage"] == true);
    for name in storage.clone().map(|version| version["name"].as_str().unwrap_or("")) {
        if !stored.contains(&name) {
            stored.push(name);
        }
    }
    if stored.is_empty() {
        let why = "must have at least one stored version";
        causes.push(StatusCause::invalid("status.storedVersions", &json!([]), why));
        return;
    }
    let mut missing: Vec<&str> = stored.clone();
    for version in versions(definition) {
        let name = version["name"].as_str().unwrap_or("");
        let known = missing.iter().position(|stored| *stored == name);
        if let Some(at) = known {
            missing.remove(at);
        } else if version["storage"] == true {
            let why = format!("must have the storage version {name}");
            causes.push(StatusCause::invalid("status.storedVersions", &json!(stored), &why));
        }
    }
    for name in missing {
        let index = stored.iter().position(|stored| *stored == name).unwrap_or_default();
        let why = "missing from spec.versions; objects may be stored in it still";
        causes.push(StatusCause::invalid(format!("status.storedVersions[{index}]"), &name.into(), why));
    }
}

fn approval(definition: &Value, old: Option<&Value>, causes: &mut Vec<StatusCause>) {
    let group = text(definition, "/spec/group");
    let protected = |domain: &str| group == domain || group.ends_with(&format!(".{domain}"));
    let given = |definition: &Value| definition["metadata"]["annotations"][APPROVED].clone();
    if !(protected("k8s.io") || protected("kubernetes.io")) || old.is_some_and(|old| given(old) == given(definition)) {
        return;
    }
    let field = format!("metadata.annotations[{APPROVED}]");
    let value = given(definition);
    match value.as_str().unwrap_or("") {
        "" => causes.push(StatusCause::required(field, "protected groups must have approval annotation")),
        text if text.starts_with("unapproved") || text.contains("://") => {}
        _ => causes.push(StatusCause::invalid(field, &value, "must be a URL, or begin with \"unapproved\"")),
    }
}

fn immutable(definition: &Value, old: &Value, causes: &mut Vec<StatusCause>) {
    let established: &[&str] = if is_established(old) { &["/spec/scope", "/spec/names/kind"] } else { &[] };
    for pointer in established.iter().chain(&["/spec/group", "/spec/names/plural"]) {
        if text(old, pointer) != text(definition, pointer) {
            let path = pointer[1..].replace('/', ".");
            causes.push(StatusCause::invalid(path, &text(definition, pointer).into(), "field is immutable"));
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn definition() -> Value {
        json!({
            "metadata": {"name": "tests.example.dev"},
            "spec": {
                "group": "example.dev",
                "scope": "Namespaced",
                "names": {"plural": "tests", "singular": "test", "kind": "Test", "listKind": "TestList"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
                ],
            },
        })
    }

    #[rstest]
    #[case("/metadata/name", json!("other"), &["metadata.name"])]
    #[case("/spec/scope", json!("Nowhere"), &["spec.scope"])]
    #[case("/spec/scope", Value::Null, &["spec.scope"])]
    #[case("/spec/names/kind", json!(""), &["spec.names.kind"])]
    #[case("/spec/names/kind", json!("te st"), &["spec.names.kind"])]
    #[case("/spec/names/listKind", json!("Test"), &["spec.names.listKind"])]
    #[case("/spec/versions", json!([]), &["spec.versions", "status.storedVersions"])]
    #[case("/spec/versions/0/storage", json!(false), &["spec.versions", "status.storedVersions"])]
    #[case("/spec/versions/0/name", json!("V1"), &["spec.versions[0].name", "spec.version"])]
    #[case("/spec/versions/0/schema", Value::Null, &["spec.versions[0].schema.openAPIV3Schema"])]
    #[case("/spec/preserveUnknownFields", json!(true), &["spec.preserveUnknownFields"])]
    fn mistakes_are_told_by_their_field(#[case] at: &str, #[case] value: Value, #[case] expected: &[&str]) {
        let mut wrong = definition();
        assert_eq!(validate(&wrong, None), []);
        wrong["spec"]["preserveUnknownFields"] = false.into();
        *wrong.pointer_mut(at).unwrap_or(&mut Value::Null) = value;
        let fields: Vec<String> = validate(&wrong, None).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, expected);
    }

    #[test]
    fn what_is_stored_stays() {
        let mut old = definition();
        old["status"] =
            json!({"storedVersions": ["v0", "v1"], "conditions": [{"type": "Established", "status": "True"}]});
        let mut new = definition();
        new["spec"]["names"]["kind"] = "Other".into();
        let fields: Vec<String> = validate(&new, Some(&old)).into_iter().map(|cause| cause.field).collect();
        assert_eq!(fields, ["status.storedVersions[0]", "spec.names.kind"]);
    }

    #[rstest]
    #[case(Value::Null, Some("FieldValueRequired"))]
    #[case(json!({APPROVED: "nonsense"}), Some("FieldValueInvalid"))]
    #[case(json!({APPROVED: "unapproved, a test"}), None)]
    #[case(json!({APPROVED: "https://example.dev/1"}), None)]
    fn groups_of_kubernetes_need_approval(#[case] annotations: Value, #[case] expected: Option<&str>) {
        let mut wrong = definition();
        wrong["metadata"] = json!({"name": "tests.x.k8s.io", "annotations": annotations});
        wrong["spec"]["group"] = "x.k8s.io".into();
        let reasons: Vec<String> = validate(&wrong, None).into_iter().map(|cause| cause.reason).collect();
        assert_eq!(reasons, expected.map(str::to_owned).into_iter().collect::<Vec<_>>());
    }
}
