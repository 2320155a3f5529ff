//! What nodes say: values of fields, and what many parts of a manifest may say of themselves.

use std::sync::Arc;

use indexmap::IndexMap;

use super::super::model::{Bounds, Channel, Clause, Level};
use super::tree::{Kind, Node};
use crate::dialects::Edition;

/// The nodes of all steps of a `spec`, those in ends of writes too.
pub(super) fn all_steps(spec: &Node) -> Vec<&Node> {
    fn add<'n>(list: Option<&'n Node>, found: &mut Vec<&'n Node>) {
        for step in list.map(Node::list).unwrap_or_default() {
            found.push(step);
            for end in step.get("either").map(Node::list).unwrap_or_default() {
                add(end.get("then"), found);
            }
        }
    }
    let mut found = Vec::new();
    add(spec.get("steps"), &mut found);
    found
}

/// `since`, `until` and `channel` of a node.
pub(in crate::scenario) fn bounds(node: &Node) -> Bounds {
    let version = |name| text(node, name).and_then(|t| t.parse().ok());
    Bounds {
        since: version("since"),
        until: version("until"),
        channel: match text(node, "channel") {
            Some("experimental") => Some(Channel::Experimental),
            Some("standard") => Some(Channel::Standard),
            _ => None,
        },
        elsewhere: false,
    }
}

/// The same of what may be of some editions of the dialect only.
pub(super) fn bounds_of(node: &Node, edition: &Edition) -> Bounds {
    let editions = strings(node.get("editions"));
    Bounds { elsewhere: !editions.is_empty() && !edition.is_among(&editions), ..bounds(node) }
}

/// `proves` of a node.
pub(super) fn clauses(node: &Node) -> Vec<Clause> {
    strings(node.get("proves")).into_iter().map(Arc::from).collect()
}

/// A level by field name.
pub(super) fn level(node: &Node, name: &str) -> Option<Level> {
    match text(node, name)? {
        "MUST" => Some(Level::Must),
        "SHOULD" => Some(Level::Should),
        "MAY" => Some(Level::May),
        _ => None,
    }
}

/// A text by field name.
pub(super) fn text<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.get(name)?.text()
}

/// A whole number by field name.
pub(super) fn integer(node: &Node, name: &str) -> Option<i64> {
    match &node.get(name)?.kind {
        Kind::Number(number) => number.as_i64(),
        _ => None,
    }
}

/// A word of yes or no by field name.
pub(super) fn boolean(node: &Node, name: &str) -> Option<bool> {
    match node.get(name)?.kind {
        Kind::Bool(value) => Some(value),
        _ => None,
    }
}

/// The strings of a list, or the one string.
pub(super) fn strings(node: Option<&Node>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let one = node.text().map(str::to_owned);
    one.into_iter().chain(node.list().iter().filter_map(Node::text).map(str::to_owned)).collect()
}

/// The strings of a mapping, by key.
pub(super) fn texts_by_key(node: Option<&Node>) -> IndexMap<String, String> {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries.iter().filter_map(|(k, v)| Some((k.name.clone(), v.text()?.to_owned()))).collect()
}

/// The strings, or lists of strings, of a mapping, by key.
pub(super) fn lists_by_key(node: Option<&Node>) -> IndexMap<String, Vec<String>> {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries.iter().map(|(key, value)| (key.name.clone(), strings(Some(value)))).collect()
}

/// The values of a mapping, by key.
pub(super) fn entries<'n>(node: &'n Node, name: &str) -> impl Iterator<Item = (&'n str, &'n Node)> {
    node.get(name).map(Node::entries).unwrap_or_default().iter().map(|(k, v)| (k.name.as_str(), v))
}
