//! The notation of the built-in schemas, and its translation to OpenAPI.
//!
//! ```text
//! kind apps Deployment            a kind of an API group (v1 for the core group); its fields follow, indented
//! define Probe                    a block that `@Probe` refers to
//!   port! intstr                  a required field and its type
//!   scheme string ="HTTP" {HTTP|HTTPS}
//!   replicas int32 =1 min=0
//!   selector stringmap atomic     owned and merged as a whole
//!   ports[port,protocol]          a list that is a map with these keys; patches merge it by the first
//!   endpoints[]                   an atomic list of objects
//!   affinity open                 an object whose unknown fields are kept
//!   volumes[name] @Volume retain  patch strategy retainKeys
//! ```

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::super::formats::MICRO_TIME;

/// The OpenAPI schemas of all kinds of a text, by group and kind.
///
/// # Errors
/// The line that cannot be read, and why.
pub(crate) fn read(text: &str, object_meta: &Value) -> Result<HashMap<(String, String), Value>, String> {
    let lines: Vec<Line<'_>> =
        text.lines().enumerate().filter_map(|(number, text)| Line::new(number + 1, text)).collect();
    let mut reader = Reader { lines: &lines, next: 0, defined: HashMap::new() };
    reader.defined.insert("ObjectMeta".to_owned(), object_meta.clone());
    let mut kinds = HashMap::new();
    while let Some(line) = reader.take(0) {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        match words.as_slice() {
            ["kind", group, kind] => {
                let group = if *group == "v1" { "" } else { group };
                let schema = reader.object(1, &[])?;
                kinds.insert((group.to_owned(), (*kind).to_owned()), schema);
            }
            ["define", name, flags @ ..] => {
                let schema = reader.object(1, flags)?;
                reader.defined.insert((*name).to_owned(), schema);
            }
            _ => return Err(line.wrong("neither a kind nor a definition")),
        }
    }
    match reader.lines.get(reader.next) {
        Some(line) => Err(line.wrong("indented too deep")),
        None => Ok(kinds),
    }
}

struct Line<'t> {
    number: usize,
    depth: usize,
    text: &'t str,
}

impl<'t> Line<'t> {
    fn new(number: usize, text: &'t str) -> Option<Line<'t>> {
        let trimmed = text.trim();
        let depth = (text.len() - text.trim_start().len()) / 2;
        (!trimmed.is_empty() && !trimmed.starts_with('#')).then_some(Line { number, depth, text: trimmed })
    }

    fn wrong(&self, why: &str) -> String {
        format!("line {}: {why}: {}", self.number, self.text)
    }
}

struct Reader<'l, 't> {
    lines: &'l [Line<'t>],
    next: usize,
    defined: HashMap<String, Value>,
}

impl<'l, 't> Reader<'l, 't> {
    /// The next line, if it stands at this depth.
    fn take(&mut self, depth: usize) -> Option<&'l Line<'t>> {
        let line = self.lines.get(self.next).filter(|line| line.depth == depth)?;
        self.next += 1;
        Some(line)
    }

    fn has_children(&self, depth: usize) -> bool {
        self.lines.get(self.next).is_some_and(|line| line.depth == depth)
    }

    /// An object with the fields that stand at a depth.
    fn object(&mut self, depth: usize, flags: &[&str]) -> Result<Value, String> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        while let Some(line) = self.take(depth) {
            let (name, is_required, schema) = self.field(line)?;
            if is_required {
                required.push(json!(name));
            }
            properties.insert(name, schema);
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(required));
        }
        for flag in flags {
            match *flag {
                "open" => schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true)),
                "atomic" => schema.insert("x-kubernetes-map-type".to_owned(), json!("atomic")),
                other => return Err(format!("unknown flag {other} of an object")),
            };
        }
        Ok(Value::Object(schema))
    }

    fn field(&mut self, line: &'l Line<'t>) -> Result<(String, bool, Value), String> {
        let mut words = line.text.split_whitespace();
        let head = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let (name, keys) = match head.split_once('[') {
            Some((name, keys)) => (name, Some(keys.strip_suffix(']').ok_or_else(|| line.wrong("no closing ]"))?)),
            None => (head, None),
        };
        let (name, is_required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        let base = words.iter().find_map(|word| self.named_type(word));
        let (mut schema, rest) = match base {
            Some(schema) => {
                let rest: Vec<&str> = words.iter().filter(|word| self.named_type(word).is_none()).copied().collect();
                (schema, rest)
            }
            None => {
                let is_flag = |word: &&str| matches!(*word, "open" | "atomic");
                let (flags, rest): (Vec<&str>, Vec<&str>) = words.iter().copied().partition(is_flag);
                (self.object(line.depth + 1, &flags).map_err(|why| line.wrong(&why))?, rest)
            }
        };
        if self.has_children(line.depth + 1) {
            return Err(line.wrong("a field with a type has no fields of its own"));
        }
        if let Some(keys) = keys {
            schema = list(schema, keys);
        }
        for word in rest {
            modify(&mut schema, word).map_err(|why| line.wrong(&why))?;
        }
        Ok((name.to_owned(), is_required, schema))
    }

    fn named_type(&self, word: &str) -> Option<Value> {
        let text = json!({"type": "string"});
        let quantity = json!({"x-kubernetes-int-or-string": true});
        let bytes = json!({"type": "string", "format": "byte"});
        Some(match word {
            "string" => text,
            "bool" => json!({"type": "boolean"}),
            "int32" | "int64" => json!({"type": "integer", "format": word}),
            "time" => json!({"type": "string", "format": "date-time"}),
            "microtime" => json!({"type": "string", "format": MICRO_TIME}),
            "intstr" | "quantity" => quantity,
            "any" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "strings" => json!({"type": "array", "items": text}),
            "stringset" | "set" => json!({"type": "array", "items": text, "x-kubernetes-list-type": "set"}),
            "stringmap" => json!({"type": "object", "additionalProperties": text}),
            "quantitymap" => json!({"type": "object", "additionalProperties": quantity}),
            "bytemap" => json!({"type": "object", "additionalProperties": bytes}),
            _ => self.defined.get(word.strip_prefix('@')?)?.clone(),
        })
    }
}

fn list(items: Value, keys: &str) -> Value {
    let keys: Vec<&str> = keys.split(',').filter(|key| !key.is_empty()).collect();
    match keys.first() {
        None => json!({"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}),
        Some(first) => json!({
            "type": "array", "items": items,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": first,
        }),
    }
}

fn modify(schema: &mut Value, word: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<i64>().map_err(|error| format!("{text}: {error}"));
    if let Some(default) = word.strip_prefix('=') {
        schema["default"] = serde_json::from_str(default).map_err(|error| format!("{default}: {error}"))?;
    } else if let Some(values) = word.strip_prefix('{').and_then(|values| values.strip_suffix('}')) {
        schema["enum"] = values.split('|').collect();
    } else if let Some(min) = word.strip_prefix("min=") {
        schema["minimum"] = json!(number(min)?);
    } else if let Some(max) = word.strip_prefix("max=") {
        schema["maximum"] = json!(number(max)?);
    } else if word == "atomic" {
        schema["x-kubernetes-map-type"] = json!("atomic");
    } else if word == "retain" {
        let merges = schema.get("x-kubernetes-patch-strategy").is_some();
        schema["x-kubernetes-patch-strategy"] = json!(if merges { "merge,retainKeys" } else { "retainKeys" });
    } else {
        return Err(format!("unknown word {word}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;

    #[test]
    fn one_kind() {
        let text =
            "define P\n  a string\nkind v1 K\n  list![x,y] @P\n  n int32 =1 min=0\n  o open\n    e string {A|B}\n";
        let kinds = read(text, &json!({})).unwrap();
        let expected = json!({"type": "object", "required": ["list"], "properties": {
            "list": {
                "type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["x", "y"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "x",
            },
            "n": {"type": "integer", "format": "int32", "default": 1, "minimum": 0},
            "o": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"e": {"type": "string", "enum": ["A", "B"]}}},
        }});
        assert_eq!(kinds[&(String::new(), "K".to_owned())], expected);
    }

    #[rstest]
    #[case("nonsense", "line 1: neither a kind nor a definition: nonsense")]
    #[case("kind v1 K\n  a @Missing", "line 2: unknown word @Missing: a @Missing")]
    #[case("kind v1 K\n  a string\n    b string", "line 2: a field with a type has no fields of its own: a string")]
    #[case("kind v1 K\n  a[b string", "line 2: no closing ]: a[b string")]
    fn mistakes(#[case] text: &str, #[case] why: &str) {
        assert_eq!(read(text, &json!({})).unwrap_err(), why);
    }
}
