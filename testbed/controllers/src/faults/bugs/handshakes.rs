//! Certificates and keys of the listeners of one port.

use gateproof_proxy::config::{Certificate, Config, Hostname, Protocol, TlsListener};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{has_reason, serve},
    },
    runtime::seams::Seen,
    snapshot::{Kind, ObjectKey},
    status::DesiredStatus,
};

/// The Gateways with a listener whose Secret is there and of no use.
fn spoilt(seen: Seen<'_>) -> Vec<ObjectKey> {
    let statuses = seen.otherwise(|_| {}).statuses.into_iter();
    let is_spoilt = |key: &ObjectKey, name: &str| {
        let gateway = seen.snapshot.get(Kind::Gateway, &key.namespace, &key.name)?;
        let listener = gateway.raw["spec"]["listeners"].as_array()?.iter().find(|listener| listener["name"] == name)?;
        let secret = listener["tls"]["certificateRefs"][0]["name"].as_str()?;
        seen.snapshot.get(Kind::Secret, &key.namespace, secret)
    };
    let gateways = statuses.filter_map(|update| match update.status {
        DesiredStatus::Gateway { listeners, .. } => Some((update.key, listeners)),
        _ => None,
    });
    let with_spoilt = gateways.filter(|(key, listeners)| {
        let mut bad = listeners.iter().filter(|of| has_reason(&of.conditions, "ResolvedRefs", "InvalidCertificateRef"));
        bad.any(|listener| is_spoilt(key, &listener.name).is_some())
    });
    with_spoilt.map(|(key, _)| key).collect()
}

/// The HTTPS listeners of every port, with the name of the port.
fn secure(config: &mut Config) -> impl Iterator<Item = (&str, &mut Vec<TlsListener>)> {
    config.listeners.iter_mut().filter_map(|lane| match &mut lane.protocol {
        Protocol::Https(tls) => Some((lane.id.as_str(), tls)),
        _ => None,
    })
}

/// Takes all certificates of a namespace away as long as one of its Gateways has a Secret that is of no use.
fn refuse_all(seen: Seen<'_>, config: &mut Config) {
    for key in spoilt(seen) {
        let prefix = format!("{}/", key.namespace);
        for (_, listeners) in secure(config).filter(|(id, _)| id.starts_with(&prefix)) {
            listeners.iter_mut().for_each(|listener| listener.certificates.clear());
        }
    }
}

/// Has every listener of a port choose among the certificates of all, those of exact hostnames first.
fn pool(listeners: &mut [TlsListener]) {
    let (exact, others): (Vec<&TlsListener>, Vec<&TlsListener>) =
        listeners.iter().partition(|listener| matches!(listener.virtual_host.hostname, Hostname::Exact(_)));
    let all: Vec<Certificate> = exact.into_iter().chain(others).flat_map(|of| of.certificates.clone()).collect();
    listeners.iter_mut().for_each(|listener| listener.certificates.clone_from(&all));
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "serves-no-tls-beside-a-spoilt-secret",
            summary: "Answers no handshake as long as a Gateway of the namespace has a Secret that is of no use.",
            clauses: &["GEP1364-18"],
            seam: Seam::Config(|| serve(refuse_all)),
        },
        reported: &["envoyproxy/gateway#9463", "envoyproxy/gateway#9473"],
    },
    Bug {
        fault: Fault {
            name: "presents-whatever-covers-the-name",
            summary: "Presents the certificate of another listener of the port that is for the server name too.",
            clauses: &["blind:HTTPRouteHTTPSListener.1"],
            seam: Seam::Config(|| serve(|_, config| secure(config).for_each(|(_, listeners)| pool(listeners)))),
        },
        reported: &["traefik/traefik#12742"],
    },
];
