//! Datagrams. A flow is what one client address sends to one listener: it has one backend, and a socket towards it of its
//! own, so that answers find their way back.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::compiled::{ListenerKey, Service};
use crate::config::TcpBackend;
use crate::exchange::{Connection, Passage, TcpChoice, Way};
use crate::shared::Shared;

/// How many flows a listener has at most. One more takes the place of the one that has been silent the longest.
pub const MOST_FLOWS: usize = 256;

/// How long a flow lasts after the last datagram of its client.
const IDLE: Duration = Duration::from_secs(30);

/// How often flows that are over are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// The longest datagram there is.
const LONGEST: usize = 65_535;

/// One flow. Dropping it ends it.
struct Flow {
    connection: Arc<Connection>,
    /// What its backend was drawn from. When that changes, the next datagram draws anew; what else a configuration changes leaves
    /// the flow alone, with the answers that are on their way.
    drawn_from: Vec<TcpBackend>,
    /// Nothing: its datagrams are dropped.
    towards: Option<Towards>,
    last: Instant,
}

struct Towards {
    socket: Arc<UdpSocket>,
    back: AbortHandle,
}

impl Drop for Towards {
    fn drop(&mut self) {
        self.back.abort();
    }
}

/// Forwards datagrams until `closing`. The port is free when this returns, but for answers that are being sent.
pub async fn forward(shared: Arc<Shared>, listener: UdpSocket, key: ListenerKey, closing: CancellationToken) {
    let listener = Arc::new(listener);
    let mut flows: HashMap<SocketAddr, Flow> = HashMap::new();
    let mut datagram = vec![0; LONGEST];
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        let received = tokio::select! {
            () = closing.cancelled() => return,
            _ = sweep.tick() => {
                flows.retain(|_, flow| flow.last.elapsed() < IDLE);
                continue;
            }
            received = listener.recv_from(&mut datagram) => received,
        };
        let (length, peer) = match received {
            Ok(received) => received,
            // A client that is gone makes the next call fail, on some systems.
            Err(error) => {
                tracing::debug!(listener = %key, %error, "a datagram could not be received");
                tokio::task::yield_now().await;
                continue;
            }
        };
        let Some(flow) = flow_of(&shared, &mut flows, &listener, key, peer).await else { continue };
        let Some(Towards { socket, .. }) = &flow.towards else { continue };
        let Some(datagram) = datagram.get(..length) else { continue };
        match shared.exchange.on_datagram(&flow.connection, Way::There, datagram) {
            Passage::Pass => sent(socket.send(datagram).await),
            Passage::As(other) => sent(socket.send(&other).await),
            Passage::Drop | Passage::FromElsewhere | Passage::To(_) => {}
        }
    }
}

/// The flow of a client, which begins with this datagram or has begun before. Nothing while none may begin.
async fn flow_of<'f>(
    shared: &Arc<Shared>,
    flows: &'f mut HashMap<SocketAddr, Flow>,
    listener: &Arc<UdpSocket>,
    key: ListenerKey,
    peer: SocketAddr,
) -> Option<&'f Flow> {
    let connection = match flows.get(&peer) {
        Some(flow) => Arc::clone(&flow.connection),
        None => Arc::new(Connection { id: shared.next_connection(), listener: key, peer, opened_at: Instant::now() }),
    };
    let config = shared.config_for(&connection);
    let service = match config.listener(key).map(|listener| &listener.service) {
        Some(Service::Udp(service)) => Some(service),
        _ => None,
    };
    let backends = service.map(|service| service.backends.as_slice()).unwrap_or_default();
    if flows.get(&peer).is_none_or(|flow| flow.drawn_from != backends) {
        flows.remove(&peer);
        if service.is_some() && config.applied_at.elapsed() < config.config.hitch {
            return None;
        }
        if flows.len() >= MOST_FLOWS {
            let oldest = flows.iter().min_by_key(|(_, flow)| flow.last).map(|(peer, _)| *peer);
            oldest.and_then(|oldest| flows.remove(&oldest));
        }
        let towards = match service.map(|service| shared.exchange.on_udp(&connection, service.draw())) {
            Some(TcpChoice::Forward(endpoint)) => open(shared, listener, &connection, endpoint).await,
            Some(TcpChoice::Refuse { reason }) => {
                tracing::debug!(listener = %key, reason, "datagrams are dropped");
                None
            }
            // There is no TLS around datagrams.
            Some(TcpChoice::Encrypt { .. }) | None => None,
        };
        let drawn_from = backends.to_vec();
        flows.insert(peer, Flow { connection, drawn_from, towards, last: Instant::now() });
    }
    let flow = flows.get_mut(&peer)?;
    flow.last = Instant::now();
    Some(flow)
}

/// A socket towards a backend, with what brings the answers back. Nothing if there is no way to it.
async fn open(
    shared: &Arc<Shared>,
    listener: &Arc<UdpSocket>,
    connection: &Arc<Connection>,
    endpoint: SocketAddr,
) -> Option<Towards> {
    let socket = match connected(endpoint).await {
        Ok(socket) => Arc::new(socket),
        Err(error) => {
            tracing::debug!(%endpoint, %error, "there is no way to the backend");
            return None;
        }
    };
    let answers = answers(Arc::clone(shared), Arc::clone(&socket), Arc::clone(listener), Arc::clone(connection));
    let back = tokio::spawn(shared.abort.clone().run_until_cancelled_owned(answers)).abort_handle();
    Some(Towards { socket, back })
}

/// Only who it is connected to can answer.
async fn connected(endpoint: SocketAddr) -> io::Result<UdpSocket> {
    let any = match endpoint {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(endpoint).await?;
    Ok(socket)
}

/// Sends what a backend answers to the client, from where the client sent to.
async fn answers(
    shared: Arc<Shared>,
    backend: Arc<UdpSocket>,
    listener: Arc<UdpSocket>,
    connection: Arc<Connection>,
) -> io::Result<()> {
    loop {
        backend.readable().await?;
        // It is there for no longer than a datagram takes, for there may be many flows.
        let mut datagram = vec![0; LONGEST];
        let length = match backend.try_recv(&mut datagram) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            // Nobody listens there now. Somebody may when the next one comes.
            Err(error) => {
                tracing::debug!(%error, "a datagram did not get to the backend");
                continue;
            }
        };
        datagram.truncate(length);
        match shared.exchange.on_datagram(&connection, Way::Back, &datagram) {
            Passage::Pass => sent(listener.send_to(&datagram, connection.peer).await),
            Passage::As(other) => sent(listener.send_to(&other, connection.peer).await),
            Passage::Drop => {}
            Passage::To(client) => sent(listener.send_to(&datagram, client).await),
            Passage::FromElsewhere => {
                let at = SocketAddr::new(listener.local_addr()?.ip(), 0);
                sent(UdpSocket::bind(at).await?.send_to(&datagram, connection.peer).await);
            }
        }
    }
}

fn sent(sent: io::Result<usize>) {
    if let Err(error) = sent {
        tracing::debug!(%error, "a datagram was dropped");
    }
}
