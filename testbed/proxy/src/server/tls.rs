//! TLS that is told apart by server name before anybody answers it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rustls::ServerConfig;
use rustls::server::{Acceptor, ClientHello};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;

use super::tcp;
use crate::exchange::{Connection, Exchange, TcpChoice};
use crate::stream::Stream;

/// How much a client may send until its first message is whole.
const LONGEST_HELLO: usize = 64 * 1024;

/// How much of it is read at once: more than most have, so that one that comes in pieces is told from one that does not.
const READ_AT_ONCE: usize = 8 * 1024;

/// How long a client may take for its first message, and for its part of a handshake.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);

/// The first byte of a handshake, which is the type of its record (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// Whether what a client sends begins as a handshake does.
pub async fn begins(tcp: &TcpStream) -> bool {
    let mut first = [0];
    matches!(tcp.peek(&mut first).await, Ok(1)) && first == [HANDSHAKE]
}

/// Reads a client's first message. What was read of the connection is in the stream that comes back, with the server name in
/// lower case.
///
/// # Errors
/// If it is none, or none within the bounds.
pub async fn hello(mut tcp: TcpStream) -> io::Result<(Option<String>, Stream)> {
    let reading = async {
        let mut acceptor = Acceptor::default();
        let mut head = BytesMut::with_capacity(READ_AT_ONCE);
        let mut pieces = 0;
        loop {
            if head.len() >= LONGEST_HELLO {
                return Err(io::Error::other("the client's first message has no end"));
            }
            let before = head.len();
            if tcp.read_buf(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            pieces += 1;
            let mut new = &head[before..];
            while !new.is_empty() {
                acceptor.read_tls(&mut new)?;
                if let Some(accepted) = acceptor.accept().map_err(|(error, _)| io::Error::other(error))? {
                    let name = accepted.client_hello().server_name().map(str::to_ascii_lowercase);
                    return Ok((name, head.freeze(), pieces));
                }
            }
        }
    };
    match tokio::time::timeout(LONGEST_HANDSHAKE, reading).await {
        Ok(Ok((name, head, pieces))) => Ok((name, Stream::new(head, tcp).in_pieces(pieces))),
        Ok(Err(error)) => {
            // There is nothing to answer to what is no TLS.
            Stream::from(tcp).reset_at_close();
            Err(error)
        }
        Err(_) => {
            Stream::from(tcp).reset_at_close();
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// The server side of a handshake, with the protocols that it may agree on with this client.
pub fn agreeing(
    server: Arc<ServerConfig>,
    hello: &ClientHello<'_>,
    exchange: &dyn Exchange,
    connection: &Connection,
) -> Arc<ServerConfig> {
    let offered: Vec<_> = hello.alpn().into_iter().flatten().map(<[u8]>::to_vec).collect();
    let spoken = exchange.on_protocols(connection, &offered, server.alpn_protocols.clone());
    if spoken == server.alpn_protocols {
        return server;
    }
    let mut other = ServerConfig::clone(&server);
    other.alpn_protocols = spoken;
    Arc::new(other)
}

/// Answers the handshake and forwards what is in the stream; resets without a word where there is nobody to forward to.
pub async fn terminate(
    client: Stream,
    terms: Arc<ServerConfig>,
    (exchange, connection): (&dyn Exchange, &Connection),
    choice: TcpChoice,
) {
    let backend = match tcp::connect(choice).await {
        Ok(backend) => backend,
        Err(reason) => return tcp::reset(&client, &reason),
    };
    let handshake = async {
        let start = LazyConfigAcceptor::new(Acceptor::default(), client).await?;
        let terms = agreeing(terms, &start.client_hello(), exchange, connection);
        start.into_stream(terms).await
    };
    match tokio::time::timeout(LONGEST_HANDSHAKE, handshake).await {
        Ok(Ok(client)) => match backend {
            tcp::Backend::Clear(backend) => tcp::forward(client, backend).await,
            tcp::Backend::Encrypted(backend) => tcp::forward(client, backend).await,
        },
        Ok(Err(error)) => tracing::debug!(%error, "handshake failed"),
        Err(_) => tracing::debug!("handshake without an end"),
    }
}
