//! What the definitions of a dialect say of its other files: a misspelt plural or place would be looked for in vain.

use std::path::Path;

use gateproof_apiserver::crds::parse_bundle;
use serde_json::Value;

use super::error::SuiteError;
use super::{DEFINITIONS, File};
use crate::cluster::schemas::Schemas;
use crate::dialects::{Dialect, DialectKind, Entries, Scope};
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

/// Holds what a run makes where traffic comes in against the schemas of its kind.
pub(super) fn hold_entries(definitions: &[Value], dialect: &Dialect, path: &Path) -> Result<(), SuiteError> {
    let schemas = Schemas::with([definitions]);
    let mut manifests = dialect.entries().into_iter().flat_map(Entries::manifests);
    match manifests.find_map(|manifest| misfit(&schemas, manifest)) {
        Some(misfit) => {
            let problem = format!("a manifest of `entries` {misfit}");
            Err(SuiteError::Undefined { path: path.to_owned(), line: None, problem })
        }
        None => Ok(()),
    }
}

fn misfit(schemas: &Schemas, manifest: &Value) -> Option<String> {
    let own = schemas.unknown_beside_releases(manifest).into_iter().map(|(field, _)| field);
    let (mut unknown, mut wrong) = (own.collect::<Vec<_>>(), schemas.wrong_types_beside_releases(manifest));
    // Kinds of Gateway API are built in, with all that they have in the last channel.
    if let Some((version, channel)) = schemas.releases().pop() {
        unknown.extend(schemas.unknown_fields(manifest, version, channel).unwrap_or_default());
        wrong.extend(schemas.wrong_types(manifest, version, channel));
    }
    let unknown = unknown.first().map(|field| format!("has the field `{field}`, which its definition has not"));
    let wrong = wrong.first();
    unknown.or_else(|| wrong.map(|one| format!("has {} in `{}`, which is to be {}", one.found, one.path, one.wanted)))
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
        hold_entries(&definitions, &suite.dialect, Path::new(name)).unwrap();
        let schemas = Schemas::with([&definitions[..]]);
        // What there was before the newest release.
        let is_newest = |place: &(&str, &str)| *place != ("XBackend", "/status/parents");
        let missing = |(kind, pointer): (&str, &str)| Some((kind.to_owned(), schemas.missing_at(kind, pointer)?));
        let missing: Vec<_> = suite.contract.places().filter(is_newest).filter_map(missing).collect();
        assert_eq!(missing, []);
        assert!(suite.contract.places().count() > 0);
    }

    #[rstest]
    #[case::field("gatewayClassName: ${class}", "gatewayClass: ${class}", "has the field `spec.gatewayClass`")]
    #[case::type_(
        "port: \"${port}\"",
        "port: [80]",
        "has a list in `spec.listeners[0].port`, which is to be an integer"
    )]
    fn what_a_run_makes_fits_its_definition(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
        let suite = Suite::named("kuadrant").unwrap().unwrap();
        let definitions = embedded::definitions(suite.reference().unwrap(), Some("current"));
        let text = gateproof_suites::dialects::OTHERS[1].dialect;
        assert!(text.contains(from));
        let wrong = Dialect::parse(&text.replacen(from, to, 1)).unwrap();
        let error = hold_entries(&definitions, &wrong, Path::new("dialect.yaml")).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
