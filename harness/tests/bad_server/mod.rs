//! A server that follows a script instead of a protocol. It lives in memory behind the dialer, so that time can stand still,
//! or on a socket, where a reset is a real one.
#![allow(clippy::unwrap_used, dead_code)]

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use gateproof::cluster::clock;
use gateproof::cluster::dial::{Connection, DialError, Dialer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// What the server does once a request has come.
#[derive(Debug, Clone)]
pub enum Act {
    /// Writes.
    Write(Vec<u8>),
    /// Writes byte by byte, one every so often.
    Drip(Vec<u8>, Duration),
    /// Writes again and again, as fast as it is read.
    Endless(Vec<u8>),
}

/// How the connection goes on when the script is through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is closed in good order (FIN).
    Close,
    /// It is reset (RST).
    Reset,
    /// It stays open.
    Silence,
}

/// A server with a script for every connection.
#[derive(Clone)]
pub struct BadServer {
    acts: Vec<Act>,
    end: End,
    written: Arc<AtomicU64>,
}

impl BadServer {
    pub fn new(acts: Vec<Act>, end: End) -> Self {
        Self { acts, end, written: Arc::default() }
    }

    /// How many bytes it could write so far: what was read of them, and a buffer of 64 KiB.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Follows the script; only an end of its own is an end of the connection.
    async fn follow(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        for act in &self.acts {
            match act {
                Act::Write(bytes) => self.write(stream, bytes).await?,
                Act::Drip(bytes, pause) => {
                    for byte in bytes {
                        clock::until(clock::now() + *pause).await;
                        self.write(stream, &[*byte]).await?;
                    }
                }
                Act::Endless(bytes) => {
                    let many = bytes.repeat(1 + 32 * 1024 / bytes.len());
                    loop {
                        self.write(stream, &many).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn write(&self, stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await?;
        self.written.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    async fn serve(self, stream: DuplexStream, is_reset: Arc<AtomicBool>) {
        let (mut reads, mut writes) = tokio::io::split(stream);
        request(&mut reads).await.unwrap();
        // Whatever else is sent is taken, so that nothing but the script decides how it ends.
        let draining = tokio::spawn(async move {
            let _ = tokio::io::copy(&mut reads, &mut tokio::io::sink()).await;
        });
        // The probe may have seen enough.
        let _ = self.follow(&mut writes).await;
        if self.end == End::Silence {
            return std::future::pending().await;
        }
        is_reset.store(self.end == End::Reset, Ordering::SeqCst);
        let _ = writes.shutdown().await;
        drop(draining);
    }

    /// The same server on a socket.
    pub async fn listen(self) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                self.serve_socket(stream).await;
            }
        });
        address
    }

    async fn serve_socket(&self, mut stream: TcpStream) {
        let _ = request(&mut stream).await;
        let _ = self.follow(&mut stream).await;
        if self.end == End::Reset {
            stream.set_zero_linger().unwrap();
        }
    }
}

#[async_trait]
impl Dialer for BadServer {
    async fn dial(&self, _: &str, _: u16, _: Instant) -> Result<Connection, DialError> {
        let (client, server) = duplex(64 * 1024);
        let is_reset = Arc::<AtomicBool>::default();
        tokio::spawn(self.clone().serve(server, Arc::clone(&is_reset)));
        Ok(Connection { stream: Box::new(Wire { stream: client, is_reset }), peer: None })
    }

    fn advice(&self) -> &'static str {
        "there is none"
    }
}

/// Waits for a request: over HTTP/2 for its headers, because what comes before them answers nothing; of other protocols the
/// first bytes do.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut start = [0; 3];
    stream.read_exact(&mut start).await?;
    if start != *b"PRI" {
        return Ok(());
    }
    stream.read_exact(&mut [0; 21]).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        stream.read_exact(&mut vec![0; length]).await?;
        if head[3] == 1 {
            return Ok(());
        }
    }
}

/// A connection in memory that can end as a reset does: by an error instead of an end.
struct Wire {
    stream: DuplexStream,
    is_reset: Arc<AtomicBool>,
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let is_end = matches!(read, Poll::Ready(Ok(()))) && buffer.filled().len() == before;
        if is_end && self.is_reset.load(Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
