//! Causes of an `Invalid` answer, worded as the API server words its field errors.

use serde_json::Value;

/// One entry of `details.causes` of a 422 answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The cause type: `FieldValueInvalid`, `FieldValueRequired`, …
    pub reason: &'static str,
    /// The field, in the API server's notation: `spec.rules[0].filters`; `<nil>` when it is not about one field.
    pub field: String,
    /// What is wrong, without the field.
    pub message: String,
}

/// The cause types that keep CEL rules from being evaluated: the object does not even have the right shape.
const BLOCKING: [&str; 5] =
    ["FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"];

impl Cause {
    fn new(reason: &'static str, field: String, message: String) -> Cause {
        Cause { reason, field, message }
    }

    /// A value that breaks a rule.
    pub(crate) fn invalid(field: String, value: &Value, detail: &str) -> Cause {
        Cause::new("FieldValueInvalid", field, with_detail(format!("Invalid value: {}", show(value)), detail))
    }

    /// A value of the wrong type.
    pub(crate) fn type_invalid(field: String, value: &Value, detail: &str) -> Cause {
        Cause { reason: "FieldValueTypeInvalid", ..Cause::invalid(field, value, detail) }
    }

    /// A value that is missing.
    pub(crate) fn required(field: String, detail: &str) -> Cause {
        Cause::new("FieldValueRequired", field, with_detail("Required value".to_owned(), detail))
    }

    /// A value that is not allowed here.
    pub(crate) fn forbidden(field: String, detail: &str) -> Cause {
        Cause::new("FieldValueForbidden", field, with_detail("Forbidden".to_owned(), detail))
    }

    /// A value that occurs twice.
    pub(crate) fn duplicate(field: String, value: &Value) -> Cause {
        Cause::new("FieldValueDuplicate", field, format!("Duplicate value: {}", show(value)))
    }

    /// A value outside an enumeration.
    pub(crate) fn not_supported(field: String, value: &Value, supported: &[Value]) -> Cause {
        let quoted: Vec<String> = supported
            .iter()
            .map(|value| match value {
                Value::String(text) => quote(text),
                other => quote(&other.to_string()),
            })
            .collect();
        let message = format!("Unsupported value: {}: supported values: {}", show(value), quoted.join(", "));
        Cause::new("FieldValueNotSupported", field, message)
    }

    /// A string that is too long.
    pub(crate) fn too_long(field: String, max: u64) -> Cause {
        Cause::new("FieldValueTooLong", field, format!("Too long: may not be more than {max} bytes"))
    }

    /// A list or map with too many members.
    pub(crate) fn too_many(field: String, actual: usize, max: u64) -> Cause {
        Cause::new("FieldValueTooMany", field, format!("Too many: {actual}: must have at most {max} items"))
    }

    /// Whether CEL rules stay unchecked because of this cause.
    pub(crate) fn blocks_rules(&self) -> bool {
        BLOCKING.contains(&self.reason)
    }
}

fn with_detail(head: String, detail: &str) -> String {
    if detail.is_empty() { head } else { format!("{head}: {detail}") }
}

/// A value as it stands in a message: strings quoted, the rest as JSON.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        other => other.to_string(),
    }
}

/// A string in quotes; JSON's escapes agree with Go's for everything but exotic control characters.
pub(crate) fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
