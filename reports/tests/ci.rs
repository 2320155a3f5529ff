//! What a CI makes of a record: badges, annotations, a first file of known failures, a folder for upstream.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use gateproof_report::annotations;
use gateproof_report::badge::{Badge, Verdict};
use gateproof_report::conformance::{About, ConformanceReport, Implementation, Submission, submission};
use gateproof_report::first_known;
use gateproof_report::known::{KnownFailure, KnownFailureRecord, KnownState};
use gateproof_report::record::{Breach, ContractRecord, Finding, Outcome, RunRecord, Severity};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use rstest::rstest;
use support::{record, scenario};

/// A run of an implementation, one scenario for each letter: passed, failed, late, known to fail, inconclusive.
fn run(outcomes: &str) -> RunRecord {
    let outcome = |letter| match letter {
        'p' => Outcome::Passed,
        'f' => Outcome::Failed,
        'l' => Outcome::Late,
        'k' => Outcome::KnownFailure,
        _ => Outcome::Inconclusive,
    };
    let scenarios = outcomes.char_indices().map(|(at, letter)| scenario(&format!("s{at:02}"), &["A"], outcome(letter)));
    let mut run = record(scenarios.collect());
    run.target.embedded = false;
    run
}

fn finding(expectation: &str, consequence: bool) -> Finding {
    Finding {
        expectation: expectation.to_owned(),
        severity: Severity::Failure,
        clauses: vec![],
        line: 1,
        stage: "programmed".to_owned(),
        expected: "one".to_owned(),
        seen: "another".to_owned(),
        late: false,
        consequence,
        at_ms: 1,
    }
}

fn broken(name: &str, severity: Severity, seen: &str) -> ContractRecord {
    let breach = Breach {
        scenario: "s00".to_owned(),
        object: "HTTPRoute/a".to_owned(),
        path: "status".to_owned(),
        seen: seen.to_owned(),
        seq: 1,
    };
    ContractRecord { name: name.to_owned(), clauses: vec![], severity, objects: 1, known: None, breaches: vec![breach] }
}

/// An entry of the file of known failures that has to go.
fn stale() -> KnownFailureRecord {
    let entry = KnownFailure {
        scenario: Some("s00".to_owned()),
        expectation: None,
        contract: None,
        reason: "because".to_owned(),
        expires: "2027-01-31".to_owned(),
        place: "known.yaml:1".to_owned(),
    };
    KnownFailureRecord { entry, state: KnownState::UnexpectedPass, seen: vec![], passed: vec!["s00".to_owned()] }
}

#[rstest]
#[case::passed("ppp", Verdict::Passed, "v1.6.1: 3 passed", "brightgreen", "#2e7d32")]
#[case::known("ppk", Verdict::Passed, "v1.6.1: 2 passed, 1 known to fail", "yellowgreen", "#7a6a00")]
#[case::failed("pflki", Verdict::Failed, "v1.6.1: 2 of 4 failed", "red", "#c62828")]
#[case::contract("pp", Verdict::Failed, "v1.6.1: failed", "red", "#c62828")]
#[case::inconclusive("pi", Verdict::Inconclusive, "v1.6.1: inconclusive", "lightgrey", "#616161")]
#[case::broken_off("p", Verdict::BrokenOff, "v1.6.1: broken off", "lightgrey", "#616161")]
fn a_badge_says_what_the_exit_code_said(
    #[case] outcomes: &str,
    #[case] verdict: Verdict,
    #[case] message: &str,
    #[case] color: &str,
    #[case] fill: &str,
) {
    let badge = Badge::of(&run(outcomes), verdict);
    assert_eq!((badge.label.as_str(), badge.message.as_str(), badge.color), ("gateproof", message, color));
    for part in [format!("<title>gateproof: {message}</title>"), format!("fill=\"{fill}\"")] {
        assert!(badge.svg().contains(&part), "{part} is not in {}", badge.svg());
    }
}

#[test]
fn where_there_are_no_releases_a_badge_names_the_dialect() {
    let mut run = run("p");
    run.target.gateway_api_version = None;
    assert_eq!(Badge::of(&run, Verdict::Passed).message, "gateway-api: 1 passed");
}

#[test]
fn the_reference_is_not_taken_for_an_implementation() {
    let badge = Badge::of(&record(vec![]), Verdict::Passed);
    assert!(badge.svg().contains("gateproof (embedded): v1.6.1: 0 passed"), "{}", badge.svg());
}

#[test]
fn executions_that_are_not_listed_count() {
    let mut run = run("pf");
    run.scenarios[0].alike = 9;
    assert_eq!(Badge::of(&run, Verdict::Failed).message, "v1.6.1: 1 of 11 failed");
    assert_eq!(gateproof_report::terminal::counts(&run), "10 passed, 1 failed");
}

#[test]
fn a_badge_holds_no_markup_of_others() {
    let mut run = run("p");
    run.target.gateway_api_version = Some("\"><script>&\u{202e}".to_owned());
    let svg = Badge::of(&run, Verdict::Passed).svg();
    assert!(svg.contains("&quot;&gt;&lt;script&gt;&amp;\\u{202e}: 1 passed"), "{svg}");
    assert!(!svg.contains("<script"), "{svg}");
}

#[test]
fn annotations_name_what_fails_and_what_could_not_be_tested() {
    let mut run = run("pfikl");
    run.scenarios[1].name = "a,b:c".to_owned();
    let mut warning = finding("steps[0].probe.headers", false);
    (warning.severity, warning.seen) = (Severity::Warning, "a SHOULD".to_owned());
    run.scenarios[1].findings = vec![warning, finding("steps[0].probe.status", false)];
    run.scenarios[1].findings[1].seen = "50 %\n::error::forged".to_owned();
    run.scenarios[2].reason = Some("no address".to_owned());
    run.contract = vec![broken("contract/A/b", Severity::Failure, "x"), broken("contract/A/c", Severity::Warning, "x")];
    run.known_failures = vec![stale()];
    assert_eq!(
        annotations::render(&run),
        "::error title=a%2Cb%3Ac::expected one; saw 50 %25\\n::error::forged\n\
         ::error title=s04::\n\
         ::error title=contract/A/b::HTTPRoute/a status: x\n\
         ::error title=known failures::UNEXPECTED PASS known.yaml:1: s00 passed; take it out of the entry, \
         or the entry out of the file (reason: because)\n\
         ::warning title=s02::no address\n"
    );
}

#[rstest]
#[case::as_many_as_are_shown(10, 10, "::error title=s09::")]
#[case::more(14, 10, "::error title=gateproof::and 5 more in the summary")]
fn no_more_annotations_than_are_shown(#[case] failed: usize, #[case] lines: usize, #[case] last: &str) {
    let text = annotations::render(&run(&"f".repeat(failed)));
    assert_eq!(text.lines().count(), lines);
    assert_eq!(text.lines().last(), Some(last));
}

#[derive(serde::Deserialize)]
struct KnownFile {
    failures: Vec<BTreeMap<String, String>>,
}

fn entries(text: &str) -> Vec<(String, String)> {
    let file: KnownFile = serde_yaml::from_str(text).unwrap();
    let text = |entry: &BTreeMap<String, String>, name: &str| entry.get(name).cloned().unwrap_or_default();
    let named = |entry: &BTreeMap<String, String>| {
        (text(entry, "scenario") + &text(entry, "contract"), text(entry, "expectation"))
    };
    file.failures.iter().map(named).collect()
}

#[test]
fn what_failed_first_in_its_step_is_known_and_no_more() {
    let mut run = run("pflki");
    run.scenarios[1].findings =
        vec![finding("steps[1].settle.a", false), finding("steps[1].probe.b", true), finding("steps[2].probe.c", true)];
    let mut warning = finding("steps[1].settle.w", false);
    warning.severity = Severity::Warning;
    run.scenarios[1].findings.push(warning);
    let mut again = run.scenarios[1].clone();
    again.name = "s01#2".to_owned();
    again.findings[0].seen = "something else".to_owned();
    run.scenarios.push(again);
    run.scenarios[2].findings = vec![finding("steps[0].settle.d: \"#'", false)];
    run.contract = vec![broken("contract/A/b", Severity::Failure, "x"), broken("contract/A/c", Severity::Warning, "x")];
    let text = first_known::render(Some(&run), "2027-01-31").unwrap();
    let mut found = entries(&text);
    found.sort();
    let expected = [
        ("contract/A/b", ""),
        ("s01", "steps[1].settle.a"),
        ("s01", "steps[2].probe.c"),
        ("s02", "steps[0].settle.d: \"#'"),
    ];
    assert_eq!(found, expected.map(|(name, of)| (name.to_owned(), of.to_owned())));
    assert_eq!(text.matches("expires: \"2027-01-31\"").count(), 4, "{text}");
}

#[test]
fn a_reason_is_short_and_steers_nothing() {
    let mut run = run("f");
    run.scenarios[0].findings = vec![finding("steps[0].probe.status", false)];
    run.scenarios[0].findings[0].seen = format!("\u{202e}{}", "ä".repeat(500));
    let text = first_known::render(Some(&run), "2027-01-31").unwrap();
    let file: KnownFile = serde_yaml::from_str(&text).unwrap();
    let reason = &file.failures[0]["reason"];
    assert_eq!((reason.chars().count(), reason.chars().next_back()), (161, Some('…')));
    assert!(reason.starts_with("expected one; saw \\u{202e}ä"), "{reason}");
}

#[rstest]
#[case::of_no_run(None)]
#[case::of_one_that_passed(Some(run("pp")))]
fn without_failures_nothing_is_known(#[case] record: Option<RunRecord>) {
    let text = first_known::render(record.as_ref(), "2027-01-31").unwrap();
    assert!(text.contains("kind: KnownFailures\nfailures: []\n"), "{text}");
}

fn report() -> ConformanceReport {
    ConformanceReport {
        api_version: "gateway.networking.k8s.io/v1".to_owned(),
        date: "2026-11-20T10:00:00Z".to_owned(),
        gateway_api_channel: Some("standard".to_owned()),
        gateway_api_version: "v1.6.1".to_owned(),
        implementation: Implementation {
            contact: vec!["@us".to_owned()],
            organization: "Acme, Inc.".to_owned(),
            project: "Gateway".to_owned(),
            url: "https://github.com/acme/gateway".to_owned(),
            version: "v2.1.0".to_owned(),
        },
        kind: "ConformanceReport".to_owned(),
        mode: Some("default".to_owned()),
        ..ConformanceReport::default()
    }
}

const ABOUT: About<'static> =
    About { text: "the report\n", folder: None, release_page: None, reproduce: Some("Run it.\n"), in_own_words: false };

#[test]
fn a_submission_stands_where_upstream_looks_for_it() {
    let Submission { folders, name, text, readme, row } = submission(&report(), ABOUT).unwrap();
    assert_eq!(folders, ["conformance", "reports", "v1.6", "acme-inc-gateway"]);
    assert_eq!((name.as_str(), text.as_str()), ("standard-v2.1.0-default-report.yaml", "the report\n"));
    assert_eq!(
        row,
        "| standard | [v2.1.0](https://github.com/acme/gateway/releases/tag/v2.1.0) | default | \
         [link](./standard-v2.1.0-default-report.yaml) |"
    );
    assert!(readme.contains(&format!("|---|---|---|---|\n{row}\n\n## Reproduce\n\nRun it.\n")), "{readme}");
}

#[rstest]
#[case::edited_folder(|_: &mut ConformanceReport, a: &mut About<'static>| a.folder = Some("acme"), "acme")]
#[case::said_once(|r: &mut ConformanceReport, _: &mut About<'static>| r.implementation.organization = "gateway".to_owned(), "gateway")]
#[case::begins_alike(|r: &mut ConformanceReport, _: &mut About<'static>| r.implementation.organization = "gate".to_owned(), "gate-gateway")]
fn folders_are_named_after_the_project(
    #[case] edit: fn(&mut ConformanceReport, &mut About<'static>),
    #[case] folder: &str,
) {
    let (mut report, mut about) = (report(), ABOUT);
    edit(&mut report, &mut about);
    assert_eq!(submission(&report, about).unwrap().folders[3], folder);
}

#[rstest]
#[case::release(|r: &mut ConformanceReport, _: &mut About<'static>| r.gateway_api_version = "UNDEFINED".to_owned(), "gatewayAPIVersion")]
#[case::old_release(|r: &mut ConformanceReport, _: &mut About<'static>| r.gateway_api_version = "v1.0.0".to_owned(), "gatewayAPIVersion")]
#[case::version(|r: &mut ConformanceReport, _: &mut About<'static>| r.implementation.version = "../v1".to_owned(), "implementation.version")]
#[case::option(|r: &mut ConformanceReport, _: &mut About<'static>| r.gateway_api_channel = Some("-rf".to_owned()), "gatewayAPIChannel")]
#[case::separator(|r: &mut ConformanceReport, _: &mut About<'static>| r.implementation.version = "a/b".to_owned(), "implementation.version")]
#[case::no_mode(|r: &mut ConformanceReport, _: &mut About<'static>| r.mode = None, "mode")]
#[case::mode_that_is_not_explained(|r: &mut ConformanceReport, _: &mut About<'static>| r.mode = Some("ambient".to_owned()), "mode")]
#[case::no_folder(|_: &mut ConformanceReport, a: &mut About<'static>| a.folder = Some(".."), "implementation.project")]
#[case::project(|r: &mut ConformanceReport, _: &mut About<'static>| { r.implementation.project = "/".to_owned(); r.implementation.organization = "/".to_owned() }, "implementation.project")]
#[case::url(|r: &mut ConformanceReport, _: &mut About<'static>| r.implementation.url = "acme.example.com".to_owned(), "implementation.url")]
#[case::scheme(|r: &mut ConformanceReport, _: &mut About<'static>| r.implementation.url = "ftp://acme.example.com".to_owned(), "implementation.url")]
#[case::page(|_: &mut ConformanceReport, a: &mut About<'static>| a.release_page = Some("javascript:alert(1)"), "README.md")]
#[case::no_words(|_: &mut ConformanceReport, a: &mut About<'static>| a.reproduce = Some(" \n"), "README.md")]
fn what_upstream_would_not_take_is_refused(
    #[case] edit: fn(&mut ConformanceReport, &mut About<'static>),
    #[case] field: &str,
) {
    let (mut report, mut about) = (report(), ABOUT);
    edit(&mut report, &mut about);
    let defects = submission(&report, about).unwrap_err();
    assert_eq!(defects.iter().map(|defect| defect.field.as_str()).collect::<Vec<_>>(), [field]);
}

#[test]
fn a_mode_in_own_words_is_taken() {
    let mut report = report();
    report.mode = Some("ambient".to_owned());
    let made = submission(&report, About { in_own_words: true, ..ABOUT }).unwrap();
    assert_eq!(made.name, "standard-v2.1.0-ambient-report.yaml");
}

#[rstest]
#[case::elsewhere("https://example.com/a(b)|c", "[v2.1.0](https://example.com/a%28b%29%7Cc)")]
#[case::another_forge("https://example.com/acme/gateway", "[v2.1.0](https://example.com/acme/gateway)")]
#[case::an_organization("https://github.com/acme", "[v2.1.0](https://github.com/acme)")]
#[case::slash("https://github.com/acme/gateway/", "[v2.1.0](https://github.com/acme/gateway/releases/tag/v2.1.0)")]
#[case::a_folder(
    "https://github.com/acme/gateway/tree/main/x",
    "[v2.1.0](https://github.com/acme/gateway/tree/main/x)"
)]
fn releases_are_linked_where_they_are_known(#[case] url: &str, #[case] cell: &str) {
    let mut report = report();
    report.implementation.url = url.to_owned();
    let row = submission(&report, ABOUT).unwrap().row;
    assert!(row.contains(cell), "{row}");
}

#[test]
fn the_page_of_a_release_that_is_named_is_linked() {
    let about = About { release_page: Some("https://example.com/v2.1.0"), ..ABOUT };
    let row = submission(&report(), about).unwrap().row;
    assert!(row.contains("[v2.1.0](https://example.com/v2.1.0)"), "{row}");
}

#[test]
fn the_oldest_release_that_is_taken_is_the_first_with_these_rules() {
    let mut report = report();
    report.gateway_api_version = "v1.1.0".to_owned();
    assert_eq!(submission(&report, ABOUT).unwrap().folders[2], "v1.1");
}

proptest! {
    /// Whatever the project is called, its README has our headings and links alone.
    #[test]
    fn a_readme_holds_no_markup_of_others(project in "[a-z]\\PC{0,40}", organization in "\\PC{0,40}") {
        let mut report = report();
        report.implementation.project = project;
        report.implementation.organization = organization;
        let readme = submission(&report, About { folder: Some("a"), ..ABOUT }).unwrap().readme;
        let events: Vec<_> = Parser::new_ext(&readme, Options::ENABLE_TABLES).collect();
        let count = |of: fn(&Tag<'_>) -> bool| {
            events.iter().filter(|event| matches!(event, Event::Start(tag) if of(tag))).count()
        };
        prop_assert_eq!(count(|tag| matches!(tag, Tag::Heading { .. })), 3);
        prop_assert_eq!(count(|tag| matches!(tag, Tag::Link { .. })), 3);
        prop_assert_eq!(count(|tag| matches!(tag, Tag::Image { .. } | Tag::HtmlBlock | Tag::CodeBlock(_))), 0);
        prop_assert!(!events.iter().any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_) | Event::Code(_))));
    }

    #[test]
    fn a_submission_never_leads_elsewhere(version in "\\PC{0,12}", folder in "\\PC{0,12}", mode in "\\PC{1,8}") {
        let mut report = report();
        report.implementation.version = version;
        report.mode = Some(mode);
        let about = About { folder: Some(&folder), in_own_words: true, ..ABOUT };
        if let Ok(made) = submission(&report, about) {
            let parts = made.folders.iter().chain([&made.name]);
            for part in parts {
                prop_assert!(!part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\\', '\0']));
            }
        }
    }
}
