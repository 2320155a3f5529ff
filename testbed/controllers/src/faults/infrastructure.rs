//! Mistakes with what is made in the cluster for a Gateway.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Fault, Seam};
use crate::{
    reconcile::infrastructure::{GATEWAY_NAME, Made, asked, carried},
    runtime::seams::{ObjectsSeam, Seen},
    snapshot::{Kind, ObjectKey},
};

/// A fault without memory.
struct Make(fn(Seen<'_>, &mut Vec<Made>));

impl ObjectsSeam for Make {
    fn edit(&mut self, seen: Seen<'_>, made: &mut Vec<Made>) {
        (self.0)(seen, made);
    }
}

fn make(change: fn(Seen<'_>, &mut Vec<Made>)) -> Box<dyn ObjectsSeam> {
    Box::new(Make(change))
}

/// What objects carried before, by kind, object and field.
type Carried = BTreeMap<(String, ObjectKey, &'static str), Map<String, Value>>;

/// What becomes of what an object carries, by what it carried before.
type Change = fn(&Map<String, Value>, &mut Map<String, Value>);

/// A fault that remembers what objects carried.
struct Remembering {
    before: Carried,
    change: Change,
}

pub(super) fn remembering(change: Change) -> Box<dyn ObjectsSeam> {
    Box::new(Remembering { before: BTreeMap::new(), change })
}

/// Adds what was there before and is not there any more.
pub(super) fn keep(before: &Map<String, Value>, now: &mut Map<String, Value>) {
    for (name, value) in before {
        now.entry(name).or_insert_with(|| value.clone());
    }
}

impl ObjectsSeam for Remembering {
    fn edit(&mut self, _: Seen<'_>, made: &mut Vec<Made>) {
        let mut now = BTreeMap::new();
        for Made { gateway, object } in made {
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            for field in ["labels", "annotations"] {
                let Some(fields) = carried(object, field) else { continue };
                let key = (kind.clone(), gateway.clone(), field);
                if let Some(before) = self.before.get(&key) {
                    (self.change)(before, fields);
                }
                now.insert(key, fields.clone());
            }
        }
        self.before = now;
    }
}

/// Takes away what a Gateway asks for from what is made for it of these kinds.
fn strip(seen: Seen<'_>, made: &mut [Made], of: fn(&str) -> bool) {
    for Made { gateway, object } in made.iter_mut().filter(|made| of(made.object["kind"].as_str().unwrap_or_default()))
    {
        let Some(gateway) = seen.snapshot.get(Kind::Gateway, &gateway.namespace, &gateway.name) else { continue };
        for (field, wanted) in asked(gateway) {
            let Some(fields) = carried(object, field) else { continue };
            fields.retain(|name, _| name == GATEWAY_NAME || !wanted.contains_key(name));
        }
    }
}

/// What all Gateways of its namespace ask for goes to each.
fn share(seen: Seen<'_>, made: &mut Vec<Made>) {
    for Made { gateway, object } in made {
        for other in seen.snapshot.all(Kind::Gateway).filter(|other| other.meta.namespace == gateway.namespace) {
            for (field, wanted) in asked(other) {
                let Some(fields) = carried(object, field) else { continue };
                for (name, value) in wanted.into_iter().filter(|(name, _)| name != GATEWAY_NAME) {
                    fields.entry(name).or_insert_with(|| value.into());
                }
            }
        }
    }
}

/// What a Gateway asks for replaces the label that says whose an object is.
fn rename(seen: Seen<'_>, made: &mut Vec<Made>) {
    for Made { gateway, object } in made {
        let Some(gateway) = seen.snapshot.get(Kind::Gateway, &gateway.namespace, &gateway.name) else { continue };
        let [(field, mut labels), _] = asked(gateway);
        if let (Some(name), Some(fields)) = (labels.remove(GATEWAY_NAME), carried(object, field)) {
            fields.insert(GATEWAY_NAME.to_owned(), name.into());
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "drops-infrastructure-annotations",
        summary: "Hands only the labels of spec.infrastructure on to what it makes for a Gateway, and no annotations.",
        clauses: &["upstream:GatewayInfrastructureMetadata", "OWN-34", "blind:GatewayInfrastructure.1"],
        seam: Seam::Objects(|| {
            make(|_, made| {
                made.iter_mut().filter_map(|made| carried(&mut made.object, "annotations")).for_each(Map::clear)
            })
        }),
    },
    Fault {
        name: "labels-the-service-alone",
        summary: "Hands spec.infrastructure on to the Service of a Gateway, and to nothing else that it makes for it.",
        clauses: &["upstream:GatewayInfrastructureMetadata", "OWN-34", "blind:GatewayInfrastructure.1"],
        seam: Seam::Objects(|| make(|seen, made| strip(seen, made, |kind| kind != "Service"))),
    },
    Fault {
        name: "labels-no-configuration",
        summary: "Hands spec.infrastructure on to all that it makes for a Gateway but to the ConfigMap.",
        clauses: &["OWN-34", "blind:GatewayInfrastructure.1"],
        seam: Seam::Objects(|| make(|seen, made| strip(seen, made, |kind| kind == "ConfigMap"))),
    },
    Fault {
        name: "forgets-infrastructure-that-is-gone",
        summary: "Leaves labels and annotations on what it made for a Gateway once spec.infrastructure is taken away altogether.",
        clauses: &["OWN-34", "blind:GatewayInfrastructure.1"],
        seam: Seam::Objects(|| {
            remembering(|before, now| {
                if now.keys().all(|name| name == GATEWAY_NAME) {
                    keep(before, now);
                }
            })
        }),
    },
    Fault {
        name: "shares-infrastructure-of-gateways",
        summary: "Hands what any Gateway of a namespace asks for on to what it makes for each of them.",
        clauses: &["OWN-35"],
        seam: Seam::Objects(|| make(share)),
    },
    Fault {
        name: "lets-labels-name-another-gateway",
        summary: "Lets spec.infrastructure replace the label that says which Gateway an object was made for.",
        clauses: &["OWN-35"],
        seam: Seam::Objects(|| make(rename)),
    },
];
