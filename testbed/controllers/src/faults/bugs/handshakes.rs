//! Certificates and keys of the listeners of one port.

use gateproof_proxy::config::{Certificate, Config, Hostname, Protocol, TlsListener};
use rustls::crypto::ring;
use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject};
use webpki::{EndEntityCert, KeyUsage};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{has_reason, serve},
    },
    runtime::seams::{ConfigSeam, Seen},
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

/// Whether a certificate is presented before or after its time.
fn is_untimely(certificate: &Certificate) -> bool {
    let Ok(leaf) = CertificateDer::from_pem_slice(certificate.chain_pem.as_bytes()) else { return false };
    let Ok(leaf) = EndEntityCert::try_from(&leaf) else { return false };
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    // Nobody vouches for it here; that its time is wrong is found before that.
    let found = leaf.verify_for_usage(algorithms, &[], &[], UnixTime::now(), KeyUsage::server_auth(), None, None);
    matches!(found, Err(webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }))
}

/// Takes no change up as long as a certificate is presented before or after its time.
#[derive(Default)]
struct Stalls {
    /// All Gateways of its namespace, not only at its own port.
    merges: bool,
    last: Config,
}

impl ConfigSeam for Stalls {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        let is_untimely = |listeners: &[TlsListener]| listeners.iter().flat_map(|of| &of.certificates).any(is_untimely);
        let untimely = secure(config).filter(|(_, listeners)| is_untimely(listeners));
        let of = |id: &str| match id.split_once('/') {
            Some((namespace, _)) if self.merges => namespace.to_owned(),
            _ => id.to_owned(),
        };
        let stalled: Vec<String> = untimely.map(|(id, _)| of(id)).collect();
        for lane in &mut config.listeners {
            let is_stalled = stalled.contains(&of(&lane.id));
            let last = self.last.listeners.iter().find(|last| last.id == lane.id);
            if let Some(last) = last.filter(|_| is_stalled) {
                lane.clone_from(last);
            }
        }
        self.last.clone_from(config);
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "stalls-on-own-certificates-out-of-time",
            summary: "Takes no change of a port up as long as it has a certificate whose time is over or to come.",
            clauses: &["GEP1364-18"],
            seam: Seam::Config(|| Box::new(Stalls::default())),
        },
        reported: &["envoyproxy/gateway#9225"],
    },
    Bug {
        fault: Fault {
            name: "stalls-on-certificates-out-of-time",
            summary: "Takes no change up as long as a Gateway of the namespace has a certificate whose time is over or to come.",
            clauses: &["GEP1364-18"],
            seam: Seam::Config(|| Box::new(Stalls { merges: true, last: Config::default() })),
        },
        reported: &["envoyproxy/gateway#9225"],
    },
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
