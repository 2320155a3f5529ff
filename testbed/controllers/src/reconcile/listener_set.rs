//! What the statuses of ListenerSets say.

use super::{
    attach::Routes,
    gateway::{Gateway, programmed_listener},
    listener::Listener,
    sets::Set,
    verdict::Verdict,
};
use crate::{
    settings::Settings,
    snapshot::{Kind, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, StatusUpdate},
};

/// How many ListenerSets are attached to a Gateway: those that are accepted, whatever else is said of them.
pub(super) fn attached(gateway: &Gateway<'_>) -> usize {
    (0..gateway.sets.len()).filter(|set| accepted(gateway, *set).is_true()).count()
}

fn of_set<'g, 'a>(gateway: &'g Gateway<'a>, set: usize) -> impl Iterator<Item = (usize, &'g Listener<'a>)> {
    gateway.listeners.iter().enumerate().filter(move |(_, listener)| listener.set == Some(set))
}

/// A set is accepted for one listener that can be served, even if others cannot.
fn accepted(gateway: &Gateway<'_>, set: usize) -> Verdict {
    if !gateway.sets[set].is_let_in {
        let message =
            format!("allowedListeners of Gateway {} let no ListenerSet of this namespace in", gateway.object.key());
        return Verdict::no("NotAllowed", message);
    }
    if !gateway.accepted.is_true() {
        return Verdict::no("ParentNotAccepted", format!("Gateway {} is not accepted", gateway.object.key()));
    }
    let bad: Vec<&str> = of_set(gateway, set)
        .filter(|(_, listener)| !listener.is_valid())
        .map(|(_, listener)| listener.name())
        .collect();
    let message = || format!("listeners not valid: {}", bad.join(", "));
    if of_set(gateway, set).all(|(_, listener)| listener.unservable().is_some()) {
        Verdict::no("ListenersNotValid", message())
    } else if bad.is_empty() {
        Verdict::yes("Accepted", "The listeners are added to the Gateway")
    } else {
        Verdict::yes("ListenersNotValid", message())
    }
}

fn programmed(gateway: &Gateway<'_>, accepted: &Verdict, listeners: &[Verdict]) -> Verdict {
    if !accepted.is_true() {
        let reason = if accepted.reason == "ParentNotAccepted" { "ParentNotProgrammed" } else { accepted.reason };
        return Verdict::no(reason, &accepted.message);
    }
    if !gateway.placed.is_true() {
        return Verdict::no("ParentNotProgrammed", &gateway.placed.message);
    }
    if listeners.iter().any(Verdict::is_true) {
        return Verdict::yes("Programmed", "The data plane serves the listeners");
    }
    Verdict::unknown("Pending", "Waiting for the data plane")
}

/// What the data plane has reached for a listener, in the words that there are for those of ListenerSets.
fn programmed_entry(gateway: &Gateway<'_>, listener: &Listener<'_>, snapshot: &Snapshot) -> Verdict {
    let verdict = programmed_listener(gateway, listener, snapshot);
    match &listener.conflict {
        Some(conflict) => Verdict::no(conflict.reason, &conflict.message),
        None if verdict.is_false() => Verdict { reason: "Invalid", ..verdict },
        None => verdict,
    }
}

fn conditions(listener: &Listener<'_>, programmed: &Verdict) -> Vec<Condition> {
    let mut conditions = listener.conditions(programmed);
    for condition in &mut conditions {
        // A reason of Gateways that ListenerSets have not.
        if condition.r#type == "Accepted" && condition.reason == "UnsupportedValue" {
            condition.reason = "Invalid".into();
        }
    }
    conditions
}

/// Desired status of every ListenerSet of a Gateway in scope.
pub(crate) fn statuses(
    gateways: &[Gateway<'_>],
    routes: &Routes<'_>,
    snapshot: &Snapshot,
    settings: &Settings,
) -> Vec<StatusUpdate> {
    let mut statuses = Vec::new();
    for (index, gateway) in gateways.iter().enumerate() {
        for (set, Set { object, .. }) in gateway.sets.iter().enumerate() {
            let verdicts: Vec<Verdict> =
                of_set(gateway, set).map(|(_, listener)| programmed_entry(gateway, listener, snapshot)).collect();
            let accepted = accepted(gateway, set);
            let entry = |((at, listener), programmed): ((usize, &Listener<'_>), &Verdict)| ListenerStatus {
                name: listener.name().to_owned(),
                supported_kinds: listener.kinds.clone(),
                attached_routes: routes.attached(index, at),
                conditions: conditions(listener, programmed),
            };
            let update = StatusUpdate {
                kind: Kind::ListenerSet,
                key: object.key(),
                generation: object.meta.generation,
                controller_name: settings.controller_name.clone(),
                status: DesiredStatus::ListenerSet {
                    conditions: vec![
                        accepted.condition("Accepted"),
                        programmed(gateway, &accepted, &verdicts).condition("Programmed"),
                    ],
                    listeners: of_set(gateway, set).zip(&verdicts).map(entry).collect(),
                },
            };
            statuses.push(update.stamped());
        }
    }
    statuses
}
