//! How a run is broken off: once to stop and clean up, twice to leave at once.

use tokio_util::sync::CancellationToken;

use crate::log::Ended;

/// A handle to break a run off. Clones are handles to the same one.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    token: CancellationToken,
}

/// Exit code of a process that was left at once.
const ABORTED: i32 = 130;

impl Interrupt {
    /// Breaks the run off: nothing more is asked of the target but to clean up.
    pub fn trigger(&self) {
        self.token.cancel();
    }

    /// Whether it was broken off.
    pub fn is_triggered(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Returns once it is broken off.
    pub async fn triggered(&self) {
        self.token.cancelled().await;
    }

    /// Breaks the run off at the first Ctrl-C; at the second the process ends without cleaning up, and `last_words` says
    /// how to do that later.
    pub fn on_ctrl_c(&self, last_words: impl FnOnce() + Send + 'static) {
        let token = self.token.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                token.cancel();
                if tokio::signal::ctrl_c().await.is_ok() {
                    last_words();
                    std::process::exit(ABORTED);
                }
            }
        });
    }

    /// Runs `work` to its end, unless it is broken off before.
    pub(super) async fn unless<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        tokio::select! {
            biased;
            () = self.token.cancelled() => Err(Ended::Interrupted),
            done = work => Ok(done),
        }
    }
}
