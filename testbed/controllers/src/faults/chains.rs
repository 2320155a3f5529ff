//! What is presented of a Secret that holds more than a certificate of its own, or one with another sort of key.

use base64::{Engine, engine::general_purpose::STANDARD};
use gateproof_proxy::config::{Admits, Authorities, Certificate};
use rustls_pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::Value;

use super::{
    Fault, Seam,
    clients::{admit, https},
    policies::encrypted,
    tls::streams,
    tools::{serve, view},
};
use crate::snapshot::{Kind, Snapshot};

/// Where the first certificate of a chain ends.
const END: &str = "-----END CERTIFICATE-----\n";

/// `rsaEncryption` (RFC 8017, A.1) as keys have it.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Leaves the first certificate of a chain.
fn cut(certificate: &mut Certificate) {
    if let Some(end) = certificate.chain_pem.find(END) {
        certificate.chain_pem.truncate(end + END.len());
    }
}

/// Spoils the keys of RSA.
fn without_rsa(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::Secret, |secret| {
        let key = secret["data"]["tls.key"].as_str().and_then(|key| STANDARD.decode(key).ok());
        let key = key.and_then(|key| PrivatePkcs8KeyDer::from_pem_slice(&key).ok());
        if key.is_some_and(|key| key.secret_pkcs8_der().windows(RSA.len()).any(|part| part == RSA)) {
            secret["data"]["tls.key"] = Value::from(STANDARD.encode("of no use"));
        }
    });
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "presents-certificates-alone",
        summary: "Presents the first certificate of a Secret without those behind it, on listeners of HTTPS.",
        clauses: &["OWN-36"],
        seam: Seam::Config(|| serve(|_, config| https(config).flat_map(|one| &mut one.certificates).for_each(cut))),
    },
    Fault {
        name: "presents-certificates-alone-to-streams",
        summary: "Presents the first certificate of a Secret without those behind it, on listeners of TLS.",
        clauses: &["OWN-36"],
        seam: Seam::Config(|| {
            serve(|_, config| streams(config).filter_map(|one| one.certificates.as_mut()).flatten().for_each(cut))
        }),
    },
    Fault {
        name: "takes-no-keys-of-rsa",
        summary: "Takes a Secret for malformed whose key is one of RSA.",
        clauses: &["OWN-36"],
        seam: Seam::Snapshot(|| view(without_rsa)),
    },
    Fault {
        name: "takes-no-authorities-between-from-clients",
        summary: "Takes no notice of what a client shows behind its certificate.",
        clauses: &["OWN-37"],
        seam: Seam::Config(|| serve(|_, config| admit(config, Admits::SignedByThem))),
    },
    Fault {
        name: "takes-no-authorities-between-from-backends",
        summary: "Takes no notice of what a backend shows behind its certificate.",
        clauses: &["OWN-38"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for tls in encrypted(config) {
                    if let Authorities::Pem(pem) = &tls.authorities {
                        tls.authorities = Authorities::Signers(pem.clone());
                    }
                }
            })
        }),
    },
];
