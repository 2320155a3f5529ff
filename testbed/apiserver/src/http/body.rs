//! Bodies of answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

/// A text at once, or the endless text of a watch.
pub enum Body {
    /// The whole text; taken away when it has been sent.
    Full(Option<Bytes>),
    /// Pieces as they come.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// A whole text.
    pub fn full(text: impl Into<Bytes>) -> Self {
        Self::Full(Some(text.into()))
    }

    /// Pieces as they come.
    pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(pieces))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |piece: Option<Bytes>| piece.map(|piece| Ok(Frame::data(piece)));
        match self.get_mut() {
            Self::Full(text) => Poll::Ready(frame(text.take())),
            Self::Stream(pieces) => pieces.as_mut().poll_next(context).map(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
