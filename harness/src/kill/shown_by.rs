//! Which expectations show a fault.
//!
//! A fault says which clauses it breaks, and many expectations carry one of them. So that none of those excuses the others,
//! a table for each dialect names the ones that fail first under the fault. It stands on this side: the faults know no scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gateproof_testbed::KnownFault;
use serde::Deserialize;

use super::matrix::FaultRun;
use crate::dialects::Reference;
use crate::scenario::Scenario;
use crate::scenario::expectations::enumerate;
use crate::scenario::pattern::matches;

/// The table of a dialect.
fn table(reference: Reference) -> &'static str {
    match reference {
        Reference::GatewayApi => include_str!("shown_by.yaml"),
        Reference::Aso => include_str!("shown_by/aso.yaml"),
        Reference::Kuadrant => include_str!("shown_by/kuadrant.yaml"),
    }
}

/// What a failure is about beside the values that a manifest asserts: whether something came to rest, was spoken of at all, is
/// up to date, can be probed, and goes on as it began, at once or after a while.
const OWN_ASPECTS: [&str; 6] = ["again", "entry", "observedGeneration", "parents", "programmed", "stays"];

/// An expectation of a scenario, or a rule of the contract that is broken in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Showing {
    /// The scenario.
    pub scenario: String,
    /// Such as `steps[2].probe.status` or `contract/HTTPRoute/unique-type`. `*` stands for any text, such as the number of a step
    /// where it is a matter of time which of several notices.
    pub expectation: String,
}

impl TryFrom<String> for Showing {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(' ') {
            Some((scenario, expectation)) if !expectation.contains(' ') => {
                Ok(Showing { scenario: scenario.to_owned(), expectation: expectation.to_owned() })
            }
            _ => Err(format!("`{text}` is not a scenario, a space and an expectation")),
        }
    }
}

impl fmt::Display for Showing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.scenario, self.expectation)
    }
}

/// For each fault what shows it, and first what states best what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ShownBy(BTreeMap<String, Vec<Showing>>);

impl ShownBy {
    /// The table of the built-in scenarios of a dialect.
    ///
    /// # Errors
    /// It is not well-formed.
    pub fn builtin(reference: Reference) -> Result<ShownBy, serde_yaml::Error> {
        serde_yaml::from_str(table(reference))
    }

    /// What shows a fault.
    pub fn of(&self, fault: &str) -> &[Showing] {
        self.0.get(fault).map(Vec::as_slice).unwrap_or_default()
    }

    /// Names of faults, scenarios, expectations and contract rules that there are none of, and faults that are left out.
    pub fn problems(&self, faults: &[KnownFault], scenarios: &[Scenario], rules: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for fault in faults {
            if self.of(fault.name).is_empty() {
                problems.push(format!("nothing is named that shows {}", fault.name));
            }
        }
        let able: BTreeMap<&str, BTreeSet<String>> =
            scenarios.iter().map(|scenario| (scenario.name.as_str(), able_to_fail(scenario))).collect();
        for (fault, showings) in &self.0 {
            if !faults.iter().any(|known| known.name == fault) {
                problems.push(format!("there is no fault {fault}"));
            }
            for showing in showings {
                let Some(expectations) = able.get(showing.scenario.as_str()) else {
                    problems.push(format!("{fault}: there is no scenario {}", showing.scenario));
                    continue;
                };
                let able = |name: &String| matches(&showing.expectation, name);
                if !expectations.iter().any(able) && !rules.contains(&showing.expectation) {
                    problems.push(format!("{fault}: {showing} can never fail"));
                }
            }
        }
        problems
    }
}

/// Every name that a finding of a scenario can have.
fn able_to_fail(scenario: &Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for id in enumerate(scenario).into_iter().map(|expectation| expectation.id) {
        let mut stem = id.as_str();
        while let Some((shorter, _)) = stem.rsplit_once('.').filter(|(shorter, _)| shorter.contains('.')) {
            stem = shorter;
            names.extend(OWN_ASPECTS.iter().map(|aspect| format!("{stem}.{aspect}")));
            names.insert(stem.to_owned());
        }
        names.insert(id);
    }
    names
}

/// What shows a fault according to a run: of what is listed all that did, and for each clause that this leaves open what carries
/// the most of the open ones, and the fewest others.
pub(super) fn found(run: &FaultRun, listed: &[Showing]) -> Vec<Showing> {
    let mut found: Vec<Showing> = listed.iter().filter(|showing| run.carried(showing).is_some()).cloned().collect();
    let mut open: BTreeSet<&String> = run.unproven(&found).collect();
    let candidates = run.showings();
    loop {
        let best = candidates.iter().rev().max_by_key(|(_, clauses)| {
            let hits = clauses.iter().filter(|clause| open.contains(clause)).count();
            let others = clauses.iter().filter(|clause| !run.clauses.contains(*clause)).count();
            (hits, std::cmp::Reverse(others))
        });
        let Some((showing, clauses)) = best else { break };
        let before = open.len();
        open.retain(|clause| !clauses.contains(*clause));
        if open.len() == before {
            break;
        }
        found.push(showing.clone());
    }
    found
}

#[cfg(test)]
#[path = "shown_by_tests.rs"]
mod tests;
