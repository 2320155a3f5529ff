//! `services.yaml`: what the scripted services of a dialect take for rules, each as a schema of the sort that definitions have.

use std::sync::Arc;

use gateproof_apiserver::schema::{Cause, CompiledSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::SuiteError;
use super::{File, Suite, read_table};
use crate::cluster::schemas::wrong_types_by;
use crate::dialects::Dialect;
use crate::scenario::lint::{ScriptSchemas, WrongRule, WrongType};
use crate::scenario::{line_of, suggest};

/// What a schema of rules may say. Another word would be passed by without one.
const KEYWORDS: [&str; 24] = [
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// A service as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    rule: Value,
}

/// What a service takes for rules.
#[derive(Debug)]
struct Rules {
    service: String,
    /// That of a mapping with a list `rules`.
    schema: CompiledSchema,
    /// What it was compiled from.
    source: Value,
}

/// What services take for rules, as far as a dialect says it.
#[derive(Debug, Clone, Default)]
pub(super) struct Services(Vec<Arc<Rules>>);

/// Reads them. A service that there is not or that is there twice, and a schema that says nothing, are errors.
pub(super) fn read((path, text): &File, dialect: &Dialect) -> Result<Services, SuiteError> {
    let mut all: Vec<Arc<Rules>> = Vec::new();
    for Written { name, rule } in read_table::<Written>(path, text)? {
        let wrong = |below: &[String], problem: String| {
            let line = line_of(text, &[&[format!("name={name}")][..], below].concat());
            Err(SuiteError::Service { path: path.clone(), line, problem })
        };
        let known = dialect.services();
        if !known.contains(&name) {
            let near = suggest(&name, known.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return wrong(&[], format!("the dialect `{}` has no service `{name}`{near}", dialect.name()));
        }
        if all.iter().any(|other| other.service == name) {
            return wrong(&[], format!("the service `{name}` is there twice"));
        }
        let of_rule = ["rule".to_owned()];
        if let Some(at) = unknown_keyword(&rule, &of_rule) {
            let keyword = at.last().map(String::as_str).unwrap_or_default();
            let near = suggest(keyword, KEYWORDS.into_iter());
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return wrong(&at, format!("a schema of rules has no `{keyword}`{near}"));
        }
        let source = json!({"type": "object", "properties": {"rules": {"type": "array", "items": rule}}});
        let schema = match CompiledSchema::compile(&source) {
            Ok(schema) => schema,
            Err(error) => return wrong(&of_rule, error.to_string()),
        };
        if let Some(error) = schema.check_rules().first() {
            return wrong(&of_rule, error.to_string());
        }
        all.push(Arc::new(Rules { service: name, schema, source }));
    }
    Ok(Services(all))
}

/// The way to the first word of a schema that none may have.
fn unknown_keyword(schema: &Value, at: &[String]) -> Option<Vec<String>> {
    let below = |at: &[String], step: &str| [at, &[step.to_owned()]].concat();
    schema.as_object()?.iter().find_map(|(keyword, value)| {
        let here = below(at, keyword);
        if !KEYWORDS.contains(&keyword.as_str()) {
            return Some(here);
        }
        match keyword.as_str() {
            "properties" => {
                let mut named = value.as_object().into_iter().flatten();
                named.find_map(|(name, schema)| unknown_keyword(schema, &below(&here, name)))
            }
            "additionalProperties" | "items" | "not" => unknown_keyword(value, &here),
            "anyOf" | "oneOf" => {
                let mut branches = value.as_array().into_iter().flatten().enumerate();
                branches.find_map(|(index, schema)| unknown_keyword(schema, &below(&here, &index.to_string())))
            }
            _ => None,
        }
    })
}

impl ScriptSchemas for Suite {
    fn wrong_rules(&self, service: &str, rules: &[Value]) -> Vec<WrongRule> {
        let Some(of) = self.services.0.iter().find(|one| one.service == service) else { return Vec::new() };
        rules.iter().enumerate().flat_map(|(index, rule)| of.wrong(index, rule)).collect()
    }
}

impl Rules {
    /// What is wrong with one rule: names that there are not; if there is none, values of another type; and without those, the rest.
    fn wrong(&self, rule: usize, value: &Value) -> Vec<WrongRule> {
        let script = json!({"rules": [value]});
        let whose = format!("a rule for `{}`", self.service);
        let of = |path: &str| if path.is_empty() { whose.clone() } else { format!("`{path}` of {whose}") };
        let told = |path: &str, message: String, help| WrongRule { rule, path: path.to_owned(), message, help };
        let unknown = self.schema.prune(&mut script.clone());
        if !unknown.is_empty() {
            let one = |full: &String| {
                let path = within(full);
                let name = path.rsplit('.').next().unwrap_or_default();
                let help = meant(name, &self.schema.fields_beside(full));
                told(path, format!("{whose} has no field `{path}`"), help)
            };
            return unknown.iter().map(one).collect();
        }
        let types = wrong_types_by(&self.source, &script);
        if !types.is_empty() {
            let one = |WrongType { path, wanted, found }: &WrongType| {
                told(within(path), format!("{} must be {wanted}, found {found}", of(within(path))), None)
            };
            return types.iter().map(one).collect();
        }
        let causes = self.schema.validate(&script, None);
        let mut found = Vec::new();
        for cause in causes.iter().filter(|cause| !is_excused(cause, value) && !is_of_none(cause)) {
            let path = within(&cause.field);
            let (what, help) = words(cause, value);
            found.push(told(
                path,
                what.map_or_else(|| format!("{whose} lacks `{path}`"), |what| of(path) + &what),
                help,
            ));
        }
        // Of several alternatives none or too many may fit, and nothing more be said of it.
        if found.is_empty()
            && let Some(cause) = causes.iter().find(|cause| is_of_none(cause) && cause.message.contains("validate"))
        {
            let text = cause.message.trim_start_matches("Invalid value: \"\": ").replace("rules[0]", "rule");
            found.push(told("", format!("{whose}: {text}"), None));
        }
        found
    }
}

/// A path within a rule.
fn within(path: &str) -> &str {
    path.strip_prefix("rules[0]").map_or("", |path| path.trim_start_matches('.'))
}

/// Whether a cause is about no field.
fn is_of_none(cause: &Cause) -> bool {
    !cause.field.starts_with("rules[0]")
}

/// Whether what is wrong is a placeholder, of which nobody knows yet what it stands for. Validation rules see it as it is written.
fn is_excused(cause: &Cause, rule: &Value) -> bool {
    let is_of_value = cause.reason == "FieldValueNotSupported" || cause.message.contains(" in body ");
    is_of_value && value_at(rule, within(&cause.field)).and_then(Value::as_str).is_some_and(|text| text.contains("${"))
}

fn value_at<'v>(rule: &'v Value, path: &str) -> Option<&'v Value> {
    let steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    rule.pointer(&steps.map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect::<String>())
}

/// What is wrong, to be put behind the name of the place, and what may have been meant; nothing where the place itself is missing.
fn words(cause: &Cause, rule: &Value) -> (Option<String>, Option<String>) {
    let text = &cause.message;
    match cause.reason {
        "FieldValueRequired" => (None, None),
        "FieldValueNotSupported" => {
            let known = text.split_once(": supported values: ").map(|(_, known)| known).unwrap_or_default();
            let names: Vec<&str> = known.split(", ").map(|name| name.trim_matches('"')).collect();
            let written = value_at(rule, within(&cause.field)).and_then(Value::as_str).unwrap_or_default();
            (Some(format!(" is none of {}", names.join(", "))), meant(written, &names))
        }
        _ => match text.split_once(" in body ") {
            Some((_, rest)) => (Some(format!(" {rest}")), None),
            // A rule of the schema says what is wrong, behind the type of what it was asked of.
            None => (Some(format!(": {}", text.split_once("\": ").map_or(&**text, |(_, rest)| rest))), None),
        },
    }
}

/// The known name that may have been meant.
fn meant(written: &str, known: &[&str]) -> Option<String> {
    suggest(written, known.iter().copied()).map(|near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
