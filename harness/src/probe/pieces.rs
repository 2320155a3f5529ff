//! A connection over which what is written first goes out in two pieces, as a network may deliver it, or in two records of TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::cluster::clock;
use crate::log::Hello;

/// How long after the first piece the rest goes out. Whoever reads what has come has mostly done so by then; where a machine is
/// too busy for that, both come as one, which proves nothing and breaks nothing.
const MOMENT: Duration = Duration::from_millis(200);

/// How long the head of a record is: a type, a version, and how long the record is.
const RECORD_HEAD: usize = 5;

/// What is still to go out otherwise than it is written.
enum Left {
    /// Something that is written first, and then halved.
    All,
    /// Its second half, once that is over.
    Rest(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// A record that is written first, and then becomes two.
    Record,
    /// The two, for so many bytes of what is written.
    Records(Bytes, usize),
    Nothing,
}

/// The connection.
pub(super) struct Pieces<S> {
    stream: S,
    left: Left,
}

impl<S> Pieces<S> {
    /// The same connection, over which the first message goes out as the handshake says.
    pub(super) fn new(stream: S, hello: &Hello) -> Self {
        let left = match (hello.two_records, hello.in_two) {
            (true, _) => Left::Record,
            (false, true) => Left::All,
            (false, false) => Left::Nothing,
        };
        Pieces { stream, left }
    }
}

/// One record as two, each with a half of what is in it (RFC 8446, section 5.1); anything else as it is.
fn split(record: &[u8]) -> Bytes {
    let Some(([kind, major, minor, ..], content)) = record.split_first_chunk::<RECORD_HEAD>() else {
        return Bytes::copy_from_slice(record);
    };
    let halves = content.split_at(content.len().div_ceil(2));
    let mut both = Vec::with_capacity(record.len() + RECORD_HEAD);
    for half in [halves.0, halves.1] {
        let Ok(length) = u16::try_from(half.len()) else { return Bytes::copy_from_slice(record) };
        both.extend_from_slice(&[*kind, *major, *minor]);
        both.extend_from_slice(&length.to_be_bytes());
        both.extend_from_slice(half);
    }
    both.into()
}

impl<S: AsyncRead + Unpin> AsyncRead for Pieces<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pieces<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Pieces { stream, left } = &mut *self;
        if matches!(left, Left::Record) {
            *left = Left::Records(split(bytes), bytes.len());
        }
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
            Left::Records(records, written) => {
                while records.has_remaining() {
                    match ready!(Pin::new(&mut *stream).poll_write(cx, records))? {
                        0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                        sent => records.advance(sent),
                    }
                }
                let written = *written;
                *left = Left::Nothing;
                Poll::Ready(Ok(written))
            }
            Left::Record | Left::Nothing => Pin::new(stream).poll_write(cx, bytes),
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
            let mut near = Pieces::new(near, &Hello { in_two, ..Hello::default() });
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

    /// The room of the connection is smaller than what goes out, so it does so bit by bit.
    #[tokio::test]
    async fn what_goes_out_first_is_split_over_two_records() {
        let (near, mut far) = duplex(4);
        let mut near = Pieces::new(near, &Hello { two_records: true, ..Hello::default() });
        let writing = tokio::spawn(async move {
            near.write_all(b"\x16\x03\x01\x00\x05hello").await.unwrap();
            near.write_all(b"\x14\x03\x03\x00\x01.").await.unwrap();
        });
        let mut came = Vec::new();
        far.read_to_end(&mut came).await.unwrap();
        writing.await.unwrap();
        assert_eq!(came, b"\x16\x03\x01\x00\x03hel\x16\x03\x01\x00\x02lo\x14\x03\x03\x00\x01.");
    }
}
