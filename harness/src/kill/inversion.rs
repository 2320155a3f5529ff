//! Inversion: every asserted value is negated once, and the plain reference must then fail at that very value.

use std::sync::Arc;

use super::drive::binding;
use super::plan::{Plan, Watcher};
use super::trial::{self, Method, Proof, Trial};
use crate::dialects::Reference;
use crate::run::{Bystander, RunError, TargetChoice};
use crate::scenario::expectations::{Expectation, invert, is_opposite_of};
use crate::scenario::{Isolation, Scenario};

/// Every binding asserted value that has an opposite, negated; and the names of those that have none.
pub fn negated(scenarios: &[Scenario]) -> (Vec<Trial>, Vec<String>) {
    let mut all = Vec::new();
    let mut without_opposite = Vec::new();
    for scenario in scenarios {
        for (position, expectation) in binding(scenario).enumerate() {
            match invert(scenario, &expectation.id) {
                Some(mut variant) => {
                    variant.name = format!("{}-inverted-{position}", scenario.name);
                    all.push(Trial { scenario: scenario.name.clone(), variant, expectation });
                }
                None => without_opposite.push(format!("{}: {}", scenario.name, expectation.id)),
            }
        }
    }
    (all, without_opposite)
}

/// Runs each of these against a plain reference, which must then fail.
///
/// # Errors
/// If an embedded target cannot be tested at all.
pub async fn invert_all(plan: &Plan, negated: Vec<Trial>, watcher: &dyn Watcher) -> Result<Proof, RunError> {
    trial::prove(plan, negated, &Negation(plan.reference), watcher).await
}

/// Asks the plain reference of a dialect for the opposite.
struct Negation(Reference);

impl Method for Negation {
    /// What fails half-way through changing the cluster leaves it changed.
    fn needs_target_alone(&self, trial: &Trial) -> bool {
        trial.variant.isolation == Isolation::Cluster
    }

    fn target(&self, _: &[Trial]) -> (TargetChoice, Option<Arc<dyn Bystander>>) {
        (TargetChoice::embedded(self.0, None), None)
    }

    fn is_meant(&self, expectation: &Expectation, finding: &str) -> bool {
        is_opposite_of(expectation, finding)
    }
}
