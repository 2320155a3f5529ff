//! CEL rules.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::schema::CompiledSchema;

static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    json!({"spec": {"name": "é", "count": 3, "ratio": 0.5, "on": true, "items": [{"k": "a"}, {"k": "b"}],
        "labels": {"a": "1"}, "since": "2026-01-01T00:00:00Z", "nothing": null}})
});

/// A rule does not compile, or it decides about an object, and the same each time.
pub fn cel_rule(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "x-kubernetes-validations": [{"rule": text}],
        "properties": {
            "name": {"type": "string"}, "count": {"type": "integer"}, "ratio": {"type": "number"}, "on": {"type": "boolean"},
            "items": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "since": {"type": "string", "format": "date-time"}, "nothing": {"type": "string", "nullable": true},
        },
    }}});
    let Ok(compiled) = CompiledSchema::compile(&schema) else { return };
    let refused = !compiled.check_rules().is_empty();
    let causes = compiled.validate(&OBJECT, None);
    assert!(!refused || !causes.is_empty(), "a rule that does not compile admits: {text:?}");
    assert_eq!(compiled.validate(&OBJECT, None).len(), causes.len(), "{text:?}");
}
