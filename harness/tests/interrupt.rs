//! A run that is broken off at any moment leaves nothing behind: by Ctrl-C because it cleans up, and by a kill because
//! `gateproof clean` does.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use gateproof::cluster::api::ApiError;
use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::resources::kinds;
use gateproof::dialects::Dialect;
use process::{TestbedProcess, gateproof, run, signal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;
use serde_json::Value;

const SEED: u64 = 1364;
/// Moments are counted in events of the log, so that a slow machine meets the same ones.
const LAST_MOMENT: usize = 250;
/// Pool Gateways, Gateways and classes of their own, Secrets, routes, hosted backends.
const SELECTION: [&str; 4] = ["httproute-missing*", "tcproute-missing*", "*grant*", "gatewayclass-*"];
const AT_ONCE: usize = 5;

/// What every CustomResourceDefinition says of itself: one scenario patches some, another one creates one.
fn annotations(testbed: &TestbedProcess) -> BTreeMap<String, Value> {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let api = connect(&Source::Text(testbed.credentials())).await.unwrap();
        let list = api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").await.unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| (item["metadata"]["name"].to_string(), item["metadata"]["annotations"].clone())).collect()
    })
}

/// Every object that the API server holds.
fn objects(testbed: &TestbedProcess) -> BTreeSet<String> {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let api = connect(&Source::Text(testbed.credentials())).await.unwrap();
        let served = api.get("/apis").await.unwrap();
        let groups = served["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap().to_owned());
        let mut found = BTreeSet::new();
        for kind in kinds(&api, Dialect::gateway_api(), &groups.collect()).await.unwrap().iter() {
            let list = match api.get(&kind.collection(None)).await {
                // Reviews are answered and not held.
                Err(ApiError::Refused { code: 405, .. }) => continue,
                list => list.unwrap(),
            };
            for item in list["items"].as_array().unwrap() {
                let meta = &item["metadata"];
                found.insert(format!("{} {}/{}", kind.resource(), meta["namespace"], meta["name"]));
            }
        }
        found
    })
}

/// What is there and was not before, but for the namespace of locks, which outlives runs: it must be empty.
fn left(testbed: &TestbedProcess, before: &BTreeSet<String>) -> Vec<String> {
    let of_locks = |object: &String| {
        let own = ["namespaces ", "configmaps ", "serviceaccounts "].iter().any(|kind| object.starts_with(kind));
        own && object.contains("\"gateproof-locks\"")
    };
    objects(testbed).difference(before).filter(|object| !of_locks(object)).cloned().collect()
}

/// A scenario that patches a definition, and what its testbed is started with.
const PATCHES: (&str, &[&str]) = ("gatewayclass-unsupported-version", &[]);
/// The same of one that creates a definition.
const CREATES: (&str, &[&str]) =
    ("gatewayclass-late-definition", &["--without-crd", "tcproutes.gateway.networking.k8s.io"]);

/// A run of a scenario that changes the definitions, brought to the moment at which that shows.
fn run_until_changed(testbed: &TestbedProcess, scenario: &str) -> Child {
    let before = annotations(testbed);
    let mut command = gateproof(testbed.dir.path());
    command.args(testbed.arguments("gateproof")).args([scenario, "--allow-cluster-changes"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while annotations(testbed) == before {
        assert_eq!(child.try_wait().unwrap(), None, "the run ended before anything was changed");
    }
    child
}

/// A run that is brought to `moment`: that many events are in its log, or with none it has just begun.
fn run_until(testbed: &TestbedProcess, moment: usize) -> Child {
    let reports = testbed.dir.path().join(format!("reports-{moment}"));
    std::fs::create_dir(&reports).unwrap();
    let log = reports.join("events.jsonl");
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let mut command = gateproof(testbed.dir.path());
    command
        .args(testbed.arguments("gateproof"))
        .args(SELECTION)
        .arg("--allow-cluster-changes")
        .arg("--report-dir")
        .arg(&reports);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (reached, moment_reached) = std::sync::mpsc::channel();
    // Reads on to the end, so that the run never waits for its reader.
    std::thread::spawn(move || {
        let lines = BufReader::new(std::fs::File::open(log).unwrap()).lines();
        lines.map_while(Result::ok).zip(1..).filter(|(_, n)| *n == moment).for_each(|_| reached.send(()).unwrap());
    });
    if moment > 0 {
        moment_reached.recv().expect("the run ended before its moment");
    }
    child
}

/// A run into a pipe whose reader reads this many lines and then no more, but stays: it is what is returned beside.
fn run_unread(testbed: &TestbedProcess, lines: usize) -> (Child, BufReader<std::fs::File>) {
    let reports = testbed.dir.path().join("reports-unread");
    std::fs::create_dir(&reports).unwrap();
    let log = reports.join("events.jsonl");
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let mut command = gateproof(testbed.dir.path());
    command.args(testbed.arguments("gateproof")).args(SELECTION).args(["httproute-*", "--allow-cluster-changes"]);
    let child = command.arg("--report-dir").arg(&reports).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(std::fs::File::open(log).unwrap());
    let mut line = String::new();
    (0..lines).for_each(|_| assert_ne!(reader.read_line(&mut line).unwrap(), 0));
    (child, reader)
}

fn moments(count: usize) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    // Both ends are always tried: before the first event, and in the midst of everything.
    let mut moments = BTreeSet::from([0, 1, LAST_MOMENT]);
    while moments.len() < count {
        moments.insert(random.random_range(2..LAST_MOMENT));
    }
    moments.into_iter().collect()
}

/// Whether processes start with SIGINT ignored, as they do in the background of a shell without job control.
fn starts_deaf() -> bool {
    const SIGINT: u64 = 1 << 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(ignored, 16).unwrap() & SIGINT != 0
}

/// Does `end` at every moment, several at once.
fn break_off(testbed: &TestbedProcess, moments: Vec<usize>, end: impl Fn(usize, Child) + Sync) {
    let waiting = Mutex::new(moments);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(moment) = waiting.lock().unwrap().pop() else { break };
                    end(moment, run_until(testbed, moment));
                }
            });
        }
    });
}

#[test]
fn ctrl_c_cleans_up_at_any_moment() {
    let mut testbed = TestbedProcess::start(&[]);
    let before = objects(&testbed);
    break_off(&testbed, moments(20), |moment, mut child| {
        signal(&child, "INT");
        let status = child.wait().unwrap();
        // A process that has not begun to handle signals has not begun to apply anything either. It dies of one, or goes
        // on where whoever started the tests has it ignore them.
        let unhandled = if starts_deaf() { Some(0) } else { None };
        assert!(status.code() == Some(130) || (moment == 0 && status.code() == unhandled), "{moment}: {status}");
    });
    assert_eq!(left(&testbed, &before), Vec::<String>::new());
    assert!(testbed.interrupt().success());
}

/// Far behind what a pipe holds, nobody waits for its reader: everything is gone, and it is said that the log is not whole.
#[test]
fn ctrl_c_cleans_up_where_nobody_reads_the_log() {
    let mut testbed = TestbedProcess::start(&[]);
    let before = objects(&testbed);
    let (mut child, _reader) = run_unread(&testbed, LAST_MOMENT);
    let mut seen = BTreeSet::new();
    // Many come and go, each of which is in the log many times.
    while seen.len() < 400 {
        assert_eq!(child.try_wait().unwrap(), None, "the run ended before it was far enough");
        seen.extend(left(&testbed, &before));
    }
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).replace('│', "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("events behind; have it read to the end"), "{}: {said}", output.status);
    assert_eq!(left(&testbed, &before), Vec::<String>::new());
    assert!(testbed.interrupt().success());
}

#[rstest]
#[case::patches(PATCHES)]
#[case::creates(CREATES)]
fn ctrl_c_leaves_the_definitions_as_they_were(#[case] (scenario, arguments): (&str, &[&str])) {
    let mut testbed = TestbedProcess::start(arguments);
    let (before, objects_before) = (annotations(&testbed), objects(&testbed));
    let mut child = run_until_changed(&testbed, scenario);
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(annotations(&testbed), before);
    assert_eq!(left(&testbed, &objects_before), Vec::<String>::new());
    assert!(testbed.interrupt().success());
}

#[rstest]
#[case::patches(PATCHES)]
#[case::creates(CREATES)]
fn after_a_kill_the_definitions_become_as_they_were(#[case] (scenario, arguments): (&str, &[&str])) {
    let testbed = TestbedProcess::start(arguments);
    let (before, objects_before) = (annotations(&testbed), objects(&testbed));
    let mut child = run_until_changed(&testbed, scenario);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(annotations(&testbed), before, "the change was gone already, so nothing is proven");
    let cleaned = run(testbed.dir.path(), &["clean", "--kubeconfig", testbed.kubeconfig.to_str().unwrap()]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(annotations(&testbed), before);
    assert_eq!(left(&testbed, &objects_before), Vec::<String>::new());
}

#[test]
fn what_a_killed_run_leaves_is_cleaned() {
    let testbed = TestbedProcess::start(&[]);
    let before = objects(&testbed);
    break_off(&testbed, moments(6), |_, mut child| {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let remnants = left(&testbed, &before);
    assert_ne!(remnants, Vec::<String>::new(), "nothing was left, so nothing is proven");
    let kubeconfig = testbed.kubeconfig.to_str().unwrap();
    let asked = run(testbed.dir.path(), &["clean", "--all", "--kubeconfig", kubeconfig]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert_eq!(left(&testbed, &before), remnants, "nobody agreed");
    let cleaned = run(testbed.dir.path(), &["clean", "--all", "--yes", "--kubeconfig", kubeconfig]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(objects(&testbed), before, "locks go with everything else");
}
