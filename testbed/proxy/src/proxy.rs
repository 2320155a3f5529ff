//! The running proxy.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::compiled::{Compiled, ListenerKey};
use crate::config::{Config, Problem, Transport};
use crate::exchange::{Exchange, Plain};
use crate::server::accept::accept;
use crate::server::udp::forward;
use crate::shared::Shared;

/// How long [`Proxy::shutdown`] lets requests end by themselves.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// How many connections may wait to be taken on a port.
const BACKLOG: u32 = 1024;

/// What is the same for all configurations of a proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProxyOptions {
    /// A declared port `p` is bound at `p` plus this, on the same address: for users who may not bind low ports.
    pub port_offset: Option<u16>,
}

/// What became of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOutcome {
    /// The number of the configuration that is now in force.
    pub generation: u64,
    /// One entry for each listener, ordered by address and port.
    pub listeners: Vec<ListenerOutcome>,
    /// What of the configuration cannot be served.
    pub problems: Vec<Problem>,
}

impl ApplyOutcome {
    /// The listeners that are not bound.
    pub fn failures(&self) -> impl Iterator<Item = (&ListenerOutcome, &BindFailure)> {
        self.listeners.iter().filter_map(|listener| Some((listener, listener.bound.as_ref().err()?)))
    }
}

/// What became of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerOutcome {
    /// Its name.
    pub id: String,
    /// Its address and declared port.
    pub key: ListenerKey,
    /// Where it is bound, or why not.
    pub bound: Result<SocketAddr, BindFailure>,
}

/// Why a listener is not bound. The next configuration that has it tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindFailure {
    /// Something else listens there.
    #[error("the port is in use")]
    PortInUse,
    /// The user may not bind the port.
    #[error("binding the port is not permitted")]
    PermissionDenied,
    /// This host does not have the address.
    #[error("the address is not available on this host")]
    AddressNotAvailable,
    /// The declared port plus the offset is no port.
    #[error("the port plus the offset is above 65535")]
    PortOutOfRange,
    /// Anything else.
    #[error("binding failed: {0}")]
    Other(String),
}

struct Bound {
    local: SocketAddr,
    closing: CancellationToken,
    accepting: JoinHandle<()>,
}

/// A data plane. Dropping it stops it.
pub struct Proxy {
    shared: Arc<Shared>,
    options: ProxyOptions,
    stop: CancellationToken,
    bound: Mutex<HashMap<ListenerKey, Bound>>,
    silent: Mutex<HashMap<ListenerKey, Silent>>,
}

impl Proxy {
    /// A proxy that behaves as the specification asks, with nothing to serve yet.
    pub fn new(options: ProxyOptions) -> Self {
        Self::with_exchange(options, Arc::new(Plain))
    }

    /// A proxy with another behaviour at the seam around exchanges.
    pub fn with_exchange(options: ProxyOptions, exchange: Arc<dyn Exchange>) -> Self {
        let shared = Arc::new(Shared::new(exchange));
        Self { shared, options, stop: CancellationToken::new(), bound: Mutex::default(), silent: Mutex::default() }
    }

    /// The configuration in force.
    pub fn current(&self) -> Arc<Compiled> {
        self.shared.current()
    }

    /// Puts a configuration in force. When this returns, removed ports are closed, every new request is served by the
    /// new configuration, and new ports are open or reported. Must run within a Tokio runtime with I/O and time.
    ///
    /// A configuration equal to the one in force only retries what is not bound.
    pub async fn apply(&self, config: Config) -> ApplyOutcome {
        let mut bound = self.bound.lock().await;
        let current = self.shared.current();
        let next = if current.config == config && current.generation > 0 {
            current
        } else {
            Arc::new(Compiled::new(config, current.generation + 1))
        };
        let is_silent = |key: &ListenerKey| {
            key.transport == Transport::Tcp && next.config.silent.contains(&(key.address, key.port))
        };
        let is_gone = |key: &ListenerKey, _: &mut Bound| next.listener(*key).is_none() || is_silent(key);
        let gone: Vec<_> = bound.extract_if(is_gone).map(|(_, gone)| gone).collect();
        for listener in &gone {
            listener.closing.cancel();
        }
        for listener in gone {
            if let Err(error) = listener.accepting.await {
                tracing::warn!(%error, "a listener ended abnormally");
            }
        }
        if next.generation != self.shared.current().generation {
            self.shared.swap(Arc::clone(&next));
        }
        let mut silent = self.silent.lock().await;
        silent.retain(|key, _| is_silent(key));
        for (address, port) in &next.config.silent {
            let key = ListenerKey { address: *address, port: *port, transport: Transport::Tcp };
            if let Entry::Vacant(place) = silent.entry(key)
                && let Ok(address) = self.local(key)
            {
                match Silent::open(address).await {
                    Ok(new) => {
                        place.insert(new);
                    }
                    Err(error) => tracing::warn!(%error, %address, "nothing drops packets there"),
                }
            }
        }
        let mut listeners = Vec::new();
        for listener in next.listeners() {
            if let Some(silent) = silent.get(&listener.key) {
                listeners.push(ListenerOutcome { id: listener.id.clone(), key: listener.key, bound: Ok(silent.at) });
                continue;
            }
            let local = match bound.get(&listener.key) {
                Some(bound) => Ok(bound.local),
                None => self.bind(listener.key).map(|new| {
                    let local = new.local;
                    bound.insert(listener.key, new);
                    local
                }),
            };
            listeners.push(ListenerOutcome { id: listener.id.clone(), key: listener.key, bound: local });
        }
        listeners.sort_by_key(|listener| listener.key);
        ApplyOutcome { generation: next.generation, listeners, problems: next.problems.clone() }
    }

    /// Closes every port, lets requests under way end for a moment, then ends what is left.
    pub async fn shutdown(&self) {
        self.apply(Config::default()).await;
        self.stop.cancel();
        self.shared.upstream.close();
        self.shared.tasks.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.shared.tasks.wait()).await.is_err() {
            self.shared.abort.cancel();
        }
    }

    /// Where a declared port is to be found.
    fn local(&self, key: ListenerKey) -> Result<SocketAddr, BindFailure> {
        let port = key.port.checked_add(self.options.port_offset.unwrap_or(0)).ok_or(BindFailure::PortOutOfRange)?;
        Ok(SocketAddr::new(key.address, port))
    }

    fn bind(&self, key: ListenerKey) -> Result<Bound, BindFailure> {
        let address = self.local(key)?;
        let failure = |error: std::io::Error| match error.kind() {
            ErrorKind::AddrInUse => BindFailure::PortInUse,
            ErrorKind::PermissionDenied => BindFailure::PermissionDenied,
            ErrorKind::AddrNotAvailable => BindFailure::AddressNotAvailable,
            _ => BindFailure::Other(error.to_string()),
        };
        let closing = self.stop.child_token();
        let (local, accepting) = match key.transport {
            Transport::Tcp => {
                let listener = listen(address, BACKLOG).map_err(failure)?;
                let local = listener.local_addr().map_err(failure)?;
                (local, tokio::spawn(accept(Arc::clone(&self.shared), listener, key, closing.clone())))
            }
            Transport::Udp => {
                let socket = listen_for_datagrams(address).map_err(failure)?;
                let local = socket.local_addr().map_err(failure)?;
                (local, tokio::spawn(forward(Arc::clone(&self.shared), socket, key, closing.clone())))
            }
        };
        Ok(Bound { local, closing, accepting })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
        self.shared.abort.cancel();
    }
}

/// A port where no connection comes about: the queue of those that wait to be taken has room for none, and nobody takes any.
struct Silent {
    at: SocketAddr,
    _queue: TcpListener,
    _full: TcpStream,
}

impl Silent {
    async fn open(at: SocketAddr) -> std::io::Result<Silent> {
        let queue = listen(at, 0)?;
        let at = queue.local_addr()?;
        // Linux lets one in where there is room for none.
        Ok(Silent { at, _queue: queue, _full: TcpStream::connect(at).await? })
    }
}

fn listen(address: SocketAddr, backlog: u32) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of an earlier listener that still linger must not keep the port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

fn listen_for_datagrams(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}
