#![allow(clippy::unwrap_used)]
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use rstest::rstest;
use tempfile::{TempDir, tempdir};

use super::*;

/// Every file and folder below a directory, with what files hold.
fn below(dir: &Path) -> Vec<(String, String)> {
    fn walk(root: &Path, at: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                found.push((format!("{name}/"), String::new()));
                walk(root, &path, found);
            } else {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(dir, dir, &mut found);
    found.sort();
    found
}

fn names(dir: &Path) -> Vec<String> {
    below(dir).into_iter().map(|(name, _)| name).collect()
}

/// A directory with the reports of a run that ended.
fn whole() -> TempDir {
    let dir = tempdir().unwrap();
    let mut reports = ReportDir::at(dir.path());
    reports.begin().unwrap();
    fs::write(reports.events_file().unwrap(), "events").unwrap();
    for name in [JUNIT, RECORD] {
        reports.write(&[name], "of the first run").unwrap();
    }
    reports.write(&["failures", "a", "failure.txt"], "it failed").unwrap();
    reports.finish().unwrap();
    dir
}

#[test]
fn a_run_that_ended_leaves_its_reports_and_the_list() {
    let dir = whole();
    let expected =
        ["events.jsonl", "failures/", "failures/a/", "failures/a/failure.txt", LIST, "junit.xml", "record.json"];
    assert_eq!(names(dir.path()), expected);
    assert_eq!(file_of(dir.path(), RECORD).ok(), Some(dir.path().join(RECORD)));
}

/// Of what others put there, nothing goes, and the directory stays for it.
#[test]
fn a_pruned_directory_loses_what_is_on_its_list() {
    let dir = whole();
    assert_eq!(prune(dir.path()).unwrap(), Ok(4));
    assert!(!dir.path().exists());
    let dir = whole();
    fs::write(dir.path().join("failures/mine.txt"), "mine").unwrap();
    assert_eq!(prune(dir.path()).unwrap(), Ok(4));
    assert_eq!(names(dir.path()), ["failures/", "failures/mine.txt"]);
    assert_eq!(prune(dir.path()).unwrap(), Err("it has no list of what gateproof wrote there"));
    assert_eq!(names(dir.path()), ["failures/", "failures/mine.txt"]);
}

#[test]
fn what_is_no_directory_of_a_run_that_ended_is_not_pruned() {
    let dir = whole();
    let before = below(dir.path());
    let around = tempdir().unwrap();
    let link = around.path().join("link");
    symlink(dir.path(), &link).unwrap();
    assert_eq!(prune(&link).unwrap(), Err("it is no directory of reports"));
    assert_eq!(prune(&dir.path().join(RECORD)).unwrap(), Err("it is no directory of reports"));
    assert_eq!(below(dir.path()), before);
    ReportDir::at(dir.path()).begin().unwrap();
    let begun = below(dir.path());
    assert_eq!(prune(dir.path()).unwrap(), Err("its run has not ended"));
    assert_eq!(below(dir.path()), begun);
}

/// A list that somebody else has changed names nothing outside, and nothing behind a link.
#[test]
fn pruning_leads_nowhere() {
    let around = tempdir().unwrap();
    fs::write(around.path().join("precious"), "precious").unwrap();
    let root = around.path().join("reports");
    fs::create_dir(&root).unwrap();
    symlink(around.path(), root.join("up")).unwrap();
    let absolute = around.path().join("precious");
    let list = format!("{LIST_HEAD}\n../precious\n{}\nup/precious\n../\n", absolute.display());
    fs::write(root.join(LIST), list).unwrap();
    prune(&root).unwrap().unwrap();
    assert_eq!(fs::read_to_string(absolute).unwrap(), "precious");
}

/// Whether it could not start, was killed, or is under way: nothing of the run before passes for its own.
#[rstest]
#[case::could_not_start(|dir: &Path| ReportDir::at(dir).broken_off(&Failure::usage("no such fault", "")))]
#[case::killed_before_it_began(|dir: &Path| ReportDir::at(dir).take().unwrap())]
#[case::killed(|dir: &Path| ReportDir::at(dir).begin().unwrap())]
fn reports_of_the_run_before_do_not_survive(#[case] run: fn(&Path)) {
    let dir = whole();
    run(dir.path());
    assert_eq!(names(dir.path()), [LIST, PREVIOUS, UNFINISHED]);
    assert!(file_of(dir.path(), RECORD).is_err());
    // What failed before can still be run again, however often no run comes to an end.
    for _ in 0..2 {
        assert_eq!(fs::read_to_string(last_record(dir.path()).unwrap()).unwrap(), "of the first run");
        run(dir.path());
    }
}

#[test]
fn why_a_run_did_not_end_is_told() {
    let dir = whole();
    ReportDir::at(dir.path()).broken_off(&Failure::usage("there is no fault `x`", ""));
    let text = fs::read_to_string(dir.path().join(UNFINISHED)).unwrap();
    assert!(text.starts_with(UNFINISHED_HEAD) && text.contains("there is no fault `x`"), "{text}");
}

#[test]
fn the_next_run_replaces_the_whole() {
    let dir = whole();
    let mut reports = ReportDir::at(dir.path());
    reports.begin().unwrap();
    reports.write(&[RECORD], "of the second run").unwrap();
    reports.finish().unwrap();
    assert_eq!(names(dir.path()), [LIST, RECORD]);
    assert_eq!(fs::read_to_string(dir.path().join(RECORD)).unwrap(), "of the second run");
}

#[test]
fn what_is_not_ours_stays() {
    let dir = whole();
    let own = [("failures/mine.txt", "mine"), ("failures/a/notes.txt", "mine"), ("list.txt", "mine")];
    for (name, text) in own {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let mut reports = ReportDir::at(dir.path());
    reports.begin().unwrap();
    reports.finish().unwrap();
    let expected = ["failures/", "failures/a/", "failures/a/notes.txt", "failures/mine.txt", LIST, "list.txt"];
    assert_eq!(names(dir.path()), expected);
}

#[test]
fn a_directory_that_holds_nothing_of_ours_is_left_alone_until_a_run_begins() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("failures")).unwrap();
    fs::write(dir.path().join("failures/mine.txt"), "mine").unwrap();
    let before = below(dir.path());
    ReportDir::at(dir.path()).broken_off(&Failure::usage("no such fault", ""));
    assert_eq!(below(dir.path()), before);
    ReportDir::at(&dir.path().join("nothing")).take().unwrap();
    assert_eq!(below(dir.path()), before);
}

/// A report that nobody listed is of an older release, or the user's.
#[test]
fn what_stands_in_the_way_is_set_aside() {
    let dir = tempdir().unwrap();
    for (name, text) in [(JUNIT, "green"), ("junit.xml.before", "older"), ("failures", "a file"), (LIST, "a list")] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let mut reports = ReportDir::at(dir.path());
    reports.begin().unwrap();
    assert!(!dir.path().join(JUNIT).exists());
    reports.write(&["failures", "a", "failure.txt"], "it failed").unwrap();
    let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(["junit.xml.before", "junit.xml.before-2", "failures.before"].map(text), ["older", "green", "a file"]);
    assert_eq!(text(&format!("{LIST}.before")), "a list");
}

#[rstest]
#[case::a_file(JUNIT, &[JUNIT])]
#[case::a_folder("failures", &["failures", "a", "failure.txt"])]
fn a_link_leads_nowhere(#[case] link: &str, #[case] file: &[&str]) {
    let (dir, elsewhere) = (whole(), tempdir().unwrap());
    fs::create_dir_all(elsewhere.path().join("a")).unwrap();
    fs::write(elsewhere.path().join("a/failure.txt"), "precious").unwrap();
    fs::write(elsewhere.path().join("junit.xml"), "precious").unwrap();
    let before = below(elsewhere.path());
    let target = if link == JUNIT { elsewhere.path().join(JUNIT) } else { elsewhere.path().to_owned() };
    let place = dir.path().join(link);
    fs::rename(&place, dir.path().join("moved")).unwrap();
    symlink(target, &place).unwrap();
    let mut reports = ReportDir::at(dir.path());
    reports.begin().unwrap();
    reports.write(file, "it failed").unwrap();
    assert_eq!(below(elsewhere.path()), before);
    assert_eq!(fs::read_to_string(dir.path().join(file.join("/"))).unwrap(), "it failed");
}

/// A list that somebody else has changed names nothing outside.
#[test]
fn a_list_leads_nowhere() {
    let around = tempdir().unwrap();
    fs::write(around.path().join("precious"), "precious").unwrap();
    let root = around.path().join("reports");
    fs::create_dir(&root).unwrap();
    let absolute = around.path().join("precious");
    let list = format!("{LIST_HEAD}\n../precious\n{}\nfailures/../../precious\n../\n", absolute.display());
    fs::write(root.join(LIST), list).unwrap();
    ReportDir::at(&root).begin().unwrap();
    assert_eq!(fs::read_to_string(absolute).unwrap(), "precious");
}

proptest! {
    /// Whatever it is called, a file is below the directory, as deep as it was asked for, and goes with the next run.
    #[test]
    fn every_file_is_below_the_directory(parts in prop::collection::vec(prop_oneof!["[a./~]{0,5}", ".{0,300}"], 1..4)) {
        let around = tempdir().unwrap();
        let root = around.path().join("reports");
        let mut reports = ReportDir::at(&root);
        reports.begin().unwrap();
        let before = names(&root);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        reports.write(&parts, "text").unwrap();
        let files: Vec<String> = names(&root).into_iter().filter(|name| !before.contains(name) && !name.ends_with('/')).collect();
        prop_assert_eq!(files.len(), 1, "{:?}", files);
        prop_assert_eq!(files[0].matches('/').count() + 1, parts.len());
        prop_assert_eq!(fs::read_dir(around.path()).unwrap().count(), 1);
        reports.finish().unwrap();
        ReportDir::at(&root).begin().unwrap();
        prop_assert_eq!(names(&root), [LIST, UNFINISHED]);
    }
}

/// What the next run begins with first.
#[test]
fn how_long_scenarios_took_is_known_of_the_run_before_on_the_same_target() {
    let scenario = |name: &str, outcome: &str, millis: u64| {
        serde_json::json!({"name": name, "suite": "s", "file": "f", "summary": "", "features": [], "proves": [],
            "outcome": outcome, "durationMs": millis})
    };
    let scenarios = [
        scenario("long", "passed", 70),
        scenario("twice", "passed", 20),
        scenario("twice#2", "failed", 90),
        scenario("left-out", "skipped", 0),
    ];
    let record = serde_json::json!({"format": 1, "producer": "p", "date": "d", "interrupted": false, "contract": [],
        "target": {"name": "here", "embedded": false, "features": []}, "scenarios": scenarios, "durationMs": 200});
    let dir = tempdir().unwrap();
    let mut first = ReportDir::at(dir.path());
    first.begin().unwrap();
    assert_eq!(first.took("here"), BTreeMap::new());
    first.write(&[RECORD], &record.to_string()).unwrap();
    first.finish().unwrap();
    let mut second = ReportDir::at(dir.path());
    second.begin().unwrap();
    let known = [("long", 70), ("twice", 90)].map(|(name, millis)| (name.to_owned(), millis));
    assert_eq!((second.took("here"), second.took("elsewhere")), (known.into(), BTreeMap::new()));
    fs::write(dir.path().join(PREVIOUS), "of the first run").unwrap();
    assert_eq!(second.took("here"), BTreeMap::new());
    // Of several runs the longest.
    let run = |target: &str, long: u64| -> RunRecord {
        let mut record = record.clone();
        (record["target"]["name"], record["scenarios"][0]["durationMs"]) = (target.into(), long.into());
        serde_json::from_value(record).unwrap()
    };
    let runs = [run("here", 60), run("here", 80), run("elsewhere", 99)];
    assert_eq!(took_in(runs.iter(), "here")["long"], 80);
}

/// A directory with the reports of a run of two dialects that ended, and of somebody's own run beside them.
fn of_two() -> TempDir {
    let dir = tempdir().unwrap();
    run_of(dir.path(), &["aso", "kuadrant"]);
    run_of(&dir.path().join("own"), &[]);
    dir
}

/// A run of these dialects, or of one alone, that ends.
fn run_of(root: &Path, dialects: &[&str]) {
    let names: Vec<String> = dialects.iter().map(|name| (*name).to_owned()).collect();
    let mut whole = ReportDir::of_several(root, names);
    whole.begin().unwrap();
    for name in dialects {
        run_of(&root.join(name), &[]);
    }
    if dialects.is_empty() {
        for file in [&[RECORD][..], &["failures", "a", "failure.txt"]] {
            whole.write(file, "of this run").unwrap();
        }
    }
    whole.finish().unwrap();
}

/// The names of what is there, but for what is below.
fn top(dir: &Path) -> Vec<String> {
    names(dir).into_iter().filter(|name| name.trim_end_matches('/').split('/').count() == 1).collect()
}

#[rstest]
#[case::of_one_after_two(of_two(), &[], &["failures/", LIST, "own/", RECORD])]
#[case::of_others_after_two(of_two(), &["contour", "aso"], &["aso/", "contour/", LIST, "own/"])]
#[case::of_two_after_one(whole(), &["aso", "kuadrant"], &["aso/", LIST, "kuadrant/"])]
#[case::of_two_again(of_two(), &["aso", "kuadrant"], &["aso/", LIST, "kuadrant/", "own/"])]
fn nothing_of_other_dialects_is_left(#[case] dir: TempDir, #[case] dialects: &[&str], #[case] left: &[&str]) {
    run_of(dir.path(), dialects);
    assert_eq!(top(dir.path()), left);
    for dialect in dialects {
        assert!(dir.path().join(dialect).join(RECORD).exists());
    }
}

#[test]
fn what_is_not_ours_stays_among_dialects() {
    let dir = of_two();
    for name in ["aso/mine.txt", "aso/failures/mine.txt"] {
        fs::write(dir.path().join(name), "mine").unwrap();
    }
    // One that somebody put there leads elsewhere.
    let elsewhere = whole();
    fs::remove_file(dir.path().join("kuadrant").join(LIST)).unwrap();
    fs::rename(dir.path().join("kuadrant"), dir.path().join("moved")).unwrap();
    symlink(elsewhere.path(), dir.path().join("kuadrant")).unwrap();
    let before = below(elsewhere.path());
    run_of(dir.path(), &[]);
    assert_eq!(names(&dir.path().join("aso")), ["failures/", "failures/mine.txt", "mine.txt"]);
    assert_eq!(below(elsewhere.path()), before);
    assert!(dir.path().join("moved").join(RECORD).exists() && dir.path().join("own").join(RECORD).exists());
}

/// Nothing passes for what it came to, and what failed before can still be run again.
/// What failed can be run again until another run has ended.
#[test]
fn a_run_of_one_that_does_not_begin_keeps_what_those_of_several_came_to() {
    let dir = of_two();
    ReportDir::at(dir.path()).take().unwrap();
    for dialect in ["aso", "kuadrant"] {
        assert!(!dir.path().join(dialect).join(RECORD).exists());
        let last = last_record(&dir.path().join(dialect)).unwrap();
        assert_eq!(fs::read_to_string(last).unwrap(), "of this run");
    }
    run_of(dir.path(), &[]);
    assert_eq!(top(dir.path()), ["failures/", LIST, "own/", RECORD]);
}

#[test]
fn a_run_of_several_that_is_not_begun_says_so() {
    let dir = of_two();
    not_begun(dir.path(), &Failure::usage("there is no dialect `x`", ""));
    for place in [dir.path().to_owned(), dir.path().join("aso"), dir.path().join("kuadrant")] {
        let said = fs::read_to_string(place.join(UNFINISHED)).unwrap();
        assert!(said.contains("there is no dialect `x`") && !place.join(RECORD).exists(), "{said}");
    }
    assert_eq!(fs::read_to_string(last_record(&dir.path().join("aso")).unwrap()).unwrap(), "of this run");
    run_of(dir.path(), &[]);
    assert_eq!(top(dir.path()), ["failures/", LIST, "own/", RECORD]);
    let empty = tempdir().unwrap();
    not_begun(empty.path(), &Failure::usage("there is no dialect `x`", ""));
    assert_eq!(names(empty.path()), [] as [&str; 0]);
}

/// When the last of its dialects is pruned, nothing of the run is left.
#[test]
fn the_last_dialect_that_is_pruned_takes_the_rest_along() {
    let around = tempdir().unwrap();
    let dir = around.path().join("night");
    run_of(&dir, &["aso", "kuadrant"]);
    assert_eq!(prune(&dir.join("aso")).unwrap(), Ok(2));
    assert!(dir.join(LIST).exists() && dir.join("kuadrant").join(RECORD).exists());
    assert_eq!(prune(&dir.join("kuadrant")).unwrap(), Ok(2));
    assert_eq!(names(around.path()), [] as [&str; 0]);
}
