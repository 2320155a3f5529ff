//! What the connections of a backend share, whatever it speaks.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::identity::Identity;
use crate::journal::Journal;
use crate::tls::ServerTls;

/// What a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/2 with prior knowledge; over the latter every call of gRPC.
    Http,
    /// HTTP/2 with prior knowledge; everything else is answered with 400.
    H2c,
    /// gRPC: the echo service of the Gateway API conformance suite and no other, over HTTP/2 with prior knowledge;
    /// within TLS where a certificate is given.
    Grpc,
    /// Lines, then bytes.
    Tcp,
    /// The same within TLS, with a certificate of its own for the name of its Service.
    Tls,
    /// A line as soon as there is a connection, then bytes.
    Greeting,
    /// HTTP within TLS; clear text is answered with 400.
    Https,
    /// A greeting, then an answer to each command, as the TCP echo of the Gateway API conformance suite; within TLS where a
    /// certificate is given.
    Dialogue,
    /// Datagrams, each answered by a line and its own bytes.
    Udp,
    /// Datagrams, each answered by JSON that quotes it, as the UDP echo of the Gateway API conformance suite.
    Quoting,
    /// Queries of DNS, each refused.
    Dns,
}

impl Protocol {
    /// Whether it has no connections.
    pub(crate) fn is_of_datagrams(self) -> bool {
        matches!(self, Protocol::Udp | Protocol::Quoting | Protocol::Dns)
    }
}

/// Why a backend could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EchoError {
    /// There is no certificate for the name of its Service.
    #[error("there is no certificate for {name}: {why}")]
    Certificate {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The address cannot be bound.
    #[error("binding {address} for the echo backend failed: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A variable of the environment has a value that is none.
    #[error("reading {variable} from the environment failed: {reason}")]
    Environment {
        /// The variable.
        variable: &'static str,
        /// Why.
        reason: String,
    },
}

/// What all connections of a backend share.
#[derive(Debug)]
pub(crate) struct Backend {
    /// TLS, where it is spoken.
    pub server: Option<Arc<ServerConfig>>,
    pub identity: Identity,
    pub http_port: u16,
    pub only_h2: bool,
    pub only_grpc: bool,
    pub only_tls: bool,
    pub run_token: Option<String>,
    pub journal: Journal,
    /// What is served beside clear text over HTTP.
    pub tls: Option<ServerTls>,
    /// Where connections that outgrew HTTP go on; they end with the token.
    pub tasks: TaskTracker,
    pub closing: CancellationToken,
    /// The port is free: whoever comes now is refused.
    pub left: CancellationToken,
}

impl Backend {
    /// Takes no connections any more. Those that are there end with the answers under way.
    pub async fn leave(&self) {
        self.closing.cancel();
        self.left.cancelled().await;
    }

    /// How many requests of this id it has noted.
    pub fn noted(&self, id: &str) -> usize {
        self.journal.of_request(id).iter().filter(|record| record.backend == self.identity).count()
    }
}
