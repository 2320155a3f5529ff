//! Tests of fields: of an object, of its status, of one condition.

use indexmap::IndexMap;
use serde_json::Value;

use super::super::model::{BelowExpectation, FieldExpectation, FieldTest, Level, SubCondition};
use super::super::pointer;
use super::check::Checker;
use super::read::{boolean, text};
use super::tree::{Kind, Mark, Node};

/// What stands for the object's generation.
const CURRENT: &str = "current";

/// What stands for no value.
const ABSENT: &str = "absent";

/// Fields of a condition that have a place of their own in an expectation, and which.
const PLACED: [(&str, &str); 6] = [
    ("status", "say it as the condition's `status`"),
    ("reason", "say it as the condition's `reason`"),
    ("message", "say it as the condition's `message`"),
    ("type", "it is the key of the expectation"),
    ("observedGeneration", "it is always demanded to be current"),
    ("lastTransitionTime", "the contract says when it moves"),
];

/// The test of a mapping such as `{equals: 1}`. Wrong types were reported before.
pub(super) fn test(node: &Node, checker: &mut Checker<'_>) -> Option<FieldTest> {
    for word in ["notEmpty", "empty", "absent"] {
        if boolean(node, word) == Some(false) {
            checker.report(node.mark, format!("`{word}: false` says nothing"), Some("say the opposite".to_owned()));
        }
    }
    if let Some(values) = node.get("oneOf") {
        if values.list().is_empty() {
            checker.report(values.mark, "no value can be one of none".to_owned(), None);
        }
        return Some(FieldTest::OneOf(values.list().iter().map(Node::value).collect()));
    }
    if let Some(value) = node.get("equals") {
        return Some(FieldTest::Equals(value.value()));
    }
    if let Some(value) = node.get("contains") {
        return Some(FieldTest::Contains(value.value()));
    }
    if let Some(value) = node.get("mentions") {
        return Some(FieldTest::Mentions(value.value()));
    }
    if let Some(other) = node.get("sameAs") {
        is_pointer(other.text()?, other.mark, "/status/conditions/type=Valid/message", checker);
        return Some(FieldTest::SameAs(other.text()?.to_owned()));
    }
    if let Some(key) = text(node, "sortedBy") {
        return Some(FieldTest::SortedBy(key.to_owned()));
    }
    let word = |name: &str, test: FieldTest| (boolean(node, name) == Some(true)).then_some(test);
    word("notEmpty", FieldTest::NotEmpty)
        .or_else(|| word("empty", FieldTest::Empty))
        .or_else(|| word("absent", FieldTest::Absent))
}

/// A value, or a test of one.
pub(super) fn value(node: &Node, checker: &mut Checker<'_>) -> Option<FieldTest> {
    match &node.kind {
        Kind::Null => Some(FieldTest::Absent),
        Kind::Map(_) => test(node, checker),
        Kind::List(_) => None,
        // As of headers; a value that is this very word is an `equals`.
        Kind::Text(text) if text == ABSENT => Some(FieldTest::Absent),
        _ => Some(FieldTest::Equals(node.value())),
    }
}

/// Further fields of a condition.
pub(super) fn extra(node: &Node, checker: &mut Checker<'_>) -> IndexMap<String, FieldTest> {
    nothing_asked(node, "field", checker);
    let mut all = IndexMap::new();
    for (key, given) in node.entries() {
        if let Some((_, help)) = PLACED.iter().find(|(name, _)| *name == key.name) {
            checker.report(key.mark, format!("`{}` is no further field", key.name), Some((*help).to_owned()));
        } else if let Some(test) = value(given, checker) {
            all.insert(key.name.clone(), test);
        }
    }
    all
}

/// Lists of sub-conditions in a condition.
pub(super) fn below(node: &Node, checker: &mut Checker<'_>) -> IndexMap<String, BelowExpectation> {
    nothing_asked(node, "list", checker);
    let list = |(key, given): &(super::tree::Key, Node)| {
        let at_least = given.get("atLeast");
        let items = at_least.unwrap_or(given);
        if at_least.is_some_and(|items| items.list().is_empty()) {
            checker.report(items.mark, "at least nothing is always there".to_owned(), None);
        }
        let entries = items.list().iter().filter_map(|item| SubCondition::of(item.text()?)).collect();
        (key.name.clone(), BelowExpectation { entries, at_least: at_least.is_some() })
    };
    node.entries().iter().map(list).collect()
}

/// Fields of the status, with where each stands.
pub(super) fn mirrors(node: &Node, checker: &mut Checker<'_>) -> Vec<(Mark, FieldExpectation)> {
    nothing_asked(node, "field", checker);
    let mut all = Vec::new();
    for (key, given) in node.entries() {
        let test = if given.text() == Some(CURRENT) { Some(FieldTest::Current) } else { value(given, checker) };
        let Some(test) = test else { continue };
        let field = FieldExpectation { pointer: mirrored(&key.name), test, level: Level::Must };
        all.push((key.mark, field));
    }
    all
}

/// Where the field of a mirror stands: below the status by its name as it is, or by a pointer.
pub(in crate::scenario) fn mirrored(name: &str) -> String {
    match name.starts_with('/') {
        true => format!("/status{name}"),
        false => pointer::below("/status", name),
    }
}

/// Reports what is no JSON pointer.
pub(super) fn is_pointer(path: &str, mark: Mark, example: &str, checker: &mut Checker<'_>) {
    if !path.starts_with('/') {
        checker.report(mark, format!("`{path}` is not a JSON pointer"), Some(format!("such as {example}")));
    }
}

/// Reports a mapping that names nothing.
pub(super) fn nothing_asked(node: &Node, what: &str, checker: &mut Checker<'_>) {
    if node.value() == Value::Object(Default::default()) {
        checker.report(node.mark, format!("no {what} is named"), None);
    }
}

#[cfg(test)]
#[path = "field_tests.rs"]
mod tests;
