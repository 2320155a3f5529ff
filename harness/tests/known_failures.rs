//! `--known-failures`: what is put up with does not fail a run, what is out of date does, and reports for others say the same
//! as without.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::Path;

use process::{Ended, run};
use rstest::rstest;

/// A fault under which the one fails and the other passes.
const FAULT: [&str; 4] =
    ["--target", "embedded:ignores-reference-grants", "httproute-missing-reference-grant", "httproute-missing-backend"];

fn known(dir: &Path, entries: &str) {
    let text = format!("apiVersion: gateproof.dev/v1alpha1\nkind: KnownFailures\nfailures:\n{entries}");
    std::fs::write(dir.join("known.yaml"), text).unwrap();
}

fn with_known(dir: &Path, entries: &str, more: &[&str]) -> Ended {
    known(dir, entries);
    let mut arguments = vec!["run", "--known-failures", "known.yaml"];
    arguments.extend(more);
    run(dir, &arguments)
}

const SEEN: &str = "  - {scenario: httproute-missing-reference-grant, reason: '#12', expires: 2199-12-31}\n";

#[test]
fn a_known_failure_fails_nothing_but_the_conformance_report() {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = FAULT.to_vec();
    arguments.extend(["--fail-fast", "--jobs", "1"]);
    let ended = with_known(dir.path(), SEEN, &arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let said = ended.said();
    assert!(said.contains("1 passed, 0 failed, 1 known to fail"), "{said}");
    assert!(
        said.contains("KNOWN FAILURE httproute-missing-reference-grant: #12 (until 2199-12-31, known.yaml:4)"),
        "{said}"
    );
    let report = dir.path().join("gateproof-report");
    let text = |name: &str| std::fs::read_to_string(report.join(name)).unwrap();
    assert!(text("conformance-report.yaml").contains("- httproute-missing-reference-grant"));
    assert!(text("junit.xml").contains("type=\"known failure\""));
    assert!(text("failures/httproute-missing-reference-grant/failure.txt").contains("KNOWN FAILURE"));
    let again = run(dir.path(), &["replay", "gateproof-report"]);
    assert_eq!((again.code, again.out.as_str()), (Some(0), &ended.out[..ended.out.rfind("reports: ").unwrap()]));
    let rerun = run(dir.path(), &["run", "--rerun-failed", "gateproof-report"]);
    assert!(rerun.said().contains("nothing to run again"), "{}", rerun.said());
}

#[rstest]
#[case::passes(
    "  - {scenario: httproute-missing-*, reason: '#12', expires: 2199-12-31}\n",
    "UNEXPECTED PASS known.yaml:4: httproute-missing-backend passed"
)]
#[case::expired(
    "  - {scenario: httproute-missing-reference-grant, reason: '#12', expires: 2001-12-31}\n",
    "EXPIRED known.yaml:4: httproute-missing-reference-grant still fails, and the entry ended on 2001-12-31"
)]
#[case::another_expectation(
    "  - {scenario: httproute-missing-reference-grant, expectation: 'steps[5]*', reason: '#12', expires: 2199-12-31}\n",
    "FAILED httproute-missing-reference-grant"
)]
#[case::held(
    "  - {contract: contract/HTTPRoute/tri-state, reason: '#12', expires: 2199-12-31}\n",
    "UNEXPECTED PASS known.yaml:4: contract/HTTPRoute/tri-state passed"
)]
fn what_is_out_of_date_fails_the_run(#[case] entries: &str, #[case] part: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended = with_known(dir.path(), entries, &FAULT);
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
}

#[test]
fn an_entry_of_what_is_not_selected_waits() {
    let dir = tempfile::tempdir().unwrap();
    let ended = with_known(dir.path(), SEEN, &["httproute-missing-backend"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
}

#[test]
fn a_bad_file_is_refused_before_anything_is_applied() {
    let dir = tempfile::tempdir().unwrap();
    let ended = with_known(dir.path(), &SEEN.replacen("grant", "grnt", 1), &[]);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for part in ["known.yaml:4:16", "did you mean `httproute-missing-reference-grant`?", "1 problem in known.yaml"] {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
    assert!(!dir.path().join("gateproof-report").exists(), "a run began");
}
