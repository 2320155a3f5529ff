//! Connections that stay open from attempt to attempt, by name.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::stream::BoxStream;
use http::{Request, Response};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::{http1, http2};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::attempt::unanswered;
use super::tap::Seen;
use crate::log::{PeerCertificate, ProbeError};

/// The body of a request: in one piece, or in several.
pub(super) type Content = Either<Full<Bytes>, StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>;

/// An open connection. It is closed when this is dropped.
pub(super) struct Open {
    pub(super) sender: Sender,
    pub(super) peer: Option<SocketAddr>,
    pub(super) certificate: Option<PeerCertificate>,
    /// What its handshake agreed on.
    pub(super) alpn: Option<String>,
    /// What comes over it.
    pub(super) seen: Seen,
    /// What moves the bytes. It ends with the number of those that nobody asked for.
    pub(super) task: Arc<AbortOnDropHandle<Result<usize, hyper::Error>>>,
}

impl Open {
    /// Why a request got no answer: where the connection broke before it was sent, only what moves the bytes knows.
    pub(super) async fn failure(self, error: hyper::Error) -> ProbeError {
        let alone = if error.is_canceled() { Arc::into_inner(self.task) } else { None };
        let own = match alone {
            Some(task) => task.await.ok().and_then(Result::err),
            None => None,
        };
        unanswered(own.unwrap_or(error))
    }

    /// Closes the connection after its one answer.
    ///
    /// # Errors
    /// Bytes came behind the answer: its length is wrong, or it has content that it cannot have.
    pub(super) async fn nothing_more(self, end: Instant) -> Result<(), ProbeError> {
        let Open { sender: Sender::Http1(sender), task, .. } = self else { return Ok(()) };
        drop(sender);
        let Some(task) = Arc::into_inner(task) else { return Ok(()) };
        match timeout_at(end, task).await {
            Ok(Ok(Ok(rest))) if rest > 0 => {
                Err(ProbeError::Malformed(format!("{rest} bytes came behind the end of the answer")))
            }
            // How it is closed is no part of the answer.
            _ => Ok(()),
        }
    }

    /// The same connection for somebody else, where requests can be under way side by side.
    pub(super) fn shared(&self) -> Option<Open> {
        let Sender::Http2(sender) = &self.sender else { return None };
        Some(Open {
            sender: Sender::Http2(sender.clone()),
            peer: self.peer,
            certificate: self.certificate.clone(),
            alpn: self.alpn.clone(),
            seen: self.seen.clone(),
            task: Arc::clone(&self.task),
        })
    }
}

/// The way into an open connection, by protocol.
pub(super) enum Sender {
    Http1(http1::SendRequest<Content>),
    Http2(http2::SendRequest<Content>),
}

impl Sender {
    /// Sends requests without waiting for their answers. Each is under way until its future is dropped. Over HTTP/1.1, where
    /// requests follow each other, none are sent.
    pub(super) fn begin(
        &mut self,
        requests: Vec<Request<Content>>,
    ) -> Vec<impl Future<Output = Result<Response<Incoming>, hyper::Error>> + use<>> {
        let Sender::Http2(sender) = self else { return Vec::new() };
        requests.into_iter().map(|request| sender.send_request(request)).collect()
    }

    pub(super) async fn send(&mut self, request: Request<Content>) -> Result<Response<Incoming>, hyper::Error> {
        match self {
            Sender::Http1(sender) => sender.send_request(request).await,
            Sender::Http2(sender) => sender.send_request(request).await,
        }
    }

    /// Whether HTTP/2 is spoken.
    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Sender::Http2(_))
    }

    async fn ready(&mut self) -> Result<(), hyper::Error> {
        match self {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender) => sender.ready().await,
        }
    }
}

/// Connections by name: of HTTP/1.1 those that nobody uses right now, of HTTP/2 all. Names begin with the token of the
/// scenario.
#[derive(Clone, Default)]
pub(super) struct Connections {
    open: Arc<Mutex<HashMap<String, Open>>>,
    turns: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

impl Connections {
    /// What is held by whoever looks for a connection and opens it, so that those who come meanwhile share it.
    pub(super) fn turn(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(locked(&self.turns).entry(name.to_owned()).or_default())
    }

    /// Takes a connection, if it is there and the server has not closed it.
    pub(super) async fn take(&self, name: &str) -> Option<Open> {
        let mut open = locked(&self.open).remove(name)?;
        open.sender.ready().await.ok()?;
        Some(open)
    }

    /// Keeps a connection for the next attempt.
    pub(super) fn keep(&self, name: &str, open: Open) {
        if !open.task.is_finished() {
            locked(&self.open).insert(name.to_owned(), open);
        }
    }

    pub(super) fn release(&self, token: &str) {
        let is_other = |name: &str| name.split_once('/').is_none_or(|(of, _)| of != token);
        locked(&self.open).retain(|name, _| is_other(name));
        locked(&self.turns).retain(|name, _| is_other(name));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
