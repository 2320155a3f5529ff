//! What is kept although it was changed or taken away, and what is said of too many.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{Memory, Remembering, drop_at, each, find, has_reason, is, listeners, parents, say, serve_past, set, view},
};
use crate::{
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{Kind, Snapshot},
    status::{Condition, StatusUpdate, Truth},
};

/// Goes on accepting routes of some kinds whose section is gone, until they are written.
struct KeepsSections {
    of: &'static [Kind],
    known: BTreeSet<(String, i64, String)>,
}

fn keep_sections(of: &'static [Kind]) -> Box<dyn StatusesSeam> {
    Box::new(KeepsSections { of, known: BTreeSet::new() })
}

impl StatusesSeam for KeepsSections {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| self.of.contains(&update.kind)) {
            let Some(route) = seen.snapshot.get(update.kind, &update.key.namespace, &update.key.name) else { continue };
            for parent in parents(std::slice::from_mut(update)) {
                let Some(section) = &parent.parent_ref.section_name else { continue };
                let key =
                    (route.meta.uid.clone(), route.meta.generation, format!("{} {section}", parent.parent_ref.name));
                if is(&parent.conditions, "Accepted", Truth::True) {
                    self.known.insert(key);
                } else if has_reason(&parent.conditions, "Accepted", "NoMatchingParent") && self.known.contains(&key) {
                    set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
                }
            }
        }
    }
}

/// Shows the kinds that listeners let in as they were when their Gateway was first seen.
fn keep_first_kinds(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::Gateway);
    snapshot.edit(Kind::Gateway, |gateway| {
        let text = |field: &str| gateway["metadata"][field].as_str().unwrap_or_default().to_owned();
        let Some(before) = first.get(Kind::Gateway, &text("namespace"), &text("name")) else { return };
        let known = before.raw.pointer("/spec/listeners").and_then(Value::as_array).cloned().unwrap_or_default();
        for listener in each(gateway, "/spec/listeners") {
            let Some(old) = known.iter().find(|one| one["name"] == listener["name"]) else { continue };
            match old.pointer("/allowedRoutes/kinds") {
                Some(kinds) => listener["allowedRoutes"]["kinds"] = kinds.clone(),
                None => drop_at(listener, "/allowedRoutes", "kinds"),
            }
        }
    });
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "keeps-kinds-that-listeners-let-in",
        summary: "Goes by the kinds of routes that a listener let in when its Gateway came.",
        clauses: &["GEP1364-35", "blind:HTTPRouteDisallowedKind.2"],
        seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_first_kinds))),
    },
    Fault {
        name: "keeps-protocols-of-listeners",
        summary: "Goes on speaking at the port of a listener what that spoke when its Gateway came.",
        clauses: &["upstream:GatewayModifyListeners", "blind:GatewayModifyListeners.2"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| memory.keep_first_of_listeners(snapshot, "protocol"))),
    },
    Fault {
        name: "keeps-patched-grants-as-they-were",
        summary: "Reads a ReferenceGrant once, and takes up no change of it.",
        clauses: &["IMPL-41"],
        seam: Seam::Snapshot(|| {
            Box::new(Remembering(Memory::default(), |memory, snapshot| {
                memory.keep_first(snapshot, Kind::ReferenceGrant);
            }))
        }),
    },
    Fault {
        name: "accepts-routes-of-renamed-listeners",
        summary: "Goes on saying Accepted=True of an HTTPRoute when the listener that it names has another name.",
        clauses: &["GEP1364-14"],
        seam: Seam::Statuses(|| keep_sections(&[Kind::HttpRoute])),
    },
    Fault {
        name: "accepts-streams-of-removed-listeners",
        summary: "Goes on saying Accepted=True of a TCPRoute or UDPRoute when the listener that it names is removed.",
        clauses: &["GEP1364-14"],
        seam: Seam::Statuses(|| keep_sections(&[Kind::TcpRoute, Kind::UdpRoute])),
    },
    Fault {
        name: "takes-kinds-of-other-groups",
        summary: "Compares the kinds that a listener allows without their API group.",
        clauses: &["upstream:GatewayInvalidRouteKind"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    for listener in each(gateway, "/spec/listeners") {
                        for kind in each(listener, "/allowedRoutes/kinds") {
                            kind["group"] = crate::model::GATEWAY_GROUP.into();
                        }
                    }
                });
            })
        }),
    },
    Fault {
        name: "says-that-all-listeners-overlap",
        summary: "Says OverlappingTLSConfig=True of every listener of a Gateway if two of them overlap.",
        clauses: &["GEP1364-16"],
        seam: Seam::Statuses(|| say(|_, statuses| statuses.iter_mut().for_each(overlap_all))),
    },
];

fn overlap_all(update: &mut StatusUpdate) {
    let overlap = |conditions: &mut Vec<Condition>| find(conditions, "OverlappingTLSConfig").cloned();
    let Some(found) = listeners(std::slice::from_mut(update)).find_map(|of| overlap(&mut of.conditions)) else {
        return;
    };
    for listener in listeners(std::slice::from_mut(update)) {
        if find(&mut listener.conditions, "OverlappingTLSConfig").is_none() {
            listener.conditions.push(found.clone());
        }
    }
}
