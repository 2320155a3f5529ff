//! `gateproof report lint`.

use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::Value;

use super::process::{expect, run};
use super::submit::{FOLDER, NAME, REPORT, WORDS, submit};

const NOT_LOOKED_AT: &str =
    "outside of conformance/reports/RELEASE/FOLDER: path, file name and README were not looked at";

/// An extended part of the profile that claims these.
fn claiming(release: &str, supported: &str, unsupported: &str) -> String {
    format!(
        "{}  extended:\n    result: success\n    statistics: {{Failed: 0, Passed: 3, Skipped: 0}}\n    \
         supportedFeatures: {supported}\n    unsupportedFeatures: {unsupported}\n",
        REPORT.replace("v1.6.1", release)
    )
}

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_report_that_stands_elsewhere_is_not_asked_for_a_place() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "report.yaml", REPORT);
    let ended = run(dir.path(), &["report", "lint", "report.yaml"]);
    expect(&ended, 0, &["report.yaml: no defects", &format!("1 file stands {NOT_LOOKED_AT}")]);
}

#[rstest]
#[case::of_the_release("v1.6.1", "[HTTPRouteCORS, ListenerSet]", "[HTTPRouteRetry]", None)]
#[case::by_either_name("v1.6.3", "[GatewayInfrastructure]", "[GatewayInfrastructurePropagation]", None)]
#[case::unknown(
    "v1.6.1",
    "[HTTPRouteCros]",
    "[]",
    Some("supportedFeatures lists what is not known to release v1.6: `HTTPRouteCros`; check")
)]
#[case::of_a_later_release(
    "v1.3.0",
    "[]",
    "[HTTPRouteCORS]",
    Some("unsupportedFeatures lists what is not known to release v1.3: `HTTPRouteCORS` (of v1.4 and later)")
)]
#[case::gone("v1.7.0", "[HTTPRouteRetry]", "[]", Some("`HTTPRouteRetry` (gone from v1.7)"))]
#[case::twice("v1.6.1", "[HTTPRouteCORS, HTTPRouteCORS]", "[]", Some("supportedFeatures lists `HTTPRouteCORS` twice"))]
#[case::both(
    "v1.6.1",
    "[HTTPRouteCORS]",
    "[HTTPRouteCORS]",
    Some("extended `HTTPRouteCORS` is both supported and unsupported")
)]
fn features_are_those_of_the_release(
    #[case] release: &str,
    #[case] supported: &str,
    #[case] unsupported: &str,
    #[case] part: Option<&str>,
) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "report.yaml", &claiming(release, supported, unsupported));
    let ended = run(dir.path(), &["report", "lint", "report.yaml"]);
    expect(&ended, i32::from(part.is_some()), &[part.unwrap_or("no defects")]);
    assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
}

#[test]
fn of_a_release_to_come_no_name_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let text = claiming("v1.99.0", "[NoSuchFeature]", "[]").replace("GATEWAY-HTTP", "GATEWAY-FOO");
    write(dir.path(), "report.yaml", &text);
    let parts = ["report.yaml: v1.99.0 is newer than v1.7: names of profiles and features were not looked at"];
    expect(&run(dir.path(), &["report", "lint", "report.yaml"]), 0, &parts);
}

#[test]
fn what_is_submitted_is_fit_where_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(submit(dir.path(), REPORT, &WORDS).code, Some(0));
    let ended = run(dir.path(), &["report", "lint", &format!("{FOLDER}/{NAME}")]);
    expect(&ended, 0, &["no defects"]);
    assert_eq!(ended.err, "");
    // From within the folder no path says where that is.
    assert_eq!(run(&dir.path().join(FOLDER), &["report", "lint", NAME]).err, "");
    fs::remove_file(dir.path().join(FOLDER).join("README.md")).unwrap();
    expect(&run(&dir.path().join(FOLDER), &["report", "lint", NAME]), 1, &["README.md is not there"]);
}

#[test]
fn folders_file_name_and_readme_are_looked_at_below_a_release() {
    let dir = tempfile::tempdir().unwrap();
    let path = "conformance/reports/v1.2/Foo_x/whatever.yml";
    write(dir.path(), path, REPORT);
    let ended = run(dir.path(), &["report", "lint", path]);
    let parts = [
        "path.release is `v1.2`, and the report is about v1.6.1",
        "path.folder is `Foo_x`",
        "path.name is `whatever.yml`; upstream's rules make it `standard-v2.1.0-default-report.yaml`",
        "README.md is not there",
    ];
    expect(&ended, 1, &parts);
    assert_eq!(ended.out.lines().count(), 4, "{}", ended.out);
    assert!(!ended.said().contains(NOT_LOOKED_AT), "{}", ended.said());
}

#[test]
fn every_file_is_looked_at_whatever_the_others_are() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "bad.yaml", &REPORT.replace("v1.6.1", "vfoo"));
    write(dir.path(), "pod.yaml", "kind: Pod\n");
    write(dir.path(), "good.yaml", REPORT);
    let files = ["report", "lint", "nothing.yaml", "pod.yaml", "bad.yaml", "good.yaml"];
    let ended = run(dir.path(), &files);
    let parts = [
        "cannot read nothing.yaml",
        "pod.yaml: not a ConformanceReport",
        "bad.yaml: gatewayAPIVersion is `vfoo`",
        "good.yaml: no defects",
        "4 files: 1 without defects, 1 with defects, 2 not read",
        &format!("2 files stand {NOT_LOOKED_AT}"),
    ];
    expect(&ended, 2, &parts);
    let ended = run(dir.path(), &[&files[..], &["--format", "json"]].concat());
    expect(&ended, 2, &["cannot read nothing.yaml", "pod.yaml: not a ConformanceReport"]);
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let said: Vec<_> = found.as_array().unwrap().iter().map(|one| [&one["file"], &one["field"]]).collect();
    assert_eq!(said, [["nothing.yaml", ""], ["pod.yaml", ""], ["bad.yaml", "gatewayAPIVersion"]]);
    expect(&run(dir.path(), &["report", "lint", "bad.yaml", "good.yaml"]), 1, &["good.yaml: no defects"]);
}

/// A report of somebody else is no way to write on the terminal.
#[test]
fn nothing_in_a_report_steers_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "report.yaml", &REPORT.replace("v1.6.1", "\"v\\e[2K\""));
    let ended = run(dir.path(), &["report", "lint", "report.yaml"]);
    expect(&ended, 1, &["gatewayAPIVersion is `v\\u{1b}[2K`"]);
    assert!(!ended.out.contains('\u{1b}'), "{}", ended.out);
}
