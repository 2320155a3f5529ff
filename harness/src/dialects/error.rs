//! What is wrong with a dialect.

use super::releases::Minor;

/// Why a dialect could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    /// Not YAML of this shape.
    #[error("reading the dialect: {0}")]
    Parse(#[from] serde_yaml::Error),
    /// A reference without a group would mean nothing.
    #[error("the dialect `{0}` names no API group")]
    NoGroup(String),
    /// A group that none is, or that is not a dialect's to own.
    #[error("the dialect `{dialect}` has `{group}` among its `groups`, which {problem}")]
    Group {
        /// The dialect.
        dialect: String,
        /// As written.
        group: String,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// A kind of a group that is not one of its own.
    #[error("the dialect `{dialect}` says that {kind} is of the group `{group}`, which is not among its groups")]
    ForeignGroup {
        /// The dialect.
        dialect: String,
        /// The kind.
        kind: String,
        /// Its group.
        group: String,
    },
    /// A kind that is there twice.
    #[error("the dialect `{dialect}` names the kind {kind} twice")]
    Twice {
        /// The dialect.
        dialect: String,
        /// The kind.
        kind: String,
    },
    /// More than one kind has a role that one kind can have.
    #[error("the dialect `{dialect}` has more than one kind whose role is `{role}`")]
    Role {
        /// The dialect.
        dialect: String,
        /// As it is written.
        role: &'static str,
    },
    /// An edition that cannot be named.
    #[error(
        "the dialect `{dialect}` has an edition `{name}`: names are of lower-case letters, digits and dashes, and each is there once"
    )]
    Edition {
        /// The dialect.
        dialect: String,
        /// The edition.
        name: String,
    },
    /// A list of editions with none in it.
    #[error("the dialect `{0}` has no edition in its `editions`: name those that there are, or leave it out")]
    NoEditions(String),
    /// A condition type that is there twice.
    #[error("the dialect `{dialect}` lists the condition `{type_}` twice")]
    ConditionTwice {
        /// The dialect.
        dialect: String,
        /// The type.
        type_: String,
    },
    /// An edition that is not among its own.
    #[error("the dialect `{dialect}` says `{field}: {name}`, and has no edition of that name")]
    UnknownEdition {
        /// The dialect.
        dialect: String,
        /// Where it stands.
        field: &'static str,
        /// The edition.
        name: String,
    },
    /// A dialect that cannot be named: reports stand in folders of these names.
    #[error("`{0}` cannot be the name of a dialect: names are of lower-case letters, digits and dashes")]
    Name(String),
    /// A condition type without a domain that it does not list.
    #[error(
        "the dialect `{dialect}` says `{type_}` in `{field}`, which is not among its `conditions`: there is {}",
        known.join(", ")
    )]
    UnknownType {
        /// The dialect.
        dialect: String,
        /// Where it stands.
        field: &'static str,
        /// As written.
        type_: String,
        /// Those that it lists.
        known: Vec<String>,
    },
    /// What may be about an earlier generation while a controller falls back, and is not named.
    #[error(
        "the dialect `{0}` says `fallsBack`, and not in `accepted` which condition may be about an earlier generation meanwhile"
    )]
    FallsBack(String),
    /// What would let a status be about an earlier generation whenever it likes, or say nothing.
    #[error("the dialect `{dialect}` says `fallsBack`, and in its `{field}` {problem}")]
    FallsBackOn {
        /// The dialect.
        dialect: String,
        /// The field of it.
        field: &'static str,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// Conditions that stand in the entries of a controller which nothing names.
    #[error(
        "the dialect `{dialect}` says that the conditions of {kind} stand in `status.{place}`, in the entries of one controller, and no kind with the role `class` says by its `spec.controllerName` which that is"
    )]
    NobodysEntries {
        /// The dialect.
        dialect: String,
        /// The kind.
        kind: String,
        /// Where they stand.
        place: &'static str,
    },
    /// Entries that cannot be made.
    #[error("no run can make the `entries` of the dialect `{dialect}`: {problem}")]
    Entries {
        /// The dialect.
        dialect: String,
        /// What is wrong.
        problem: String,
    },
    /// A change of definitions of a kind or in a release that there is not.
    #[error("the dialect `{dialect}` says what changes of {kind} in {release}, and has no such {lacked}")]
    Change {
        /// The dialect.
        dialect: String,
        /// The kind.
        kind: String,
        /// The release.
        release: Minor,
        /// Which of the two there is not.
        lacked: &'static str,
    },
    /// A service that cannot be named.
    #[error(
        "the dialect `{dialect}` has a service `{name}`: names are of lower-case letters, digits and dashes, and each is there once"
    )]
    Service {
        /// The dialect.
        dialect: String,
        /// The service.
        name: String,
    },
}

impl DialectError {
    /// Where the file says so: keys, and `key=value` for an item of a list. Whatever could not be read has its place in words.
    pub fn at(&self) -> Vec<String> {
        let of_kind = |kind: &str| vec!["spec".to_owned(), "kinds".to_owned(), format!("kind={kind}")];
        let path = |path: &[&str]| path.iter().map(|step| (*step).to_owned()).collect();
        match self {
            DialectError::Parse(_) => Vec::new(),
            DialectError::Name(_) => path(&["metadata", "name"]),
            DialectError::NoEditions(_) => path(&["spec", "editions"]),
            DialectError::ConditionTwice { type_, .. } => path(&["spec", "conditions", type_]),
            DialectError::NoGroup(_) => path(&["spec", "groups"]),
            DialectError::Group { group, .. } => path(&["spec", "groups", group]),
            DialectError::ForeignGroup { kind, .. }
            | DialectError::Twice { kind, .. }
            | DialectError::NobodysEntries { kind, .. } => of_kind(kind),
            DialectError::Role { role, .. } => path(&["spec", "kinds", &format!("role={role}")]),
            DialectError::UnknownType { field, type_, .. } => path(&["spec", field, type_]),
            DialectError::FallsBack(_) => path(&["spec", "fallsBack"]),
            DialectError::FallsBackOn { field, .. } => path(&["spec", "fallsBack", field]),
            DialectError::Edition { name, .. } => path(&["spec", "editions", name]),
            DialectError::UnknownEdition { field, name, .. } => path(&["spec", field, name]),
            DialectError::Entries { .. } => path(&["spec", "entries"]),
            DialectError::Change { kind, .. } => path(&["spec", "changes", &format!("kind={kind}")]),
            DialectError::Service { name, .. } => path(&["spec", "services", name]),
        }
    }
}
