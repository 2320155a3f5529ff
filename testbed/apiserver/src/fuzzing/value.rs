//! Values out of bytes. Few names, so that objects and schemas speak of the same fields.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

/// Where the bytes of an input are turned into choices. At their end every choice is the first one.
pub type Choices<'a> = Unstructured<'a>;

/// Any JSON value whose members are named from `names`.
pub fn any(choices: &mut Choices<'_>, names: &[&str], depth: usize) -> Result<Value> {
    let kinds = if depth == 0 { 5 } else { 8 };
    Ok(match choices.int_in_range(0..=kinds)? {
        0 => Value::Null,
        1 => choices.arbitrary::<bool>()?.into(),
        2 => choices.int_in_range(-1..=3)?.into(),
        3 => (*choices.choose(&[json!(1.5), json!(u64::MAX), json!(i64::MIN), json!(1e300)])?).clone(),
        4 | 5 => text(choices, names)?,
        6 => list(choices, names, depth)?,
        _ => object(choices, names, depth)?,
    })
}

/// An object whose members are named from `names`.
pub fn object(choices: &mut Choices<'_>, names: &[&str], depth: usize) -> Result<Value> {
    let mut members = Map::new();
    for _ in 0..choices.int_in_range(0..=4)? {
        let name = (*choices.choose(names)?).to_owned();
        members.insert(name, any(choices, names, depth.saturating_sub(1))?);
    }
    Ok(Value::Object(members))
}

fn list(choices: &mut Choices<'_>, names: &[&str], depth: usize) -> Result<Value> {
    let length = choices.int_in_range(0..=3)?;
    (0..length).map(|_| any(choices, names, depth.saturating_sub(1))).collect()
}

fn text(choices: &mut Choices<'_>, names: &[&str]) -> Result<Value> {
    Ok((*choices.choose(&["", "a", "b", "é/~", "$(x)"])?).to_owned().into()).and_then(|text: Value| {
        if choices.arbitrary::<bool>()? { Ok((*choices.choose(names)?).to_owned().into()) } else { Ok(text) }
    })
}
