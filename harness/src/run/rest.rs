//! How a scenario that only watches on hears that everything else of the run has come to its end.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// Between one execution and the session that has begun it.
pub struct Rest {
    begun: Box<dyn Fn() + Send + Sync>,
    has_begun: AtomicBool,
    over: CancellationToken,
}

impl Rest {
    /// `begun` is called once, when the execution has nothing left to do but to watch; `over` is cancelled once nothing else is at work.
    pub fn new(over: CancellationToken, begun: impl Fn() + Send + Sync + 'static) -> Rest {
        Rest { begun: Box::new(begun), has_begun: AtomicBool::new(false), over }
    }

    /// The execution only watches on from here. Returns once nothing else of the run is at work. To be called again if it was dropped
    /// before.
    pub async fn come(&self) {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            (self.begun)();
        }
        self.over.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn it_comes_when_the_session_says_so() {
        let (over, told) = (CancellationToken::new(), Arc::new(AtomicU32::new(0)));
        let counts = Arc::clone(&told);
        let rest = Rest::new(over.clone(), move || {
            counts.fetch_add(1, Ordering::Relaxed);
        });
        assert!(rest.come().now_or_never().is_none());
        over.cancel();
        assert!(rest.come().now_or_never().is_some());
        assert_eq!(told.load(Ordering::Relaxed), 1);
    }
}
