//! YAML as a tree that knows its lines and keeps every scalar as it was written: a version such as 1.10 is no number here.

use gateproof_yaml::{Event, ScalarStyle, events};

/// How deep a report may be nested; real ones need seven.
const DEPTH: usize = 32;
/// How many nodes it may have; the largest that was published has less than a thousand.
const NODES: usize = 100_000;

/// A node and the line that it begins at, from 1.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) kind: Kind,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Kind {
    /// No value: a bare key, `null` or `~`, or an alias.
    Nothing,
    /// A scalar, and whether it stands without quotes.
    Text(String, bool),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// What it is, for messages.
    pub(super) fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Nothing => "empty",
            Kind::Text(..) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text, _) => Some(text),
            _ => None,
        }
    }
}

/// Where and why reading ended early.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) why: String,
}

/// A collection that is still open.
enum Open {
    List(usize, Vec<Node>),
    Map(usize, Vec<(Node, Node)>, Option<Node>),
}

/// Every document of a text that is whole, and what is wrong behind them.
pub(super) fn documents(text: &str) -> (Vec<Node>, Option<Broken>) {
    let (mut documents, mut stack, mut nodes) = (Vec::new(), Vec::new(), 0);
    for next in events(text) {
        let (event, span) = match next {
            Ok(next) => next,
            Err(error) => {
                let why = error.to_string();
                let why = format!("not YAML: {}", why.split(" at char ").next().unwrap_or_default());
                return (documents, Some(Broken { line: error.marker().line(), why }));
            }
        };
        let line = span.start.line();
        let broken = |why: String| Some(Broken { line, why });
        nodes += 1;
        if nodes > NODES {
            return (documents, broken(format!("has more than {NODES} values, which no report has")));
        }
        let done = match event {
            Event::Scalar(text, style, ..) => {
                let is_plain = matches!(style, ScalarStyle::Plain);
                let is_nothing = is_plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let kind = if is_nothing { Kind::Nothing } else { Kind::Text(text.into_owned(), is_plain) };
                Some(Node { line, kind })
            }
            // What it stands for could be as large as anybody likes.
            Event::Alias(_) => Some(Node { line, kind: Kind::Nothing }),
            Event::SequenceStart(..) => {
                stack.push(Open::List(line, Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                stack.push(Open::Map(line, Vec::new(), None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => stack.pop().map(|open| match open {
                Open::List(line, items) => Node { line, kind: Kind::List(items) },
                Open::Map(line, entries, _) => Node { line, kind: Kind::Map(entries) },
            }),
            _ => None,
        };
        if stack.len() > DEPTH {
            return (documents, broken(format!("is nested deeper than {DEPTH}, which no report is")));
        }
        let Some(node) = done else { continue };
        match stack.last_mut() {
            None => documents.push(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, pending)) => match pending.take() {
                None => *pending = Some(node),
                Some(key) => entries.push((key, node)),
            },
        }
    }
    (documents, None)
}
