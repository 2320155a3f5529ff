//! TLS that is ended between a client and a backend, which only its certificate and what is agreed on can show.

use std::{io, sync::Arc};

use gateproof_proxy::{
    config::{Authorities, BackendTls, PeerName},
    exchange::TcpChoice,
    reencrypt,
    stream::Stream,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{io::copy_bidirectional, net::TcpStream};
use tokio_rustls::{TlsAcceptor, client::TlsStream};

use super::handshakes::unsigned;

/// The server name that backends are asked for: they show one certificate, whatever it is.
const NOBODY: &str = "intercepted.invalid";

/// Ends a connection that is to be passed on, and goes on within TLS of its own: what the client sees is a certificate for the
/// names of the backend's, and one of these protocols agreed on, or none if there are none. What leads nowhere is given back.
pub(in crate::faults) async fn intercept(
    client: Stream,
    choice: TcpChoice,
    protocols: Vec<Vec<u8>>,
) -> Option<(Stream, TcpChoice)> {
    let TcpChoice::Forward(endpoint) = choice else { return Some((client, choice)) };
    let anybody = BackendTls {
        server_name: NOBODY.to_owned(),
        authorities: Authorities::Any,
        names: vec![PeerName::Any],
        client: None,
    };
    let carried = async {
        let mut backend = reencrypt::connect(endpoint, &anybody, None).await.map_err(io::Error::other)?;
        let terms = copied(&backend, protocols).map_err(io::Error::other)?;
        let mut client = TlsAcceptor::from(Arc::new(terms)).accept(client).await?;
        copy_bidirectional(&mut client, &mut backend).await
    };
    let carried = carried.await;
    tracing::debug!(?carried, "a connection was intercepted");
    None
}

/// The server side of a handshake, with a certificate that has the names of a backend's.
fn copied(backend: &TlsStream<TcpStream>, protocols: Vec<Vec<u8>>) -> Result<ServerConfig, String> {
    let leaf = backend.get_ref().1.peer_certificates().and_then(<[CertificateDer<'_>]>::first);
    let made = unsigned(leaf).map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(str::to_owned)?;
    let mut terms = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key))
        .map_err(|error| error.to_string())?;
    terms.alpn_protocols = protocols;
    Ok(terms)
}
