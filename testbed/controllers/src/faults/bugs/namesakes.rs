//! A Gateway and a ListenerSet that have one name.

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{is, listeners, say, set},
    },
    model::ParentRef,
    snapshot::{Kind, ObjectKey},
    status::{DesiredStatus, ListenerStatus, StatusUpdate, Truth},
};

/// The listeners of ListenerSets that lose against others.
pub(super) fn losers(statuses: &[StatusUpdate]) -> Vec<(ObjectKey, ListenerStatus)> {
    let sets = statuses.iter().filter_map(|update| match &update.status {
        DesiredStatus::ListenerSet { listeners, .. } => Some((&update.key, listeners)),
        _ => None,
    });
    let all = sets.flat_map(|(key, listeners)| listeners.iter().map(move |listener| (key.clone(), listener.clone())));
    all.filter(|(_, listener)| is(&listener.conditions, "Conflicted", Truth::True)).collect()
}

/// Says of a listener of a Gateway what is true of the one that has its name in the ListenerSet that has the Gateway's.
fn mistake_for_losers(statuses: &mut [StatusUpdate]) {
    let losers = losers(statuses);
    for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
        let key = update.key.clone();
        for listener in listeners(std::slice::from_mut(update)) {
            let Some((_, loser)) = losers.iter().find(|(of, one)| *of == key && one.name == listener.name) else {
                continue;
            };
            for condition in &loser.conditions {
                set(&mut listener.conditions, &condition.r#type, condition.status, &condition.reason);
            }
        }
    }
}

/// Leaves a route one entry for all parents of a name, whatever their kinds.
fn forget_kinds(statuses: &mut [StatusUpdate]) {
    let without_kind = |of: &ParentRef| ParentRef { group: None, kind: None, ..of.clone() };
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        let mut known = Vec::new();
        parents.retain(|parent| {
            let reference = without_kind(&parent.parent_ref);
            let is_new = !known.contains(&reference);
            known.push(reference);
            is_new
        });
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "mistakes-gateways-for-listener-sets",
            summary: "Says of a listener that it loses where one of that name does so in a ListenerSet that has the name of the Gateway.",
            clauses: &["upstream:ListenerSetHostnameConflict"],
            seam: Seam::Statuses(|| say(|_, statuses| mistake_for_losers(statuses))),
        },
        reported: &["istio/istio#61242"],
    },
    Bug {
        fault: Fault {
            name: "has-one-entry-for-parents-of-a-name",
            summary: "Publishes one entry of a route for a Gateway and a ListenerSet that have one name.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| say(|_, statuses| forget_kinds(statuses))),
        },
        reported: &["nginx/nginx-gateway-fabric#5678"],
    },
];
