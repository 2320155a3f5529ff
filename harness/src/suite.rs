//! What a target of a dialect is judged by: the suite of Gateway API, which is built in, or one that stands in a folder.

mod canary;
mod clauses;
mod definitions;
mod digest;
mod error;
mod kubernetes;
mod made;
mod profiles;
mod services;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gateproof_suites::Requirement;
use gateproof_suites::dialects::{DialectFiles, OTHERS};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::schemas::Schemas;
use crate::dialects::{Dialect, DialectFeature, Edition, Reference, StatusList};
use crate::judge::contract::{Contract, GATEWAY_API};
use crate::scenario::lint::{Saying, Sayings};
use crate::scenario::load::{self, LoadError};
use crate::scenario::{Diagnostic, Scenario, Verb, Vocabulary, line_of, lint, nearest, parse};

pub use clauses::Said;
use definitions::Editions;
pub use error::SuiteError;
use services::Services;

/// The files of a suite in a folder.
const DIALECT: &str = "dialect.yaml";
const CONTRACT: &str = "contract.yaml";
const REQUIREMENTS: &str = "requirements.yaml";
const FEATURES: &str = "features.yaml";
const SERVICES: &str = "services.yaml";
const PROFILES: &str = "profiles.yaml";
const DEFINITIONS: &str = "crds.yaml";
const CANARY: &str = "canary.yaml";
const PREFLIGHT: &str = "preflight.yaml";
const MANIFESTS: &str = "manifests";

/// All that a folder may have, but for the definitions of its editions.
const FILES: [&str; 9] =
    [DIALECT, CONTRACT, REQUIREMENTS, FEATURES, SERVICES, PROFILES, DEFINITIONS, CANARY, PREFLIGHT];

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
    /// What a target may support or not, as its user says, and scenarios need.
    pub features: Vec<DialectFeature>,
    /// What its scripted services take for rules.
    services: Services,
    /// The definitions of its kinds in the edition that is meant, as far as they are known: none of what is built in.
    pub definitions: Vec<Value>,
    /// Those that hold in other editions, if they are other ones.
    definitions_of_others: Vec<Vec<Value>>,
    /// The contract as other editions have it, if there are any.
    contract_of_others: Vec<Arc<Contract>>,
    /// What a cluster has to pass before anything else is applied to it.
    pub canary: Option<Arc<Scenario>>,
    /// What a cluster is asked before any scenario, by way of what traffic comes in by.
    pub preflight: Option<Arc<Scenario>>,
    /// The folder; none if it is built in.
    folder: Option<PathBuf>,
}

impl Suite {
    /// That of Gateway API.
    ///
    /// # Errors
    /// A mistake of ours; there is none in a tested build.
    pub fn gateway_api() -> Result<Suite, SuiteError> {
        let wrong = |error| SuiteError::Contract { path: CONTRACT.into(), line: None, error: Box::new(error) };
        let vocabulary = Vocabulary::builtin();
        let text = gateproof_suites::dialects::GATEWAY_API_PREFLIGHT;
        Ok(Suite {
            dialect: Dialect::gateway_api(),
            contract: Arc::new(Contract::parse(GATEWAY_API).map_err(wrong)?),
            preflight: Some(Arc::new(read_preflight(Path::new(PREFLIGHT), text, &vocabulary)?)),
            vocabulary,
            requirements: gateproof_suites::requirements().to_vec(),
            features: Vec::new(),
            services: Services::default(),
            definitions: Vec::new(),
            definitions_of_others: Vec::new(),
            contract_of_others: Vec::new(),
            canary: None,
            folder: None,
        })
    }

    /// Reads that of a folder: `dialect.yaml` and `contract.yaml`, `requirements.yaml` if it names clauses, `features.yaml`, `services.yaml`, `profiles.yaml`,
    /// `crds.yaml` (`crds.EDITION.yaml` where an edition has it otherwise), `canary.yaml` and `preflight.yaml` if it has them, and below `manifests` its scenarios.
    ///
    /// # Errors
    /// A file that is missing, or one with something that is not known, with its place.
    pub fn read(folder: &Path, edition: Option<&str>) -> Result<Suite, SuiteError> {
        Suite::read_beside(folder, edition, None)
    }

    /// The same one held against the definitions that a target serves of its kinds.
    ///
    /// # Errors
    /// As [`Suite::read`]: what none of them has, for example.
    pub fn held_against(&self, served: Vec<Value>) -> Result<Suite, SuiteError> {
        match &self.folder {
            Some(folder) => Suite::read_beside(folder, self.vocabulary.edition.name(), Some(served)),
            None => Ok(self.clone()),
        }
    }

    /// Whether nothing of it says how its kinds are defined, so that a target has to tell.
    pub fn is_undefined(&self) -> bool {
        self.folder.is_some() && self.definitions_of_editions().all(<[Value]>::is_empty)
    }

    fn read_beside(folder: &Path, edition: Option<&str>, served: Option<Vec<Value>>) -> Result<Suite, SuiteError> {
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
        let files = Files {
            dialect: text(DIALECT)?,
            contract: text(CONTRACT)?,
            requirements: optional(REQUIREMENTS)?,
            features: optional(FEATURES)?,
            services: optional(SERVICES)?,
            profiles: optional(PROFILES)?,
            definitions: optional(DEFINITIONS)?,
            definitions_of_editions: definitions::of_editions(folder)?,
            served,
            canary: optional(CANARY)?,
            preflight: optional(PREFLIGHT)?,
        };
        files_are_known(folder)?;
        let (profiles, (_, dialect_text)) = (files.profiles.clone(), files.dialect.clone());
        let single = [files.canary.clone(), files.preflight.clone()];
        let mut suite = files.assemble(edition)?;
        definitions::hold_entries(&suite.definitions, &suite.dialect, &folder.join(DIALECT), &dialect_text)?;
        single.into_iter().flatten().try_for_each(|file| hold_objects(&file, &suite))?;
        canary::hold(&suite, &folder.join(CANARY))?;
        suite.folder = Some(folder.to_owned());
        // Without manifests there is nothing to be told of but that.
        if let (Some(file), Ok(manifests)) = (profiles, suite.manifests()) {
            profiles::hold(&file, &suite.vocabulary.profiles, &manifests)?;
        }
        Ok(suite)
    }

    /// Reads that of a folder for commands that name a dialect in what they write.
    ///
    /// # Errors
    /// As [`Suite::read`], or it calls itself as one that is built in: a log or a report could be of either.
    pub fn beside_built_in(folder: &Path, edition: Option<&str>) -> Result<Suite, SuiteError> {
        let suite = Suite::read(folder, edition)?;
        let name = suite.dialect.name();
        if Suite::names().all(|built_in| built_in != name) {
            return Ok(suite);
        }
        let path = folder.join(DIALECT);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = line_of(&text, &["metadata", "name"].map(str::to_owned));
        Err(SuiteError::BuiltIn { path, line, name: name.to_owned() })
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
            return Some(edition_of(&Dialect::gateway_api(), edition).and_then(|_| Suite::gateway_api()));
        }
        let DialectFiles { dialect, contract, requirements, features, services, canary, preflight, .. } =
            OTHERS.into_iter().find(|other| other.name == name)?;
        let file = |file: &str, text: &str| (Path::new(name).join(file), text.to_owned());
        let files = Files {
            dialect: file(DIALECT, dialect),
            contract: file(CONTRACT, contract),
            requirements: Some(file(REQUIREMENTS, requirements)),
            features: features.map(|text| file(FEATURES, text)),
            services: services.map(|text| file(SERVICES, text)),
            profiles: None,
            definitions: None,
            definitions_of_editions: Vec::new(),
            served: None,
            canary: canary.map(|text| file(CANARY, text)),
            preflight: preflight.map(|text| file(PREFLIGHT, text)),
        };
        Some(files.assemble(edition))
    }

    /// The names of those that are built in.
    pub fn names() -> impl Iterator<Item = String> {
        std::iter::once(Dialect::gateway_api().name().to_owned())
            .chain(OTHERS.iter().map(|other| other.name.to_owned()))
    }

    /// The folder that it was read from; none if it is built in.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
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

    /// Sets of definitions of its kinds, those of the edition that is meant first, as far as they are known: a manifest may hold what any
    /// edition has.
    pub fn definitions_of_editions(&self) -> impl Iterator<Item = &[Value]> {
        std::iter::once(&self.definitions).chain(&self.definitions_of_others).map(Vec::as_slice)
    }

    /// The edition, unless it is the one that is meant first.
    pub fn other_edition(&self) -> Option<&str> {
        let first = self.dialect.editions().first().map(String::as_str);
        self.vocabulary.edition.name().filter(|edition| Some(*edition) != first)
    }

    /// The name that a feature goes by today: another one only for what was renamed.
    pub fn current_feature<'n>(&self, name: &'n str) -> &'n str {
        if self.vocabulary.features.contains(name) { name } else { gateproof_suites::current_name(name) }
    }

    /// The clause of this ID.
    pub fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| requirement.id == id)
    }
}

/// What conditions may say in any edition: a manifest may hold what one of them has.
impl Sayings for Suite {
    fn saying(&self, kind: &str, type_: &str, lists: &[StatusList]) -> Option<Saying> {
        let contracts = std::iter::once(&self.contract).chain(&self.contract_of_others);
        let each: Option<Vec<Saying>> = contracts.map(|contract| contract.saying(kind, type_, lists)).collect();
        each?.into_iter().reduce(Saying::or)
    }
}

/// A file's path and text.
type File = (PathBuf, String);

/// What stands in the folder of a dialect beside its scenarios.
struct Files {
    dialect: File,
    contract: File,
    requirements: Option<File>,
    features: Option<File>,
    services: Option<File>,
    profiles: Option<File>,
    definitions: Option<File>,
    definitions_of_editions: Vec<(String, File)>,
    /// What a target serves, where no file says it.
    served: Option<Vec<Value>>,
    canary: Option<File>,
    preflight: Option<File>,
}

impl Files {
    /// What they come to in an edition, in no folder yet.
    fn assemble(self, edition: Option<&str>) -> Result<Suite, SuiteError> {
        let Files { dialect: (path, dialect_text), contract: (contract_path, contract_text), .. } = self;
        let plain = Dialect::parse(&dialect_text).map_err(|error| {
            let line = line_of(&dialect_text, &error.at());
            SuiteError::Dialect { path: path.clone(), line, error: error.into() }
        })?;
        let named = edition_of(&plain, edition)?.map(str::to_owned);
        let others = plain.editions().iter().filter(|other| Some(*other) != named.as_ref());
        // What is wrong with one is told where that edition is meant.
        let contract_of_others = others.filter_map(|other| {
            let dialect = Arc::new(plain.clone().in_edition(Some(other)));
            Contract::of(dialect, Some(other), &contract_text).ok().map(Arc::new)
        });
        let contract_of_others = contract_of_others.collect();
        let (dialect, edition) = (Arc::new(plain.in_edition(named.as_deref())), named.as_deref());
        let contract = Contract::of(Arc::clone(&dialect), edition, &contract_text).map_err(|error| {
            let line = nearest(&contract_text, &and_of_edition(error.at(), edition));
            SuiteError::Contract { path: contract_path.clone(), line, error: error.into() }
        })?;
        let (whole, single) = (self.definitions.as_ref(), &self.definitions_of_editions);
        let mut all = Editions::of(whole, single, &dialect, edition)?;
        if let Some(served) = self.served {
            all.take_served(served);
        }
        definitions::hold(all.named(), &dialect, &path, &dialect_text)?;
        definitions::hold_releases(all.named(), &dialect, &path, &dialect_text)?;
        definitions::hold_pointers(all.named(), &dialect, &path, &dialect_text)?;
        made::hold(all.named(), &dialect, &path, &dialect_text)?;
        definitions::hold_places(all.named(), &contract, &contract_path, &contract_text)?;
        let requirements = match self.requirements {
            Some((path, text)) => read_requirements(path, &text, &dialect)?,
            None => Vec::new(),
        };
        clauses::hold(&dialect, (&path, &dialect_text), &contract, (&contract_path, &contract_text), &requirements)?;
        let features = match self.features {
            Some((path, text)) => read_features(path, &text)?,
            None => Vec::new(),
        };
        let services = self.services.map(|file| services::read(&file, &dialect)).transpose()?.unwrap_or_default();
        let profiles =
            self.profiles.map(|file| profiles::read(&file, &features, &requirements)).transpose()?.unwrap_or_default();
        let names = features.iter().map(|feature| feature.name.clone()).collect();
        let clauses = requirements.iter().map(|requirement| requirement.id.clone()).collect();
        let mut vocabulary = Vocabulary::of(Arc::clone(&dialect), names, clauses);
        vocabulary.profiles = profiles;
        if let Some(edition) = edition {
            vocabulary.edition = Edition::of(edition, &requirements);
        }
        let contract = Arc::new(contract.without(|clause| vocabulary.edition.is_elsewhere(clause)));
        let canary = self.canary.map(|(path, text)| one_scenario(&path, &text, &vocabulary)).transpose()?.map(Arc::new);
        let preflight =
            self.preflight.map(|(path, text)| read_preflight(&path, &text, &vocabulary)).transpose()?.map(Arc::new);
        let Editions { meant: definitions, others: definitions_of_others, .. } = all;
        Ok(Suite {
            vocabulary,
            dialect,
            contract,
            requirements,
            features,
            services,
            definitions,
            definitions_of_others,
            contract_of_others,
            canary,
            preflight,
            folder: None,
        })
    }
}

/// The places of a contract, and the same ones in what an edition has otherwise.
fn and_of_edition(mut at: Vec<Vec<String>>, edition: Option<&str>) -> Vec<Vec<String>> {
    let Some(edition) = edition else { return at };
    let within = |path: &Vec<String>| {
        let rest = path.strip_prefix(&["spec".to_owned()])?;
        Some([&["spec", "editions", edition].map(str::to_owned), rest].concat())
    };
    let others: Vec<_> = at.iter().filter_map(within).collect();
    at.extend(others);
    at
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

fn read_table<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<T>, SuiteError> {
    let wrong = |error| SuiteError::Table { path: path.to_owned(), error: Box::new(error) };
    serde_yaml::from_str(text).map_err(wrong)
}

fn read_features(path: PathBuf, text: &str) -> Result<Vec<DialectFeature>, SuiteError> {
    let read: Vec<DialectFeature> = read_table(&path, text)?;
    let wrong = |(at, one): (usize, &DialectFeature)| {
        let twice = read[..at].iter().any(|other| other.name == one.name);
        (twice || !one.can_be_named()).then(|| one.name.clone())
    };
    match read.iter().enumerate().find_map(wrong) {
        Some(name) => {
            let line = line_of(text, &[format!("name={name}")]);
            Err(SuiteError::Feature { path, line, name })
        }
        None => Ok(read),
    }
}

fn read_requirements(path: PathBuf, text: &str, dialect: &Dialect) -> Result<Vec<Requirement>, SuiteError> {
    let read: Vec<Requirement> = read_table(&path, text)?;
    clauses::once(&path, text, &read)?;
    if let Some(one) = read.iter().find(|one| one.editions.as_ref().is_some_and(Vec::is_empty)) {
        let line = line_of(text, &[format!("id={}", one.id), "editions".to_owned()]);
        return Err(SuiteError::ClauseOfNone { path, line, clause: one.id.clone() });
    }
    let named = read.iter().flat_map(|one| one.editions.iter().flatten().map(|edition| (&one.id, edition)));
    match named.into_iter().find(|(_, edition)| !dialect.editions().contains(edition)) {
        Some((clause, edition)) => {
            let line = line_of(text, &[format!("id={clause}"), "editions".to_owned(), edition.clone()]);
            Err(SuiteError::ClauseOfNoEdition { path, line, clause: clause.clone(), edition: edition.clone() })
        }
        None => Ok(read),
    }
}

/// The scenario of a file that has one and no more.
fn one_scenario(path: &Path, text: &str, vocabulary: &Vocabulary) -> Result<Scenario, SuiteError> {
    let file = path.display().to_string();
    let wrong = |why: String| SuiteError::Scenario(why);
    let parsed = parse(&file, text, vocabulary).map_err(|problems| told(&problems))?;
    let (count, second) = (parsed.len(), parsed.get(1).and_then(|second| second.steps.first()));
    let line = second.map(|step| format!(":{}", step.place.line)).unwrap_or_default();
    let [one] = <[Scenario; 1]>::try_from(parsed).map_err(|_| {
        wrong(format!("{file}{line}: there has to be one scenario in it, and there are {count}; leave the others out"))
    })?;
    Ok(one)
}

/// Problems of a file that has a scenario of its own, each with its place.
fn told(problems: &[Diagnostic]) -> SuiteError {
    let one = |one: &Diagnostic| {
        let help = one.help.iter().map(|help| format!("; {help}")).collect::<String>();
        format!("{}:{}:{}: {}{help}", one.file, one.line, one.column, one.message)
    };
    SuiteError::Scenario(problems.iter().map(one).collect::<Vec<_>>().join("\n"))
}

/// Refuses what would be passed by without a word: YAML of another name, such as a canary that is called `canary.yml`.
fn files_are_known(folder: &Path) -> Result<(), SuiteError> {
    let wrong = |source| SuiteError::Read { path: folder.to_owned(), source };
    let mut unknown = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        if is_yaml && !name.starts_with('.') && !FILES.contains(&name) && definitions::edition_of(name).is_none() {
            unknown.push(path);
        }
    }
    match unknown.into_iter().min() {
        Some(path) => Err(SuiteError::UnknownFile { path }),
        None => Ok(()),
    }
}

/// Whether the objects of a file that has a scenario of its own are as their definitions are, as those of the manifests have to be.
fn hold_objects((path, text): &File, suite: &Suite) -> Result<(), SuiteError> {
    let schemas = Schemas::with(suite.definitions_of_editions());
    let file = path.display().to_string();
    let mut problems = lint::objects(&file, text, &schemas, &suite.dialect);
    problems.extend(lint::said(&file, text, suite, &suite.dialect));
    problems.extend(lint::scripts(&file, text, suite));
    if problems.is_empty() { Ok(()) } else { Err(told(&problems)) }
}

/// A scenario that asks one entry.
fn read_preflight(path: &Path, text: &str, vocabulary: &Vocabulary) -> Result<Scenario, SuiteError> {
    let scenario = one_scenario(path, text, vocabulary)?;
    let probes = scenario.steps.iter().any(|step| matches!(step.verb, Verb::Probe(_)));
    if scenario.gateways.len() == 1 && probes {
        return Ok(scenario);
    }
    let why = "it is to have one entry in `gateways`, and a step that probes it";
    let line = line_of(text, &["spec", "steps"].map(str::to_owned)).map(|line| format!(":{line}"));
    Err(SuiteError::Scenario(format!("{}{}: {why}", path.display(), line.unwrap_or_default())))
}

#[cfg(test)]
#[path = "suite/words_tests.rs"]
mod words_tests;
