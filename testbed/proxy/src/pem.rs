//! Reading certificates, keys and authorities.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::Certificate;

/// Why the certificates of a listener cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// There is none.
    #[error("the listener has no certificate")]
    None,
    /// The chain is not PEM or has no certificate in it.
    #[error("the certificate chain cannot be read: {0}")]
    Chain(String),
    /// The key is not PEM or of an unknown kind.
    #[error("the private key cannot be read: {0}")]
    Key(String),
    /// The key does not belong to the certificate, or its algorithm is not supported.
    #[error("the certificate cannot be used with its key: {0}")]
    Pair(#[from] rustls::Error),
    /// TLS itself cannot be set up.
    #[error("tls cannot be set up: {0}")]
    Setup(String),
}

/// Reads all certificates of a listener.
///
/// # Errors
/// The first one that cannot be used, or that there is none.
pub fn load(certificates: &[Certificate]) -> Result<Vec<Arc<CertifiedKey>>, CertificateError> {
    if certificates.is_empty() {
        return Err(CertificateError::None);
    }
    certificates.iter().map(load_one).collect()
}

fn load_one(certificate: &Certificate) -> Result<Arc<CertifiedKey>, CertificateError> {
    let (chain, key) = certificate_and_key(certificate)?;
    Ok(Arc::new(CertifiedKey::from_der(chain, key, &ring::default_provider())?))
}

/// Reads a chain and its key.
pub(crate) fn certificate_and_key(
    certificate: &Certificate,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), CertificateError> {
    let chain = CertificateDer::pem_slice_iter(certificate.chain_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| CertificateError::Chain(error.to_string()))?;
    if chain.is_empty() {
        return Err(CertificateError::Chain("it holds no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.expose().as_bytes())
        .map_err(|error| CertificateError::Key(error.to_string()))?;
    Ok((chain, key))
}

/// Reads a bundle of authorities.
///
/// # Errors
/// It is not PEM, has no certificate, or one that cannot be an authority; as a phrase that goes on from what the bundle is.
pub fn bundle(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| format!("is malformed: {error}"))?;
        roots.add(certificate).map_err(|error| format!("has a certificate that is none: {error}"))?;
    }
    if roots.is_empty() { Err("holds no certificate".to_owned()) } else { Ok(roots) }
}
