//! What a target of a dialect is judged by: the suite of Gateway API, which is built in, or one that stands in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof_suites::Requirement;
use gateproof_suites::dialects::{DialectFiles, OTHERS};

use crate::dialects::{Dialect, DialectError, Edition, Reference};
use crate::judge::contract::{Contract, ContractError, GATEWAY_API};
use crate::scenario::load::{self, LoadError};
use crate::scenario::{Scenario, Vocabulary, parse};

/// The files of a suite in a folder.
const DIALECT: &str = "dialect.yaml";
const CONTRACT: &str = "contract.yaml";
const REQUIREMENTS: &str = "requirements.yaml";
const CANARY: &str = "canary.yaml";
const MANIFESTS: &str = "manifests";

/// What a target of a dialect is judged by.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its kinds.
    pub dialect: Arc<Dialect>,
    /// What their statuses must look like.
    pub contract: Arc<Contract>,
    /// The names that its scenarios may use.
    pub vocabulary: Vocabulary,
    /// The clauses that its scenarios may prove.
    pub requirements: Vec<Requirement>,
    /// What a cluster has to pass before anything else is applied to it.
    pub canary: Option<Arc<Scenario>>,
    /// The folder; none if it is built in.
    folder: Option<PathBuf>,
}

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
    /// Its canary.
    #[error("{0}")]
    Canary(String),
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
    /// Its requirements.
    #[error("{}: {error}", path.display())]
    Requirements {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<serde_yaml::Error>,
    },
}

impl Suite {
    /// That of Gateway API.
    ///
    /// # Errors
    /// A mistake of ours; there is none in a tested build.
    pub fn gateway_api() -> Result<Suite, ContractError> {
        Ok(Suite {
            dialect: Dialect::gateway_api(),
            contract: Arc::new(Contract::parse(GATEWAY_API)?),
            vocabulary: Vocabulary::builtin(),
            requirements: gateproof_suites::requirements().to_vec(),
            canary: None,
            folder: None,
        })
    }

    /// Reads that of a folder: `dialect.yaml` and `contract.yaml`, `requirements.yaml` if it names clauses, `canary.yaml` if it has one,
    /// and below `manifests` its scenarios.
    ///
    /// # Errors
    /// A file that is missing, or one with something that is not known, with its place.
    pub fn read(folder: &Path, edition: Option<&str>) -> Result<Suite, SuiteError> {
        let text = |name: &str| {
            let path = folder.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok((path, text)),
                Err(source) => Err(SuiteError::Read { path, source }),
            }
        };
        let optional = |name: &str| match text(name) {
            Ok(found) => Ok(Some(found)),
            Err(SuiteError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let (requirements, canary) = (optional(REQUIREMENTS)?, optional(CANARY)?);
        let mut suite = Suite::assembled(text(DIALECT)?, text(CONTRACT)?, requirements, canary, edition)?;
        let guarded = |other: &DialectFiles| other.name == suite.dialect.name() && other.canary.is_some();
        if suite.canary.is_none() && OTHERS.iter().any(guarded) {
            let path = folder.join(CANARY);
            return Err(SuiteError::Read { path, source: std::io::ErrorKind::NotFound.into() });
        }
        suite.folder = Some(folder.to_owned());
        Ok(suite)
    }

    /// The built-in one of this name, if there is one.
    ///
    /// # Errors
    /// A mistake of ours; there is none in a tested build.
    pub fn named(name: &str) -> Option<Result<Suite, SuiteError>> {
        Suite::named_in(name, None)
    }

    /// The built-in one of this name, in an edition; in that which is meant first without one.
    ///
    /// # Errors
    /// It has no such edition.
    pub fn named_in(name: &str, edition: Option<&str>) -> Option<Result<Suite, SuiteError>> {
        if name == Dialect::gateway_api().name() {
            let wrong = |error| SuiteError::Contract { path: CONTRACT.into(), error: Box::new(error) };
            return Some(
                edition_of(&Dialect::gateway_api(), edition).and_then(|_| Suite::gateway_api().map_err(wrong)),
            );
        }
        let DialectFiles { dialect, contract, requirements, canary, .. } =
            OTHERS.into_iter().find(|other| other.name == name)?;
        let file = |file: &str, text: &str| (Path::new(name).join(file), text.to_owned());
        let requirements = Some(file(REQUIREMENTS, requirements));
        let canary = canary.map(|text| file(CANARY, text));
        Some(Suite::assembled(file(DIALECT, dialect), file(CONTRACT, contract), requirements, canary, edition))
    }

    /// The names of those that are built in.
    pub fn names() -> impl Iterator<Item = String> {
        std::iter::once(Dialect::gateway_api().name().to_owned())
            .chain(OTHERS.iter().map(|other| other.name.to_owned()))
    }

    /// Of files that were read, in no folder yet.
    fn assembled(
        (path, dialect): (PathBuf, String),
        (contract_path, contract): (PathBuf, String),
        requirements: Option<(PathBuf, String)>,
        canary: Option<(PathBuf, String)>,
        edition: Option<&str>,
    ) -> Result<Suite, SuiteError> {
        let dialect = Dialect::parse(&dialect)
            .map_err(|error| SuiteError::Dialect { path: path.clone(), error: error.into() })?;
        let named = edition_of(&dialect, edition)?.map(str::to_owned);
        let (dialect, edition) = (Arc::new(dialect.in_edition(named.as_deref())), named.as_deref());
        let contract = Contract::of(Arc::clone(&dialect), edition, &contract)
            .map_err(|error| SuiteError::Contract { path: contract_path, error: error.into() })?;
        let requirements: Vec<Requirement> = match requirements {
            Some((path, text)) => read_requirements(path, &text, &dialect)?,
            None => Vec::new(),
        };
        let is_listed = |clause: &str| requirements.iter().any(|requirement| requirement.id == clause);
        if let Some(clause) = dialect.implied_clauses().find(|clause| !is_listed(clause)) {
            return Err(SuiteError::UnknownClause { path, clause: clause.to_string() });
        }
        let clauses = requirements.iter().map(|requirement| requirement.id.clone()).collect();
        let mut vocabulary = Vocabulary::of(Arc::clone(&dialect), Default::default(), clauses);
        if let Some(edition) = edition {
            vocabulary.edition = Edition::of(edition, &requirements);
        }
        let contract = contract.without(|clause| vocabulary.edition.is_elsewhere(clause));
        let canary = canary.map(|(path, text)| one_scenario(&path, &text, &vocabulary)).transpose()?.map(Arc::new);
        Ok(Suite { vocabulary, dialect, contract: Arc::new(contract), requirements, canary, folder: None })
    }

    /// The implementation on the embedded target that there is for it.
    pub fn reference(&self) -> Option<Reference> {
        self.folder.is_none().then(|| Reference::of(&self.dialect)).flatten()
    }

    /// Name and text of its manifests, in order of path.
    ///
    /// # Errors
    /// If one cannot be read, or there is none.
    pub fn manifests(&self) -> Result<Vec<(String, String)>, LoadError> {
        match &self.folder {
            Some(folder) => load::texts(&folder.join(MANIFESTS)),
            None => {
                let own = |(file, text): (&str, &str)| (file.to_owned(), text.to_owned());
                Ok(gateproof_suites::manifests_of(self.dialect.name()).into_iter().map(own).collect())
            }
        }
    }

    /// The edition, unless it is the one that is meant first.
    pub fn other_edition(&self) -> Option<&str> {
        let first = self.dialect.editions().first().map(String::as_str);
        self.vocabulary.edition.name().filter(|edition| Some(*edition) != first)
    }

    /// The clause of this ID.
    pub fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }
}

/// The edition that is asked for, or else the first that there is.
fn edition_of<'a>(dialect: &'a Dialect, asked: Option<&str>) -> Result<Option<&'a str>, SuiteError> {
    let known = dialect.editions();
    let Some(asked) = asked else { return Ok(known.first().map(String::as_str)) };
    match known.iter().find(|known| *known == asked) {
        Some(edition) => Ok(Some(edition)),
        None => Err(SuiteError::NoEdition {
            dialect: dialect.name().to_owned(),
            edition: asked.to_owned(),
            known: known.to_vec(),
        }),
    }
}

fn read_requirements(path: PathBuf, text: &str, dialect: &Dialect) -> Result<Vec<Requirement>, SuiteError> {
    let read: Vec<Requirement> = match serde_yaml::from_str(text) {
        Ok(read) => read,
        Err(error) => return Err(SuiteError::Requirements { path, error: Box::new(error) }),
    };
    if let Some(one) = read.iter().find(|one| one.editions.as_ref().is_some_and(Vec::is_empty)) {
        return Err(SuiteError::ClauseOfNone { path, clause: one.id.clone() });
    }
    let named = read.iter().flat_map(|one| one.editions.iter().flatten().map(|edition| (&one.id, edition)));
    match named.into_iter().find(|(_, edition)| !dialect.editions().contains(edition)) {
        Some((clause, edition)) => {
            Err(SuiteError::ClauseOfNoEdition { path, clause: clause.clone(), edition: edition.clone() })
        }
        None => Ok(read),
    }
}

/// The scenario of a file that has one and no more.
fn one_scenario(path: &Path, text: &str, vocabulary: &Vocabulary) -> Result<Scenario, SuiteError> {
    let file = path.display().to_string();
    let wrong = |why: String| SuiteError::Canary(why);
    let parsed = parse(&file, text, vocabulary)
        .map_err(|problems| wrong(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))?;
    let count = parsed.len();
    let [one] = <[Scenario; 1]>::try_from(parsed)
        .map_err(|_| wrong(format!("{file}: there has to be one scenario in it, and there are {count}")))?;
    Ok(one)
}
