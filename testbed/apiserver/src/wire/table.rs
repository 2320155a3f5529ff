//! The table of messages and fields.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One message: a kind or a part of one.
#[derive(Debug, Default)]
pub struct Message {
    /// Its name: package, a dot, the type.
    pub name: &'static str,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// One field of a message.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its protobuf number.
    pub number: u32,
    /// Its JSON name; empty where its members stand in its place.
    pub name: &'static str,
    /// Whether its zero value is left out of JSON.
    pub sparse: bool,
    /// Whether there is one, or a list, or a map.
    pub shape: Shape,
    /// What it holds.
    pub kind: FieldType,
}

/// How many values a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One.
    One,
    /// Any number in order.
    List,
    /// One for each of some strings.
    Map,
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// UTF-8 text.
    Text,
    /// Bytes, base64 in JSON.
    Bytes,
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A floating-point number.
    Double,
    /// `metav1.Time`.
    Time,
    /// `metav1.MicroTime`.
    MicroTime,
    /// `resource.Quantity`.
    Quantity,
    /// `intstr.IntOrString`.
    IntOrString,
    /// A JSON text in bytes.
    Raw,
    /// A message with nothing but a list of texts, which is what JSON shows.
    Texts,
    /// Another message of the table.
    Message(&'static str),
}

static TABLE: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| read(include_str!("fields.txt")));

/// The message of this name.
pub fn message(name: &str) -> Option<&'static Message> {
    TABLE.get(name)
}

/// The message of a kind.
pub fn message_of(group: &str, version: &str, kind: &str) -> Option<&'static Message> {
    let package = match (group, version) {
        // Clients write the options of a deletion under whatever group the object is of.
        _ if kind == "DeleteOptions" => "meta",
        (_, version) if version != "v1" => return None,
        ("", _) => "core",
        (group, _) => group.split('.').next()?,
    };
    message(&format!("{package}.{kind}"))
}

/// Reads the table; what is not understood is left out, which the tests would notice.
fn read(text: &'static str) -> HashMap<&'static str, Message> {
    let mut messages = HashMap::new();
    let mut current = Message::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(fields) = line.strip_prefix("  ") {
            current.fields.extend(fields.split(',').filter_map(|field| self::field(field.trim())));
        } else {
            let done = std::mem::replace(&mut current, Message { name: line.trim(), fields: Vec::new() });
            messages.insert(done.name, done);
        }
    }
    messages.insert(current.name, current);
    messages.remove("");
    messages
}

fn field(text: &'static str) -> Option<Field> {
    let (number, rest) = text.split_once(' ')?;
    let (name, kind) = rest.split_once(':')?;
    let (shape, kind) = match (kind.strip_prefix("[]"), kind.strip_prefix("{}")) {
        (Some(kind), _) => (Shape::List, kind),
        (_, Some(kind)) => (Shape::Map, kind),
        _ => (Shape::One, kind),
    };
    let kind = match kind {
        "string" => FieldType::Text,
        "bytes" => FieldType::Bytes,
        "bool" => FieldType::Bool,
        "int32" | "int64" => FieldType::Integer,
        "double" => FieldType::Double,
        "time" => FieldType::Time,
        "microtime" => FieldType::MicroTime,
        "quantity" => FieldType::Quantity,
        "intorstring" => FieldType::IntOrString,
        "raw" => FieldType::Raw,
        "strings" => FieldType::Texts,
        name if name.contains('.') => FieldType::Message(name),
        _ => return None,
    };
    let (name, sparse) = match name.strip_suffix('?') {
        Some(name) => (name, true),
        None => (name, false),
    };
    Some(Field { number: number.parse().ok()?, name: name.trim_end_matches('^'), sparse, shape, kind })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::kinds::Registry;

    #[test]
    fn every_line_is_understood() {
        let text = include_str!("fields.txt");
        let stated: usize = text.lines().filter(|l| l.starts_with("  ")).map(|l| l.matches(':').count()).sum();
        assert_eq!(TABLE.values().map(|message| message.fields.len()).sum::<usize>(), stated);
        for field in TABLE.values().flat_map(|message| &message.fields) {
            if let FieldType::Message(name) = field.kind {
                assert!(message(name).is_some(), "{name} is not in the table");
            }
        }
    }

    #[test]
    fn every_built_in_kind_is_in_it() {
        let registry = Registry::new([]);
        for (group, versions) in registry.groups().into_iter().chain([("", registry.versions(""))]) {
            for version in versions {
                for resource in registry.resources(group, version).unwrap() {
                    assert!(message_of(group, version, &resource.kind).is_some(), "{}", resource.kind);
                }
            }
        }
    }
}
