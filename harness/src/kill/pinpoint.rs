//! Pinpoint faults: the reference goes wrong at one value, from the step on that looks at it, and exactly the
//! expectation of that value must fail.
//!
//! Named faults are mistakes that implementations make. They hit many expectations at once, most of them where a
//! scenario has failed already, so they leave open whether the expectations behind the first are looked at. Pinpoint
//! faults close that: each is made for one expectation, so they say nothing about which mistakes are noticed, and all
//! about whether an expectation can fail, alone, for what the target does.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use gateproof_testbed::Tamper;

use super::drive::{Plan, Watcher, binding};
use super::pin::{Pin, pin};
use super::trial::{self, Method, Proof, Trial};
use crate::run::{Bystander, RunError, TargetChoice};
use crate::scenario::expectations::{Asserted, Expectation, SeenPart, asserted};
use crate::scenario::{Answer, Isolation, ObjectRef, Scenario};

/// Every binding expectation, each with a run of its scenario in which it must fail.
pub fn pinned(scenarios: &[Scenario]) -> Vec<Trial> {
    let of = |scenario: &Scenario| {
        let trial = |(position, expectation)| {
            let mut variant = scenario.clone();
            variant.name = format!("{}-pinned-{position}", scenario.name);
            Trial { scenario: scenario.name.clone(), variant, expectation }
        };
        binding(scenario).enumerate().map(trial).collect::<Vec<_>>()
    };
    scenarios.iter().flat_map(of).collect()
}

/// Runs each of these against a reference that goes wrong at the expectation's value alone.
///
/// # Errors
/// If an embedded target cannot be tested at all.
pub async fn pin_all(plan: &Plan, trials: Vec<Trial>, watcher: &dyn Watcher) -> Result<Proof, RunError> {
    trial::prove(plan, trials, &Pinpoint, watcher).await
}

struct Pinpoint;

impl Method for Pinpoint {
    fn needs_target_alone(&self, trial: &Trial) -> bool {
        let shared = |object: &ObjectRef| object.pool || object.name == "${class}";
        trial.variant.isolation == Isolation::Cluster
            || match asserted(&trial.variant, &trial.expectation.id) {
                None | Some(Asserted::Refused(_) | Asserted::Admitted(_) | Asserted::Requests(..)) => true,
                Some(Asserted::Answer(probe)) => probe.method.is_none() || matches!(probe.answer, Answer::NoAnswer),
                Some(Asserted::Seen(_, part)) => part == SeenPart::Certificate,
                Some(
                    Asserted::Condition { object, .. }
                    | Asserted::Parents(object, _)
                    | Asserted::Parent(object, ..)
                    | Asserted::AttachedRoutes(object, _)
                    | Asserted::SupportedKinds(object, _)
                    | Asserted::Field(object, _)
                    | Asserted::Unchanged(object),
                ) => shared(&object) || object.kind == "CustomResourceDefinition",
                Some(Asserted::Never(subject, _)) => shared(&subject.subject),
            }
    }

    fn target(&self, batch: &[Trial]) -> (TargetChoice, Option<Arc<dyn Bystander>>) {
        let tamper = Tamper::default();
        let (installed, rest): (Vec<_>, Vec<_>) = batch.iter().cloned().partition(is_installed);
        let wanted = rest.into_iter().map(|trial| (trial.variant.name, trial.expectation.id)).collect();
        (TargetChoice::Tampered(tamper.clone()), Some(Arc::new(Hand { tamper, wanted, installed })))
    }

    fn is_meant(&self, expectation: &Expectation, finding: &str) -> bool {
        if expectation.id == finding {
            return true;
        }
        let Some((step, held)) = expectation.id.split_once("].hold.") else { return false };
        let Some(other) = finding.strip_prefix(step).and_then(|rest| rest.strip_prefix("].hold.")) else {
            return false;
        };
        // Several conditions that must never hold together are one state, named after the first of them. And what
        // becomes wrong during a hold was written during it.
        let state = |id: &str| id.strip_prefix("never.").and_then(|id| Some(id.rsplit_once('.')?.0.to_owned()));
        (state(held).is_some() && state(held) == state(other)) || other.starts_with("unchanged.")
    }
}

/// Whether the expectation is about a definition: somebody else changed it, if it changes while it is watched.
fn is_installed(trial: &Trial) -> bool {
    let about = asserted(&trial.variant, &trial.expectation.id);
    matches!(about, Some(Asserted::Field(object, _)) if object.kind == "CustomResourceDefinition")
}

/// Makes the target go wrong when a scenario comes to the step of its expectation.
#[derive(Debug)]
struct Hand {
    tamper: Tamper,
    wanted: BTreeMap<String, String>,
    /// What is wrong from the beginning.
    installed: Vec<Trial>,
}

impl Hand {
    async fn put(&self, scenario: &str, expectation: &str, pin: Pin) {
        // The trial tells by its outcome that the target did not go wrong.
        if let Err(error) = pin.put(&self.tamper).await {
            tracing::warn!(scenario, expectation, %error, "the target cannot be made to go wrong");
        }
    }
}

#[async_trait]
impl Bystander for Hand {
    async fn before_watches(&self) {
        for Trial { variant, expectation, .. } in &self.installed {
            if let Some(pin) = asserted(variant, &expectation.id).as_ref().and_then(pin) {
                self.put(&variant.name, &expectation.id, pin).await;
            }
        }
    }

    async fn at_step(&self, scenario: &Scenario, step: usize) {
        let Some(id) = self.wanted.get(&scenario.name).filter(|id| id.starts_with(&format!("steps[{step}]."))) else {
            return;
        };
        match asserted(scenario, id).as_ref().and_then(pin) {
            Some(pin) => self.put(&scenario.name, id, pin).await,
            None => tracing::warn!(scenario = scenario.name, expectation = id, "nothing is known that makes it fail"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;
    use crate::scenario::{Vocabulary, load};

    #[rstest]
    #[case::same("steps[1].settle.A/a.X.status", "steps[1].settle.A/a.X.status", true)]
    #[case::other_aspect("steps[1].settle.A/a.X.status", "steps[1].settle.A/a.X.reason", false)]
    #[case::one_state("steps[1].hold.never.A/a.X", "steps[1].hold.never.A/a.Y", true)]
    #[case::another_object("steps[1].hold.never.A/a.X", "steps[1].hold.never.A/b.X", false)]
    #[case::written("steps[1].hold.always.A/a.X.status", "steps[1].hold.unchanged.A/a", true)]
    #[case::another_step("steps[1].hold.always.A/a.X.status", "steps[2].hold.unchanged.A/a", false)]
    #[case::only_written("steps[1].hold.unchanged.A/a", "steps[1].hold.never.A/a.X", false)]
    fn a_failure_is_meant_or_follows_from_what_is(#[case] id: &str, #[case] finding: &str, #[case] meant: bool) {
        let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
        let any = binding(&scenarios[0]).next().unwrap();
        assert_eq!(Pinpoint.is_meant(&Expectation { id: id.to_owned(), ..any }, finding), meant);
    }

    #[test]
    fn every_binding_expectation_of_every_shipped_scenario_can_be_pinned() {
        let all = pinned(&load::builtin(&Vocabulary::builtin()).unwrap());
        assert!(all.len() > 1000, "only {} expectations", all.len());
        for trial in all {
            let asserted = asserted(&trial.variant, &trial.expectation.id);
            assert!(asserted.as_ref().and_then(pin).is_some(), "{}: {}", trial.scenario, trial.expectation.id);
        }
    }
}
