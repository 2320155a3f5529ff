//! What is left open about the statuses of ListenerSets.

use super::{Place, Variant, say::say};
use crate::{
    runtime::seams::{Seen, StatusesSeam},
    snapshot::{ObjectKey, Snapshot},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

/// Whether the condition of a type stands there with this reason.
fn has(conditions: &[Condition], r#type: &str, reason: &str) -> bool {
    conditions.iter().any(|one| one.r#type == r#type && one.reason == reason)
}

/// Decides nothing about the listeners of a ListenerSet that is not let in.
fn leave_pending(_: &Snapshot, update: &mut StatusUpdate) {
    let DesiredStatus::ListenerSet { conditions, listeners } = &mut update.status else { return };
    if !has(conditions, "Accepted", "NotAllowed") {
        return;
    }
    for condition in listeners.iter_mut().flat_map(|listener| &mut listener.conditions) {
        if ["Accepted", "Programmed"].contains(&&*condition.r#type) {
            condition.status = Truth::Unknown;
            condition.reason = "Pending".into();
        }
    }
}

fn say_no_conflicts(_: &Snapshot, update: &mut StatusUpdate) {
    let generation = update.generation;
    let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { return };
    for listener in listeners {
        if listener.conditions.iter().all(|one| one.r#type != "Conflicted") {
            let none = Condition::new("Conflicted", false, "NoConflicts", "No other listener is like this one");
            listener.conditions.push(Condition { observed_generation: Some(generation), ..none });
        }
    }
}

fn accept_in_part(_: &Snapshot, update: &mut StatusUpdate) {
    let DesiredStatus::ListenerSet { conditions, .. } = &mut update.status else { return };
    for condition in conditions.iter_mut().filter(|one| one.status == Truth::True && one.r#type == "Accepted") {
        condition.reason = "Accepted".into();
    }
}

/// Gives these reasons to the conditions of listeners that lost a conflict.
fn reason_of_losers(update: &mut StatusUpdate, reasons: &[(&str, &str)]) {
    let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { return };
    let is_lost = |one: &Condition| one.r#type == "Conflicted" && one.status == Truth::True;
    for listener in listeners.iter_mut().filter(|listener| listener.conditions.iter().any(is_lost)) {
        for condition in &mut listener.conditions {
            if let Some((_, reason)) = reasons.iter().find(|(r#type, _)| *r#type == condition.r#type) {
                condition.reason = (*reason).to_owned();
            }
        }
    }
}

fn say_ports_are_taken(_: &Snapshot, update: &mut StatusUpdate) {
    reason_of_losers(update, &[("Accepted", "PortUnavailable"), ("Programmed", "PortUnavailable")]);
}

fn say_listeners_conflict(_: &Snapshot, update: &mut StatusUpdate) {
    let reasons = [("Accepted", "ParentNotAccepted"), ("Programmed", "Invalid"), ("Conflicted", "ListenerConflict")];
    reason_of_losers(update, &reasons);
}

/// A ListenerSet with a listener that lacks its certificate is not accepted; what of it is good is served all the same.
struct RefusesWithoutCertificate;

impl StatusesSeam for RefusesWithoutCertificate {
    fn edit(&mut self, seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let mut without = Vec::new();
        for update in statuses.iter_mut() {
            let DesiredStatus::ListenerSet { conditions, listeners } = &mut update.status else { continue };
            let lacks = listeners.iter().any(|one| has(&one.conditions, "ResolvedRefs", "InvalidCertificateRef"));
            let set = seen.snapshot.listener_set(&update.key.namespace, &update.key.name).filter(|_| lacks);
            let Some((_, spec)) = set else { continue };
            if conditions.iter().any(|one| one.r#type == "Accepted" && one.status == Truth::True) {
                let namespace = spec.parent_ref.namespace.as_ref().unwrap_or(&update.key.namespace);
                without.push(ObjectKey::new(namespace, &spec.parent_ref.name));
            }
            for condition in conditions.iter_mut().filter(|one| ["Accepted", "Programmed"].contains(&&*one.r#type)) {
                condition.status = Truth::False;
                condition.reason = "ListenersNotValid".into();
            }
        }
        for update in statuses {
            if let DesiredStatus::Gateway { attached_listener_sets: Some(count), .. } = &mut update.status {
                *count -= without.iter().filter(|gateway| **gateway == update.key).count();
            }
        }
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "leaves-listeners-of-refused-listener-sets-pending",
        summary: "Says of the listeners of a ListenerSet that is not let in that they wait for the controller.",
        source: "ListenerEntryConditionAccepted and ListenerEntryConditionProgrammed: Unknown with Pending is a listed state, and what the \
                 listeners of a ListenerSet say that is not allowed is left open.",
        place: Place::Runtime(|seams| say(seams, leave_pending)),
    },
    Variant {
        name: "says-no-conflicts-of-listener-sets",
        summary: "Puts Conflicted=False on the listeners of ListenerSets that are in no conflict.",
        source: "ListenerEntryConditionConflicted: False with NoConflicts is listed beside leaving the condition out.",
        place: Place::Runtime(|seams| say(seams, say_no_conflicts)),
    },
    Variant {
        name: "says-ports-of-losing-listeners-are-taken",
        summary: "Says Accepted and Programmed=False/PortUnavailable of a listener of a ListenerSet that lost a conflict.",
        source: "ListenerEntryConditionAccepted and ListenerEntryConditionProgrammed: PortUnavailable is the listed reason for a port that is \
                 in use, and what GEP-1713 has in each case of a conflict that it goes through.",
        place: Place::Runtime(|seams| say(seams, say_ports_are_taken)),
    },
    Variant {
        name: "says-losing-listeners-conflict",
        summary: "Gives a listener of a ListenerSet that lost a conflict the reason ListenerConflict, and refuses it for its parent.",
        source: "ListenerEntryReasonListenerConflict: for a listener with the port and the hostname of another the reason should be this one; \
                 GEP-1713, Conflict Between a ListenerSet and the Parent Gateway: Accepted=False/ParentNotAccepted.",
        place: Place::Runtime(|seams| say(seams, say_listeners_conflict)),
    },
    Variant {
        name: "accepts-listener-sets-in-part-without-saying-so",
        summary: "Gives the reason Accepted to a ListenerSet that is accepted although some of its listeners are not.",
        source: "ListenerSetReasonListenersNotValid may be given with True where only some listeners are not valid; nothing says that it must.",
        place: Place::Runtime(|seams| say(seams, accept_in_part)),
    },
    Variant {
        name: "refuses-listener-sets-without-certificate",
        summary: "Refuses a ListenerSet as long as one of its listeners lacks its certificate.",
        source: "ListenerSetReasonListenersNotValid: whether a listener that is not valid keeps the whole ListenerSet from being accepted is \
                 left to the implementation.",
        place: Place::Runtime(|seams| seams.statuses.push(Box::new(RefusesWithoutCertificate))),
    },
];
