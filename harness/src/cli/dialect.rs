//! `--dialect NAME|DIR`: which status language the target speaks, and what it is judged by.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::dialects::Dialect;
use crate::scenario::suggest;
use crate::suite::{Suite, SuiteError};

/// Which dialect.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DialectArg {
    /// Status language of the target: the name of a built-in one, or a folder with one of your own
    #[arg(long, value_name = "NAME|DIR", default_value = "gateway-api")]
    pub(crate) dialect: String,
}

impl DialectArg {
    /// What a target that speaks it is judged by.
    pub(crate) fn suite(&self) -> Result<Suite, Failure> {
        if let Some(suite) = Suite::named(&self.dialect) {
            return suite.map_err(|error| Failure::usage(error, "this is a mistake of gateproof; please report it"));
        }
        let folder = Path::new(&self.dialect);
        if !folder.is_dir() {
            let names: Vec<String> = Suite::names().collect();
            let near = suggest(&self.dialect, names.iter().map(String::as_str));
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = format!("{near}name a folder with a dialect.yaml, or {}", names.join(" or "));
            return Err(Failure::usage(format!("there is no dialect `{}`, and no such folder", self.dialect), help));
        }
        Suite::read(folder).map_err(unreadable)
    }

    /// The words that choose it, unless it goes without saying.
    pub(crate) fn words(&self) -> Option<&str> {
        (self.dialect != Dialect::gateway_api().name()).then_some(&self.dialect)
    }
}

fn unreadable(error: SuiteError) -> Failure {
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
