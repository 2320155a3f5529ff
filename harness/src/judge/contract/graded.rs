//! Conditions that say in a further field how grave they are, and what may follow upon what.
//!
//! Which field that is, its values, and the reasons that go with each stand in the contract. Everything but [`step`] looks at one
//! version alone.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::finding::{Finding, held};
use super::rule::Rule;
use crate::judge::conditions::Condition;

/// What the contract says of a condition beyond its status and reason.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Graded {
    /// The field, such as a severity; empty if there is none.
    #[serde(default)]
    by: String,
    /// Its values by the status that they go with. With any other status it is not there.
    #[serde(default)]
    values: IndexMap<String, Vec<String>>,
    /// Reasons that go with these values and no other.
    #[serde(default)]
    reasons: IndexMap<String, Vec<String>>,
    /// Values that go with no reason but those.
    #[serde(default)]
    closed: Vec<String>,
    /// Values with which the message has to say more than the reason does.
    #[serde(default)]
    explains: Vec<String>,
    /// Statuses that leave nothing to be said in a message.
    #[serde(default)]
    silent: Vec<String>,
    /// Reasons that only an object has that is being deleted.
    #[serde(default)]
    while_deleted: Vec<String>,
    /// What must not follow upon what while both are said of one generation.
    #[serde(default)]
    never: Vec<Succession>,
}

/// Two looks of a condition, one after the other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Succession {
    /// The one before.
    after: Shape,
    /// The next one.
    comes: Shape,
    /// Where it is legal nevertheless.
    unless: Option<Box<Exception>>,
}

/// Two looks of a condition that may follow one another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    after: Shape,
    comes: Shape,
}

/// Fields of a condition, each with the values of which it has one. A field that is not there counts as empty.
#[derive(Debug, Clone, Deserialize)]
struct Shape(IndexMap<String, Vec<String>>);

impl Shape {
    fn fits(&self, condition: &Value) -> bool {
        self.0.iter().all(|(name, values)| values.iter().any(|value| value == text(condition, name)))
    }
}

impl Graded {
    /// The statuses that it names.
    pub(super) fn statuses(&self) -> impl Iterator<Item = &String> {
        self.values.keys().chain(&self.silent)
    }

    /// The fields of a condition that it names, each with the word under which it does.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let by = Some(&*self.by).filter(|by| !by.is_empty()).map(|by| ("by", by));
        let exceptions = self.never.iter().filter_map(|one| one.unless.as_ref());
        let shapes = self.never.iter().flat_map(|one| [&one.after, &one.comes]);
        let shapes = shapes.chain(exceptions.flat_map(|one| [&one.after, &one.comes]));
        by.into_iter().chain(shapes.flat_map(|Shape(fields)| fields.keys().map(|name| ("never", &**name))))
    }

    /// The reasons that go with the values of a status.
    pub(super) fn reasons_while(&self, status: &str) -> impl Iterator<Item = &String> {
        let values = self.values.get(status).into_iter().flatten();
        values.filter_map(|value| self.reasons.get(value)).flatten()
    }

    /// The field, if there is one, with its values by status.
    pub(super) fn grades(&self) -> Option<(&str, impl Iterator<Item = (&String, &Vec<String>)>)> {
        Some((&*self.by, self.values.iter())).filter(|(by, _)| !by.is_empty())
    }

    /// Whether a rule has anything to hold here.
    pub(super) fn has(&self, rule: Rule) -> bool {
        match rule {
            Rule::GradeFitsStatus => !self.by.is_empty(),
            Rule::ReasonFitsGrade => !self.reasons.is_empty(),
            Rule::MessageExplains => !self.explains.is_empty(),
            Rule::MessageSilent => !self.silent.is_empty(),
            Rule::ReasonWhileDeleted => !self.while_deleted.is_empty(),
            Rule::NoStepBack => !self.never.is_empty(),
            _ => false,
        }
    }

    fn lists(&self, value: &str, reason: &str) -> bool {
        self.reasons.get(value).is_some_and(|reasons| reasons.iter().any(|listed| listed == reason))
    }
}

fn text<'v>(condition: &'v Value, field: &str) -> &'v str {
    condition.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Holds one condition of one version of an object.
pub(super) fn check(path: &str, condition: &Condition<'_>, graded: &Graded, object: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    let path = || path.to_owned();
    let value = text(condition.raw, &graded.by);
    let seen = || match value {
        "" => condition.to_string(),
        value => format!("{condition}, {} {value}", graded.by),
    };
    if graded.has(Rule::GradeFitsStatus) {
        let good = match graded.values.get(condition.status) {
            Some(values) => values.iter().any(|legal| legal == value),
            None => value.is_empty(),
        };
        found.push(held(Rule::GradeFitsStatus, path(), good, || match value {
            "" => format!("{condition}, without {}", graded.by),
            _ => seen(),
        }));
    }
    if graded.has(Rule::ReasonFitsGrade) {
        let elsewhere = graded.reasons.keys().any(|other| graded.lists(other, condition.reason));
        let good = graded.lists(value, condition.reason) || !(elsewhere || graded.closed.iter().any(|c| c == value));
        found.push(held(Rule::ReasonFitsGrade, path(), good, seen));
    }
    if graded.explains.iter().any(|grave| grave == value) {
        let message = condition.message.trim();
        let good = !message.is_empty() && message != condition.reason;
        found.push(held(Rule::MessageExplains, path(), good, seen));
    }
    if graded.silent.iter().any(|silent| silent == condition.status) {
        found.push(held(Rule::MessageSilent, path(), condition.message.is_empty(), seen));
    }
    if graded.while_deleted.iter().any(|reason| reason == condition.reason) {
        let good = object.pointer("/metadata/deletionTimestamp").is_some();
        let seen = || format!("{condition}, and nobody deletes the object");
        found.push(held(Rule::ReasonWhileDeleted, path(), good, seen));
    }
    found
}

/// Holds what a condition says against what it said in the version before.
pub(super) fn step(path: &str, before: &Value, now: &Condition<'_>, graded: &Graded) -> Option<Finding> {
    let before = Condition::of(before);
    // Of another generation anything may be said.
    if !graded.has(Rule::NoStepBack) || before.observed_generation != now.observed_generation {
        return None;
    }
    let is_legal = |exception: &Exception| exception.after.fits(before.raw) && exception.comes.fits(now.raw);
    let good = !graded.never.iter().any(|never| {
        never.after.fits(before.raw)
            && never.comes.fits(now.raw)
            && !never.unless.as_ref().is_some_and(|exception| is_legal(exception))
    });
    Some(held(Rule::NoStepBack, path.to_owned(), good, || {
        let grade = |condition: &Condition<'_>| text(condition.raw, &graded.by).to_owned();
        format!("{now} {} after {before} {}", grade(now), grade(&before))
    }))
}
