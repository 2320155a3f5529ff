//! What steps expect conditions to say, held against what a contract lists for them: a misspelt reason or severity is waited for in
//! vain, and never comes where it must not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::diagnostic::{Diagnostic, Report, Source};
use super::super::parse::check::is_condition_type;
use super::super::parse::tree::{self, Mark, Node};
use super::super::vocabulary::suggest;
use super::walk;
use crate::dialects::{Dialect, StatusList};

/// What is known of what conditions say.
pub trait Sayings {
    /// What a condition of a kind may say in these lists; `None` if nothing is known of it.
    fn saying(&self, kind: &str, type_: &str, lists: &[StatusList]) -> Option<Saying>;
}

/// What a condition may say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saying {
    /// The reasons that are listed, by status.
    pub reasons: BTreeMap<String, BTreeSet<String>>,
    /// Statuses whose reasons are all listed.
    pub closed: BTreeSet<String>,
    /// Further fields with a closed list of values, such as a severity, by name and status.
    pub grades: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Saying {
    /// What may be said by this or by that: a list is closed if both are.
    pub fn or(mut self, other: Saying) -> Saying {
        self.closed.retain(|status| other.closed.contains(status));
        for (status, reasons) in other.reasons {
            self.reasons.entry(status).or_default().extend(reasons);
        }
        self.grades.retain(|field, _| other.grades.contains_key(field));
        for (field, of_status) in &mut self.grades {
            for (status, values) in other.grades.get(field).into_iter().flatten() {
                of_status.entry(status.clone()).or_default().extend(values.iter().cloned());
            }
        }
        self
    }
}

/// How far a reason may be from one that is listed, where others are legal too, and be taken for a slip: codes of a service may
/// well be alike.
const SLIP: usize = 2;

/// The shortest reason of which that is said: short words are close to one another by nature.
const LONG: usize = 6;

/// The statuses that a condition may have.
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// Reasons and grades in the expectations of a file that what is known of their conditions does not list, in order of place.
pub fn said(file: &str, text: &str, sayings: &dyn Sayings, dialect: &Dialect) -> Vec<Diagnostic> {
    let source = Source::new(file, text);
    let documents = tree::read(&source, &mut Vec::new());
    let mut search = Search { source: &source, sayings, dialect, found: Vec::new() };
    for document in &documents {
        let steps = document.root.get("spec").and_then(|spec| spec.get("steps"));
        walk::subjects(steps, &mut |key, subject, is_never| {
            if let Some(kind) = walk::kind(&key.name) {
                search.subject(kind, subject, is_never);
            }
        });
    }
    search.found.sort_by_key(|problem| (problem.line, problem.column));
    search.found
}

struct Search<'s> {
    source: &'s Arc<Source>,
    sayings: &'s dyn Sayings,
    dialect: &'s Dialect,
    found: Vec<Diagnostic>,
}

impl Search<'_> {
    fn subject(&mut self, kind: &str, subject: &Node, is_never: bool) {
        self.conditions(kind, self.dialect.standing(kind).lists(), subject, is_never);
        // What another controller says is not the contract's business.
        let own = |parent: &&Node| parent.get("controller").is_none();
        for parent in subject.get("parents").map(Node::list).unwrap_or_default().iter().filter(own) {
            self.conditions(kind, &[StatusList::Parents, StatusList::Ancestors], parent, is_never);
        }
        for (_, listener) in subject.get("listeners").map(Node::entries).unwrap_or_default() {
            self.conditions(kind, &[StatusList::Listeners], listener, is_never);
        }
    }

    fn conditions(&mut self, kind: &str, lists: &[StatusList], of: &Node, is_never: bool) {
        for (key, condition) in of.entries().iter().filter(|(key, _)| is_condition_type(&key.name)) {
            if let Some(saying) = self.sayings.saying(kind, &key.name, lists) {
                self.condition(&key.name, condition, &saying, is_never);
            }
        }
    }

    fn condition(&mut self, type_: &str, condition: &Node, saying: &Saying, is_never: bool) {
        let (statuses, reasons) = match condition.text() {
            Some(text) => {
                let (statuses, reasons) = text.split_once('/').unwrap_or((text, ""));
                let reasons = reasons.split('|').filter(|reason| !reason.is_empty());
                (statuses.split('|').collect(), reasons.map(|reason| (condition.mark, reason)).collect::<Vec<_>>())
            }
            None => {
                let statuses: Vec<&str> = texts(condition.get("status")).into_iter().map(|(_, text)| text).collect();
                (statuses, texts(condition.get("reason")))
            }
        };
        let any = STATUSES.to_vec();
        // What must not be, and what it must be other than, may be what no status goes with.
        let meant = if is_never || statuses.is_empty() { &any } else { &statuses };
        for (mark, reason) in reasons {
            self.reason(type_, saying, meant, mark, reason);
        }
        for (mark, reason) in texts(condition.get("otherThan")) {
            self.reason(type_, saying, &any, mark, reason);
        }
        for (key, asked) in condition.get("fields").map(Node::entries).unwrap_or_default() {
            if let Some(values) = saying.grades.get(&key.name) {
                for (mark, value) in asked_values(asked) {
                    self.grade(type_, &key.name, values, meant, mark, value);
                }
            }
        }
    }

    fn reason(&mut self, type_: &str, saying: &Saying, statuses: &[&str], mark: Mark, reason: &str) {
        let of = |statuses: &[&str]| -> BTreeSet<&str> {
            let listed = statuses.iter().filter_map(|status| saying.reasons.get(*status));
            listed.flatten().map(String::as_str).collect()
        };
        let (listed, everywhere) = (of(statuses), of(&STATUSES));
        if reason.contains('$') || saying.reasons.is_empty() || listed.contains(reason) {
            return;
        }
        let contract = self.dialect.name();
        if statuses.iter().all(|status| saying.closed.contains(*status)) {
            let near = suggest(reason, listed.iter().copied());
            let all = if listed.is_empty() { "it lists none".to_owned() } else { named(&listed) };
            let help = near.map_or(all, |near| format!("did you mean `{near}`?"));
            let status = match statuses.len() {
                1 => format!(" while it is {}", statuses[0]),
                _ => String::new(),
            };
            let message = format!("`{reason}` is no reason of {type_}{status}, by the contract of `{contract}`");
            self.found.push(self.source.problem(mark, message, Some(help)));
        } else if !everywhere.contains(reason)
            && let Some(near) = slip(reason, &everywhere)
        {
            let message = format!("`{reason}` is all but a reason of {type_} in the contract of `{contract}`");
            let help = format!("did you mean `{near}`? If not, list `{reason}` in the contract");
            self.found.push(self.source.problem(mark, message, Some(help)));
        }
    }

    fn grade(
        &mut self,
        type_: &str,
        field: &str,
        values: &BTreeMap<String, BTreeSet<String>>,
        statuses: &[&str],
        mark: Mark,
        value: &str,
    ) {
        let of_status = statuses.iter().filter_map(|status| values.get(*status));
        let legal: BTreeSet<&str> = of_status.flatten().map(String::as_str).collect();
        if value.contains('$') || legal.contains(value) {
            return;
        }
        let near = suggest(value, legal.iter().copied());
        let all = if legal.is_empty() { "there is none".to_owned() } else { named(&legal) };
        let help = near.map_or(all, |near| format!("did you mean `{near}`?"));
        let contract = self.dialect.name();
        let message = format!("`{value}` is no {field} of {type_}, by the contract of `{contract}`");
        self.found.push(self.source.problem(mark, message, Some(help)));
    }
}

/// The listed name that is written almost so.
fn slip<'n>(written: &str, listed: &BTreeSet<&'n str>) -> Option<&'n str> {
    let is_near = |name: &&&str| {
        written.len().abs_diff(name.len()) <= 4 * SLIP && strsim::damerau_levenshtein(written, name) <= SLIP
    };
    listed.iter().filter(|name| name.len() >= LONG && written.len() >= LONG).find(is_near).copied()
}

fn named(all: &BTreeSet<&str>) -> String {
    format!("there is {}", all.iter().copied().collect::<Vec<_>>().join(", "))
}

/// One text or several, each with its place.
fn texts(node: Option<&Node>) -> Vec<(Mark, &str)> {
    let nodes = node.into_iter().flat_map(|node| std::iter::once(node).chain(node.list()));
    nodes.filter_map(|node| Some((node.mark, node.text()?))).collect()
}

/// The values that a test of a field names.
fn asked_values(asked: &Node) -> Vec<(Mark, &str)> {
    match asked.text() {
        // As everywhere, the word for no value.
        Some("absent") => Vec::new(),
        Some(text) => vec![(asked.mark, text)],
        None => ["equals", "oneOf"].iter().flat_map(|word| texts(asked.get(word))).collect(),
    }
}

#[cfg(test)]
#[path = "said_tests.rs"]
mod tests;
