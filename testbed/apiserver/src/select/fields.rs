//! Field selectors: equality over the few fields that a kind offers.

use serde_json::Value;

use crate::jsonpath::{JsonPath, plain};
use crate::resource::Resource;

/// All requirements must hold; none admits everything.
#[derive(Debug, Clone, Default)]
pub struct FieldSelector(Vec<Requirement>);

#[derive(Debug, Clone)]
struct Requirement {
    field: String,
    path: JsonPath,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads `metadata.name=a,spec.type!=b` for a kind.
    ///
    /// # Errors
    /// What could not be read, or which field the kind does not offer.
    pub fn parse(text: &str, resource: &Resource) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for part in split(text).into_iter().filter(|part| !part.is_empty()) {
            let (field, equal, value) =
                operator(&part).ok_or_else(|| format!("invalid selector: '{part}'; can't understand '{part}'"))?;
            requirements.push(Requirement {
                path: path(field, resource)?,
                field: field.to_owned(),
                equal,
                value: unescape(value)?,
            });
        }
        Ok(Self(requirements))
    }

    /// Whether it admits everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object, in its stored form, satisfies it. An absent field is the empty text.
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let found = requirement.path.first(object).map(plain);
            let found = match (found, requirement.field.as_str()) {
                (None, "spec.unschedulable" | "spec.hostNetwork") => "false".to_owned(),
                (None, "status.replicas") => "0".to_owned(),
                (found, _) => found.unwrap_or_default(),
            };
            (found == requirement.value) == requirement.equal
        })
    }

    /// The one name that it asks for, if it does.
    pub fn name(&self) -> Option<&str> {
        self.0.iter().find(|r| r.field == "metadata.name" && r.equal).map(|r| r.value.as_str())
    }
}

/// Splits at commas that no backslash precedes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    parts
}

fn operator(part: &str) -> Option<(&str, bool, &str)> {
    if let Some((field, value)) = part.split_once("!=") {
        return Some((field, false, value));
    }
    part.split_once("==").or_else(|| part.split_once('=')).map(|(field, value)| (field, true, value))
}

/// A value without its escapes: of commas, equals signs and backslashes.
fn unescape(value: &str) -> Result<String, String> {
    let mut chars = value.chars();
    let mut plain = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            '=' => return Err(format!("invalid field selector: unescaped character in value: {value}")),
            _ => plain.push(c),
        }
    }
    Ok(plain)
}

fn path(field: &str, resource: &Resource) -> Result<JsonPath, String> {
    let offered = field == "metadata.name"
        || (field == "metadata.namespace" && resource.namespaced)
        || resource.selectable.iter().any(|path| path.strip_prefix('.').unwrap_or(path) == field);
    // Events are kept in the core form; the fields of the other form have the names of the core one's.
    let renamed = match (resource.group.as_str(), field.strip_prefix("regarding.")) {
        ("events.k8s.io", Some(rest)) => Some(format!("involvedObject.{rest}")),
        _ if resource.plural == "events" && field == "source" => Some("source.component".to_owned()),
        _ if resource.plural == "events" && field == "reportingController" => Some("reportingComponent".to_owned()),
        _ => None,
    };
    if offered || renamed.is_some() {
        Ok(JsonPath::of(&renamed.unwrap_or_else(|| field.to_owned())))
    } else {
        Err(format!("field label not supported: {field}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::kinds::Registry;

    #[rstest]
    #[case("metadata.name=a", true)]
    #[case("metadata.name!=a", false)]
    #[case("metadata.name=a,spec.type==ClusterIP", true)]
    #[case("spec.type=NodePort", false)]
    #[case(r"metadata.name=a\,b", false)]
    #[case("", true)]
    fn selects(#[case] text: &str, #[case] expected: bool) {
        let registry = Registry::new([]);
        let service = registry.resource("", "v1", "services").unwrap();
        let object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"type": "ClusterIP"}});
        assert_eq!(FieldSelector::parse(text, service).unwrap().matches(&object), expected);
    }

    #[test]
    fn refuses_fields_that_the_kind_does_not_offer() {
        let registry = Registry::new([]);
        let service = registry.resource("", "v1", "services").unwrap();
        let error = FieldSelector::parse("spec.foo=1", service).unwrap_err();
        assert_eq!(error, "field label not supported: spec.foo");
        assert!(FieldSelector::parse("nonsense", service).is_err());
    }

    #[rstest]
    #[case(r"metadata.name=a\")]
    #[case(r"metadata.name=a\b")]
    #[case("metadata.name=a=b")]
    fn refuses_values_that_are_not_escaped_right(#[case] text: &str) {
        let registry = Registry::new([]);
        let service = registry.resource("", "v1", "services").unwrap();
        let error = FieldSelector::parse(text, service).unwrap_err();
        assert!(error.starts_with("invalid field selector: "), "{error}");
    }
}
