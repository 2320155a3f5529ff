//! One expectation against one version of an object.

pub(super) mod field;
mod fresh;
mod parents;

use std::fmt::Write as _;

use gateproof_report::record::Severity;
use serde_json::{Value, json};

use super::action::Context;
use super::conditions::{Condition, array, find, generation, list, listener_entry, may_be_older, own, uid};
use super::history::Latest;
use super::miss::{Miss, plain_miss, severity};
use super::words::any_of;
use crate::dialects::{Implied, Standing};
use crate::scenario::{ConditionExpectation, Level, ListenerExpectation, Parents, Scenario, SubjectExpectation};

/// What an evaluation has to know beside the object.
pub struct Rules<'a> {
    pub(super) prefix: String,
    pub(super) context: &'a Context,
    pub(super) scenario: &'a Scenario,
    /// Whether a condition must carry the current generation to count. Otherwise it must only not carry an older one.
    pub(super) strict_freshness: bool,
    /// Whether a state means what the specification says goes with it, too. One that must never be is what the manifest
    /// describes and no more.
    pub(super) implies: bool,
}

/// How one version compares with what is expected of the object.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// What was not as expected; nothing if all was.
    pub misses: Vec<Miss>,
    /// All that was asked about, without what may change freely; equal views mean that nothing asked has changed.
    pub view: Value,
    /// Expectations that were held against the version.
    pub checked: u64,
}

impl Evaluation {
    /// Whether everything binding is as expected.
    pub fn met(&self) -> bool {
        self.misses.iter().all(|m| m.severity != Severity::Failure)
    }

    /// Whether the controller has spoken of this generation in everything asked about.
    pub fn observed(&self) -> bool {
        !self.misses.iter().any(|m| m.stale || m.blind)
    }
}

/// Holds the latest version of a subject against what is expected of it.
pub fn evaluate(expected: &SubjectExpectation, latest: Latest<'_>, rules: &Rules<'_>) -> Evaluation {
    let name = rules.scenario.label(&expected.subject).to_string();
    let mut check = Check {
        id: format!("{}.{name}", rules.prefix),
        name,
        line: expected.place.line,
        rules,
        generation: 0,
        misses: Vec::new(),
        view: Vec::new(),
        checked: 0,
    };
    match latest {
        Latest::Current(version) => check.object(expected, &version.object),
        Latest::Behind { written, seen } => check.unseen(format!(
            "the watch shows resourceVersion {} of generation {} only, while a later one of generation {written} was \
             written",
            seen.object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or("?"),
            generation(&seen.object)
        )),
        // What is not there has no fields.
        Latest::Gone | Latest::Unknown if rules.scenario.is_made(&expected.subject) => {
            check.object(expected, &Value::Null);
        }
        // Whoever was to hold an object that goes let it go.
        Latest::Gone if rules.scenario.lets_go(&expected.subject) => check.gone(),
        Latest::Gone => check.unseen("the object is deleted".to_owned()),
        Latest::Unknown => check.unseen("the watch has not shown the object".to_owned()),
    }
    Evaluation { misses: check.misses, view: Value::Array(check.view), checked: check.checked }
}

struct Check<'a> {
    id: String,
    name: String,
    line: usize,
    rules: &'a Rules<'a>,
    generation: i64,
    misses: Vec<Miss>,
    view: Vec<Value>,
    checked: u64,
}

/// Where the conditions of an object stand, if its kind does not say.
fn shown(standing: Standing, object: &Value) -> Standing {
    match standing {
        Standing::Shown if object.pointer("/status/parents").is_some() => Standing::Parents,
        Standing::Shown if object.pointer("/status/ancestors").is_some() => Standing::Ancestors,
        standing => standing,
    }
}

impl Check<'_> {
    fn miss(&mut self, part: &str, level: Level, expected: String, seen: String) -> &mut Miss {
        let index = self.misses.len();
        let miss = plain_miss(format!("{}{part}", self.id), expected, seen, severity(level));
        self.misses.push(Miss { line: self.line, ..miss });
        &mut self.misses[index]
    }

    fn unseen(&mut self, seen: String) {
        self.view.push(json!(seen));
        let expected = format!("a version of {} that shows what was written", self.name);
        self.miss("", Level::Must, expected, seen).blind = true;
    }

    fn gone(&mut self) {
        self.view.push(json!("gone"));
        self.checked += 1;
        let expected = format!("{} is held until it may go", self.name);
        self.miss("", Level::Must, expected, "it is gone".to_owned());
    }

    fn object(&mut self, expected: &SubjectExpectation, object: &Value) {
        self.generation = generation(object);
        self.view.push(json!([uid(object), self.generation]));
        match shown(expected.standing, object) {
            Standing::Parents => self.parents(expected, object),
            Standing::Ancestors if matches!(expected.parents, Parents::Selected(_)) => self.parents(expected, object),
            Standing::Ancestors if object.pointer("/status/conditions").is_none() => self.ancestors(expected, object),
            Standing::Ancestors | Standing::Object | Standing::Shown => {
                let conditions = own(object, &self.rules.scenario.dialect);
                let name = self.name.clone();
                self.conditions(&expected.conditions, &conditions, "", &name);
                self.address(expected, &conditions, object);
            }
        }
        for (listener, expectation) in &expected.listeners {
            self.listener(listener, expectation, object);
        }
        for field in &expected.fields {
            self.field(field, object);
        }
        self.fields_are_fresh(expected, object);
    }

    /// A Gateway that is Programmed has an address to send to.
    fn address(&mut self, expected: &SubjectExpectation, conditions: &[Condition<'_>], object: &Value) {
        let dialect = &self.rules.scenario.dialect;
        let Some(entries) = dialect.entries().filter(|_| dialect.is_entry(&expected.subject.kind)) else { return };
        let (ready, place) = (&*entries.ready, &*entries.addresses.at);
        let programmed = find(conditions, ready).is_some_and(|c| c.status == "True")
            && expected
                .conditions
                .get(ready)
                .is_some_and(|c| c.status == ["True"] && c.level == Level::Must && self.binding(c));
        let asked_for = expected.fields.iter().any(|field| field.pointer == place);
        if !programmed || asked_for || !self.rules.implies {
            return;
        }
        let addresses = object.pointer(place);
        self.view.push(addresses.cloned().unwrap_or_default());
        self.checked += 1;
        if array(addresses).is_empty() {
            let place = place.trim_start_matches('/').replace('/', ".");
            let expected = format!("{} has an address in {place} once it is {ready}", self.name);
            self.miss(".addresses", Level::Must, expected, format!("{place} is empty"));
        }
    }

    fn binding(&self, expected: &ConditionExpectation) -> bool {
        expected.bounds.admits(self.rules.context.basis)
    }

    fn listener(&mut self, listener: &str, expected: &ListenerExpectation, object: &Value) {
        let part = format!(".listeners[{listener}]");
        let subject = format!("listener {listener} of {}", self.name);
        self.checked += 1;
        let Some(entry) = listener_entry(object, listener) else {
            self.view.push(Value::Null);
            let miss = self.miss(
                &format!("{part}.entry"),
                Level::Must,
                format!("{} has a status.listeners entry named {listener}", self.name),
                "no such entry".to_owned(),
            );
            miss.implied = Some(Implied::Listeners);
            miss.stale = true;
            return;
        };
        self.conditions(&expected.conditions, &list(entry.get("conditions")), &part, &subject);
        if let Some(attached) = expected.attached_routes {
            let seen = entry.get("attachedRoutes").cloned().unwrap_or_default();
            self.checked += 1;
            if seen.as_i64() != Some(attached) {
                let part = format!("{part}.attachedRoutes");
                self.miss(&part, Level::Must, format!("{subject} has attachedRoutes {attached}"), seen.to_string());
            }
            self.view.push(seen);
        }
        if let Some(expected_kinds) = &expected.supported_kinds {
            let kinds = array(entry.get("supportedKinds"));
            self.view.push(json!(kinds));
            self.checked += 1;
            let group = self.rules.scenario.dialect.group();
            let same = kinds.len() == expected_kinds.len()
                && expected_kinds.iter().all(|kind| kinds.iter().any(|seen| is_kind(seen, kind, group)));
            if !same {
                let expected = match expected_kinds.as_slice() {
                    [] => format!("{subject} lists no supportedKinds"),
                    kinds => format!("{subject} has exactly the supportedKinds {}", kinds.join(", ")),
                };
                let seen = Value::Array(kinds.to_vec()).to_string();
                self.miss(&format!("{part}.supportedKinds"), Level::Must, expected, seen);
            }
        }
    }

    fn conditions(
        &mut self,
        expected: &indexmap::IndexMap<String, ConditionExpectation>,
        conditions: &[Condition<'_>],
        part: &str,
        subject: &str,
    ) {
        for (type_, expectation) in expected {
            if !self.binding(expectation) {
                continue;
            }
            self.checked += 1;
            let first = self.misses.len();
            let seen = find(conditions, type_);
            self.view.push(match seen {
                Some(c) if expectation.message.is_some() => {
                    json!([type_, c.status, c.reason, c.observed_generation, c.message])
                }
                Some(c) => json!([type_, c.status, c.reason, c.observed_generation]),
                None => json!([type_]),
            });
            for name in expectation.fields.keys().chain(expectation.below.keys()) {
                self.view.push(json!([name, seen.and_then(|c| c.raw.get(name))]));
            }
            self.condition(type_, expectation, seen, conditions, &format!("{part}.{type_}"), subject);
            for miss in &mut self.misses[first..] {
                miss.clauses.splice(0..0, expectation.proves.iter().cloned());
            }
        }
    }

    fn condition(
        &mut self,
        type_: &str,
        expected: &ConditionExpectation,
        seen: Option<Condition<'_>>,
        conditions: &[Condition<'_>],
        part: &str,
        subject: &str,
    ) {
        let words = in_words(type_, expected, subject);
        let Some(seen) = seen else {
            if expected.absent || expected.optional {
                // Absence says something only once the controller has spoken of this generation.
                let accepted = self.rules.scenario.dialect.accepted();
                let witness =
                    accepted.and_then(|type_| find(conditions, type_)).filter(|c| self.is_stale(c, conditions));
                if let (Some(witness), true) = (witness, self.rules.strict_freshness) {
                    self.stale(part, words, format!("no {type_} yet, but {witness}"), expected.level);
                }
                return;
            }
            let seen = format!("no condition {type_}; there is {}", conditions_in_words(conditions));
            let unvisited = conditions.iter().all(Condition::is_placeholder);
            let aspect = if expected.status.is_empty() { "present" } else { "status" };
            self.miss(&format!("{part}.{aspect}"), expected.level, words, seen).stale = unvisited;
            return;
        };
        let untouched = seen.is_placeholder() && expected.status.iter().any(|s| s == "Unknown");
        let counts = self.rules.strict_freshness || seen.observed_generation.is_some();
        if self.is_stale(&seen, conditions) && !untouched && counts {
            let words = format!("{words}, at observedGeneration {}", self.generation);
            self.stale(part, words, seen.to_string(), expected.level);
            return;
        }
        if expected.absent {
            self.miss(&format!("{part}.absent"), expected.level, words, seen.to_string());
            return;
        }
        if !expected.status.is_empty() && !expected.status.iter().any(|s| s == seen.status) {
            self.miss(&format!("{part}.status"), expected.level, words, seen.to_string());
            return;
        }
        let listed = expected.reason.is_empty() || expected.reason.iter().any(|r| r == seen.reason);
        if !listed || expected.other_than.iter().any(|r| r == seen.reason) {
            let level = expected.reason_level.unwrap_or(expected.level).min(expected.level);
            self.miss(&format!("{part}.reason"), level, words.clone(), seen.to_string());
        }
        self.further(type_, expected, seen, part, subject);
        if let Some(message) = &expected.message {
            // Prose may begin a sentence with it, or shout.
            let lowered = seen.message.to_lowercase();
            let says = |text: &str| lowered.contains(&text.to_lowercase());
            let unmentioned = message.mentions.iter().filter(|text| !says(text));
            let starts = message.starts.iter().any(|text| seen.message.starts_with(text.as_str()));
            let starts =
                (!starts && !message.starts.is_empty()).then(|| format!("starts with {:?}", any_of(&message.starts)));
            let surplus = message.lacks.iter().filter(|text| says(text));
            let surplus = surplus.map(|text| format!("does not mention {text:?}"));
            for what in unmentioned.map(|text| format!("mentions {text:?}")).chain(surplus).chain(starts) {
                let expected = format!("the message of {type_} of {subject} {what}");
                self.miss(&format!("{part}.message"), message.level, expected, format!("{:?}", seen.message));
            }
        }
    }

    fn is_stale(&self, condition: &Condition<'_>, conditions: &[Condition<'_>]) -> bool {
        match condition.observed_generation {
            Some(observed) if observed == self.generation => false,
            Some(observed) if observed < self.generation => {
                !may_be_older(condition, conditions, &self.rules.scenario.dialect)
            }
            _ => self.generation != 0,
        }
    }

    fn stale(&mut self, part: &str, expected: String, seen: String, level: Level) {
        let miss = self.miss(&format!("{part}.observedGeneration"), level, expected, seen);
        miss.stale = true;
        miss.implied = Some(Implied::Fresh);
    }
}

/// A value as text, cut where it would flood a report.
pub(super) fn shortened(value: &Value) -> String {
    const LONGEST: usize = 400;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn is_kind(seen: &Value, expected: &str, default: &str) -> bool {
    let (group, kind) = expected.rsplit_once('/').unwrap_or((default, expected));
    let seen_group = seen.get("group").and_then(Value::as_str).unwrap_or(default);
    seen_group == group && seen.get("kind").and_then(Value::as_str) == Some(kind)
}

fn in_words(type_: &str, expected: &ConditionExpectation, subject: &str) -> String {
    if expected.absent {
        return format!("{subject} has no condition {type_}");
    }
    let mut words = match expected.status.as_slice() {
        [] => format!("condition {type_} of {subject} is there"),
        status => format!("condition {type_} of {subject} is {}", any_of(status)),
    };
    if !expected.reason.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(words, " with reason {}", any_of(&expected.reason));
    }
    if !expected.other_than.is_empty() {
        let _ = write!(words, " with another reason than {}", any_of(&expected.other_than));
    }
    if expected.optional {
        words.push_str(", or is absent");
    }
    words
}

pub(super) fn conditions_in_words(conditions: &[Condition<'_>]) -> String {
    match conditions {
        [] => "no condition at all".to_owned(),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::as_a_route(Standing::Shown, json!({"status": {"parents": []}}), Standing::Parents)]
    #[case::as_a_policy(Standing::Shown, json!({"status": {"ancestors": []}}), Standing::Ancestors)]
    #[case::nothing_yet(Standing::Shown, json!({}), Standing::Shown)]
    #[case::known(Standing::Object, json!({"status": {"ancestors": []}}), Standing::Object)]
    fn objects_of_unknown_kinds_say_where_their_conditions_stand(
        #[case] of_its_kind: Standing,
        #[case] object: Value,
        #[case] expected: Standing,
    ) {
        assert_eq!(shown(of_its_kind, &object), expected);
    }
}
