//! Reports of anybody beside each other: what is tolerated, what they say, and where they differ.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use gateproof_report::conformance::ProfileRule;
use gateproof_report::matrix::{
    Choice, Clause, Half, Known, KnownFeature, Matrix, Row, Says, Subject, SuiteTest, html, markdown, matrix, read,
};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use rstest::rstest;
use support::official;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn known() -> Known {
    let feature = |name: &str| KnownFeature { name: name.to_owned(), ..KnownFeature::default() };
    let rule = |name: &str, core: &[&str]| ProfileRule {
        name: name.to_owned(),
        core: set(core),
        extended: set(&["HTTPRouteCORS", "HTTPRouteRequestMirror"]),
    };
    let test = |name: &str, since: &str, features: &[&str]| SuiteTest {
        name: name.to_owned(),
        since: since.to_owned(),
        features: features.iter().map(|one| (*one).to_owned()).collect(),
        scenarios: vec![],
    };
    Known {
        profiles: vec![rule("GATEWAY-HTTP", &["Gateway", "HTTPRoute"]), rule("GATEWAY-TLS", &["Gateway", "TLSRoute"])],
        features: vec![
            KnownFeature {
                link: Some("https://example.com/cors".to_owned()),
                clauses: vec![Clause { id: "EXT-1".to_owned(), link: "https://example.com/1".to_owned() }],
                ..feature("HTTPRouteCORS")
            },
            KnownFeature { formerly: Some("HTTPRouteMirror".to_owned()), ..feature("HTTPRouteRequestMirror") },
            feature("HTTPRouteResponseHeaderModification"),
        ],
        tests: vec![
            test("HTTPRouteCORS", "v1.4", &["Gateway", "HTTPRoute", "HTTPRouteCORS"]),
            test("HTTPRouteWeight", "v0.6", &["Gateway", "HTTPRoute"]),
        ],
    }
}

/// A report without a defect.
fn sound(project: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
date: \"2026-05-04T03:02:01Z\"
gatewayAPIChannel: standard
gatewayAPIVersion: v1.5.1
implementation: {{contact: ['@a'], organization: org, project: {project}, url: 'https://a.example', version: v1.2.3}}
kind: ConformanceReport
mode: default
profiles:
- core: {{result: success, statistics: {{Failed: 0, Passed: 33, Skipped: 0}}}}
  extended:
    result: success
    statistics: {{Failed: 0, Passed: 2, Skipped: 0}}
    supportedFeatures: [HTTPRouteCORS]
    unsupportedFeatures: [HTTPRouteRequestMirror]
  name: GATEWAY-HTTP
  summary: All well.
"
    )
}

fn of(texts: &[(&str, &str)], choice: &Choice) -> Matrix {
    let known = known();
    let files = texts.iter().map(|(file, text)| ((*file).to_owned(), read(file, text, &known))).collect();
    matrix(files, choice, &known).unwrap()
}

#[test]
fn a_sound_report_has_no_defect() {
    let found = read("a.yaml", &sound("one"), &known());
    assert_eq!((found.reports.len(), found.tolerated, found.unread), (1, vec![], vec![]));
}

/// One change of a sound report: which field is named, and what was taken.
#[rstest]
#[case::stray_key("apiVersion:", "<Right>apiVersion:", "<Right>apiVersion", "it is `apiVersion`")]
#[case::newer_version("k8s.io/v1\n", "k8s.io/v2\n", "apiVersion", "it reads as one of gateway.networking.k8s.io/v1")]
#[case::foreign_version("gateway.networking.k8s.io/v1", "example.com/v7", "apiVersion", "it reads as")]
#[case::no_letter("gatewayAPIVersion: v1.5.1", "gatewayAPIVersion: 1.5.1", "gatewayAPIVersion", "it is v1.5.1")]
#[case::a_commit("v1.5.1", "4c436290", "gatewayAPIVersion", "it is v1.5, as its folder says")]
#[case::no_date("\"2026-05-04T03:02:01Z\"", "yesterday", "date", "it is the oldest")]
#[case::no_channel("gatewayAPIChannel: standard\n", "", "gatewayAPIChannel", "the channel is not known")]
#[case::other_channel("standard", "both", "gatewayAPIChannel", "the channel is not known")]
#[case::unknown_field("mode: default", "mood: default", "mood", "it says nothing")]
#[case::key_twice("mode: default", "mode: default\nmode: other", "mode", "the first one counts")]
#[case::number_for_a_version("v1.2.3", "1.10", "implementation.version", "the text as it stands there")]
#[case::no_version(", version: v1.2.3", "", "implementation.version", "it is `unknown`")]
#[case::no_project("project: one, ", "", "implementation.project", "it is `org`")]
#[case::one_contact("contact: ['@a']", "contact: '@a'", "implementation.contact", "it is the only one of its list")]
#[case::older_field("profiles:", "profileReports:", "profileReports", "it is `profiles`")]
#[case::older_profile("name: GATEWAY-HTTP", "name: HTTP", "profiles[GATEWAY-HTTP]", "it is GATEWAY-HTTP")]
#[case::new_profile("name: GATEWAY-HTTP", "name: GATEWAY-NEW", "profiles[GATEWAY-NEW]", "it is one of its own")]
#[case::no_name("  name: GATEWAY-HTTP\n", "", "profiles[0]", "it is left out")]
#[case::small_letters("Passed: 33", "passed: 33", "profiles[GATEWAY-HTTP].core.statistics.passed", "it is `Passed`")]
#[case::no_count("Passed: 33", "Passed: many", "profiles[GATEWAY-HTTP].core.statistics.Passed", "0")]
#[case::negative("Passed: 33", "Passed: -1", "profiles[GATEWAY-HTTP].core.statistics.Passed", "0")]
#[case::wrong_type("Passed: 33", "Passed: [33]", "profiles[GATEWAY-HTTP].core.statistics.Passed", "0")]
#[case::result_against_counts(
    "core: {result: success",
    "core: {result: failure",
    "profiles[GATEWAY-HTTP].core.result",
    "`success`, as counted"
)]
#[case::no_result("core: {result: success, ", "core: {", "profiles[GATEWAY-HTTP].core.result", "`success`, as counted")]
#[case::unlisted(
    "Passed: 33, Skipped: 0}",
    "Passed: 33, Skipped: 1}",
    "profiles[GATEWAY-HTTP].core.skippedTests",
    "the worse of the two is so"
)]
#[case::both_ways(
    "unsupportedFeatures: [",
    "unsupportedFeatures: [HTTPRouteCORS, ",
    "profiles[GATEWAY-HTTP].extended",
    "it is supported"
)]
#[case::twice(
    "[HTTPRouteCORS]",
    "[HTTPRouteCORS, HTTPRouteCORS]",
    "profiles[GATEWAY-HTTP].extended.supportedFeatures",
    "once"
)]
#[case::unknown_feature(
    "[HTTPRouteCORS]",
    "[HTTPRouteCORS, New]",
    "profiles[GATEWAY-HTTP].extended.supportedFeatures",
    "it is one of its own"
)]
#[case::no_list("[HTTPRouteCORS]", "{a: b}", "profiles[GATEWAY-HTTP].extended.supportedFeatures", "it holds nothing")]
#[case::no_mapping(
    "{Failed: 0, Passed: 33, Skipped: 0}",
    "many",
    "profiles[GATEWAY-HTTP].core.statistics",
    "it holds nothing"
)]
fn a_defect_is_named(#[case] sound_part: &str, #[case] part: &str, #[case] field: &str, #[case] assumed: &str) {
    let text = sound("one");
    assert!(text.contains(sound_part), "{sound_part}");
    let found = read("reports/v1.5/one/a.yaml", &text.replacen(sound_part, part, 1), &known());
    assert_eq!((found.reports.len(), found.unread), (1, vec![]), "{:?}", found.tolerated);
    let named: Vec<_> = found.tolerated.iter().map(|one| format!("{}: {}", one.field, one.assumed)).collect();
    assert!(named.iter().any(|one| one.starts_with(&format!("{field}: {assumed}"))), "{named:#?}");
    assert!(found.tolerated.iter().all(|one| one.line > 0 && !one.problem.is_empty()));
}

#[test]
fn what_is_nested_is_read_from_where_it_is() {
    let text = sound("one").replace(
        "    result: success\n    statistics: {Failed: 0, Passed: 2, Skipped: 0}\n",
        "    status: {result: success, statistics: {Failed: 0, Passed: 2, Skipped: 0}}\n",
    );
    let found = of(&[("a.yaml", &text)], &Choice::default());
    assert_eq!(
        found.tolerated.iter().map(|one| &*one.field).collect::<Vec<_>>(),
        ["profiles[GATEWAY-HTTP].extended.status"]
    );
    assert_eq!(found.rows[1].cells[0].as_ref().unwrap().counts, Some([2, 0, 0]));
}

#[rstest]
#[case::of_the_table("HTTPRouteMirror", "HTTPRouteRequestMirror")]
#[case::older_than_the_table("HTTPResponseHeaderModification", "HTTPRouteResponseHeaderModification")]
fn a_feature_goes_by_its_name_of_today(#[case] said: &str, #[case] name: &str) {
    let text = sound("one")
        .replace("unsupportedFeatures: [HTTPRouteRequestMirror]", &format!("unsupportedFeatures: [{said}]"));
    let found = read("a.yaml", &text, &known());
    assert_eq!(found.reports[0].profiles[0].extended.as_ref().unwrap().unsupported_features, [name]);
    assert_eq!(found.tolerated, []);
}

/// Up to v1.0 there was no channel, and profiles had other names: that is no defect of theirs.
#[test]
fn an_old_report_is_held_to_the_rules_of_its_time() {
    let old = |release: &str| {
        let text =
            sound("one").replace("gatewayAPIChannel: standard\n", "").replace("name: GATEWAY-HTTP", "name: HTTP");
        read("a.yaml", &text.replace("v1.5.1", release), &known()).tolerated.len()
    };
    assert_eq!((old("v1.0.0"), old("v1.1.0")), (0, 2));
}

#[test]
fn every_document_is_a_report_and_a_mark_of_the_order_of_bytes_is_none() {
    let found = read("a.yaml", &format!("\u{feff}{}---\n{}", sound("one"), sound("two")), &known());
    assert_eq!((found.reports.len(), found.tolerated, found.unread), (2, vec![], vec![]));
}

#[rstest]
#[case::nothing("mode: default", "mode:")]
#[case::null("mode: default", "mode: null")]
#[case::tilde("mode: default", "mode: ~")]
fn what_is_empty_is_not_there(#[case] from: &str, #[case] to: &str) {
    let found = read("a.yaml", &sound("one").replace(from, to), &known());
    assert_eq!(found.reports[0].mode, None);
    assert_eq!(found.tolerated[0].problem, "is empty, no text");
}

#[test]
fn what_is_both_supported_and_not_is_supported() {
    let text = sound("one").replace("unsupportedFeatures: [", "unsupportedFeatures: [HTTPRouteCORS, ");
    let found = read("a.yaml", &text, &known());
    let extended = found.reports[0].profiles[0].extended.as_ref().unwrap();
    assert_eq!(
        (&*extended.supported_features, &*extended.unsupported_features),
        (&["HTTPRouteCORS".to_owned()][..], &["HTTPRouteRequestMirror".to_owned()][..],)
    );
}

#[test]
fn messages_stay_legible() {
    let text = sound("one").replace("mode: default", &format!("{}: 1", "x".repeat(500)));
    assert_eq!(read("a.yaml", &text, &known()).tolerated[0].field, format!("{}…", "x".repeat(60)));
}

/// What only looks like a field never takes the place of that.
#[rstest]
#[case::other_word("controller-version: v9, version: v1.2.3")]
#[case::other_case("Version: v9, version: v1.2.3")]
#[case::something_before("'<x>version': v9, version: v1.2.3")]
fn the_field_itself_counts(#[case] fields: &str) {
    let found = read("a.yaml", &sound("one").replace("version: v1.2.3", fields), &known());
    assert_eq!(found.reports[0].implementation.version, "v1.2.3");
    assert!(!found.tolerated.is_empty());
}

#[test]
fn a_profile_that_is_given_twice_counts_once() {
    let text = sound("one");
    let (head, profile) = text.split_once("profiles:\n").unwrap();
    let twice = format!("{head}profiles:\n{profile}{}", profile.replace("33", "7"));
    let found = of(&[("a.yaml", &twice)], &Choice::default());
    let halves: Vec<_> = found.rows.iter().filter_map(|row| row.cells[0].as_ref()?.counts).collect();
    assert_eq!(halves, [[33, 0, 0], [2, 0, 0]]);
    assert_eq!(found.tolerated[0].problem, "is given twice");
}

#[rstest]
#[case::another_kind("kind: Pod\n", 1, "is no ConformanceReport: its kind is `Pod`")]
#[case::a_list("- a\n", 1, "is no ConformanceReport: it is a list")]
#[case::neither("a: b\n", 1, "is no ConformanceReport: it has neither kind nor profiles")]
#[case::nothing("", 1, "is empty")]
#[case::cut_off("kind: ConformanceReport\nimplementation: {contact: [", 1, "not YAML")]
#[case::a_deep_nest("- ", 64, "is nested deeper than 32, which no report is")]
#[case::an_endless_nest("[", 5000, "not YAML")]
#[case::too_many("- 1\n", 200_000, "has more than 100000 values, which no report has")]
fn what_is_no_report_is_told(#[case] part: &str, #[case] times: usize, #[case] problem: &str) {
    let found = read("a.yaml", &part.repeat(times), &known());
    assert_eq!(found.reports.len(), 0);
    assert!(found.unread[0].problem.starts_with(problem), "{:?}", found.unread);
}

#[test]
fn a_report_that_stands_before_what_is_cut_off_counts() {
    let found = read("a.yaml", &format!("{}---\nkind: [", sound("one")), &known());
    assert_eq!((found.reports.len(), found.unread.len()), (1, 1));
}

/// What a name stands for could be as large as anybody likes, so it stands for nothing.
#[test]
fn names_of_values_are_not_followed() {
    let text =
        sound("one").replace("organization: org", "organization: &who org").replace("project: one", "project: *who");
    let found = read("a.yaml", &text, &known());
    assert!(found.tolerated.iter().any(|one| one.field == "implementation.project"), "{:?}", found.tolerated);
}

#[test]
fn defects_of_one_file_are_told_up_to_a_number() {
    let surplus: String = (0..1000).map(|n| format!("x{n}: 1\n")).collect();
    let found = read("a.yaml", &format!("{}{surplus}", sound("one")), &known());
    assert_eq!(found.tolerated.len(), 201);
    assert_eq!(found.tolerated.last().unwrap().problem, "has 800 defects more");
}

/// One that passes everything, one that left a test out, one that failed it, and one that claims less.
fn four() -> [(&'static str, String); 4] {
    let with = |project: &str, passed: u32, field: &str, count: &str| {
        sound(project)
            .replace("Passed: 2, Skipped: 0", &format!("Passed: {passed}, {count}"))
            .replace("    supportedFeatures", &format!("    {field}: [HTTPRouteCORS]\n    supportedFeatures"))
    };
    let failed =
        with("three", 1, "failedTests", "Skipped: 0").replace("{Failed: 0, Passed: 1", "{Failed: 1, Passed: 1");
    [
        ("one.yaml", sound("one")),
        (
            "two.yaml",
            with("two", 1, "skippedTests", "Skipped: 1").replacen("    result: success", "    result: partial", 1),
        ),
        ("three.yaml", failed.replacen("    result: success", "    result: failure", 1)),
        (
            "four.yaml",
            sound("four").replace(
                "supportedFeatures: [HTTPRouteCORS]\n    unsupportedFeatures: [",
                "unsupportedFeatures: [HTTPRouteCORS, ",
            ),
        ),
    ]
}

fn matrix_of_four(choice: &Choice) -> Matrix {
    let four = four();
    let texts: Vec<(&str, &str)> = four.iter().map(|(file, text)| (*file, &**text)).collect();
    of(&texts, choice)
}

#[test]
fn implementations_that_claim_the_same_differ() {
    let found = matrix_of_four(&Choice::default());
    assert_eq!(found.tolerated, []);
    let projects: Vec<&str> = found.columns.iter().map(|column| &*column.project).collect();
    assert_eq!(projects, ["four", "one", "three", "two"]);
    let row = |subject: Subject, name: &str| {
        found.rows.iter().find(|row| row.subject == subject && row.name == name).unwrap()
    };
    let said = |subject, name: &str| {
        row(subject, name).cells.iter().map(|cell| cell.as_ref().map(|cell| cell.says)).collect::<Vec<_>>()
    };
    let feature = said(Subject::Feature, "HTTPRouteCORS");
    assert_eq!(feature, [Some(Says::Unsupported), Some(Says::Passed), Some(Says::Failed), Some(Says::LeftOut)]);
    // Who does not claim it does not count among those who differ, and is not asked for the test.
    assert_eq!(
        said(Subject::Test, "HTTPRouteCORS"),
        [None, Some(Says::Passed), Some(Says::Failed), Some(Says::LeftOut)]
    );
    let split = row(Subject::Feature, "HTTPRouteCORS").differs.unwrap();
    assert_eq!((split.passed, split.left_out, split.failed), (1, 1, 1));
    assert_eq!(row(Subject::Feature, "HTTPRouteRequestMirror").differs, None);
    // All passed the core tests; whose extended ones there are more of is no difference.
    assert!(found.rows.iter().filter(|row| row.subject == Subject::Tests).all(|row| row.differs.is_none()));
}

/// Two releases of one implementation are news about it, not a disagreement.
#[test]
fn nobody_differs_from_himself() {
    let [_, (_, left_out), ..] = four();
    let found = of(&[("a.yaml", &sound("two").replace("v1.5.1", "v1.6.0")), ("b.yaml", &left_out)], &Choice::default());
    assert!(found.rows.iter().all(|row| row.differs.is_none()));
    assert_eq!(found.implementations(), 1);
}

/// A test that a release has not yet was not passed there, whatever its report leaves unsaid.
#[test]
fn a_test_that_is_newer_than_the_report_says_nothing() {
    let [_, (_, left_out), ..] = four();
    let old = sound("one").replace("v1.5.1", "v1.3.0");
    let found = of(&[("a.yaml", &old), ("b.yaml", &left_out)], &Choice::default());
    let row = found.rows.iter().find(|row| row.subject == Subject::Test).unwrap();
    assert_eq!(row.cells.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
}

/// Who passed the extended tests has not passed a core test by that.
#[test]
fn a_core_test_is_passed_where_core_tests_were() {
    let weight =
        "core: {failedTests: [HTTPRouteWeight], result: failure, statistics: {Failed: 1, Passed: 32, Skipped: 0}}";
    let failed =
        sound("two").replace("core: {result: success, statistics: {Failed: 0, Passed: 33, Skipped: 0}}", weight);
    let none = sound("three").replace("Passed: 33", "Passed: 0");
    let found = of(&[("a.yaml", &sound("one")), ("b.yaml", &failed), ("c.yaml", &none)], &Choice::default());
    let tests: Vec<_> = found.rows.iter().filter(|row| row.subject == Subject::Test).collect();
    let said = |row: &Row| row.cells.iter().map(|cell| cell.as_ref().map(|cell| cell.says)).collect::<Vec<_>>();
    assert_eq!(
        tests.iter().map(|row| (row.half, said(row))).collect::<Vec<_>>(),
        [(Half::Core, vec![Some(Says::Passed), None, Some(Says::Failed)]),]
    );
    // The same test among the extended ones is another row, which says nothing of those who ran it as a core test.
    let extended = sound("two")
        .replace("Failed: 0, Passed: 2", "Failed: 1, Passed: 1")
        .replace("    supportedFeatures", "    failedTests: [HTTPRouteWeight]\n    supportedFeatures");
    let found = of(&[("a.yaml", &sound("one")), ("b.yaml", &extended)], &Choice::default());
    let row = found.rows.iter().find(|row| row.subject == Subject::Test).unwrap();
    assert_eq!((row.half, said(row)), (Half::Extended, vec![None, Some(Says::Failed)]));
}

/// Nothing failed, because nothing was run.
#[test]
fn what_was_not_run_has_not_passed() {
    let text = sound("one").replace("Passed: 33", "Passed: 0").replace("Passed: 2", "Passed: 0");
    let found = of(&[("a.yaml", &text)], &Choice::default());
    let said: Vec<_> = found.rows.iter().filter_map(|row| row.cells[0].as_ref()).map(|cell| cell.says).collect();
    assert_eq!(said, [Says::Untested, Says::Untested, Says::Untested, Says::Unsupported]);
}

/// By the number of the release and not by its letters, then by date; names are the same in any case.
#[test]
fn columns_stand_in_the_order_of_releases() {
    let at = |project: &str, release: &str, day: &str| sound(project).replace("v1.5.1", release).replace("05-04", day);
    let texts = [at("one", "v1.10.0", "05-04"), at("ONE", "v1.9.0", "05-04"), at("one", "v1.10.0", "05-03")];
    let texts: Vec<(String, &str)> = texts.iter().enumerate().map(|(n, text)| (format!("{n}.yaml"), &**text)).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (&**file, *text)).collect();
    let found = of(&texts, &Choice::default());
    assert_eq!(found.columns.iter().map(|one| &*one.file).collect::<Vec<_>>(), ["1.yaml", "2.yaml", "0.yaml"]);
    assert_eq!(found.implementations(), 1);
}

/// Of two versions that were reported for one release the one of the later day.
#[test]
fn the_last_of_one_release_is_that_of_the_last_day() {
    let later = sound("one").replace("05-04", "05-05").replace("v1.2.3", "v1.2.4");
    let choice = Choice { latest: true, ..Choice::default() };
    for texts in [[("a.yaml", &*sound("one")), ("b.yaml", &*later)], [("a.yaml", &*later), ("b.yaml", &*sound("one"))]]
    {
        let versions: Vec<String> = of(&texts, &choice).columns.into_iter().map(|one| one.version).collect();
        assert_eq!(versions, ["v1.2.4"]);
    }
}

#[test]
fn of_many_names_a_cell_shows_the_first() {
    let [_, (_, left_out), ..] = four();
    let texts: Vec<(String, String)> = (0..11)
        .map(|n| (format!("{n}.yaml"), left_out.replace("project: two", &format!("project: p{n:02}"))))
        .collect();
    let mut texts: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (&**file, &**text)).collect();
    let sound = sound("one");
    texts.push(("one.yaml", &sound));
    // One that left it out at two releases is one name.
    let again = texts[0].1.replace("v1.5.1", "v1.6.0");
    texts.push(("again.yaml", &again));
    let text = markdown(&of(&texts, &Choice::default()));
    assert!(text.contains("`p07 v1.2.3` and 3 more |") && !text.contains("`p08 v1.2.3`,"), "{text}");
}

#[rstest]
#[case::project(&["One"], &[], false, &["one v1.2.3", "one v2.0.0"])]
#[case::both_names(&["org/two", "four"], &[], false, &["four v1.2.3", "two v1.2.3"])]
#[case::organization(&["ORG"], &[], false, &["four v1.2.3", "one v1.2.3", "one v2.0.0", "three v1.2.3", "two v1.2.3"])]
#[case::release(&[], &["v1.6"], false, &["one v2.0.0"])]
#[case::exact(&[], &["v1.5.1"], false, &["four v1.2.3", "one v1.2.3", "three v1.2.3", "two v1.2.3"])]
#[case::latest(&[], &[], true, &["four v1.2.3", "one v2.0.0", "three v1.2.3", "two v1.2.3"])]
#[case::latest_of_a_release(&["one"], &["v1.5"], true, &["one v1.2.3"])]
fn columns_are_chosen(
    #[case] projects: &[&str],
    #[case] releases: &[&str],
    #[case] latest: bool,
    #[case] expected: &[&str],
) {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let choice = Choice { projects: owned(projects), releases: owned(releases), latest };
    let mut texts = four().to_vec();
    texts.push(("new.yaml", sound("one").replace("v1.5.1", "v1.6.0").replace("v1.2.3", "v2.0.0")));
    let texts: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (*file, &**text)).collect();
    let found = of(&texts, &choice);
    let columns: Vec<String> = found.columns.iter().map(|one| format!("{} {}", one.project, one.version)).collect();
    assert_eq!(columns, expected);
    assert_eq!(found.not_chosen, 5 - columns.len());
}

#[test]
fn what_is_wrong_with_others_is_left_out_with_them() {
    let texts = [("a.yaml", sound("one")), ("b.yaml", sound("two").replace("mode: default", "mood: default"))];
    let texts: Vec<(&str, &str)> = texts.iter().map(|(file, text)| (*file, &**text)).collect();
    let of_project = |name: &str| {
        let choice = Choice { projects: vec![name.to_owned()], ..Choice::default() };
        of(&texts, &choice).tolerated.len()
    };
    assert_eq!((of_project("one"), of_project("two")), (0, 1));
}

#[test]
fn a_choice_that_means_nothing_is_told() {
    let known = known();
    let files = || vec![("a.yaml".to_owned(), read("a.yaml", &sound("one"), &known))];
    let of = |projects: &[&str], releases: &[&str]| {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let choice = Choice { projects: owned(projects), releases: owned(releases), latest: false };
        matrix(files(), &choice, &known).unwrap_err().to_string()
    };
    assert_eq!(of(&["two"], &[]), "no report is of two; there are org/one");
    assert_eq!(of(&[], &["v1.50"]), "no report is of v1.50; there are v1.5.1");
    assert_eq!(of(&[], &["v1."]), "no report is of v1.; there are v1.5.1");
}

#[test]
fn the_same_report_counts_once() {
    let found = of(&[("a.yaml", &sound("one")), ("b.yaml", &sound("one"))], &Choice::default());
    assert_eq!((found.columns.len(), &*found.tolerated[0].problem), (1, "is the report of a.yaml once more"));
}

#[test]
fn the_whole_as_markdown() {
    insta::assert_snapshot!(markdown(&matrix_of_four(&Choice::default())));
}

#[test]
fn the_whole_as_a_page() {
    let page = html(&matrix_of_four(&Choice::default()));
    let (_, body) = page.split_once("</style>").unwrap();
    insta::assert_snapshot!(body);
}

/// Names that would be markup, or turn text around.
const HOSTILE: &str = "</title><script>alert(1)</script>\" onload='x' \u{202e}`|](http://x) <img src=x>";

#[test]
fn what_others_wrote_is_no_markup() {
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    let text = sound("one")
        .replace("project: one", &format!("project: {quoted}"))
        .replace("[HTTPRouteCORS]", &format!("[HTTPRouteCORS, {quoted}]"))
        .replace("core: {", &format!("core: {{skippedTests: [{quoted}], "))
        .replace("\"2026-05-04T03:02:01Z\"", &quoted)
        .replace("name: GATEWAY-HTTP", &format!("name: {quoted}"));
    let found = of(&[("</h1><b>.yaml", &text), ("<b>.yaml", "a: b")], &Choice::default());
    assert_eq!(found.unread.len(), 1);
    let page = html(&found);
    for markup in ["<script", "<img", "<b>.", "\" onload", "\u{202e}"] {
        assert!(!page.contains(markup), "{markup}");
    }
    let text = markdown(&found);
    assert!(!text.contains('\u{202e}'));
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::Image { .. }) => panic!("{event:?}"),
            Event::Start(Tag::Link { dest_url, .. }) => assert!(dest_url.starts_with("https://example.com/")),
            _ => {}
        }
    }
    assert!(page.contains("&lt;script&gt;"));
}

/// A page runs nothing and loads nothing, and its policy lets its own style through.
#[test]
fn a_page_stands_for_itself() {
    use base64::Engine as _;
    use sha2::Digest as _;
    let page = html(&matrix_of_four(&Choice::default()));
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let digest = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(style));
    let policy =
        format!("content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"");
    assert!(page.contains(&policy));
    for outside in ["<script", " style=", "src=", "url(", "@import", " onclick"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("<a href=\"https://example.com/cors\" rel=\"noreferrer\">HTTPRouteCORS</a>"));
    assert!(page.contains("<a href=\"https://example.com/1\" rel=\"noreferrer\">EXT-1</a>"));
}

/// Every one is a column, and the defects that are known of them are named.
#[test]
fn every_published_report_is_taken() {
    let Some((folder, paths)) = official::reports() else { return };
    let known = known();
    let short = |path: &Path| path.strip_prefix(&folder).unwrap().display().to_string();
    let files: Vec<_> = paths
        .iter()
        .map(|path| (short(path), read(&short(path), &std::fs::read_to_string(path).unwrap(), &known)))
        .collect();
    let found = matrix(files, &Choice::default(), &known).unwrap();
    assert_eq!(found.unread, []);
    let once = found.tolerated.iter().filter(|one| one.problem.ends_with("once more")).count();
    assert_eq!(found.columns.len(), paths.len() - once);
    assert!(found.columns.iter().all(|column| column.release.starts_with('v')), "{:?}", found.columns);
    let named = |field: &str, assumed: &str| {
        found.tolerated.iter().any(|one| one.field == field && one.assumed.starts_with(assumed))
    };
    assert!(named("<Right>apiVersion", "it is `apiVersion`"));
    assert!(named("profileReports", "it is `profiles`"));
    assert!(named("gatewayAPIVersion", "it is v1.0.0"));
    assert!(named("gatewayAPIVersion", "it is v0.7.1, as its folder says"));
    assert!(named("implementation.version", "the text as it stands there"));
    assert!(found.tolerated.iter().any(|one| one.field.ends_with(".extended.status")));
    assert!(found.tolerated.iter().any(|one| one.field.ends_with(".statistics.passed")));
    assert!(html(&found).len() > 10_000 && markdown(&found).len() > 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Whatever stands in a file, it is read, or why not is told, and all that is made of it can be made.
    #[test]
    fn no_input_panics(text in prop_oneof![".{0,200}", "[-a-z:{}\\[\\]\"'\n &*#|>%]{0,200}"]) {
        let known = known();
        let files = vec![("a".to_owned(), read("a", &text, &known))];
        let found = matrix(files, &Choice { latest: true, ..Choice::default() }, &known).unwrap();
        prop_assert!(!found.columns.is_empty() || !found.unread.is_empty());
        let _ = (html(&found), markdown(&found));
    }

    /// A report of which a stretch was changed to something else.
    #[test]
    fn no_damage_panics(at in 0..900usize, length in 0..40usize, put in "[-a-z0-9:{}\\[\\]\"'\n ]{0,12}") {
        let text = sound("one");
        let at = at.min(text.len());
        let end = (at + length).min(text.len());
        let damaged = format!("{}{put}{}", &text[..at], &text[end..]);
        let known = known();
        let read = read("a", &damaged, &known);
        prop_assert!(!read.reports.is_empty() || !read.unread.is_empty(), "{}", damaged);
        let found = matrix(vec![("a".to_owned(), read)], &Choice::default(), &known).unwrap();
        let _ = (html(&found), markdown(&found));
    }
}
