//! The certificate of a server that speaks TLS, and the authority that signed it, made at start.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// It could not be made.
    #[error("making a certificate failed: {0}")]
    Certificate(#[from] rcgen::Error),
    /// It could not be used.
    #[error("using the certificate failed: {0}")]
    Config(#[from] rustls::Error),
}

/// What the listener needs, and the authority's certificate in PEM for its clients.
pub(crate) fn identity() -> Result<(Arc<ServerConfig>, String), TlsError> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "gateproof-arm-ca");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

    let mut server = CertificateParams::new(["localhost", "127.0.0.1", "::1"].map(str::to_owned))?;
    server.distinguished_name.push(DnType::CommonName, "gateproof-arm");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?;

    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((Arc::new(config), issuer.pem()))
}
