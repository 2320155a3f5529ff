//! What the statuses of Gateways say.

use super::{
    attach::Routes,
    gateway::{Gateway, programmed_listener},
    installed,
    listener::Listener,
    listener_set,
    verdict::{Verdict, resolved_refs},
};
use crate::{
    settings::Settings,
    snapshot::{Kind, Snapshot},
    status::{Condition, DesiredStatus, ListenerStatus, StatusUpdate},
};

fn programmed(gateway: &Gateway<'_>, listeners: &[Verdict]) -> Verdict {
    if !gateway.accepted.is_true() {
        return Verdict::no("Invalid", &gateway.accepted.message);
    }
    if !gateway.placed.is_true() {
        return gateway.placed.clone();
    }
    if listeners.iter().any(Verdict::is_true) {
        return Verdict::yes("Programmed", "The data plane serves the Gateway");
    }
    match listeners.iter().find(|verdict| !verdict.is_false()) {
        Some(pending) => pending.clone(),
        None => Verdict::no("Invalid", "No listener can be served"),
    }
}

/// Desired status of every Gateway in scope.
pub(crate) fn statuses(
    gateways: &[Gateway<'_>],
    routes: &Routes<'_>,
    snapshot: &Snapshot,
    settings: &Settings,
) -> Vec<StatusUpdate> {
    // Older releases know no such condition.
    let says_resolved = installed::is_since(snapshot, 5);
    let says_assigned = installed::is_since(snapshot, 7);
    let counts_sets = installed::is_served(snapshot, Kind::ListenerSet);
    let status = |(index, gateway): (usize, &Gateway<'_>)| {
        let own: Vec<&Listener<'_>> = gateway.listeners.iter().filter(|listener| listener.set.is_none()).collect();
        let verdicts: Vec<Verdict> =
            own.iter().map(|listener| programmed_listener(gateway, listener, snapshot)).collect();
        let listeners = own.iter().zip(&verdicts).enumerate().map(|(at, (listener, programmed))| ListenerStatus {
            name: listener.name().to_owned(),
            supported_kinds: listener.kinds.clone(),
            attached_routes: routes.attached(index, at),
            conditions: listener.conditions(programmed),
        });
        StatusUpdate {
            kind: Kind::Gateway,
            key: gateway.object.key(),
            generation: gateway.object.meta.generation,
            controller_name: settings.controller_name.clone(),
            status: DesiredStatus::Gateway {
                conditions: [
                    Some(gateway.accepted.condition("Accepted")),
                    Some(programmed(gateway, &verdicts).condition("Programmed")),
                    says_assigned.then(|| gateway.assigned.condition("AddressesAssigned")),
                    gateway.client.as_ref().filter(|_| says_resolved).map(|client| {
                        let problems = client.as_ref().err().map(std::slice::from_ref).unwrap_or_default();
                        resolved_refs(problems).condition("ResolvedRefs")
                    }),
                    gateway.falls_back.then(|| {
                        let why = "A mode lets clients through that show no valid certificate";
                        Condition::new("InsecureFrontendValidationMode", true, "ConfigurationChanged", why)
                    }),
                ]
                .into_iter()
                .flatten()
                .collect(),
                addresses: gateway.addresses.iter().map(|address| gateway.published(*address, settings)).collect(),
                listeners: listeners.collect(),
                attached_listener_sets: counts_sets.then(|| listener_set::attached(gateway)),
            },
        }
        .stamped()
    };
    gateways.iter().enumerate().map(status).collect()
}
