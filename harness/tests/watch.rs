//! `run --watch`: what a change touches runs again, and nothing else, until it is broken off.
#![allow(clippy::unwrap_used)]

mod process;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use gateproof::cluster::connect::{Source, connect};
use http::Method;
use process::{TestbedProcess, expect, gateproof, run, signal};
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Nothing is waited for any longer.
const LIMIT: Duration = Duration::from_secs(120);
/// What is waited for between runs.
const WAITS: &str = "waiting for a change of scenarios";

/// A good scenario of this name.
fn good(name: &str) -> String {
    include_str!("cli/base.yaml").replace("own-case", name)
}

/// The same with a status that no controller writes.
fn failing(name: &str) -> String {
    good(name).replace("True/Accepted", "False/NotAllowedByListeners")
}

/// A run that watches, and what it says.
struct Watching {
    dir: TempDir,
    child: Child,
    said: Receiver<String>,
}

impl Watching {
    /// Begins in a directory with these files below `scenarios`.
    fn begin(files: &[(&str, String)], arguments: &[&str]) -> Watching {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("scenarios")).unwrap();
        files.iter().for_each(|(name, text)| fs::write(dir.path().join("scenarios").join(name), text).unwrap());
        Watching::begin_in(dir, &[&["run", "--watch", "scenarios", "--impatient"], arguments].concat())
    }

    fn begin_in(dir: TempDir, arguments: &[&str]) -> Watching {
        // One pipe, so that what is said comes in its order.
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = gateproof(dir.path());
        let child = command.args(arguments).stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
        let (sender, said) = channel();
        std::thread::spawn(move || {
            BufReader::new(reader).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Watching { dir, child, said }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join("scenarios").join(file)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    /// Puts a file in its place at once: who writes into it may be seen halfway.
    fn replace(&self, file: &str, text: &str) {
        let new = self.dir.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(file)).unwrap();
    }

    /// Everything that is said up to a line with this.
    fn until(&self, part: &str) -> String {
        let mut all = String::new();
        loop {
            let line = self.said.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no `{part}` in:\n{all}"));
            all.push_str(&line);
            all.push('\n');
            if line.contains(part) {
                return all;
            }
        }
    }

    /// Everything that is said until it waits again.
    fn waits(&self) -> String {
        self.until(WAITS)
    }

    /// Name and outcome of what the report directory has.
    fn reported(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.dir.path().join("gateproof-report/record.json")).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        record["scenarios"].as_array().unwrap().iter().map(|one| (word(&one["name"]), word(&one["outcome"]))).collect()
    }

    /// The exit code after Ctrl-C, and what was said until then.
    fn interrupted(&mut self) -> (Option<i32>, String) {
        signal(&self.child, "INT");
        let code = self.child.wait().unwrap().code();
        (code, self.said.iter().collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // Of a process that has ended already there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn outcomes(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, outcome)| ((*name).to_owned(), (*outcome).to_owned())).collect()
}

#[test]
fn what_is_edited_runs_again_and_nothing_else() {
    let mut watching = Watching::begin(&[("one.yaml", good("one")), ("two.yaml", good("two"))], &[]);
    let said = watching.waits();
    assert!(said.contains("there is no controller that could begin anew"), "{said}");
    assert!(said.contains("2 passed, 0 failed") && said.contains("reports: gateproof-report"), "{said}");
    assert_eq!(watching.reported(), outcomes(&[("one", "passed"), ("two", "passed")]));

    watching.write("two.yaml", &failing("two"));
    let said = watching.waits();
    assert!(said.contains("scenarios/two.yaml changed; 1 of 2 scenarios again: two\n"), "{said}");
    assert!(said.contains("FAILED two") && said.contains("0 passed, 1 failed"), "{said}");
    assert!(said.contains("gateproof run two -f scenarios --impatient"), "{said}");
    assert_eq!(watching.reported(), outcomes(&[("two", "failed")]));

    // As editors do.
    fs::write(watching.path("two.yaml~"), good("two")).unwrap();
    fs::rename(watching.path("two.yaml~"), watching.path("two.yaml")).unwrap();
    assert!(watching.waits().contains("1 passed, 0 failed"));
    // And as those do that hide what they write first.
    fs::write(watching.path(".two.yaml"), failing("two")).unwrap();
    fs::rename(watching.path(".two.yaml"), watching.path("two.yaml")).unwrap();
    assert!(watching.waits().contains("0 passed, 1 failed"));

    let (code, said) = watching.interrupted();
    assert_eq!((code, said.as_str()), (Some(1), ""));
}

/// The last of several changes counts, however soon after each other they are, and whatever is under way.
#[test]
fn what_is_saved_twice_at_once_ends_with_the_second() {
    let mut watching = Watching::begin(&[("one.yaml", good("one"))], &[]);
    watching.waits();
    for _ in 0..3 {
        watching.write("one.yaml", &failing("one"));
        watching.write("one.yaml", &good("one").replace("A route", "Another route"));
        watching.until("1 passed, 0 failed");
        watching.waits();
        watching.write("one.yaml", "spec: [\n");
        watching.write("one.yaml", &good("one"));
        watching.until("1 passed, 0 failed");
        watching.waits();
    }
    // While it runs, too: the wait begins when both have been run.
    watching.write("one.yaml", &failing("one"));
    watching.until("scenario again: one");
    watching.write("one.yaml", &good("one"));
    watching.until("1 passed, 0 failed");
    watching.waits();
    assert_eq!(watching.interrupted().0, Some(0));
}

#[test]
fn a_manifest_with_problems_is_told_and_keeps_nothing_else_from_running() {
    let mut watching = Watching::begin(&[("one.yaml", good("one")), ("two.yaml", good("two"))], &[]);
    watching.waits();
    watching.write("two.yaml", &good("two").replace("summary:", "sumary:"));
    let said = watching.waits();
    assert!(said.contains("scenarios/two.yaml:5:3") && said.contains("did you mean `summary`?"), "{said}");
    assert!(said.contains(&format!("{WAITS} (to be mended: scenarios/two.yaml)")), "{said}");
    assert!(!said.contains("again"), "{said}");
    // The last run is still that of both.
    assert_eq!(watching.reported().len(), 2);

    // The other one is run; what was told is not told again.
    watching.write("one.yaml", &good("one").replace("A route", "Another route"));
    let said = watching.waits();
    assert!(said.contains("scenarios/one.yaml changed; 1 of 1 scenario again: one\n"), "{said}");
    assert!(said.contains("1 passed") && !said.contains("sumary") && said.contains("to be mended"), "{said}");

    watching.write("two.yaml", &failing("two"));
    let said = watching.waits();
    assert!(said.contains("1 of 2 scenarios again: two") && !said.contains("to be mended"), "{said}");
    watching.write("two.yaml", &good("one"));
    let said = watching.waits();
    assert!(said.contains("scenarios/two.yaml:3:18") && said.contains("there are two scenarios `one`"), "{said}");
    watching.write("two.yaml", &good("two"));
    watching.until("1 passed, 0 failed");
    watching.write("two.yaml", "kind: Scenari\n");
    watching.until("to be mended");
    // The last run passed, and not all of it could be run.
    assert_eq!(watching.interrupted().0, Some(2));
}

#[test]
fn what_is_gone_or_has_moved_is_told_and_not_run() {
    let mut watching = Watching::begin(&[("one.yaml", good("one")), ("two.yaml", good("two"))], &[]);
    watching.waits();
    fs::rename(watching.path("two.yaml"), watching.path("three.yaml")).unwrap();
    let said = watching.waits();
    assert!(said.contains("scenarios/two.yaml is scenarios/three.yaml now\n") && !said.contains("again"), "{said}");
    fs::remove_file(watching.path("three.yaml")).unwrap();
    let said = watching.waits();
    assert!(said.contains("scenarios/three.yaml is gone, and with it two\n") && !said.contains("again"), "{said}");
    fs::remove_file(watching.path("one.yaml")).unwrap();
    assert!(watching.waits().contains("scenarios/one.yaml is gone, and with it one\n"));
    fs::create_dir(watching.path("more")).unwrap();
    watching.write("more/one.yaml", &good("one"));
    let said = watching.waits();
    assert!(said.contains("scenarios/more/one.yaml changed; 1 of 1 scenario again: one\n"), "{said}");
    // As a checkout does.
    fs::rename(watching.path(""), watching.dir.path().join("elsewhere")).unwrap();
    assert!(watching.waits().contains("cannot read scenarios"));
    fs::rename(watching.dir.path().join("elsewhere"), watching.path("")).unwrap();
    watching.waits();
    watching.write("more/one.yaml", &failing("one"));
    assert!(watching.waits().contains("0 passed, 1 failed"));
    assert_eq!(watching.interrupted().0, Some(1));
}

#[test]
fn a_folder_may_begin_empty() {
    let mut watching = Watching::begin(&[], &["one"]);
    watching.waits();
    watching.write("one.yaml", "");
    watching.until("to be mended");
    watching.write("one.yaml", &good("one"));
    watching.until("1 passed, 0 failed");
    watching.waits();
    watching.write("two.yaml", &good("two"));
    let said = watching.waits();
    assert!(said.contains("scenarios/two.yaml changed; nothing of it is selected\n"), "{said}");
    assert_eq!(watching.interrupted().0, Some(0));
}

#[test]
fn whoever_never_ran_anything_has_not_passed() {
    let mut watching = Watching::begin(&[], &[]);
    watching.waits();
    assert_eq!(watching.interrupted().0, Some(2));
}

/// A file that the options name is one that every scenario refers to.
#[test]
fn what_all_depend_on_runs_all_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    fs::write(dir.path().join("scenarios/one.yaml"), good("one")).unwrap();
    fs::write(dir.path().join("scenarios/two.yaml"), failing("two")).unwrap();
    let known =
        |failures: &str| format!("apiVersion: gateproof.dev/v1alpha1\nkind: KnownFailures\nfailures: {failures}\n");
    let file = dir.path().join("known.yaml");
    fs::write(&file, known("[]")).unwrap();
    let arguments = ["run", "--watch", "scenarios", "--known-failures", "known.yaml", "--impatient"];
    let mut watching = Watching::begin_in(dir, &arguments);
    assert!(watching.waits().contains("1 passed, 1 failed"));
    fs::write(&file, known("[{scenario: two, reason: ours, expires: 2199-12-31}]")).unwrap();
    let said = watching.waits();
    assert!(said.contains("known.yaml changed; 2 of 2 scenarios again: one, two\n"), "{said}");
    assert!(said.contains("1 passed, 0 failed, 1 known to fail"), "{said}");
    // What is wrong with it is told, and it goes on.
    fs::write(&file, known("[{scenario: tow, reason: ours, expires: 2199-12-31}]")).unwrap();
    assert!(watching.waits().contains("1 problem in known.yaml"));
    fs::write(&file, known("[]")).unwrap();
    assert!(watching.waits().contains("1 passed, 1 failed"));
    assert_eq!(watching.interrupted().0, Some(1));
}

#[test]
fn a_run_under_way_is_broken_off_and_nothing_follows() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    fs::write(dir.path().join("scenarios/one.yaml"), failing("one")).unwrap();
    let mut watching = Watching::begin_in(dir, &["run", "--watch", "scenarios", "--timeout-scale", "100"]);
    watching.until("1 of 1 scenario on");
    watching.write("one.yaml", &good("one"));
    let (code, said) = watching.interrupted();
    assert_eq!(code, Some(130), "{said}");
    assert!(!said.contains(WAITS), "{said}");
}

/// What had passed before is no result of the run that was broken off, and nothing of it is left on the cluster.
#[test]
fn a_later_run_that_is_broken_off_is_cleaned_up() {
    let testbed = TestbedProcess::start(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let api = runtime.block_on(connect(&Source::Text(testbed.credentials()))).unwrap();
    let namespaces = || {
        let list = runtime.block_on(api.get("/api/v1/namespaces")).unwrap();
        list["items"].as_array().unwrap().iter().map(|one| one["metadata"]["name"].to_string()).collect::<Vec<_>>()
    };
    let before = namespaces();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    fs::write(dir.path().join("scenarios/one.yaml"), good("one")).unwrap();
    let mut arguments = testbed.arguments("gateproof");
    arguments.extend(["--watch", "scenarios", "--timeout-scale", "100"]);
    let mut watching = Watching::begin_in(dir, &arguments);
    watching.waits();
    assert_eq!(watching.reported(), outcomes(&[("one", "passed")]));
    watching.write("one.yaml", &failing("one"));
    watching.until("1 of 1 scenario again: one");
    eventually("it has a namespace of its own", || namespaces() != before);
    let (code, said) = watching.interrupted();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("reason:   interrupted") && !said.contains(WAITS), "{said}");
    assert_eq!(watching.reported(), outcomes(&[("one", "inconclusive")]));
    assert_eq!(namespaces(), before);
}

/// As editors save: another file takes the name, or the one before makes room first.
#[test]
fn a_file_that_is_replaced_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    let files = ["one", "two"].map(|name| dir.path().join(format!("scenarios/{name}.yaml")));
    fs::write(&files[0], good("one")).unwrap();
    fs::write(&files[1], good("two")).unwrap();
    // A folder, and a file by itself.
    for watched in ["scenarios", "scenarios/one.yaml"] {
        let at = tempfile::tempdir().unwrap();
        copy(&dir.path().join("scenarios"), &at.path().join("scenarios"));
        let mut watching = Watching::begin_in(at, &["run", "--watch", watched, "--impatient"]);
        watching.waits();
        let of = if watched == "scenarios" { "2 scenarios" } else { "1 scenario" };
        let again = format!("; 1 of {of} again: one\n");
        // The file that is there then is another one each time.
        for text in [failing("one"), good("one"), failing("one")] {
            watching.replace("one.yaml", &text);
            let said = watching.waits();
            assert!(said.contains("scenarios/one.yaml changed") && said.contains(&again), "{watched}: {said}");
        }
        fs::rename(watching.path("one.yaml"), watching.path("one.yaml~")).unwrap();
        watching.write("one.yaml", &good("one"));
        fs::remove_file(watching.path("one.yaml~")).unwrap();
        let said = watching.until("1 passed, 0 failed");
        assert!(said.contains(&again), "{watched}: {said}");
        assert_eq!(watching.interrupted().0, Some(0));
    }
}

/// A Pod that stands for a controller's is deleted, and its Deployment makes another one.
#[test]
fn another_start_of_the_controller_runs_all_again() {
    let testbed = TestbedProcess::start(&[]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let api = runtime.block_on(connect(&Source::Text(testbed.credentials()))).unwrap();
    let call_as = |method: Method, path: &str, kind: &str, body: Value| {
        let reply = runtime.block_on(api.call(method, path, Some(kind), body.to_string().into_bytes())).unwrap();
        assert!(reply.code < 300, "{reply:?}");
        reply.body
    };
    let call = |method: Method, path: &str, body: Value| call_as(method, path, "application/json", body);
    let patch = |path: &str, body: Value| call_as(Method::PATCH, path, "application/json-patch+json", body);
    call(Method::POST, "/api/v1/namespaces", json!({"metadata": {"name": "system"}}));
    let labels = json!({"app": "controller"});
    call(
        Method::POST,
        "/apis/apps/v1/namespaces/system/deployments",
        json!({"metadata": {"name": "controller"}, "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "echo-basic"}]},
        }}}),
    );
    let pods = || {
        let list = runtime.block_on(api.get("/api/v1/namespaces/system/pods")).unwrap();
        let is_true = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
        let is_ready = |pod: &&Value| pod["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(is_true));
        let ready = list["items"].as_array().unwrap().iter().filter(is_ready);
        ready.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    while pods().is_empty() {}

    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    for name in ["one", "two"] {
        fs::write(dir.path().join(format!("scenarios/{name}.yaml")), good(name)).unwrap();
    }
    let mut arguments = testbed.arguments("gateproof");
    arguments.extend(["--watch", "scenarios", "--timing", "embedded"]);
    // Without a word about its Pods nobody knows of them.
    let mut watching = Watching::begin_in(dir, &arguments);
    assert!(watching.waits().contains("with --logs-from NAMESPACE/SELECTOR all runs again"));
    assert_eq!(watching.interrupted().0, Some(0));
    let dir = tempfile::tempdir().unwrap();
    copy(&watching.path(""), &dir.path().join("scenarios"));

    arguments.extend(["--logs-from", "system/app=controller"]);
    let mut watching = Watching::begin_in(dir, &arguments);
    let said = watching.waits();
    assert!(said.contains("2 passed") && said.contains("or for Pods of system/app=controller to begin anew"), "{said}");
    let before = pods().remove(0);
    call(Method::DELETE, &format!("/api/v1/namespaces/system/pods/{before}"), json!({}));
    let said = watching.waits();
    let after = pods();
    assert!(after.iter().any(|name| said.contains(&format!("the controller began anew ({name}); 2 of 2"))), "{said}");
    assert!(said.contains("2 passed, 0 failed"), "{said}");

    // What a run may have caused itself is no cause of another one.
    watching.replace("one.yaml", &failing("one"));
    watching.until("1 of 2 scenarios again: one");
    let before = pods().remove(0);
    call(Method::DELETE, &format!("/api/v1/namespaces/system/pods/{before}"), json!({}));
    let said = watching.until("so nothing runs again for that");
    assert!(said.contains("0 passed, 1 failed") && said.contains("the controller began anew during a run ("), "{said}");
    watching.replace("one.yaml", &good("one"));
    let said = watching.waits();
    assert!(said.starts_with("scenarios/one.yaml changed; 1 of 2 scenarios again: one\n"), "{said}");

    // What is deployed meanwhile is none of its doing.
    watching.replace("one.yaml", &failing("one"));
    watching.until("1 of 2 scenarios again: one");
    let (before, image) =
        (pods(), json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "echo-basic:2"}]));
    patch("/apis/apps/v1/namespaces/system/deployments/controller", image);
    eventually("the controller has another Pod", || !pods().is_empty() && pods() != before);
    let said = watching.waits();
    assert!(said.contains("0 passed, 1 failed"), "{said}");
    let said = watching.waits();
    assert!(said.starts_with(&format!("the controller began anew ({}); 2 of 2", pods()[0])), "{said}");
    assert!(said.contains("1 passed, 1 failed"), "{said}");
    assert_eq!(watching.interrupted().0, Some(1));
}

/// Asks again until it holds, each time an API server, and not for ever.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    assert!((0..100_000).any(|_| holds()), "it never came to this: {what}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[rstest]
#[case::file(&["--watch", "case.yaml", "-f", "case.yaml"], &["--watch <PATH>", "cannot be used with", "--file"])]
#[case::shard(&["--watch", "case.yaml", "--shard", "1/2"], &["cannot be used with", "--shard"])]
#[case::rerun(&["--watch", "case.yaml", "--rerun-failed", "a"], &["cannot be used with", "--rerun-failed"])]
#[case::baseline(&["--watch", "case.yaml", "--baseline", "a"], &["cannot be used with", "--baseline"])]
#[case::first_failure(&["--watch", "case.yaml", "--fail-fast"], &["cannot be used with", "--fail-fast"])]
#[case::json(&["--watch", "case.yaml", "--format", "json"], &["--format json is one document", "record.json"])]
#[case::several(&["--watch", "case.yaml", "--dialect", "aso,kuadrant"], &["--watch is about one dialect"])]
#[case::nothing(&["--watch", "nothing"], &["cannot read nothing: No such file"])]
#[case::reports_among_manifests(&["--watch", "."], &["the reports would be in .", "--report-dir"])]
#[case::reports_below(&["--watch", "sub", "--report-dir", "sub/a/b"], &["the reports would be in sub"])]
#[case::target(&["--watch", "case.yaml", "--target", "embedded:nosuch"], &["nosuch", "gateproof list faults"])]
#[case::selection(&["--watch", "case.yaml", "nosuch"], &["`nosuch` is no scenario"])]
#[case::feature(&["--watch", "case.yaml", "--features", "HTTPRout"], &["there is no feature `HTTPRout`"])]
fn what_has_no_meaning_beside_it_is_refused(#[case] arguments: &[&str], #[case] parts: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("case.yaml"), good("one")).unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    expect(&run(dir.path(), &[&["run"], arguments].concat()), 2, parts);
    assert!(
        !dir.path().join("gateproof-report").exists() && fs::read_dir(dir.path().join("sub")).unwrap().count() == 0
    );
}

/// Whoever watches Pods has to be permitted to.
#[rstest]
#[case::alone(&[], false)]
#[case::watching(&["--watch", "case.yaml"], true)]
fn a_role_permits_to_follow_pods(#[case] more: &[&str], #[case] expected: bool) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("case.yaml"), good("one")).unwrap();
    let arguments = [&["rbac", "--format", "json", "--logs-from", "system/app=a"], more].concat();
    let list: Value = serde_json::from_str(&run(dir.path(), &arguments).out).unwrap();
    let logs = list["items"].as_array().unwrap().iter().find(|one| one["kind"] == "Role").unwrap();
    let verbs = logs["rules"][0]["verbs"].as_array().unwrap();
    assert_eq!(verbs.contains(&"watch".into()), expected, "{verbs:?}");
}

#[test]
fn the_help_says_how_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let help = run(dir.path(), &["run", "--help"]).out;
    let mut lines = help.lines().skip_while(|line| !line.trim_start().starts_with("--watch"));
    let first = lines.next().unwrap();
    let rest: Vec<&str> = lines.take_while(|line| !line.trim().is_empty()).collect();
    let said = [&[first], &rest[..]].concat().join(" ");
    insta::assert_snapshot!(said.split_whitespace().collect::<Vec<_>>().join(" "), @"--watch <PATH> Run the scenarios of PATH (a file or a folder), and again those that a change touches, until Ctrl-C: of their manifests, of files that the options name, and with --logs-from another start of the controller. The exit code is that of the last run, 130 if that was broken off, and 2 if it passed and a manifest with problems was left out");
}
