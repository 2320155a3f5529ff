//! The backend for datagrams: answers each with one that holds one line of JSON, and behind it every byte that came.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

use crate::echo::Backend;
use crate::journal::Entry;
use crate::tcp::{Greeting, line_of};

/// The longest datagram there is.
const LONGEST: usize = 65_535;

pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

/// Answers until `closing`.
pub(crate) async fn serve(socket: UdpSocket, backend: Arc<Backend>, closing: CancellationToken) {
    let mut datagram = vec![0; LONGEST];
    loop {
        let Some(received) = closing.run_until_cancelled(socket.recv_from(&mut datagram)).await else { return };
        let answered = match received {
            Ok((length, peer)) => answer(&socket, &datagram[..length], peer, &backend).await,
            Err(error) => Err(error),
        };
        // Such as one that had room for the bytes and has none for the line before them.
        if let Err(error) = answered {
            tracing::debug!(%error, "a datagram got no answer");
            tokio::task::yield_now().await;
        }
    }
}

async fn answer(socket: &UdpSocket, datagram: &[u8], peer: SocketAddr, backend: &Backend) -> io::Result<()> {
    let line = datagram.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    let request_id = text.split_whitespace().next().map(str::to_owned);
    let mut answer = line_of(&Greeting { identity: &backend.identity, request_id: request_id.as_deref(), peer })?;
    answer.extend_from_slice(datagram);
    backend.journal.write(Entry {
        backend: backend.identity.clone(),
        request_id,
        method: "UDP".to_owned(),
        path: text,
        host: String::new(),
        headers: Vec::new(),
        body_length: datagram.len() as u64,
        body_digest: format!("{:x}", Sha256::digest(datagram)),
        peer,
    });
    socket.send_to(&answer, peer).await?;
    Ok(())
}
