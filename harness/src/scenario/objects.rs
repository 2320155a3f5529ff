//! Which objects a scenario is about.

use super::kinds::DEFINITION;
use super::model::{Ending, ObjectRef, Scenario, SubjectExpectation, Verb};
use crate::log::ObjectKey;

/// The objects that a scenario applies.
pub fn applied(scenario: &Scenario) -> impl Iterator<Item = ObjectKey> {
    scenario
        .steps
        .iter()
        .filter_map(|step| match &step.verb {
            Verb::Apply(apply) => Some(&apply.objects),
            _ => None,
        })
        .flatten()
        .filter_map(ObjectKey::of)
}

/// The objects that a scenario patches, deletes or expects something of.
pub fn references(scenario: &Scenario) -> Vec<&ObjectRef> {
    let mut found: Vec<&ObjectRef> = Vec::new();
    let mut expected: Vec<&SubjectExpectation> = Vec::new();
    for step in &scenario.steps {
        match &step.verb {
            Verb::Patch(patch) => found.push(&patch.target),
            Verb::Delete(delete) => found.extend(&delete.objects),
            Verb::Settle(settle) => expected.extend(&settle.subjects),
            Verb::Hold(hold) => {
                expected.extend(hold.never.iter().chain(&hold.always));
                found.extend(&hold.unchanged);
            }
            Verb::Made(made) => found.push(&made.object),
            Verb::Apply(_) | Verb::Probe(_) | Verb::Script(_) | Verb::Requests(_) => {}
        }
        for ending in &step.either {
            if let Ending::Settle(settle, _) = ending {
                expected.extend(&settle.subjects);
            }
        }
    }
    found.extend(expected.into_iter().map(|subject| &subject.subject));
    found
}

/// The definitions among these, by name.
pub fn referred(scenario: &Scenario) -> impl Iterator<Item = &str> {
    references(scenario).into_iter().filter(|object| object.kind == DEFINITION).map(|object| object.name.as_str())
}
