//! What is wrong with a contract.

use super::document::SEPARATOR;
use super::rule::Rule;

/// Why a contract could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// Not YAML of this shape.
    #[error("reading the contract: {0}")]
    Parse(String),
    /// Something of it, with its place, that only the whole cannot be read with.
    #[error("reading the contract: {why}")]
    Placed {
        /// What is wrong.
        why: String,
        /// Where it may stand.
        at: Vec<Vec<String>>,
    },
    /// A rule that does not exist.
    #[error("no rule is named `{name}`{}", hint.as_ref().map_or_else(String::new, |h| format!("; did you mean `{h}`?")))]
    UnknownRule {
        /// As written.
        name: String,
        /// The nearest one.
        hint: Option<String>,
    },
    /// A set of conditions that is not defined.
    #[error("{kind} refers to the conditions `{set}`, which are not defined")]
    UnknownConditions {
        /// The kind that refers to it.
        kind: String,
        /// As written.
        set: String,
    },
    /// A set of conditions that no kind has.
    #[error("no kind has the conditions `{0}`: name them in its `subjects`, or leave them out")]
    UnusedConditions(String),
    /// A contract to lay this one over that there is not.
    #[error("there is no contract `{0}` to be refined; there is {names}", names = gateproof_suites::contracts::SHARED.map(|(name, _)| name).join(", "))]
    UnknownGround(String),
    /// Something without which it says nothing.
    #[error("the contract does not say `{0}`")]
    Unsaid(String),
    /// A condition that another needs and its set has not.
    #[error("a condition of the set `{set}` needs the condition `{type_}`, which is not in that set")]
    UnknownNeed {
        /// The set.
        set: String,
        /// As written.
        type_: String,
    },
    /// A condition that another is to be like and its set has not, or that is like another itself.
    #[error("the condition `{type_}` of the set `{set}` is to be like `{like}`, which that set does not spell out")]
    UnknownLike {
        /// The set.
        set: String,
        /// The condition.
        type_: String,
        /// As written.
        like: String,
    },
    /// A word that only rules read which are not listed.
    #[error(
        "`{word}` has no effect: no rule reads it that is among the `rules`; list {} there, with its level and clauses, or leave the word out",
        either(rules)
    )]
    Unread {
        /// The word.
        word: &'static str,
        /// The rules of which one reads it.
        rules: &'static [Rule],
        /// Where it may stand.
        at: Vec<Vec<String>>,
    },
    /// A word of a condition that says something beside another one alone.
    #[error(
        "`{word}` of the condition `{type_}` has no effect without `{beside}`: say that, too, or leave the word out"
    )]
    Alone {
        /// The word.
        word: &'static str,
        /// The other one.
        beside: &'static str,
        /// The condition.
        type_: String,
        /// Where it may stand.
        at: Vec<Vec<String>>,
    },
    /// A reason that is not `Name [since V] [until V]`.
    #[error("{why}")]
    Reason {
        /// The set.
        set: String,
        /// The condition.
        type_: String,
        /// The status.
        status: String,
        /// As written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A status that no condition has.
    #[error("the condition `{type_}` of the set `{set}` says something of the status `{status}`: there is {known}", known = super::terms::STATUSES.join(", "))]
    UnknownStatus {
        /// The set.
        set: String,
        /// The condition.
        type_: String,
        /// As written.
        status: String,
    },
    /// A condition type without a domain that its dialect does not list.
    #[error(
        "the set `{set}` has the condition `{type_}`, which is not among the `conditions` of dialect.yaml: there is {}",
        known.join(", ")
    )]
    UnknownType {
        /// The set.
        set: String,
        /// As written.
        type_: String,
        /// Those that it lists.
        known: Vec<String>,
    },
    /// A kind that its dialect has not.
    #[error("the dialect has no kind {kind} of the group `{group}`")]
    UnknownKind {
        /// As written.
        kind: String,
        /// As written.
        group: String,
    },
    /// Of something else.
    #[error("the contract is of the dialect `{0}`, which is another")]
    UnknownDialect(String),
    /// A release that is none.
    #[error("{error}")]
    Version {
        /// Where it may stand.
        at: Vec<Vec<String>>,
        /// What is wrong with it.
        error: String,
    },
    /// A form that is no regular expression.
    #[error("`forms.{name}` is no regular expression: {error}")]
    Form {
        /// Which.
        name: String,
        /// What is wrong with it.
        error: Box<regex::Error>,
    },
    /// An edition that the dialect does not name.
    #[error("the dialect `{dialect}` has no edition `{edition}`")]
    UnknownEdition {
        /// The dialect.
        dialect: String,
        /// As written.
        edition: String,
    },
}

impl ContractError {
    /// Where the file may say so: keys, and `key=value` for an item of a list. Whatever could not be read has its place in words.
    pub fn at(&self) -> Vec<Vec<String>> {
        match self {
            ContractError::Parse(_) => Vec::new(),
            ContractError::Reason { set, type_, status, text, .. } => in_set(set, &[type_, "reasons", status, text]),
            ContractError::Placed { at, .. }
            | ContractError::Version { at, .. }
            | ContractError::Unread { at, .. }
            | ContractError::Alone { at, .. } => at.clone(),
            ContractError::Form { name, .. } => vec![path(&["forms", name])],
            ContractError::UnknownRule { name, .. } => vec![path(&["rules", name])],
            ContractError::UnknownConditions { kind, .. } | ContractError::UnknownKind { kind, .. } => {
                vec![path(&["kinds", &format!("kind={kind}")])]
            }
            ContractError::UnusedConditions(set) => in_set(set, &[]),
            ContractError::UnknownGround(_) => vec![path(&["refines"])],
            ContractError::Unsaid(field) => vec![path(&field.split('.').collect::<Vec<_>>())],
            ContractError::UnknownNeed { set, .. } => in_set(set, &[]),
            ContractError::UnknownType { set, type_, .. } => in_set(set, &[type_]),
            ContractError::UnknownLike { set, type_, .. } => in_set(set, &[type_, "like"]),
            ContractError::UnknownStatus { set, type_, status } => ["reasons", "open", "graded"]
                .into_iter()
                .flat_map(|field| in_set(set, &[type_, field, status]))
                .collect(),
            ContractError::UnknownDialect(_) => vec![vec!["metadata".to_owned(), "name".to_owned()]],
            ContractError::UnknownEdition { edition, .. } => vec![path(&["editions", edition])],
        }
    }
}

/// The names of rules of which one is enough.
fn either(rules: &[Rule]) -> String {
    rules.iter().map(|rule| format!("`{}`", rule.name())).collect::<Vec<_>>().join(" or ")
}

/// A place in the spec.
pub(super) fn path(below: &[&str]) -> Vec<String> {
    std::iter::once("spec").chain(below.iter().copied()).map(str::to_owned).collect()
}

/// The places in a set of conditions: one that is made of several says so in the last of them that says it.
pub(super) fn in_set(set: &str, rest: &[&str]) -> Vec<Vec<String>> {
    set.rsplit(SEPARATOR).map(|set| path(&[&["conditions", set], rest].concat())).collect()
}
