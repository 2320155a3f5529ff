//! What is wrong with a contract.

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
