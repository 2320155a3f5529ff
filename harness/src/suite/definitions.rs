//! What the definitions of a dialect say of its other files: a misspelt plural or place would be looked for in vain.

use std::path::Path;

use gateproof_apiserver::crds::parse_bundle;
use serde_json::Value;

use super::error::SuiteError;
use super::{DEFINITIONS, File};
use crate::cluster::schemas::Schemas;
use crate::dialects::{Dialect, DialectKind, Scope};
use crate::judge::contract::Contract;
use crate::scenario::lint::ObjectSchemas;

/// Reads them.
pub(super) fn read((path, text): File) -> Result<Vec<Value>, SuiteError> {
    match parse_bundle(&text) {
        Ok(bundle) => Ok(bundle.definitions),
        Err(error) => Err(SuiteError::Definitions { path, error: Box::new(error) }),
    }
}

/// Holds the kinds of a dialect against the definitions of their groups.
pub(super) fn hold(definitions: &[Value], dialect: &Dialect, path: &Path) -> Result<(), SuiteError> {
    let wrong = dialect.kinds().find_map(|kind| problem(definitions, kind, dialect.group_of(&kind.kind)));
    match wrong {
        Some(problem) => Err(SuiteError::Undefined { path: path.to_owned(), line: None, problem }),
        None => Ok(()),
    }
}

fn problem(definitions: &[Value], kind: &DialectKind, group: &str) -> Option<String> {
    let mut of_group = definitions.iter().filter(|one| one["spec"]["group"] == group).peekable();
    // Who defines a group elsewhere, as Kubernetes does, need not do so here.
    of_group.peek()?;
    let DialectKind { kind, plural, scope, .. } = kind;
    let Some(found) = of_group.find(|one| one["spec"]["names"]["kind"] == kind.as_str()) else {
        return Some(format!("{DEFINITIONS} defines kinds of the group `{group}`, and no {kind}"));
    };
    let differs = |what: &str, said: &str, pointer: &str| {
        let defined = found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        (defined != said).then(|| format!("{kind} has the {what} `{said}` here, and `{defined}` in {DEFINITIONS}"))
    };
    let scope = match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    differs("plural", plural, "/spec/names/plural").or_else(|| differs("scope", scope, "/spec/scope"))
}

/// Holds the places of a contract against the schemas of its kinds.
pub(super) fn hold_places(
    definitions: &[Value],
    contract: &Contract,
    path: &Path,
    text: &str,
) -> Result<(), SuiteError> {
    let schemas = Schemas::with([definitions]);
    for (kind, pointer) in contract.places() {
        if let Some(missing) = schemas.missing_at(kind, pointer) {
            let line = text.lines().position(|line| line.contains(pointer)).map(|line| line + 1);
            let problem = format!("{kind} has nothing at `{missing}`, by its definition in {DEFINITIONS}");
            return Err(SuiteError::Undefined { path: path.to_owned(), line, problem });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;
    use crate::run::embedded;
    use crate::suite::Suite;

    /// What is built in is not held at every start.
    #[rstest]
    #[case::gateway_api("gateway-api", None)]
    #[case::aso("aso", Some("current"))]
    #[case::aso_as_designed("aso", Some("design"))]
    #[case::kuadrant("kuadrant", Some("current"))]
    #[case::kuadrant_as_designed("kuadrant", Some("design"))]
    fn what_is_built_in_is_as_its_definitions_are(#[case] name: &str, #[case] edition: Option<&str>) {
        let suite = Suite::named_in(name, edition).unwrap().unwrap();
        let definitions = embedded::definitions(suite.reference().unwrap(), edition);
        hold(&definitions, &suite.dialect, Path::new(name)).unwrap();
        let schemas = Schemas::with([&definitions[..]]);
        // What there was before the newest release.
        let is_newest = |place: &(&str, &str)| *place != ("XBackend", "/status/parents");
        let missing = |(kind, pointer): (&str, &str)| Some((kind.to_owned(), schemas.missing_at(kind, pointer)?));
        let missing: Vec<_> = suite.contract.places().filter(is_newest).filter_map(missing).collect();
        assert_eq!(missing, []);
        assert!(suite.contract.places().count() > 0);
    }
}
