//! `gateproof report submit`.

use std::fs;
use std::path::Path;

use rstest::rstest;

use super::first_run;
use super::process::{Ended, run};

pub(super) const REPORT: &str = "\
apiVersion: gateway.networking.k8s.io/v1
date: \"2026-11-20T10:00:00Z\"
gatewayAPIChannel: standard
gatewayAPIVersion: v1.6.1
implementation:
  contact: ['@us']
  organization: acme
  project: gateway
  url: https://github.com/acme/gateway
  version: v2.1.0
kind: ConformanceReport
mode: default
profiles:
- name: GATEWAY-HTTP
  summary: Core tests succeeded.
  core: {result: success, statistics: {Failed: 0, Passed: 37, Skipped: 0}}
";
pub(super) const FOLDER: &str = "out/conformance/reports/v1.6/acme-gateway";
pub(super) const NAME: &str = "standard-v2.1.0-default-report.yaml";

/// Another result of the same profile.
const AGAIN: &str = "\
profiles:
- {name: GATEWAY-HTTP, core: {result: success, statistics: {Failed: 0, Passed: 1, Skipped: 0}}}";

pub(super) fn submit(dir: &Path, report: &str, arguments: &[&str]) -> Ended {
    fs::write(dir.join("report.yaml"), report).unwrap();
    fs::write(dir.join("words.md"), "Run it.\n").unwrap();
    run(dir, &[&["report", "submit", "report.yaml", "--output", "out"], arguments].concat())
}

pub(super) const WORDS: [&str; 2] = ["--reproduce", "words.md"];

#[test]
fn a_report_stands_where_upstream_looks_for_it_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let ended = submit(dir.path(), REPORT, &WORDS);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let folder = dir.path().join(FOLDER);
    assert_eq!(fs::read_to_string(folder.join(NAME)).unwrap(), REPORT);
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(readme.contains("| [link](./standard-v2.1.0-default-report.yaml) |"), "{readme}");
    assert!(readme.ends_with("## Reproduce\n\nRun it.\n"), "{readme}");
    // Once more is no news, and another report of that name is none that may be lost.
    assert_eq!(submit(dir.path(), REPORT, &WORDS).code, Some(0));
    let ended = submit(dir.path(), &REPORT.replace("@us", "@them"), &WORDS);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains("is there, and another report"), "{}", ended.said());
    assert_eq!(fs::read_to_string(folder.join(NAME)).unwrap(), REPORT);
    assert_eq!(fs::read_to_string(folder.join("README.md")).unwrap(), readme);
}

#[test]
fn a_readme_that_is_there_stays_and_its_row_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(FOLDER)).unwrap();
    let readme = dir.path().join(FOLDER).join("README.md");
    fs::write(&readme, "mine\n").unwrap();
    let ended = submit(dir.path(), REPORT, &WORDS);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.out.contains("its table needs the row\n| standard | [v2.1.0]("), "{}", ended.out);
    assert_eq!(fs::read_to_string(readme).unwrap(), "mine\n");
}

#[rstest]
#[case::lint("result: success", "result: partial", &WORDS, "profiles[GATEWAY-HTTP].core.result")]
#[case::profile_twice("profiles:", AGAIN, &WORDS, "profiles[GATEWAY-HTTP] is given twice")]
#[case::no_profile("GATEWAY-HTTP", "GATEWAY-FOO", &WORDS, "profiles[GATEWAY-FOO] is no profile of any release up to v1.7")]
#[case::nothing_counted("Passed: 37", "Passed: 0", &WORDS, "core.statistics counts no test")]
#[case::no_release("v1.6.1", "vfoo", &WORDS, "gatewayAPIVersion is `vfoo`")]
#[case::failed("Failed: 0", "Failed: 1", &WORDS, "core.result")]
#[case::path("version: v2.1.0", "version: ../../v2", &WORDS, "implementation.version")]
#[case::release("v1.6.1", "v1.0.0", &WORDS, "gatewayAPIVersion")]
#[case::no_words("v1.6.1", "v1.6.1", &[], "README.md needs words")]
#[case::folder("v1.6.1", "v1.6.1", &["--reproduce", "words.md", "--folder", "../a"], "name of a folder")]
#[case::letters_of_a_folder("v1.6.1", "v1.6.1", &["--reproduce", "words.md", "--folder", "Acme_x"], "path.folder is `Acme_x`")]
fn what_upstream_would_not_take_is_not_written(
    #[case] good: &str,
    #[case] bad: &str,
    #[case] arguments: &[&str],
    #[case] part: &str,
) {
    let dir = tempfile::tempdir().unwrap();
    let ended = submit(dir.path(), &REPORT.replace(good, bad), arguments);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    assert!(!dir.path().join("out").exists());
}

#[test]
fn what_lint_says_of_a_field_is_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let ended = submit(dir.path(), &REPORT.replace("v1.6.1", "vfoo"), &WORDS);
    assert_eq!(ended.out, "report.yaml: gatewayAPIVersion is `vfoo`; must be a release such as `v1.6.1`\n");
}

#[rstest]
#[case::a_folder("out/conformance")]
#[case::the_last_folder(FOLDER)]
fn nothing_is_written_through_a_link(#[case] place: &str) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    let link = dir.path().join(place);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), link).unwrap();
    let ended = submit(dir.path(), REPORT, &WORDS);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert_eq!(fs::read_dir(dir.path().join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_run_says_itself_how_to_come_to_it() {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    fs::write(dir.path().join("gateproof-report/conformance-report.yaml"), REPORT).unwrap();
    let ended = run(dir.path(), &["report", "submit", "gateproof-report", "--output", "out"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.said().contains("upstream takes reports of its own suite"), "{}", ended.said());
    let readme = fs::read_to_string(dir.path().join(FOLDER).join("README.md")).unwrap();
    assert!(readme.contains("    gateproof run --target embedded:ignores-reference-grants\n"), "{readme}");
}

#[test]
fn the_reference_is_submitted_by_nobody() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["run", "httproute-missing-backend"]).code, Some(0));
    let ended = run(dir.path(), &["report", "submit", "gateproof-report", "--output", "out"]);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.said().contains("is the embedded reference"), "{}", ended.said());
    assert!(!dir.path().join("out").exists());
}
