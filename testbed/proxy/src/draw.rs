//! Which backend a connection, or a flow of datagrams, goes to.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::config::{BackendTls, TcpBackend, TcpTarget};
use crate::spread::Spread;

/// What becomes of a connection to a TCP or TLS listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpChoice {
    /// Forward to this endpoint; if it cannot be reached, reset.
    Forward(SocketAddr),
    /// The same within TLS; if the handshake fails, reset.
    Encrypt {
        /// The endpoint.
        endpoint: SocketAddr,
        /// Whom to believe there.
        tls: BackendTls,
    },
    /// Reset before any byte.
    Refuse {
        /// Why, for the log.
        reason: String,
    },
}

/// A TCP or UDP listener with the counters that spread its connections or flows.
#[derive(Debug)]
pub struct CompiledTcp {
    /// The backends.
    pub backends: Vec<TcpBackend>,
    shares: Spread,
    turns: Vec<Turns>,
}

impl CompiledTcp {
    /// Counters that stand at the beginning.
    pub fn new(backends: Vec<TcpBackend>) -> Self {
        let turns = backends.iter().map(|_| Turns::new()).collect();
        Self { backends, shares: Spread::new(), turns }
    }

    /// Draws what becomes of the next connection.
    pub fn draw(&self) -> TcpChoice {
        let Some((index, backend)) = self.draw_backend() else {
            return TcpChoice::Refuse { reason: "the listener has no backend with a weight above 0".to_owned() };
        };
        match (&backend.target, self.next_endpoint(index)) {
            (TcpTarget::Refuse { reason }, _) => {
                TcpChoice::Refuse { reason: format!("backend {}: {reason}", backend.id) }
            }
            (TcpTarget::Endpoints(_), Some(endpoint)) => TcpChoice::Forward(endpoint),
            (TcpTarget::Encrypted { tls, .. }, Some(endpoint)) => TcpChoice::Encrypt { endpoint, tls: tls.clone() },
            (TcpTarget::Endpoints(_) | TcpTarget::Encrypted { .. }, None) => {
                TcpChoice::Refuse { reason: format!("backend {} has no endpoints", backend.id) }
            }
        }
    }

    /// Draws the backend of one connection; nothing if the weights sum up to 0.
    fn draw_backend(&self) -> Option<(usize, &TcpBackend)> {
        let index = self.shares.choose(self.backends.iter().map(|backend| backend.weight))?;
        self.backends.get(index).map(|backend| (index, backend))
    }

    /// The next endpoint of the backend at `index`.
    fn next_endpoint(&self, index: usize) -> Option<SocketAddr> {
        match &self.backends.get(index)?.target {
            TcpTarget::Endpoints(endpoints) | TcpTarget::Encrypted { endpoints, .. } => {
                self.turns.get(index)?.next(endpoints).copied()
            }
            TcpTarget::Refuse { .. } => None,
        }
    }
}

/// Takes endpoints by turns, starting anywhere.
#[derive(Debug)]
pub(crate) struct Turns(AtomicUsize);

impl Turns {
    /// Turns that begin anywhere.
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(usize::from(rand::random::<u16>())))
    }

    /// The endpoint whose turn it is.
    pub(crate) fn next<'a>(&self, endpoints: &'a [SocketAddr]) -> Option<&'a SocketAddr> {
        let turn = self.0.fetch_add(1, Ordering::Relaxed);
        endpoints.get(turn.checked_rem(endpoints.len())?)
    }
}
