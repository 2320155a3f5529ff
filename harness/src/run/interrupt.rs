//! How a run is broken off: once to stop and clean up, twice to leave at once.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A handle to break a run off. Clones are handles to the same one.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    token: CancellationToken,
    /// The run that has objects in the cluster.
    run: Arc<Mutex<Option<String>>>,
}

/// The signals by which people and CI systems end a process.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// If the operating system does not let this process handle signals.
    pub fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Returns at the next of them.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            // A terminal that is closed, or a connection that is lost.
            _ = self.hangup.recv() => {}
        }
    }
}

/// Exit code of a process that was left at once.
const ABORTED: i32 = 130;

impl Interrupt {
    /// One for a part, which is broken off with the whole, and alone.
    pub fn below(&self) -> Interrupt {
        Interrupt { token: self.token.child_token(), run: Arc::clone(&self.run) }
    }

    /// Breaks the run off: nothing more is asked of the target but to clean up.
    pub fn trigger(&self) {
        self.token.cancel();
    }

    /// Whether it was broken off.
    pub fn is_triggered(&self) -> bool {
        self.token.is_cancelled()
    }

    /// What is cancelled when it is broken off.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Returns once it is broken off.
    pub async fn triggered(&self) {
        self.token.cancelled().await;
    }

    /// A run has objects in the cluster from now on, or has none any more.
    pub fn holds(&self, run_id: Option<&str>) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run_id.map(str::to_owned);
    }

    /// Breaks the run off at the first Ctrl-C, SIGTERM or SIGHUP; at the second the process ends without cleaning up, and `last_words`
    /// says how to do that later, given the run that has objects in the cluster.
    ///
    /// # Errors
    /// If the operating system does not let this process handle signals. From a return without one on, no signal is lost.
    pub fn on_ctrl_c(&self, last_words: impl FnOnce(Option<&str>) + Send + 'static) -> std::io::Result<()> {
        Interrupt::all_on_ctrl_c(vec![self.clone()], last_words)
    }

    /// The same for several runs; the last words are about the first that has objects in the cluster.
    ///
    /// # Errors
    /// As of [`Interrupt::on_ctrl_c`].
    pub fn all_on_ctrl_c(
        all: Vec<Interrupt>,
        last_words: impl FnOnce(Option<&str>) + Send + 'static,
    ) -> std::io::Result<()> {
        let mut signals = Signals::listen()?;
        tokio::spawn(async move {
            signals.next().await;
            all.iter().for_each(Interrupt::trigger);
            signals.next().await;
            last_words(all.iter().find_map(Interrupt::held).as_deref());
            std::process::exit(ABORTED);
        });
        Ok(())
    }

    fn held(&self) -> Option<String> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::Interrupt;

    #[test]
    fn a_part_is_broken_off_with_the_whole_and_alone() {
        let whole = Interrupt::default();
        let (first, second) = (whole.below(), whole.below());
        first.trigger();
        assert!(first.is_triggered() && !second.is_triggered() && !whole.is_triggered());
        whole.trigger();
        assert!(second.is_triggered() && whole.below().is_triggered());
    }

    /// Whoever leaves at once has to say what the part that is under way left.
    #[test]
    fn the_whole_knows_what_its_parts_hold() {
        let whole = Interrupt::default();
        whole.below().holds(Some("3f9a2c"));
        assert_eq!(whole.held().as_deref(), Some("3f9a2c"));
    }
}
