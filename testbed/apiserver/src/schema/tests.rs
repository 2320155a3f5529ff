//! Pruning, defaulting and validation by cases.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::CompiledSchema;

/// A custom resource whose spec has one field, `f`.
fn with_field(field: Value) -> CompiledSchema {
    let spec = json!({"type": "object", "properties": {"f": field}});
    CompiledSchema::compile(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
}

/// An object with a resource within it.
pub(super) fn embedding() -> CompiledSchema {
    let template = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    CompiledSchema::compile(&json!({"type": "object", "properties": {"template": template}})).unwrap()
}

fn object(value: Value) -> Value {
    json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"f": value}})
}

fn text() -> Value {
    json!({"type": "string"})
}

#[rstest]
#[case::scalar_is_kept(text(), json!("x"), json!("x"), &[])]
#[case::undeclared(json!({"type": "object", "properties": {"a": text()}}), json!({"a": "1", "b": 2}), json!({"a": "1"}), &["spec.f.b"])]
#[case::in_list(json!({"type": "array", "items": {"type": "object", "properties": {"a": text()}}}),
    json!([{"a": "1"}, {"z": 1, "y": 1}]), json!([{"a": "1"}, {}]), &["spec.f[1].y", "spec.f[1].z"])]
#[case::map(json!({"type": "object", "additionalProperties": {"type": "object", "properties": {"a": text()}}}),
    json!({"k": {"a": "1", "b": 1}}), json!({"k": {"a": "1"}}), &["spec.f.k.b"])]
#[case::preserved(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"o": {"type": "object"}}}),
    json!({"any": {"thing": 1}, "o": {"not": "here"}}), json!({"any": {"thing": 1}, "o": {}}), &["spec.f.o.not"])]
#[case::int_or_string(json!({"x-kubernetes-int-or-string": true}), json!("50%"), json!("50%"), &[])]
#[case::embedded(json!({"type": "object", "x-kubernetes-embedded-resource": true}),
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "nope": 1}, "spec": {}}),
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}), &["spec.f.metadata.nope", "spec.f.spec"])]
fn pruning(#[case] field: Value, #[case] value: Value, #[case] kept: Value, #[case] dropped: &[&str]) {
    let mut pruned = object(value);
    assert_eq!(with_field(field).prune(&mut pruned), dropped);
    assert_eq!(pruned, object(kept));
}

#[rstest]
#[case::absent(json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}), json!({}), json!({"a": 1}))]
#[case::present(json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}), json!({"a": 2}), json!({"a": 2}))]
#[case::null_is_replaced(json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}), json!({"a": null}), json!({"a": 1}))]
#[case::nullable_null_stays(json!({"type": "object", "properties": {"a": {"type": "integer", "default": 1, "nullable": true}}}),
    json!({"a": null}), json!({"a": null}))]
#[case::null_is_dropped(json!({"type": "object", "properties": {"a": {"type": "integer"}}}), json!({"a": null}), json!({}))]
#[case::nested_in_default(json!({"type": "object", "properties": {"o": {"type": "object", "default": {},
    "properties": {"a": {"type": "integer", "default": 1}}}}}), json!({}), json!({"o": {"a": 1}}))]
#[case::not_into_absent(json!({"type": "object", "properties": {"o": {"type": "object",
    "properties": {"a": {"type": "integer", "default": 1}}}}}), json!({}), json!({}))]
#[case::items(json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}}),
    json!([{}, {"a": 2}]), json!([{"a": 1}, {"a": 2}]))]
#[case::map_values(json!({"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}}),
    json!({"k": {}, "n": null}), json!({"k": {"a": 1}}))]
fn defaulting(#[case] field: Value, #[case] value: Value, #[case] expected: Value) {
    let mut defaulted = object(value);
    with_field(field).apply_defaults(&mut defaulted);
    assert_eq!(defaulted, object(expected));
}

#[rstest]
#[case::type_of_scalar(text(), json!(1), "spec.f", "FieldValueTypeInvalid",
    r#"Invalid value: "integer": spec.f in body must be of type string: "integer""#)]
#[case::enumeration(json!({"type": "string", "enum": ["A", "B"]}), json!("X"), "spec.f", "FieldValueNotSupported",
    r#"Unsupported value: "X": supported values: "A", "B""#)]
#[case::pattern(json!({"type": "string", "pattern": "^a+$"}), json!("b"), "spec.f", "FieldValueInvalid",
    r#"Invalid value: "b": spec.f in body should match '^a+$'"#)]
#[case::too_short(json!({"type": "string", "minLength": 1}), json!(""), "spec.f", "FieldValueInvalid",
    r#"Invalid value: "": spec.f in body should be at least 1 chars long"#)]
#[case::too_long(json!({"type": "string", "maxLength": 1}), json!("ab"), "spec.f", "FieldValueTooLong",
    "Too long: may not be more than 1 bytes")]
#[case::too_many(json!({"type": "array", "maxItems": 1, "items": text()}), json!(["a", "b"]), "spec.f", "FieldValueTooMany",
    "Too many: 2: must have at most 1 items")]
#[case::too_few(json!({"type": "array", "minItems": 1, "items": text()}), json!([]), "spec.f", "FieldValueInvalid",
    "Invalid value: 0: spec.f in body should have at least 1 items")]
#[case::maximum(json!({"type": "integer", "maximum": 65535}), json!(65536), "spec.f", "FieldValueInvalid",
    "Invalid value: 65536: spec.f in body should be less than or equal to 65535")]
#[case::exclusive_minimum(json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}), json!(0), "spec.f", "FieldValueInvalid",
    "Invalid value: 0: spec.f in body should be greater than 0")]
#[case::required(json!({"type": "object", "required": ["a"]}), json!({}), "spec.f.a", "FieldValueRequired", "Required value")]
#[case::format(json!({"type": "string", "format": "date-time"}), json!("now"), "spec.f", "FieldValueTypeInvalid",
    r#"Invalid value: "now": spec.f in body must be of type date-time: "now""#)]
#[case::set(json!({"type": "array", "x-kubernetes-list-type": "set", "items": text()}), json!(["a", "b", "a", "a"]),
    "spec.f[2]", "FieldValueDuplicate", r#"Duplicate value: "a""#)]
#[case::map_keys(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
    "items": {"type": "object", "properties": {"n": text()}}}), json!([{"n": "a"}, {"n": "a"}]),
    "spec.f[1]", "FieldValueDuplicate", r#"Duplicate value: {"n":"a"}"#)]
#[case::none_of_one(json!({"type": "string", "oneOf": [{"enum": ["a"]}, {"enum": ["b"]}]}), json!("c"), "<nil>", "FieldValueInvalid",
    r#"Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid"#)]
#[case::both_of_one(json!({"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]}), json!("c"), "<nil>", "FieldValueInvalid",
    r#"Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives"#)]
#[case::any(json!({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}), json!("c"), "<nil>", "FieldValueInvalid",
    r#"Invalid value: "": "spec.f" must validate at least one schema (anyOf)"#)]
#[case::not(json!({"type": "string", "not": {"enum": ["a"]}}), json!("a"), "<nil>", "FieldValueInvalid",
    r#"Invalid value: "": "spec.f" must not validate the schema (not)"#)]
#[case::rule(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != 'a'", "message": "not a"}]}), json!("a"),
    "spec.f", "FieldValueInvalid", r#"Invalid value: "string": not a"#)]
#[case::rule_without_message(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != 'a'"}]}), json!("a"),
    "spec.f", "FieldValueInvalid", r#"Invalid value: "string": failed rule: self != 'a'"#)]
#[case::rule_with_expression(json!({"type": "string", "x-kubernetes-validations": [
    {"rule": "self != 'a'", "message": "static", "messageExpression": "'not ' + self"}]}), json!("a"),
    "spec.f", "FieldValueInvalid", r#"Invalid value: "string": not a"#)]
#[case::rule_with_path_and_reason(json!({"type": "object", "properties": {"x": text()}, "x-kubernetes-validations": [
    {"rule": "has(self.x)", "message": "x is needed", "fieldPath": ".x", "reason": "FieldValueRequired"}]}), json!({}),
    "spec.f.x", "FieldValueRequired", "Required value: x is needed")]
#[case::rule_on_escaped_name(json!({"type": "object", "properties": {"a-b": text(), "namespace": text()}, "x-kubernetes-validations": [
    {"rule": "self.a__dash__b == self.__namespace__", "message": "differ"}]}), json!({"a-b": "1", "namespace": "2"}),
    "spec.f", "FieldValueInvalid", r#"Invalid value: "object": differ"#)]
#[case::rule_error(json!({"type": "object", "properties": {"x": text()}, "x-kubernetes-validations": [
    {"rule": "self.x == 'a'", "message": "x"}]}), json!({}),
    "spec.f", "FieldValueInvalid", r#"Invalid value: "object": no such key: x evaluating rule: x"#)]
fn refusals(#[case] field: Value, #[case] value: Value, #[case] at: &str, #[case] reason: &str, #[case] message: &str) {
    let causes = with_field(field).validate(&object(value), None);
    let found = causes.iter().any(|cause| (&*cause.field, cause.reason, &*cause.message) == (at, reason, message));
    assert!(found, "{causes:#?}");
}

#[rstest]
#[case::whole_float_is_an_integer(json!({"type": "integer"}), json!(1.0))]
#[case::integer_is_a_number(json!({"type": "number", "x-kubernetes-validations": [{"rule": "self < 1.5"}]}), json!(1))]
#[case::nullable(json!({"type": "string", "nullable": true}), json!(null))]
#[case::int_or_string(json!({"x-kubernetes-int-or-string": true}), json!("50%"))]
#[case::characters_count(json!({"type": "string", "maxLength": 3}), json!("äöü"))]
#[case::no_type_matches_all(json!({"x-kubernetes-preserve-unknown-fields": true}), json!([1, {"a": null}]))]
#[case::timestamps(json!({"type": "string", "format": "date-time",
    "x-kubernetes-validations": [{"rule": "self > timestamp('2024-01-01T00:00:00Z')"}]}), json!("2024-01-02T00:00:00Z"))]
#[case::durations(json!({"type": "string", "format": "duration",
    "x-kubernetes-validations": [{"rule": "self < duration('1h')"}]}), json!("59m"))]
#[case::map_keys_are_not_escaped(json!({"type": "object", "additionalProperties": {"type": "string"},
    "x-kubernetes-validations": [{"rule": "'a.b/c' in self"}]}), json!({"a.b/c": "1"}))]
#[case::rules_of_all_of(json!({"type": "integer", "allOf": [{"x-kubernetes-validations": [{"rule": "self > 0"}]}]}), json!(1))]
fn acceptances(#[case] field: Value, #[case] value: Value) {
    assert_eq!(with_field(field).validate(&object(value), None), []);
}

#[test]
fn rules_wait_for_the_right_shape() {
    let schema = with_field(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != 'a'"}]}));
    let causes = schema.validate(&object(json!(1)), None);
    assert_eq!(causes.len(), 2);
    assert_eq!(causes[1].field, "<nil>");
    assert!(causes[1].message.starts_with("Invalid value: null: some validation rules were not checked"));
}

#[rstest]
#[case::transition_holds("self >= oldSelf", false, 1, Some(1), true)]
#[case::transition_broken("self >= oldSelf", false, 1, Some(2), false)]
#[case::transition_waits_for_an_update("self >= oldSelf", false, 1, None, true)]
#[case::optional_on_create("oldSelf.hasValue() || self == 0", true, 1, None, false)]
#[case::optional_on_update("!oldSelf.hasValue() || self >= oldSelf.value()", true, 1, Some(2), false)]
fn transitions(
    #[case] rule: &str,
    #[case] optional: bool,
    #[case] new: i64,
    #[case] old: Option<i64>,
    #[case] valid: bool,
) {
    let schema = with_field(json!({"type": "integer",
        "x-kubernetes-validations": [{"rule": rule, "optionalOldSelf": optional}]}));
    let old = old.map(|old| object(json!(old)));
    assert_eq!(schema.validate(&object(json!(new)), old.as_ref()).is_empty(), valid);
}

#[test]
fn items_of_a_map_list_have_a_history() {
    let schema =
        with_field(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
        "items": {"type": "object", "properties": {"n": text(), "v": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "grows"}]}}}}));
    let old = object(json!([{"n": "a", "v": 1}, {"n": "b", "v": 5}]));
    let new = object(json!([{"n": "b", "v": 4}, {"n": "a", "v": 2}, {"n": "c", "v": 0}]));
    let causes = schema.validate(&new, Some(&old));
    assert_eq!(causes.len(), 1, "{causes:#?}");
    assert_eq!(causes[0].field, "spec.f[0].v");
}

#[test]
fn what_did_not_change_is_not_held_against_a_stricter_schema() {
    let schema = with_field(json!({"type": "object", "properties": {
        "a": {"type": "string", "pattern": "^x$", "x-kubernetes-validations": [{"rule": "self == 'x'"}]},
        "b": {"type": "string", "maxLength": 1}}}));
    let old = object(json!({"a": "wrong"}));
    assert_eq!(schema.validate(&old, None).len(), 2);
    assert_eq!(schema.validate(&object(json!({"a": "wrong", "b": "1"})), Some(&old)), []);
    assert_eq!(schema.validate(&object(json!({"a": "other"})), Some(&old)).len(), 2);
}

#[rstest]
#[case(json!([]))]
#[case(json!({"type": "strange"}))]
#[case(json!({"type": "array", "x-kubernetes-list-type": "map"}))]
#[case(json!({"type": "array", "x-kubernetes-list-type": "bag"}))]
#[case(json!({"x-kubernetes-validations": [{"message": "no rule"}]}))]
fn malformed_schemas(#[case] schema: Value) {
    assert!(CompiledSchema::compile(&schema).is_err());
}

#[test]
fn rules_that_do_not_compile_are_found() {
    let schema = with_field(json!({"type": "string", "x-kubernetes-validations": [{"rule": "self =="}]}));
    let errors = schema.check_rules();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].to_string().contains("properties[spec].properties[f].x-kubernetes-validations[0]"),
        "{}",
        errors[0]
    );
    assert!(!schema.validate(&object(json!("x")), None).is_empty(), "a rule that does not compile refuses");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-e]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn wide() -> CompiledSchema {
    with_field(json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}},
        "c": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": text()}}},
        "d": {"x-kubernetes-preserve-unknown-fields": true},
    }, "x-kubernetes-validations": [{"rule": "has(self.a)"}]}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pruning_and_defaulting_settle_at_once(value in any_json()) {
        let schema = wide();
        let mut once = object(value);
        schema.prune(&mut once);
        schema.apply_defaults(&mut once);
        let mut twice = once.clone();
        prop_assert_eq!(schema.prune(&mut twice), Vec::<String>::new());
        schema.apply_defaults(&mut twice);
        prop_assert_eq!(&twice, &once);
        // Whatever comes, judging it must not panic, and an unchanged object passes as an update.
        schema.validate(&once, None);
        prop_assert_eq!(schema.validate(&once, Some(&once)), vec![]);
    }
}

#[rstest]
#[case("speck", &["apiVersion", "kind", "metadata", "spec"])]
#[case("spec.x", &["a"])]
#[case("spec.a[3].x", &["b"])]
#[case("spec.a[0].b.x", &[])]
#[case("nowhere.x", &[])]
fn fields_beside(#[case] path: &str, #[case] expected: &[&str]) {
    let schema =
        CompiledSchema::compile(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
        }}}}))
        .unwrap();
    let mut found = schema.fields_beside(path);
    found.sort_unstable();
    assert_eq!(found, expected);
}
