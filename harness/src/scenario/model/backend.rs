//! Backends of a scenario, and the certificates that they show.

use serde::{Deserialize, Serialize};

use crate::log::Chain;

/// A backend: a Service with endpoints that echo.
#[derive(Debug, Clone, PartialEq)]
pub struct BackendDecl {
    /// Name of the Service.
    pub name: String,
    /// Alias of its namespace; `ns` unless given.
    pub namespace: String,
    /// Port of the Service; 8080 unless given.
    pub port: u16,
    /// What it speaks.
    pub protocol: BackendProtocol,
    /// The backend whose Service it is a further endpoint of; a Service of its own unless given.
    pub service: Option<String>,
    /// Whether its endpoint is ready. `false` makes a Service without endpoints, and on the Service of another backend an
    /// endpoint that is not ready.
    pub ready: bool,
    /// Whether its Service has no cluster IP.
    pub headless: bool,
    /// Whether it sends its line over TCP without waiting for one.
    pub greets: bool,
    /// The protocols that one of protocol tls agrees on in handshakes, the most preferred first; none unless given.
    pub alpn: Vec<String>,
    /// The name of its port of the Service; none unless given.
    pub port_name: Option<String>,
    /// The certificate with which it takes TLS, beside clear text unless it speaks nothing else.
    pub tls: Option<CertificateDecl>,
}

/// A certificate that a backend shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateDecl {
    /// Hosts and URIs that it is for.
    pub names: Vec<String>,
    /// What its subject is called, which is no name that it is for; anything unless given.
    pub common_name: Option<String>,
    /// Alias of the authority that signed it.
    pub authority: String,
    /// Whether its time is over.
    pub expired: bool,
    /// Whether its time is to come.
    pub future: bool,
    /// What stands between it and that authority.
    pub chain: Chain,
    /// Alias of the authority whose clients alone may come over TLS; everybody may unless given.
    pub clients: Option<String>,
}

/// How the names of the slices of hosted backends end.
const SLICE: &str = "-hosted";

impl BackendDecl {
    /// Name of the EndpointSlice of a hosted backend of this name.
    pub fn slice(backend: &str) -> String {
        format!("{backend}{SLICE}")
    }

    /// The same for its address of a second family, if `slice` is that of its first.
    pub fn second_slice(slice: &str) -> Option<String> {
        slice.ends_with(SLICE).then(|| format!("{slice}-2"))
    }
}

/// What a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendProtocol {
    /// HTTP/1.1, and HTTP/2 with prior knowledge for those who come with it.
    Http,
    /// The same, on a Service port that asks for HTTP/2 with prior knowledge (`appProtocol: kubernetes.io/h2c`), as
    /// gRPC needs it.
    H2c,
    /// Lines over TCP.
    Tcp,
    /// The same within TLS, with a certificate for the name of its Service.
    Tls,
    /// Datagrams over UDP, each answered.
    Udp,
}

impl BackendProtocol {
    /// The `protocol` of Service ports that carries it.
    pub fn carrier(self) -> &'static str {
        match self {
            BackendProtocol::Http | BackendProtocol::H2c | BackendProtocol::Tcp | BackendProtocol::Tls => "TCP",
            BackendProtocol::Udp => "UDP",
        }
    }
}
