//! Listeners of ListenerSets that lose against others, and the routes that name them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Bug, namesakes::losers, set_certificates::refuse_routes};
use crate::{
    faults::{
        Fault, Seam,
        tools::{is, say},
    },
    runtime::seams::SnapshotSeam,
    snapshot::{Kind, ObjectKey, Snapshot},
    status::{DesiredStatus, StatusUpdate, Truth},
};

fn count_none(statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { continue };
        let lost = listeners.iter_mut().filter(|of| is(&of.conditions, "Conflicted", Truth::True));
        lost.for_each(|of| of.attached_routes = 0);
    }
}

fn refuse_all(statuses: &mut [StatusUpdate]) {
    let losers = losers(statuses).into_iter().map(|(set, of)| (set, of.name)).collect();
    refuse_routes(statuses, &losers, "NotAllowedByListeners");
}

/// What a listener claims of its Gateway: the Gateway, the port and the hostname.
type Claim = (ObjectKey, Option<u64>, Option<String>);

/// Leaves a listener out that a Gateway gets when a ListenerSet has its port and hostname.
#[derive(Default)]
struct FirstComeOfAll {
    /// By Gateways themselves.
    own: BTreeSet<Claim>,
    /// By their ListenerSets.
    added: BTreeSet<Claim>,
}

fn claim(gateway: &ObjectKey, listener: &Value) -> Claim {
    (gateway.clone(), listener["port"].as_u64(), listener["hostname"].as_str().map(str::to_owned))
}

fn claims(object: &Value, gateway: &ObjectKey) -> Vec<Claim> {
    let listeners = object.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
    listeners.map(|listener| claim(gateway, listener)).collect()
}

impl SnapshotSeam for FirstComeOfAll {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        let gateways: Vec<_> = snapshot.all(Kind::Gateway).map(|of| (of.key(), claims(&of.raw, &of.key()))).collect();
        let (added, known) = (&self.added, &self.own);
        let comes_late = |one: &Claim| added.contains(one) && !known.contains(one);
        snapshot.edit(Kind::Gateway, |gateway| {
            let text = |field: &str| gateway["metadata"][field].as_str().unwrap_or_default().to_owned();
            let key = ObjectKey::new(text("namespace"), text("name"));
            if let Some(listeners) = gateway.pointer_mut("/spec/listeners").and_then(Value::as_array_mut) {
                listeners.retain(|listener| !comes_late(&claim(&key, listener)));
            }
        });
        self.own = gateways.into_iter().flat_map(|(_, claims)| claims).filter(|one| !comes_late(one)).collect();
        let sets = snapshot.listener_sets().flat_map(|(set, spec)| {
            let namespace = spec.parent_ref.namespace.as_ref().unwrap_or(&set.meta.namespace);
            let gateway = ObjectKey::new(namespace, &spec.parent_ref.name);
            let is_there = snapshot.get(Kind::Gateway, &gateway.namespace, &gateway.name).is_some();
            if is_there { claims(&set.raw, &gateway) } else { Vec::new() }
        });
        self.added = sets.collect();
        snapshot
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "counts-no-routes-of-losing-listeners",
            summary: "Counts no routes for a listener of a ListenerSet that has lost, though it accepts them.",
            clauses: &["blind:Generic.13"],
            seam: Seam::Statuses(|| say(|_, statuses| count_none(statuses))),
        },
        reported: &["lexfrei/cloudflare-tunnel-gateway-controller#373"],
    },
    Bug {
        fault: Fault {
            name: "counts-refused-routes-of-losing-listeners",
            summary: "Refuses the routes of a listener of a ListenerSet that has lost, and counts them.",
            clauses: &["blind:Generic.13"],
            seam: Seam::Statuses(|| say(|_, statuses| refuse_all(statuses))),
        },
        reported: &["envoyproxy/gateway#9128"],
    },
    Bug {
        fault: Fault {
            name: "lets-listener-sets-keep-what-their-gateway-claims",
            summary: "Lets a ListenerSet keep a port and hostname that its Gateway comes to have later.",
            clauses: &["blind:ListenerSetHostnameConflict.2"],
            seam: Seam::Snapshot(|| Box::<FirstComeOfAll>::default()),
        },
        reported: &["envoyproxy/gateway#9767"],
    },
];
