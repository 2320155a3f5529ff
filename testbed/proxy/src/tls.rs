//! TLS termination: certificates by server name.

use std::fmt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, ServerName};

use crate::clients::Validation;
use crate::config::Hostname;
use crate::matching::hostname::most_specific;

/// How the handshakes of one listener are answered.
#[derive(Clone)]
pub(crate) struct HostTerms {
    /// The server names that are its own.
    pub(crate) hostname: Hostname,
    /// Its certificates.
    pub(crate) keys: Vec<Arc<CertifiedKey>>,
    /// What its clients have to show, if anything.
    pub(crate) clients: Option<Validation>,
}

/// How the handshakes of one address and port are answered.
#[derive(Clone)]
pub struct TlsTerms {
    names: Arc<Names>,
    server: Option<Arc<ServerConfig>>,
    /// Of the listeners that ask their clients for certificates, in the order of `names`.
    asking: Vec<Option<Arc<ServerConfig>>>,
}

impl TlsTerms {
    /// Terms for these listeners.
    pub(crate) fn new(listeners: Vec<HostTerms>) -> Self {
        Self::with_protocols(listeners, &[b"h2".to_vec(), b"http/1.1".to_vec()])
    }

    /// Terms for streams of one listener, which may agree on any protocol with their backend, so none is agreed on here.
    pub(crate) fn streams(keys: Vec<Arc<CertifiedKey>>, clients: Option<Validation>) -> Self {
        Self::with_protocols(vec![HostTerms { hostname: Hostname::Any, keys, clients }], &[])
    }

    fn with_protocols(listeners: Vec<HostTerms>, protocols: &[Vec<u8>]) -> Self {
        let names = Arc::new(Names { listeners });
        // Ring supports every version asked for here, so that there is always a server configuration.
        let server = |clients: Option<&Validation>| {
            let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .ok()?;
            let builder = match clients {
                Some(clients) => builder.with_client_cert_verifier(clients.verifier()),
                None => builder.with_no_client_auth(),
            };
            let mut server = builder.with_cert_resolver(Arc::clone(&names) as Arc<dyn ResolvesServerCert>);
            server.alpn_protocols = protocols.to_vec();
            Some(Arc::new(server))
        };
        let asking = names.listeners.iter().map(|of| of.clients.as_ref().and_then(|of| server(Some(of)))).collect();
        Self { asking, server: server(None), names }
    }

    /// The server side of a handshake.
    pub fn server(&self) -> Option<Arc<ServerConfig>> {
        self.server.clone()
    }

    /// The server side of a handshake for this server name.
    pub(crate) fn server_for(&self, server_name: Option<&str>) -> Option<Arc<ServerConfig>> {
        let asking = self.listener_for(server_name).and_then(|at| self.asking.get(at).cloned().flatten());
        asking.or_else(|| self.server())
    }

    /// Whether a client is admitted that has shown these certificates in its handshake.
    pub(crate) fn admits(&self, server_name: Option<&str>, shown: Option<&[CertificateDer<'_>]>) -> bool {
        let of = self.listener_for(server_name).and_then(|at| self.names.listeners.get(at)?.clients.as_ref());
        of.is_none_or(|clients| clients.admits(shown))
    }

    /// The position of the listener that a server name belongs to. Without a server name only a listener without
    /// hostname fits.
    pub fn listener_for(&self, server_name: Option<&str>) -> Option<usize> {
        self.names.listener_for(server_name)
    }
}

impl fmt::Debug for TlsTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names.listeners.iter().map(|of| &of.hostname)).finish()
    }
}

struct Names {
    listeners: Vec<HostTerms>,
}

impl Names {
    fn listener_for(&self, server_name: Option<&str>) -> Option<usize> {
        let name = server_name.unwrap_or_default().to_ascii_lowercase();
        most_specific(self.listeners.iter().map(|of| &of.hostname), &name)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name();
        let keys = &self.listeners.get(self.listener_for(name)?)?.keys;
        keys.iter().find(|key| covers(key, name)).or_else(|| keys.first()).cloned()
    }
}

fn covers(key: &CertifiedKey, name: Option<&str>) -> bool {
    let parsed = key.cert.first().and_then(|leaf| ParsedCertificate::try_from(leaf).ok());
    let name = name.and_then(|name| ServerName::try_from(name).ok());
    matches!((parsed, name), (Some(parsed), Some(name)) if verify_server_name(&parsed, &name).is_ok())
}
