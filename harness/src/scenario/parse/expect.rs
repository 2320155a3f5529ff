//! Subjects and conditions.

use indexmap::IndexMap;
use serde_json::Value;

use super::super::model::{
    Clause, ConditionExpectation, FieldExpectation, Level, ListenerExpectation, MessageExpectation, ParentExpectation,
    Parents, SubjectExpectation,
};
use super::check::{Checker, is_condition_type};
use super::field::{below, extra, is_pointer, mirrors, test};
use super::names::Names;
use super::read::{boolean, bounds_of, clauses, integer, level, strings, text};
use super::tree::{Kind, Node};

/// The subjects of a settle or hold.
pub(super) fn subjects(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Vec<SubjectExpectation> {
    if node.entries().is_empty() {
        checker.report(node.mark, "nothing is expected".to_owned(), None);
    }
    let mut all = Vec::new();
    for (key, value) in node.entries() {
        let Some(subject) = names.reference(&key.name, key.mark, checker) else { continue };
        if value.entries().is_empty() {
            checker.report(key.mark, format!("nothing is expected of `{}`", key.name), None);
        }
        all.push(SubjectExpectation {
            conditions: conditions(value, checker),
            parents: parents(value, names, checker),
            listeners: listeners(value, checker),
            fields: fields(value, checker),
            place: key.mark.place,
            standing: names.dialect.standing(&subject.kind),
            subject,
        });
    }
    all
}

fn parents(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Parents {
    let Some(parents) = node.get("parents") else { return Parents::Every };
    if parents.text() == Some("none") {
        return Parents::Absent;
    }
    Parents::Selected(parents.list().iter().filter_map(|p| parent(p, names, checker)).collect())
}

fn parent(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Option<ParentExpectation> {
    let reference = node.get("ref")?;
    let mut value = match reference.text() {
        Some(text) => names.parent_ref(&names.reference(text, reference.mark, checker)?),
        None => reference.value(),
    };
    if let Value::Object(fields) = &mut value {
        for (written, field) in [("section", "sectionName"), ("port", "port")] {
            if let Some(given) = node.get(written) {
                fields.insert(field.to_owned(), given.value());
            }
        }
    }
    let conditions = conditions(node, checker);
    let absent = boolean(node, "absent").unwrap_or(false);
    if absent && !conditions.is_empty() {
        checker.report(node.mark, "an absent entry has no conditions".to_owned(), None);
    }
    Some(ParentExpectation {
        parent_ref: value,
        controller: text(node, "controller").map(str::to_owned),
        absent,
        conditions,
    })
}

fn listeners(node: &Node, checker: &mut Checker<'_>) -> IndexMap<String, ListenerExpectation> {
    let entries = node.get("listeners").map(Node::entries).unwrap_or_default();
    entries
        .iter()
        .map(|(key, value)| {
            let expectation = ListenerExpectation {
                conditions: conditions(value, checker),
                attached_routes: integer(value, "attachedRoutes"),
                supported_kinds: value.get("supportedKinds").map(|kinds| strings(Some(kinds))),
            };
            (key.name.clone(), expectation)
        })
        .collect()
}

fn fields(node: &Node, checker: &mut Checker<'_>) -> Vec<FieldExpectation> {
    let list = node.get("fields").map(Node::list).unwrap_or_default();
    let mut all: Vec<FieldExpectation> = Vec::new();
    let mirrored = node.get("mirrors").map(|m| mirrors(m, checker)).unwrap_or_default();
    let listed: Vec<_> = list.iter().filter_map(|node| Some((node.mark, field(node, checker)?))).collect();
    for (mark, field) in mirrored.into_iter().chain(listed) {
        if all.iter().any(|before| before.pointer == field.pointer) {
            let help = Some("a finding could not say which is meant; put it into a settle of its own".to_owned());
            checker.report(mark, format!("`{}` is tested twice", field.pointer), help);
        }
        all.push(field);
    }
    all
}

fn field(node: &Node, checker: &mut Checker<'_>) -> Option<FieldExpectation> {
    let pointer = node.get("at")?;
    let path = pointer.text()?;
    is_pointer(path, pointer.mark, "/status/addresses", checker);
    let test = test(node, checker)?;
    Some(FieldExpectation { pointer: path.to_owned(), test, level: level(node, "level").unwrap_or_default() })
}

/// The conditions of a subject, listener or parent.
fn conditions(node: &Node, checker: &mut Checker<'_>) -> IndexMap<String, ConditionExpectation> {
    let fields = ["parents", "listeners", "fields", "mirrors"];
    node.entries()
        .iter()
        .filter(|(key, _)| is_condition_type(&key.name) && !fields.contains(&key.name.as_str()))
        .map(|(key, value)| (key.name.clone(), condition(value, checker)))
        .collect()
}

fn condition(node: &Node, checker: &mut Checker<'_>) -> ConditionExpectation {
    if let Some(text) = node.text() {
        return short(text);
    }
    for status in node.get("status").into_iter().flat_map(|s| std::iter::once(s).chain(s.list())) {
        if let Kind::Text(text) = &status.kind {
            checker.status(status, text);
        }
    }
    if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == "present")
        && node.get("absent").is_some()
    {
        let help = Some("leave out one of them".to_owned());
        checker.report(key.mark, "`present` and `absent` say the same of a condition".to_owned(), help);
    }
    let absent = boolean(node, "absent").or_else(|| boolean(node, "present").map(|there| !there)).unwrap_or(false);
    let status = strings(node.get("status"));
    let reason = node.get("reason").or_else(|| node.get("otherThan"));
    if absent && (!status.is_empty() || reason.is_some()) {
        checker.report(node.mark, "an absent condition has neither status nor reason".to_owned(), None);
    }
    if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == "otherThan" && node.get("reason").is_some()) {
        let help = Some("leave out one of them".to_owned());
        checker.report(key.mark, "`otherThan` beside the reasons that are legal says nothing".to_owned(), help);
    }
    if let Some((key, _)) = node.entries().iter().find(|(k, _)| absent && ["fields", "below"].contains(&&*k.name)) {
        checker.report(key.mark, format!("an absent condition has no `{}`", key.name), None);
    }
    if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == "optional")
        && boolean(node, "present").is_some()
        && boolean(node, "optional") == Some(true)
    {
        let help = Some("say one of them".to_owned());
        checker.report(key.mark, "`optional` beside `present` says nothing".to_owned(), help);
    }
    let message = node.get("message").map(|m| MessageExpectation {
        mentions: strings(m.get("mentions")),
        lacks: strings(m.get("lacks")),
        starts: strings(m.get("starts")),
        level: level(m, "level").unwrap_or(Level::Should),
    });
    if let Some(nothing) = node.get("message").filter(|m| m.get("mentions").is_none() && m.get("starts").is_none()) {
        checker.report(nothing.mark, "a message needs `mentions` or `starts`".to_owned(), None);
    }
    let edition = &checker.vocabulary.edition;
    ConditionExpectation {
        status,
        reason: strings(node.get("reason")),
        other_than: strings(node.get("otherThan")),
        message,
        fields: node.get("fields").map(|fields| extra(fields, checker)).unwrap_or_default(),
        below: node.get("below").map(|lists| below(lists, checker)).unwrap_or_default(),
        absent,
        optional: boolean(node, "optional").unwrap_or(false),
        level: level(node, "level").unwrap_or_default(),
        reason_level: level(node, "reasonLevel"),
        bounds: bounds_of(node, edition),
        proves: clauses(node).into_iter().filter(|clause: &Clause| !edition.is_elsewhere(clause)).collect(),
    }
}

/// `True/Accepted`, `False/A|B`, `True|Unknown`, `absent`.
fn short(text: &str) -> ConditionExpectation {
    if text == "absent" {
        return ConditionExpectation { absent: true, ..Default::default() };
    }
    let (status, reason) = text.split_once('/').map_or((text, None), |(s, r)| (s, Some(r)));
    let split = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    ConditionExpectation { status: split(status), reason: reason.map(split).unwrap_or_default(), ..Default::default() }
}
