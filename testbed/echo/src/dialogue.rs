//! The backend for byte streams that speaks first: a greeting, then one line for each command that it knows.
//!
//! Greeting, commands and fields are those of the TCP echo of the Gateway API conformance suite.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::echo::Backend;
use crate::identity::Identity;
use crate::journal::Entry;

const GREETING: &[u8] = b"Gateway API Test TCP Server\n";

/// The longest command in bytes.
const LONGEST_LINE: u64 = 4096;

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    identity: &'a Identity,
    tcpport: String,
    #[serde(rename = "isTLS")]
    is_tls: bool,
}

pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, backend: Arc<Backend>, closing: CancellationToken) {
    if let Some(Err(error)) = closing.run_until_cancelled(converse(stream, peer, &backend)).await {
        tracing::debug!(%error, "stream ended");
    }
}

async fn converse(mut stream: TcpStream, peer: SocketAddr, backend: &Backend) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read);
    write.write_all(GREETING).await?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut read).take(LONGEST_LINE).read_until(b'\n', &mut line).await? == 0 {
            return write.shutdown().await;
        }
        note(&line, peer, backend);
        match line.trim_ascii_end() {
            b"PING" => write.write_all(b"PONG\n").await?,
            b"IS_TLS" => write.write_all(b"false\n").await?,
            b"TEST" => write.write_all(&about(backend)?).await?,
            _ => {}
        }
    }
}

fn about(backend: &Backend) -> serde_json::Result<Vec<u8>> {
    let answer = Answer { identity: &backend.identity, tcpport: backend.http_port.to_string(), is_tls: false };
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    Ok(text)
}

fn note(line: &[u8], peer: SocketAddr, backend: &Backend) {
    backend.journal.write(Entry {
        backend: backend.identity.clone(),
        request_id: None,
        method: "TCP".to_owned(),
        path: String::from_utf8_lossy(line.trim_ascii_end()).into_owned(),
        host: String::new(),
        headers: Vec::new(),
        body_length: line.len() as u64,
        body_digest: format!("{:x}", Sha256::digest(line)),
        peer,
    });
}
