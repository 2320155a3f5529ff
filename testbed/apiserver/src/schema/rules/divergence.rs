//! Where this CEL differs from the API server's, pinned down.
#![cfg(test)]
#![allow(clippy::unwrap_used)]

use rstest::rstest;
use serde_json::{Value, json};

use crate::schema::CompiledSchema;

fn judge(rule: &str, text: Value) -> Vec<String> {
    let schema = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"text": {"type": "string"}, "list": {"type": "array", "items": {"type": "integer"}}},
            "x-kubernetes-validations": [{"rule": rule}]}}
    });
    let object = json!({"spec": {"text": text, "list": [0, 1]}});
    let causes = CompiledSchema::compile(&schema).unwrap().validate(&object, None);
    causes.into_iter().map(|cause| cause.message).collect()
}

#[rstest]
#[case::characters_not_bytes("self.text.size() == 3", "äöü")]
#[case::size_as_function("size(self.text) == 3", "äöü")]
#[case::size_of_list("self.list.size() == 2", "")]
#[case::dynamic("dyn(self.text) == 'a'", "a")]
#[case::matching("self.text.matches('^a+$')", "aa")]
#[case::unknown_fields_are_hidden("!has(self.text) || self.text == 'a'", "a")]
fn agrees(#[case] rule: &str, #[case] text: &str) {
    assert_eq!(judge(rule, json!(text)), Vec::<String>::new());
}

#[rstest]
#[case::errors_are_not_absorbed("self.list.exists(x, 1 / x == 1)")]
#[case::no_bind("cel.bind(n, self.list.size(), n == 2)")]
#[case::no_two_variable_comprehension("self.list.all(i, x, i == x)")]
#[case::no_type("type(self.text) == string")]
fn refuses_what_the_api_server_takes(#[case] rule: &str) {
    let messages = judge(rule, json!("a"));
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("evaluating rule"), "{messages:?}");
}
