//! From the notation to structural OpenAPI schemas.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::error::{Problem, SourceError};
use super::expression::{self, Bounds, Form, List, ListKind};
use super::mark::{self, Variant};
use super::rules::{self, Fragments};

/// How deep definitions may refer to definitions and objects hold objects.
const DEPTH: usize = 64;

/// Expands types of one kind for one variant.
pub struct Expander<'a> {
    variant: Variant<'a>,
    fragments: Fragments<'a>,
    defs: HashMap<&'a str, &'a Value>,
    expanded: RefCell<HashMap<String, Schema>>,
}

type Schema = Map<String, Value>;

impl<'a> Expander<'a> {
    /// An expander that looks names up in `defs`, the first first.
    pub fn new(
        variant: Variant<'a>,
        fragments: Fragments<'a>,
        defs: [&'a Map<String, Value>; 2],
    ) -> Result<Self, Problem> {
        let mut index = HashMap::new();
        for (text, node) in defs.into_iter().flatten() {
            let key = mark::key(text, variant)?;
            if key.applies {
                index.entry(key.name).or_insert(node);
            }
        }
        Ok(Self { variant, fragments, defs: index, expanded: RefCell::default() })
    }

    /// The schema of a type, which stands at a path.
    pub fn expand(&self, node: &Value, at: &str) -> Result<Schema, SourceError> {
        self.node(node, at, DEPTH)
    }

    fn node(&self, node: &Value, at: &str, depth: usize) -> Result<Schema, SourceError> {
        let depth = depth.checked_sub(1).ok_or_else(|| Problem::Endless.at(at))?;
        match node {
            Value::String(text) => self.text(text, at, depth),
            Value::Object(fields) => self.mapping(fields, at, depth),
            _ => Err(Problem::Shape("a type is a string or a mapping").at(at)),
        }
    }

    fn text(&self, text: &str, at: &str, depth: usize) -> Result<Schema, SourceError> {
        let expression = expression::parse(text).map_err(|problem| problem.at(at))?;
        let mut schema = match expression.form {
            Form::Enum(values) => self.choice(&values).map_err(|problem| problem.at(at))?,
            Form::Named { name, bounds } => self.named(name, bounds, at, depth)?,
            Form::List { of, list } => {
                let items = self.text(of, at, depth)?;
                list_of(items, &list)
            }
            Form::Map { of, bounds } => {
                let mut schema = of_type("object");
                schema.insert("additionalProperties".to_owned(), Value::Object(self.text(of, at, depth)?));
                limit(&mut schema, bounds, "minProperties", "maxProperties");
                schema
            }
        };
        if let Some(default) = expression.default {
            let value = scalar(default, &schema).ok_or_else(|| Problem::Default(default.to_owned()).at(at))?;
            schema.insert("default".to_owned(), value);
        }
        Ok(schema)
    }

    fn choice(&self, values: &[&str]) -> Result<Schema, Problem> {
        let mut held = Vec::new();
        for value in values {
            let (value, applies) = mark::word(value, self.variant)?;
            if applies {
                held.push(value);
            }
        }
        let numbers: Option<Vec<i64>> = held.iter().map(|value| value.parse().ok()).collect();
        let (kind, values) = numbers.map_or_else(|| ("string", json!(held)), |numbers| ("integer", json!(numbers)));
        let mut schema = of_type(kind);
        schema.insert("enum".to_owned(), values);
        Ok(schema)
    }

    fn named(&self, name: &str, bounds: Bounds, at: &str, depth: usize) -> Result<Schema, SourceError> {
        let (kind, format, min, max) = match name {
            "string" => ("string", None, "minLength", "maxLength"),
            "date-time" => ("string", Some(name), "minLength", "maxLength"),
            "boolean" => ("boolean", None, "", ""),
            "integer" => ("integer", None, "minimum", "maximum"),
            "int32" | "int64" => ("integer", Some(name), "minimum", "maximum"),
            "any" if bounds == Bounds::default() => return Ok(anything()),
            "int-or-string" if bounds == Bounds::default() => return Ok(number_or_text()),
            _ if bounds != Bounds::default() => {
                return Err(Problem::Shape("bounds belong to a builtin type").at(at));
            }
            _ => return self.definition(name, at, depth),
        };
        let mut schema = of_type(kind);
        if let Some(format) = format {
            schema.insert("format".to_owned(), json!(format));
        }
        limit(&mut schema, bounds, min, max);
        Ok(schema)
    }

    /// A definition, expanded once: HTTPRoute alone uses some of them twenty times.
    fn definition(&self, name: &str, at: &str, depth: usize) -> Result<Schema, SourceError> {
        if let Some(known) = self.expanded.borrow().get(name) {
            return Ok(known.clone());
        }
        let node = self.defs.get(name).ok_or_else(|| Problem::UnknownType(name.to_owned()).at(at))?;
        let schema = self.node(node, at, depth)?;
        self.expanded.borrow_mut().insert(name.to_owned(), schema.clone());
        Ok(schema)
    }

    fn mapping(&self, entries: &Map<String, Value>, at: &str, depth: usize) -> Result<Schema, SourceError> {
        let mut schema = self.base(entries, at, depth)?;
        for (text, node) in entries {
            let key = mark::key(text, self.variant).map_err(|problem| problem.at(at))?;
            if !key.applies {
                continue;
            }
            if key.name.starts_with('$') {
                self.keyword(&mut schema, key.name, node).map_err(|problem| problem.at(at))?;
            } else {
                let field = self.node(node, &format!("{at}.{}", key.name), depth)?;
                add_field(&mut schema, key.name, key.required, field).map_err(|problem| problem.at(at))?;
            }
        }
        Ok(schema)
    }

    /// What a mapping starts from: `$type`, a list of `$items`, or an object without fields.
    fn base(&self, entries: &Map<String, Value>, at: &str, depth: usize) -> Result<Schema, SourceError> {
        match (entries.get("$type"), entries.get("$list"), entries.get("$items")) {
            (Some(Value::String(text)), None, None) => self.text(text, at, depth),
            (None, Some(Value::String(list)), Some(items)) => {
                let list = expression::list(list).map_err(|problem| problem.at(at))?;
                Ok(list_of(self.node(items, &format!("{at}[]"), depth)?, &list))
            }
            (None, None, None) => Ok(of_type("object")),
            _ => Err(Problem::Shape("a type starts from $type, or from $list and $items").at(at)),
        }
    }

    fn keyword(&self, schema: &mut Schema, name: &str, value: &Value) -> Result<(), Problem> {
        let rules = match name {
            "$type" | "$list" | "$items" => return Ok(()),
            "$default" => {
                schema.insert("default".to_owned(), value.clone());
                return Ok(());
            }
            "$pattern" => {
                let pattern = value.as_str().ok_or(Problem::Shape("$pattern must be a string"))?;
                schema.insert("pattern".to_owned(), Value::String(self.fragments.fill(pattern)?));
                return Ok(());
            }
            "$keywords" => {
                let keywords = value.as_object().ok_or(Problem::Shape("$keywords must be a mapping"))?;
                schema.extend(keywords.clone());
                return Ok(());
            }
            "$rules" => rules::written(value, self.fragments, self.variant)?,
            "$union" => rules::union(value, self.variant)?,
            other => return Err(Problem::UnknownKey(other.to_owned())),
        };
        if !rules.is_empty() {
            let all = schema.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
            all.as_array_mut().ok_or(Problem::Shape("x-kubernetes-validations must be a list"))?.extend(rules);
        }
        Ok(())
    }
}

/// A value of any type, whose fields nobody names.
fn anything() -> Schema {
    Map::from_iter([("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true))])
}

/// A number, or text that stands for one, as ports and quantities are.
fn number_or_text() -> Schema {
    Map::from_iter([
        ("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}])),
        ("x-kubernetes-int-or-string".to_owned(), json!(true)),
    ])
}

fn of_type(name: &str) -> Schema {
    Map::from_iter([("type".to_owned(), json!(name))])
}

fn limit(schema: &mut Schema, bounds: Bounds, min: &str, max: &str) {
    for (key, limit) in [(min, bounds.min), (max, bounds.max)] {
        if let Some(limit) = limit {
            schema.insert(key.to_owned(), json!(limit));
        }
    }
}

fn list_of(items: Schema, list: &List<'_>) -> Schema {
    let mut schema = of_type("array");
    limit(&mut schema, list.bounds, "minItems", "maxItems");
    schema.insert("items".to_owned(), Value::Object(items));
    let kind = match &list.kind {
        ListKind::Plain => return schema,
        ListKind::Atomic => "atomic",
        ListKind::Set => "set",
        ListKind::Map(keys) => {
            schema.insert("x-kubernetes-list-map-keys".to_owned(), json!(keys));
            "map"
        }
    };
    schema.insert("x-kubernetes-list-type".to_owned(), json!(kind));
    schema
}

/// Add a field to an object, or replace the one that its `$type` brought.
fn add_field(schema: &mut Schema, name: &str, required: bool, field: Schema) -> Result<(), Problem> {
    if schema.get("type").and_then(Value::as_str) != Some("object") || schema.contains_key("additionalProperties") {
        return Err(Problem::Shape("only an object has fields"));
    }
    let fields = schema.entry("properties").or_insert_with(|| json!({}));
    fields
        .as_object_mut()
        .ok_or(Problem::Shape("properties must be a mapping"))?
        .insert(name.to_owned(), Value::Object(field));
    if required {
        let names = schema.entry("required").or_insert_with(|| json!([]));
        let names = names.as_array_mut().ok_or(Problem::Shape("required must be a list"))?;
        if !names.iter().any(|known| known == name) {
            names.push(json!(name));
            names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
    }
    Ok(())
}

/// A default as text, read as its type says.
fn scalar(text: &str, schema: &Schema) -> Option<Value> {
    match schema.get("type").and_then(Value::as_str)? {
        "string" => Some(json!(text.trim_matches('"'))),
        "integer" => text.parse::<i64>().ok().map(|number| json!(number)),
        "boolean" => text.parse::<bool>().ok().map(|truth| json!(truth)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
