//! What one expectation asserts, apart from its scenario.

use serde_json::{Value, json};

use super::super::model::{
    Carried, ConditionExpectation, FieldExpectation, Hold, MadeFor, ObjectRef, Parents, Probe, Requests, Scenario,
    SubjectExpectation, Verb,
};
use super::id::Requested;
use super::walk::{self, Aspect, SeenPart, Site};

/// What an expectation asserts, and of what.
#[derive(Debug, Clone, PartialEq)]
pub enum Asserted {
    /// These objects are refused.
    Refused(Vec<Value>),
    /// These objects are admitted.
    Admitted(Vec<Value>),
    /// An aspect of a condition.
    Condition {
        /// Of which object.
        object: ObjectRef,
        /// Of which part of it.
        holder: Holder,
        /// The condition's type.
        r#type: String,
        /// What is expected of the condition.
        expected: Box<ConditionExpectation>,
        /// Which of that.
        aspect: Aspect,
    },
    /// Whether a route has entries for its parentRefs, or none at all.
    Parents(ObjectRef, Parents),
    /// Whether a route has an entry for this parentRef, by the target or another controller (`true`: it must not).
    Parent(ObjectRef, Value, Option<String>, bool),
    /// The number of routes attached to a listener of this name.
    AttachedRoutes(ObjectRef, String),
    /// The kinds that a listener of this name supports.
    SupportedKinds(ObjectRef, String),
    /// A field.
    Field(ObjectRef, FieldExpectation),
    /// What no version may be like: this condition of the subject, or all that is said of it.
    Never(Box<SubjectExpectation>, Option<String>),
    /// That a status is not written.
    Unchanged(ObjectRef),
    /// Who answers, or that nobody does.
    Answer(Box<Probe>),
    /// A part of an HTTP answer.
    Seen(Box<Probe>, SeenPart),
    /// How many requests a service gets, or how far apart.
    Requests(Box<Requests>, Requested),
    /// What is carried by objects that a target made.
    Made(Box<MadeFor>, Carried),
}

/// Whose conditions they are.
#[derive(Debug, Clone, PartialEq)]
pub enum Holder {
    /// The object's; a route's in every entry of its `status.parents`.
    Own,
    /// Those of a route's entry for this parentRef, by the target or another controller.
    Parent(Value, Option<String>),
    /// Those of the listener of this name.
    Listener(String),
}

impl Asserted {
    /// Whether an expectation of the same name in another step asks for the same value. Two probes do if they are the same.
    pub fn is_alike(&self, other: &Asserted) -> bool {
        let (Asserted::Condition { expected: one, .. }, Asserted::Condition { expected: two, aspect, .. }) =
            (self, other)
        else {
            return self == other;
        };
        match aspect {
            Aspect::Absent | Aspect::Present => (one.absent, one.optional) == (two.absent, two.optional),
            Aspect::Status => (&one.status, one.optional) == (&two.status, two.optional),
            Aspect::Reason => (&one.reason, &one.other_than) == (&two.reason, &two.other_than),
            Aspect::Message => one.message == two.message,
            Aspect::Field(name) => one.fields.get(name) == two.fields.get(name),
            Aspect::Below(name) => one.below.get(name) == two.below.get(name),
        }
    }

    /// The values that are asked for, such as `True` of a status, where a few words say them.
    pub fn values(&self) -> Option<String> {
        let Asserted::Condition { expected, aspect, .. } = self else { return None };
        let values = match aspect {
            Aspect::Status => expected.status.join(" or "),
            Aspect::Reason if expected.reason.is_empty() => {
                format!("none of {}", expected.other_than.join(", "))
            }
            Aspect::Reason => expected.reason.join(" or "),
            Aspect::Message => {
                let message = expected.message.as_ref()?;
                let parts =
                    [("mentions", &message.mentions), ("lacks", &message.lacks), ("starts with", &message.starts)];
                let said = parts.into_iter().filter(|(_, texts)| !texts.is_empty());
                said.map(|(verb, texts)| format!("{verb} {}", texts.join(", "))).collect::<Vec<_>>().join("; ")
            }
            Aspect::Absent | Aspect::Present | Aspect::Field(_) | Aspect::Below(_) => return None,
        };
        Some(values)
    }

    fn at(site: &Site<'_>) -> Asserted {
        match site {
            Site::Refused(verb) => Asserted::Refused(written(verb)),
            Site::Admitted(verb) => Asserted::Admitted(written(verb)),
            Site::Condition(object, holder, r#type, expected, aspect) => Asserted::Condition {
                object: (*object).clone(),
                holder: match holder {
                    walk::Holder::Own => Holder::Own,
                    walk::Holder::Parent(parent_ref, controller) => {
                        Holder::Parent((*parent_ref).clone(), controller.map(str::to_owned))
                    }
                    walk::Holder::Listener(name) => Holder::Listener((*name).to_owned()),
                },
                r#type: (*r#type).to_owned(),
                expected: Box::new((*expected).clone()),
                aspect: aspect.clone(),
            },
            Site::Parents(object, parents) => Asserted::Parents((*object).clone(), (*parents).clone()),
            Site::Parent(object, parent) => {
                let (parent_ref, controller) = (parent.parent_ref.clone(), parent.controller.clone());
                Asserted::Parent((*object).clone(), parent_ref, controller, parent.absent)
            }
            Site::AttachedRoutes(object, listener, _) => {
                Asserted::AttachedRoutes((*object).clone(), (*listener).to_owned())
            }
            Site::SupportedKinds(object, listener, _) => {
                Asserted::SupportedKinds((*object).clone(), (*listener).to_owned())
            }
            Site::Field(object, field) => Asserted::Field((*object).clone(), (*field).clone()),
            Site::Never(Hold { never, .. }, index, kind) => {
                Asserted::Never(Box::new(never[*index].clone()), kind.clone())
            }
            Site::Unchanged(object) => Asserted::Unchanged((*object).clone()),
            Site::Answer(probe) => Asserted::Answer(Box::new((*probe).clone())),
            Site::Seen(probe, part) => Asserted::Seen(Box::new((*probe).clone()), part.clone()),
            Site::Requests(requests, part) => Asserted::Requests(Box::new((*requests).clone()), *part),
            Site::Made(made, part) => Asserted::Made(Box::new((*made).clone()), part.clone()),
        }
    }
}

/// The objects that a write is about; of a patched one, its kind.
fn written(verb: &Verb) -> Vec<Value> {
    match verb {
        Verb::Apply(apply) => apply.objects.clone(),
        Verb::Patch(patch) => vec![json!({"kind": patch.target.kind})],
        Verb::Delete(_) | Verb::Settle(_) | Verb::Hold(_) => Vec::new(),
        Verb::Probe(_) | Verb::Script(_) | Verb::Requests(_) | Verb::Made(_) => Vec::new(),
    }
}

/// What the expectation of this name asserts.
pub fn asserted(scenario: &Scenario, wanted: &str) -> Option<Asserted> {
    let mut found = None;
    walk::visit(&mut scenario.clone(), &mut |expectation, site| {
        if expectation.id == wanted {
            found = Some(Asserted::at(&site));
        }
    });
    found
}
