//! Listeners of byte streams and of datagrams, and where they forward.

use std::net::SocketAddr;

use serde::Serialize;

use super::BackendTls;

/// A listener of protocol TCP. Without backends (no route, or all weights 0) every connection is refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TcpListener {
    /// The backends of the one route that the listener serves.
    pub backends: Vec<TcpBackend>,
}

/// A listener of protocol UDP. Without backends (no route, or all weights 0) every datagram is dropped. Its backends are those
/// of streams, but that to refuse is to drop, and that a share is one of flows: of what one client address sends.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UdpListener {
    /// The backends of the one route that the listener serves.
    pub backends: Vec<TcpBackend>,
}

/// One weighted backend of a TCPRoute or UDPRoute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TcpBackend {
    /// A name for logs, such as `namespace/service:port`.
    pub id: String,
    /// Its share is `weight` of the sum of all weights.
    pub weight: u32,
    /// Where its share of connections goes.
    pub target: TcpTarget,
}

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum TcpTarget {
    /// To one of these, by turns. An empty list refuses.
    Endpoints(Vec<SocketAddr>),
    /// To one of these, by turns, within TLS, where the client's own has come to its end. A backend that shows no certificate as
    /// it has to be is as good as none.
    Encrypted {
        /// Where to. An empty list refuses.
        endpoints: Vec<SocketAddr>,
        /// How.
        tls: BackendTls,
    },
    /// Nowhere: the connection is reset before any byte.
    Refuse {
        /// Why, as a sentence for people.
        reason: String,
    },
}
