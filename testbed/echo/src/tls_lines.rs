//! The backend for byte streams within TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::backend::{Backend, EchoError};
use crate::tcp;

/// How long a client may take for its part of the handshake.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// TLS with a fresh certificate, which the backend signs itself.
pub(crate) fn server(name: &str) -> Result<Arc<ServerConfig>, EchoError> {
    let failed = |why: String| EchoError::Certificate { name: name.to_owned(), why };
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).map_err(|error| failed(error.to_string()))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|error| failed(error.to_owned()))?;
    let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key));
    server.map(Arc::new).map_err(|error| failed(error.to_string()))
}

/// The same server, which agrees on these protocols.
pub(crate) fn agreeing(server: &ServerConfig, protocols: &[String]) -> Arc<ServerConfig> {
    let mut server = server.clone();
    server.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(server)
}

/// Waits for the handshake.
pub(crate) async fn accept(stream: TcpStream, server: &Arc<ServerConfig>) -> io::Result<TlsStream<TcpStream>> {
    tokio::time::timeout(LONGEST_HANDSHAKE, TlsAcceptor::from(Arc::clone(server)).accept(stream)).await?
}

pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, backend: Arc<Backend>, closing: CancellationToken) {
    let Some(server) = &backend.server else { return };
    let conversing = async {
        stream.set_nodelay(true)?;
        let stream = accept(stream, server).await?;
        let server_name = stream.get_ref().1.server_name().unwrap_or_default().to_owned();
        tcp::converse(stream, peer, (&backend, Some(&server_name))).await
    };
    if let Some(Err(error)) = closing.run_until_cancelled(conversing).await {
        tracing::debug!(%error, "stream ended");
    }
}
