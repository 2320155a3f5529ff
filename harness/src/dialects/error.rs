//! What is wrong with a dialect.

/// Why a dialect could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DialectError {
    /// Not YAML of this shape.
    #[error("reading the dialect: {0}")]
    Parse(#[from] serde_yaml::Error),
    /// A reference without a group would mean nothing.
    #[error("the dialect `{0}` names no API group")]
    NoGroup(String),
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
    /// Entries that cannot be made.
    #[error("the dialect `{dialect}` has `entries` that cannot be made: {problem}")]
    Entries {
        /// The dialect.
        dialect: String,
        /// What is wrong.
        problem: String,
    },
}
