//! Which scenarios are meant: by name, upstream test, requirement, feature, profile or suite.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use gateproof_suites::upstream_tests;
use regex::Regex;

use super::expectations::enumerate;
use super::model::Scenario;
use super::vocabulary::{Vocabulary, suggest};
use crate::dialects::Profile;

/// Why nothing is selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// A selector that names nothing known.
    #[error("`{written}` is no scenario, test, requirement, feature, profile or suite{}", did_you_mean(.near.as_ref()))]
    Unknown {
        /// As written.
        written: String,
        /// The nearest known name.
        near: Option<String>,
    },
    /// A selector of a known name that no scenario is about.
    #[error("`{0}` is known, but no scenario is about it")]
    Matchless(String),
    /// There is no scenario at all.
    #[error("there is no scenario to select from")]
    Empty,
}

fn did_you_mean(near: Option<&String>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Every clause that a scenario proves in the edition that is meant, each once, in order of the manifest.
pub fn clauses(scenario: &Scenario) -> Vec<Arc<str>> {
    let mut seen = BTreeSet::new();
    let steps = scenario.steps.iter().filter(|step| !step.bounds.elsewhere);
    let of_steps = steps.flat_map(|step| step.proves.iter().cloned());
    let parts = enumerate(scenario).into_iter().filter(|part| !part.bounds.iter().any(|bounds| bounds.elsewhere));
    let of_parts = parts.flat_map(|part| part.clauses);
    of_steps.chain(of_parts).filter(|clause| seen.insert(Arc::clone(clause))).collect()
}

/// The positions of the scenarios that any of the selectors means, in order; all of them if there is no selector.
///
/// # Errors
/// If a selector is unknown or means no scenario, or if there are no scenarios.
pub fn select(
    scenarios: &[Scenario],
    selectors: &[String],
    vocabulary: &Vocabulary,
) -> Result<Vec<usize>, SelectError> {
    if scenarios.is_empty() {
        return Err(SelectError::Empty);
    }
    if selectors.is_empty() {
        return Ok((0..scenarios.len()).collect());
    }
    // To go through what everything proves takes as long as to read a tenth of it.
    let proofs = OnceCell::new();
    let proofs = || proofs.get_or_init(|| scenarios.iter().map(clauses).collect::<Vec<_>>());
    let mut chosen = BTreeSet::new();
    for selector in selectors {
        let meant = Selector::read(selector, scenarios, vocabulary)?;
        let matches =
            (0..scenarios.len()).filter(|i| meant.means(&scenarios[*i], || &proofs()[*i])).collect::<Vec<_>>();
        if matches.is_empty() {
            return Err(match meant {
                Selector::Glob(_) => unknown(selector, scenarios, vocabulary),
                _ => SelectError::Matchless(selector.clone()),
            });
        }
        chosen.extend(matches);
    }
    Ok(chosen.into_iter().collect())
}

enum Selector<'v> {
    Glob(Regex),
    Clause(String),
    /// A feature that is also the name of an upstream test, such as `UDPRoute`, means both.
    Feature(String),
    Profile(&'v Profile),
    Suite(String),
}

impl Selector<'_> {
    fn read<'v>(text: &str, scenarios: &[Scenario], vocabulary: &'v Vocabulary) -> Result<Selector<'v>, SelectError> {
        if let Some(profile) = vocabulary.profiles.iter().find(|p| p.name.eq_ignore_ascii_case(text)) {
            return Ok(Selector::Profile(profile));
        }
        if vocabulary.features.contains(text) {
            return Ok(Selector::Feature(text.to_owned()));
        }
        if vocabulary.clauses.contains(text) {
            return Ok(Selector::Clause(text.to_owned()));
        }
        if upstream_tests().iter().any(|t| t.name == text) {
            return Ok(Selector::Clause(format!("upstream:{text}")));
        }
        if scenarios.iter().any(|s| s.suite == text) {
            return Ok(Selector::Suite(text.to_owned()));
        }
        glob(text).map(Selector::Glob).ok_or_else(|| unknown(text, scenarios, vocabulary))
    }

    fn means<'p>(&self, scenario: &Scenario, proofs: impl Fn() -> &'p [Arc<str>]) -> bool {
        let proves = |clause: &str| proofs().iter().any(|p| **p == *clause);
        match self {
            Selector::Glob(pattern) => pattern.is_match(&scenario.name),
            Selector::Clause(clause) => proves(clause),
            Selector::Feature(name) => {
                let is_about = |features: &[String]| features.contains(name);
                is_about(&scenario.features) || is_about(&scenario.without) || proves(&format!("upstream:{name}"))
            }
            Selector::Profile(profile) => {
                profile.membership(&scenario.name, scenario.features.iter().map(String::as_str)).is_some()
            }
            Selector::Suite(suite) => scenario.suite == *suite,
        }
    }
}

/// `*` is any text, `?` one character; everything else is itself.
fn glob(text: &str) -> Option<Regex> {
    let pattern = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
    Regex::new(&format!("^{pattern}$")).ok()
}

fn unknown(written: &str, scenarios: &[Scenario], vocabulary: &Vocabulary) -> SelectError {
    let known = scenarios.iter().flat_map(|s| [s.name.as_str(), s.suite.as_str()]);
    let known =
        known.chain(upstream_tests().iter().map(|t| t.name)).chain(vocabulary.profiles.iter().map(|p| p.name.as_str()));
    let known = known.chain(vocabulary.features.iter().chain(&vocabulary.clauses).map(String::as_str));
    SelectError::Unknown { written: written.to_owned(), near: suggest(written, known).map(str::to_owned) }
}

#[cfg(test)]
mod tests;
