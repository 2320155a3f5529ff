//! What a CustomResourceDefinition's schema must be beyond well-formed: structural. Judged on the text, so that every
//! violation has the path of the field that it stands in.
//!
//! The rules are those of apiextensions.k8s.io/v1. CEL rules are compiled elsewhere, see
//! [`CompiledSchema::check_rules`](super::CompiledSchema::check_rules).

mod branches;
mod defaults;
mod lists;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::cause::Cause;
use super::formats::regex;
use super::read::{flag, text};

/// Every violation of a schema. The fields are paths from its root, such as `properties[spec].type`.
pub fn check(schema: &Value) -> Vec<Cause> {
    let mut checker = Checker::default();
    checker.structural(schema, "", Level::Root);
    defaults::check(schema, &mut checker);
    let mut required = std::collections::HashSet::new();
    checker.violations.retain(|cause| cause.reason != "FieldValueRequired" || required.insert(cause.field.clone()));
    checker.violations
}

/// Where a schema stands in the structural skeleton.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Field,
    Item,
}

/// The types that the schema language has.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords of JSON Schema that a structural schema does not have.
const UNSUPPORTED: [&str; 7] =
    ["id", "$ref", "$schema", "additionalItems", "definitions", "dependencies", "patternProperties"];

#[derive(Default)]
struct Checker {
    violations: Vec<Cause>,
}

impl Checker {
    fn required(&mut self, at: &str, field: &str, detail: &str) {
        self.violations.push(Cause::required(child(at, field), detail));
    }

    fn forbidden(&mut self, at: &str, field: &str, detail: &str) {
        self.violations.push(Cause::forbidden(child(at, field), detail));
    }

    fn invalid(&mut self, at: &str, field: &str, value: &Value, detail: &str) {
        self.violations.push(Cause::invalid(child(at, field), value, detail));
    }

    fn not_supported(&mut self, at: &str, field: &str, value: &Value, known: &[&str]) {
        let known: Vec<Value> = known.iter().map(|known| Value::from(*known)).collect();
        self.violations.push(Cause::not_supported(child(at, field), value, &known));
    }

    fn not_a_schema(&mut self, value: &Value, at: &str) {
        self.violations.push(Cause::invalid(at.to_owned(), value, "a schema must be an object"));
    }

    /// A schema that shapes the object, not one of a logical operator.
    fn structural(&mut self, schema: &Value, at: &str, level: Level) {
        let Some(map) = schema.as_object() else {
            return self.not_a_schema(schema, at);
        };
        self.kind(map, at, level);
        self.anywhere(map, at);
        self.extensions(map, at);
        self.members(map, at, level);
        lists::check(self, map, at);
        if let Some(items) = map.get("items") {
            if items.is_array() {
                self.forbidden(at, "items", "items must be a schema object and not an array");
            } else {
                self.structural(items, &child(at, "items"), Level::Item);
            }
        } else if text(map, "type").is_some_and(|kind| kind == "array") && !lists::is_map(map) {
            self.required(at, "items", "must be specified");
        }
        branches::check(self, map, at);
    }

    /// The type, which must be stated wherever fields are declared.
    fn kind(&mut self, map: &Map<String, Value>, at: &str, level: Level) {
        let kind = text(map, "type").unwrap_or_default();
        let embedded = flag(map, "x-kubernetes-embedded-resource");
        let is_free = flag(map, "x-kubernetes-int-or-string") || flag(map, "x-kubernetes-preserve-unknown-fields");
        if let Some(wrong) = map.get("type").filter(|kind| !kind.is_string()) {
            self.invalid(at, "type", wrong, "must be a string");
        } else if kind == "null" {
            self.forbidden(at, "type", "type cannot be set to null, use nullable as an alternative");
        } else if !kind.is_empty() && !TYPES.contains(&kind.as_str()) {
            self.not_supported(at, "type", &kind.into(), &TYPES);
        } else if embedded && kind != "object" {
            self.must_be(at, &kind, "object", "x-kubernetes-embedded-resource is true");
        } else if kind.is_empty() && !is_free {
            let place = match level {
                Level::Root => "at the root",
                Level::Field => "for specified object fields",
                Level::Item => "for specified array items",
            };
            self.required(at, "type", &format!("must not be empty {place}"));
        } else if level == Level::Root && !kind.is_empty() && kind != "object" {
            self.invalid(at, "type", &kind.into(), "must be object at the root");
        }
    }

    /// Says that the type must be another one because of a keyword.
    fn must_be(&mut self, at: &str, kind: &str, wanted: &str, because: &str) {
        let detail = format!("must be {wanted} if {because}");
        if kind.is_empty() {
            self.required(at, "type", &detail);
        } else {
            self.invalid(at, "type", &kind.into(), &detail);
        }
    }

    /// What no schema may have, be it structural or a branch of a logical operator.
    fn anywhere(&mut self, map: &Map<String, Value>, at: &str) {
        for name in UNSUPPORTED {
            if map.get(name).is_some_and(|value| !value.is_null()) {
                self.forbidden(at, name, &format!("{name} is not supported"));
            }
        }
        if flag(map, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(at, "uniqueItems", detail);
        }
        if let Some(pattern) = text(map, "pattern")
            && let Err(error) = regex(&pattern)
        {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default();
            let detail = format!("must be a valid regular expression, but isn't: {why}");
            self.invalid(at, "pattern", &pattern.into(), &detail);
        }
    }

    /// Combinations of the `x-kubernetes-*` keywords, lists aside.
    fn extensions(&mut self, map: &Map<String, Value>, at: &str) {
        const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
        const EMBEDDED: &str = "x-kubernetes-embedded-resource";
        let kind = text(map, "type").unwrap_or_default();
        if map.get(PRESERVE) == Some(&Value::Bool(false)) {
            self.invalid(at, PRESERVE, &false.into(), "must be true or undefined");
        }
        if flag(map, "x-kubernetes-int-or-string") {
            if !kind.is_empty() {
                let detail = "must be empty if x-kubernetes-int-or-string is true";
                self.invalid(at, "type", &kind.as_str().into(), detail);
            }
            for name in [PRESERVE, EMBEDDED].into_iter().filter(|name| flag(map, name)) {
                self.invalid(at, name, &true.into(), "must be false if x-kubernetes-int-or-string is true");
            }
        }
        let has_properties = map.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        if flag(map, EMBEDDED) && !flag(map, PRESERVE) && !has_properties {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.required(at, "properties", detail);
        }
        if let Some(map_type) = map.get("x-kubernetes-map-type") {
            if kind != "object" {
                self.must_be(at, &kind, "object", "x-kubernetes-map-type is specified");
            }
            if !["atomic", "granular"].iter().any(|known| map_type == known) {
                self.not_supported(at, "x-kubernetes-map-type", map_type, &["atomic", "granular"]);
            }
        }
    }

    /// Properties and additional ones.
    fn members(&mut self, map: &Map<String, Value>, at: &str, level: Level) {
        let properties = map.get("properties").and_then(Value::as_object);
        match map.get("additionalProperties") {
            None | Some(Value::Null) => {}
            Some(additional) => {
                if level == Level::Root {
                    self.forbidden(at, "additionalProperties", "must not be used at the root");
                } else if flag(map, "x-kubernetes-embedded-resource") {
                    let detail = "must not be used if x-kubernetes-embedded-resource is set";
                    self.forbidden(at, "additionalProperties", detail);
                } else if additional == &Value::Bool(false) {
                    self.forbidden(at, "additionalProperties", "additionalProperties cannot be set to false");
                } else if properties.is_some_and(|properties| !properties.is_empty()) && additional.is_object() {
                    let detail = "additionalProperties and properties are mutual exclusive";
                    self.forbidden(at, "additionalProperties", detail);
                }
                if !additional.is_boolean() {
                    self.structural(additional, &child(at, "additionalProperties"), Level::Field);
                }
            }
        }
        let is_resource = level == Level::Root || flag(map, "x-kubernetes-embedded-resource");
        for (name, property) in properties.into_iter().flatten() {
            let at = key(at, name);
            let fixed = match name.as_str() {
                "apiVersion" | "kind" if is_resource => Some("string"),
                "metadata" if is_resource => Some("object"),
                _ => None,
            };
            if let Some(fixed) = fixed {
                self.identity(property, &at, fixed, level);
            } else {
                self.structural(property, &at, Level::Field);
            }
        }
    }

    /// A field that every resource has: its type is given, and of its metadata only names may be restricted.
    fn identity(&mut self, property: &Value, at: &str, fixed: &str, level: Level) {
        let kind = property.get("type").cloned().unwrap_or_else(|| "".into());
        if kind != fixed {
            self.invalid(at, "type", &kind, &format!("must be {fixed}"));
            return;
        }
        let members = property.get("properties").and_then(Value::as_object);
        let other =
            members.and_then(|members| members.keys().find(|name| !["name", "generateName"].contains(&name.as_str())));
        if fixed == "object" && level == Level::Root && other.is_some() {
            let detail =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.violations.push(Cause::forbidden(at.to_owned(), detail));
            return;
        }
        self.structural(property, at, Level::Field);
    }
}

/// The path of a keyword of the schema at `at`.
fn child(at: &str, field: &str) -> String {
    if at.is_empty() { field.to_owned() } else { format!("{at}.{field}") }
}

/// The path of a property of the schema at `at`.
fn key(at: &str, property: &str) -> String {
    child(at, &format!("properties[{property}]"))
}
