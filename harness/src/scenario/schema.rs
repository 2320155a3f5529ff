//! JSON Schema of the manifest, made from the table that the parser checks against.

use serde_json::{Map, Value, json};

use super::parse::shape::{CHANNELS, CONDITION, DOCUMENT, KNOWN_FAILURES, Shape, Table};
use super::vocabulary::Vocabulary;

/// JSON Schema (draft 2020-12) of one scenario document.
pub fn manifest(vocabulary: &Vocabulary) -> Value {
    document(vocabulary, &DOCUMENT, "scenario")
}

/// JSON Schema (draft 2020-12) of a file of known failures.
pub fn known_failures(vocabulary: &Vocabulary) -> Value {
    document(vocabulary, &KNOWN_FAILURES, "known-failures")
}

fn document(vocabulary: &Vocabulary, table: &'static Table, name: &str) -> Value {
    let mut maker = Maker { vocabulary, definitions: Map::new() };
    let root = maker.table(table);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("https://gateproof.dev/schemas/v1alpha1/{name}.json"),
        "title": table.name,
        "$ref": root["$ref"],
        "$defs": maker.definitions,
    })
}

struct Maker<'v> {
    vocabulary: &'v Vocabulary,
    definitions: Map<String, Value>,
}

impl Maker<'_> {
    fn shape(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Text => json!({"type": "string"}),
            Shape::Name => {
                json!({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63})
            }
            Shape::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Shape::Number => json!({"type": "number"}),
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Word(words) => json!({"enum": words}),
            Shape::Channel => json!({"enum": CHANNELS}),
            Shape::Version => json!({"type": "string", "pattern": "^v?[0-9]+\\.[0-9]+(\\.[0-9]+)?(-.*)?$"}),
            Shape::Date => json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
            Shape::Feature => json!({"enum": self.vocabulary.features}),
            Shape::Clause => json!({
                "type": "string",
                "pattern": "^(upstream:[A-Za-z0-9]+|blind:[A-Za-z0-9]+\\.[0-9]+|[A-Z0-9]+-[0-9]+)$",
            }),
            // Those of the dialect; this schema is of no particular one.
            Shape::Edition => json!({"type": "string", "pattern": "^[a-z0-9-]+$"}),
            Shape::Pool => json!({"enum": self.vocabulary.shapes}),
            Shape::Condition => {
                let long = self.table(&CONDITION);
                let status = "(True|False|Unknown)";
                let reason = "[A-Za-z0-9_,:]+";
                let short = format!("^(absent|{status}(\\|{status})*(/{reason}(\\|{reason})*)?)$");
                json!({"anyOf": [{"type": "string", "pattern": short}, long]})
            }
            Shape::Scalar => json!({"type": ["string", "number", "boolean", "null"]}),
            Shape::SubCondition => json!({"type": "string", "pattern": "^[A-Za-z0-9._,:/-]+/[A-Za-z0-9._,:-]+$"}),
            Shape::Object => json!({
                "type": "object",
                "required": ["apiVersion", "kind", "metadata"],
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {"type": "object", "required": ["name"]},
                    "status": false,
                },
            }),
            Shape::Any => json!(true),
            Shape::List(inner) => json!({"type": "array", "items": self.shape(inner)}),
            Shape::Map(inner) => json!({"type": "object", "additionalProperties": self.shape(inner)}),
            Shape::Either(shapes) => json!({"anyOf": shapes.iter().map(|s| self.shape(s)).collect::<Vec<_>>()}),
            Shape::Table(table) => self.table(table),
        }
    }

    /// A reference to a table's definition, which is made the first time.
    fn table(&mut self, table: &Table) -> Value {
        let reference = json!({"$ref": format!("#/$defs/{}", table.name)});
        if self.definitions.contains_key(table.name) {
            return reference;
        }
        self.definitions.insert(table.name.to_owned(), Value::Null);
        let mut properties = Map::new();
        for field in table.fields {
            let mut schema = self.shape(&field.shape);
            if let Some(schema) = schema.as_object_mut() {
                schema.insert("description".to_owned(), Value::from(field.doc));
            }
            properties.insert(field.name.to_owned(), schema);
        }
        let required = table.fields.iter().filter(|f| f.required).map(|f| f.name).collect::<Vec<_>>();
        let mut definition = json!({
            "description": table.doc,
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        if table.conditions {
            let condition = self.shape(&Shape::Condition);
            definition["patternProperties"] = json!({"^([a-z0-9.-]+/)?[A-Z][A-Za-z0-9]*$": condition});
        }
        if !table.one_of.is_empty() {
            let one = table.one_of.iter().map(|name| json!({"required": [name]})).collect::<Vec<_>>();
            definition["oneOf"] = Value::Array(one);
        }
        self.definitions.insert(table.name.to_owned(), definition);
        reference
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn validator() -> jsonschema::Validator {
        jsonschema::draft202012::new(&manifest(&Vocabulary::builtin())).unwrap()
    }

    #[test]
    fn every_shipped_manifest_is_valid() {
        let validator = validator();
        for (path, text) in gateproof_suites::manifests() {
            let documents = serde_yaml::from_multiple::<Value>(text).unwrap();
            assert!(!documents.is_empty(), "{path}");
            for document in documents {
                let errors = validator.iter_errors(&document).map(|e| e.to_string()).collect::<Vec<_>>();
                assert!(errors.is_empty(), "{path}: {errors:#?}");
            }
        }
    }

    #[test]
    fn what_the_parser_refuses_the_schema_refuses() {
        let validator = validator();
        let step = json!({"settle": {"HTTPRoute/route": {"Accepted": "True/Accepted"}}});
        let document = |spec: Value| json!({"apiVersion": "gateproof.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "a"}, "spec": spec});
        let spec = |step: &Value| json!({"summary": "s", "features": ["Gateway"], "steps": [step]});
        assert!(validator.is_valid(&document(spec(&step))));
        for wrong in [
            json!({"settle": {"HTTPRoute/route": {"accepted": "True"}}}),
            json!({"settle": {"HTTPRoute/route": {"Accepted": "Yes"}}}),
            json!({"settle": {}, "delete": []}),
            json!({"proves": ["GEP1364-01"]}),
            json!({"hold": {"never": {}, "until": "x"}}),
        ] {
            assert!(!validator.is_valid(&document(spec(&wrong))), "{wrong}");
        }
        assert!(!validator.is_valid(&document(json!({"summary": "s", "features": ["Gatewey"], "steps": [step]}))));
    }
}
