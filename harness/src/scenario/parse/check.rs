//! Holds a tree against the table of fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::diagnostic::{Diagnostic, Report, Source};
use super::super::model::{SubCondition, Version};
use super::super::vocabulary::{Vocabulary, suggest};
use super::shape::{CHANNELS, CONDITION, Shape, Table};
use super::tree::{Kind, Mark, Node};

/// Where problems of a document go.
pub(in crate::scenario) struct Checker<'a> {
    pub(in crate::scenario) source: &'a Arc<Source>,
    pub(in crate::scenario) vocabulary: &'a Vocabulary,
    pub(in crate::scenario) problems: &'a mut Vec<Diagnostic>,
    /// Whether a part could not be read as what it was meant to be, so that others may miss what stands in it.
    pub(in crate::scenario) misread: bool,
    /// Condition types that the scenario writes itself, in the name of other components.
    pub(in crate::scenario) components: BTreeSet<String>,
}

/// Whether a key is a condition type: CamelCase, with or without a domain.
pub(in crate::scenario) fn is_condition_type(key: &str) -> bool {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

impl Checker<'_> {
    pub(in crate::scenario) fn report(&mut self, mark: Mark, message: String, help: Option<String>) {
        self.problems.push(self.source.problem(mark, message, help));
    }

    /// Reports an unknown name, with the nearest known one.
    pub(in crate::scenario) fn unknown<'n>(
        &mut self,
        mark: Mark,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) {
        let help = suggest(name, known.clone()).map(|near| format!("did you mean `{near}`?")).or_else(|| {
            let all = known.take(12).collect::<Vec<_>>();
            (!all.is_empty() && all.len() < 12).then(|| format!("there is {}", all.join(", ")))
        });
        self.report(mark, format!("unknown {what} `{name}`"), help);
    }

    pub(in crate::scenario) fn check(&mut self, node: &Node, shape: &Shape) {
        match (shape, &node.kind) {
            (Shape::Any, _) => {}
            (Shape::Text, Kind::Text(_)) | (Shape::Number, Kind::Number(_)) | (Shape::Bool, Kind::Bool(_)) => {}
            (Shape::Name, Kind::Text(name)) => self.name(node, name),
            (Shape::Integer(min, max), Kind::Number(number)) => match number.as_i64() {
                Some(n) if (*min..=*max).contains(&n) => {}
                _ => self.report(node.mark, format!("expected a whole number from {min} to {max}"), None),
            },
            (Shape::Word(words), Kind::Text(word)) => {
                if !words.contains(&word.as_str()) {
                    self.unknown(node.mark, "value", word, words.iter().copied());
                }
            }
            (Shape::Version, Kind::Text(text)) => {
                self.needs_releases(node);
                if let Err(message) = text.parse::<Version>() {
                    self.report(node.mark, message, None);
                }
            }
            (Shape::Channel, Kind::Text(word)) => {
                self.needs_releases(node);
                if !CHANNELS.contains(&word.as_str()) {
                    self.unknown(node.mark, "value", word, CHANNELS.into_iter());
                }
            }
            (Shape::Date, Kind::Text(text)) => {
                // The parser of dates takes other forms too, which people would not expect here.
                if !text.parse::<jiff::civil::Date>().is_ok_and(|date| date.to_string() == *text) {
                    let help = Some("write it like 2027-01-31".to_owned());
                    self.report(node.mark, format!("`{text}` is no day"), help);
                }
            }
            (Shape::Feature, Kind::Text(name)) => {
                if !self.vocabulary.features.contains(name) {
                    let known = self.vocabulary;
                    self.unknown(node.mark, "feature", name, known.features.iter().map(String::as_str));
                }
            }
            (Shape::Clause, Kind::Text(name)) => {
                if !self.vocabulary.clauses.contains(name) {
                    let known = self.vocabulary;
                    self.unknown(node.mark, "clause", name, known.clauses.iter().map(String::as_str));
                }
            }
            (Shape::Edition, Kind::Text(name)) => {
                let known = self.vocabulary.dialect.editions();
                if known.is_empty() {
                    let message = format!("the dialect `{}` has one edition only", self.vocabulary.dialect.name());
                    self.report(node.mark, message, Some("leave it out".to_owned()));
                } else if !known.contains(name) {
                    self.unknown(node.mark, "edition", name, known.iter().map(String::as_str));
                }
            }
            (Shape::Pool, Kind::Text(name)) => {
                if !self.vocabulary.shapes.contains(name) {
                    let known = self.vocabulary;
                    let what = format!("{} shape", known.dialect.entry_in_words());
                    self.unknown(node.mark, &what, name, known.shapes.iter().map(String::as_str));
                }
            }
            (Shape::Condition, Kind::Text(text)) => self.condition(node, text),
            (Shape::Condition, Kind::Map(_)) => self.table(node, &CONDITION),
            (Shape::Scalar, Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_)) => {}
            (Shape::SubCondition, Kind::Text(text)) => {
                if SubCondition::of(text).is_none() {
                    let help = Some("write Type/Reason".to_owned());
                    self.report(node.mark, format!("`{text}` is not a sub-condition"), help);
                }
            }
            (Shape::Object, Kind::Map(_)) => self.object(node),
            (Shape::List(inner), Kind::List(items)) => {
                items.iter().for_each(|item| self.check(item, inner));
            }
            (Shape::Map(inner), Kind::Map(entries)) => {
                entries.iter().for_each(|(_, value)| self.check(value, inner));
            }
            (Shape::Either(shapes), _) => match shapes.iter().find(|s| fits(s, node)) {
                Some(shape) => self.check(node, shape),
                None => self.wrong_type(node, shape),
            },
            (Shape::Table(table), Kind::Map(_)) => self.table(node, table),
            _ => self.wrong_type(node, shape),
        }
    }

    /// Reports what is bound to a release of a dialect that has none: it would bind nothing.
    fn needs_releases(&mut self, node: &Node) {
        let dialect = &self.vocabulary.dialect;
        if dialect.releases().is_none() {
            let message = format!("the dialect `{}` has no releases to be bound to", dialect.name());
            self.report(node.mark, message, Some("leave it out".to_owned()));
        }
    }

    fn wrong_type(&mut self, node: &Node, shape: &Shape) {
        self.misread = true;
        let help = match (shape, &node.kind) {
            (Shape::Version, Kind::Number(_)) => Some("quote it, such as \"1.4\"".to_owned()),
            (_, Kind::Bool(_) | Kind::Number(_)) if noun(shape).contains("string") => Some("quote it".to_owned()),
            _ => None,
        };
        self.report(node.mark, format!("expected {}, found {}", noun(shape), node.noun()), help);
    }

    fn name(&mut self, node: &Node, name: &str) {
        let legal = !name.is_empty()
            && name.len() <= 63
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        if !legal {
            let help = Some("lower-case letters, digits and dashes, at most 63".to_owned());
            self.report(node.mark, format!("`{name}` is not a legal name"), help);
        }
    }

    fn table(&mut self, node: &Node, table: &Table) {
        for (key, value) in node.entries() {
            if let Some(field) = table.fields.iter().find(|f| f.name == key.name) {
                self.check(value, &field.shape);
            } else if table.conditions && is_condition_type(&key.name) {
                if !self.is_known_condition(&key.name) {
                    let known = self.vocabulary;
                    self.unknown(key.mark, "condition type", &key.name, known.conditions.iter().map(String::as_str));
                }
                self.check(value, &Shape::Either(&[Shape::Condition]));
            } else {
                let known = self.vocabulary;
                let conditions = known.conditions.iter().map(String::as_str).filter(|_| table.conditions);
                let names = table.fields.iter().map(|f| f.name).chain(conditions).collect::<Vec<_>>();
                let what = format!("field of a {}", table.name);
                self.unknown(key.mark, &what, &key.name, names.iter().copied());
            }
        }
        // A misspelt field is one mistake, not a second one for what it was meant to be.
        let unknown = |key: &str| {
            let is_condition = table.conditions && self.is_known_condition(key);
            !is_condition && table.fields.iter().all(|field| field.name != key)
        };
        let misspelt: Vec<&str> = node
            .entries()
            .iter()
            .filter(|(key, _)| unknown(&key.name))
            .filter_map(|(key, _)| suggest(&key.name, table.fields.iter().map(|f| f.name)))
            .collect();
        self.misread |= !misspelt.is_empty();
        for field in table.fields.iter().filter(|f| f.required) {
            if node.get(field.name).is_none() && !misspelt.contains(&field.name) {
                let help = Some(format!("`{}` is {}", field.name, field.doc));
                self.report(node.mark, format!("{} lacks the field `{}`", table.name, field.name), help);
            }
        }
        if !table.one_of.is_empty() {
            let given = node.entries().iter().filter(|(k, _)| table.one_of.contains(&k.name.as_str()));
            let given = given.collect::<Vec<_>>();
            if given.is_empty() {
                if misspelt.iter().any(|name| table.one_of.contains(name)) {
                    return;
                }
                let message = format!("{} needs one of {}", table.name, table.one_of.join(", "));
                self.report(node.mark, message, None);
            } else if let [(first, _), (second, _), ..] = given[..] {
                let message = format!("{} has both `{}` and `{}`", table.name, first.name, second.name);
                self.report(second.mark, message, Some("make two of it".to_owned()));
            }
        }
    }

    fn is_known_condition(&self, name: &str) -> bool {
        name.contains('/') || self.vocabulary.conditions.contains(name) || self.components.contains(name)
    }

    fn condition(&mut self, node: &Node, text: &str) {
        if text == "absent" {
            return;
        }
        let (statuses, reasons) = text.split_once('/').map_or((text, None), |(s, r)| (s, Some(r)));
        for status in statuses.split('|') {
            self.status(node, status);
        }
        for reason in reasons.into_iter().flat_map(|r| r.split('|')) {
            if reason.is_empty() || !reason.chars().all(|c| c.is_ascii_alphanumeric() || "_,:".contains(c)) {
                self.report(node.mark, format!("`{reason}` is not a reason"), None);
            }
        }
    }

    pub(in crate::scenario) fn status(&mut self, node: &Node, status: &str) {
        const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
        if !STATUSES.contains(&status) {
            self.unknown(node.mark, "condition status", status, STATUSES.into_iter());
        }
    }

    fn object(&mut self, node: &Node) {
        for name in ["apiVersion", "kind"] {
            if node.get(name).and_then(Node::text).is_none() {
                self.report(node.mark, format!("the object lacks the string `{name}`"), None);
            }
        }
        self.of_dialect(node);
        if node.get("metadata").and_then(|m| m.get("name")).and_then(Node::text).is_none() {
            self.report(node.mark, "the object lacks `metadata.name`".to_owned(), None);
        }
        if let Some((key, _)) = node.entries().iter().find(|(k, _)| k.name == "status") {
            let help = Some("write a status by a patch with `subresource: status`".to_owned());
            self.report(key.mark, "an applied object has no status".to_owned(), help);
        }
    }
}

fn fits(shape: &Shape, node: &Node) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Text
        | Shape::Name
        | Shape::Word(_)
        | Shape::Version
        | Shape::Channel
        | Shape::Date
        | Shape::Feature
        | Shape::Clause
        | Shape::Edition
        | Shape::SubCondition
        | Shape::Pool => {
            matches!(node.kind, Kind::Text(_))
        }
        Shape::Condition => matches!(node.kind, Kind::Text(_) | Kind::Map(_)),
        Shape::Scalar => !matches!(node.kind, Kind::List(_) | Kind::Map(_)),
        Shape::Integer(..) | Shape::Number => matches!(node.kind, Kind::Number(_)),
        Shape::Bool => matches!(node.kind, Kind::Bool(_)),
        Shape::List(_) => matches!(node.kind, Kind::List(_)),
        Shape::Map(_) | Shape::Table(_) | Shape::Object => matches!(node.kind, Kind::Map(_)),
        Shape::Either(shapes) => shapes.iter().any(|s| fits(s, node)),
    }
}

/// What a shape is called in messages.
fn noun(shape: &Shape) -> String {
    match shape {
        Shape::Any => "anything".to_owned(),
        Shape::Text | Shape::Name | Shape::Feature | Shape::Clause | Shape::Edition | Shape::Pool => {
            "a string".to_owned()
        }
        Shape::Version => "a version as a string".to_owned(),
        Shape::Channel => format!("the string {}", CHANNELS.join(" or ")),
        Shape::Date => "a day such as 2027-01-31".to_owned(),
        Shape::Word(words) => format!("the string {}", words.join(" or ")),
        Shape::Integer(..) => "a whole number".to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Bool => "true or false".to_owned(),
        Shape::Condition => "a string such as \"True/Accepted\" or a mapping".to_owned(),
        Shape::Scalar => "a value".to_owned(),
        Shape::SubCondition => "a string such as Type/Reason".to_owned(),
        Shape::Object => "a Kubernetes object".to_owned(),
        Shape::List(inner) => format!("a list, each item {}", noun(inner)),
        Shape::Map(_) => "a mapping".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(noun).collect::<Vec<_>>().join(" or "),
        Shape::Table(table) => format!("a mapping ({})", table.name),
    }
}
