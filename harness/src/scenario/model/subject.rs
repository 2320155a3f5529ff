//! What is expected of an object's status.

use std::fmt;

use indexmap::IndexMap;
use serde_json::Value;

use crate::dialects::Standing;

use super::{Bounds, Clause, Level, ObjectRef, Place};

/// What is expected of one object's status.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectExpectation {
    /// Which object.
    pub subject: ObjectRef,
    /// Where conditions of its kind stand.
    pub standing: Standing,
    /// Conditions. On a route: of every parentRef in its spec. Otherwise: `status.conditions`.
    pub conditions: IndexMap<String, ConditionExpectation>,
    /// Routes only: which parent entries.
    pub parents: Parents,
    /// Gateways only: listeners by name.
    pub listeners: IndexMap<String, ListenerExpectation>,
    /// Further fields.
    pub fields: Vec<FieldExpectation>,
    /// Where it stands.
    pub place: Place,
}

impl SubjectExpectation {
    /// How binding the most binding part is of those that have a meaning, as `has_meaning` says of their bounds.
    pub fn most_binding(&self, has_meaning: impl Fn(Bounds) -> bool) -> Level {
        let parents = match &self.parents {
            Parents::Selected(selected) => selected.as_slice(),
            Parents::Every | Parents::Absent => &[],
        };
        let conditions = self.conditions.values();
        let conditions = conditions.chain(parents.iter().flat_map(|parent| parent.conditions.values()));
        let conditions = conditions.chain(self.listeners.values().flat_map(|listener| listener.conditions.values()));
        let levels = conditions.filter(|condition| has_meaning(condition.bounds)).map(|condition| condition.level);
        levels.chain(self.fields.iter().map(|field| field.level)).max().unwrap_or_default()
    }
}

/// Which entries of `status.parents` are meant.
#[derive(Debug, Clone, PartialEq)]
pub enum Parents {
    /// One for each parentRef of the spec, none missing and none too many of our controller.
    Every,
    /// These, and none too many of our controller; parentRefs not listed may or may not have one.
    Selected(Vec<ParentExpectation>),
    /// None of our controller.
    Absent,
}

/// One parent entry.
#[derive(Debug, Clone, PartialEq)]
pub struct ParentExpectation {
    /// The parentRef as in the route's spec (an object with name, namespace, sectionName, port …).
    pub parent_ref: Value,
    /// Whose entry it is, if not our controller's.
    pub controller: Option<String>,
    /// `true`: there must be no such entry.
    pub absent: bool,
    /// Its conditions.
    pub conditions: IndexMap<String, ConditionExpectation>,
}

/// One listener's status.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListenerExpectation {
    /// Its conditions.
    pub conditions: IndexMap<String, ConditionExpectation>,
    /// Exact number of attached routes.
    pub attached_routes: Option<i64>,
    /// Exact set of supported kinds, `Kind` or `group/Kind`.
    pub supported_kinds: Option<Vec<String>>,
}

/// One condition. Empty sets mean any. observedGeneration is always demanded to be current.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConditionExpectation {
    /// Legal statuses.
    pub status: Vec<String>,
    /// Legal reasons.
    pub reason: Vec<String>,
    /// Reasons that are not, where every other is.
    pub other_than: Vec<String>,
    /// The message.
    pub message: Option<MessageExpectation>,
    /// Further fields of the condition, by name.
    pub fields: IndexMap<String, FieldTest>,
    /// Lists of sub-conditions that stand in it, by the name of the field.
    pub below: IndexMap<String, BelowExpectation>,
    /// The condition must not be there.
    pub absent: bool,
    /// The condition may be absent, but if it is there it must be so.
    pub optional: bool,
    /// How binding. With SHOULD or MAY, status still must hold if `status_level` says so.
    pub level: Level,
    /// How binding the reason is, when weaker than `level`.
    pub reason_level: Option<Level>,
    /// Where it has a meaning.
    pub bounds: Bounds,
    /// What it proves beyond the step's clauses.
    pub proves: Vec<Clause>,
}

/// The sub-conditions of a list in a condition. Their order says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BelowExpectation {
    /// What must stand there, each as often as it is named here.
    pub entries: Vec<SubCondition>,
    /// Whether others may stand beside them.
    pub at_least: bool,
}

/// What a sub-condition is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubCondition {
    /// `type`.
    pub type_: String,
    /// `reason`.
    pub reason: String,
}

impl SubCondition {
    /// Reads `Type/Reason`.
    pub fn of(text: &str) -> Option<SubCondition> {
        let (type_, reason) = text.rsplit_once('/')?;
        let is_word =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-,:/".contains(c));
        (is_word(type_) && is_word(reason)).then(|| SubCondition { type_: type_.to_owned(), reason: reason.to_owned() })
    }
}

impl fmt::Display for SubCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.type_, self.reason)
    }
}

/// What a message must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageExpectation {
    /// Texts that it must contain.
    pub mentions: Vec<String>,
    /// Texts that it must not contain, beside one of the others: a message that says nothing would lack anything.
    pub lacks: Vec<String>,
    /// Texts of which it must start with one; none means any.
    pub starts: Vec<String>,
    /// How binding; SHOULD unless given.
    pub level: Level,
}

/// A field of the object, by JSON pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldExpectation {
    /// Such as `/status/addresses`.
    pub pointer: String,
    /// What of it.
    pub test: FieldTest,
    /// How binding.
    pub level: Level,
}

/// A test of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldTest {
    /// Is this value.
    Equals(Value),
    /// Is one of these values.
    OneOf(Vec<Value>),
    /// Is the object's `metadata.generation`.
    Current,
    /// Is not there at all; nor is what is null.
    Absent,
    /// Is there and not empty.
    NotEmpty,
    /// Is not there, or empty.
    Empty,
    /// Is a list in ascending order of this field.
    SortedBy(String),
    /// Is a list that holds this value.
    Contains(Value),
    /// Is what stands at this pointer of the same object, where something does.
    SameAs(String),
    /// Is a text that has this one in it, in whatever case.
    Mentions(Value),
}

impl FieldTest {
    /// The values of the manifest in it.
    pub fn values(&self) -> &[Value] {
        match self {
            FieldTest::Equals(value) | FieldTest::Contains(value) | FieldTest::Mentions(value) => {
                std::slice::from_ref(value)
            }
            FieldTest::OneOf(values) => values,
            FieldTest::Current
            | FieldTest::Absent
            | FieldTest::NotEmpty
            | FieldTest::Empty
            | FieldTest::SortedBy(_)
            | FieldTest::SameAs(_) => &[],
        }
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> &mut [Value] {
        match self {
            FieldTest::Equals(value) | FieldTest::Contains(value) | FieldTest::Mentions(value) => {
                std::slice::from_mut(value)
            }
            FieldTest::OneOf(values) => values,
            FieldTest::Current
            | FieldTest::Absent
            | FieldTest::NotEmpty
            | FieldTest::Empty
            | FieldTest::SortedBy(_)
            | FieldTest::SameAs(_) => &mut [],
        }
    }
}
