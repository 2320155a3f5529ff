//! What a target of a dialect is judged by: the suite of Gateway API, which is built in, or one that stands in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof_suites::Requirement;

use crate::dialects::{Dialect, DialectError};
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
        let (path, dialect) = text(DIALECT)?;
        let dialect =
            Arc::new(Dialect::parse(&dialect).map_err(|error| SuiteError::Dialect { path, error: error.into() })?);
        let (path, contract) = text(CONTRACT)?;
        let contract = Contract::of(Arc::clone(&dialect), &contract)
            .map_err(|error| SuiteError::Contract { path, error: error.into() })?;
        let requirements: Vec<Requirement> = match text(REQUIREMENTS) {
            Ok((path, text)) => serde_yaml::from_str(&text)
                .map_err(|error| SuiteError::Requirements { path, error: Box::new(error) })?,
            Err(SuiteError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let clauses = requirements.iter().map(|requirement| requirement.id.clone()).collect();
        Ok(Suite {
            vocabulary: Vocabulary::of(Arc::clone(&dialect), Default::default(), clauses),
            dialect,
            contract: Arc::new(contract),
            requirements,
            folder: Some(folder.to_owned()),
        })
    }

    /// Whether it is built in, so that there is an embedded target for it.
    pub fn is_built_in(&self) -> bool {
        self.folder.is_none()
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
                Ok(gateproof_suites::manifests().into_iter().map(own).collect())
            }
        }
    }

    /// The clause of this ID.
    pub fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }
}
