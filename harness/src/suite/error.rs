//! What is wrong with the files of a dialect.

use std::path::{Path, PathBuf};

use gateproof_apiserver::crds::BundleError;

use super::{FILES, REQUIREMENTS};
use crate::dialects::DialectError;
use crate::judge::contract::ContractError;
use crate::scenario::suggest;

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
    /// A file that would be passed by.
    #[error("{}: no file of a dialect is called so{}; the others belong elsewhere", path.display(), meant(path))]
    UnknownFile {
        /// Which.
        path: PathBuf,
    },
    /// Its dialect.
    #[error("{}: {error}", place(path, *line))]
    Dialect {
        /// The file.
        path: PathBuf,
        /// Where, if what is wrong does not say so itself.
        line: Option<usize>,
        /// What is wrong.
        error: Box<DialectError>,
    },
    /// A folder that calls itself as a dialect does which is built in: reports and logs name a dialect, and could mean either.
    #[error("{}: the dialect `{name}` is built in, so one of a folder needs another name", place(path, *line))]
    BuiltIn {
        /// The file.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
        /// The name.
        name: String,
    },
    /// Its contract.
    #[error("{}: {error}", place(path, *line))]
    Contract {
        /// The file.
        path: PathBuf,
        /// Where, if what is wrong does not say so itself.
        line: Option<usize>,
        /// What is wrong.
        error: Box<ContractError>,
    },
    /// Its canary, or what preflight asks.
    #[error("{0}")]
    Scenario(String),
    /// Nothing keeps its objects from what is real.
    #[error(
        "{}: a cluster acts on something real for objects of {group}, as for those of the dialect `{guarded}`, so a run needs a canary \
         here: a scenario with a step `requests` in which `count: {{atLeast: 1}}` says that the request for a first object reaches a \
         service of the run{}",
        place(path, *line),
        lack.iter().map(|lack| format!("; {lack}")).collect::<String>()
    )]
    Unguarded {
        /// Where the canary belongs.
        path: PathBuf,
        /// Where it asks for too little.
        line: Option<usize>,
        /// The group.
        group: String,
        /// The built-in dialect that is guarded.
        guarded: String,
        /// What there is asks for too little, and why.
        lack: Option<String>,
    },
    /// A clause that it names and does not list.
    #[error("{}: the clause `{clause}` stands in no {REQUIREMENTS} beside it{}", place(path, *line), known(clauses, clause))]
    UnknownClause {
        /// The file that names it.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
        /// As written.
        clause: String,
        /// Those that there are.
        clauses: Vec<String>,
    },
    /// A clause that is there twice.
    #[error("{}: the clause `{clause}` is there twice, and a failure could not say which is meant", place(path, *line))]
    ClauseTwice {
        /// The file of the requirements.
        path: PathBuf,
        /// Where it is there again.
        line: Option<usize>,
        /// The clause.
        clause: String,
    },
    /// A clause that holds in no edition.
    #[error("{}: the clause `{clause}` holds in no edition: name one, or leave `editions` out", place(path, *line))]
    ClauseOfNone {
        /// The file of the requirements.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
        /// The clause.
        clause: String,
    },
    /// A clause of an edition that the dialect does not name.
    #[error("{}: the clause `{clause}` is of the edition `{edition}`, which the dialect does not name", place(path, *line))]
    ClauseOfNoEdition {
        /// The file of the requirements.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
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
    /// Its requirements, features or profiles.
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
        place(path, *line)
    )]
    Feature {
        /// The file.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
        /// As written.
        name: String,
    },
    /// A service that there is not, or what it takes for rules.
    #[error("{}: {problem}", place(path, *line))]
    Service {
        /// The file.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// A profile that cannot be named, or names what there is not.
    #[error("{}: {problem}", place(path, *line))]
    Profile {
        /// The file.
        path: PathBuf,
        /// Where.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
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
    #[error("{}: {problem}", place(path, *line))]
    Undefined {
        /// The file that names it.
        path: PathBuf,
        /// Where, if a line of it does.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
    },
}

/// What a file may have been meant to be called.
fn meant(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".yml").map_or_else(|| name.to_owned(), |stem| format!("{stem}.yaml"));
    match suggest(&name, FILES.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!(": there are {}", FILES.join(", ")),
    }
}

/// A file, and the line of it if it is known.
fn place(path: &Path, line: Option<usize>) -> String {
    format!("{}{}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())
}

/// What may have been meant: the nearest, or all of a few.
fn known(all: &[String], written: &str) -> String {
    const FEW: usize = 12;
    match suggest(written, all.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if all.is_empty() => "; there is none".to_owned(),
        None if all.len() <= FEW => format!("; there is {}", all.join(", ")),
        None => String::new(),
    }
}
