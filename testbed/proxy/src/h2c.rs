//! Connections to backends for HTTP/2 with prior knowledge: one for each backend, kept, and shared by all requests that are
//! under way.
//!
//! They are kept by the backend's address. The pool of `hyper-util` keeps connections by `:authority`, which is the
//! client's here: the same one may stand for several backends, and one backend is asked under many.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_util::task::TaskTracker;

use crate::body::Body;
use crate::error::{UpstreamError, causes};

/// The connection to one backend. Whoever opens it holds the lock, so that the others wait for it instead of opening more.
type Slot = Arc<tokio::sync::Mutex<Option<SendRequest<Body>>>>;

/// The connections of a proxy. Clones share them.
#[derive(Clone)]
pub struct Pool {
    slots: Arc<Mutex<HashMap<SocketAddr, Slot>>>,
    tasks: TaskTracker,
}

impl Pool {
    /// A pool without connections; what moves their bytes is counted by `tasks`.
    pub fn new(tasks: TaskTracker) -> Self {
        Self { slots: Arc::default(), tasks }
    }

    /// Sends a request and waits for the head of the answer.
    ///
    /// # Errors
    /// [`UpstreamError::Connect`] and [`UpstreamError::Exchange`].
    pub async fn send(
        &self,
        endpoint: SocketAddr,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        loop {
            let (mut sender, is_kept) = self.sender(endpoint).await?;
            let mut error = match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            match error.take_message() {
                // The connection ended before anything of the request was sent: that is no answer of the backend.
                Some(unsent) if is_kept => request = unsent,
                _ => return Err(UpstreamError::Exchange(causes(&error.into_error()))),
            }
        }
    }

    /// Lets go of every connection. Each is closed after the last request that is under way on it.
    pub fn close(&self) {
        self.slots().clear();
    }

    /// A connection, and whether it was open already.
    async fn sender(&self, endpoint: SocketAddr) -> Result<(SendRequest<Body>, bool), UpstreamError> {
        let slot = self.slot(endpoint);
        let mut slot = slot.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| !open.is_closed()) {
            return Ok((open.clone(), true));
        }
        let stream = TcpStream::connect(endpoint).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|error| UpstreamError::Exchange(causes(&error)))?;
        self.tasks.spawn(connection);
        *slot = Some(sender.clone());
        Ok((sender, false))
    }

    fn slot(&self, endpoint: SocketAddr) -> Slot {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(&endpoint) {
            return Arc::clone(slot);
        }
        // Backends come and go; those that closed their connection need no place any more.
        slots
            .retain(|_, slot| slot.try_lock().map_or(true, |slot| slot.as_ref().is_some_and(|open| !open.is_closed())));
        Arc::clone(slots.entry(endpoint).or_default())
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SocketAddr, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("backends", &self.slots().len()).finish_non_exhaustive()
    }
}
