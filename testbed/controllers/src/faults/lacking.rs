//! What an implementation does wrong about TLS modes that it neither claims nor serves. These make a difference only where it
//! does without them.

use super::{
    Fault, Seam,
    tools::{listeners, say, serve},
};
use crate::{
    reconcile::Outcome,
    runtime::seams::Seen,
    snapshot::Kind,
    status::{DesiredStatus, ListenerStatus, StatusUpdate},
};

/// The listeners of Gateways that would say something else if nothing were lacking, each with what that would be.
fn with_otherwise(
    seen: Seen<'_>,
    statuses: &mut [StatusUpdate],
    mut change: impl FnMut(&StatusUpdate, &mut ListenerStatus, ListenerStatus),
) {
    for mut otherwise in seen.lacking_nothing().statuses {
        let Some(update) = statuses.iter_mut().find(|one| (one.kind, &one.key) == (otherwise.kind, &otherwise.key))
        else {
            continue;
        };
        let whose = update.clone();
        let pairs = listeners(std::slice::from_mut(update)).zip(listeners(std::slice::from_mut(&mut otherwise)));
        for (listener, other) in pairs.filter(|(listener, other)| listener.conditions != other.conditions) {
            change(&whose, listener, other.clone());
        }
    }
}

/// Whether two listeners of a Gateway conflict for their TLS modes alone, and this is the first of them.
fn wins(seen: Seen<'_>, gateway: &StatusUpdate, listener: &ListenerStatus) -> bool {
    let first = first_of_conflict(seen, gateway);
    first.as_deref() == Some(&*listener.name)
}

fn first_of_conflict(seen: Seen<'_>, gateway: &StatusUpdate) -> Option<String> {
    let DesiredStatus::Gateway { listeners: ours, .. } = &gateway.status else { return None };
    let otherwise =
        seen.lacking_nothing().statuses.into_iter().find(|one| (one.kind, &one.key) == (gateway.kind, &gateway.key));
    let Some(DesiredStatus::Gateway { listeners: free, .. }) = otherwise.map(|one| one.status) else { return None };
    let is_conflict = |one: &ListenerStatus| one.conditions.iter().any(|condition| condition.r#type == "Conflicted");
    let lost = ours.iter().zip(&free).find(|(one, other)| is_conflict(one) && !is_conflict(other));
    lost.map(|(one, _)| one.name.clone())
}

/// What would follow if of listeners in conflict for their TLS modes there were the first one only.
fn without_losers(seen: Seen<'_>, statuses: &[StatusUpdate]) -> Outcome {
    let winners: Vec<_> =
        statuses.iter().filter_map(|one| Some((one.key.clone(), first_of_conflict(seen, one)?))).collect();
    seen.otherwise(|snapshot| {
        snapshot.edit(Kind::Gateway, |gateway| {
            let of = |(key, _): &&(crate::snapshot::ObjectKey, String)| {
                gateway["metadata"]["namespace"] == *key.namespace && gateway["metadata"]["name"] == *key.name
            };
            let Some(winner) = winners.iter().find(of).map(|(_, winner)| winner.clone()) else { return };
            let Some(all) = gateway.pointer_mut("/spec/listeners").and_then(serde_json::Value::as_array_mut) else {
                return;
            };
            let port = all.iter().find(|one| one["name"] == *winner).map(|one| one["port"].clone());
            all.retain(|one| one["name"] == *winner || Some(&one["port"]) != port.as_ref());
        });
    })
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "accepts-tls-modes-that-it-lacks",
        summary: "Accepts listeners of TLS modes that it neither claims nor serves.",
        clauses: &[
            "upstream:TLSRouteListenerTerminateNotSupported",
            "upstream:TLSRouteListenerMixedTerminationNotSupported",
            "GEP1364-35",
            "GEP1364-39",
        ],
        seam: Seam::Statuses(|| say(|seen, statuses| with_otherwise(seen, statuses, |_, one, other| *one = other))),
    },
    Fault {
        name: "lists-kinds-of-tls-modes-that-it-lacks",
        summary: "Lists TLSRoute among the kinds of a listener whose TLS mode it does without.",
        clauses: &["upstream:TLSRouteListenerTerminateNotSupported"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                with_otherwise(seen, statuses, |_, one, other| one.supported_kinds = other.supported_kinds);
            })
        }),
    },
    Fault {
        name: "serves-tls-modes-that-it-lacks",
        summary: "Serves listeners that it refuses for a TLS mode that it does not claim.",
        clauses: &["GEP1364-35"],
        seam: Seam::Config(|| serve(|seen, config| *config = seen.lacking_nothing().config)),
    },
    Fault {
        name: "lets-the-first-tls-mode-win",
        summary: "Does without both TLS modes on one port, and takes the first listener of two that differ in it.",
        clauses: &["upstream:TLSRouteListenerMixedTerminationNotSupported"],
        seam: Seam::Several(&[
            Seam::Statuses(|| {
                say(|seen, statuses| {
                    with_otherwise(seen, statuses, |gateway, one, other| {
                        if wins(seen, gateway, one) {
                            *one = other;
                        }
                    });
                })
            }),
            Seam::Config(|| {
                serve(|seen, config| {
                    let statuses = seen.otherwise(|_| {}).statuses;
                    *config = without_losers(seen, &statuses).config;
                })
            }),
        ]),
    },
];
