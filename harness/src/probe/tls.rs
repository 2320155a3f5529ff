//! TLS for probes: any certificate is taken, because what a listener presents is for the judge to see, not for the
//! transport to refuse.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, DigitallySignedStruct, Error, HandshakeKind, ProtocolVersion,
    RootCertStore, SignatureScheme, SupportedProtocolVersion,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsConnector;

use super::{Client, ClientPair};
use crate::log::{Exchange, Extension, Hello, HttpRequest, NO_PROTOCOL, PeerCertificate, ProbeError, TlsVersion};

/// Connectors that take any certificate.
#[derive(Clone)]
pub(super) struct Connectors {
    /// Offers HTTP/1.1 alone.
    pub(super) http1: TlsConnector,
    /// Offers HTTP/2 alone.
    pub(super) http2: TlsConnector,
    /// Offers no protocol, for streams.
    pub(super) stream: TlsConnector,
    /// The same, and says no server name.
    pub(super) nameless: TlsConnector,
}

/// One connector for each protocol.
pub(super) fn connectors() -> Connectors {
    Connectors {
        http1: connector(&[HTTP1], true, None),
        http2: connector(&[HTTP2], true, None),
        stream: connector(&[], true, None),
        nameless: connector(&[], false, None),
    }
}

/// How many tickets of a session are kept, of each server name a part of them: whoever refuses one uses it up.
const TICKETS: usize = 64;

/// Connectors that resume the sessions of their names, which begin with the token of the scenario.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<HashMap<String, TlsConnector>>>);

impl Sessions {
    /// The connector of this session, which is made of `first` where there is none yet.
    pub(super) fn of(&self, name: &str, first: &TlsConnector) -> TlsConnector {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let resuming = || {
            let mut config = ClientConfig::clone(first.config());
            config.resumption = Resumption::in_memory_sessions(TICKETS);
            TlsConnector::from(Arc::new(config))
        };
        all.entry(name.to_owned()).or_insert_with(resuming).clone()
    }

    /// Forgets those of the scenario of this token.
    pub(super) fn release(&self, token: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|name, _| name.split_once('/').is_none_or(|(of, _)| of != token));
    }
}

/// HTTP/2 as handshakes name it.
const HTTP2: &[u8] = b"h2";

/// HTTP/1.1 likewise.
const HTTP1: &[u8] = b"http/1.1";

/// A connector for a request that shows this certificate to whoever asks for one, and whether somebody has.
pub(super) fn of_client(pair: &ClientPair, request: &HttpRequest) -> Result<(TlsConnector, Arc<AtomicBool>), String> {
    let unread = |error: &dyn std::fmt::Display| format!("the client has no certificate that can be used: {error}");
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pair.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| unread(&error))?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|error| unread(&error))?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| unread(&error))?;
    let says_name = !request.without.contains(&Extension::Sni);
    let is_asked = Arc::<AtomicBool>::default();
    let own = Arc::new(Own { key: Arc::new(key), is_asked: Arc::clone(&is_asked) });
    Ok((showing(Some(own), &protocols(request), says_name, request.tls_version), is_asked))
}

/// A connector for a request whose handshake has something of its own, or lacks something.
pub(super) fn of_request(request: &HttpRequest) -> TlsConnector {
    connector(&protocols(request), !request.without.contains(&Extension::Sni), request.tls_version)
}

/// A connector for a stream whose handshake has something of its own.
pub(super) fn of_stream(hello: &Hello) -> TlsConnector {
    let protocols: Vec<&[u8]> = hello.alpn.iter().map(String::as_bytes).collect();
    connector(&protocols, hello.server_name.is_some(), hello.version)
}

fn protocols(request: &HttpRequest) -> Vec<&[u8]> {
    match (request.without.contains(&Extension::Alpn), request.http2) {
        (true, _) => Vec::new(),
        _ if !request.alpn.is_empty() => request.alpn.iter().map(String::as_bytes).collect(),
        (false, true) => vec![HTTP2],
        (false, false) => vec![HTTP1],
    }
}

/// The alert that an error is about, if the other side sent one.
pub(super) fn alert(error: &io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref::<Error>() {
        Some(Error::AlertReceived(alert)) => Some(*alert),
        _ => None,
    }
}

/// Notes what a handshake that is through came to.
pub(super) fn note(connection: &ClientConnection, exchange: &mut Exchange) {
    exchange.tls_version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => Some(TlsVersion::V1_2),
        Some(ProtocolVersion::TLSv1_3) => Some(TlsVersion::V1_3),
        _ => None,
    };
    exchange.resumed = connection.handshake_kind() == Some(HandshakeKind::Resumed);
}

/// What a handshake agreed on. A server can choose among what was offered alone, which was text.
pub(super) fn agreed(connection: &ClientConnection) -> String {
    let named = |protocol| String::from_utf8_lossy(protocol).into_owned();
    connection.alpn_protocol().map_or_else(|| NO_PROTOCOL.to_owned(), named)
}

/// Whether HTTP/2 is what is spoken behind a handshake of this request that agreed so.
///
/// # Errors
/// Neither version of HTTP can be, or not the one that the request needs.
pub(super) fn is_http2(request: &HttpRequest, agreed: &str) -> Result<bool, String> {
    let is_http2 = agreed.as_bytes() == HTTP2;
    if request.http2 && !is_http2 {
        return Err("the server did not agree to HTTP/2".to_owned());
    }
    if !is_http2 && agreed.as_bytes() != HTTP1 && agreed != NO_PROTOCOL {
        return Err(format!("the server agreed on `{agreed}`, which is no HTTP"));
    }
    Ok(is_http2)
}

/// Shows one certificate whatever authorities and algorithms the server names: what it makes of it is what is asked.
#[derive(Debug)]
struct Own {
    key: Arc<CertifiedKey>,
    is_asked: Arc<AtomicBool>,
}

impl ResolvesClientCert for Own {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.is_asked.store(true, Ordering::Relaxed);
        Some(Arc::clone(&self.key))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn connector(protocols: &[&[u8]], says_name: bool, version: Option<TlsVersion>) -> TlsConnector {
    showing(None, protocols, says_name, version)
}

fn showing(own: Option<Arc<Own>>, protocols: &[&[u8]], says_name: bool, version: Option<TlsVersion>) -> TlsConnector {
    let versions = versions(version);
    let mut provider = ring::default_provider();
    // A client of one version alone does not know the suites of the other.
    provider.cipher_suites.retain(|suite| versions.contains(&suite.version()));
    let verifier = Arc::new(AnyCertificate(provider.signature_verification_algorithms));
    let mut config = config(Arc::new(provider), verifier, versions);
    if let Some(own) = own {
        config.client_auth_cert_resolver = own;
    }
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config.enable_sni = says_name;
    // Nothing is resumed unless a probe asks for it: every attempt shows a whole handshake.
    config.resumption = Resumption::disabled();
    TlsConnector::from(Arc::new(config))
}

/// The versions that a client speaks: this one alone, or all.
fn versions(version: Option<TlsVersion>) -> &'static [&'static SupportedProtocolVersion] {
    static V1_2: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS12];
    static V1_3: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
    match version {
        None => rustls::ALL_VERSIONS,
        Some(TlsVersion::V1_2) => &V1_2,
        Some(TlsVersion::V1_3) => &V1_3,
    }
}

/// A name as handshakes have it.
///
/// # Errors
/// If there can be none of that name.
pub(super) fn server_name(name: &str) -> Result<ServerName<'static>, ProbeError> {
    let failed = |error| ProbeError::Unreachable(format!("`{name}` is no server name: {error}"));
    ServerName::try_from(name.to_owned()).map_err(failed)
}

/// What the server presented to a client that asked for this name.
pub(super) fn presented(
    connection: &ClientConnection,
    name: &ServerName<'_>,
    client: &Client,
) -> Option<PeerCertificate> {
    let (leaf, behind) = connection.peer_certificates()?.split_first()?;
    let distrusted = client.authority.as_deref().and_then(|authority| distrusted(leaf, behind, name, authority).err());
    Some(PeerCertificate { distrusted, ..describe(leaf) })
}

/// Looks at a certificate, and those that came behind it, as a client does that knows this authority alone.
///
/// # Errors
/// Why it does not trust it.
fn distrusted(
    leaf: &CertificateDer<'_>,
    behind: &[CertificateDer<'_>],
    name: &ServerName<'_>,
    authority: &str,
) -> Result<(), String> {
    let authority = CertificateDer::from_pem_slice(authority.as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(authority.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()));
    let verifier = verifier.build().map_err(|error| error.to_string())?;
    let found = verifier.verify_server_cert(leaf, behind, name, &[], UnixTime::now());
    found.map(drop).map_err(|error| error.to_string())
}

/// What a certificate says of itself. Names that are no DNS names, and a certificate that cannot be read, have none.
fn describe(leaf: &CertificateDer<'_>) -> PeerCertificate {
    let names = webpki::EndEntityCert::try_from(leaf)
        .map(|certificate| certificate.valid_dns_names().map(str::to_owned).collect())
        .unwrap_or_default();
    PeerCertificate { names, sha256: format!("{:x}", Sha256::digest(leaf)), distrusted: None }
}

fn config(
    provider: Arc<CryptoProvider>,
    verifier: Arc<AnyCertificate>,
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConfig {
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("ring supports every version that rustls has")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth()
}

/// Checks that the server holds its key, but not who vouches for it.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
