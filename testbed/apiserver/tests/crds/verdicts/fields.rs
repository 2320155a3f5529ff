//! The fields of a definition that have rules.

use serde_json::Value;

use super::official;

const RULES: &str = "x-kubernetes-validations";

/// A field with rules.
pub struct Field {
    /// Definition, version and path, for people.
    pub at: String,
    /// The path alone: `spec.rules[].filters`.
    pub path: String,
    /// The plural of the kind.
    pub plural: String,
    /// The schema of the field, with its own rules only.
    pub schema: Value,
}

impl Field {
    /// The rules of the field itself.
    pub fn rules(&self) -> Vec<&str> {
        self.schema[RULES].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap()).collect()
    }
}

/// Every field of every version that has rules, in an order of their names.
pub fn with_rules(definition: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    for version in definition["spec"]["versions"].as_array().unwrap() {
        let mut found = Vec::new();
        walk(&version["schema"]["openAPIV3Schema"], "", &mut found);
        fields.extend(found.into_iter().map(|(path, schema)| Field {
            at: format!("{}/{} {path}", official::name(definition), version["name"].as_str().unwrap()),
            path,
            plural: definition["spec"]["names"]["plural"].as_str().unwrap().to_owned(),
            schema,
        }));
    }
    fields.sort_by(|a, b| a.at.cmp(&b.at));
    fields
}

fn walk(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    if schema[RULES].is_array() {
        let mut own = bare(schema);
        own[RULES] = schema[RULES].clone();
        found.push((path.to_owned(), own));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let separator = if path.is_empty() { "" } else { "." };
        walk(field, &format!("{path}{separator}{name}"), found);
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[key].is_object() {
            walk(&schema[key], &format!("{path}{suffix}"), found);
        }
    }
}

/// A schema without rules and descriptions, at any depth.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let kept =
                object.iter().filter(|(key, value)| *key != RULES && !(*key == "description" && value.is_string()));
            Value::Object(kept.map(|(key, value)| (key.clone(), bare(value))).collect())
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        other => other.clone(),
    }
}
