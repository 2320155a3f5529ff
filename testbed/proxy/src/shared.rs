//! What every part of a running proxy has at hand.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::compiled::Compiled;
use crate::config::Config;
use crate::exchange::Exchange;
use crate::request::Connection;
use crate::upstream::Upstream;

/// How many configurations before the current one are kept for [`Exchange::choose_config`].
const KEPT: usize = 8;

/// What every part of a running proxy shares.
pub struct Shared {
    /// The seam.
    pub exchange: Arc<dyn Exchange>,
    /// The clients for backends.
    pub upstream: Upstream,
    /// Everything that runs.
    pub tasks: TaskTracker,
    /// Ends everything at once.
    pub abort: CancellationToken,
    connections: AtomicU64,
    generations: RwLock<Arc<Generations>>,
}

struct Generations {
    current: Arc<Compiled>,
    previous: VecDeque<Arc<Compiled>>,
}

impl Shared {
    /// State with an empty configuration.
    pub fn new(exchange: Arc<dyn Exchange>) -> Self {
        let tasks = TaskTracker::new();
        let generations =
            Generations { current: Arc::new(Compiled::new(Config::default(), 0)), previous: VecDeque::new() };
        Self {
            exchange,
            upstream: Upstream::new(tasks.clone()),
            tasks,
            abort: CancellationToken::new(),
            connections: AtomicU64::new(0),
            generations: RwLock::new(Arc::new(generations)),
        }
    }

    /// The configuration in force.
    pub fn current(&self) -> Arc<Compiled> {
        Arc::clone(&self.generations().current)
    }

    /// Puts another configuration in force.
    pub fn swap(&self, next: Arc<Compiled>) {
        let mut slot = self.generations.write().unwrap_or_else(PoisonError::into_inner);
        let mut previous = slot.previous.clone();
        previous.push_front(Arc::clone(&slot.current));
        previous.truncate(KEPT);
        previous.make_contiguous();
        *slot = Arc::new(Generations { current: next, previous });
    }

    /// The configuration for a connection, by the seam's choice.
    pub fn config_for(&self, connection: &Connection) -> Arc<Compiled> {
        let generations = self.generations();
        self.exchange.choose_config(connection, &generations.current, generations.previous.as_slices().0)
    }

    /// A number for a new connection.
    pub fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    fn generations(&self) -> Arc<Generations> {
        Arc::clone(&self.generations.read().unwrap_or_else(PoisonError::into_inner))
    }
}
