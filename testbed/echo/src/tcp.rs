//! The backend for byte streams: reads a line, answers with one line of JSON, then returns every byte. One that greets does
//! not wait for the line. Behind the word `at-end` in the line it answers once the client has ended its half, with what came
//! until then behind the answer.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy_buf, split};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::AT_END;
use crate::backend::Backend;
use crate::identity::Identity;
use crate::journal::Entry;

/// The longest first line in bytes; what is beyond belongs to the echoed part.
const LONGEST_LINE: u64 = 4096;

/// The most that is kept for a client that wants its answer at the end.
const LONGEST_REST: u64 = 2 * 1024 * 1024;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Greeting<'a> {
    #[serde(flatten)]
    pub(crate) identity: &'a Identity,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<&'a str>,
    pub(crate) peer: SocketAddr,
    /// What the handshake said, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<Asked<'a>>,
}

/// What a client asked for in the handshake.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked<'a> {
    /// The server name; empty if none was.
    pub(crate) server_name: &'a str,
}

pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, backend: Arc<Backend>, closing: CancellationToken) {
    let conversing = async {
        stream.set_nodelay(true)?;
        converse(stream, peer, (&backend, None)).await
    };
    if let Some(Err(error)) = closing.run_until_cancelled(conversing).await {
        tracing::debug!(%error, "stream ended");
    }
}

/// Speaks first.
pub(crate) async fn greet(stream: TcpStream, peer: SocketAddr, backend: Arc<Backend>, closing: CancellationToken) {
    if let Some(Err(error)) = closing.run_until_cancelled(speak(stream, peer, &backend)).await {
        tracing::debug!(%error, "stream ended");
    }
}

async fn speak(mut stream: TcpStream, peer: SocketAddr, backend: &Backend) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.split();
    write.write_all(&line_of(&Greeting { identity: &backend.identity, request_id: None, peer, tls: None })?).await?;
    copy_buf(&mut BufReader::new(read), &mut write).await?;
    write.shutdown().await
}

pub(crate) fn line_of(greeting: &Greeting<'_>) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(greeting)?;
    line.push(b'\n');
    Ok(line)
}

/// Answers the first line, and returns what follows. Within TLS the server name is that of the handshake.
pub(crate) async fn converse(
    stream: impl AsyncRead + AsyncWrite,
    peer: SocketAddr,
    (backend, server_name): (&Backend, Option<&str>),
) -> std::io::Result<()> {
    let (read, mut write) = split(stream);
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    let length = (&mut read).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
    if length == 0 {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&line).trim_end().to_owned();
    let mut words = text.split_whitespace();
    let request_id = words.next().map(str::to_owned);
    let is_at_end = words.next() == Some(AT_END);
    let tls = server_name.map(|server_name| Asked { server_name });
    let greeting = Greeting { identity: &backend.identity, request_id: request_id.as_deref(), peer, tls };
    let answer = line_of(&greeting)?;
    backend.journal.write(Entry {
        backend: backend.identity.clone(),
        request_id,
        method: "TCP".to_owned(),
        path: text,
        proto: "",
        host: String::new(),
        headers: Vec::new(),
        body_length: line.len() as u64,
        body_digest: format!("{:x}", Sha256::digest(&line)),
        peer,
    });
    if is_at_end {
        let mut rest = Vec::new();
        (&mut read).take(LONGEST_REST).read_to_end(&mut rest).await?;
        write.write_all(&answer).await?;
        write.write_all(&rest).await?;
        return write.shutdown().await;
    }
    write.write_all(&answer).await?;
    copy_buf(&mut read, &mut write).await?;
    write.shutdown().await
}
