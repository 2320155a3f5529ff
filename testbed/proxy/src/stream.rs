//! A connection of which something may have been read already.

mod losses;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper_util::rt::TokioIo;
use rustls::CipherSuite;
use rustls::server::{Acceptor, ClientHello};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use losses::Losses;

/// One side of an upgraded connection.
pub type Upgraded = TokioIo<hyper::upgrade::Upgraded>;

/// A client's connection. What was read of it to find out where it belongs is read again first.
#[derive(Debug)]
pub struct Stream {
    head: Bytes,
    /// How often something came until that was whole.
    pieces: usize,
    tcp: TcpStream,
    /// How many bytes may come before it breaks; nothing if there is no bound.
    left: Option<usize>,
    /// Whether it breaks when the client ends its half.
    is_whole: bool,
    /// How long it may be that nothing comes and nothing goes; nothing if there is no bound.
    rest: Option<Rest>,
    /// What is lost of what comes, and of what goes; nothing if nothing is.
    lost: Option<[Losses; 2]>,
}

/// When a connection breaks if it stays idle.
#[derive(Debug)]
struct Rest {
    longest: Duration,
    over: Pin<Box<Sleep>>,
}

impl Rest {
    fn new(longest: Duration) -> Self {
        Self { longest, over: Box::pin(tokio::time::sleep(longest)) }
    }

    /// Begins anew.
    fn stir(&mut self) {
        self.over.as_mut().reset(Instant::now() + self.longest);
    }
}

impl Stream {
    /// A connection with what was read of it.
    pub fn new(head: Bytes, tcp: TcpStream) -> Self {
        let pieces = usize::from(!head.is_empty());
        Self { head, pieces, tcp, left: None, is_whole: false, rest: None, lost: None }
    }

    /// The same, of which what was read came in so many pieces.
    #[must_use]
    pub fn in_pieces(self, pieces: usize) -> Self {
        Self { pieces, ..self }
    }

    /// The same, which breaks once so many bytes have come from the client.
    #[must_use]
    pub fn breaking_behind(self, bytes: usize) -> Self {
        Self { left: Some(bytes), ..self }
    }

    /// The same, which breaks when the client ends its half.
    #[must_use]
    pub fn ending_with_its_client(self) -> Self {
        Self { is_whole: true, ..self }
    }

    /// The same, which breaks when it has been idle for so long.
    #[must_use]
    pub fn breaking_when_idle(self, longest: Duration) -> Self {
        Self { rest: Some(Rest::new(longest)), ..self }
    }

    /// The same over a network that loses some of its segments, both ways, whichever this says. They come all the same, later.
    #[must_use]
    pub fn losing(self, is_lost: fn() -> bool) -> Self {
        Self { lost: Some([Losses::new(is_lost), Losses::new(is_lost)]), ..self }
    }

    /// Waits until the client has sent something, or has gone.
    ///
    /// # Errors
    /// Those of the connection.
    pub async fn has_begun(&self) -> io::Result<bool> {
        Ok(!self.head.is_empty() || self.tcp.peek(&mut [0]).await? > 0)
    }

    /// Whether something was read of it before, as is for TLS.
    pub fn is_known(&self) -> bool {
        !self.head.is_empty()
    }

    /// In how many pieces came what was read of it before.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// How many bytes of it were read before.
    pub fn read_before(&self) -> usize {
        self.head.len()
    }

    /// In how many records of TLS came what was read of it before.
    pub fn records(&self) -> usize {
        records(&self.head)
    }

    /// The protocols that a client of TLS offers in what was read, in its order.
    pub fn offered(&self) -> Vec<Vec<u8>> {
        let offered = self.of_hello(|hello| hello.alpn().into_iter().flatten().map(<[u8]>::to_vec).collect());
        offered.unwrap_or_default()
    }

    /// Whether a client of TLS can speak version 1.3, by the cipher suites in what was read: that version has its own.
    pub fn is_of_tls13(&self) -> bool {
        let is_own = |suite: &CipherSuite| (0x1301..=0x1305).contains(&u16::from(*suite));
        self.of_hello(|hello| hello.cipher_suites().iter().any(is_own)).unwrap_or_default()
    }

    /// Whether the server name that a client of TLS says in what was read has a capital.
    pub fn has_capitals(&self) -> bool {
        // What is told of a handshake has it in small letters.
        let name = self.of_hello(|hello| hello.server_name().map(str::to_ascii_lowercase)).flatten();
        let is_said = |name: &[u8]| self.head.windows(name.len()).any(|part| part == name);
        name.is_some_and(|name| !name.is_empty() && !is_said(name.as_bytes()))
    }

    /// What a client of TLS says in what was read, if that is its first message.
    fn of_hello<T>(&self, what: impl FnOnce(&ClientHello<'_>) -> T) -> Option<T> {
        let mut acceptor = Acceptor::default();
        let mut head = &self.head[..];
        while !head.is_empty() && acceptor.read_tls(&mut head).is_ok() {
            match acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => return Some(what(&accepted.client_hello())),
                Err(_) => break,
            }
        }
        None
    }

    /// Makes the close that follows a reset, so that the client cannot take it for an empty answer.
    pub fn reset_at_close(&self) {
        if let Err(error) = self.tcp.set_zero_linger() {
            tracing::debug!(%error, "the client is gone already");
        }
    }
}

/// How many records of TLS begin in these bytes: each is a type, a version, how long it is, and what is in it.
fn records(mut bytes: &[u8]) -> usize {
    let mut records = 0;
    while let [_, _, _, high, low, behind @ ..] = bytes {
        records += 1;
        bytes = behind.get(usize::from(u16::from_be_bytes([*high, *low]))..).unwrap_or_default();
    }
    records
}

impl From<TcpStream> for Stream {
    fn from(tcp: TcpStream) -> Self {
        Self::new(Bytes::new(), tcp)
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.left == Some(0) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let before = buf.filled().len();
        let read = self.read_on(cx, buf);
        let came = buf.filled().len() - before;
        self.left = self.left.map(|left| left.saturating_sub(came));
        if self.is_whole && came == 0 && buf.remaining() > 0 && matches!(read, Poll::Ready(Ok(()))) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if let Some(rest) = &mut self.rest {
            if read.is_ready() {
                rest.stir();
            } else if rest.over.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl Stream {
    fn read_on(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            if let Some([coming, _]) = &mut self.lost {
                ready!(self.tcp.poll_read_ready(cx))?;
                ready!(coming.poll_arrived(cx));
            }
            let read = Pin::new(&mut self.tcp).poll_read(cx, buf);
            if let (Some([coming, _]), Poll::Ready(_)) = (&mut self.lost, &read) {
                coming.passed();
            }
            return read;
        }
        let length = self.head.len().min(buf.remaining());
        buf.put_slice(&self.head[..length]);
        self.head.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(rest) = &mut self.rest {
            rest.stir();
        }
        if let Some([_, going]) = &mut self.lost {
            ready!(going.poll_arrived(cx));
        }
        let written = Pin::new(&mut self.tcp).poll_write(cx, buf);
        if let (Some([_, going]), Poll::Ready(_)) = (&mut self.lost, &written) {
            going.passed();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(b"", 0)]
    #[case::one(b"\x16\x03\x01\x00\x02ab", 1)]
    #[case::two(b"\x16\x03\x01\x00\x01a\x16\x03\x01\x00\x01b", 2)]
    #[case::with_a_part_of_the_next_head(b"\x16\x03\x01\x00\x01a\x16\x03", 1)]
    #[case::cut(b"\x16\x03\x01\x00\x09a", 1)]
    fn records_are_counted(#[case] bytes: &[u8], #[case] expected: usize) {
        assert_eq!(records(bytes), expected);
    }
}
