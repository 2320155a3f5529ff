//! Message bodies: streamed, never collected.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Empty, Full, StreamBody};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, Sleep, sleep_until};

/// The error of a body that breaks off.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body on its way through the proxy.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body without content.
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body made of this text.
pub fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body that somebody else sends.
pub fn stream<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A body of which nobody knows beforehand how long it is.
pub fn of_unknown_length(body: Body) -> Body {
    StreamBody::new(BodyStream::new(body)).boxed_unsync()
}

/// A body that breaks off at a point in time, if it has not ended by then.
pub fn until(body: Body, end: Instant) -> Body {
    if body.is_end_stream() {
        return body;
    }
    Until { body, end: Box::pin(sleep_until(end)) }.boxed_unsync()
}

struct Until {
    body: Body,
    end: Pin<Box<Sleep>>,
}

impl http_body::Body for Until {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        if let Poll::Ready(piece) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(piece);
        }
        ready!(self.end.as_mut().poll(cx));
        Poll::Ready(Some(Err("the body takes longer than the timeout permits".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads a body ahead: the same again as often as it is asked for, if it ends within `limit` bytes; else the body itself.
///
/// # Errors
/// If the body breaks off.
pub async fn read_ahead(mut body: Body, limit: usize) -> Result<Ahead, BoxError> {
    let mut frames = Vec::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        length += frame.data_ref().map_or(0, Bytes::len);
        frames.push(frame);
        if length > limit {
            let begun = stream::iter(frames.into_iter().map(Ok));
            return Ok(Ahead::Long(StreamBody::new(begun.chain(BodyStream::new(body))).boxed_unsync()));
        }
    }
    Ok(Ahead::Whole(frames.iter().filter_map(duplicate).collect()))
}

/// A body of which as much was read as may be held.
pub enum Ahead {
    /// All of it.
    Whole(Vec<Frame<Bytes>>),
    /// It is longer; here it is with its beginning.
    Long(Body),
}

impl Ahead {
    /// The body, if it can be sent once more.
    pub fn again(&self) -> Option<Body> {
        match self {
            Self::Whole(frames) if frames.is_empty() => Some(empty()),
            Self::Whole(frames) => match frames.as_slice() {
                // One piece keeps its length, so that the backend gets a length rather than chunks.
                [only] if only.is_data() => only.data_ref().cloned().map(full),
                _ => {
                    let frames: Vec<Piece> = frames.iter().filter_map(duplicate).map(Ok).collect();
                    Some(StreamBody::new(stream::iter(frames)).boxed_unsync())
                }
            },
            Self::Long(_) => None,
        }
    }
}

fn duplicate(frame: &Frame<Bytes>) -> Option<Frame<Bytes>> {
    match (frame.data_ref(), frame.trailers_ref()) {
        (Some(data), _) => Some(Frame::data(data.clone())),
        (None, Some(trailers)) => Some(Frame::trailers(trailers.clone())),
        (None, None) => None,
    }
}

/// Splits `body` into itself and `copies` copies, which receive each frame as the original is read. If the original
/// breaks off, so do the copies. A copy that is read slowly is held in memory.
pub fn tee(body: Body, copies: usize) -> (Body, Vec<Body>) {
    if copies == 0 || body.is_end_stream() {
        return (body, (0..copies).map(|_| empty()).collect());
    }
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..copies).map(|_| unbounded_channel()).unzip();
    (Tee { original: body, copies: senders, ended: false }.boxed_unsync(), receivers.into_iter().map(receive).collect())
}

type Piece = Result<Frame<Bytes>, BoxError>;

fn receive(receiver: UnboundedReceiver<Piece>) -> Body {
    let pieces =
        stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|piece| (piece, receiver)) });
    StreamBody::new(pieces).boxed_unsync()
}

struct Tee {
    original: Body,
    copies: Vec<UnboundedSender<Piece>>,
    ended: bool,
}

impl Tee {
    fn copy(&self, frame: &Frame<Bytes>) {
        for copy in &self.copies {
            let Some(frame) = duplicate(frame) else { continue };
            // A copy nobody reads any more is no reason to stop the original.
            let _ = copy.send(Ok(frame));
        }
    }
}

impl http_body::Body for Tee {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let piece = ready!(Pin::new(&mut self.original).poll_frame(cx));
        match &piece {
            Some(Ok(frame)) => {
                self.copy(frame);
                self.ended |= self.original.is_end_stream();
            }
            Some(Err(_)) => {}
            None => self.ended = true,
        }
        if self.ended {
            self.copies.clear();
        }
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        self.original.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.original.size_hint()
    }
}

impl Drop for Tee {
    fn drop(&mut self) {
        for copy in self.copies.drain(..) {
            let _ = copy.send(Err("the original request broke off".into()));
        }
    }
}
