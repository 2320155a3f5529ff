//! Connections that stay open from attempt to attempt, by name.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use tokio_util::task::AbortOnDropHandle;

use super::http::broken;
use crate::log::{PeerCertificate, ProbeError};

/// An open HTTP/1.1 connection. It is closed when this is dropped.
pub(super) struct Open {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) peer: Option<SocketAddr>,
    pub(super) certificate: Option<PeerCertificate>,
    /// What moves the bytes.
    pub(super) task: AbortOnDropHandle<Result<(), hyper::Error>>,
}

impl Open {
    /// Why a request got no answer: where the connection broke before it was sent, only what moves the bytes knows.
    pub(super) async fn failure(self, error: hyper::Error) -> ProbeError {
        let own = if error.is_canceled() { self.task.await.ok().and_then(Result::err) } else { None };
        broken(own.unwrap_or(error))
    }
}

/// Those that nobody uses right now. Names begin with the token of the scenario.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Mutex<HashMap<String, Open>>>);

impl Connections {
    /// Takes a connection, if it is there and the server has not closed it.
    pub(super) async fn take(&self, name: &str) -> Option<Open> {
        let mut open = self.open().remove(name)?;
        open.sender.ready().await.ok()?;
        Some(open)
    }

    /// Keeps a connection for the next attempt.
    pub(super) fn keep(&self, name: &str, open: Open) {
        if !open.task.is_finished() {
            self.open().insert(name.to_owned(), open);
        }
    }

    pub(super) fn release(&self, token: &str) {
        self.open().retain(|name, _| name.split_once('/').is_none_or(|(of, _)| of != token));
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
