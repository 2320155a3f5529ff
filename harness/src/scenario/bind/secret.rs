//! Data of TLS Secrets, authorities, and certificates of backends.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType, date_time_ymd,
};
use serde_json::{Value, json};

use super::BindError;
use crate::log::{Authority, ClientCertificate};
use crate::scenario::CertificateDecl;

/// The data of a `kubernetes.io/tls` Secret with a fresh self-signed certificate for these hosts.
pub(super) fn tls(hosts: Vec<String>) -> Result<Value, BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let made = rcgen::generate_simple_self_signed(hosts).map_err(failed)?;
    Ok(json!({
        "tls.crt": STANDARD.encode(made.cert.pem()),
        "tls.key": STANDARD.encode(made.signing_key.serialize_pem()),
    }))
}

/// The data of a `kubernetes.io/tls` Secret with a fresh certificate of a client. What is bound again from a log has no key to sign
/// with, and nobody to show it to, so another authority does there.
pub(super) fn of_client(by: &Authority) -> Result<Value, BindError> {
    let decl = ClientCertificate { authority: String::new(), expired: false };
    let (chain, key) = if by.key.is_empty() { client(&decl, &authority()?)? } else { client(&decl, by)? };
    Ok(json!({"tls.crt": STANDARD.encode(chain), "tls.key": STANDARD.encode(key)}))
}

/// What all authorities are called: only the signature tells one from another.
const AUTHORITY: &str = "gateproof authority";

/// A fresh authority.
///
/// # Errors
/// If no key can be made.
pub fn authority() -> Result<Authority, BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = authority_params().self_signed(&key).map_err(failed)?;
    Ok(Authority { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, AUTHORITY);
    params
}

/// The certificate of a backend and its key, both in PEM.
///
/// # Errors
/// If it cannot be made, or the authority is one of an earlier run, whose key is not kept.
pub fn certificate(decl: &CertificateDecl, authority: &Authority) -> Result<(String, String), BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let mut params = CertificateParams::default();
    let name = |name: &String| match name.contains("://") {
        true => Ok(SanType::URI(name.as_str().try_into()?)),
        false => Ok(SanType::DnsName(name.as_str().try_into()?)),
    };
    params.subject_alt_names = decl.names.iter().map(name).collect::<Result<_, _>>().map_err(failed)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    signed(params, decl.expired, authority)
}

/// A certificate of a client and its key, both in PEM. It names nobody: that it is signed is all that counts.
///
/// # Errors
/// If it cannot be made, or the authority is one of an earlier run, whose key is not kept.
pub fn client(decl: &ClientCertificate, authority: &Authority) -> Result<(String, String), BindError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "gateproof client");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    signed(params, decl.expired, authority)
}

fn signed(mut params: CertificateParams, expired: bool, authority: &Authority) -> Result<(String, String), BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let issuer = Issuer::new(authority_params(), KeyPair::from_pem(&authority.key).map_err(failed)?);
    let key = KeyPair::generate().map_err(failed)?;
    if expired {
        (params.not_before, params.not_after) = (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1));
    }
    Ok((params.signed_by(&key, &issuer).map_err(failed)?.pem(), key.serialize_pem()))
}
