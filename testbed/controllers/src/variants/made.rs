//! Objects for Gateways: others than usual, or with more on them.

use super::{Place, Variant};
use crate::{
    reconcile::infrastructure::{Made, carried},
    runtime::seams::{ObjectsSeam, Seen},
};

struct Make(fn(&mut Vec<Made>));

impl ObjectsSeam for Make {
    fn edit(&mut self, _: Seen<'_>, made: &mut Vec<Made>) {
        (self.0)(made);
    }
}

/// Labels and annotations that an implementation has for itself, or for those who look after it.
const OWN: [(&str, &str, &str); 3] = [
    ("labels", "app.kubernetes.io/managed-by", "gateproof-reference"),
    ("labels", "gateproof.dev/part", "data-plane"),
    ("annotations", "gateproof.dev/made-by", "the reference"),
];

fn sign(made: &mut Vec<Made>) {
    for Made { object, .. } in made {
        for (field, name, value) in OWN {
            if let Some(fields) = carried(object, field) {
                fields.entry(name).or_insert_with(|| value.into());
            }
        }
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "makes-a-service-alone",
        summary: "Makes a Service for a Gateway that has spec.infrastructure, and nothing else.",
        source: "GatewayInfrastructure.labels: they are for \"any resources created in response to this Gateway\", and which there are is \
                 left to implementations.",
        place: Place::Runtime(|seams| {
            seams.objects.push(Box::new(Make(|made| made.retain(|made| made.object["kind"] == "Service"))));
        }),
    },
    Variant {
        name: "signs-what-it-makes",
        summary: "Puts labels and annotations of its own beside those of spec.infrastructure on what it makes for a Gateway.",
        source: "GatewayInfrastructure.labels: \"An implementation may chose to add additional implementation-specific labels as they see \
                 fit\".",
        place: Place::Runtime(|seams| seams.objects.push(Box::new(Make(sign)))),
    },
];
