//! YAML as a tree in which everything knows where it stands.

use std::sync::Arc;

use gateproof_yaml::{Event, ScalarStyle, Span as YamlSpan, events};
use serde_json::{Map, Number, Value};

pub(in crate::scenario) use super::super::diagnostic::Mark;
use super::super::diagnostic::{Diagnostic, Report, Source};
use super::super::model::Place;
use super::scalar::{self, Scalar};

/// A node and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Node {
    pub(in crate::scenario) mark: Mark,
    pub(in crate::scenario) kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

impl From<Scalar> for Kind {
    fn from(scalar: Scalar) -> Kind {
        match scalar {
            Scalar::Null => Kind::Null,
            Scalar::Bool(value) => Kind::Bool(value),
            Scalar::Number(value) => Kind::Number(value),
            Scalar::Text(value) => Kind::Text(value),
        }
    }
}

/// A key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Key {
    pub(in crate::scenario) mark: Mark,
    pub(in crate::scenario) name: String,
}

/// One document of a file.
#[derive(Debug)]
pub(in crate::scenario) struct Document {
    pub(in crate::scenario) root: Node,
    /// Its part of the file.
    pub(in crate::scenario) text: String,
}

impl Node {
    pub(in crate::scenario) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(in crate::scenario) fn list(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub(in crate::scenario) fn entries(&self) -> &[(Key, Node)] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(in crate::scenario) fn get(&self, name: &str) -> Option<&Node> {
        self.entries().iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// What it is, for messages.
    pub(in crate::scenario) fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    /// The same without places.
    pub(in crate::scenario) fn value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::Text(t) => Value::String(t.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::value).collect()),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|(k, v)| (k.name.clone(), v.value())).collect::<Map<_, _>>())
            }
        }
    }
}

fn mark(span: &YamlSpan) -> Mark {
    let offset = span.start.byte_offset().unwrap_or(0);
    Mark {
        place: Place { line: span.start.line(), column: span.start.col() + 1 },
        offset,
        length: span.end.byte_offset().unwrap_or(offset).saturating_sub(offset),
    }
}

/// A collection that is still open.
enum Open {
    List(Mark, Vec<Node>),
    Map(Mark, Vec<(Key, Node)>, Option<Key>),
}

/// Reads every document of a file. Broken syntax ends the reading; everything else is reported and read on.
pub(in crate::scenario) fn read(source: &Arc<Source>, problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    let mut documents = Vec::new();
    let mut stack: Vec<Open> = Vec::new();
    let mut root = None;
    let mut begin = 0;
    for next in events(&source.text) {
        let (event, span) = match next {
            Ok(next) => next,
            Err(error) => {
                let at = error.marker();
                let place = Place { line: at.line(), column: at.col() + 1 };
                let offset = at.byte_offset().unwrap_or(0).min(source.text.len());
                let text = error.to_string();
                let text = text.split(" at char ").next().unwrap_or_default();
                problems.push(source.problem(Mark { place, offset, length: 0 }, format!("not YAML: {text}"), None));
                return documents;
            }
        };
        let mark = mark(&span);
        let done = match event {
            Event::DocumentStart(..) => {
                begin = mark.offset;
                None
            }
            Event::DocumentEnd => {
                if let Some(root) = root.take() {
                    let end = (mark.offset + mark.length).max(begin);
                    let text = source.text.get(begin..end).unwrap_or_default().trim().to_owned();
                    documents.push(Document { root, text });
                }
                None
            }
            Event::Scalar(text, style, _, tag) => {
                if tag.is_some() {
                    problems.push(source.problem(mark, "tags are not used in manifests".to_owned(), None));
                }
                let (scalar, problem) = match style {
                    ScalarStyle::Plain => scalar::plain(&text),
                    _ => (Scalar::Text(text.into_owned()), None),
                };
                if let Some((message, help)) = problem {
                    problems.push(source.problem(mark, message, Some(help)));
                }
                Some(Node { mark, kind: scalar.into() })
            }
            Event::SequenceStart(..) => {
                stack.push(Open::List(mark, Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                stack.push(Open::Map(mark, Vec::new(), None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => stack.pop().map(|open| match open {
                Open::List(mark, items) => Node { mark, kind: Kind::List(items) },
                Open::Map(mark, entries, _) => Node { mark, kind: Kind::Map(entries) },
            }),
            Event::Alias(_) => {
                let help = Some("write the value out; a manifest must read without looking up".to_owned());
                problems.push(source.problem(mark, "aliases are not used in manifests".to_owned(), help));
                Some(Node { mark, kind: Kind::Null })
            }
            _ => None,
        };
        if let Some(node) = done {
            match stack.last_mut() {
                None => root = Some(node),
                Some(Open::List(_, items)) => items.push(node),
                Some(Open::Map(_, entries, pending)) => match pending.take() {
                    None => *pending = Some(key(node, entries, source, problems)),
                    Some(key) => entries.push((key, node)),
                },
            }
        }
    }
    documents
}

fn key(node: Node, before: &[(Key, Node)], source: &Arc<Source>, problems: &mut Vec<Diagnostic>) -> Key {
    let name = match &node.kind {
        Kind::Text(text) => text.clone(),
        Kind::Number(number) => number.to_string(),
        Kind::Bool(value) => value.to_string(),
        _ => {
            problems.push(source.problem(node.mark, format!("{} cannot be a key", node.noun()), None));
            String::new()
        }
    };
    if let Some((first, _)) = before.iter().find(|(key, _)| key.name == name) {
        let message = format!("key `{name}` is given twice; it was first given on line {}", first.mark.place.line);
        problems.push(source.problem(node.mark, message, None));
    }
    Key { mark: node.mark, name }
}
