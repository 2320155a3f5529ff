//! `--dialect NAME|DIR`: which status language the target speaks, and what it is judged by.

use std::path::{Path, PathBuf};
use std::sync::Once;

use super::Failure;
use super::output::tell;
use crate::dialects::Dialect;
use crate::scenario::suggest;
use crate::suite::{Suite, SuiteError};

/// Which dialect.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DialectArg {
    /// Status language of the target: the name of a built-in one, or a folder with one of your own; or several, with commas
    #[arg(long = "dialect", value_name = "NAME|DIR", default_value = "gateway-api", value_delimiter = ',')]
    pub(crate) dialects: Vec<String>,

    /// Edition of the dialect, where its document and what is shipped differ, such as `design`; what is shipped unless given. Of
    /// several dialects it is that of those that have it, and the others stay as they are
    #[arg(long, value_name = "NAME")]
    pub(crate) edition: Option<String>,
}

impl DialectArg {
    /// What a target that speaks it is judged by.
    pub(crate) fn suite(&self) -> Result<Suite, Failure> {
        let [dialect] = &self.dialects[..] else {
            let several = self.dialects.join(", ");
            let help = "name one; a run of several has a folder of reports for each";
            return Err(Failure::usage(
                format!("there is room for one dialect, and these are several: {several}"),
                help,
            ));
        };
        if dialect.is_empty() {
            return Err(Failure::usage(
                "one of the names behind --dialect is empty",
                format!(
                    "write --dialect NAME or --dialect NAME,NAME; there are {}",
                    Suite::names().collect::<Vec<_>>().join(", ")
                ),
            ));
        }
        let edition = self.edition.as_deref();
        if let Some(suite) = Suite::named_in(dialect, edition) {
            return suite.map_err(|error| match error {
                SuiteError::NoEdition { .. } => unreadable(error),
                error => Failure::usage(error, "this is a mistake of gateproof; please report it"),
            });
        }
        let folder = Path::new(dialect);
        if !folder.is_dir() {
            let names: Vec<String> = Suite::names().collect();
            let near = suggest(dialect, names.iter().map(String::as_str));
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = format!("{near}name a folder with a dialect.yaml, or {}", names.join(" or "));
            return Err(Failure::usage(format!("there is no dialect `{dialect}`, and no such folder"), help));
        }
        Suite::beside_built_in(folder, edition).map_err(unreadable)
    }

    /// Whether it is more than one.
    pub(crate) fn are_several(&self) -> bool {
        self.dialects.len() > 1
    }

    /// Each by itself, with what its target is judged by. An edition that is named is that of those that have it.
    pub(crate) fn each(&self) -> Result<Vec<(DialectArg, Suite)>, Failure> {
        let shipped = |dialect: &String| DialectArg { dialects: vec![dialect.clone()], edition: None };
        let mut each = Vec::new();
        for shipped in self.dialects.iter().map(shipped) {
            let suite = shipped.suite()?;
            each.push((shipped, suite));
        }
        if let Some(edition) = &self.edition {
            let has_it = |suite: &Suite| suite.dialect.editions().contains(edition);
            let nobody_has_it = !each.iter().any(|(_, suite)| has_it(suite));
            if let Some(note) = without_edition(edition, each.iter().map(|(_, suite)| &*suite.dialect)) {
                // Some verbs ask more than once.
                static TOLD: Once = Once::new();
                TOLD.call_once(|| tell!("{note}"));
            }
            for (dialect, suite) in &mut each {
                // What none of them has is told by the first.
                if nobody_has_it || has_it(suite) {
                    dialect.edition = Some(edition.clone());
                    *suite = dialect.suite()?;
                }
            }
        }
        let name = |one: &(DialectArg, Suite)| one.1.dialect.name().to_owned();
        let twice =
            each.iter().enumerate().find(|(index, one)| each[..*index].iter().any(|other| name(other) == name(one)));
        if let Some((_, twice)) = twice {
            let problem = format!("--dialect names `{}` twice", name(twice));
            return Err(Failure::usage(problem, "what is said of each goes by its name; nothing was applied"));
        }
        Ok(each)
    }

    /// That of each edition, the one that is meant first; of one that is named alone.
    pub(crate) fn suites(&self) -> Result<Vec<Suite>, Failure> {
        let first = self.suite()?;
        let others: &[String] = if self.edition.is_some() { &[] } else { first.dialect.editions() };
        let in_edition = |edition: &String| DialectArg { edition: Some(edition.clone()), ..self.clone() }.suite();
        let others: Vec<Suite> = others.iter().skip(1).map(in_edition).collect::<Result<_, _>>()?;
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// The options that choose it and its edition, unless they go without saying.
    pub(crate) fn options(&self) -> String {
        let several = self.are_several().then(|| self.dialects.join(","));
        let dialect = several.or_else(|| self.words().map(str::to_owned));
        let dialect = dialect.map(|dialect| format!("--dialect {dialect}"));
        let edition = self.edition.as_ref().map(|edition| format!("--edition {edition}"));
        dialect.into_iter().chain(edition).collect::<Vec<_>>().join(" ")
    }

    /// The words that choose it, unless it goes without saying.
    pub(crate) fn words(&self) -> Option<&str> {
        self.dialects.first().map(String::as_str).filter(|dialect| *dialect != Dialect::gateway_api().name())
    }
}

/// Which of several dialects an edition is one of and which it is not, if there are both.
fn without_edition<'d>(edition: &str, dialects: impl Iterator<Item = &'d Dialect>) -> Option<String> {
    let (with, without): (Vec<&Dialect>, Vec<&Dialect>) =
        dialects.partition(|dialect| dialect.editions().iter().any(|known| known == edition));
    let names = |all: &[&Dialect]| all.iter().map(|dialect| dialect.name().to_owned()).collect::<Vec<_>>().join(", ");
    let (with, without) = (names(&with), names(&without));
    let both = !with.is_empty() && !without.is_empty();
    both.then(|| format!("--edition {edition} is for what has it: {with}; asked without it: {without}"))
}

pub(super) fn unreadable(error: SuiteError) -> Failure {
    if let SuiteError::NoEdition { edition, known, .. } = &error {
        let near = suggest(edition, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let help = match known.is_empty() {
            true => "leave out --edition; nothing was applied".to_owned(),
            false => format!("{near}it has {}; nothing was applied", known.join(" and ")),
        };
        return Failure::usage(error, help);
    }
    let help = "nothing was applied; docs/dialects.md says what stands in the folder of a dialect";
    Failure::usage(error, help)
}

/// Where a cluster is when no class says that it is meant: only a name that the user wrote counts.
pub(crate) fn named_cluster(kubeconfig: Option<&PathBuf>, context: Option<&String>) -> Option<String> {
    match (context, kubeconfig) {
        (Some(context), _) => Some(format!("context {context}")),
        (None, Some(file)) => Some(format!("kubeconfig {}", file.display())),
        (None, None) => None,
    }
}
