//! `--dialect NAME|DIR`: which status language the target speaks, and what it is judged by.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::dialects::Dialect;
use crate::scenario::suggest;
use crate::suite::{Suite, SuiteError};

/// Which dialect.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DialectArg {
    /// Status language of the target: the name of a built-in one, or a folder with one of your own; for `run` also several, with commas
    #[arg(long = "dialect", value_name = "NAME|DIR", default_value = "gateway-api", value_delimiter = ',')]
    pub(crate) dialects: Vec<String>,

    /// Edition of the dialect, where its document and what is shipped differ, such as `design`; what is shipped unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) edition: Option<String>,
}

impl DialectArg {
    /// What a target that speaks it is judged by.
    pub(crate) fn suite(&self) -> Result<Suite, Failure> {
        let [dialect] = &self.dialects[..] else {
            let several = self.dialects.join(", ");
            let help = "`gateproof run` takes several; ask for each by itself here";
            return Err(Failure::usage(
                format!("there is room for one dialect, and these are several: {several}"),
                help,
            ));
        };
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
        Suite::read(folder, edition).map_err(unreadable)
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
        let dialect = self.words().map(|dialect| format!("--dialect {dialect}"));
        let edition = self.edition.as_ref().map(|edition| format!("--edition {edition}"));
        dialect.into_iter().chain(edition).collect::<Vec<_>>().join(" ")
    }

    /// The words that choose it, unless it goes without saying.
    pub(crate) fn words(&self) -> Option<&str> {
        self.dialects.first().map(String::as_str).filter(|dialect| *dialect != Dialect::gateway_api().name())
    }
}

fn unreadable(error: SuiteError) -> Failure {
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
