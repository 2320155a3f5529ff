//! What is wrong with the files of a dialect.

use std::path::PathBuf;

use gateproof_apiserver::crds::BundleError;

use super::REQUIREMENTS;
use crate::dialects::DialectError;
use crate::judge::contract::ContractError;

/// Why there is no such suite.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file of it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its dialect.
    #[error("{}: {error}", path.display())]
    Dialect {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<DialectError>,
    },
    /// Its contract.
    #[error("{}: {error}", path.display())]
    Contract {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<ContractError>,
    },
    /// Its canary, or what preflight asks.
    #[error("{0}")]
    Scenario(String),
    /// A clause that it names and does not list.
    #[error("{}: the clause `{clause}` stands in no {REQUIREMENTS} beside it", path.display())]
    UnknownClause {
        /// The file that names it.
        path: PathBuf,
        /// As written.
        clause: String,
    },
    /// A clause that holds in no edition.
    #[error("{}: the clause `{clause}` holds in no edition: name one, or leave `editions` out", path.display())]
    ClauseOfNone {
        /// The file of the requirements.
        path: PathBuf,
        /// The clause.
        clause: String,
    },
    /// A clause of an edition that the dialect does not name.
    #[error("{}: the clause `{clause}` is of the edition `{edition}`, which the dialect does not name", path.display())]
    ClauseOfNoEdition {
        /// The file of the requirements.
        path: PathBuf,
        /// The clause.
        clause: String,
        /// As written.
        edition: String,
    },
    /// An edition that there is not.
    #[error("the dialect `{dialect}` has no edition `{edition}`")]
    NoEdition {
        /// Its name.
        dialect: String,
        /// As asked for.
        edition: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// Its requirements or features.
    #[error("{}: {error}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<serde_yaml::Error>,
    },
    /// A feature that is there twice, or cannot be named.
    #[error(
        "{}: `{name}` cannot be the name of a feature: names are of letters and digits, a letter first, and each is there once",
        path.display()
    )]
    Feature {
        /// The file.
        path: PathBuf,
        /// As written.
        name: String,
    },
    /// Its definitions.
    #[error("{}: {error}", path.display())]
    Definitions {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<BundleError>,
    },
    /// Something that its definitions do not have, or have otherwise.
    #[error("{}{}: {problem}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Undefined {
        /// The file that names it.
        path: PathBuf,
        /// Where, if a line of it does.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
}
