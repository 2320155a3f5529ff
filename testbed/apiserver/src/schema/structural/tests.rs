use rstest::rstest;
use serde_json::{Value, json};

use super::check;

/// `field: message` of every violation of a schema whose property `a` is given.
fn of(property: Value) -> Vec<String> {
    of_root(json!({"type": "object", "properties": {"a": property}}))
}

fn of_root(schema: Value) -> Vec<String> {
    check(&schema).into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[rstest]
#[case::unknown_type(
    json!({"type": "objekt"}),
    r#"properties[a].type: Unsupported value: "objekt": supported values: "array", "boolean", "integer", "number", "object", "string""#
)]
#[case::null(
    json!({"type": "null"}),
    "properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative"
)]
#[case::type_of_a_number(json!({"type": 1}), "properties[a].type: Invalid value: 1: must be a string")]
#[case::field_without_type(json!({}), "properties[a].type: Required value: must not be empty for specified object fields")]
#[case::item_without_type(
    json!({"type": "array", "items": {}}),
    "properties[a].items.type: Required value: must not be empty for specified array items"
)]
#[case::additional_without_type(
    json!({"type": "object", "additionalProperties": {}}),
    "properties[a].additionalProperties.type: Required value: must not be empty for specified object fields"
)]
#[case::no_schema(json!([]), "properties[a]: Invalid value: []: a schema must be an object")]
#[case::reference(json!({"type": "object", "$ref": "#/x"}), "properties[a].$ref: Forbidden: $ref is not supported")]
#[case::definitions(
    json!({"type": "object", "definitions": {"x": {}}}),
    "properties[a].definitions: Forbidden: definitions is not supported"
)]
#[case::pattern_properties(
    json!({"type": "object", "patternProperties": {"x": {}}}),
    "properties[a].patternProperties: Forbidden: patternProperties is not supported"
)]
#[case::unique_items(
    json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
    "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
)]
#[case::list_of_items(
    json!({"type": "array", "items": [{"type": "string"}]}),
    "properties[a].items: Forbidden: items must be a schema object and not an array"
)]
#[case::both_properties(
    json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
    "properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
)]
#[case::no_additional(
    json!({"type": "object", "additionalProperties": false}),
    "properties[a].additionalProperties: Forbidden: additionalProperties cannot be set to false"
)]
#[case::preserve_false(
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
    "properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"
)]
#[case::int_or_string_with_type(
    json!({"type": "string", "x-kubernetes-int-or-string": true}),
    r#"properties[a].type: Invalid value: "string": must be empty if x-kubernetes-int-or-string is true"#
)]
#[case::int_or_string_preserving(
    json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
    "properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true"
)]
#[case::embedded_without_type(
    json!({"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
    "properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true"
)]
#[case::embedded_without_fields(
    json!({"type": "object", "x-kubernetes-embedded-resource": true}),
    "properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without \
     x-kubernetes-preserve-unknown-fields"
)]
#[case::map_type_of_a_list(
    json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-map-type": "atomic"}),
    r#"properties[a].type: Invalid value: "array": must be object if x-kubernetes-map-type is specified"#
)]
#[case::odd_map_type(
    json!({"type": "object", "x-kubernetes-map-type": "odd"}),
    r#"properties[a].x-kubernetes-map-type: Unsupported value: "odd": supported values: "atomic", "granular""#
)]
#[case::list_type_of_an_object(
    json!({"type": "object", "x-kubernetes-list-type": "atomic"}),
    r#"properties[a].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified"#
)]
#[case::odd_list_type(
    json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "odd"}),
    r#"properties[a].x-kubernetes-list-type: Unsupported value: "odd": supported values: "atomic", "map", "set""#
)]
#[case::keys_without_map(
    json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["k"]}),
    "properties[a].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"
)]
#[case::map_without_keys(
    json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}),
    "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"
)]
#[case::set_of_granular_objects(
    json!({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
    "properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set"
)]
#[case::set_of_nullable(
    json!({"type": "array", "items": {"type": "string", "nullable": true}, "x-kubernetes-list-type": "set"}),
    "properties[a].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"
)]
#[case::bad_pattern(
    json!({"type": "string", "pattern": "("}),
    r#"properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error: unclosed group"#
)]
#[case::type_in_a_branch(
    json!({"type": "string", "anyOf": [{"type": "string"}]}),
    "properties[a].anyOf[0].type: Forbidden: must be empty or undefined inside of a logical operator to be structural"
)]
#[case::default_in_a_branch(
    json!({"type": "string", "not": {"default": "x"}}),
    "properties[a].not.default: Forbidden: must be empty or undefined inside of a logical operator to be structural"
)]
#[case::rules_in_a_branch(
    json!({"type": "string", "oneOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]}),
    "properties[a].oneOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural"
)]
#[case::undeclared_field_of_a_branch(
    json!({"type": "object", "properties": {"b": {"type": "string"}}, "anyOf": [{"properties": {"c": {"minLength": 1}}}]}),
    "properties[a].properties[c]: Required value: because it is defined in properties[a].anyOf[0].properties[c]"
)]
#[case::undeclared_items_of_a_branch(
    json!({"type": "array", "x-kubernetes-preserve-unknown-fields": true, "allOf": [{"items": {"minLength": 1}}]}),
    "properties[a].items: Required value: must be specified"
)]
#[case::default_of_another_type(
    json!({"type": "string", "default": 1}),
    r#"properties[a].default: Invalid value: "integer":  in body must be of type string: "integer""#
)]
#[case::default_out_of_bounds(
    json!({"type": "object", "properties": {"b": {"type": "integer", "minimum": 2}}, "default": {"b": 1}}),
    "properties[a].default.b: Invalid value: 1: b in body should be greater than or equal to 2"
)]
#[case::default_with_unknown_fields(
    json!({"type": "object", "properties": {"b": {"type": "integer"}}, "default": {"c": 1}}),
    r#"properties[a].default: Invalid value: {"c":1}: must not have fields that the schema does not know: c"#
)]
#[case::default_without_required(
    json!({"type": "object", "required": ["b"], "properties": {"b": {"type": "integer"}}, "default": {}}),
    "properties[a].default.b: Required value"
)]
fn is_refused(#[case] property: Value, #[case] expected: &str) {
    assert_eq!(of(property), [expected]);
}

#[rstest]
#[case::key_that_items_lack(
    json!({"type": "object", "properties": {}}),
    r#"properties[a].x-kubernetes-list-map-keys: Invalid value: "k": entries must all be names of item properties"#
)]
#[case::optional_key(
    json!({"type": "object", "properties": {"k": {"type": "string"}}}),
    "properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must \
     have a default or be a required property"
)]
#[case::nullable_key(
    json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "nullable": true}}}),
    "properties[a].items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
)]
#[case::key_that_is_a_list(
    json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "array", "items": {"type": "string"}}}}),
    r#"properties[a].items.properties[k].type: Invalid value: "array": must be a scalar type if parent array's x-kubernetes-list-type is map"#
)]
#[case::items_that_are_no_objects(
    json!({"type": "string"}),
    r#"properties[a].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map"#
)]
fn items_of_a_map_carry_their_keys(#[case] items: Value, #[case] expected: &str) {
    let list = json!({
        "type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
    });
    assert_eq!(of(list), [expected]);
}

#[rstest]
#[case::no_type(json!({}), "type: Required value: must not be empty at the root")]
#[case::scalar(json!({"type": "string"}), r#"type: Invalid value: "string": must be object at the root"#)]
#[case::additional(
    json!({"type": "object", "additionalProperties": {"type": "string"}}),
    "additionalProperties: Forbidden: must not be used at the root"
)]
#[case::kind_of_another_type(
    json!({"type": "object", "properties": {"kind": {"type": "integer"}}}),
    r#"properties[kind].type: Invalid value: "integer": must be string"#
)]
#[case::restricted_labels(
    json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
    "properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"
)]
#[case::metadata_in_a_branch(
    json!({"type": "object", "anyOf": [{"properties": {"metadata": {"required": ["name"]}}}]}),
    "anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context"
)]
fn is_refused_at_the_root(#[case] schema: Value, #[case] expected: &str) {
    assert_eq!(of_root(schema), [expected]);
}

#[rstest]
#[case::int_or_string(json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}))]
#[case::int_or_string_with_more(json!({
    "x-kubernetes-int-or-string": true,
    "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "^a"}],
}))]
#[case::anything(json!({"x-kubernetes-preserve-unknown-fields": true}))]
#[case::map(json!({"type": "object", "additionalProperties": {"type": "string"}, "default": {"x": "y"}}))]
#[case::rules_in_all_of(json!({"type": "string", "allOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]}))]
#[case::embedded(json!({
    "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
}))]
#[case::keys(json!({
    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"],
    "items": {"type": "object", "required": ["k"], "properties": {
        "k": {"type": "string"}, "p": {"type": "string", "default": "TCP"},
    }},
}))]
#[case::branches(json!({
    "type": "object", "properties": {"b": {"type": "array", "items": {"type": "string"}}},
    "oneOf": [{"required": ["b"], "properties": {"b": {"items": {"enum": ["x"]}}}}, {"not": {"required": ["b"]}}],
}))]
fn is_taken(#[case] property: Value) {
    assert_eq!(of(property), Vec::<String>::new());
}
