//! One backend: its socket and its life.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, UdpSocket};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::{Backend, EchoError, Protocol};
use crate::identity::Identity;
use crate::journal::Journal;
use crate::tls::ServerTls;
use crate::{MOST_CONNECTIONS, dialogue, http, tcp, tls_lines, udp};

/// How long [`Echo::shutdown`] lets answers under way end by themselves.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// How many connections may wait to be taken.
const BACKLOG: u32 = 1024;

/// The longest pause after a failure to take connections.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How a backend is started.
#[derive(Debug, Clone)]
pub struct EchoOptions {
    /// The address to bind; port 0 takes a free one.
    pub bind: SocketAddr,
    /// What it speaks.
    pub protocol: Protocol,
    /// Who it is.
    pub identity: Identity,
    /// The token for the journal's endpoint, which does not exist without one.
    pub run_token: Option<String>,
    /// Where requests are written.
    pub journal: Journal,
}

/// A running backend. Dropping it stops it at once.
#[derive(Debug)]
pub struct Echo {
    addr: SocketAddr,
    closing: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
}

impl Echo {
    /// Starts a backend; when this returns, connections are taken.
    ///
    /// # Errors
    /// [`EchoError::Bind`].
    pub async fn start(options: EchoOptions) -> Result<Self, EchoError> {
        Self::start_with(options, None, &[]).await
    }

    /// The same for one that takes TLS too, where it speaks HTTP: on the same port as clear text, whatever comes. One that speaks
    /// nothing but TLS shows this certificate in place of its own.
    ///
    /// # Errors
    /// [`EchoError::Bind`].
    pub async fn start_tls(options: EchoOptions, tls: ServerTls) -> Result<Self, EchoError> {
        Self::start_with(options, Some(tls), &[]).await
    }

    /// The same for one of [`Protocol::Tls`], with this certificate or one of its own, which agrees on these protocols in
    /// handshakes, the most preferred first; none: on none.
    ///
    /// # Errors
    /// [`EchoError::Bind`].
    pub async fn start_agreeing(
        options: EchoOptions,
        tls: Option<ServerTls>,
        protocols: &[String],
    ) -> Result<Self, EchoError> {
        Self::start_with(options, tls, protocols).await
    }

    async fn start_with(options: EchoOptions, tls: Option<ServerTls>, alpn: &[String]) -> Result<Self, EchoError> {
        let bind = |source| EchoError::Bind { address: options.bind, source };
        let (socket, addr) = Socket::open(options.bind, options.protocol).map_err(bind)?;
        let echo = Self {
            addr,
            closing: CancellationToken::new(),
            abort: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let server = match options.protocol {
            Protocol::Tls => {
                let own = || tls_lines::server(&options.identity.service);
                let server = tls.as_ref().map_or_else(own, |tls| Ok(tls.streams()))?;
                Some(if alpn.is_empty() { server } else { tls_lines::agreeing(&server, alpn) })
            }
            Protocol::Dialogue => tls.as_ref().map(ServerTls::streams),
            _ => None,
        };
        let left = CancellationToken::new();
        let backend = Arc::new(Backend {
            left: left.clone(),
            server,
            identity: options.identity,
            http_port: addr.port(),
            only_h2: matches!(options.protocol, Protocol::H2c | Protocol::Grpc),
            only_grpc: options.protocol == Protocol::Grpc,
            only_tls: match options.protocol {
                Protocol::Https => true,
                Protocol::Grpc => tls.is_some(),
                _ => false,
            },
            run_token: options.run_token,
            journal: options.journal,
            tls,
            tasks: echo.tasks.clone(),
            closing: echo.closing.clone(),
        });
        let (closing, abort, tasks) = (echo.closing.clone(), echo.abort.clone(), echo.tasks.clone());
        match socket {
            Socket::Streams(listener) => {
                echo.tasks.spawn(async move {
                    accept(listener, options.protocol, backend, closing, abort, tasks).await;
                    left.cancel();
                });
            }
            Socket::Datagrams(socket) => {
                echo.tasks.spawn(abort.run_until_cancelled_owned(udp::serve(
                    socket,
                    options.protocol,
                    backend,
                    closing,
                )));
            }
        }
        Ok(echo)
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Frees the port, lets answers under way end for a moment, then ends what is left. When this returns, nothing of
    /// the backend runs any more.
    pub async fn shutdown(self) {
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.tasks.wait()).await.is_err() {
            self.abort.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.closing.cancel();
        self.abort.cancel();
    }
}

/// What a backend listens with.
enum Socket {
    Streams(TcpListener),
    Datagrams(UdpSocket),
}

impl Socket {
    fn open(address: SocketAddr, protocol: Protocol) -> std::io::Result<(Self, SocketAddr)> {
        if protocol.is_of_datagrams() {
            let socket = udp::bind(address)?;
            let at = socket.local_addr()?;
            return Ok((Self::Datagrams(socket), at));
        }
        let listener = listen(address)?;
        let at = listener.local_addr()?;
        Ok((Self::Streams(listener), at))
    }
}

async fn accept(
    listener: TcpListener,
    protocol: Protocol,
    backend: Arc<Backend>,
    closing: CancellationToken,
    abort: CancellationToken,
    tasks: TaskTracker,
) {
    let mut pause = Duration::from_millis(1);
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => return,
            // Places are never closed.
            Ok(place) = Arc::clone(&places).acquire_owned() => tokio::select! {
                () = closing.cancelled() => return,
                accepted = listener.accept() => accepted.map(|(stream, peer)| (stream, peer, place)),
            },
        };
        match accepted {
            Ok((stream, peer, place)) => {
                pause = Duration::from_millis(1);
                let (backend, closing) = (Arc::clone(&backend), closing.clone());
                let serving = async move {
                    let _place = place;
                    match protocol {
                        Protocol::Http | Protocol::Https | Protocol::H2c | Protocol::Grpc => {
                            http::serve(stream, peer, backend, closing).await
                        }
                        Protocol::Tcp => tcp::serve(stream, peer, backend, closing).await,
                        Protocol::Tls => tls_lines::serve(stream, peer, backend, closing).await,
                        Protocol::Greeting => tcp::greet(stream, peer, backend, closing).await,
                        Protocol::Dialogue => dialogue::serve(stream, peer, backend, closing).await,
                        // They have no connections.
                        Protocol::Udp | Protocol::Quoting | Protocol::Dns => {}
                    }
                };
                tasks.spawn(abort.clone().run_until_cancelled_owned(serving));
            }
            Err(error) => {
                // The process is out of descriptors, most likely; the pause grows until some are free again.
                tracing::warn!(%error, "no connection could be taken");
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                }
            }
        }
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of an earlier backend that still linger must not keep the port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
