//! Data of TLS Secrets, authorities, and certificates of backends.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType, date_time_ymd,
};
use serde_json::{Value, json};

use super::super::template::{Tls, Validity};
use super::BindError;
use crate::log::{Authority, Chain, ClientCertificate};
use crate::scenario::CertificateDecl;

/// The key of all certificates with one of RSA: making one takes seconds, and it guards nothing.
const RSA: &str = include_str!("rsa.pem");

/// The data of a `kubernetes.io/tls` Secret with a fresh certificate for these hosts. It is signed by itself, or by an
/// authority of this one, whose certificate stands behind it.
pub(super) fn tls(hosts: Vec<String>, like: &Tls, by: Option<&Authority>) -> Result<Value, BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let mut params = CertificateParams::new(hosts).map_err(failed)?;
    valid(&mut params, like.validity);
    let key = if like.is_rsa { KeyPair::from_pem(RSA) } else { KeyPair::generate() }.map_err(failed)?;
    let chain = match by {
        None => params.self_signed(&key).map_err(failed)?.pem(),
        Some(by) => {
            let (issuer, certificate) = between(able(by)?.as_ref())?;
            by_another(params).signed_by(&key, &issuer).map_err(failed)?.pem() + &certificate
        }
    };
    Ok(json!({"tls.crt": STANDARD.encode(chain), "tls.key": STANDARD.encode(key.serialize_pem())}))
}

/// The data of a `kubernetes.io/tls` Secret with a fresh certificate of a client, which may have a name.
pub(super) fn of_client(by: &Authority, name: Option<&str>) -> Result<Value, BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let mut params = client_params();
    let names = name.map(|name| Ok(SanType::DnsName(name.try_into()?))).into_iter();
    params.subject_alt_names = names.collect::<Result<_, _>>().map_err(failed)?;
    let (chain, key) = signed(params, Validity::Now, Chain::Direct, able(by)?.as_ref())?;
    Ok(json!({"tls.crt": STANDARD.encode(chain), "tls.key": STANDARD.encode(key)}))
}

/// An authority that can sign. What is bound again from a log has no key for that, and nobody to show anything to, so
/// another one does there.
fn able(by: &Authority) -> Result<Cow<'_, Authority>, BindError> {
    if by.key.is_empty() { authority().map(Cow::Owned) } else { Ok(Cow::Borrowed(by)) }
}

/// What all authorities are called: only the signature tells one from another.
const AUTHORITY: &str = "gateproof authority";

/// What those are called that stand between them and what they sign.
const BETWEEN: &str = "gateproof authority between";

/// A fresh authority.
///
/// # Errors
/// If no key can be made.
pub fn authority() -> Result<Authority, BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = authority_params(AUTHORITY).self_signed(&key).map_err(failed)?;
    Ok(Authority { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
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
    if let Some(name) = &decl.common_name {
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    signed(params, validity(decl.expired, decl.future), decl.chain, authority)
}

/// A certificate of a client and its key, both in PEM. It names nobody: that it is signed is all that counts.
///
/// # Errors
/// If it cannot be made, or the authority is one of an earlier run, whose key is not kept.
pub fn client(decl: &ClientCertificate, authority: &Authority) -> Result<(String, String), BindError> {
    signed(client_params(), validity(decl.expired, decl.future), decl.chain, authority)
}

fn client_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "gateproof client");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

fn validity(is_over: bool, is_to_come: bool) -> Validity {
    match (is_over, is_to_come) {
        (true, _) => Validity::Over,
        (false, true) => Validity::ToCome,
        (false, false) => Validity::Now,
    }
}

fn signed(
    mut params: CertificateParams,
    validity: Validity,
    chain: Chain,
    authority: &Authority,
) -> Result<(String, String), BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    valid(&mut params, validity);
    let (issuer, behind) = match chain {
        Chain::Direct => (issuer(authority)?, String::new()),
        Chain::Whole => between(authority)?,
        Chain::Cut => (between(authority)?.0, String::new()),
    };
    Ok((by_another(params).signed_by(&key, &issuer).map_err(failed)?.pem() + &behind, key.serialize_pem()))
}

/// A fresh authority that this one has signed, as it signs, and its certificate in PEM. Nobody has seen it before, so
/// who is not shown it has no way to know it.
fn between(authority: &Authority) -> Result<(Issuer<'static, KeyPair>, String), BindError> {
    let failed = |error: rcgen::Error| BindError::Certificate(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = by_another(authority_params(BETWEEN)).signed_by(&key, &issuer(authority)?).map_err(failed)?;
    Ok((Issuer::new(authority_params(BETWEEN), key), certificate.pem()))
}

/// As every authority has to (RFC 5280, 4.2.1.1), it says whose key signs. Of authorities of one name, many a library tries no other
/// than the first that this fits.
fn by_another(mut params: CertificateParams) -> CertificateParams {
    params.use_authority_key_identifier_extension = true;
    params
}

/// What an authority signs with.
fn issuer(authority: &Authority) -> Result<Issuer<'static, KeyPair>, BindError> {
    let key = KeyPair::from_pem(&authority.key).map_err(|error| BindError::Certificate(error.to_string()))?;
    Ok(Issuer::new(authority_params(AUTHORITY), key))
}

/// Sets when a certificate is valid.
fn valid(params: &mut CertificateParams, when: Validity) {
    let years = match when {
        Validity::Now => return,
        Validity::Over => (2000, 2001),
        Validity::ToCome => (2099, 2100),
    };
    (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;
    use rustls::crypto::ring;
    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
    use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

    use super::*;

    fn bytes(data: &Value, key: &str) -> Vec<u8> {
        STANDARD.decode(data[key].as_str().unwrap()).unwrap()
    }

    /// What a client that knows the authority alone finds, and how many certificates there are.
    #[rstest]
    #[case::now(Validity::Now, false, "Ok")]
    #[case::rsa(Validity::Now, true, "Ok")]
    #[case::over(Validity::Over, false, "Err(CertExpired")]
    #[case::to_come(Validity::ToCome, false, "Err(CertNotValidYet")]
    fn chains_lead_to_their_authority(#[case] validity: Validity, #[case] is_rsa: bool, #[case] found: &str) {
        let _ = ring::default_provider().install_default();
        let by = authority().unwrap();
        let like = Tls { is_signed: true, is_rsa, validity, ..Tls::default() };
        let data = tls(vec!["a.test".to_owned()], &like, Some(&by)).unwrap();
        let chain: Vec<CertificateDer<'_>> =
            CertificateDer::pem_slice_iter(&bytes(&data, "tls.crt")).collect::<Result<_, _>>().unwrap();
        let [leaf, between] = &chain[..] else { panic!("{}", chain.len()) };
        let root = CertificateDer::from_pem_slice(by.certificate.as_bytes()).unwrap();
        let (anchors, end) = ([anchor_from_trusted_cert(&root).unwrap()], EndEntityCert::try_from(leaf).unwrap());
        let verified = |between: &[CertificateDer<'_>]| {
            let algorithms = ring::default_provider().signature_verification_algorithms.all;
            let usage = KeyUsage::server_auth();
            end.verify_for_usage(algorithms, &anchors, between, UnixTime::now(), usage, None, None).map(drop)
        };
        assert!(format!("{:?}", verified(std::slice::from_ref(between))).starts_with(found));
        assert!(verified(&[]).is_err());
        let key = PrivateKeyDer::from_pem_slice(&bytes(&data, "tls.key")).unwrap();
        let pair = rustls::sign::CertifiedKey::from_der(chain, key, &ring::default_provider()).unwrap();
        assert_eq!(pair.key.algorithm() == rustls::SignatureAlgorithm::RSA, is_rsa);
    }

    /// The number of the key in the certificate that follows this in DER.
    fn key_after(certificate: &CertificateDer<'_>, before: &[u8]) -> Vec<u8> {
        let at = certificate.windows(before.len()).position(|window| window == before).unwrap() + before.len();
        certificate[at..at + 20].to_vec()
    }

    #[rstest]
    #[case::of_a_backend(|by: &Authority| signed(CertificateParams::default(), Validity::Now, Chain::Direct, by).unwrap().0)]
    #[case::with_its_chain(|by: &Authority| signed(client_params(), Validity::Now, Chain::Whole, by).unwrap().0)]
    #[case::of_a_secret(|by: &Authority| {
        let like = Tls { is_signed: true, ..Tls::default() };
        String::from_utf8(bytes(&tls(vec!["a.test".to_owned()], &like, Some(by)).unwrap(), "tls.crt")).unwrap()
    })]
    fn who_signs_a_certificate_is_known_by_its_key(#[case] signs: fn(&Authority) -> String) {
        const OWN_KEY: &[u8] = &[0x55, 0x1d, 0x0e, 0x04, 0x16, 0x04, 0x14];
        const KEY_THAT_SIGNS: &[u8] = &[0x55, 0x1d, 0x23, 0x04, 0x18, 0x30, 0x16, 0x80, 0x14];
        let by = authority().unwrap();
        let pem = signs(&by) + &by.certificate;
        let chain: Vec<CertificateDer<'_>> =
            CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().unwrap();
        for pair in chain.windows(2) {
            assert_eq!(key_after(&pair[0], KEY_THAT_SIGNS), key_after(&pair[1], OWN_KEY));
        }
    }

    #[test]
    fn what_nobody_signs_stands_alone() {
        let data = tls(vec!["a.test".to_owned()], &Tls::default(), None).unwrap();
        assert_eq!(String::from_utf8(bytes(&data, "tls.crt")).unwrap().matches("BEGIN CERTIFICATE").count(), 1);
    }
}
