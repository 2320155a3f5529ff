//! Structural schemas.

use arbitrary::Result;
use serde_json::{Map, Value, json};

use super::value::{Choices, any};
use crate::schema::{CompiledSchema, structural};

const NAMES: [&str; 6] = ["a", "b", "c", "spec", "metadata", "kind"];

/// A schema is refused, or prunes and defaults any object such that doing it again changes nothing, and judges it the same
/// each time.
pub fn structural_schema(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (Ok(schema), Ok(mut object)) = (node(&mut choices, 4), any(&mut choices, &NAMES, 5)) else { return };
    if !structural::check(&schema).is_empty() {
        return;
    }
    let compiled = CompiledSchema::compile(&schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    let _ = compiled.check_rules();
    let old = object.clone();
    compiled.prune(&mut object);
    let pruned = object.clone();
    assert!(compiled.prune(&mut object).is_empty(), "{schema} prunes {pruned}");
    assert_eq!(object, pruned);
    compiled.apply_defaults(&mut object);
    let defaulted = object.clone();
    compiled.apply_defaults(&mut object);
    assert_eq!(object, defaulted, "{schema} defaults again");
    let causes = compiled.validate(&object, Some(&old));
    assert_eq!(compiled.validate(&object, Some(&old)).len(), causes.len());
    let _ = compiled.validate(&compiled.example(), None);
}

fn node(choices: &mut Choices<'_>, depth: usize) -> Result<Value> {
    let mut schema = Map::new();
    let kind = *choices.choose(&["object", "array", "string", "integer", "number", "boolean", "", "odd"])?;
    if !kind.is_empty() {
        schema.insert("type".to_owned(), kind.into());
    }
    if depth > 0 {
        match kind {
            "object" => members(choices, &mut schema, depth - 1)?,
            "array" => {
                schema.insert("items".to_owned(), node(choices, depth - 1)?);
            }
            _ => {}
        }
    }
    for _ in 0..choices.int_in_range(0..=3)? {
        keyword(choices, &mut schema, depth)?;
    }
    Ok(Value::Object(schema))
}

fn members(choices: &mut Choices<'_>, schema: &mut Map<String, Value>, depth: usize) -> Result<()> {
    let mut properties = Map::new();
    for _ in 0..choices.int_in_range(0..=3)? {
        properties.insert((*choices.choose(&NAMES)?).to_owned(), node(choices, depth)?);
    }
    schema.insert("properties".to_owned(), properties.into());
    if choices.ratio(1, 4)? {
        let additional = if choices.arbitrary()? { node(choices, depth)? } else { choices.arbitrary::<bool>()?.into() };
        schema.insert("additionalProperties".to_owned(), additional);
    }
    Ok(())
}

fn keyword(choices: &mut Choices<'_>, schema: &mut Map<String, Value>, depth: usize) -> Result<()> {
    let flags = [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "uniqueItems",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ];
    let counts = [
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "multipleOf",
    ];
    let (name, value) = match choices.int_in_range(0..=9)? {
        0 => (*choices.choose(&flags)?, true.into()),
        1 => (
            *choices.choose(&counts)?,
            (*choices.choose(&[json!(0), json!(1), json!(-1), json!(0.1), json!(u64::MAX)])?).clone(),
        ),
        2 => ("default", any(choices, &NAMES, 3)?),
        3 => ("enum", json!([any(choices, &NAMES, 1)?, any(choices, &NAMES, 1)?])),
        4 => ("pattern", (*choices.choose(&["^a", "(", "(a*)*$", "a{1000}{1000}", r"\p{L}"])?).into()),
        5 => ("format", (*choices.choose(&["byte", "date-time", "duration", "int32", "cidr", "odd"])?).into()),
        6 => ("required", json!([*choices.choose(&NAMES)?])),
        7 => ("x-kubernetes-list-type", (*choices.choose(&["atomic", "set", "map", "odd"])?).into()),
        8 => ("x-kubernetes-list-map-keys", json!([*choices.choose(&NAMES)?])),
        _ => {
            let branch = node(choices, depth.saturating_sub(2))?;
            let name = *choices.choose(&["allOf", "anyOf", "oneOf", "not"])?;
            (name, if name == "not" { branch } else { json!([branch]) })
        }
    };
    schema.insert(name.to_owned(), value);
    Ok(())
}
