//! What the definitions of a release take otherwise than those of the release before.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::kind::DialectKind;
use super::releases::Minor;

/// The channel of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum In {
    Standard,
    Experimental,
}

/// What the definitions of a release take otherwise than those of the release before: fields that they have or have not, values, and
/// rules. A write that it touches may be refused by one of the two, or be stored in another form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The later of the two releases.
    #[serde(rename = "in")]
    pub release: Minor,
    /// The kind.
    pub kind: String,
    /// The channel, if it is so in one only.
    channel: Option<In>,
    /// The places, such as `spec.rules[].name`. With nothing else, it touches what has something there.
    pub at: Vec<String>,
    /// It touches what has one of these values in these fields.
    #[serde(default)]
    only: BTreeMap<String, Vec<Value>>,
    /// It touches these values.
    values: Option<Vec<Value>>,
    /// It touches all values but these.
    beside: Option<Vec<Value>>,
    /// It touches what is without this field, or has nothing in it.
    lacks: Option<String>,
    /// It touches what is longer, has more items, or is greater.
    more: Option<i64>,
    /// It touches what is shorter, has fewer items, or is less.
    less: Option<i64>,
    /// It touches what the newest known definitions refuse: they have the rule.
    #[serde(default)]
    pub newest: bool,
}

impl Change {
    /// What of it a dialect has not: its kind or its release.
    pub(super) fn lacked(&self, kinds: &[DialectKind], releases: &[Minor]) -> Option<&'static str> {
        let has_kind = kinds.iter().any(|kind| kind.kind == self.kind);
        (!has_kind).then_some("kind").or_else(|| (!releases.contains(&self.release)).then_some("release"))
    }

    /// Whether it is one of a channel.
    pub fn is_in(&self, channel: &str) -> bool {
        match self.channel {
            None => true,
            Some(In::Standard) => channel == "standard",
            Some(In::Experimental) => channel == "experimental",
        }
    }

    /// The first place of an object that it touches, as far as that can be told from the object alone. Of a `part` of one, what is
    /// not there may be so in the rest.
    pub fn touched(&self, object: &Value, part: bool) -> Option<String> {
        if part && (self.lacks.is_some() || self.newest) {
            return None;
        }
        self.at.iter().find_map(|at| place(object, at, String::new(), &|value| self.is_touched(value)))
    }

    fn is_touched(&self, value: &Value) -> bool {
        let is_one = |(field, values): (&String, &Vec<Value>)| value.get(field).is_some_and(|one| values.contains(one));
        let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        let lacks = |field: &str| value.is_object() && value.get(field).is_none_or(is_empty);
        self.only.iter().all(is_one)
            && self.values.as_ref().is_none_or(|values| values.contains(value))
            && self.beside.as_ref().is_none_or(|values| !values.contains(value))
            && self.lacks.as_deref().is_none_or(lacks)
            && self.more.is_none_or(|most| size(value).is_some_and(|size| size > most))
            && self.less.is_none_or(|least| size(value).is_some_and(|size| size < least))
    }
}

/// What a definition counts of a value.
fn size(value: &Value) -> Option<i64> {
    let count = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        number => return number.as_i64(),
    };
    i64::try_from(count).ok()
}

/// The first place at a path such as `spec.rules[].labels{}` whose value is touched.
fn place(value: &Value, at: &str, so_far: String, is_touched: &dyn Fn(&Value) -> bool) -> Option<String> {
    if let Some(rest) = at.strip_prefix("[]") {
        let items = value.as_array()?.iter().enumerate();
        return items.into_iter().find_map(|(index, item)| place(item, rest, format!("{so_far}[{index}]"), is_touched));
    }
    if let Some(rest) = at.strip_prefix("{}") {
        let mut fields = value.as_object()?.iter();
        return fields.find_map(|(name, value)| place(value, rest, format!("{so_far}.{name}"), is_touched));
    }
    let at = at.strip_prefix('.').unwrap_or(at);
    if at.is_empty() {
        return is_touched(value).then_some(so_far);
    }
    let end = at.find(['.', '[', '{']).unwrap_or(at.len());
    let (name, rest) = at.split_at(end);
    let dot = if so_far.is_empty() { "" } else { "." };
    place(value.get(name)?, rest, format!("{so_far}{dot}{name}"), is_touched)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn change(what: &str) -> Change {
        serde_yaml::from_str(&format!("{{in: '1.7', kind: A, {what}}}")).unwrap()
    }

    #[rstest]
    #[case::there("at: ['spec.rules[].name']", Some("spec.rules[1].name"))]
    #[case::not_there("at: ['spec.rules[].retry']", None)]
    #[case::any_of_several("at: ['spec.none', spec.rules]", Some("spec.rules"))]
    #[case::any_name("at: ['spec.labels{}']", Some("spec.labels.a"))]
    #[case::value("at: ['spec.rules[].code'], values: [303, 307]", Some("spec.rules[1].code"))]
    #[case::no_such_value("at: ['spec.rules[].code'], values: [301]", None)]
    #[case::another_value("at: ['spec.rules[].code'], beside: [302]", Some("spec.rules[1].code"))]
    #[case::no_other_value("at: ['spec.rules[].code'], beside: [302, 303]", None)]
    #[case::lacks("at: ['spec.rules[]'], lacks: name", Some("spec.rules[0]"))]
    #[case::lacks_with_nothing_in_it("at: ['spec.rules[]'], lacks: refs, only: {code: [303]}", Some("spec.rules[1]"))]
    #[case::has_all("at: ['spec.rules[]'], lacks: code", None)]
    #[case::lacks_in_no_object("at: [spec.rules], lacks: code", None)]
    #[case::only("at: ['spec.rules[]'], only: {code: [301]}", None)]
    #[case::more("at: [spec.rules], more: 1", Some("spec.rules"))]
    #[case::no_more("at: [spec.rules], more: 2", None)]
    #[case::less("at: ['spec.labels{}'], less: 2", Some("spec.labels.a"))]
    #[case::no_less("at: ['spec.rules[].code'], less: 302", None)]
    fn what_is_touched_has_its_place(#[case] what: &str, #[case] expected: Option<&str>) {
        let rules = json!([{"code": 302}, {"code": 303, "name": "one", "refs": []}]);
        let object = json!({"spec": {"rules": rules, "labels": {"a": "b"}}});
        assert_eq!(change(what).touched(&object, false).as_deref(), expected);
    }

    #[test]
    fn nothing_is_said_of_what_a_part_leaves_out() {
        let lacks = change("at: [spec], lacks: name");
        assert_eq!(lacks.touched(&json!({"spec": {}}), false).as_deref(), Some("spec"));
        assert_eq!(lacks.touched(&json!({"spec": {}}), true), None);
    }
}
