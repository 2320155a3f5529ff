//! A request of HTTP/1.1 that says of its length what nobody who keeps to the protocol would say: it goes out byte for byte as it is
//! given. Who waits for the answer is a client like any other, which has sent a request that contradicts nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Request;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::body::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::log::HttpRequest;

/// Takes the lengths off a request that has some of its own. What goes out in its place has them; nothing if it has none.
pub(super) fn spell<B>(wire: &mut Request<B>, request: &HttpRequest) -> Option<Bytes> {
    let is_length = |(name, _): &(String, String)| name.eq_ignore_ascii_case(CONTENT_LENGTH.as_str());
    if request.http2 || !request.headers.iter().any(is_length) {
        return None;
    }
    let mut bytes = format!("{} {} HTTP/1.1\r\n", wire.method(), wire.uri()).into_bytes();
    // In which case names are given, the wire does not say.
    let mut names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    for (name, value) in wire.headers() {
        let given = names.iter().position(|own| own.eq_ignore_ascii_case(name.as_str()));
        let name = given.map_or(name.as_str(), |at| names.remove(at));
        bytes.extend_from_slice(&[name.as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"\r\n");
    let body = &request.body;
    if !wire.headers().contains_key(TRANSFER_ENCODING) {
        bytes.extend_from_slice(body.as_bytes());
    } else if body.is_empty() {
        bytes.extend_from_slice(b"0\r\n\r\n");
    } else {
        bytes.extend_from_slice(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes());
    }
    wire.headers_mut().remove(CONTENT_LENGTH);
    Some(bytes.into())
}

/// A connection over which these bytes go out in place of all that is written to it, as soon as something is.
pub(super) struct Spelled<S> {
    stream: S,
    bytes: Option<Bytes>,
}

impl<S> Spelled<S> {
    /// Without bytes of its own, what is written goes out.
    pub(super) fn new(stream: S, bytes: Option<Bytes>) -> Self {
        Self { stream, bytes }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Spelled<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Spelled<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, written: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, bytes } = &mut *self;
        let Some(bytes) = bytes else { return Pin::new(stream).poll_write(cx, written) };
        while bytes.has_remaining() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                gone => bytes.advance(gone),
            }
        }
        Poll::Ready(Ok(written.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.bytes.is_none() {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn request(body: &str, headers: &[(&str, &str)]) -> (Request<()>, HttpRequest) {
        let mut wire = Request::post("/a?b=c").header("host", "a.test");
        for (name, value) in headers {
            wire = wire.header(*name, *value);
        }
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        (wire.body(()).unwrap(), HttpRequest { body: body.to_owned(), headers, ..HttpRequest::default() })
    }

    #[rstest]
    #[case::two(&[("Content-Length", "5"), ("Content-Length", "9")], "hello", "Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello")]
    #[case::in_two_cases(
        &[("X-One", "1"), ("content-length", "5"), ("x-TWO", "2"), ("CONTENT-LENGTH", "9")],
        "hello",
        "X-One: 1\r\ncontent-length: 5\r\nCONTENT-LENGTH: 9\r\nx-TWO: 2\r\n\r\nhello"
    )]
    #[case::empty(&[("Content-Length", "")], "", "Content-Length: \r\n\r\n")]
    #[case::before_chunks(
        &[("Content-Length", "3"), ("Transfer-Encoding", "chunked")],
        "hello, gateway!!",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhello, gateway!!\r\n0\r\n\r\n"
    )]
    #[case::behind_chunks(
        &[("Transfer-Encoding", "chunked"), ("Content-Length", "3")],
        "",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"
    )]
    fn what_is_given_goes_out(#[case] headers: &[(&str, &str)], #[case] body: &str, #[case] expected: &str) {
        let (mut wire, request) = request(body, headers);
        let bytes = spell(&mut wire, &request).unwrap();
        let expected = format!("POST /a?b=c HTTP/1.1\r\nhost: a.test\r\n{expected}");
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
        assert!(!wire.headers().contains_key(CONTENT_LENGTH), "the client says by itself how long a body is");
    }

    #[test]
    fn what_says_nothing_of_its_length_is_left_to_the_client() {
        // Of one that waits to be told to go on the client says it.
        let (mut wire, own) = request("hello", &[("Expect", "100-continue")]);
        wire.headers_mut().insert(CONTENT_LENGTH, 5.into());
        assert_eq!(spell(&mut wire, &own), None);
        assert!(wire.headers().contains_key(CONTENT_LENGTH));
        let (mut wire, own) = request("hello", &[("Content-Length", "5")]);
        assert_eq!(spell(&mut wire, &HttpRequest { http2: true, ..own }), None);
    }

    #[rstest]
    #[case::own(Some("own bytes"), "own bytes")]
    #[case::none(None, "onetwo")]
    #[tokio::test]
    async fn own_bytes_go_out_once(#[case] own: Option<&'static str>, #[case] expected: &str) {
        // They go out piece by piece.
        let (near, mut far) = tokio::io::duplex(2);
        let writes = async move {
            let mut near = Spelled::new(near, own.map(|own| Bytes::from_static(own.as_bytes())));
            for text in ["one", "two"] {
                near.write_all(text.as_bytes()).await.unwrap();
            }
            near.shutdown().await.unwrap();
        };
        let mut came = String::new();
        let (_, read) = tokio::join!(writes, far.read_to_string(&mut came));
        read.unwrap();
        assert_eq!(came, expected);
    }
}
