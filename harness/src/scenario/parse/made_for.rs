//! `made` as a step: what is carried by the objects that a target made for another one.

use indexmap::IndexMap;

use super::super::model::{FieldTest, Level, MadeFor};
use super::check::Checker;
use super::field;
use super::names::Names;
use super::read::{boolean, level};
use super::tree::Node;
use crate::dialects::MadeKind;

/// Reads the step.
pub(super) fn made_for(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Option<MadeFor> {
    let given = node.get("for")?;
    let labels = tests(node, "labels", checker);
    let annotations = tests(node, "annotations", checker);
    if node.get("labels").is_none() && node.get("annotations").is_none() {
        let help = Some("say `labels`, `annotations`, or both".to_owned());
        checker.report(node.mark, "nothing is asked of what is made".to_owned(), help);
    }
    let object = names.reference(given.text()?, given.mark, checker)?;
    let dialect = &names.dialect;
    let Some(makes) = dialect.kind(&object.kind).and_then(|kind| kind.makes.as_ref()) else {
        let makers = dialect.kinds().filter(|kind| kind.makes.is_some()).map(|kind| kind.kind.as_str());
        let makers = makers.collect::<Vec<_>>().join(", ");
        let message = format!("the dialect `{}` says of nothing that it is made for a {}", dialect.name(), object.kind);
        let help = match makers.is_empty() {
            true => "say by which label such objects are found: `makes` of the kind in dialect.yaml".to_owned(),
            false => format!("it says so of {makers}: `makes` of the kind in dialect.yaml"),
        };
        checker.report(given.mark, message, Some(help));
        return None;
    };
    Some(MadeFor {
        object,
        label: makes.label.clone(),
        kinds: kinds(node, &makes.kinds, checker),
        labels,
        annotations,
        some_of_each: boolean(node, "someOfEach").unwrap_or(false),
        level: level(node, "level").unwrap_or(Level::Must),
    })
}

/// Those of the dialect's kinds that are asked after; all of them unless some are named.
fn kinds(node: &Node, known: &[MadeKind], checker: &mut Checker<'_>) -> Vec<MadeKind> {
    let Some(list) = node.get("kinds") else { return known.to_vec() };
    if list.list().is_empty() {
        let help = Some("leave it out to ask after all kinds".to_owned());
        checker.report(list.mark, "no kind is named".to_owned(), help);
    }
    let mut found: Vec<MadeKind> = Vec::new();
    for item in list.list() {
        let Some(name) = item.text() else { continue };
        match known.iter().find(|kind| kind.kind == name) {
            Some(kind) if found.contains(kind) => checker.report(item.mark, format!("`{name}` is there twice"), None),
            Some(kind) => found.push(kind.clone()),
            None => checker.unknown(item.mark, "kind that is made", name, known.iter().map(|kind| kind.kind.as_str())),
        }
    }
    found
}

fn tests(node: &Node, name: &str, checker: &mut Checker<'_>) -> IndexMap<String, FieldTest> {
    let Some(map) = node.get(name) else { return IndexMap::new() };
    field::nothing_asked(map, name.trim_end_matches('s'), checker);
    let test = |(key, given): &(super::tree::Key, Node)| {
        let test = field::value(given, checker)?;
        // What is carried is a text, or it is not there.
        let wrong = test.values().iter().any(|value| !value.is_string() && !value.is_null());
        if wrong || matches!(test, FieldTest::SortedBy(_) | FieldTest::Contains(_)) {
            let help = Some(r#"quote it, such as "8080" or "true""#.to_owned());
            checker.report(given.mark, format!("the value of `{}` is no text", key.name), help);
        }
        Some((key.name.clone(), test))
    };
    map.entries().iter().filter_map(test).collect()
}

#[cfg(test)]
#[path = "made_for_tests.rs"]
mod tests;
