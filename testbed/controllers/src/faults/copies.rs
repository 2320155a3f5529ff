//! Which copies of requests are under way, for faults that wait for them.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use gateproof_proxy::exchange::RequestHead;
use tokio::sync::watch;

/// The copies of what came over a connection.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) out: usize,
    pub(super) through: usize,
    /// How many were out when the request came that is served now.
    pub(super) before: usize,
}

/// Those of every connection.
#[derive(Default)]
pub(super) struct Copies(Mutex<HashMap<u64, watch::Sender<Counted>>>);

impl Copies {
    pub(super) fn count(&self, request: &RequestHead, change: impl FnOnce(&mut Counted)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(request.connection.id).or_default().send_modify(change);
    }

    /// Waits until this is so of the connection of a request.
    pub(super) async fn wait(&self, request: &RequestHead, is_enough: fn(&Counted) -> bool) {
        let copies = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&request.connection.id).map(watch::Sender::subscribe)
        };
        if let Some(mut copies) = copies
            && copies.wait_for(is_enough).await.is_err()
        {
            tracing::debug!("nothing is counted any more");
        }
    }
}
