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
fn an_execution_ends_for_itself() {
    let log = LogWriter::start(None).unwrap();
    let ended = || Body::ScenarioEnded(Ended::Completed);
    for (name, body) in
        [("a#2", ended()), ("a#2", Body::Tick), ("a", Body::Tick), ("a#22", ended()), ("b#2", Body::Tick)]
    {
        log.append(scenario(name), body);
    }
    let scopes: Vec<Scope> = log.events().iter().map(|event| event.scope.clone()).collect();
    assert_eq!(scopes, ["a#2", "a", "a#22", "b#2"].map(scenario));
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
        for (name, body) in
            [("a", wrote(None)), ("a", wrote(Some("n"))), ("b", wrote(None)), ("a", Body::Tick), ("whole", Body::Tick)]
        {
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

#[test]
fn who_listens_no_more_takes_no_room() {
    let log = LogWriter::start(None).unwrap();
    let ((), mut heard) = log.follow(&[Scope::Run], || ());
    (0..1000).for_each(|_| drop(log.follow(&[Scope::Run], || ())));
    // The first, and the last of the others.
    assert_eq!(log.lock().listeners[&Scope::Run].len(), 2);
    log.append(Scope::Run, Body::Tick);
    assert!(heard.try_recv().is_ok());
}
