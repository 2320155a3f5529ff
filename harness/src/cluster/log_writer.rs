//! The one way into the log: numbers and times every event, hands it to whom it concerns, and streams it to a file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self as threaded, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use gateproof_report::record::repeat_of;
use gateproof_report::words::counted;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::clock;
use crate::log::codec::Encoder;
use crate::log::{Body, Elapsed, Event, MOST_VERSIONS, Scope, Write};

/// Why the log could not be written to its file.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the log to {path}: {error}")]
pub struct LogFileError {
    /// Where to.
    pub path: String,
    /// Why not.
    pub error: std::io::Error,
}

/// Events that wait to be written at most. Nobody waits for a disk, or for who reads a pipe, since a run that stands still cannot even
/// clean up: with more than these the file is given up.
const MOST_UNWRITTEN: usize = 1 << 16;

/// How long nothing of what waits at the end may be written before that is given up too.
const STANDS_STILL: Duration = Duration::from_secs(15);

/// The append-only log of a run. What its file has, and can be read there, is not kept in memory, but for a few things that are asked
/// of an execution before it is over.
pub struct LogWriter {
    start: Instant,
    ahead: OnceLock<Box<Ahead>>,
    inner: Mutex<Inner>,
}

/// Says what has to stand before the next event.
type Ahead = dyn Fn() -> Option<(Scope, Body)> + Send + Sync;

/// Is shown every event.
type Reader = Box<dyn FnMut(&Event) + Send>;

/// What is kept in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Keeps {
    /// Everything: there is no file.
    #[default]
    All,
    /// What may be asked as evidence: there is a file, such as a pipe, that cannot be read again.
    Evidence,
    /// What is asked before an execution is over.
    Open,
}

#[derive(Default)]
struct Inner {
    keeps: Keeps,
    /// Of these everything is kept until they are forgotten.
    whole: HashSet<Scope>,
    reader: Option<Reader>,
    /// By number.
    events: BTreeMap<u64, Arc<Event>>,
    next: u64,
    by_scope: HashMap<Scope, Vec<u64>>,
    listeners: HashMap<Scope, Vec<mpsc::UnboundedSender<Arc<Event>>>>,
    closed: Closed,
    /// How many versions there were of each execution that has not ended.
    versions: HashMap<Arc<str>, u32>,
    file: Option<FileStream>,
}

/// Executions that have ended: of each scenario their numbers, as there may be hundreds of thousands.
#[derive(Default)]
struct Closed(HashMap<Box<str>, HashSet<u32>>);

impl Closed {
    fn take(&mut self, name: &str) {
        let (scenario, number) = repeat_of(name);
        self.0.entry(scenario.into()).or_default().insert(number);
    }

    fn has(&self, name: &str) -> bool {
        let (scenario, number) = repeat_of(name);
        self.0.get(scenario).is_some_and(|ended| ended.contains(&number))
    }
}

struct FileStream {
    path: String,
    /// Nothing once it was given up.
    lines: Option<threaded::Sender<Arc<Event>>>,
    unwritten: Arc<AtomicUsize>,
    over: threaded::Receiver<std::io::Result<()>>,
}

impl FileStream {
    fn take(&mut self, event: &Arc<Event>) {
        let Some(lines) = &self.lines else { return };
        if self.unwritten.fetch_add(1, Ordering::Relaxed) < MOST_UNWRITTEN {
            // A failed thread is reported when the log is closed.
            let _ = lines.send(Arc::clone(event));
        } else {
            self.lines = None;
        }
    }

    /// Waits until everything is written, as long as some of it is.
    fn close(self) -> std::io::Result<()> {
        let FileStream { lines, unwritten, over, .. } = self;
        let behind = |left| {
            format!(
                "whoever reads it is {} behind; have it read to the end, or into a file",
                counted(left, "event", "events")
            )
        };
        let behind = |left: usize| std::io::Error::new(std::io::ErrorKind::TimedOut, behind(left));
        if lines.is_none() {
            return Err(behind(unwritten.load(Ordering::Relaxed)));
        }
        drop(lines);
        loop {
            let before = unwritten.load(Ordering::Relaxed);
            match over.recv_timeout(STANDS_STILL) {
                Ok(written) => return written,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(std::io::Error::other("the writing thread broke off"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let left = unwritten.load(Ordering::Relaxed);
                    if left == before {
                        return Err(behind(left));
                    }
                }
            }
        }
    }
}

impl LogWriter {
    /// An empty log whose clock starts now. With a path, every event is also streamed there, one JSON document a line.
    pub fn start(path: Option<&Path>) -> Result<LogWriter, LogFileError> {
        let file = path.map(stream).transpose()?;
        let keeps = match path.map(std::fs::metadata) {
            None => Keeps::All,
            Some(Ok(there)) if there.is_file() => Keeps::Open,
            Some(_) => Keeps::Evidence,
        };
        Ok(LogWriter {
            start: clock::now(),
            ahead: OnceLock::new(),
            inner: Mutex::new(Inner { file, keeps, ..Inner::default() }),
        })
    }

    /// Shows this every event from now on, before anybody else learns of it.
    pub fn show(&self, reader: impl FnMut(&Event) + Send + 'static) {
        self.lock().reader = Some(Box::new(reader));
    }

    /// Keeps everything of a scope in memory until it is forgotten.
    pub fn keep(&self, scope: Scope) {
        self.lock().whole.insert(scope);
    }

    /// The time since the start.
    pub fn now(&self) -> Elapsed {
        Elapsed(u64::try_from(clock::now().saturating_duration_since(self.start).as_micros()).unwrap_or(u64::MAX))
    }

    /// The moment that `elapsed` stands for.
    pub fn instant(&self, elapsed: Elapsed) -> Instant {
        self.start + Duration::from_micros(elapsed.0)
    }

    /// Asks this before every event from now on; the first who is named is asked.
    pub fn ahead(&self, say: impl Fn() -> Option<(Scope, Body)> + Send + Sync + 'static) {
        // There is one run to a log.
        let _ = self.ahead.set(Box::new(say));
    }

    /// Appends. What concerns a scenario that has ended is dropped: its last event must stay its last. So are versions of a target
    /// that writes without end: the judge has said so by then, and asks for no more.
    pub fn append(&self, scope: Scope, body: Body) {
        let mut inner = self.lock();
        if let Scope::Scenario(name) = &scope {
            if inner.closed.has(name) {
                return;
            }
            if matches!(body, Body::ScenarioEnded(_)) {
                inner.closed.take(name);
                inner.versions.remove(name);
            }
            if matches!(body, Body::Observed { .. }) {
                let versions = inner.versions.entry(Arc::clone(name)).or_default();
                *versions += 1;
                if *versions > MOST_VERSIONS {
                    return;
                }
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
        if let Some(file) = &mut inner.file {
            file.take(&event);
        }
        if let Some(reader) = &mut inner.reader {
            reader(&event);
        }
        if let Some(listeners) = inner.listeners.get_mut(&scope) {
            listeners.retain(|listener| listener.send(Arc::clone(&event)).is_ok());
        }
        if let (Scope::Scenario(_), Body::ScenarioEnded(_)) = (&scope, &event.body) {
            inner.listeners.remove(&scope);
        }
        if inner.is_kept(&event) {
            inner.by_scope.entry(scope).or_default().push(seq);
            inner.events.insert(seq, event);
        }
    }

    /// Every event of these scopes from now on, in log order, and what `before` says of those that were.
    pub fn follow<T>(&self, scopes: &[Scope], before: impl FnOnce() -> T) -> (T, mpsc::UnboundedReceiver<Arc<Event>>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut inner = self.lock();
        for scope in scopes {
            // Of a scope in which little happens nothing else would take out those who listen no more.
            let listeners = inner.listeners.entry(scope.clone()).or_default();
            listeners.retain(|listener| !listener.is_closed());
            listeners.push(sender.clone());
        }
        (before(), receiver)
    }

    /// Every event so far that is kept in memory.
    pub fn events(&self) -> Vec<Arc<Event>> {
        self.lock().events.values().cloned().collect()
    }

    /// Every event of one scope so far that is kept in memory.
    pub fn events_in(&self, scope: &Scope) -> Vec<Arc<Event>> {
        self.lock().of(scope).cloned().collect()
    }

    /// An execution is over, and `passed` or not: takes out of memory what nobody can ask any more.
    pub fn forget(&self, scope: &Scope, passed: bool) {
        let mut inner = self.lock();
        let Inner { keeps, whole, events, by_scope, .. } = &mut *inner;
        whole.remove(scope);
        if *keeps == Keeps::Open || (*keeps == Keeps::Evidence && passed) {
            by_scope.remove(scope).into_iter().flatten().for_each(|seq| drop(events.remove(&seq)));
        }
    }

    /// Flushes and closes the file, if there is one. Later events are kept in memory only.
    pub fn close_file(&self) -> Result<(), LogFileError> {
        let Some(file) = self.lock().file.take() else { return Ok(()) };
        let path = file.path.clone();
        file.close().map_err(|error| LogFileError { path, error })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Whether somebody may ask for an event. What a scenario writes beside its namespaces is to be removed once it is over.
    fn is_kept(&self, event: &Event) -> bool {
        let is_to_be_removed = |write: &Write| write.key.namespace.is_none();
        self.keeps != Keeps::Open
            || self.whole.contains(&event.scope)
            || matches!(&event.body, Body::Wrote(write) if is_to_be_removed(write))
    }

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
    let (ends, over) = threaded::channel();
    let unwritten = Arc::new(AtomicUsize::new(0));
    let waiting = Arc::clone(&unwritten);
    let mut write = move || {
        let mut encoder = Encoder::default();
        while let Ok(event) = received.recv() {
            for event in std::iter::once(event).chain(received.try_iter()) {
                let line = encoder.line(&event).map_err(std::io::Error::other)?;
                writeln!(file, "{line}")?;
                waiting.fetch_sub(1, Ordering::Relaxed);
            }
            // Whoever reads along, or what is left of a killed process, has what was seen so far.
            file.flush()?;
        }
        file.flush()
    };
    // Nobody joins it: a write to a pipe that nobody reads has no end.
    std::thread::Builder::new().name("log".to_owned()).spawn(move || ends.send(write())).map_err(failed)?;
    Ok(FileStream { path: name, lines: Some(lines), unwritten, over })
}

#[cfg(test)]
#[path = "log_writer_tests.rs"]
mod tests;
