//! The backend for byte streams that speaks first: a greeting, then one line for each command that it knows.
//!
//! Greeting, commands and fields are those of the TCP echo of the Gateway API conformance suite.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, split};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::backend::Backend;
use crate::identity::Identity;
use crate::journal::Entry;
use crate::tls::{self, Agreed};
use crate::tls_lines;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<&'a Agreed>,
}

pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, backend: Arc<Backend>, closing: CancellationToken) {
    let conversing = async {
        stream.set_nodelay(true)?;
        match &backend.server {
            None => converse(stream, peer, (&backend, None)).await,
            Some(server) => {
                let stream = tls_lines::accept(stream, server).await?;
                let agreed = tls::agreed(stream.get_ref().1);
                converse(stream, peer, (&backend, Some(&agreed))).await
            }
        }
    };
    if let Some(Err(error)) = closing.run_until_cancelled(conversing).await {
        tracing::debug!(%error, "stream ended");
    }
}

async fn converse<S: AsyncRead + AsyncWrite>(
    stream: S,
    peer: SocketAddr,
    (backend, agreed): (&Backend, Option<&Agreed>),
) -> std::io::Result<()> {
    let (read, mut write) = split(stream);
    let mut read = BufReader::new(read);
    write.write_all(GREETING).await?;
    let mut line = Vec::new();
    loop {
        // What was said so far must not wait in a buffer of TLS.
        write.flush().await?;
        line.clear();
        if (&mut read).take(LONGEST_LINE).read_until(b'\n', &mut line).await? == 0 {
            return write.shutdown().await;
        }
        note(&line, peer, backend);
        match line.trim_ascii_end() {
            b"PING" => write.write_all(b"PONG\n").await?,
            b"IS_TLS" => write.write_all(format!("{}\n", agreed.is_some()).as_bytes()).await?,
            b"TEST" => write.write_all(&about(backend, agreed)?).await?,
            _ => {}
        }
    }
}

fn about(backend: &Backend, agreed: Option<&Agreed>) -> serde_json::Result<Vec<u8>> {
    let tcpport = backend.http_port.to_string();
    let answer = Answer { identity: &backend.identity, tcpport, is_tls: agreed.is_some(), tls: agreed };
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
        proto: "",
        host: String::new(),
        headers: Vec::new(),
        body_length: line.len() as u64,
        body_digest: format!("{:x}", Sha256::digest(line)),
        peer,
    });
}
