//! Reports that were cut off, edited, or never were such: whoever reads them ends, says what is wrong where, and what to do.
#![allow(clippy::unwrap_used)]

mod process;

use std::fs;
use std::path::Path;
use std::process::Command;

use process::{expect, run};
use rstest::rstest;
use serde_json::{Value, json};

/// A report directory `r` with a log and its record, and the manifest that was run.
fn recorded(dir: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    fs::create_dir(dir.join("r")).unwrap();
    fs::copy(from.join("case.yaml"), dir.join("case.yaml")).unwrap();
    for file in ["events.jsonl", "record.json"] {
        fs::copy(from.join("with-digests").join(file), dir.join("r").join(file)).unwrap();
    }
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn edit_record(dir: &Path, edit: impl FnOnce(&mut Value)) {
    let path = dir.join("r/record.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    edit(&mut record);
    fs::write(&path, serde_json::to_string_pretty(&record).unwrap()).unwrap();
}

#[rstest]
#[case::verify("events.jsonl", &["report", "verify", "r", "-f", "case.yaml"])]
#[case::requirements("events.jsonl", &["report", "requirements", "r", "-f", "case.yaml"])]
#[case::trace("events.jsonl", &["report", "trace", "r"])]
#[case::trace_beside("events.jsonl", &["report", "trace", "r/record.json"])]
#[case::replay("events.jsonl", &["replay", "r", "-f", "case.yaml"])]
#[case::render("record.json", &["report", "render", "r"])]
#[case::badge("record.json", &["report", "badge", "r"])]
#[case::diff("record.json", &["report", "diff", "r", "r"])]
#[case::rerun("record.json", &["run", "--rerun-failed", "r"])]
#[case::submit("conformance-report.yaml", &["report", "submit", "r", "--output", "out"])]
#[case::lint("conformance-report.yaml", &["report", "lint", "r"])]
fn nobody_waits_for_a_pipe(#[case] file: &str, #[case] words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    pipe(&dir.join("r").join(file));
    expect(&run(dir, words), 2, &[&format!("r/{file} is no file"), "what went through a pipe is not kept"]);
}

#[test]
fn what_else_is_a_pipe_is_told_as_edited() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    for file in ["record.json", "conformance-report.yaml"] {
        pipe(&dir.join("r").join(file));
    }
    let parts = ["record.json: edited, line 1", "conformance-report.yaml: edited, line 1"];
    expect(&run(dir, &["report", "verify", "r", "-f", "case.yaml"]), 1, &parts);
}

#[rstest]
#[case::empty(0, "the log does not begin with the start of a run help: its beginning is gone", "cut off")]
#[case::first(1, "the log was not closed", "cut off")]
#[case::half(30, "own-case is open", "cut off")]
#[case::all_but_one(57, "run the scenarios again", "cut off")]
fn a_log_that_was_cut_off_says_so(#[case] lines: usize, #[case] judged: &str, #[case] drawn: &str) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    let path = dir.join("r/events.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = log.split_inclusive('\n').take(lines).collect();
    fs::write(&path, kept.concat()).unwrap();
    for words in [["report", "verify", "r"].as_slice(), &["report", "requirements", "r"], &["replay", "r"]] {
        expect(&run(dir, &[words, &["-f", "case.yaml"]].concat()), 2, &["r/events.jsonl", judged]);
    }
    // That manifests are missing comes after what is wrong with the log.
    expect(&run(dir, &["replay", "r"]), 2, &["r/events.jsonl", judged]);
    for words in [["report", "trace", "r"].as_slice(), &["report", "render", "r", "--as", "html"]] {
        expect(&run(dir, words), 0, &["r/events.jsonl: the log was", drawn]);
    }
    // A run that was killed leaves a line without its end: what is before can be drawn, and not be judged.
    fs::write(&path, format!("{}{{\"seq\":", kept.concat())).unwrap();
    let place = format!("line {} of the log", lines + 1);
    for words in [["report", "verify", "r"].as_slice(), &["report", "requirements", "r"], &["replay", "r"]] {
        expect(&run(dir, words), 2, &[&place, "it was cut off or edited, or a newer gateproof wrote it"]);
    }
    for words in [["report", "trace", "r"].as_slice(), &["report", "render", "r", "--as", "html"]] {
        expect(&run(dir, words), 0, &["r/events.jsonl: the log was", drawn]);
    }
    // With its end it is no event.
    fs::write(&path, format!("{}{{\"seq\":\n", kept.concat())).unwrap();
    for words in [["report", "trace", "r"].as_slice(), &["report", "render", "r", "--as", "html"]] {
        expect(&run(dir, words), 2, &[&place, "name the report directory of a run that ended"]);
    }
}

#[test]
fn a_whole_log_says_nothing_of_that() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path());
    for words in [["report", "trace", "r"].as_slice(), &["report", "render", "r", "--as", "html"]] {
        assert_eq!(run(folder.path(), words).err, "");
    }
}

#[rstest]
#[case::format("format", json!(2), "it is of format 2; this version reads format 1")]
#[case::field("verdict", json!("fine"), "not a run record: unknown field `verdict`")]
#[case::form("scenarios", json!({}), "not a run record: invalid type")]
fn a_record_of_another_version_is_not_guessed_at(#[case] field: &str, #[case] value: Value, #[case] problem: &str) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    edit_record(dir, |record| {
        record["producer"] = json!("gateproof 9.0.0");
        record[field] = value;
    });
    let parts = ["r/record.json", problem, "gateproof 9.0.0 wrote it, and this is gateproof 0.1.0"];
    for words in [["report", "render", "r"].as_slice(), &["report", "badge", "r"], &["report", "diff", "r", "r"]] {
        expect(&run(dir, words), 2, &parts);
    }
    // Against the log it is an edited one, whatever it is.
    expect(&run(dir, &["report", "verify", "r", "-f", "case.yaml"]), 1, &["record.json: edited, line"]);
}

/// As a run of several dialects has them.
#[test]
fn of_several_runs_one_is_to_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for name in ["kuadrant", "aso"] {
        recorded(dir);
        fs::create_dir_all(dir.join("both")).unwrap();
        fs::rename(dir.join("r"), dir.join("both").join(name)).unwrap();
    }
    let parts = ["both has no record.json, but report directories in it", "name one of them: both/aso, both/kuadrant"];
    for words in
        [["report", "render", "both"].as_slice(), &["report", "badge", "both"], &["run", "--rerun-failed", "both"]]
    {
        expect(&run(dir, words), 2, &parts);
    }
}

#[test]
fn no_scenario_counts_twice() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    edit_record(dir, |record| {
        let scenarios = record["scenarios"].as_array_mut().unwrap();
        scenarios.push(scenarios[0].clone());
    });
    expect(&run(dir, &["report", "badge", "r"]), 2, &["r/record.json: `own-case` is there twice"]);
}

/// What is judged is what the log says, so nothing in a record leads away from that.
#[rstest]
#[case::dialect("/target/dialect", json!("kuadrant"))]
#[case::release("/target/gatewayApiVersion", json!("v1.0.0"))]
#[case::arguments("/arguments", json!(["-f", "another.yaml"]))]
#[case::time("/durationMs", json!(1))]
fn an_edited_record_is_found_whatever_it_says(#[case] place: &str, #[case] value: Value) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    edit_record(dir, |record| *record.pointer_mut(place).unwrap() = value);
    expect(&run(dir, &["report", "verify", "r"]), 1, &["record.json: edited, line"]);
}

#[test]
fn a_record_does_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    recorded(dir);
    edit_record(dir, |record| record["date"] = json!("\u{1b}[2J2000"));
    fs::create_dir(dir.join("runs")).unwrap();
    fs::rename(dir.join("r"), dir.join("runs/old")).unwrap();
    recorded(dir);
    fs::rename(dir.join("r"), dir.join("runs/new")).unwrap();
    let ended = run(dir, &["report", "trend", "runs", "--keep", "1"]);
    expect(&ended, 0, &["runs/old of \\u{1b}[2J2000 would be pruned"]);
    assert!(!ended.said().contains('\u{1b}'), "{}", ended.said());
}

/// `init` writes both of its files or none, and nothing outside of the repository.
#[rstest]
#[case::pipe("gateproof-known-failures.yaml", false, "is no file")]
#[case::folder(".github/workflows/gateproof.yml", true, "is no file")]
#[case::a_file_for_a_folder(".github", false, "is no folder")]
fn init_writes_all_or_nothing(#[case] place: &str, #[case] is_folder: bool, #[case] problem: &str) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join(place);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    if is_folder {
        fs::create_dir(&place).unwrap()
    } else {
        pipe(&place)
    }
    expect(&run(folder.path(), &["init", "--force"]), 2, &[problem, "nothing was written", "take it away"]);
    for file in ["gateproof-known-failures.yaml", ".github/workflows/gateproof.yml"] {
        assert!(!folder.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn init_follows_no_link_out_of_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, outside) = (folder.path().join("in"), folder.path().join("outside"));
    fs::create_dir(&dir).unwrap();
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, dir.join(".github")).unwrap();
    expect(&run(&dir, &["init"]), 2, &["./.github is no folder, and nothing was written"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    expect(&run(&dir, &["init", "--until", "2001-01-01"]), 2, &["2001-01-01 is past: nothing would be known to fail"]);
}
