//! ListenerSets of which one listener lacks its certificate, and what becomes of the others and of the routes.

use std::collections::BTreeSet;

use gateproof_proxy::config::Config;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{has_reason, say, serve, set},
    },
    runtime::seams::Seen,
    snapshot::{Kind, ObjectKey},
    status::{DesiredStatus, ListenerStatus, StatusUpdate, Truth},
};

fn lacks_certificate(listener: &ListenerStatus) -> bool {
    has_reason(&listener.conditions, "ResolvedRefs", "InvalidCertificateRef")
}

/// The listeners of ListenerSets that lack their certificates: the set of each, and its name.
fn lacking(statuses: &[StatusUpdate]) -> BTreeSet<(ObjectKey, String)> {
    let mut found = BTreeSet::new();
    for update in statuses {
        let DesiredStatus::ListenerSet { listeners, .. } = &update.status else { continue };
        let names = listeners.iter().filter(|of| lacks_certificate(of)).map(|of| of.name.clone());
        found.extend(names.map(|name| (update.key.clone(), name)));
    }
    found
}

fn count_none(statuses: &mut [StatusUpdate]) {
    for update in statuses {
        let DesiredStatus::ListenerSet { listeners, .. } = &mut update.status else { continue };
        listeners.iter_mut().filter(|of| lacks_certificate(of)).for_each(|of| of.attached_routes = 0);
    }
}

/// Refuses the routes that name one of these listeners: the ListenerSet of each, and its name.
pub(super) fn refuse_routes(statuses: &mut [StatusUpdate], of_these: &BTreeSet<(ObjectKey, String)>, reason: &str) {
    for update in statuses {
        let DesiredStatus::Route { parents } = &mut update.status else { continue };
        for parent in parents.iter_mut().filter(|parent| parent.parent_ref.is_listener_set()) {
            let of = &parent.parent_ref;
            let set_of = ObjectKey::new(of.namespace.as_deref().unwrap_or(&update.key.namespace), &of.name);
            if of.section_name.as_ref().is_some_and(|name| of_these.contains(&(set_of, name.clone()))) {
                set(&mut parent.conditions, "Accepted", Truth::False, reason);
            }
        }
    }
}

/// Serves nothing of a ListenerSet of which a listener lacks its certificate.
fn stop_sets(seen: Seen<'_>, config: &mut Config) {
    let lacking = lacking(&seen.otherwise(|_| {}).statuses);
    let is_whole = |set: &ObjectKey| lacking.iter().all(|(of, _)| of != set);
    *config = seen.otherwise(|snapshot| snapshot.retain(Kind::ListenerSet, |set| is_whole(&set.key()))).config;
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "counts-no-routes-of-listener-sets-without-certificate",
            summary: "Counts no routes for a listener of a ListenerSet that lacks its certificate.",
            clauses: &["blind:Generic.13"],
            seam: Seam::Statuses(|| say(|_, statuses| count_none(statuses))),
        },
        reported: &["envoyproxy/gateway#9128", "lexfrei/cloudflare-tunnel-gateway-controller#333"],
    },
    Bug {
        fault: Fault {
            name: "refuses-routes-of-listener-sets-without-certificate",
            summary: "Refuses the routes of a listener of a ListenerSet that lacks its certificate.",
            clauses: &["IMPL-35"],
            seam: Seam::Statuses(|| {
                say(|_, statuses| {
                    let lacking = lacking(statuses);
                    refuse_routes(statuses, &lacking, "NoReadyListeners");
                })
            }),
        },
        reported: &["envoyproxy/gateway#9128"],
    },
    Bug {
        fault: Fault {
            name: "stops-listener-sets-without-certificate",
            summary: "Serves nothing of a ListenerSet of which one listener lacks its certificate.",
            clauses: &["blind:ListenerSetHTTPRouting.1"],
            seam: Seam::Config(|| serve(stop_sets)),
        },
        reported: &["envoyproxy/gateway#9012", "envoyproxy/gateway#8870"],
    },
];
