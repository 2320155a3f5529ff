//! Message bodies: streamed, never collected.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::stream;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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
            let frame = match (frame.data_ref(), frame.trailers_ref()) {
                (Some(data), _) => Frame::data(data.clone()),
                (None, Some(trailers)) => Frame::trailers(trailers.clone()),
                (None, None) => continue,
            };
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
