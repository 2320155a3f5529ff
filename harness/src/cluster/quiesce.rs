//! Times in which a run writes nothing, so that what a data path does meanwhile is not done to it by the run.

use std::sync::{Arc, Weak};

use tokio::sync::{Mutex, OwnedRwLockWriteGuard, RwLock, RwLockReadGuard};

use crate::log::Elapsed;

/// Who of a run may write when. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Quiescence {
    writes: Arc<RwLock<()>>,
    /// That of now, for whoever wants one too.
    shared: Arc<Mutex<Weak<Quiet>>>,
}

/// Nobody of the run writes until this is dropped.
#[derive(Debug)]
pub struct Quiet {
    since: Elapsed,
    _writes: OwnedRwLockWriteGuard<()>,
}

impl Quiet {
    /// Since when.
    pub fn since(&self) -> Elapsed {
        self.since
    }
}

impl Quiescence {
    /// Waits until nobody wants it quiet. Whoever has this writes.
    pub async fn write(&self) -> RwLockReadGuard<'_, ()> {
        self.writes.read().await
    }

    /// Waits until the calls that are under way are answered. Who comes later shares what there is: to be quiet longer harms nobody
    /// but those who wait to write, and none of them can be the next to ask for it.
    pub async fn quiet(&self, now: impl FnOnce() -> Elapsed) -> Arc<Quiet> {
        let mut shared = self.shared.lock().await;
        if let Some(quiet) = shared.upgrade() {
            return quiet;
        }
        let writes = Arc::clone(&self.writes).write_owned().await;
        let quiet = Arc::new(Quiet { since: now(), _writes: writes });
        *shared = Arc::downgrade(&quiet);
        quiet
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn writers_wait_for_all_who_want_it_quiet() {
        let quiescence = Quiescence::default();
        let writing = quiescence.write().await;
        assert!(quiescence.write().now_or_never().is_some(), "writers do not wait for each other");
        let mut first = Box::pin(quiescence.quiet(|| Elapsed(1)));
        assert!((&mut first).now_or_never().is_none(), "somebody writes");
        drop(writing);
        let first = first.await;
        let second = quiescence.quiet(|| Elapsed(2)).now_or_never().unwrap();
        assert_eq!((first.since(), second.since()), (Elapsed(1), Elapsed(1)));
        drop(first);
        assert!(quiescence.write().now_or_never().is_none(), "one still wants it");
        drop(second);
        assert!(quiescence.write().now_or_never().is_some());
        assert_eq!(quiescence.quiet(|| Elapsed(3)).await.since(), Elapsed(3));
    }
}
