//! Answers without what differs from run to run.
//!
//! Versions of objects become their rank among all versions seen, so order and equality stay; names that servers make up,
//! times, addresses and tokens become placeholders. What the sequence itself says stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Number, Value};

static UID: LazyLock<Regex> = LazyLock::new(|| pattern("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"));
static UID_KEY: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^k:\{"uid":"[^"]*"\}$"#));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\d+[smhd])+$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| unreachable!("{text}: {error}"))
}

/// The answers of one sequence, normalised.
pub type Answers = Vec<Value>;

/// The answers of topics: by topic, by sequence.
pub type Recorded = BTreeMap<String, BTreeMap<String, Answers>>;

/// What it takes to normalise the answers of one sequence.
pub struct Normaliser {
    /// What the sequence says.
    said: String,
    /// Names that are unique to the run, and what stands for them.
    unique: Vec<(String, String)>,
}

impl Normaliser {
    /// For the sequence with this text, run under this identifier.
    pub fn new(said: &str, id: String) -> Self {
        Self { said: said.to_owned(), unique: vec![(id, "<id>".to_owned())] }
    }

    /// Learns generated names from an answer.
    pub fn look_at(&mut self, body: &Value) {
        match body {
            Value::Object(members) => {
                let text = |name: &str| members.get(name).and_then(Value::as_str);
                if let (Some(prefix), Some(name)) = (text("generateName"), text("name"))
                    && name.strip_prefix(prefix).is_some_and(|rest| rest.len() == 5)
                    && self.unique.iter().all(|(known, _)| known != name)
                {
                    let placeholder = format!("{prefix}<{}>", self.unique.len());
                    self.unique.push((name.to_owned(), placeholder));
                }
                members.values().for_each(|member| self.look_at(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.look_at(item)),
            _ => {}
        }
    }

    /// The answers, normalised.
    pub fn normalise(&self, answers: Answers) -> Answers {
        let mut answers: Answers = answers.into_iter().map(|answer| self.ordered(answer)).collect();
        let mut versions = BTreeSet::new();
        answers.iter().for_each(|answer| collect_versions(answer, &mut versions));
        let ranks: BTreeMap<u64, usize> = versions.into_iter().zip(1..).collect();
        let mut uids = BTreeMap::new();
        for answer in &mut answers {
            self.replace(answer, "", &ranks, &mut uids);
        }
        answers
    }

    /// With members in the order of their names, managers in one order, and refusals without their wording.
    fn ordered(&self, value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: BTreeMap<String, Value> =
                    members.into_iter().map(|(name, member)| (self.renamed(&name), self.ordered(member))).collect();
                if members.get("kind").is_some_and(|kind| kind == "Status") && members.contains_key("metadata") {
                    wordless(&mut members);
                }
                if let Some(Value::Array(managers)) = members.get_mut("managedFields") {
                    // Servers order them by time, which has whole seconds.
                    managers.sort_by_key(|manager| {
                        ["operation", "manager", "apiVersion", "subresource"]
                            .map(|key| manager.get(key).map(Value::to_string).unwrap_or_default())
                    });
                }
                plain(&mut members);
                Value::Object(Map::from_iter(members))
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.ordered(item)).collect()),
            Value::String(text) => Value::String(self.renamed(&text)),
            Value::Number(number) => whole(number),
            other => other,
        }
    }

    fn renamed(&self, text: &str) -> String {
        let text = UID_KEY.replace(text, "k:{<uid>}");
        // Long names first: a generated name may hold the identifier.
        let mut text = text.into_owned();
        for (name, placeholder) in self.unique.iter().rev() {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), placeholder);
            }
        }
        text
    }

    fn replace(&self, value: &mut Value, key: &str, ranks: &BTreeMap<u64, usize>, uids: &mut BTreeMap<String, usize>) {
        match value {
            Value::Object(members) => {
                let list = is_list(members);
                for (name, member) in members.iter_mut() {
                    if name == "metadata"
                        && list
                        && let Some(version) = member.get_mut("resourceVersion")
                    {
                        *version = "<list>".into();
                    }
                    self.replace(member, name, ranks, uids);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item, key, ranks, uids)),
            Value::Number(_) if key == "nodePort" && !self.said(&value.to_string()) => *value = "<port>".into(),
            Value::String(text) => {
                if let Some(placeholder) = self.placeholder(text, key, ranks, uids) {
                    *text = placeholder;
                }
            }
            _ => {}
        }
    }

    fn placeholder(
        &self,
        text: &str,
        key: &str,
        ranks: &BTreeMap<u64, usize>,
        uids: &mut BTreeMap<String, usize>,
    ) -> Option<String> {
        if key == "resourceVersion" {
            let rank = text.parse().ok().and_then(|version: u64| ranks.get(&version))?;
            return Some(format!("<v{rank}>"));
        }
        if key == "continue" && !text.is_empty() {
            return Some("<continue>".to_owned());
        }
        if self.said(text) {
            return None;
        }
        if UID.is_match(text) {
            let next = uids.len() + 1;
            return Some(format!("<uid{}>", uids.entry(text.to_owned()).or_insert(next)));
        }
        if TIME.is_match(text) {
            return Some("<time>".to_owned());
        }
        // Where a part of an answer is looked at, its key is the whole way to it.
        let in_cells = key == "cells" || key.ends_with(".cells");
        if in_cells && (AGE.is_match(text) || text == "<unknown>") {
            return Some("<age>".to_owned());
        }
        let address = match text.parse::<IpAddr>().ok().filter(|address| !address.is_loopback())? {
            IpAddr::V4(_) => "<address>",
            IpAddr::V6(_) => "<address6>",
        };
        Some(address.to_owned())
    }

    fn said(&self, text: &str) -> bool {
        self.said.contains(text)
    }
}

fn is_list(members: &Map<String, Value>) -> bool {
    let nameless = members.get("metadata").is_some_and(is_nameless);
    members.contains_key("items") || members.contains_key("rows") || nameless
}

/// Whether this is the metadata of a list or a bookmark, which show the state of the whole server.
fn is_nameless(metadata: &Value) -> bool {
    metadata.get("resourceVersion").is_some() && metadata.get("name").is_none_or(|name| name == "")
}

fn collect_versions(value: &Value, versions: &mut BTreeSet<u64>) {
    match value {
        Value::Object(members) => {
            let list = is_list(members);
            for (name, member) in members {
                if name == "resourceVersion" {
                    versions.extend(member.as_str().and_then(|text| text.parse::<u64>().ok()));
                } else if !(name == "metadata" && list) {
                    collect_versions(member, versions);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_versions(item, versions)),
        _ => {}
    }
}

/// Numbers without a fraction in one form: `1.0` and `1` are the same number.
fn whole(number: Number) -> Value {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => (float as i64).into(),
        _ => Value::Number(number),
    }
}

/// Without what nobody decides by: empty members that say nothing, wording for people, and the order of sets.
fn plain(members: &mut BTreeMap<String, Value>) {
    let empty = |value: &Value| value == "" || value.as_object().is_some_and(Map::is_empty);
    for name in ["continue", "details"] {
        if members.get(name).is_some_and(empty) {
            members.remove(name);
        }
    }
    members.remove("storageVersionHash");
    for (name, wording) in [("conditions", "message"), ("columnDefinitions", "description")] {
        for item in members.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
            item.as_object_mut().map(|item| item.shift_remove(wording));
        }
    }
    for (name, key) in [("verbs", None), ("resources", Some("name")), ("shortNames", None)] {
        if let Some(Value::Array(items)) = members.get_mut(name)
            && items.iter().all(|item| key.map_or(item.is_string(), |key| item.get(key).is_some()))
        {
            items.sort_by_key(|item| key.map_or(item.to_string(), |key| item[key].to_string()));
        }
    }
}

/// A Status without messages, its causes in one order.
fn wordless(status: &mut BTreeMap<String, Value>) {
    status.remove("message");
    let causes = status.get_mut("details").and_then(|details| details.get_mut("causes")).and_then(Value::as_array_mut);
    if let Some(causes) = causes {
        for cause in causes.iter_mut().filter_map(Value::as_object_mut) {
            cause.shift_remove("message");
        }
        causes.sort_by_key(Value::to_string);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normalised(said: &str, answers: Answers) -> Answers {
        let mut normaliser = Normaliser::new(said, "gabc".to_owned());
        answers.iter().for_each(|answer| normaliser.look_at(answer));
        normaliser.normalise(answers)
    }

    #[test]
    fn versions_keep_their_order() {
        let object = |version: &str| json!({"metadata": {"name": "a", "resourceVersion": version}});
        let list = json!({"items": [object("12")], "metadata": {"resourceVersion": "99"}});
        let found = normalised("", vec![object("100"), object("12"), list]);
        assert_eq!(found[0]["metadata"]["resourceVersion"], "<v2>");
        assert_eq!(found[1]["metadata"]["resourceVersion"], "<v1>");
        assert_eq!(found[2]["items"][0]["metadata"]["resourceVersion"], "<v1>");
        assert_eq!(found[2]["metadata"]["resourceVersion"], "<list>");
    }

    #[test]
    fn what_the_sequence_says_stays() {
        let given = json!({"a": "2024-01-01T00:00:00Z", "b": "2026-01-01T00:00:00Z", "nodePort": 30001});
        let found = normalised("at 2024-01-01T00:00:00Z on 30001", vec![given]);
        assert_eq!(found[0], json!({"a": "2024-01-01T00:00:00Z", "b": "<time>", "nodePort": 30001}));
    }

    #[test]
    fn ages_are_replaced_wherever_they_are_looked_at() {
        let rows = json!({"rows": [{"cells": ["a", "1s"]}], "rows.0.cells": ["a", "2m3s"], "other": "1s"});
        let expected = json!({"other": "1s", "rows": [{"cells": ["a", "<age>"]}], "rows.0.cells": ["a", "<age>"]});
        assert_eq!(normalised("", vec![rows])[0], expected);
    }

    #[test]
    fn names_of_the_run_are_replaced() {
        let given = json!({"metadata": {"generateName": "x-", "name": "x-abcde", "namespace": "ns-gabc"}});
        let found = normalised("", vec![given, json!({"spec": {"ref": "x-abcde"}})]);
        assert_eq!(found[0]["metadata"]["namespace"], "ns-<id>");
        assert_eq!(found[0]["metadata"]["name"], found[1]["spec"]["ref"]);
        assert_ne!(found[0]["metadata"]["name"], "x-abcde");
    }

    #[test]
    fn refusals_have_no_wording() {
        let cause = |field: &str| json!({"reason": "FieldValueInvalid", "field": field, "message": field});
        let status = json!({"kind": "Status", "metadata": {}, "message": "x",
            "details": {"causes": [cause("b"), cause("a")]}});
        let found = normalised("", vec![status]);
        assert_eq!(found[0].get("message"), None);
        assert_eq!(found[0]["details"]["causes"][0], json!({"reason": "FieldValueInvalid", "field": "a"}));
    }
}
