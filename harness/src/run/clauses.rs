//! The clauses that single expectations prove, beside those of their steps. Pure.

use crate::scenario::model::{Clause, ConditionExpectation, Ending, Parents, Step, SubjectExpectation, Verb};

/// Every clause named inside a step.
pub fn of_step(step: &Step) -> Vec<Clause> {
    let mut subjects: Vec<&SubjectExpectation> = Vec::new();
    match &step.verb {
        Verb::Settle(settle) => subjects.extend(&settle.subjects),
        Verb::Hold(hold) => subjects.extend(hold.never.iter().chain(&hold.always)),
        Verb::Apply(_) | Verb::Patch(_) | Verb::Delete(_) | Verb::Probe(_) => {}
    }
    for ending in &step.either {
        if let Ending::Settle(settle, _) = ending {
            subjects.extend(&settle.subjects);
        }
    }
    subjects.into_iter().flat_map(conditions).flat_map(|condition| condition.proves.iter().cloned()).collect()
}

fn conditions(subject: &SubjectExpectation) -> Vec<&ConditionExpectation> {
    let mut all: Vec<&ConditionExpectation> = subject.conditions.values().collect();
    if let Parents::Selected(parents) = &subject.parents {
        all.extend(parents.iter().flat_map(|parent| parent.conditions.values()));
    }
    all.extend(subject.listeners.values().flat_map(|listener| listener.conditions.values()));
    all
}
