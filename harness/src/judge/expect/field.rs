//! Fields: of an object, of one condition; and the sub-conditions that stand in one.

use serde_json::{Value, json};

use super::{Check, shortened};
use crate::judge::conditions::{Condition, array};
use crate::judge::words::any_of;
use crate::scenario::expectations::id;
use crate::scenario::pointer::resolved;
use crate::scenario::{BelowExpectation, ConditionExpectation, FieldExpectation, FieldTest, SubCondition};

impl Check<'_> {
    pub(super) fn field(&mut self, expected: &FieldExpectation, object: &Value) {
        let seen = object.pointer(&resolved(object, &expected.pointer)).filter(|v| !v.is_null());
        self.view.push(json!([expected.pointer, seen]));
        self.checked += 1;
        let is_so = match &expected.test {
            // With nothing there is nothing to compare.
            FieldTest::SameAs(other) => seen.is_some() && seen == object.pointer(&resolved(object, other)),
            test => holds(test, seen, self.generation),
        };
        if !is_so {
            let path = format!("{} of {}", expected.pointer, self.name);
            let part = format!(".fields[{}]", expected.pointer);
            let words = words(&expected.test, &path, self.generation);
            self.miss(&part, expected.level, words, in_words(seen));
        }
    }

    /// What is expected of a condition beside what every condition has.
    pub(super) fn further(
        &mut self,
        type_: &str,
        expected: &ConditionExpectation,
        seen: Condition<'_>,
        part: &str,
        subject: &str,
    ) {
        let field = |name: &str| seen.raw.get(name).filter(|value| !value.is_null());
        for (name, test) in &expected.fields {
            self.checked += 1;
            if !holds(test, field(name), self.generation) {
                let path = format!("{name} of condition {type_} of {subject}");
                let part = format!("{part}.{}", id::condition_field(name));
                let words = words(test, &path, self.generation);
                self.miss(&part, expected.level, words, in_words(field(name)));
            }
        }
        for (name, below) in &expected.below {
            self.checked += 1;
            let there = entries(field(name));
            if !has(&there, below) {
                let path = format!("{name} of condition {type_} of {subject}");
                let part = format!("{part}.{}", id::below(name));
                self.miss(&part, expected.level, below_in_words(below, &path), listed(&there));
            }
        }
    }
}

/// Whether a value is as a test asks; what is null is not there.
pub(in crate::judge) fn holds(test: &FieldTest, seen: Option<&Value>, generation: i64) -> bool {
    let empty = seen.is_none_or(is_empty);
    match test {
        FieldTest::Equals(value) => seen == Some(value),
        FieldTest::OneOf(values) => values.contains(seen.unwrap_or(&Value::Null)),
        FieldTest::Current => seen.and_then(Value::as_i64) == Some(generation),
        FieldTest::Absent => seen.is_none(),
        FieldTest::NotEmpty => !empty,
        FieldTest::Empty => empty,
        FieldTest::SortedBy(field) => {
            let keys: Vec<_> = array(seen).iter().map(|i| i.get(field).and_then(Value::as_str)).collect();
            !empty && keys.is_sorted()
        }
        FieldTest::Contains(value) => array(seen).contains(value),
        FieldTest::Mentions(value) => {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_lowercase);
            text(seen).zip(text(Some(value))).is_some_and(|(seen, text)| seen.contains(&text))
        }
        // That is asked of objects alone, where there is something to compare with.
        FieldTest::SameAs(_) => false,
    }
}

/// What a test asks of what stands at a place.
pub(in crate::judge) fn words(test: &FieldTest, path: &str, generation: i64) -> String {
    match test {
        FieldTest::Equals(value) => format!("{path} is {value}"),
        FieldTest::OneOf(values) => format!("{path} is {}", any_of(values)),
        FieldTest::Current => format!("{path} is the generation, {generation}"),
        FieldTest::Absent => format!("{path} is not there"),
        FieldTest::NotEmpty => format!("{path} is not empty"),
        FieldTest::Empty => format!("{path} is empty"),
        FieldTest::SortedBy(field) => format!("{path} is a list sorted by {field}"),
        FieldTest::Contains(value) => format!("{path} contains {value}"),
        FieldTest::Mentions(value) => format!("{path} mentions {value}"),
        FieldTest::SameAs(other) => format!("{path} is what stands at {other}"),
    }
}

/// What stands there.
pub(in crate::judge) fn in_words(seen: Option<&Value>) -> String {
    seen.map_or("nothing".to_owned(), shortened)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The sub-conditions of a list, in ascending order. One that lacks a type or a reason is there all the same.
fn entries(list: Option<&Value>) -> Vec<SubCondition> {
    let text = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let entry = |item: &Value| SubCondition { type_: text(item, "type"), reason: text(item, "reason") };
    let mut entries: Vec<SubCondition> = array(list).iter().map(entry).collect();
    entries.sort();
    entries
}

/// Whether these are the ones that are expected, each as often as it is.
fn has(there: &[SubCondition], expected: &BelowExpectation) -> bool {
    let mut left = there.to_vec();
    let all = expected.entries.iter().all(|entry| match left.iter().position(|one| one == entry) {
        Some(index) => {
            left.swap_remove(index);
            true
        }
        None => false,
    });
    all && (expected.at_least || left.is_empty())
}

fn below_in_words(expected: &BelowExpectation, path: &str) -> String {
    match (expected.entries.as_slice(), expected.at_least) {
        ([], _) => format!("{path} lists nothing"),
        (entries, false) => format!("{path} lists {} and nothing else", joined(entries)),
        (entries, true) => format!("{path} lists {}", joined(entries)),
    }
}

fn listed(there: &[SubCondition]) -> String {
    if there.is_empty() { "nothing is listed".to_owned() } else { joined(there) }
}

fn joined(entries: &[SubCondition]) -> String {
    entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::value(FieldTest::Equals(json!("a")), json!("a"), true)]
    #[case::other_value(FieldTest::Equals(json!("a")), json!("b"), false)]
    #[case::one_of(FieldTest::OneOf(vec![json!("a"), json!("b")]), json!("b"), true)]
    #[case::none_of(FieldTest::OneOf(vec![json!("a"), json!("b")]), json!("c"), false)]
    #[case::one_of_nothing(FieldTest::OneOf(vec![json!("a")]), Value::Null, false)]
    #[case::nothing_or_one(FieldTest::OneOf(vec![json!(0), Value::Null]), Value::Null, true)]
    #[case::one_or_nothing(FieldTest::OneOf(vec![json!(0), Value::Null]), json!(0), true)]
    #[case::neither_one_nor_nothing(FieldTest::OneOf(vec![json!(0), Value::Null]), json!(1), false)]
    #[case::current(FieldTest::Current, json!(3), true)]
    #[case::behind(FieldTest::Current, json!(2), false)]
    #[case::ahead(FieldTest::Current, json!(4), false)]
    #[case::current_as_text(FieldTest::Current, json!("3"), false)]
    #[case::not_there(FieldTest::Absent, Value::Null, true)]
    #[case::empty_is_there(FieldTest::Absent, json!(""), false)]
    #[case::there(FieldTest::Absent, json!("a"), false)]
    #[case::mentioned(FieldTest::Mentions(json!("Echo")), json!("no echo is there"), true)]
    #[case::not_mentioned(FieldTest::Mentions(json!("echo")), json!("nobody is there"), false)]
    #[case::nothing_mentioned(FieldTest::Mentions(json!("echo")), Value::Null, false)]
    #[case::no_text_mentions(FieldTest::Mentions(json!("echo")), json!(["echo"]), false)]
    fn a_value_is_held_against_its_test(#[case] test: FieldTest, #[case] seen: Value, #[case] good: bool) {
        let seen = Some(&seen).filter(|seen| !seen.is_null());
        assert_eq!(holds(&test, seen, 3), good, "{}", words(&test, "x", 3));
    }

    fn below(entries: &[&str], at_least: bool) -> BelowExpectation {
        BelowExpectation { entries: entries.iter().filter_map(|text| SubCondition::of(text)).collect(), at_least }
    }

    #[rstest]
    #[case::these(&["A/X", "B/Y"], false, json!([{"type": "B", "reason": "Y"}, {"type": "A", "reason": "X"}]), true)]
    #[case::another_reason(&["A/X"], false, json!([{"type": "A", "reason": "Y"}]), false)]
    #[case::one_too_many(&["A/X"], false, json!([{"type": "A", "reason": "X"}, {"type": "B", "reason": "Y"}]), false)]
    #[case::once_too_often(&["A/X"], false, json!([{"type": "A", "reason": "X"}, {"type": "A", "reason": "X"}]), false)]
    #[case::too_rarely(&["A/X", "A/X"], false, json!([{"type": "A", "reason": "X"}]), false)]
    #[case::twice(&["A/X", "A/X"], false, json!([{"type": "A", "reason": "X"}, {"type": "A", "reason": "X"}]), true)]
    #[case::beside_others(&["A/X"], true, json!([{"type": "B", "reason": "Y"}, {"type": "A", "reason": "X"}]), true)]
    #[case::not_among_others(&["A/X"], true, json!([{"type": "B", "reason": "Y"}]), false)]
    #[case::too_rarely_among_others(&["A/X", "A/X"], true, json!([{"type": "A", "reason": "X"}, {"type": "B", "reason": "Y"}]), false)]
    #[case::nothing(&[], false, Value::Null, true)]
    #[case::nothing_expected(&[], false, json!([{}]), false)]
    #[case::no_list(&["A/X"], false, json!("A/X"), false)]
    fn lists_of_sub_conditions_are_compared_as_multisets(
        #[case] expected: &[&str],
        #[case] at_least: bool,
        #[case] seen: Value,
        #[case] good: bool,
    ) {
        let expected = below(expected, at_least);
        assert_eq!(has(&entries(Some(&seen)), &expected), good, "{}", below_in_words(&expected, "errors"));
    }
}
