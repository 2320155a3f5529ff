//! Every expectation of a scenario by name, and the scenario with exactly one of them negated.

pub mod id;
mod negate;
mod walk;

use super::model::{Clause, ExpectationId, Level, Scenario};

/// One asserted value of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Its name.
    pub id: ExpectationId,
    /// How binding it is.
    pub level: Level,
    /// What it proves.
    pub clauses: Vec<Clause>,
    /// Whether it belongs to one of several legal ends of a write, so that the scenario can pass without it.
    pub alternative: bool,
    /// The line of the manifest.
    pub line: usize,
}

/// Every asserted value of a scenario, in the order of the manifest.
pub fn enumerate(scenario: &Scenario) -> Vec<Expectation> {
    let mut all = Vec::new();
    walk::visit(&mut scenario.clone(), &mut |expectation, _| all.push(expectation));
    all
}

/// The scenario with this one asserted value negated and made binding; `None` if there is no such expectation, or if
/// its opposite cannot be said in a manifest (`hold.unchanged`).
pub fn invert(scenario: &Scenario, wanted: &ExpectationId) -> Option<Scenario> {
    let mut inverted = scenario.clone();
    let backends = inverted.backends.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
    let mut done = false;
    walk::visit(&mut inverted, &mut |expectation, site| {
        if !done && expectation.id == *wanted {
            done = negate::negate(site, &backends);
        }
    });
    done.then_some(inverted)
}

#[cfg(test)]
mod tests;
