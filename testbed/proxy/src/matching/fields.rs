//! Header and query conditions.

use http::HeaderMap;
use regex::Regex;

use crate::config::{FieldMatch, ValueMatch};

/// A condition on a header or a query parameter.
#[derive(Debug, Clone)]
pub struct FieldPredicate {
    name: String,
    value: ValuePredicate,
}

#[derive(Debug, Clone)]
pub(super) enum ValuePredicate {
    Exact(String),
    Regex(Regex),
    Absent,
    Not { value: Box<ValuePredicate>, absent: bool },
    All(Vec<ValuePredicate>),
}

impl ValuePredicate {
    pub(super) fn compile(value: &ValueMatch) -> Result<Self, regex::Error> {
        Ok(match value {
            ValueMatch::Exact(exact) => Self::Exact(exact.clone()),
            ValueMatch::Regex(pattern) => Self::Regex(whole(pattern)?),
            ValueMatch::Absent => Self::Absent,
            ValueMatch::Not { value, absent } => Self::Not { value: Box::new(Self::compile(value)?), absent: *absent },
            ValueMatch::All(all) => Self::All(all.iter().map(Self::compile).collect::<Result<_, _>>()?),
        })
    }

    pub(super) fn length(&self) -> usize {
        match self {
            Self::Exact(exact) => exact.len(),
            Self::Regex(regex) => regex.as_str().len(),
            Self::Absent => 0,
            Self::Not { value, .. } => value.length(),
            Self::All(all) => all.iter().map(Self::length).sum(),
        }
    }

    fn holds_absent(&self) -> bool {
        match self {
            Self::Exact(_) | Self::Regex(_) => false,
            Self::Absent => true,
            Self::Not { value, absent } => *absent && !value.holds(""),
            Self::All(all) => all.iter().all(Self::holds_absent),
        }
    }

    pub(super) fn holds(&self, value: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == value,
            Self::Regex(regex) => regex.is_match(value),
            Self::Absent => false,
            Self::Not { value: not, .. } => !not.holds(value),
            Self::All(all) => all.iter().all(|one| one.holds(value)),
        }
    }
}

/// A regular expression that matches whole texts only.
pub fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(pattern)?;
    Regex::new(&format!("^(?:{pattern})$"))
}

/// Compiles conditions; of those whose names are the same by `same` only the first counts.
///
/// # Errors
/// A regular expression is none.
pub fn compile(fields: &[FieldMatch], same: fn(&str, &str) -> bool) -> Result<Vec<FieldPredicate>, regex::Error> {
    let mut compiled: Vec<FieldPredicate> = Vec::with_capacity(fields.len());
    for field in fields {
        if compiled.iter().any(|earlier| same(&earlier.name, &field.name)) {
            continue;
        }
        compiled.push(FieldPredicate { name: field.name.clone(), value: ValuePredicate::compile(&field.value)? });
    }
    Ok(compiled)
}

/// Whether the header of that name matches. Several lines of one name count as one value, joined by commas, as
/// RFC 9110 section 5.2 combines them.
pub fn header_holds(field: &FieldPredicate, headers: &HeaderMap) -> bool {
    let lines: Vec<_> =
        headers.get_all(&field.name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    if lines.is_empty() { field.value.holds_absent() } else { field.value.holds(&lines.join(",")) }
}

/// Whether the first query parameter of that name matches. The API leaves repeated parameters to implementations and
/// recommends the first value.
pub fn query_holds(field: &FieldPredicate, query: &str) -> bool {
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find(|(name, _)| decode(name) == field.name)
        .map_or_else(|| field.value.holds_absent(), |(_, value)| field.value.holds(&decode(value)))
}

/// Decodes `+` and percent escapes of a query part; a broken escape stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        let value =
            escaped.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match value {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
