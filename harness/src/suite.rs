//! What a target of a dialect is judged by: the suite of Gateway API, which is built in, or one that stands in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof_suites::Requirement;
use gateproof_suites::dialects::{DialectFiles, OTHERS};

use crate::dialects::{Dialect, DialectError, Reference};
use crate::judge::contract::{Contract, ContractError, GATEWAY_API};
use crate::scenario::Vocabulary;
use crate::scenario::load::{self, LoadError};

/// The files of a suite in a folder.
const DIALECT: &str = "dialect.yaml";
const CONTRACT: &str = "contract.yaml";
const REQUIREMENTS: &str = "requirements.yaml";
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
            folder: None,
        })
    }

    /// Reads that of a folder: `dialect.yaml` and `contract.yaml`, `requirements.yaml` if it names clauses, and below `manifests` its
    /// scenarios.
    ///
    /// # Errors
    /// A file that is missing, or one with something that is not known, with its place.
    pub fn read(folder: &Path) -> Result<Suite, SuiteError> {
        let text = |name: &str| {
            let path = folder.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok((path, text)),
                Err(source) => Err(SuiteError::Read { path, source }),
            }
        };
        let requirements = match text(REQUIREMENTS) {
            Ok(found) => Some(found),
            Err(SuiteError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Suite::assembled(text(DIALECT)?, text(CONTRACT)?, requirements, Some(folder.to_owned()))
    }

    /// The built-in one of this name, if there is one.
    ///
    /// # Errors
    /// A mistake of ours; there is none in a tested build.
    pub fn named(name: &str) -> Option<Result<Suite, SuiteError>> {
        if name == Dialect::gateway_api().name() {
            let wrong = |error| SuiteError::Contract { path: CONTRACT.into(), error: Box::new(error) };
            return Some(Suite::gateway_api().map_err(wrong));
        }
        let DialectFiles { dialect, contract, requirements, .. } =
            OTHERS.into_iter().find(|other| other.name == name)?;
        let file = |file: &str, text: &str| (Path::new(name).join(file), text.to_owned());
        let requirements = Some(file(REQUIREMENTS, requirements));
        Some(Suite::assembled(file(DIALECT, dialect), file(CONTRACT, contract), requirements, None))
    }

    /// The names of those that are built in.
    pub fn names() -> impl Iterator<Item = String> {
        std::iter::once(Dialect::gateway_api().name().to_owned())
            .chain(OTHERS.iter().map(|other| other.name.to_owned()))
    }

    /// Of files that were read.
    fn assembled(
        (path, dialect): (PathBuf, String),
        (contract_path, contract): (PathBuf, String),
        requirements: Option<(PathBuf, String)>,
        folder: Option<PathBuf>,
    ) -> Result<Suite, SuiteError> {
        let dialect =
            Arc::new(Dialect::parse(&dialect).map_err(|error| SuiteError::Dialect { path, error: error.into() })?);
        let contract = Contract::of(Arc::clone(&dialect), &contract)
            .map_err(|error| SuiteError::Contract { path: contract_path, error: error.into() })?;
        let requirements: Vec<Requirement> = match requirements {
            Some((path, text)) => serde_yaml::from_str(&text)
                .map_err(|error| SuiteError::Requirements { path, error: Box::new(error) })?,
            None => Vec::new(),
        };
        let clauses = requirements.iter().map(|requirement| requirement.id.clone()).collect();
        Ok(Suite {
            vocabulary: Vocabulary::of(Arc::clone(&dialect), Default::default(), clauses),
            dialect,
            contract: Arc::new(contract),
            requirements,
            folder,
        })
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

    /// The clause of this ID.
    pub fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }
}
