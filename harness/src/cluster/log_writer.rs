//! The one way into the log: numbers and times every event, hands it to whom it concerns, and streams it to a file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::mpsc as threaded;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::clock;
use crate::log::codec::Encoder;
use crate::log::{Body, Elapsed, Event, Scope};

/// Why the log could not be written to its file.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the log to {path}: {error}")]
pub struct LogFileError {
    /// Where to.
    pub path: String,
    /// Why not.
    pub error: std::io::Error,
}

/// The append-only log of a run.
pub struct LogWriter {
    start: Instant,
    ahead: OnceLock<Box<Ahead>>,
    inner: Mutex<Inner>,
}

/// Says what has to stand before the next event.
type Ahead = dyn Fn() -> Option<(Scope, Body)> + Send + Sync;

#[derive(Default)]
struct Inner {
    /// By number.
    events: BTreeMap<u64, Arc<Event>>,
    next: u64,
    by_scope: HashMap<Scope, Vec<u64>>,
    listeners: HashMap<Scope, Vec<mpsc::UnboundedSender<Arc<Event>>>>,
    closed: HashSet<Arc<str>>,
    file: Option<FileStream>,
}

struct FileStream {
    path: String,
    lines: threaded::Sender<Arc<Event>>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl LogWriter {
    /// An empty log whose clock starts now. With a path, every event is also streamed there, one JSON document a line.
    pub fn start(path: Option<&Path>) -> Result<LogWriter, LogFileError> {
        let file = path.map(stream).transpose()?;
        Ok(LogWriter {
            start: clock::now(),
            ahead: OnceLock::new(),
            inner: Mutex::new(Inner { file, ..Inner::default() }),
        })
    }

    /// The time since the start.
    pub fn now(&self) -> Elapsed {
        Elapsed(u64::try_from(clock::now().saturating_duration_since(self.start).as_micros()).unwrap_or(u64::MAX))
    }

    /// The moment that `elapsed` stands for.
    pub fn instant(&self, elapsed: Elapsed) -> Instant {
        self.start + std::time::Duration::from_micros(elapsed.0)
    }

    /// Asks this before every event from now on; the first who is named is asked.
    pub fn ahead(&self, say: impl Fn() -> Option<(Scope, Body)> + Send + Sync + 'static) {
        // There is one run to a log.
        let _ = self.ahead.set(Box::new(say));
    }

    /// Appends. What concerns a scenario that has ended is dropped: its last event must stay its last.
    pub fn append(&self, scope: Scope, body: Body) {
        let mut inner = self.lock();
        if let Scope::Scenario(name) = &scope {
            if inner.closed.contains(name) {
                return;
            }
            if matches!(body, Body::ScenarioEnded(_)) {
                inner.closed.insert(Arc::clone(name));
            }
        }
        if let Some((scope, body)) = self.ahead.get().and_then(|say| say()) {
            self.push(&mut inner, scope, body);
        }
        self.push(&mut inner, scope, body);
    }

    fn push(&self, inner: &mut Inner, scope: Scope, body: Body) {
        // Read under the lock, so that times never run backwards along the log.
        let at = self.now();
        let seq = inner.next;
        inner.next += 1;
        let event = Arc::new(Event { seq, at, scope: scope.clone(), body });
        if let Some(file) = &inner.file {
            // A failed thread is reported when the log is closed.
            let _ = file.lines.send(Arc::clone(&event));
        }
        if let Some(listeners) = inner.listeners.get_mut(&scope) {
            listeners.retain(|listener| listener.send(Arc::clone(&event)).is_ok());
        }
        inner.by_scope.entry(scope).or_default().push(seq);
        inner.events.insert(seq, event);
    }

    /// Every event of these scopes, past ones first, in log order.
    pub fn subscribe(&self, scopes: &[Scope]) -> mpsc::UnboundedReceiver<Arc<Event>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut inner = self.lock();
        let mut past: Vec<&Arc<Event>> = scopes.iter().flat_map(|scope| inner.of(scope)).collect();
        past.sort_unstable_by_key(|event| event.seq);
        for event in past {
            // The receiver is still ours, so this cannot fail.
            let _ = sender.send(Arc::clone(event));
        }
        for scope in scopes {
            inner.listeners.entry(scope.clone()).or_default().push(sender.clone());
        }
        receiver
    }

    /// Every event so far that is kept in memory.
    pub fn events(&self) -> Vec<Arc<Event>> {
        self.lock().events.values().cloned().collect()
    }

    /// Every event of one scope so far that is kept in memory.
    pub fn events_in(&self, scope: &Scope) -> Vec<Arc<Event>> {
        self.lock().of(scope).cloned().collect()
    }

    /// Takes the events of a scope out of memory, but for the first and the last, if the file has them.
    pub fn forget(&self, scope: &Scope) {
        let mut inner = self.lock();
        let Inner { events, by_scope, file: Some(_), .. } = &mut *inner else { return };
        let Some([first, between @ .., last]) = by_scope.get(scope).map(Vec::as_slice) else { return };
        between.iter().for_each(|seq| drop(events.remove(seq)));
        let kept = vec![*first, *last];
        by_scope.insert(scope.clone(), kept);
    }

    /// Flushes and closes the file, if there is one. Later events are kept in memory only.
    pub fn close_file(&self) -> Result<(), LogFileError> {
        let Some(file) = self.lock().file.take() else { return Ok(()) };
        drop(file.lines);
        let written = file.thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the writing thread broke off")));
        written.map_err(|error| LogFileError { path: file.path, error })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn of(&self, scope: &Scope) -> impl Iterator<Item = &Arc<Event>> {
        self.by_scope.get(scope).into_iter().flatten().filter_map(|seq| self.events.get(seq))
    }
}

/// Encoding runs on a thread of its own, so that no scenario waits for the disk.
fn stream(path: &Path) -> Result<FileStream, LogFileError> {
    let name = path.display().to_string();
    let failed = |error| LogFileError { path: name.clone(), error };
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let (lines, received) = threaded::channel::<Arc<Event>>();
    let thread = std::thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || {
            let mut encoder = Encoder::default();
            while let Ok(event) = received.recv() {
                for event in std::iter::once(event).chain(received.try_iter()) {
                    let line = encoder.line(&event).map_err(std::io::Error::other)?;
                    writeln!(file, "{line}")?;
                }
                // Whoever reads along, or what is left of a killed process, has what was seen so far.
                file.flush()?;
            }
            file.flush()
        })
        .map_err(failed)?;
    Ok(FileStream { path: name, lines, thread })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::log::Ended;

    fn scenario(name: &str) -> Scope {
        Scope::Scenario(Arc::from(name))
    }

    #[tokio::test]
    async fn subscribers_get_past_and_future_events_of_their_scopes_in_order() {
        let log = LogWriter::start(None).unwrap();
        log.append(Scope::Run, Body::Tick);
        log.append(scenario("a"), Body::Tick);
        log.append(scenario("b"), Body::Tick);
        let mut events = log.subscribe(&[scenario("a"), Scope::Run]);
        log.append(scenario("b"), Body::Tick);
        log.append(scenario("a"), Body::Tick);
        let mut seen = Vec::new();
        while let Ok(event) = events.try_recv() {
            seen.push(event.seq);
        }
        assert_eq!(seen, [0, 1, 4]);
    }

    #[test]
    fn what_is_ahead_comes_before_an_event() {
        let log = LogWriter::start(None).unwrap();
        let once = std::sync::atomic::AtomicBool::new(true);
        log.ahead(move || once.swap(false, std::sync::atomic::Ordering::SeqCst).then_some((Scope::Run, Body::Tick)));
        log.append(scenario("a"), Body::Tick);
        log.append(scenario("a"), Body::Tick);
        let scopes: Vec<Scope> = log.events().iter().map(|event| event.scope.clone()).collect();
        assert_eq!(scopes, [Scope::Run, scenario("a"), scenario("a")]);
    }

    #[test]
    fn nothing_follows_the_end_of_a_scenario() {
        let log = LogWriter::start(None).unwrap();
        log.append(scenario("a"), Body::ScenarioEnded(Ended::Completed));
        log.append(scenario("a"), Body::Tick);
        assert_eq!(log.events().len(), 1);
    }

    #[test]
    fn the_file_holds_every_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let log = LogWriter::start(Some(&path)).unwrap();
        for _ in 0..3 {
            log.append(Scope::Run, Body::Tick);
        }
        log.close_file().unwrap();
        let events = crate::log::codec::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(events, log.events());
    }

    #[test]
    fn what_is_forgotten_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let on_disk = LogWriter::start(Some(&path)).unwrap();
        let in_memory = LogWriter::start(None).unwrap();
        for log in [&on_disk, &in_memory] {
            for name in ["a", "a", "b", "a", "a"] {
                log.append(scenario(name), Body::Tick);
            }
            log.forget(&scenario("a"));
            log.append(Scope::Run, Body::Tick);
        }
        let numbers = |log: &LogWriter| log.events().iter().map(|event| event.seq).collect::<Vec<_>>();
        assert_eq!(numbers(&on_disk), [0, 2, 4, 5]);
        assert_eq!(numbers(&in_memory), [0, 1, 2, 3, 4, 5]);
        on_disk.close_file().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 6);
    }
}
