//! A connection over which what is written first goes out in two pieces, as a network may deliver it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::cluster::clock;

/// How long after the first piece the rest goes out. Whoever reads what has come has mostly done so by then; where a machine is
/// too busy for that, both come as one, which proves nothing and breaks nothing.
const MOMENT: Duration = Duration::from_millis(200);

/// How much is still to go out in pieces.
enum Left {
    /// Something that is written first, and then halved.
    All,
    /// Its second half, once that is over.
    Rest(Pin<Box<dyn Future<Output = ()> + Send>>),
    Nothing,
}

/// The connection.
pub(super) struct Pieces<S> {
    stream: S,
    left: Left,
}

impl<S> Pieces<S> {
    /// The same connection, if nothing is to go out so.
    pub(super) fn new(stream: S, in_two: bool) -> Self {
        Pieces { stream, left: if in_two { Left::All } else { Left::Nothing } }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Pieces<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pieces<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Pieces { stream, left } = &mut *self;
        match left {
            Left::All => {
                let written = ready!(Pin::new(stream).poll_write(cx, &bytes[..bytes.len().div_ceil(2)]))?;
                *left = Left::Rest(Box::pin(clock::until(clock::now() + MOMENT)));
                Poll::Ready(Ok(written))
            }
            Left::Rest(moment) => {
                ready!(moment.as_mut().poll(cx));
                *left = Left::Nothing;
                Pin::new(stream).poll_write(cx, bytes)
            }
            Left::Nothing => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_goes_out_first_does_so_in_two_pieces() {
        for (in_two, first) in [(true, "abc"), (false, "abcde")] {
            let (near, mut far) = duplex(64);
            let mut near = Pieces::new(near, in_two);
            let writing = tokio::spawn(async move {
                near.write_all(b"abcde").await.unwrap();
                near.write_all(b"fg").await.unwrap();
            });
            let mut came = [0; 64];
            let length = far.read(&mut came).await.unwrap();
            assert_eq!(&came[..length][..first.len()], first.as_bytes());
            assert_eq!(length == first.len(), in_two, "{length}");
            let mut rest = String::new();
            far.read_to_string(&mut rest).await.unwrap();
            writing.await.unwrap();
            assert_eq!(String::from_utf8_lossy(&came[..length]) + rest.as_str(), "abcdefg");
        }
    }
}
