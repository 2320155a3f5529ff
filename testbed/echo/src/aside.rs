//! What goes out over HTTP/1.1 around an answer and is no part of what the server is given to send: an interim answer before it,
//! trailers behind it, whether the client asked for them or not, and the first frame of a WebSocket in one piece with the head. And what
//! comes in that the server would refuse, or forget: lengths that contradict each other.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use gateproof_lengths::Heads;
use http::{HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::GREETING;

/// How a body ends that is sent in chunks, behind the end of the line before it.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

const LINE_END: [u8; 2] = *b"\r\n";

/// An interim answer as servers give it that know early what a page will load.
const HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n";

/// How an answer begins that the server may end with its connection, and how it is to begin: that is so of both versions, and the
/// server knows it of the older one alone.
const OLDER: &[u8] = b"HTTP/1.0 ";
const NEWER: &[u8] = b"HTTP/1.1 ";

/// How a head ends.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A whole text in one frame that nothing masks (RFC 6455, section 5.2), but for its length.
const TEXT: u8 = 0x81;

/// What is to go out around the answer under way: whoever answers says it, whoever writes does it.
#[derive(Clone, Default)]
pub(crate) struct Asides(Arc<Mutex<Aside>>);

#[derive(Default)]
struct Aside {
    /// What goes out first.
    before: Bytes,
    /// What goes out instead of the last chunk.
    end: Option<Bytes>,
    /// The last two bytes that went out since that is known.
    sent: [u8; 2],
    /// What the next bytes are changed to.
    change: Option<Change>,
    /// How many bytes need not go out any more: what goes out before them has them in it.
    replaced: usize,
    /// What comes over the connection.
    heads: Heads,
}

enum Change {
    /// The version of HTTP that the answer begins with becomes the newer one.
    Version,
    /// The greeting stands behind the head.
    Greeting,
}

impl Asides {
    /// Hints go out before the answer.
    pub fn hint(&self) {
        self.lock().before = Bytes::from_static(HINTS);
    }

    /// Trailers go out behind the answer, which has to be one in chunks.
    pub fn trail(&self, trailers: &[(HeaderName, HeaderValue)]) {
        let mut end = b"0\r\n".to_vec();
        for (name, value) in trailers {
            end.extend_from_slice(name.as_str().as_bytes());
            end.extend_from_slice(b": ");
            end.extend_from_slice(value.as_bytes());
            end.extend_from_slice(&LINE_END);
        }
        end.extend_from_slice(&LINE_END);
        self.lock().end = Some(end.into());
    }

    /// The answer, which is one of HTTP/1.0, goes out as one of HTTP/1.1.
    pub fn end_with_connection(&self) {
        self.lock().change = Some(Change::Version);
    }

    /// The request that asked for another protocol is answered in this one.
    pub fn stay(&self) {
        self.lock().heads.stay();
    }

    /// The first frame of a WebSocket goes out with the head of the answer that opens it.
    pub fn greet(&self) {
        self.lock().change = Some(Change::Greeting);
    }

    fn lock(&self) -> MutexGuard<'_, Aside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aside {
    fn is_nothing(&self) -> bool {
        self.before.is_empty() && self.end.is_none() && self.change.is_none() && self.replaced == 0
    }

    /// Puts what is to go out in place of these bytes, or of the first of them, before them, if they are what is to be changed.
    fn replace(&mut self, bytes: &[u8]) {
        let (replaced, by) = match self.change {
            Some(Change::Version) if bytes.starts_with(OLDER) => (OLDER.len(), NEWER.to_vec()),
            Some(Change::Greeting) if bytes.ends_with(HEAD_END) => {
                let frame = [TEXT, GREETING.len() as u8];
                (bytes.len(), [bytes, &frame[..], GREETING.as_bytes()].concat())
            }
            _ => return,
        };
        self.change = None;
        self.before = [&self.before[..], &by[..]].concat().into();
        self.replaced = replaced;
    }

    /// What follows the bytes that went out last if these do.
    fn behind(&self, bytes: &[u8]) -> [u8; 2] {
        match bytes {
            [.., first, second] => [*first, *second],
            [only] => [self.sent[1], *only],
            [] => self.sent,
        }
    }
}

/// A connection that such things go out over.
pub(crate) struct WithAsides<S> {
    stream: S,
    asides: Asides,
}

impl<S> WithAsides<S> {
    pub fn new(stream: S, asides: Asides) -> Self {
        Self { stream, asides }
    }
}

impl<S: AsyncWrite + Unpin> WithAsides<S> {
    fn write_whole(stream: &mut S, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        while bytes.has_remaining() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => bytes.advance(written),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WithAsides<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, asides } = &mut *self;
        asides.lock().heads.poll_read(Pin::new(stream), cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithAsides<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, asides } = &mut *self;
        let mut aside = asides.lock();
        if aside.is_nothing() {
            return Pin::new(stream).poll_write(cx, bytes);
        }
        aside.replace(bytes);
        ready!(Self::write_whole(stream, cx, &mut aside.before))?;
        if aside.replaced > 0 {
            return Poll::Ready(Ok(std::mem::take(&mut aside.replaced)));
        }
        let rest = bytes.strip_suffix(LAST_CHUNK).unwrap_or(bytes);
        // A line of the head may end so as well, and what an answer says has no ends of lines in it.
        let is_last = rest.len() < bytes.len() && aside.behind(rest) == LINE_END;
        if is_last && rest.is_empty() {
            if let Some(end) = &mut aside.end {
                ready!(Self::write_whole(stream, cx, end))?;
            }
            aside.end = None;
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = ready!(Pin::new(stream).poll_write(cx, if is_last { rest } else { bytes }))?;
        aside.sent = aside.behind(&bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.asides.lock().is_nothing() {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        }
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.poll_write(cx, first.map_or(&[], |piece| piece))
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
