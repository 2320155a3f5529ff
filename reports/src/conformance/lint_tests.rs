use rstest::rstest;

use super::*;

/// A report that is fit for submission; tests spoil it.
const FIT: &str = "\
apiVersion: gateway.networking.k8s.io/v1
date: \"2026-11-20T10:00:00Z\"
gatewayAPIChannel: standard
gatewayAPIVersion: v1.6.1
implementation: {contact: ['@us'], organization: acme, project: gateway, url: https://example.test, version: v2.1.0}
kind: ConformanceReport
mode: default
profiles:
- name: GATEWAY-HTTP
  summary: Core tests succeeded.
  core:
    result: success
    statistics: {Failed: 0, Passed: 37, Skipped: 0}
  extended:
    result: partial
    skippedTests: [One]
    statistics: {Failed: 0, Passed: 20, Skipped: 1}
    supportedFeatures: [A, B]
    unsupportedFeatures: [C]
";
const CORE: &str = "profiles[GATEWAY-HTTP].core";
const EXTENDED: &str = "profiles[GATEWAY-HTTP].extended";
/// Another result of the same profile.
const AGAIN: &str = "profiles:
- {name: GATEWAY-HTTP, core: {result: success, statistics: {Failed: 0, Passed: 1, Skipped: 0}}}";

fn found(text: &str) -> Vec<(String, String)> {
    let report = ConformanceReport::from_yaml(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    lint(&report, &[]).into_iter().map(|defect| (defect.field, defect.problem)).collect()
}

/// The report with each of these changes.
fn spoilt(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(FIT.to_owned(), |text, (good, bad)| {
        assert!(text.contains(good), "no `{good}` in {text}");
        text.replacen(good, bad, 1)
    })
}

#[rstest]
#[case::as_it_is(&[])]
#[case::of_a_candidate(&[("v1.6.1", "v1.7.0-rc.1")])]
#[case::minor_alone(&[("v1.6.1", "v1.6")])]
#[case::partial_without_a_passed_test(&[("Passed: 20", "Passed: 0")])]
#[case::before_there_were_modes_and_channels(&[("v1.6.1", "v1.0.0"), ("mode: default\n", ""), ("gatewayAPIChannel: standard\n", "")])]
#[case::before_versions_were_snapshots(&[("v1.6.1", "v0.8.1"), ("v2.1.0", "latest")])]
#[case::of_the_schema_of_its_time(&[("v1.6.1", "v1.1.0"), ("k8s.io/v1", "k8s.io/v1alpha1")])]
fn a_fit_report_has_no_defects(#[case] changes: &[(&str, &str)]) {
    assert_eq!(found(&spoilt(changes)), []);
}

#[rstest]
#[case::profile_twice(&[("profiles:", AGAIN)], "profiles[GATEWAY-HTTP]", "is given twice")]
#[case::profile_twice_by_another_name(&[("profiles:", AGAIN), ("name: GATEWAY-HTTP", "name: HTTP")], "profiles[GATEWAY-HTTP]", "is given twice")]
#[case::nothing_counted(&[("Passed: 37", "Passed: 0")], "profiles[GATEWAY-HTTP].core.statistics", "counts no test")]
#[case::failed_and_success(&[("Failed: 0, Passed: 37", "Failed: 1, Passed: 36"), ("core:\n", "core:\n    failedTests: [T]\n")], "profiles[GATEWAY-HTTP].core.result", "is `success`, but the statistics make it `failure`")]
#[case::skipped_and_success(&[("result: partial", "result: success")], "profiles[GATEWAY-HTTP].extended.result", "is `success`, but the statistics make it `partial`")]
#[case::partial_of_nothing(&[("result: success", "result: partial")], "profiles[GATEWAY-HTTP].core.result", "is `partial`, but the statistics make it `success`")]
#[case::uncounted(&[("skippedTests: [One]", "skippedTests: [One, Two]")], "profiles[GATEWAY-HTTP].extended.skippedTests", "lists 2, but the statistics count 1")]
#[case::test_twice(&[("[One]", "[One, One]"), ("Skipped: 1", "Skipped: 2")], "profiles[GATEWAY-HTTP].extended.skippedTests", "lists `One` twice")]
#[case::supported_twice(&[("[A, B]", "[A, B, A, A]")], "profiles[GATEWAY-HTTP].extended.supportedFeatures", "lists `A` twice")]
#[case::unsupported_twice(&[("[C]", "[C, C]")], "profiles[GATEWAY-HTTP].extended.unsupportedFeatures", "lists `C` twice")]
#[case::both(&[("[C]", "[B, C]")], EXTENDED, "`B` is both supported and unsupported")]
#[case::no_release(&[("v1.6.1", "vfoo")], "gatewayAPIVersion", "is `vfoo`; must be a release such as `v1.6.1`")]
#[case::without_its_letter(&[("v1.6.1", "1.6.1")], "gatewayAPIVersion", "is `1.6.1`; must be a release")]
#[case::schema_of_another_time(&[("k8s.io/v1", "k8s.io/v1alpha1")], "apiVersion", "current reports say")]
#[case::no_mode(&[("mode: default\n", "")], "mode", "is missing")]
#[case::no_channel(&[("gatewayAPIChannel: standard\n", "")], "gatewayAPIChannel", "is missing")]
#[case::a_branch(&[("v2.1.0", "main")], "implementation.version", "must be a snapshot")]
#[case::no_summary(&[("v1.6.1", "v1.7.0"), ("summary: Core tests succeeded.", "summary: ''")], "profiles[GATEWAY-HTTP].summary", "is missing")]
fn one_defect_is_said_once(#[case] changes: &[(&str, &str)], #[case] field: &str, #[case] part: &str) {
    let found = found(&spoilt(changes));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, field);
    assert!(found[0].1.contains(part), "no `{part}` in {}", found[0].1);
}

#[test]
fn a_test_does_not_fail_and_is_left_out() {
    let both = [
        ("result: partial", "result: failure\n    failedTests: [One]"),
        ("Failed: 0, Passed: 20", "Failed: 1, Passed: 20"),
    ];
    let fields: Vec<String> = found(&spoilt(&both)).into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, [format!("{EXTENDED}.result"), EXTENDED.to_owned()]);
}

#[test]
fn each_half_is_counted() {
    let nothing =
        spoilt(&[("Passed: 37", "Passed: 0"), ("[One]", "[]"), ("Passed: 20, Skipped: 1", "Passed: 0, Skipped: 0")]);
    let nothing = nothing.replace("result: partial", "result: success");
    let fields: Vec<String> = found(&nothing).into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, [format!("{CORE}.statistics"), format!("{EXTENDED}.statistics")]);
}
