//! What an implementer's CI is made of: the files of `init`, the action, what goes to upstream, what runs within a cluster.
#![allow(clippy::unwrap_used)]

#[path = "ci/deploy.rs"]
mod deploy;
#[path = "ci/init.rs"]
mod init;
#[path = "ci/lint.rs"]
mod lint;
mod process;
#[path = "ci/several.rs"]
mod several;
#[path = "ci/submit.rs"]
mod submit;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::{Ended, run};
use rstest::rstest;
use serde_json::Value;

/// A fault under which the one fails and the other passes.
const FAULT: [&str; 4] =
    ["--target", "embedded:ignores-reference-grants", "httproute-missing-reference-grant", "httproute-missing-backend"];

/// What a page holds of a run that is held against none.
const WITHOUT_NEWS: &str = "\"news\":null";

/// A file of this repository.
fn ours(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a program is there.
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--help").output().is_ok()
}

/// The reports of a run of an implementation that fails as the fault does.
fn first_run(dir: &Path) {
    let ended = run(dir, &[&["run"], &FAULT[..]].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    edit_record(dir, |record| {
        record["target"]["embedded"] = false.into();
        record["target"]["gatewayClass"] = "acme".into();
    });
}

fn edit_record(dir: &Path, edit: impl Fn(&mut Value)) {
    edit_record_at(&dir.join("gateproof-report/record.json"), edit);
}

fn edit_record_at(path: &Path, edit: impl Fn(&mut Value)) {
    let mut record: Value = serde_json::from_str(&read(path)).unwrap();
    edit(&mut record);
    fs::write(path, record.to_string()).unwrap();
}

/// Runs a script of this repository with a `gateproof` of ours on the path.
fn script(dir: &Path, path: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let bin = dir.join("bin");
    fs::create_dir_all(&bin).unwrap();
    if !bin.join("gateproof").exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gateproof"), bin.join("gateproof")).unwrap();
    }
    let path_variable = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(ours(path));
    command.current_dir(dir).args(arguments).env("PATH", path_variable).env("NO_COLOR", "1").env("HOME", dir);
    // What CI says to whoever runs these tests is not meant for the script.
    command.env_remove("KUBECONFIG").env_remove("GITHUB_STEP_SUMMARY").env_remove("GATEPROOF_BASELINE");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    Ended {
        code: output.status.code(),
        signal: None,
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The variables that a step of a workflow has.
fn step<'a>(dir: &'a str, files: &'a [String; 2], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all =
        vec![("RUNNER_TEMP", dir), ("GITHUB_OUTPUT", files[0].as_str()), ("GITHUB_STEP_SUMMARY", files[1].as_str())];
    all.extend(more);
    all
}

#[test]
fn the_action_says_what_a_run_came_to_and_fails_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let files = ["output", "summary"].map(|name| format!("{at}/{name}"));
    let action = |arguments: &str, gate: &str| {
        files.iter().for_each(|file| fs::write(file, "").unwrap());
        let more = [("ARGUMENTS", arguments), ("GATE", gate), ("REPORT_DIR", "reports")];
        script(dir.path(), ".github/actions/gateproof/run", &[], &step(at, &files, &more))
    };
    let both = "httproute-missing-reference-grant\n  httproute-missing-backend";
    let ended = action(both, "new-failures");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let [outputs, summary] = [0, 1].map(|file| read(Path::new(&files[file])));
    assert!(outputs.contains("exit-code=0\ncounts=2 passed, 0 failed in "), "{outputs}");
    assert!(summary.contains("**2 passed, 0 failed**") && !summary.contains("last green run"), "{summary}");
    let reports = dir.path().join("reports");
    assert!(read(&reports.join("badge.svg")).contains(": 2 passed</title>"));
    assert!(read(&reports.join("badge.json")).contains("\"schemaVersion\": 1"));
    assert!(read(&reports.join("report.html")).contains(WITHOUT_NEWS));

    // The next one is held against it.
    fs::create_dir(dir.path().join("gateproof-baseline")).unwrap();
    fs::copy(reports.join("record.json"), dir.path().join("gateproof-baseline/record.json")).unwrap();
    let ended = action(&FAULT.join(" "), "new-failures");
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.out.contains("::error title=httproute-missing-reference-grant::expected "), "{}", ended.out);
    let summary = read(Path::new(&files[1]));
    let (_, news) = summary.split_once("## Against the last green run\n\n").unwrap();
    assert!(news.contains("    ") && news.contains("httproute-missing-reference-grant"), "{news}");
    assert!(!read(&reports.join("report.html")).contains(WITHOUT_NEWS));

    // All that runs passes, but a rule is broken, if it is asked for.
    let fewer = action("httproute-missing-backend", "new-failures,fewer-scenarios");
    assert_eq!(fewer.code, Some(1), "{}", fewer.said());
    assert_eq!(action("httproute-missing-backend", "").code, Some(0));

    // One that cannot be read keeps nothing from being tested, and is no good night.
    fs::write(dir.path().join("gateproof-baseline/record.json"), "{}").unwrap();
    let ended = action("httproute-missing-backend", "new-failures");
    assert!(
        ended.code != Some(0) && ended.out.contains("::warning::the last green run cannot be read"),
        "{}",
        ended.said()
    );
    assert!(read(Path::new(&files[0])).contains("exit-code=0\ncounts=1 passed, "));

    // One of another dialect is none to hold it against.
    edit_record_at(&reports.join("record.json"), |record| record["target"]["dialect"] = "aso".into());
    fs::copy(reports.join("record.json"), dir.path().join("gateproof-baseline/record.json")).unwrap();
    let ended = action("httproute-missing-backend", "new-failures,fewer-scenarios");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let summary = read(Path::new(&files[1]));
    assert!(summary.contains("    the run before is of the dialect aso, so this one of gateway-api is"), "{summary}");
    assert!(read(&reports.join("report.html")).contains(WITHOUT_NEWS));

    // Of what was no run there is nothing to say.
    let ended = action("no-such-scenario", "");
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert_eq!(read(Path::new(&files[1])), "");
}

#[test]
fn what_the_action_cannot_tell_fails_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let files = ["output", "summary"].map(|name| format!("{at}/{name}"));
    fs::create_dir_all(dir.path().join("reports/badge.svg")).unwrap();
    let more = [("ARGUMENTS", "httproute-missing-backend"), ("GATE", ""), ("REPORT_DIR", "reports")];
    let ended = script(dir.path(), ".github/actions/gateproof/run", &[], &step(at, &files, &more));
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.err.contains("::error::badge.svg could not be made\n"), "{}", ended.err);
    // The rest is told all the same, and that the run passed.
    assert!(read(Path::new(&files[0])).contains("exit-code=0\ncounts=1 passed, "));
    assert!(read(Path::new(&files[1])).contains("**1 passed, 0 failed**"));
}

#[test]
fn the_action_takes_a_binary_or_a_release() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let path = format!("{at}/path");
    let install = |variables: &[(&str, &str)]| {
        let all = [&[("RUNNER_TEMP", at), ("GITHUB_PATH", path.as_str())], variables].concat();
        script(dir.path(), ".github/actions/gateproof/install", &[], &all)
    };
    let ended = install(&[("BINARY", env!("CARGO_BIN_EXE_gateproof"))]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.out.starts_with("gateproof "), "{}", ended.out);
    assert!(Path::new(read(Path::new(&path)).trim()).join("gateproof").exists());
    let ended = install(&[("VERSION", "main"), ("REPOSITORY", "a/b")]);
    assert_eq!((ended.code, ended.out.contains("`main`, which is none")), (Some(2), true), "{}", ended.said());
}

#[test]
fn a_night_tells_what_it_came_to() {
    let dir = tempfile::tempdir().unwrap();
    let reports = dir.path().join("reports");
    let night = |arguments: &[&str]| {
        let arguments = [&[reports.to_str().unwrap()], arguments].concat();
        script(dir.path(), "scripts/nightly", &arguments, &[("GATEPROOF", env!("CARGO_BIN_EXE_gateproof"))])
    };
    let ended = night(&FAULT[2..]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.out.contains("nightly: 2 passed, 0 failed in "), "{}", ended.out);
    assert!(ended.out.contains("nightly: there is no earlier run to hold it against\n"), "{}", ended.out);
    assert!(ended.out.ends_with(&format!("nightly: the reports are in {}; exit code 0\n", reports.display())));
    let ended = night(&FAULT);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    let (_, news) = ended.out.split_once("nightly: against the run before:\n").unwrap();
    assert!(news.contains("httproute-missing-reference-grant"), "{news}");
    assert!(!read(&reports.join("report.html")).contains(WITHOUT_NEWS));
    assert!(ended.out.ends_with("; exit code 1\n"), "{}", ended.out);
    // One of another dialect is none to hold it against.
    edit_record_at(&reports.join("record.json"), |record| record["target"]["dialect"] = "aso".into());
    let ended = night(&FAULT[3..]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(
        ended.out.contains("nightly: against the run before:\nthe run before is of the dialect aso, "),
        "{}",
        ended.out
    );
    assert!(read(&reports.join("report.html")).contains(WITHOUT_NEWS));
    let ended = night(&["no-such-scenario"]);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.out.ends_with("nightly: there was no whole run; exit code 2\n"), "{}", ended.out);
}

#[test]
fn a_night_takes_the_paths_of_its_caller_and_fails_with_what_it_cannot_tell() {
    let dir = tempfile::tempdir().unwrap();
    let night = |baseline: &str| {
        let variables = [("GATEPROOF", "bin/gateproof"), ("GATEPROOF_BASELINE", baseline)];
        script(dir.path(), "scripts/nightly", &["reports", "httproute-missing-backend"], &variables)
    };
    let ended = night("");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(dir.path().join("reports/record.json").exists());
    for (baseline, record, code) in
        [("before", read(&dir.path().join("reports/record.json")), 0), ("none", "{}".to_owned(), 3)]
    {
        fs::create_dir(dir.path().join(baseline)).unwrap();
        fs::write(dir.path().join(baseline).join("record.json"), record).unwrap();
        let ended = night(baseline);
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        assert!(ended.out.contains("nightly: against the run before:\n"), "{}", ended.out);
        assert_eq!(ended.out.contains("nightly: not all of it could be told\n"), code != 0, "{}", ended.out);
    }
}

#[test]
fn a_badge_says_what_the_exit_code_said() {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    let badge = |arguments: &[&str]| run(dir.path(), &[&["report", "badge", "gateproof-report"], arguments].concat());
    let ended = badge(&["--as", "json"]);
    assert!(ended.out.contains("1 of 2 failed\",\n  \"color\": \"red\""), "{}", ended.out);
    edit_record(dir.path(), |record| record["interrupted"] = true.into());
    assert!(badge(&[]).out.contains(": broken off</title>"), "{}", badge(&[]).out);
}

#[rstest]
#[case::bash("bash", "complete ")]
#[case::zsh("zsh", "#compdef gateproof")]
#[case::fish("fish", "complete -c gateproof")]
fn a_shell_is_told_our_words(#[case] shell: &str, #[case] part: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["completions", shell]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    for part in [part, "preflight", "known-failures", "diagnose"] {
        assert!(ended.out.contains(part), "no `{part}`");
    }
}

#[test]
fn every_verb_has_its_page() {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["man", "--output", "pages"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    for (name, part) in [
        ("gateproof", "gateproof\\-preflight(1)"),
        ("gateproof-run", "\\-\\-known\\-failures"),
        ("gateproof-report-diff", "\\-\\-gate"),
    ] {
        let page = read(&dir.path().join("pages").join(format!("{name}.1")));
        assert!(page.contains(part), "no `{part}` in {name}");
        let head = page.lines().find(|line| line.starts_with(".TH")).unwrap();
        assert!(head.contains(concat!("\"gateproof ", env!("CARGO_PKG_VERSION"))), "{head}");
    }
    let one = run(dir.path(), &["man", "report", "diff"]);
    assert_eq!(one.out, read(&dir.path().join("pages/gateproof-report-diff.1")));
    let none = run(dir.path(), &["man", "report", "dif"]);
    assert_eq!(none.code, Some(2), "{}", none.said());
}
