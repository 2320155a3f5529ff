//! The backends for datagrams: each is answered with one line of JSON, and behind it every byte that came, and one without a byte
//! with another such behind the line; or with JSON that quotes it; or refused, if it is a query of DNS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

use crate::backend::{Backend, Protocol};
use crate::identity::Identity;
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
pub(crate) async fn serve(socket: UdpSocket, protocol: Protocol, backend: Arc<Backend>, closing: CancellationToken) {
    let mut datagram = vec![0; LONGEST];
    loop {
        let Some(received) = closing.run_until_cancelled(socket.recv_from(&mut datagram)).await else { return };
        let answered = match received {
            Ok((length, peer)) => answer(&socket, &datagram[..length], peer, (protocol, &backend)).await,
            Err(error) => Err(error),
        };
        // Such as one that had room for the bytes and has none for the line before them.
        if let Err(error) = answered {
            tracing::debug!(%error, "a datagram got no answer");
            tokio::task::yield_now().await;
        }
    }
}

async fn answer(
    socket: &UdpSocket,
    datagram: &[u8],
    peer: SocketAddr,
    (protocol, backend): (Protocol, &Backend),
) -> io::Result<()> {
    let line = datagram.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line).trim_end().to_owned();
    let request_id = text.split_whitespace().next().map(str::to_owned);
    let answer = match protocol {
        Protocol::Dns => refused(datagram),
        Protocol::Quoting => Some(quoted(datagram, &backend.identity)?),
        _ => {
            let mut answer =
                line_of(&Greeting { identity: &backend.identity, request_id: request_id.as_deref(), peer, tls: None })?;
            answer.extend_from_slice(datagram);
            Some(answer)
        }
    };
    backend.journal.write(Entry {
        backend: backend.identity.clone(),
        request_id,
        method: "UDP".to_owned(),
        path: text,
        proto: "",
        host: String::new(),
        headers: Vec::new(),
        body_length: datagram.len() as u64,
        body_digest: format!("{:x}", Sha256::digest(datagram)),
        peer,
    });
    let Some(answer) = answer else { return Ok(()) };
    socket.send_to(&answer, peer).await?;
    if datagram.is_empty() && protocol == Protocol::Udp {
        socket.send_to(datagram, peer).await?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Quoted<'a> {
    request: &'a str,
    #[serde(flatten)]
    identity: &'a Identity,
}

fn quoted(datagram: &[u8], identity: &Identity) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&Quoted { request: &String::from_utf8_lossy(datagram), identity })?)
}

/// The answer to a query of DNS (RFC 1035, 4.1.1) that refuses it, with what was asked; none to what is no query.
fn refused(datagram: &[u8]) -> Option<Vec<u8>> {
    /// This is an answer.
    const ANSWER: u8 = 0x80;
    /// The operation, and that recursion is desired: both stay as they were asked.
    const KEPT: u8 = 0x79;
    /// The code of who refuses.
    const REFUSED: u8 = 5;
    const HEADER: usize = 12;
    let [first, second, flags, _, rest @ ..] = datagram else { return None };
    if datagram.len() < HEADER || flags & ANSWER != 0 {
        return None;
    }
    Some([&[*first, *second, ANSWER | flags & KEPT, REFUSED], rest].concat())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::query(&[7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], Some([7, 8, 0x81, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0]))]
    #[case::answer(&[7, 8, 0x81, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], None)]
    #[case::short(&[7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0], None)]
    #[case::empty(&[], None)]
    fn queries_are_refused(#[case] datagram: &[u8], #[case] expected: Option<[u8; 13]>) {
        assert_eq!(refused(datagram), expected.map(Vec::from));
    }
}
