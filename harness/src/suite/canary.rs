//! What keeps a run from making something real.

use std::path::Path;

use gateproof_suites::dialects::{DialectFiles, OTHERS};

use super::{Suite, SuiteError};
use crate::dialects::Dialect;
use crate::scenario::{Level, Scenario, Verb};

/// Whatever a folder calls itself, what its objects make is as real as what those of a built-in dialect do that has a canary: where
/// it has a group of the same domain, its own canary, at `path`, must see a request for a first object reach a service of the run.
///
/// # Errors
/// It has none, or one that passes without such a request.
pub(super) fn hold(suite: &Suite, path: &Path) -> Result<(), SuiteError> {
    if suite.canary.as_deref().is_some_and(asks_a_service) {
        return Ok(());
    }
    let Some((group, guarded)) = OTHERS.iter().filter(|other| other.canary.is_some()).find_map(|other| {
        let group = guarded_by(other, &suite.dialect)?;
        Some((group.to_owned(), other.name.to_owned()))
    }) else {
        return Ok(());
    };
    Err(SuiteError::Unguarded { path: path.to_owned(), group, guarded, is_there: suite.canary.is_some() })
}

/// The first group of a dialect whose domain a guarded one has groups in.
fn guarded_by<'d>(guarded: &DialectFiles, dialect: &'d Dialect) -> Option<&'d str> {
    let guarded = Dialect::parse(guarded.dialect).ok()?;
    let is_within = |group: &str, domain: &str| {
        group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_guarded = |group: &&String| guarded.groups().iter().any(|other| is_within(group, domain(other)));
    dialect.groups().iter().find(is_guarded).map(String::as_str)
}

/// What stands behind the first part of the name of a group.
fn domain(group: &str) -> &str {
    group.split_once('.').map_or(group, |(_, domain)| domain)
}

/// Whether a scenario cannot pass without a request to a service.
fn asks_a_service(scenario: &Scenario) -> bool {
    scenario.steps.iter().any(|step| {
        let is_asked =
            matches!(&step.verb, Verb::Requests(requests) if requests.at_least > 0 && requests.level == Level::Must);
        is_asked && step.within.is_none() && !step.bounds.elsewhere
    })
}
