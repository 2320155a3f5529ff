//! Connections of clients whose requests may contradict themselves: what they say of their length is kept for whoever answers them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use gateproof_lengths::Heads;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Sets lengths aside that the server would refuse, or forget, by itself. Of those behind a request for another protocol it does.
pub struct WithHeads<S> {
    stream: S,
    heads: Heads,
}

impl<S> WithHeads<S> {
    /// A connection of which nothing was read.
    pub fn new(stream: S) -> Self {
        Self { stream, heads: Heads::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WithHeads<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, heads } = &mut *self;
        heads.poll_read(Pin::new(stream), cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithHeads<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
