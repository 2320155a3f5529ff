//! What comes over a connection, counted and bounded: the evidence of an attempt that fails, and the end of one that would
//! never end by itself.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::log::{ProbeError, Received};

/// How many bytes may come for one request, before TLS is taken off. No answer that a scenario asks for has a third of it.
pub(super) const MOST: u64 = 4 * 1024 * 1024;
/// How much of what came is kept.
const KEPT: usize = 256;

/// What came over one connection since the last request on it.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    wire: u64,
    content: u64,
    start: Vec<u8>,
    /// What is in TLS is noted by a tap of its own.
    is_secured: bool,
}

impl Seen {
    /// Counts from here on: another request begins.
    pub(super) fn restart(&self) {
        let mut state = self.state();
        *state = State { is_secured: state.is_secured, ..State::default() };
    }

    /// What there is to show of an attempt that failed; nothing if nothing came. `status` is that of the answer, if its head
    /// was whole.
    pub(super) fn received(&self, status: Option<u16>) -> Option<Received> {
        let state = self.state();
        (state.content > 0).then(|| Received {
            bytes: state.content,
            start: state.start.escape_ascii().to_string(),
            status,
        })
    }

    /// Why an attempt failed, `error` being what was noticed of it.
    pub(super) fn reason(&self, error: ProbeError) -> ProbeError {
        if self.state().wire > MOST { too_much() } else { error }
    }

    fn note(&self, layer: Layer, came: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let length = came.len() as u64;
        if layer == Layer::Wire {
            state.wire += length;
        }
        if layer == Layer::Content || !state.is_secured {
            state.content += length;
            let room = KEPT.saturating_sub(state.start.len()).min(came.len());
            state.start.extend_from_slice(&came[..room]);
        }
        if state.wire > MOST { Err(io::Error::other("too much came")) } else { Ok(()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_much() -> ProbeError {
    ProbeError::Malformed(format!("more than {MOST} bytes came for one request"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Wire,
    Content,
}

/// A connection that is watched. A read fails once more came than one request can ask for.
pub(super) struct Tap<S> {
    stream: S,
    seen: Seen,
    layer: Layer,
}

impl<S> Tap<S> {
    /// Over the bytes of the connection itself.
    pub(super) fn wire(stream: S, seen: Seen) -> Self {
        Tap { stream, seen, layer: Layer::Wire }
    }

    /// Over what TLS holds; from here on that is what is shown.
    pub(super) fn content(stream: S, seen: Seen) -> Self {
        seen.state().is_secured = true;
        seen.restart();
        Tap { stream, seen, layer: Layer::Content }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        Poll::Ready(self.seen.note(self.layer, &buffer.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
