//! Values without a schema, as rules see them.

use serde_json::{Number, Value};

use super::engine::{Engine, Scalar};

/// A number that is one with a fraction to rules.
pub(crate) fn double(number: &Number) -> Scalar<'static> {
    Scalar::Double(number.as_f64().unwrap_or(f64::NAN))
}

/// A value without a schema.
pub(crate) fn untyped<E: Engine>(value: &Value) -> E::Value {
    match value {
        Value::Null => E::scalar(Scalar::Null),
        Value::Bool(bool) => E::scalar(Scalar::Bool(*bool)),
        Value::Number(number) => E::scalar(match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => Scalar::Int(int),
            // Whole floats are integers to the API server.
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
            (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9.0e15 => Scalar::Int(float as i64),
            _ => double(number),
        }),
        Value::String(text) => E::scalar(Scalar::Text(text)),
        Value::Array(items) => E::list(items.iter().map(untyped::<E>).collect()),
        Value::Object(map) => E::map(map.iter().map(|(name, member)| (name.clone(), untyped::<E>(member))).collect()),
    }
}
