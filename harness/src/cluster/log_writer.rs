//! The one way into the log: numbers and times every event, hands it to whom it concerns, and streams it to a file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self as threaded, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

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
    closed: HashSet<Arc<str>>,
    /// How many versions there were of each execution that has not ended.
    versions: HashMap<Arc<str>, u32>,
    file: Option<FileStream>,
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
        let behind =
            |left| format!("whoever reads it is {left} events behind; have it read to the end, or into a file");
        let behind = |left| std::io::Error::new(std::io::ErrorKind::TimedOut, behind(left));
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
            if inner.closed.contains(name) {
                return;
            }
            if matches!(body, Body::ScenarioEnded(_)) {
                inner.closed.insert(Arc::clone(name));
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
            inner.listeners.entry(scope.clone()).or_default().push(sender.clone());
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::log::{Change, Ended, ObjectKey, WriteOutcome, WriteVerb};

    fn scenario(name: &str) -> Scope {
        Scope::Scenario(Arc::from(name))
    }

    /// What was appended, to those who ask for it.
    #[derive(Clone, Default)]
    struct Read(Arc<Mutex<Vec<u64>>>);

    impl Read {
        fn of(log: &LogWriter) -> Read {
            let read = Read::default();
            let seen = read.clone();
            log.show(move |event| seen.0.lock().unwrap().push(event.seq));
            read
        }

        fn so_far(&self) -> Vec<u64> {
            self.0.lock().unwrap().clone()
        }
    }

    #[tokio::test]
    async fn followers_get_what_comes_behind_what_was_read_before() {
        let log = LogWriter::start(None).unwrap();
        let read = Read::of(&log);
        log.append(Scope::Run, Body::Tick);
        log.append(scenario("a"), Body::Tick);
        log.append(scenario("b"), Body::Tick);
        let (before, mut events) = log.follow(&[scenario("a"), Scope::Run], || read.so_far());
        log.append(scenario("b"), Body::Tick);
        log.append(scenario("a"), Body::Tick);
        log.append(Scope::Run, Body::Tick);
        let mut seen = Vec::new();
        while let Ok(event) = events.try_recv() {
            seen.push(event.seq);
        }
        assert_eq!((before, seen), (vec![0, 1, 2], vec![4, 5]));
        assert_eq!(read.so_far(), [0, 1, 2, 3, 4, 5]);
    }

    #[tokio::test]
    async fn nobody_follows_an_execution_that_has_ended() {
        let log = LogWriter::start(None).unwrap();
        let ((), mut events) = log.follow(&[scenario("a")], || ());
        log.append(scenario("a"), Body::ScenarioEnded(Ended::Completed));
        assert!(events.recv().await.is_some());
        assert!(events.recv().await.is_none());
    }

    #[test]
    fn what_is_ahead_comes_before_an_event() {
        let log = LogWriter::start(None).unwrap();
        let once = std::sync::atomic::AtomicBool::new(true);
        log.ahead(move || once.swap(false, Ordering::SeqCst).then_some((Scope::Run, Body::Tick)));
        log.append(scenario("a"), Body::Tick);
        log.append(scenario("a"), Body::Tick);
        let scopes: Vec<Scope> = log.events().iter().map(|event| event.scope.clone()).collect();
        assert_eq!(scopes, [Scope::Run, scenario("a"), scenario("a")]);
    }

    #[test]
    fn more_versions_than_a_judge_takes_in_are_not_logged() {
        let log = LogWriter::start(None).unwrap();
        let key = ObjectKey { group: String::new(), kind: "Thing".to_owned(), namespace: None, name: "a".to_owned() };
        let object = Arc::new(serde_json::Value::Null);
        let version = || Body::Observed { key: key.clone(), change: Change::Modified, object: Arc::clone(&object) };
        for _ in 0..=MOST_VERSIONS {
            log.append(scenario("a"), version());
        }
        log.append(scenario("a"), Body::Tick);
        log.append(scenario("b"), version());
        let of = |name: &str| log.events_in(&scenario(name)).len();
        assert_eq!((of("a"), of("b")), (MOST_VERSIONS as usize + 1, 1));
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
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [0, 1, 2]);
    }

    fn wrote(namespace: Option<&str>) -> Body {
        let key = ObjectKey {
            group: String::new(),
            kind: "Thing".to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "a".to_owned(),
        };
        let outcome = WriteOutcome::Failed { error: String::new() };
        let (api_version, sent, verb) = ("v1".to_owned(), None, WriteVerb::Apply);
        Body::Wrote(Box::new(Write { step: 0, ordinal: 0, verb, key, api_version, sent, outcome }))
    }

    #[test]
    fn what_the_file_has_is_kept_where_it_is_asked_for_and_only_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let on_disk = LogWriter::start(Some(&path)).unwrap();
        let in_memory = LogWriter::start(None).unwrap();
        let numbers = |log: &LogWriter| log.events().iter().map(|event| event.seq).collect::<Vec<_>>();
        for log in [&on_disk, &in_memory] {
            log.keep(scenario("whole"));
            log.append(Scope::Run, Body::Tick);
            for (name, body) in [
                ("a", wrote(None)),
                ("a", wrote(Some("n"))),
                ("b", wrote(None)),
                ("a", Body::Tick),
                ("whole", Body::Tick),
            ] {
                log.append(scenario(name), body);
            }
        }
        assert_eq!(numbers(&on_disk), [1, 3, 5]);
        for log in [&on_disk, &in_memory] {
            log.forget(&scenario("a"), false);
            log.forget(&scenario("whole"), true);
            log.append(scenario("whole"), Body::Tick);
        }
        assert_eq!(numbers(&on_disk), [3]);
        assert_eq!(numbers(&in_memory), [0, 1, 2, 3, 4, 5, 6]);
        on_disk.close_file().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 7);
    }

    /// A log into a pipe that nobody has read from yet.
    #[cfg(unix)]
    fn into_pipe() -> (tempfile::TempDir, LogWriter, File) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let to = path.clone();
        let log = std::thread::spawn(move || LogWriter::start(Some(&to)).unwrap());
        let reader = File::open(&path).unwrap();
        (folder, log.join().unwrap(), reader)
    }

    #[cfg(unix)]
    #[test]
    fn nobody_waits_for_who_reads_a_pipe() {
        let (_folder, log, mut reader) = into_pipe();
        let log = Arc::new(log);
        let (says, said) = threaded::channel();
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            (0..10_000).for_each(|_| written.append(Scope::Run, Body::Tick));
            says.send(()).unwrap();
        });
        said.recv_timeout(Duration::from_secs(60)).expect("it waits for its reader");
        // All of it is there once it is read.
        let read = std::thread::spawn(move || std::io::read_to_string(&mut reader).unwrap().lines().count());
        log.close_file().unwrap();
        assert_eq!(read.join().unwrap(), 10_000);
    }

    #[cfg(unix)]
    #[rstest::rstest]
    #[case::little(10_000)]
    #[case::more_than_is_kept(MOST_UNWRITTEN + 10_000)]
    fn a_pipe_that_nobody_reads_is_told_of(#[case] events: usize) {
        let (_folder, log, _reader) = into_pipe();
        (0..events).for_each(|_| log.append(Scope::Run, Body::Tick));
        let error = log.close_file().unwrap_err().to_string();
        let (told, _) = error.split_once(" events behind; have it read to the end").unwrap();
        let behind: usize = told.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((1..=MOST_UNWRITTEN + 1).contains(&behind), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_again_is_kept_but_for_what_passed() {
        let log = LogWriter::start(Some(Path::new("/dev/null"))).unwrap();
        for name in ["a", "b"] {
            log.append(scenario(name), Body::Tick);
            log.forget(&scenario(name), name == "a");
        }
        assert_eq!(log.events().iter().map(|event| event.seq).collect::<Vec<_>>(), [1]);
    }
}
