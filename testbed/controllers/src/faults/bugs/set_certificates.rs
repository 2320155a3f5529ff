//! Certificates of ListenerSets: what becomes of the other listeners and of the routes where one lacks it, and those that their
//! Gateway has, too.

use std::{collections::BTreeSet, sync::Arc};

use gateproof_proxy::config::Config;

use super::{Bug, shared::secrets};
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, Remembering, each, has_reason, say, serve, serve_past, set},
    },
    runtime::seams::Seen,
    snapshot::{Kind, Object, ObjectKey, Snapshot},
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

/// Has ListenerSets see these Secrets of their namespaces, and nobody else.
fn show_to_sets(snapshot: &mut Snapshot, shown: Vec<Arc<Object>>) {
    for secret in shown {
        let ObjectKey { namespace, name } = secret.key();
        let other = format!("{name}-as-it-was");
        snapshot.edit(Kind::ListenerSet, |set| {
            if set["metadata"]["namespace"] != namespace.as_str() {
                return;
            }
            for reference in each(set, "/spec/listeners").flat_map(|of| each(of, "/tls/certificateRefs")) {
                if reference["namespace"].is_null() && reference["name"] == name.as_str() {
                    reference["name"] = other.clone().into();
                }
            }
        });
        let mut raw = (*secret.raw).clone();
        raw["metadata"]["name"] = other.into();
        // What could be read under its name can be read under another.
        let _ = snapshot.put(Kind::Secret, raw);
    }
}

fn secrets_of_gateways(snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    snapshot.gateways().flat_map(|(gateway, _)| secrets(&gateway.raw)).collect()
}

/// Shows Secrets that Gateways have certificates from to ListenerSets as they were first.
fn renew_for_gateways_alone(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::Secret);
    let of_gateways = secrets_of_gateways(snapshot);
    let now = |secret: &Object| snapshot.get(Kind::Secret, &secret.meta.namespace, &secret.meta.name);
    let is_renewed = |secret: &&Arc<Object>| {
        of_gateways.contains(&secret.key()) && now(secret).is_some_and(|now| now.raw["data"] != secret.raw["data"])
    };
    let renewed = first.all(Kind::Secret).filter(is_renewed).cloned().collect();
    show_to_sets(snapshot, renewed);
}

/// Goes on showing Secrets that are gone, and that Gateways have certificates from, to ListenerSets.
fn keep_for_sets(memory: &mut Memory, snapshot: &mut Snapshot) {
    for secret in snapshot.all(Kind::Secret) {
        memory.objects.insert((Kind::Secret, secret.key()), Arc::clone(secret));
    }
    let of_gateways = secrets_of_gateways(snapshot);
    let is_kept =
        |key: &ObjectKey| of_gateways.contains(key) && snapshot.get(Kind::Secret, &key.namespace, &key.name).is_none();
    let kept = memory.objects.iter().filter(|((_, key), _)| is_kept(key)).map(|(_, secret)| Arc::clone(secret));
    let kept = kept.collect();
    show_to_sets(snapshot, kept);
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
    Bug {
        fault: Fault {
            name: "renews-shared-certificates-at-gateways-alone",
            summary: "Goes on presenting at ListenerSets what a Secret held first from which a Gateway has its certificate, too.",
            clauses: &["blind:HTTPRouteHTTPSListener.2"],
            seam: Seam::Config(|| serve_past(renew_for_gateways_alone)),
        },
        reported: &["cilium/cilium#47627"],
    },
    Bug {
        fault: Fault {
            name: "deaf-to-removal-of-secrets-shared-with-gateways",
            summary: "Does not notice at ListenerSets that a Secret is gone from which a Gateway has its certificate, too.",
            clauses: &["GEP1364-37"],
            seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_for_sets))),
        },
        reported: &["cilium/cilium#47627"],
    },
];
