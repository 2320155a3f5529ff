//! What is wrong with a contract.

use super::merged::SEPARATOR;

/// Why a contract could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// Not YAML of this shape.
    #[error("reading the contract: {0}")]
    Parse(String),
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
    /// A reason that is not `Name [since V] [until V]`.
    #[error("`{0}` is not a reason such as `Pending since 1.2 until 1.5`")]
    Reason(String),
    /// A status that no condition has.
    #[error("the condition `{type_}` of the set `{set}` says something of the status `{status}`: there is {known}", known = super::data::STATUSES.join(", "))]
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
    /// A version that is none.
    #[error("{0}")]
    Version(String),
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
        let path = |path: &[&str]| path.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
        // A set that is made of several says so in the last of them that says it.
        let in_set = |set: &str, rest: &[&str]| -> Vec<Vec<String>> {
            let sets = set.rsplit(SEPARATOR);
            sets.map(|set| path(&[&["spec", "conditions", set], rest].concat())).collect()
        };
        match self {
            ContractError::Parse(_) | ContractError::Reason(_) | ContractError::Version(_) => Vec::new(),
            ContractError::UnknownRule { name, .. } => vec![path(&["spec", "rules", name])],
            ContractError::UnknownConditions { kind, .. } | ContractError::UnknownKind { kind, .. } => {
                vec![path(&["spec", "kinds", &format!("kind={kind}")])]
            }
            ContractError::UnusedConditions(set) => in_set(set, &[]),
            ContractError::UnknownGround(_) => vec![path(&["spec", "refines"])],
            ContractError::Unsaid(field) => vec![path(&[&["spec"], &*field.split('.').collect::<Vec<_>>()].concat())],
            ContractError::UnknownNeed { set, .. } => in_set(set, &[]),
            ContractError::UnknownType { set, type_, .. } => in_set(set, &[type_]),
            ContractError::UnknownStatus { set, type_, status } => ["reasons", "open", "graded"]
                .into_iter()
                .flat_map(|field| in_set(set, &[type_, field, status]))
                .collect(),
            ContractError::UnknownDialect(_) => vec![path(&["metadata", "name"])],
            ContractError::UnknownEdition { edition, .. } => vec![path(&["spec", "editions", edition])],
        }
    }
}
