//! TLS towards backends: a handshake for each request or stream, so that no connection outlives the settings that it was made under.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::task::TaskTracker;

use crate::body::Body;
use crate::config::{Authorities, BackendTls, PeerName};
use crate::error::{UpstreamError, causes};
use crate::pem::{bundle, certificate_and_key};

/// Sends one request over a TLS connection of its own and waits for the head of the answer.
///
/// # Errors
/// [`UpstreamError::Connect`], [`UpstreamError::Tls`] and [`UpstreamError::Exchange`].
pub async fn send(
    endpoint: SocketAddr,
    (tls, h2): (&BackendTls, bool),
    request: Request<Body>,
    tasks: &TaskTracker,
) -> Result<Response<Incoming>, UpstreamError> {
    let stream = connect(endpoint, tls, Some(if h2 { b"h2" } else { b"http/1.1" })).await?;
    let exchange = |error: hyper::Error| UpstreamError::Exchange(causes(&error));
    if h2 {
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(exchange)?;
        tasks.spawn(connection);
        sender.send_request(request).await.map_err(exchange)
    } else {
        let (mut sender, connection) =
            http1::Builder::new().preserve_header_case(true).handshake(TokioIo::new(stream)).await.map_err(exchange)?;
        tasks.spawn(connection.with_upgrades());
        sender.send_request(request).await.map_err(exchange)
    }
}

/// Connects and shakes hands, with the name of a protocol where there is one.
///
/// # Errors
/// [`UpstreamError::Connect`] and [`UpstreamError::Tls`].
pub async fn connect(
    endpoint: SocketAddr,
    tls: &BackendTls,
    protocol: Option<&[u8]>,
) -> Result<TlsStream<TcpStream>, UpstreamError> {
    let config = client(tls, protocol).map_err(UpstreamError::Tls)?;
    let name = ServerName::try_from(tls.server_name.clone()).map_err(|error| UpstreamError::Tls(error.to_string()))?;
    let stream = TcpStream::connect(endpoint).await?;
    stream.set_nodelay(true)?;
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.map_err(|error| UpstreamError::Tls(causes(&error)))
}

fn client(tls: &BackendTls, protocol: Option<&[u8]>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier {
        roots: roots(&tls.authorities)?,
        believes_all: tls.authorities == Authorities::Any,
        believes_signers_alone: matches!(tls.authorities, Authorities::Signers(_)),
        believes_early: matches!(tls.authorities, Authorities::Early(_)),
        names: tls.names.clone(),
        algorithms: provider.signature_verification_algorithms,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut client = match &tls.client {
        None => builder.with_no_client_auth(),
        Some(certificate) => {
            let own = certificate_and_key(certificate).map_err(|error| error.to_string())?;
            builder.with_client_auth_cert(own.0, own.1).map_err(|error| error.to_string())?
        }
    };
    client.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
    Ok(client)
}

fn roots(authorities: &Authorities) -> Result<Arc<RootCertStore>, String> {
    /// Those of this machine do not change while the proxy runs.
    static SYSTEM: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    match authorities {
        Authorities::Pem(pem) | Authorities::Signers(pem) | Authorities::Early(pem) => {
            bundle(pem).map(Arc::new).map_err(|why| format!("the authority {why}"))
        }
        Authorities::Any => Ok(Arc::new(RootCertStore::empty())),
        Authorities::System => Ok(Arc::clone(SYSTEM.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Arc::new(roots)
        }))),
    }
}

/// Looks at the chain always, and at the names of the certificate as the settings say: one of `names`, or else that of the
/// handshake.
struct Verifier {
    roots: Arc<RootCertStore>,
    believes_all: bool,
    believes_signers_alone: bool,
    believes_early: bool,
    names: Vec<PeerName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("names", &self.names).finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let parsed = ParsedCertificate::try_from(end_entity)?;
        let algorithms = self.algorithms.all;
        let between = if self.believes_signers_alone { &[] } else { intermediates };
        if !self.believes_all {
            match verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, between, now, algorithms) {
                Err(rustls::Error::InvalidCertificate(
                    CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
                )) if self.believes_early => {}
                found => found?,
            }
        }
        if self.names.is_empty() {
            verify_server_name(&parsed, server_name)?;
        } else if !self.names.iter().any(|name| carries(end_entity, &parsed, name)) {
            return Err(CertificateError::NotValidForName.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn carries(end_entity: &CertificateDer<'_>, parsed: &ParsedCertificate<'_>, name: &PeerName) -> bool {
    let of = webpki::EndEntityCert::try_from(end_entity);
    let stands_there =
        |name: &str| of.as_ref().is_ok_and(|of| of.valid_dns_names().any(|found| found.eq_ignore_ascii_case(name)));
    match name {
        // A wildcard is no name of a server, so it is compared as it stands.
        PeerName::Dns(name) if name.starts_with("*.") => stands_there(name),
        PeerName::Dns(name) => {
            ServerName::try_from(name.as_str()).is_ok_and(|name| verify_server_name(parsed, &name).is_ok())
        }
        PeerName::Any => true,
        PeerName::Uri(name) => of.is_ok_and(|of| of.valid_uri_names().any(|found| found == name)),
        PeerName::Literal(name) => stands_there(name),
        PeerName::AnyLabels(name) => of.is_ok_and(|of| {
            let mut domains = of.valid_dns_names().filter_map(|found| found.strip_prefix('*'));
            domains.any(|domain| name.to_ascii_lowercase().ends_with(&domain.to_ascii_lowercase()))
        }),
        PeerName::CommonName(name) => {
            of.is_ok_and(|of| common_names(of.subject()).any(|found| found.eq_ignore_ascii_case(name.as_bytes())))
        }
    }
}

/// The common names in the DER form of a subject, as far as each is shorter than 128 bytes.
fn common_names(subject: &[u8]) -> impl Iterator<Item = &[u8]> {
    /// The object identifier 2.5.4.3; behind it stand the sort of the text, its length and the text.
    const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
    let ends = subject.windows(COMMON_NAME.len()).enumerate().filter(|(_, bytes)| *bytes == COMMON_NAME);
    ends.filter_map(|(at, _)| match subject.get(at + COMMON_NAME.len()..)? {
        [_, length, rest @ ..] => rest.get(..usize::from(*length)),
        _ => None,
    })
}
