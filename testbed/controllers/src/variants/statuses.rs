//! Statuses that say the same in another form.

use std::collections::BTreeSet;

use super::{Place, Variant};
use crate::{
    runtime::seams::{Seams, Seen, StatusesSeam},
    settings::CONTROLLER_NAME,
    snapshot::Kind,
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

/// A change of every status, without memory.
struct Say(fn(&mut StatusUpdate));

impl StatusesSeam for Say {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        statuses.iter_mut().for_each(self.0);
    }
}

fn say(seams: &mut Seams, change: fn(&mut StatusUpdate)) {
    seams.statuses.push(Box::new(Say(change)));
}

/// Clears the status of what was a Gateway of ours once.
#[derive(Default)]
struct Clears {
    /// UIDs of the Gateways that were ours.
    known: BTreeSet<String>,
}

impl StatusesSeam for Clears {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for gateway in seen.snapshot.all(Kind::Gateway) {
            let (key, uid) = (gateway.key(), &gateway.meta.uid);
            if statuses.iter().any(|update| update.kind == Kind::Gateway && update.key == key) {
                self.known.insert(uid.clone());
            } else if self.known.contains(uid) {
                let (conditions, addresses, listeners) = (Vec::new(), Vec::new(), Vec::new());
                statuses.push(StatusUpdate {
                    kind: Kind::Gateway,
                    key,
                    generation: gateway.meta.generation,
                    controller_name: CONTROLLER_NAME.to_owned(),
                    status: DesiredStatus::Gateway { conditions, addresses, listeners, attached_listener_sets: None },
                });
            }
        }
    }
}

/// Says beside `Accepted`, under the name that it once had, the same or the opposite.
fn also(conditions: &mut Vec<Condition>, r#type: &str, opposite: bool) {
    let Some(accepted) = conditions.iter().find(|one| one.r#type == "Accepted").cloned() else { return };
    let status = match accepted.status {
        Truth::True if opposite => Truth::False,
        Truth::False if opposite => Truth::True,
        same => same,
    };
    conditions.push(Condition { r#type: r#type.to_owned(), status, ..accepted });
}

/// Conditions that are True where something is wrong.
const NEGATIVE: [&str; 3] = ["Conflicted", "PartiallyInvalid", "OverlappingTLSConfig"];
/// Features that are core where they apply.
const CORE: [&str; 4] = ["Gateway", "GRPCRoute", "HTTPRoute", "ReferenceGrant"];

/// What is put behind every message. The start of some has a meaning of its own.
const REMARK: &str = " (as far as this controller knows)";

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "orders-conditions-otherwise",
        summary: "Puts the conditions of every new list in the opposite order.",
        source: "Kubernetes API conventions: conditions are a map by type, so their order says nothing.",
        place: Place::Runtime(|seams| {
            say(seams, |update| update.condition_lists().into_iter().for_each(|list| list.reverse()))
        }),
    },
    Variant {
        name: "words-messages-otherwise",
        summary: "Adds a remark to the message of every condition.",
        source: "Kubernetes API conventions: messages are for people, and nothing may depend on their words.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                for condition in update.condition_lists().into_iter().flatten() {
                    condition.message.push_str(REMARK);
                }
            });
        }),
    },
    Variant {
        name: "adds-own-conditions",
        summary: "Puts a condition of its own type beside the others in every list.",
        source: "GEP-1364 (GEP1364-19): implementations may have condition types of their own, with a domain.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                let generation = update.generation;
                for list in update.condition_lists() {
                    let own = Condition::new("reference.gateproof.dev/Synced", true, "Synced", "It is taken up");
                    list.push(Condition { observed_generation: Some(generation), ..own });
                }
            });
        }),
    },
    Variant {
        name: "lists-parents-in-reverse",
        summary: "Puts new entries of status.parents in the opposite order of the route's parentRefs.",
        source: "RouteStatus.parents: entries name their parent; nothing is said of their order.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                if let DesiredStatus::Route { parents } = &mut update.status {
                    parents.reverse();
                }
            });
        }),
    },
    Variant {
        name: "spells-namespaces-of-parents-out",
        summary: "Names the namespace of the parent in every entry of a route, though the route leaves it to be its own.",
        source: "ParentReference.namespace: when unspecified it is the local namespace of the route, so both say the same.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                let own = &update.key.namespace;
                if let DesiredStatus::Route { parents } = &mut update.status {
                    for entry in parents {
                        entry.parent_ref.namespace.get_or_insert_with(|| own.clone());
                    }
                }
            });
        }),
    },
    Variant {
        name: "orders-listeners-otherwise",
        summary: "Puts the entries of status.listeners, and the kinds in each, in the opposite order.",
        source: "GatewayStatus.listeners is a map by name, and nothing is said of the order of kinds.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                if let DesiredStatus::Gateway { listeners, .. } = &mut update.status {
                    listeners.reverse();
                    listeners.iter_mut().for_each(|listener| listener.supported_kinds.reverse());
                }
            });
        }),
    },
    Variant {
        name: "says-nothing-when-all-is-well",
        summary: "Leaves the message of every condition that is True empty.",
        source: "Kubernetes API conventions: the message of a condition may be an empty string.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                let all = update.condition_lists().into_iter().flatten();
                all.filter(|one| one.status == Truth::True && !NEGATIVE.contains(&&*one.r#type))
                    .for_each(|one| one.message.clear());
            })
        }),
    },
    Variant {
        name: "words-messages-at-length",
        summary: "Writes some four thousand characters into the message of every condition.",
        source: "Kubernetes API conventions: a message has up to 32,768 characters.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                for condition in update.condition_lists().into_iter().flatten() {
                    condition.message.push_str(&REMARK.repeat(100));
                }
            });
        }),
    },
    Variant {
        name: "says-that-nothing-conflicts",
        summary: "Says Conflicted=False/NoConflicts of every listener that conflicts with none.",
        source: "Listener conditions, Conflicted: NoConflicts is the listed reason of False; a controller may leave the condition out or write it.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                let generation = update.generation;
                let DesiredStatus::Gateway { listeners, .. } = &mut update.status else { return };
                for listener in listeners {
                    if listener.conditions.iter().all(|one| one.r#type != "Conflicted") {
                        let new = Condition::new("Conflicted", false, "NoConflicts", "No other listener is in its way");
                        listener.conditions.push(Condition { observed_generation: Some(generation), ..new });
                    }
                }
            });
        }),
    },
    Variant {
        name: "keeps-replaced-types",
        summary: "Says Scheduled of every Gateway and Detached of every listener beside Accepted.",
        source: "GEP-1364 (GEP1364-01, GEP1364-20): old types may stand beside those that replaced them.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                if let DesiredStatus::Gateway { conditions, listeners, .. } = &mut update.status {
                    also(conditions, "Scheduled", false);
                    listeners.iter_mut().for_each(|listener| also(&mut listener.conditions, "Detached", true));
                }
            });
        }),
    },
    Variant {
        name: "clears-statuses-of-gateways-that-left",
        summary: "Takes its conditions, addresses and listeners off a Gateway that went over to another class.",
        source: "Implementer's guide (IMPL-33): an implementation may clear the status of a Gateway that it no longer handles.",
        place: Place::Runtime(|seams| seams.statuses.push(Box::<Clears>::default())),
    },
    Variant {
        name: "claims-core-alone",
        summary: "Claims the core features of Gateway, HTTPRoute, GRPCRoute and ReferenceGrant and no other.",
        source: "GatewayClassStatus.supportedFeatures and the implementer's guide (IMPL-15): what is not core may be left out.",
        place: Place::Runtime(|seams| {
            say(seams, |update| {
                if let DesiredStatus::GatewayClass { supported_features, .. } = &mut update.status {
                    supported_features.retain(|name| CORE.contains(&&**name));
                }
            });
        }),
    },
];
