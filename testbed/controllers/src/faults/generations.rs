//! What is said of a generation that is gone by.

use super::{
    Fault, Seam,
    tools::{own, say},
};
use crate::{
    snapshot::Kind,
    status::{Condition, DesiredStatus},
};

fn keep_the_first<'a>(conditions: impl Iterator<Item = &'a mut Condition>) {
    conditions.for_each(|condition| condition.observed_generation = Some(1));
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "observes-an-old-generation-of-classes",
        summary: "Keeps observedGeneration 1 on GatewayClasses whatever the generation is.",
        clauses: &["GEP1364-08", "IMPL-25", "K8S-06", "upstream:GatewayClassObservedGenerationBump"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| keep_the_first(own(statuses, Kind::GatewayClass).flat_map(|all| all.iter_mut())))
        }),
    },
    Fault {
        name: "observes-an-old-generation-of-gateways",
        summary: "Keeps observedGeneration 1 on the conditions of a whole Gateway.",
        clauses: &["GEP1364-08", "IMPL-25", "K8S-06", "upstream:GatewayObservedGenerationBump"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| keep_the_first(own(statuses, Kind::Gateway).flat_map(|all| all.iter_mut())))
        }),
    },
    Fault {
        name: "observes-an-old-generation-of-policies",
        summary: "Keeps observedGeneration 1 on policies for TLS to backends.",
        clauses: &["GEP1364-08", "upstream:BackendTLSPolicyObservedGenerationBump"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                let entries = statuses.iter_mut().flat_map(|update| match &mut update.status {
                    DesiredStatus::Policy { ancestors } => ancestors.iter_mut(),
                    _ => [].iter_mut(),
                });
                keep_the_first(entries.flat_map(|entry| entry.conditions.iter_mut()));
            })
        }),
    },
];
