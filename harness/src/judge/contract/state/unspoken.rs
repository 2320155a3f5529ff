//! What has to be in a status whatever the state, and has never been there although its controller has spoken.

use indexmap::IndexMap;
use serde_json::Value;

use super::{ContractState, Last};
use crate::dialects::{Dialect, Standing, StatusList};
use crate::judge::conditions::array;
use crate::judge::contract::list::{List, lists};
use crate::judge::contract::rule::Rule;
use crate::judge::contract::terms::Kind;
use crate::log::ObjectKey;
use crate::scenario::{
    ConditionExpectation, ListenerExpectation, ObjectRef, ParentExpectation, Parents, SubjectExpectation,
};

impl ContractState {
    /// What is to be waited for, so that it can be said to be missing. Nothing is said of objects that nobody has spoken of, that go,
    /// or of which versions were missed; nor of those that `is_anothers`.
    pub fn unspoken(&self, is_anothers: impl Fn(&ObjectKey) -> bool) -> Vec<SubjectExpectation> {
        let mut found = Vec::new();
        if self.disturbed.is_some() {
            return found;
        }
        for (key, seen) in self.objects.iter().filter(|(key, seen)| !seen.gap && !is_anothers(key)) {
            let (Some(last), Some(kind)) = (&seen.last, self.contract.kind(&key.group, &key.kind)) else { continue };
            if self.contract.holds(Rule::AlwaysPresent, kind, self.basis)
                && !goes(last)
                && self.is_ours(key, &last.object)
            {
                found.extend(self.missing(kind, last).map(|missing| missing.of(key)));
            }
        }
        found
    }

    fn missing(&self, kind: &Kind, last: &Last) -> Option<Missing> {
        let dialect: &Dialect = self.contract.dialect();
        let mut missing = Missing::default();
        for list in lists(kind, &last.object, &self.controller, dialect) {
            if !list.visited() || list.is_left_over(&last.object, dialect) {
                continue;
            }
            let is_there = |type_: &str| list.conditions.iter().any(|condition| condition.type_ == type_);
            let types = list.always(self.basis).filter(|type_| !is_there(type_));
            let types: IndexMap<_, _> = types.map(|type_| (type_.clone(), ConditionExpectation::default())).collect();
            if !types.is_empty() {
                missing.add(&list, types, &last.object);
            }
        }
        missing.is_some().then_some(missing)
    }
}

fn goes(last: &Last) -> bool {
    last.deleted || last.object.pointer("/metadata/deletionTimestamp").is_some()
}

type Types = IndexMap<String, ConditionExpectation>;

/// What is missing in the status of an object, by where it is.
#[derive(Default)]
struct Missing {
    own: Types,
    listeners: IndexMap<String, ListenerExpectation>,
    parents: Vec<ParentExpectation>,
    ancestors: Types,
}

impl Missing {
    fn is_some(&self) -> bool {
        !(self.own.is_empty() && self.listeners.is_empty() && self.parents.is_empty() && self.ancestors.is_empty())
    }

    fn add(&mut self, list: &List<'_>, types: Types, object: &Value) {
        let text = |field: &str| list.entry.and_then(|entry| entry.get(field)).and_then(Value::as_str);
        match list.subject.at {
            StatusList::Object => self.own.extend(types),
            StatusList::Listeners => {
                // An entry of a listener that the spec no longer has ought to go.
                let name = text("name").unwrap_or_default();
                let specified = array(object.pointer("/spec/listeners"));
                if specified.iter().any(|listener| listener.get("name").and_then(Value::as_str) == Some(name)) {
                    let expected = ListenerExpectation { conditions: types, ..ListenerExpectation::default() };
                    self.listeners.insert(name.to_owned(), expected);
                }
            }
            StatusList::Parents => self.parents.push(ParentExpectation {
                parent_ref: list.entry.and_then(|entry| entry.get("parentRef")).cloned().unwrap_or_default(),
                controller: text("controllerName").filter(|_| list.subject.controller.is_some()).map(str::to_owned),
                absent: false,
                conditions: types,
            }),
            // Entries of another controller cannot be asked about, and are another's.
            StatusList::Ancestors if list.subject.controller.is_some() => {}
            StatusList::Ancestors => self.ancestors.extend(types),
        }
    }

    fn of(self, key: &ObjectKey) -> SubjectExpectation {
        let ObjectKey { kind, namespace, name, .. } = key.clone();
        let standing = match (self.parents.is_empty(), self.ancestors.is_empty()) {
            (false, _) => Standing::Parents,
            (true, false) => Standing::Ancestors,
            (true, true) => Standing::Object,
        };
        let mut conditions = self.own;
        conditions.extend(self.ancestors);
        SubjectExpectation {
            subject: ObjectRef { kind, namespace, name, pool: false },
            standing,
            conditions,
            parents: if self.parents.is_empty() { Parents::Every } else { Parents::Selected(self.parents) },
            listeners: self.listeners,
            fields: Vec::new(),
            place: crate::scenario::Place::default(),
        }
    }
}
