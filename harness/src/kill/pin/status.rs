//! Statuses that are wrong in one value.

use std::sync::{Arc, LazyLock};

use gateproof_controllers::faults::tamper::StatusEdit;
use gateproof_controllers::settings::CONTROLLER_NAME;
use serde_json::{Value, json};

use super::OTHER;
use crate::dialects::Dialect;
use crate::judge::conditions::{ParentRef, array, generation, namespace};
use crate::judge::contract::{Contract, GATEWAY_API};
use crate::scenario::expectations::{Aspect, Holder};
use crate::scenario::pointer::resolved;
use crate::scenario::{
    ConditionExpectation, FieldTest, ListenerExpectation, Parents, SubCondition, SubjectExpectation,
};

/// A reason that nobody else gives.
const OTHER_REASON: &str = "Tampered";

fn edit(change: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> StatusEdit {
    Arc::new(change)
}

/// A condition that is not as expected in this aspect.
pub(super) fn condition(holder: &Holder, r#type: &str, expected: &ConditionExpectation, aspect: Aspect) -> StatusEdit {
    let (holder, r#type, expected) = (holder.clone(), r#type.to_owned(), expected.clone());
    edit(move |object, status| {
        let Some(conditions) = conditions_of(object, status, &holder) else { return };
        change(conditions, object, &r#type, &expected, &aspect);
    })
}

fn change(conditions: &mut Vec<Value>, object: &Value, r#type: &str, expected: &ConditionExpectation, aspect: &Aspect) {
    if *aspect == Aspect::Present {
        conditions.retain(|one| one["type"] != r#type);
        return;
    }
    let found = entry(conditions, object, r#type, expected);
    match aspect {
        Aspect::Absent | Aspect::Present => {}
        Aspect::Status => {
            let other =
                ["False", "True", "Unknown"].into_iter().find(|s| !expected.status.iter().any(|legal| legal == s));
            found["status"] = json!(other);
        }
        Aspect::Reason => found["reason"] = json!(expected.other_than.first().map_or(OTHER_REASON, String::as_str)),
        Aspect::Message => found["message"] = json!(""),
        Aspect::Field(name) => match expected.fields.get(name) {
            Some(FieldTest::NotEmpty) => drop(found.as_object_mut().and_then(|fields| fields.remove(name))),
            _ => found[name] = json!(OTHER),
        },
        Aspect::Below(name) => {
            let entries = list(found, name);
            if expected.below.get(name).is_some_and(|below| below.at_least) {
                entries.clear();
            } else {
                entries.push(json!({"type": OTHER_REASON, "status": "True", "reason": OTHER_REASON, "message": ""}));
            }
        }
    }
}

/// The condition of a type, current; made as expected if it is not there.
fn entry<'c>(
    conditions: &'c mut Vec<Value>,
    object: &Value,
    r#type: &str,
    expected: &ConditionExpectation,
) -> &'c mut Value {
    let index = conditions.iter().position(|one| one["type"] == r#type).unwrap_or_else(|| {
        conditions.push(json!({
            "type": r#type,
            "status": expected.status.first().map_or("True", String::as_str),
            "reason": expected.reason.first().map_or(OTHER_REASON, String::as_str),
            "message": "",
            "lastTransitionTime": object["metadata"]["creationTimestamp"],
        }));
        conditions.len() - 1
    });
    let found = &mut conditions[index];
    found["observedGeneration"] = json!(generation(object));
    found
}

/// Another set of entries than expected.
pub(super) fn parents(expected: &Parents) -> StatusEdit {
    let none = *expected == Parents::Absent;
    edit(move |object, status| {
        let parent_ref = match object.pointer("/spec/parentRefs/0") {
            Some(first) if none => first.clone(),
            _ => json!({"name": OTHER}),
        };
        ensure_parent(object, status, &parent_ref, CONTROLLER_NAME);
    })
}

/// An entry too many, or one too few.
pub(super) fn parent(parent_ref: &Value, controller: Option<&str>, absent: bool) -> StatusEdit {
    let (parent_ref, controller) = (parent_ref.clone(), controller.unwrap_or(CONTROLLER_NAME).to_owned());
    edit(move |object, status| {
        if absent {
            ensure_parent(object, status, &parent_ref, &controller);
        } else {
            let wanted = ParentRef::of(&parent_ref, namespace(object), &Dialect::gateway_api());
            list(status, entries(object).list).retain(|entry| !is_of(entry, &wanted, &controller, object));
        }
    })
}

/// One route more than there are.
pub(super) fn attached_routes(listener: &str) -> StatusEdit {
    on_listener(listener, |entry| {
        let count = entry["attachedRoutes"].as_i64().unwrap_or_default();
        entry["attachedRoutes"] = json!(count + 1);
    })
}

/// One kind more than there are.
pub(super) fn supported_kinds(listener: &str) -> StatusEdit {
    on_listener(listener, |entry| {
        let other = json!({"group": Dialect::gateway_api().group(), "kind": OTHER_REASON});
        list(entry, "supportedKinds").push(other);
    })
}

fn on_listener(name: &str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> StatusEdit {
    let name = name.to_owned();
    edit(move |_, status| list(status, "listeners").iter_mut().filter(|entry| entry["name"] == name).for_each(&change))
}

/// A status that says what it must never say.
pub(super) fn never(subject: &SubjectExpectation) -> StatusEdit {
    let subject = subject.clone();
    edit(move |object, status| {
        let holders: Vec<(Holder, Vec<(&String, &ConditionExpectation)>)> = match &subject.parents {
            _ if !has_parents(object) => vec![(Holder::Own, subject.conditions.iter().collect())],
            Parents::Selected(parents) => parents
                .iter()
                .map(|one| {
                    let conditions = subject.conditions.iter().chain(&one.conditions);
                    (Holder::Parent(one.parent_ref.clone(), one.controller.clone()), conditions.collect())
                })
                .collect(),
            Parents::Every | Parents::Absent => array(object.pointer("/spec/parentRefs"))
                .iter()
                .map(|parent_ref| (Holder::Parent(parent_ref.clone(), None), subject.conditions.iter().collect()))
                .collect(),
        };
        let listeners = subject.listeners.iter().map(|(name, ListenerExpectation { conditions, .. })| {
            (Holder::Listener(name.clone()), conditions.iter().collect())
        });
        for (holder, conditions) in holders.into_iter().chain(listeners) {
            if let Holder::Parent(parent_ref, controller) = &holder {
                ensure_parent(object, status, parent_ref, controller.as_deref().unwrap_or(CONTROLLER_NAME));
            }
            let Some(list) = conditions_of(object, status, &holder) else { continue };
            for (r#type, expected) in conditions {
                let found = entry(list, object, r#type, expected);
                if let Some(wanted) = expected.status.first() {
                    found["status"] = json!(wanted);
                }
                if let Some(wanted) = expected.reason.first() {
                    found["reason"] = json!(wanted);
                }
                for (name, test) in &expected.fields {
                    fulfil(found, &format!("/{name}"), test, generation(object));
                }
                for (name, below) in &expected.below {
                    let entry = |one: &SubCondition| json!({"type": one.type_, "status": "True", "reason": one.reason, "message": ""});
                    found[name] = below.entries.iter().map(entry).collect();
                }
            }
        }
        for field in &subject.fields {
            if let Some(pointer) = field.pointer.strip_prefix("/status") {
                fulfil(status, &resolved(status, pointer), &field.test, generation(object));
            }
        }
    })
}

/// Has a test hold of a field; of those that say nothing of its value, only where there is none.
fn fulfil(holder: &mut Value, pointer: &str, test: &FieldTest, generation: i64) {
    let wanted = match test {
        FieldTest::Equals(value) => value.clone(),
        FieldTest::OneOf(values) => values.first().cloned().unwrap_or_default(),
        FieldTest::Contains(value) => json!([value]),
        FieldTest::Mentions(text) => text.clone(),
        FieldTest::Current => json!(generation),
        FieldTest::NotEmpty if holder.pointer(pointer).is_some() => return,
        FieldTest::NotEmpty => json!(OTHER),
        FieldTest::Absent | FieldTest::Empty => Value::Null,
        FieldTest::SortedBy(_) | FieldTest::SameAs(_) => return,
    };
    let (above, name) = pointer.rsplit_once('/').unwrap_or_default();
    match holder.pointer_mut(above).and_then(Value::as_object_mut) {
        Some(fields) if wanted.is_null() => drop(fields.remove(name)),
        Some(fields) => drop(fields.insert(name.to_owned(), wanted)),
        None => {}
    }
}

/// A status that was written although nothing has changed.
pub(super) fn touched() -> StatusEdit {
    edit(|object, status| {
        let lists = ["/conditions", "/parents/0/conditions", "/ancestors/0/conditions", "/listeners/0/conditions"];
        let found = |pointer: &&str| status.pointer(pointer).and_then(Value::as_array).is_some_and(|it| !it.is_empty());
        let first = lists.into_iter().find(found);
        match first.and_then(|pointer| status.pointer_mut(pointer)).and_then(Value::as_array_mut) {
            // What a message says may be free.
            Some(conditions) if conditions.len() > 1 => conditions.rotate_left(1),
            Some(conditions) => {
                let message = conditions[0]["message"].as_str().unwrap_or_default();
                conditions[0]["message"] = json!(format!("{message} ({OTHER})"));
            }
            None => {
                ensure_parent(object, status, &json!({"name": OTHER}), CONTROLLER_NAME);
                // Whoever else may have an entry, this one is nobody's.
                list(status, entries(object).list)[0]["controllerName"] = json!(format!("{OTHER}.example/{OTHER}"));
            }
        }
    })
}

/// The conditions of a holder; nothing if it is not there. Of a route's own, those of its first entry.
fn conditions_of<'s>(object: &Value, status: &'s mut Value, holder: &Holder) -> Option<&'s mut Vec<Value>> {
    let entry = match holder {
        Holder::Own if has_parents(object) => {
            list(status, entries(object).list).iter_mut().find(|entry| entry["controllerName"] == CONTROLLER_NAME)?
        }
        Holder::Own => status,
        Holder::Parent(parent_ref, controller) => {
            let wanted = ParentRef::of(parent_ref, namespace(object), &Dialect::gateway_api());
            let controller = controller.as_deref().unwrap_or(CONTROLLER_NAME);
            list(status, entries(object).list).iter_mut().find(|entry| is_of(entry, &wanted, controller, object))?
        }
        Holder::Listener(name) => list(status, "listeners").iter_mut().find(|entry| entry["name"] == *name)?,
    };
    Some(list(entry, "conditions"))
}

/// Where an object has entries of controllers, and what in them says what each is about.
struct Entries {
    list: &'static str,
    reference: &'static str,
}

/// Those of a route, or of a policy, which has ancestors.
fn entries(object: &Value) -> Entries {
    match object.pointer("/spec/targetRefs") {
        Some(_) => Entries { list: "ancestors", reference: "ancestorRef" },
        None => Entries { list: "parents", reference: "parentRef" },
    }
}

/// Whether the conditions of an object stand in entries of controllers.
fn has_parents(object: &Value) -> bool {
    ["/spec/parentRefs", "/spec/targetRefs"].into_iter().any(|pointer| object.pointer(pointer).is_some())
}

/// Adds an entry of a controller for a parent, if there is none.
fn ensure_parent(object: &Value, status: &mut Value, parent_ref: &Value, controller: &str) {
    let wanted = ParentRef::of(parent_ref, namespace(object), &Dialect::gateway_api());
    let Entries { list: name, reference } = entries(object);
    let entries = list(status, name);
    if entries.iter().any(|entry| is_of(entry, &wanted, controller, object)) {
        return;
    }
    static CONTRACT: LazyLock<Option<Contract>> = LazyLock::new(|| Contract::parse(GATEWAY_API).ok());
    let kind = object["kind"].as_str().unwrap_or_default();
    let well = CONTRACT.as_ref().map(|contract| contract.well_in_parents(kind)).unwrap_or_default();
    let condition = |(r#type, reason): (&str, &str)| {
        json!({
            "type": r#type,
            "status": "True",
            "reason": reason,
            "message": "",
            "observedGeneration": generation(object),
            "lastTransitionTime": object["metadata"]["creationTimestamp"],
        })
    };
    entries.push(json!({
        reference: parent_ref,
        "controllerName": controller,
        "conditions": well.into_iter().map(condition).collect::<Vec<_>>(),
    }));
}

fn is_of(entry: &Value, parent: &ParentRef, controller: &str, object: &Value) -> bool {
    entry["controllerName"] == controller
        && ParentRef::of(&entry[entries(object).reference], namespace(object), &Dialect::gateway_api()) == *parent
}

/// The list of this name, made if it is not there.
fn list<'v>(holder: &'v mut Value, name: &str) -> &'v mut Vec<Value> {
    if !holder[name].is_array() {
        holder[name] = json!([]);
    }
    match &mut holder[name] {
        Value::Array(items) => items,
        _ => unreachable!("it was just made an array"),
    }
}

#[cfg(test)]
mod tests;
