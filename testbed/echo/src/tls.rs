//! TLS at a backend, beside clear text on the same port: traffic that should be encrypted and is not gets an answer that says so.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::Serialize;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The first byte of a handshake; no request of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;

/// How long a client may take for its handshake.
const LIMIT: Duration = Duration::from_secs(10);

/// Why a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("the certificate of the echo backend cannot be served: {0}")]
pub struct CertificateError(String);

/// Who may come over TLS.
#[derive(Debug, Clone, Copy)]
pub enum Clients<'a> {
    /// Whoever does; nobody is asked for a certificate.
    All,
    /// Who has a certificate of these authorities, in PEM, and nobody else.
    Of(&'a str),
    /// The same, and who has none.
    OfOrNone(&'a str),
}

/// A certificate that is shown to whoever asks, whatever server name they ask for.
#[derive(Clone)]
pub struct ServerTls(TlsAcceptor);

impl ServerTls {
    /// Reads a chain, leaf first, and the key of the leaf, both in PEM.
    ///
    /// # Errors
    /// One of them cannot be read, or they do not belong together.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, CertificateError> {
        Self::asking(chain, key, Clients::All)
    }

    /// The same for these clients.
    ///
    /// # Errors
    /// One of them cannot be read, or chain and key do not belong together.
    pub fn asking(chain: &str, key: &str, clients: Clients<'_>) -> Result<Self, CertificateError> {
        let failed = |error: &dyn fmt::Display| CertificateError(error.to_string());
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| failed(&error))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?;
        let builder = match clients {
            Clients::All => builder.with_no_client_auth(),
            Clients::Of(pem) | Clients::OfOrNone(pem) => {
                let mut roots = RootCertStore::empty();
                for authority in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                    let authority = authority.map_err(|error| failed(&error))?;
                    roots.add(authority).map_err(|error| failed(&error))?;
                }
                let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                if matches!(clients, Clients::OfOrNone(_)) {
                    verifier = verifier.allow_unauthenticated();
                }
                builder.with_client_cert_verifier(verifier.build().map_err(|error| failed(&error))?)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| failed(&error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// The same for streams, of whose protocol the handshake says nothing.
    pub(crate) fn streams(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(self.0.config());
        config.alpn_protocols.clear();
        Arc::new(config)
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls(..)")
    }
}

/// What a handshake agreed on, as an answer tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agreed {
    /// The server name that was asked for; empty if none was.
    pub server_name: String,
    version: String,
    negotiated_protocol: String,
    cipher_suite: String,
    /// The client's chain in PEM, leaf first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    peer_certificates: Vec<String>,
}

/// How a client came.
pub(crate) enum Arrived {
    /// In clear text.
    Clear(TcpStream),
    /// Over TLS.
    Tls(Box<TlsStream<TcpStream>>, Agreed),
}

/// Waits for the first byte, and for the handshake if it begins one. Nothing if that comes to no end.
pub(crate) async fn arrive(stream: TcpStream, tls: Option<&ServerTls>) -> Option<Arrived> {
    let Some(ServerTls(acceptor)) = tls else { return Some(Arrived::Clear(stream)) };
    let arriving = async {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 || first != [HANDSHAKE] {
            return Ok(Arrived::Clear(stream));
        }
        let stream = acceptor.accept(stream).await?;
        let agreed = agreed(stream.get_ref().1);
        std::io::Result::Ok(Arrived::Tls(Box::new(stream), agreed))
    };
    match tokio::time::timeout(LIMIT, arriving).await {
        Ok(Ok(arrived)) => Some(arrived),
        Ok(Err(error)) => {
            tracing::debug!(%error, "no handshake");
            None
        }
        Err(_) => None,
    }
}

pub(crate) fn agreed(connection: &rustls::ServerConnection) -> Agreed {
    let version = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "",
    };
    let cipher = connection.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
    // Lines end as those of everybody else here do.
    let endings = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    let shown = connection.peer_certificates().unwrap_or_default();
    let shown = shown.iter().map(|one| pem::encode_config(&pem::Pem::new("CERTIFICATE", one.to_vec()), endings));
    Agreed {
        peer_certificates: shown.collect(),
        server_name: connection.server_name().unwrap_or_default().to_owned(),
        version: version.to_owned(),
        negotiated_protocol: String::from_utf8_lossy(connection.alpn_protocol().unwrap_or_default()).into_owned(),
        cipher_suite: cipher.unwrap_or_default(),
    }
}
