//! Reading from a connection that requests come over, so that no head is seen before it is whole.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::io::poll_read_buf;

use crate::place::Place;

/// How much is read at once of a head that did not come in one piece.
const PIECE: usize = 4096;

/// What comes over a connection: within the heads of requests lengths are set aside that nobody goes by, in how many pieces they come
/// and whatever stands between them. Bodies go through as they are, and so does all behind what is no request of HTTP/1.1, behind a
/// request for another protocol, and behind a head of more than 64 KiB.
#[derive(Debug, Default)]
pub struct Heads {
    place: Place,
    /// What was read and not handed on: the beginning of a head, once what is ready of it is gone.
    held: BytesMut,
    /// So many bytes of it may be handed on.
    ready: usize,
}

impl Heads {
    /// The request for another protocol was answered in this one, so another request follows.
    pub fn stay(&mut self) {
        self.place.stay();
    }

    /// Reads what is to be seen of a connection, as `AsyncRead::poll_read` does.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn poll_read<S: AsyncRead>(
        &mut self,
        mut stream: Pin<&mut S>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.ready > 0 {
                let given = self.ready.min(buffer.remaining());
                buffer.put_slice(&self.held.split_to(given));
                self.ready -= given;
                return Poll::Ready(Ok(()));
            }
            if !self.held.is_empty() {
                self.held.reserve(PIECE);
                if ready!(poll_read_buf(stream.as_mut(), cx, &mut self.held))? == 0 {
                    // It ends within a head, which is for who reads it to refuse.
                    self.place.leave();
                }
                self.ready = self.place.pass(&mut self.held);
                continue;
            }
            let before = buffer.filled().len();
            ready!(stream.as_mut().poll_read(cx, buffer))?;
            let came = &mut buffer.filled_mut()[before..];
            let (all, passed) = (came.len(), self.place.pass(came));
            self.held.extend_from_slice(&came[passed..]);
            buffer.set_filled(before + passed);
            // Nothing at all is the end.
            if passed > 0 || all == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::VecDeque;
    use std::task::Waker;

    use rstest::rstest;

    use super::*;

    /// What comes in these pieces, before each of which nothing has come.
    struct Pieces {
        left: VecDeque<Vec<u8>>,
        has_waited: bool,
    }

    impl Pieces {
        fn new(pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
            let left = pieces.into_iter().map(|piece| piece.as_ref().to_vec()).collect();
            Self { left, has_waited: false }
        }
    }

    impl AsyncRead for Pieces {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            self.has_waited = !self.has_waited;
            if self.has_waited {
                return Poll::Pending;
            }
            let Some(mut piece) = self.left.pop_front() else { return Poll::Ready(Ok(())) };
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.left.push_front(rest);
            }
            Poll::Ready(Ok(()))
        }
    }

    /// What is read by somebody who has room for so many bytes at once.
    fn read(pieces: &mut Pieces, room: usize) -> Vec<String> {
        let (mut heads, mut came, mut room) = (Heads::default(), Vec::new(), vec![0; room]);
        loop {
            let mut buffer = ReadBuf::new(&mut room);
            match heads.poll_read(Pin::new(&mut *pieces), &mut Context::from_waker(Waker::noop()), &mut buffer) {
                Poll::Pending => {}
                Poll::Ready(read) => {
                    read.unwrap();
                    if buffer.filled().is_empty() {
                        return came;
                    }
                    came.push(String::from_utf8_lossy(buffer.filled()).into_owned());
                }
            }
        }
    }

    const SENT: &str = "POST /one HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello\
        GET /two HTTP/1.1\r\nA: b\r\n\r\n\r\n\
        POST /three HTTP/1.1\nContent-Length: 3\nTransfer-Encoding: chunked\n\n\
        1e\r\n\r\n\r\nContent-Length: 1\r\n\r\n12345\r\n0\r\nContent-Length:\r\n\r\n\
        POST /four HTTP/1.1\r\nContent-Length: \r\n\r\n";
    const SEEN: &str = "POST /one HTTP/1.1\r\nContent-Length: 5\r\ncontent*length: 9\r\n\r\nhello\
        GET /two HTTP/1.1\r\nA: b\r\n\r\n\r\n\
        POST /three HTTP/1.1\ncontent*length: 3\nTransfer-Encoding: chunked\n\n\
        1e\r\n\r\n\r\nContent-Length: 1\r\n\r\n12345\r\n0\r\nContent-Length:\r\n\r\n\
        POST /four HTTP/1.1\r\ncontent*length: \r\n\r\n";

    #[rstest]
    fn wherever_it_is_cut_the_same_is_seen(#[values(1, 24, 4096)] room: usize) {
        for at in 0..SENT.len() {
            let mut pieces = Pieces::new([&SENT[..at], &SENT[at..]].into_iter().filter(|piece| !piece.is_empty()));
            assert_eq!(read(&mut pieces, room).concat(), SEEN, "cut at {at}");
        }
        for size in 1..SENT.len() {
            assert_eq!(
                read(&mut Pieces::new(SENT.as_bytes().chunks(size)), room).concat(),
                SEEN,
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn a_head_is_handed_on_in_one_piece_and_a_body_as_it_comes() {
        let pieces =
            ["POST / HT", "TP/1.1\r\nContent-Length: 9\r\n", "\r", "\nhe", "llo", " youGET / ", "HTTP/1.1\r\n\r\n"];
        let expected = ["POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhe", "llo", " you", "GET / HTTP/1.1\r\n\r\n"];
        assert_eq!(read(&mut Pieces::new(pieces), 4096), expected);
    }

    #[test]
    fn a_head_that_breaks_off_is_handed_on_as_it_is() {
        let begun = "POST / HTTP/1.1\r\nContent-Length:\r\n";
        assert_eq!(read(&mut Pieces::new(begun.as_bytes().chunks(5)), 4096), [begun]);
    }

    #[test]
    fn once_another_protocol_is_spoken_nothing_waits_for_an_end() {
        let pieces = ["GET / HTTP/1.1\r\nUpgrade: other\r\n\r\n", "GET / HT", "TP/1.1\r\n", "Content-Length:\r\n\r\n"];
        assert_eq!(read(&mut Pieces::new(pieces), 4096), pieces);
        let pieces = ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HT", "TP/1.1\r\n", "Content-Length:\r\n\r\n"];
        assert_eq!(read(&mut Pieces::new(pieces), 4096), pieces);
    }
}
