//! What the action and the nightly script say of several dialects: of each what they say of one, against its own run before.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::process::Ended;
use super::{WITHOUT_NEWS, read, script, step};

const BOTH: &str = "aso-azure-name-missing aso-answer-mirrored kuadrant-auth-empty-refused --dialect kuadrant,aso";
/// One of another dialect less.
const FEWER: &str = "aso-azure-name-missing kuadrant-auth-empty-refused --dialect kuadrant,aso";
const ONE: &str = "aso-azure-name-missing --dialect aso";

fn has_news(reports: &Path) -> bool {
    !read(&reports.join("report.html")).contains(WITHOUT_NEWS)
}

fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn the_action_says_of_each_dialect_what_it_says_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let files = ["output", "summary"].map(|name| format!("{at}/{name}"));
    let reports = dir.path().join("reports");
    let action = |arguments: &str, gate: &str| {
        files.iter().for_each(|file| fs::write(file, "").unwrap());
        let more = [("ARGUMENTS", arguments), ("GATE", gate), ("REPORT_DIR", "reports")];
        let ended = script(dir.path(), ".github/actions/gateproof/run", &[], &step(at, &files, &more));
        (ended, read(Path::new(&files[0])), read(Path::new(&files[1])))
    };
    let (ended, outputs, summary) = action(BOTH, "new-failures,fewer-scenarios");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    holds(&outputs, &["exit-code=0\ncounts=kuadrant: 1 passed, 0 failed in ", "; aso: 2 passed, 0 failed in "]);
    holds(&summary, &["· `kuadrant`, ", "**1 passed, 0 failed**", "· `aso`, ", "**2 passed, 0 failed**"]);
    assert!(!summary.contains("last green run"), "{summary}");
    assert!(read(&reports.join("aso/badge.svg")).contains(": 2 passed</title>"));
    assert!(read(&reports.join("kuadrant/badge.json")).contains("\"schemaVersion\": 1"));

    // Each is held against its own, and a rule that one breaks fails the step.
    let copied = Command::new("cp").arg("-r").arg(&reports).arg(dir.path().join("gateproof-baseline")).status();
    assert!(copied.unwrap().success());
    let (ended, _, summary) = action(FEWER, "new-failures,fewer-scenarios");
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    let (of_kuadrant, of_aso) = summary.split_once("## Against the last green run of aso\n\n").unwrap();
    holds(of_kuadrant, &["## Against the last green run of kuadrant\n\n", "    gate ✓ fewer-scenarios"]);
    holds(of_aso, &["aso-answer-mirrored", "    gate ✗ fewer-scenarios"]);
    assert!(has_news(&reports.join("aso")) && has_news(&reports.join("kuadrant")));

    // A run of one that follows is alone in the directory, and is held against that of its dialect.
    let (ended, outputs, summary) = action(ONE, "");
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    holds(&outputs, &["\ncounts=1 passed, 0 failed in "]);
    holds(&summary, &["## Against the last green run\n\n", "aso-answer-mirrored"]);
    assert!(
        ended.out.contains("::warning::kuadrant was tested in the last green run, and is not now\n"),
        "{}",
        ended.out
    );
    assert!(has_news(&reports) && !reports.join("aso").exists() && !reports.join("kuadrant").exists());

    // Of what was no run there is nothing to say, whatever stood there.
    assert_eq!(action(BOTH, "").0.code, Some(0));
    let (ended, _, summary) = action("aso-no-such kuadrant-auth-empty-refused --dialect kuadrant,aso", "");
    assert_eq!((ended.code, &*summary), (Some(2), ""), "{}", ended.said());
    assert!(reports.join("unfinished.txt").exists() && !reports.join("aso/record.json").exists());
}

#[test]
fn a_night_says_of_each_dialect_what_it_says_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let reports = dir.path().join("reports");
    let night = |arguments: &str| -> Ended {
        let words: Vec<&str> = [reports.to_str().unwrap()].into_iter().chain(arguments.split(' ')).collect();
        let ended = script(dir.path(), "scripts/nightly", &words, &[("GATEPROOF", env!("CARGO_BIN_EXE_gateproof"))]);
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        ended
    };
    let first = "nightly: there is no earlier run to hold it against\n";
    // That of a run of one is found by its dialect.
    holds(&night(ONE).out, &["nightly: 1 passed, 0 failed in ", first]);
    let ended = night(BOTH);
    let lines = ["nightly: kuadrant: 1 passed, 0 failed in ", "nightly: aso: 2 passed, 0 failed in "];
    holds(&ended.out, &lines);
    holds(
        &ended.out,
        &["kuadrant: against the run before:\nthe run before is of the dialect aso, so this one of kuadrant"],
    );
    holds(&ended.out, &["nightly: aso: against the run before:\n", "newly tested (1)"]);
    assert!(!reports.join("record.json").exists() && !reports.join("report.html").exists());
    let ended = night(FEWER);
    holds(&ended.out, &["nightly: kuadrant: against the run before:\n", "nightly: aso: against the run before:\n"]);
    holds(&ended.out, &["no longer tested (1)"]);
    assert!(has_news(&reports.join("aso")) && has_news(&reports.join("kuadrant")));
    let ended = night(ONE);
    holds(&ended.out, &["nightly: 1 passed", "nightly: kuadrant: tested in the run before, and not now\n"]);
    holds(&ended.out, &["nightly: against the run before:\n"]);
    assert!(has_news(&reports) && !reports.join("aso").exists());
}
