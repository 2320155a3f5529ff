//! Gateways, and what they refer to: that they come under any name, and go.

use std::{collections::BTreeSet, net::IpAddr};

use gateproof_proxy::config::{Config, Listener};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, Remembering, serve},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, ObjectKey, Snapshot},
};

/// What it puts behind the name of a Gateway, to name a Service of its own.
const SUFFIX: &str = "-svc";

/// How long the name of a Service may be.
const LONGEST: usize = 63;

/// Serves no Gateway whose Service would have a name that is too long. Longer names are cut before.
fn leave_no_room(seen: Seen<'_>, config: &mut Config) {
    for (gateway, _) in seen.snapshot.gateways() {
        let key = gateway.key();
        if key.name.len() <= LONGEST && key.name.len() + SUFFIX.len() > LONGEST {
            config.listeners.retain(|lane| !is_of(lane, &key));
        }
    }
}

/// Whether a port is one of that Gateway.
fn is_of(lane: &Listener, gateway: &ObjectKey) -> bool {
    lane.id.rsplit_once(':').is_some_and(|(of, _)| of == gateway.to_string())
}

/// Goes on seeing Secrets that are gone and that a Gateway of another namespace has a certificate from.
fn keep_far_secrets(memory: &mut Memory, snapshot: &mut Snapshot) {
    let far: BTreeSet<ObjectKey> = snapshot
        .gateways()
        .flat_map(|(gateway, spec)| {
            let references =
                spec.listeners.iter().filter_map(|of| of.tls.as_ref()).flat_map(|tls| &tls.certificate_refs);
            references.filter_map(|of| {
                let namespace = of.namespace.as_ref().filter(|namespace| **namespace != gateway.meta.namespace)?;
                Some(ObjectKey::new(namespace, &of.name))
            })
        })
        .collect();
    for secret in snapshot.all(Kind::Secret) {
        memory.objects.insert((Kind::Secret, secret.key()), secret.clone());
    }
    for ((_, key), secret) in &memory.objects {
        if far.contains(key) {
            snapshot.insert(Kind::Secret, secret.clone());
        }
    }
}

/// Goes on serving Gateways that were deleted, at the addresses that nobody else has been given since.
#[derive(Default)]
struct ServesDeleted(Vec<(ObjectKey, Listener)>);

impl ConfigSeam for ServesDeleted {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let is_there = |key: &ObjectKey| seen.snapshot.get(Kind::Gateway, &key.namespace, &key.name).is_some();
        let taken: BTreeSet<IpAddr> = config.listeners.iter().map(|lane| lane.address).collect();
        self.0.retain(|(key, lane)| !is_there(key) && !taken.contains(&lane.address));
        let deleted: Vec<Listener> = self.0.iter().map(|(_, lane)| lane.clone()).collect();
        for (gateway, _) in seen.snapshot.gateways() {
            let key = gateway.key();
            let own = config.listeners.iter().filter(|lane| is_of(lane, &key));
            self.0.extend(own.map(|lane| (key.clone(), lane.clone())));
        }
        config.listeners.extend(deleted);
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "leaves-no-room-for-a-suffix",
            summary: "Does not serve a Gateway whose name leaves no room for a suffix in the name of a Service.",
            clauses: &["OWN-14"],
            seam: Seam::Config(|| serve(leave_no_room)),
        },
        reported: &["istio/istio#58941"],
    },
    Bug {
        fault: Fault {
            name: "deaf-to-removal-of-secrets-elsewhere",
            summary: "Does not notice that a Secret is gone which a Gateway of another namespace has its certificate from.",
            clauses: &["GEP1364-37"],
            seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_far_secrets))),
        },
        reported: &["envoyproxy/gateway#588"],
    },
    Bug {
        fault: Fault {
            name: "serves-deleted-gateways",
            summary: "Goes on serving the listeners of a Gateway that was deleted.",
            clauses: &["OWN-15"],
            seam: Seam::Config(|| Box::<ServesDeleted>::default()),
        },
        reported: &["projectcontour/contour#3905"],
    },
];
