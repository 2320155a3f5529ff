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
use gateproof_testbed::Tampering;

use super::drive::binding;
use super::pin::{LogPin, Pin, pin};
use super::plan::{Plan, Watcher};
use super::trial::{self, Method, Proof, Trial};
use crate::dialects::Reference;
use crate::run::{Bystander, RunError, TargetChoice};
use crate::scenario::expectations::{Asserted, Expectation, SeenPart, asserted};
use crate::scenario::scope::DEFINITION;
use crate::scenario::{Isolation, ObjectRef, Scenario};

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
    trial::prove(plan, trials, &Pinpoint(plan.reference), watcher).await
}

/// Makes the reference of a dialect go wrong.
struct Pinpoint(Reference);

impl Method for Pinpoint {
    fn needs_target_alone(&self, trial: &Trial) -> bool {
        let shared = |object: &ObjectRef| object.pool || object.name == "${class}";
        trial.variant.isolation == Isolation::Cluster
            || match asserted(&trial.variant, &trial.expectation.id) {
                None | Some(Asserted::Refused(_) | Asserted::Admitted(_)) => true,
                Some(Asserted::Requests(requests, _)) => !LogPin::is_own(&requests),
                Some(Asserted::Answer(probe)) => probe.method.is_none() || probe.answer.is_silence(),
                Some(Asserted::Seen(_, part)) => {
                    matches!(part, SeenPart::Certificate | SeenPart::Trusted | SeenPart::Alpn)
                }
                Some(
                    Asserted::Condition { object, .. }
                    | Asserted::Parents(object, _)
                    | Asserted::Parent(object, ..)
                    | Asserted::AttachedRoutes(object, _)
                    | Asserted::SupportedKinds(object, _)
                    | Asserted::Field(object, _)
                    | Asserted::Unchanged(object),
                ) => shared(&object) || object.kind == DEFINITION,
                Some(Asserted::Made(made, _)) => shared(&made.object),
                Some(Asserted::Never(subject, _)) => shared(&subject.subject),
            }
    }

    fn target(&self, batch: &[Trial]) -> (TargetChoice, Option<Arc<dyn Bystander>>) {
        let tampering = Tampering::default();
        let (installed, rest): (Vec<_>, Vec<_>) = batch.iter().cloned().partition(is_installed);
        let wanted = rest.into_iter().map(|trial| {
            let step = step_of(&trial);
            (trial.variant.name, (step, trial.expectation.id))
        });
        let hand = Hand { tampering: tampering.clone(), wanted: wanted.collect(), installed };
        (TargetChoice::tampered(self.0, tampering), Some(Arc::new(hand)))
    }

    fn is_meant(&self, expectation: &Expectation, finding: &str) -> bool {
        // What is being deleted goes with its last finalizer.
        let gone = expectation.id.strip_suffix(".fields[/metadata/finalizers]");
        if expectation.id == finding || gone == Some(finding) {
            return true;
        }
        // Where the whole status says which generation it is about, each of its conditions does.
        if let Some(object) = expectation.id.strip_suffix(".fields[/status/observedGeneration]") {
            let rest = finding.strip_prefix(object);
            return rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".observedGeneration"));
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
    matches!(about, Some(Asserted::Field(object, _)) if object.kind == DEFINITION)
}

/// The step before which the target has to go wrong: that of the expectation, but for what the step counts from before it.
fn step_of(trial: &Trial) -> usize {
    let id = &trial.expectation.id;
    let number = id.strip_prefix("steps[").and_then(|rest| rest.split_once(']')?.0.parse().ok());
    let index = number.unwrap_or_default();
    match asserted(&trial.variant, id) {
        Some(Asserted::Requests(requests, part)) => {
            LogPin::of(&requests, part).map_or(index, |pin| pin.step(&trial.variant, index, &requests))
        }
        _ => index,
    }
}

/// Makes the target go wrong when a scenario comes to the step of its expectation.
#[derive(Debug)]
struct Hand {
    tampering: Tampering,
    /// Before which step, and for which expectation, by scenario.
    wanted: BTreeMap<String, (usize, String)>,
    /// What is wrong from the beginning.
    installed: Vec<Trial>,
}

impl Hand {
    async fn put(&self, scenario: &str, expectation: &str, pin: Pin) {
        // The trial tells by its outcome that the target did not go wrong.
        if let Err(error) = pin.put(&self.tampering).await {
            tracing::warn!(scenario, expectation, %error, "the target cannot be made to go wrong");
        }
    }
}

#[async_trait]
impl Bystander for Hand {
    async fn before_watches(&self) {
        for Trial { variant, expectation, .. } in &self.installed {
            if let Some(pin) = asserted(variant, &expectation.id).and_then(|it| pin(variant, &it)) {
                self.put(&variant.name, &expectation.id, pin).await;
            }
        }
    }

    async fn at_step(&self, scenario: &Scenario, step: usize) {
        let Some((_, id)) = self.wanted.get(&scenario.name).filter(|(at, _)| *at == step) else { return };
        match asserted(scenario, id).and_then(|it| pin(scenario, &it)) {
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
    use crate::scenario::load;
    use crate::suite::Suite;

    #[rstest]
    #[case::same("steps[1].settle.A/a.X.status", "steps[1].settle.A/a.X.status", true)]
    #[case::gone("steps[1].settle.A/a.fields[/metadata/finalizers]", "steps[1].settle.A/a", true)]
    #[case::generation(
        "steps[1].settle.A/a.fields[/status/observedGeneration]",
        "steps[1].settle.A/a.X.observedGeneration",
        true
    )]
    #[case::generation_of_another(
        "steps[1].settle.A/a.fields[/status/observedGeneration]",
        "steps[1].settle.A/ab.X.observedGeneration",
        false
    )]
    #[case::gone_otherwise("steps[1].settle.A/a.fields[/metadata/labels]", "steps[1].settle.A/a", false)]
    #[case::other_aspect("steps[1].settle.A/a.X.status", "steps[1].settle.A/a.X.reason", false)]
    #[case::one_state("steps[1].hold.never.A/a.X", "steps[1].hold.never.A/a.Y", true)]
    #[case::another_object("steps[1].hold.never.A/a.X", "steps[1].hold.never.A/b.X", false)]
    #[case::written("steps[1].hold.always.A/a.X.status", "steps[1].hold.unchanged.A/a", true)]
    #[case::another_step("steps[1].hold.always.A/a.X.status", "steps[2].hold.unchanged.A/a", false)]
    #[case::only_written("steps[1].hold.unchanged.A/a", "steps[1].hold.never.A/a.X", false)]
    fn a_failure_is_meant_or_follows_from_what_is(#[case] id: &str, #[case] finding: &str, #[case] meant: bool) {
        let scenarios = load::builtin_once();
        let any = binding(&scenarios[0]).next().unwrap();
        assert_eq!(Pinpoint(Reference::GatewayApi).is_meant(&Expectation { id: id.to_owned(), ..any }, finding), meant);
    }

    #[rstest]
    #[case(Reference::GatewayApi, 1000)]
    #[case(Reference::Aso, 150)]
    #[case(Reference::Kuadrant, 150)]
    fn every_binding_expectation_of_every_shipped_scenario_can_be_pinned(
        #[case] reference: Reference,
        #[case] least: usize,
    ) {
        let suite = Suite::named(reference.dialect()).unwrap().unwrap();
        let all = pinned(&load::parsed(&suite.manifests().unwrap(), &suite.vocabulary).unwrap());
        assert!(all.len() > least, "only {} expectations", all.len());
        for trial in all {
            let asserted = asserted(&trial.variant, &trial.expectation.id).unwrap();
            assert!(pin(&trial.variant, &asserted).is_some(), "{}: {}", trial.scenario, trial.expectation.id);
        }
    }
}
