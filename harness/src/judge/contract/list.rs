//! The condition lists of an object.

use serde_json::Value;

use super::terms::{ConditionTerms, Kind, Presence, Subject};
use crate::dialects::{Dialect, StatusList};
use crate::judge::conditions::{Condition, ParentRef, array, list, namespace, own, parent_refs};
use crate::scenario::{Basis, ObjectRef, ParentExpectation, Parents, SubjectExpectation};

/// A condition list of our controller, with its place in the status.
#[derive(Debug)]
pub(super) struct List<'a> {
    pub(super) path: String,
    pub(super) subject: &'a Subject,
    pub(super) entry: Option<&'a Value>,
    pub(super) conditions: Vec<Condition<'a>>,
}

impl<'a> List<'a> {
    /// The terms of a type that has a meaning at this version.
    pub(super) fn terms(&self, type_: &str, basis: Basis) -> Option<&'a ConditionTerms> {
        self.subject.conditions.get(type_).filter(|terms| terms.known_at(basis))
    }

    /// Whether a later release defines a type: who says it already has not made it up.
    pub(super) fn is_to_come(&self, type_: &str, basis: Basis) -> bool {
        let since = self.subject.conditions.get(type_).and_then(|terms| terms.since);
        since.zip(basis.release).is_some_and(|(since, release)| release.version < since)
    }

    /// Whether the controller has written here, so that what stands here is its word.
    pub(super) fn visited(&self) -> bool {
        self.conditions.iter().any(|c| self.subject.conditions.contains_key(c.type_) && !c.is_placeholder())
    }

    /// Whether a settle waited for a type in this list.
    pub(super) fn is_awaited(&self, type_: &str, awaited: &SubjectExpectation, dialect: &Dialect) -> bool {
        match self.subject.at {
            StatusList::Object => awaited.conditions.contains_key(type_),
            StatusList::Listeners => {
                let name = self.entry.and_then(|entry| entry.get("name")).and_then(Value::as_str).unwrap_or_default();
                awaited.listeners.get(name).is_some_and(|listener| listener.conditions.contains_key(type_))
            }
            StatusList::Parents | StatusList::Ancestors => match &awaited.parents {
                Parents::Selected(parents) => {
                    let mut this = parents.iter().filter(|parent| self.is_of(parent, &awaited.subject, dialect));
                    this.any(|one| one.conditions.contains_key(type_) || awaited.conditions.contains_key(type_))
                }
                Parents::Every | Parents::Absent => awaited.conditions.contains_key(type_),
            },
        }
    }

    /// Whether it is the entry that is meant there.
    fn is_of(&self, meant: &ParentExpectation, object: &ObjectRef, dialect: &Dialect) -> bool {
        let Some(entry) = self.entry else { return false };
        let is_whose = meant.controller.as_deref().map_or(self.subject.controller.is_none(), |controller| {
            entry.get("controllerName").and_then(Value::as_str) == Some(controller)
        });
        let reference = |of: &Value| ParentRef::of(of, object.namespace.as_deref().unwrap_or_default(), dialect);
        is_whose && reference(entry.get(whose(self.subject.at)).unwrap_or(&Value::Null)) == reference(&meant.parent_ref)
    }

    /// Whether it is an entry for a parent that the route no longer names: it ought to go, and is not kept current meanwhile.
    pub(super) fn is_left_over(&self, object: &Value, dialect: &Dialect) -> bool {
        let of_parent = |entry: &Value| {
            let reference = entry.get("parentRef").unwrap_or(&Value::Null);
            !parent_refs(object, dialect).contains(&ParentRef::of(reference, namespace(object), dialect))
        };
        self.subject.at == StatusList::Parents && self.entry.is_some_and(of_parent)
    }

    pub(super) fn path_of(&self, type_: &str) -> String {
        format!("{}[{type_}]", self.path)
    }

    /// Types that must be there whatever the state.
    pub(super) fn always(&self, basis: Basis) -> impl Iterator<Item = &'a String> {
        self.subject
            .conditions
            .iter()
            .filter(move |(_, terms)| terms.presence == Presence::Always && terms.known_at(basis))
            .map(|(type_, _)| type_)
    }
}

/// Every condition list of an object that our controller answers for.
pub(super) fn lists<'a>(kind: &'a Kind, object: &'a Value, controller: &str, dialect: &Dialect) -> Vec<List<'a>> {
    let mut lists = Vec::new();
    for subject in &kind.subjects {
        match subject.at {
            StatusList::Object => lists.push(List {
                path: "status.conditions".to_owned(),
                subject,
                entry: None,
                conditions: own(object, dialect),
            }),
            StatusList::Listeners => {
                for entry in array(object.pointer("/status/listeners")) {
                    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
                    lists.push(List {
                        path: format!("status.listeners[{name}].conditions"),
                        subject,
                        entry: Some(entry),
                        conditions: list(entry.get("conditions")),
                    });
                }
            }
            StatusList::Parents | StatusList::Ancestors => {
                let controller = subject.controller.as_deref().unwrap_or(controller);
                for (entry, parent) in entries(subject.at, object, dialect) {
                    if entry.get("controllerName").and_then(Value::as_str) == Some(controller) {
                        lists.push(List {
                            path: format!("status.{}[{parent}].conditions", subject.at.field()),
                            subject,
                            entry: Some(entry),
                            conditions: list(entry.get("conditions")),
                        });
                    }
                }
            }
        }
    }
    lists
}

/// Entries of `status.parents` or `status.ancestors` with whom they are about.
pub(super) fn entries<'a>(at: StatusList, object: &'a Value, dialect: &Dialect) -> Vec<(&'a Value, ParentRef)> {
    array(object.get("status").and_then(|s| s.get(at.field())))
        .iter()
        .map(|entry| (entry, ParentRef::of(entry.get(whose(at)).unwrap_or(&Value::Null), namespace(object), dialect)))
        .collect()
}

/// The field of an entry that says whom it is about.
fn whose(at: StatusList) -> &'static str {
    if at == StatusList::Ancestors { "ancestorRef" } else { "parentRef" }
}
