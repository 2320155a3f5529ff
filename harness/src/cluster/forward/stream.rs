//! The bytes of a forwarded port.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::cluster::dial::WayLost;

/// A forwarded port. Closing it ends the port-forward.
pub(super) struct Forwarded {
    stream: DuplexStream,
    /// What the other side says of the port: some text if it cannot be used, nothing if the way there broke, and no answer as long as all is well.
    told: Option<BoxFuture<'static, Option<String>>>,
    forwarder: Portforwarder,
}

impl Forwarded {
    /// The stream of a port that `forwarder` was made for.
    pub(super) fn new(mut forwarder: Portforwarder, port: u16) -> Option<Forwarded> {
        let stream = forwarder.take_stream(port)?;
        let told = forwarder.take_error(port)?;
        Some(Forwarded { stream, told: Some(Box::pin(told)), forwarder })
    }

    /// What the end of the stream stands for.
    fn end(&mut self, context: &mut Context<'_>) -> Result<()> {
        let Some(told) = &mut self.told else { return Ok(()) };
        let Poll::Ready(text) = told.as_mut().poll(context) else { return Ok(()) };
        self.told = None;
        Err(meaning(text))
    }
}

/// What is told of a port, as the error that a socket would have.
fn meaning(told: Option<String>) -> Error {
    let Some(text) = told else {
        return Error::other(WayLost("the port-forward broke on its way through the API server".to_owned()));
    };
    // Runtimes tell the error of the operating system as text alone. Whatever else they tell is their own trouble, such as a node that
    // is too busy to look into the Pod.
    let kinds = [
        ("connection refused", ErrorKind::ConnectionRefused),
        ("connection reset", ErrorKind::ConnectionReset),
        ("broken pipe", ErrorKind::BrokenPipe),
    ];
    let lower = text.to_lowercase();
    match kinds.into_iter().find(|(words, _)| lower.contains(words)) {
        Some((_, kind)) => Error::new(kind, text),
        None => Error::other(WayLost(format!("the port-forward broke: {text}"))),
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        // It would wait for an answer to its goodbye.
        self.forwarder.abort();
    }
}

impl AsyncRead for Forwarded {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) if buffer.filled().len() == before && buffer.remaining() > 0 => {
                Poll::Ready(self.end(context))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Forwarded {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.end(context).err().unwrap_or(error))),
            other => other,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // The protocol closes a port as a whole, so there is nothing that could be said without hearing no more.
        Pin::new(&mut self.stream).poll_flush(context)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::refused(Some("dial tcp4 127.0.0.1:80: connect: connection refused"), ErrorKind::ConnectionRefused)]
    #[case::refused_here(Some("Connection refused (os error 111)"), ErrorKind::ConnectionRefused)]
    #[case::reset(Some("read: connection reset by peer"), ErrorKind::ConnectionReset)]
    #[case::trouble_of_the_runtime(Some("failed to execute portforward: context deadline exceeded"), ErrorKind::Other)]
    #[case::lost(None, ErrorKind::Other)]
    fn what_is_told_becomes_an_error(#[case] told: Option<&str>, #[case] kind: ErrorKind) {
        let error = meaning(told.map(str::to_owned));
        assert_eq!(error.kind(), kind);
        let is_lost = error.get_ref().is_some_and(|inner| inner.is::<WayLost>());
        assert_eq!(is_lost, kind == ErrorKind::Other);
    }
}
